"""The pages besides the scorecard and the claims': each with its place, its template and what that shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .experiments import experiment_pages, table_pages
from .part_pages import algorithm_pages, process_pages

Placed = tuple[str, str, dict[str, Any]]

LISTS = {
    "algorithms": ("Algorithms", "What runs: each algorithm with its law, its error on a small problem, its uses."),
    "processes": ("Participation", "Who takes part: each process with its law, a run of it, its uses."),
}


def more_pages() -> Iterator[Placed]:
    """Yield the further pages. Lists come after the pages that they name."""
    printed = list(table_pages())
    for table in printed:
        yield table.page, "table.html", {"page": table}
    run = list(experiment_pages())
    for experiment in run:
        yield experiment.page, "experiment.html", {"page": experiment}
    yield "experiments.html", "experiments.html", {"tables": printed, "experiments": run}
    for folder, pages in (("algorithms", algorithm_pages()), ("processes", process_pages())):
        parts = list(pages)
        for part in parts:
            yield f"{folder}/{part.name}.html", "part.html", {"page": part, "list": folder, "title": LISTS[folder][0]}
        yield (
            f"{folder}.html",
            "parts.html",
            {"parts": parts, "list": folder, "title": LISTS[folder][0], "lead": LISTS[folder][1]},
        )
