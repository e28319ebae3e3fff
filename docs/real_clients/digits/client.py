"""The client app: it trains in the rounds in which the trace has it, and fails to answer in others."""

from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from . import task

app = ClientApp()


@app.query()
def query(message: Message, context: Context) -> Message:
    """Say the client's name, which is the same on whatever node."""
    name = task.NAMES[int(context.node_config["client"])]
    return Message(RecordDict({"config": ConfigRecord({"client": name})}), reply_to=message)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train the model that came on the client's digits."""
    client, told = int(context.node_config["client"]), message.content["config"]
    if not task.there(str(context.node_config["trace"]))[told["server-round"] - 1, client]:
        raise RuntimeError("away")
    x, y = task.points(client)
    model = {key: array.numpy() for key, array in message.content["arrays"].items()}
    after = task.trained(model, x, y, told["local-lr"], told["local-steps"])
    content = {
        "arrays": ArrayRecord({key: Array(each) for key, each in after.items()}),
        "metrics": MetricRecord({"num-examples": len(y)}),
    }
    return Message(RecordDict(content), reply_to=message)
