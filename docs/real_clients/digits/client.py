"""Flower's client app: it trains in the rounds in which the trace has it, and fails to answer in others."""

from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from . import task

app = ClientApp()


def _who(context: Context) -> tuple[int, int]:
    """The client's number, and how many there are."""
    return int(context.node_config["client"]), int(context.node_config["clients"])


@app.query()
def query(message: Message, context: Context) -> Message:
    """Say the client's name, which is the same on whatever node."""
    client, clients = _who(context)
    return Message(RecordDict({"config": ConfigRecord({"client": task.names(clients)[client]})}), reply_to=message)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train the model that came on the client's digits."""
    client, clients = _who(context)
    told = message.content["config"]
    if not task.there(clients, str(context.node_config["trace"]))[told["server-round"] - 1, client]:
        raise RuntimeError("away")
    x, y = task.points(client, clients)
    model = {key: array.numpy() for key, array in message.content["arrays"].items()}
    after = task.trained(model, x, y, told["local-lr"], told["local-steps"])
    content = {
        "arrays": ArrayRecord({key: Array(each) for key, each in after.items()}),
        "metrics": MetricRecord({"num-examples": len(y)}),
    }
    return Message(RecordDict(content), reply_to=message)
