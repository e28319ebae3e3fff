"""NVFlare's client, by its Client API: it trains when the trace has it, and else sends no model."""

import sys

import nvflare.client as flare

from digits import task


def main() -> None:
    """Answer until the job ends."""
    clients, trace = int(sys.argv[1]), sys.argv[2]
    flare.init()
    client = task.names(clients).index(flare.get_site_name())
    (x, y), there = task.points(client, clients), task.there(clients, trace)
    while flare.is_running():
        told = flare.receive()
        if told is None:
            break
        if not there[told.current_round, client]:
            flare.send(flare.FLModel(metrics={"away": 1.0}))
            continue
        after = task.trained(told.params, x, y, told.meta["local_lr"], told.meta["local_steps"])
        flare.send(flare.FLModel(params=after, meta={"NUM_STEPS_CURRENT_ROUND": len(y)}))


if __name__ == "__main__":
    main()
