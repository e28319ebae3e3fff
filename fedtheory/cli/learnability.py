"""Command on learnability: capacity, relatedness and the theorems' bounds on real data."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from ..printing import Progress, print_json, print_tree
from .app import Json, app


@app.command()
def learnability(
    data: Annotated[str, typer.Argument(help="A data set, as `data list` names it.")] = "digits",
    clients: Annotated[int, typer.Option(help="How many clients there are.")] = 10,
    participants: Annotated[int, typer.Option(help="How many of them ever take part, drawn once.")] = 5,
    concentration: Annotated[float, typer.Option(help="Of the Dirichlet partition of the labels.")] = 0.1,
    server: Annotated[int, typer.Option(help="Samples that the server has.")] = 100,
    beta: Annotated[float, typer.Option(help="The exponent of Assumption 2.")] = 1.0,
    confidence: Annotated[float, typer.Option(help="How often the bounds may fail.")] = 0.05,
    rows: Annotated[int, typer.Option(help="How many rows of the data are used at most.")] = 6000,
    seed: Annotated[int, typer.Option(help="Of the partition, who takes part, and the samples.")] = 0,
    json: Json = False,
) -> None:
    """Say what clients that stay away cost, and what a server's own samples buy: SAFARI's section 3 on real data.

    Example: fedtheory learnability digits --clients 10 --participants 5 --server 100
    """
    import numpy as np

    from ..arguments import check_count
    from ..data import load
    from ..learning.data_estimates import learnability as estimated
    from ..rationals import checked_seed

    check_count("clients", clients, 2), check_count("participants", participants), check_count("rows", rows, 2)
    rng, loaded = np.random.default_rng(checked_seed(seed)), load(data)
    kept = np.sort(rng.permutation(len(loaded.labels))[:rows])
    loaded = replace(loaded, features=loaded.features[kept], labels=loaded.labels[kept])
    if participants >= clients:
        raise ValueError(
            f"participants = {participants}: allowed is an integer from 1 to {clients - 1}, so that the "
            "capacity is in (0, 1)"
        )
    here = sorted(rng.permutation(clients)[:participants].tolist())
    with Progress() as progress:
        progress.doing(f"training classifiers on {len(loaded.labels)} rows of {data}")
        found = estimated(loaded, clients, here, concentration, server, beta, confidence, seed=seed)
    content = asdict(found) | {"present": here}
    print_json(content) if json else print_tree(_shown(content))


def _shown(content: dict[str, Any]) -> dict[str, Any]:
    """Write the content in words and a few digits."""

    def number(name: str) -> str:
        at = content[name]
        return f"{at['value']:.4g} (95% of resamples in {at['low']:.4g} to {at['high']:.4g})"

    n_S, n_T = content["client_samples"], content["server_samples"]
    return {
        "capacity": f"{content['omega']:.3g}, clients {', '.join(map(str, content['present']))} take part",
        "samples": f"{n_T} of the server, {n_S} of the clients that take part",
        "risk under P": {name: f"{risk:.4f}" for name, risk in content["risk"].items()},
        "largest |e_P - e_D|": number("gap"),
        f"smallest alpha for beta = {content['beta']:g}": number("alpha"),
        "alpha that always does with one target": f"{content['always']:.4g}",
        "e_P of the best under Q": number("best_of_q"),
        "what the theorems say": {
            "Theorem 1": f"without a server the error can be {content['unavoidable']:.3g}, if clients differ entirely",
            "Theorem 2": _bound(content["bounds"]["theorem 2"], n_S + n_T),
            "Theorem 3": _bound(content["bounds"]["theorem 3"], n_T),
        },
    }


def _bound(value: float, samples: int) -> str:
    empty = ", which says nothing" if value >= 1 else ""
    return f"excess risk at most {value:.3g} of a choice among these by {samples} fresh samples{empty}"
