"""Commands that choose who takes part."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..printing import Progress, print_json, print_tree
from .app import Json, app


@app.command()
def offvar(
    availability: Annotated[Path, typer.Argument(help="CSV or Parquet: one column a group, one line a round.")],
    budget: Annotated[Path, typer.Option(help="CSV: budget, one line a round.")],
    weights: Annotated[Path, typer.Option(help="CSV: group,weight.")],
    r_min: Annotated[float, typer.Option(help="Least participation of every group, clients a round.")] = 0.0,
    plan: Annotated[Path | None, typer.Option(help="Write the plan here: CSV, one column a group.")] = None,
    json: Json = False,
) -> None:
    """Solve OffVar, the best participation in hindsight, exactly; the gap is certified by a dual bound.

    Example: fedtheory offvar availability.csv --budget k.csv --weights p.csv --plan plan.csv
    """
    from ..files import check_target
    from ..selection import offvar as solve
    from ..selection.readers import read_availability, read_budget, read_group_weight, write_plan

    if plan:
        check_target(plan)
    with Progress() as progress:
        progress.doing(f"reading {availability}")
        trace = read_availability(availability)
        k, p = read_budget(budget, len(trace.counts)), read_group_weight(weights, trace.groups)
        progress.doing(f"solving {len(trace.counts)} rounds of {len(trace.groups)} groups")
        solution = solve(trace.counts, k, p, r_min)
        if plan:
            progress.doing(f"writing {plan}")
            write_plan(plan, solution.plan(), trace.groups)
    content = {
        "totals": dict(zip(trace.groups, solution.totals.tolist(), strict=True)),
        "objective": solution.objective,
        "lower_bound": solution.lower_bound,
        "gap": solution.gap,
        "seconds": solution.seconds,
    }
    print_json(content) if json else print_tree(content)


@app.command()
def select(
    availability: Annotated[Path, typer.Argument(help="CSV or Parquet: one column a group, one line a round.")],
    budget: Annotated[Path, typer.Option(help="CSV: budget, one line a round.")],
    weights: Annotated[Path, typer.Option(help="CSV: group,weight.")],
    counts: Annotated[str, typer.Option(help="What enters the estimate: planned or received.")] = "planned",
    update: Annotated[str, typer.Option(help="How it is averaged: mean, start_counts or printed.")] = "mean",
    start: Annotated[float, typer.Option(help="The estimate before round 1.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the clients' answers, for received counts.")] = 0,
    plan: Annotated[Path | None, typer.Option(help="Write every round's rates here: CSV.")] = None,
    json: Json = False,
) -> None:
    """Step FLICS-OPT's online selection along a trace, and compare it with the best in hindsight.

    Example: fedtheory select availability.csv --budget k.csv --weights p.csv
    """
    from ..files import check_target
    from ..selection import offvar as solve
    from ..selection import online, proxy
    from ..selection.readers import read_availability, read_budget, read_group_weight, write_plan

    if plan:
        check_target(plan)
    with Progress() as progress:
        progress.doing(f"reading {availability}")
        trace = read_availability(availability)
        k, p = read_budget(budget, len(trace.counts)), read_group_weight(weights, trace.groups)
        progress.doing(f"{len(trace.counts)} rounds of {len(trace.groups)} groups")
        run = online(trace.counts, k, p, counts, update, start, seed)
        genie = solve(trace.counts, k, p)
        if plan:
            progress.doing(f"writing {plan}")
            write_plan(plan, run.rates, trace.groups)
    estimate = run.final_estimate()
    objective = float(proxy(estimate, p))
    content = {
        "participation": dict(zip(trace.groups, estimate.tolist(), strict=True)),
        "objective": objective,
        "genie": genie.objective,
        "gap": objective - genie.objective,
    }
    print_json(content) if json else print_tree(content)
