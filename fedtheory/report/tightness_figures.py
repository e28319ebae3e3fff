"""Figure of how much of their bounds the worst known settings use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .colours import EXACT, PRINTED, REPAIRED
from .style import finish, panels, styled

LEAST = 1e-4
"""The least share that is drawn; smaller ones are drawn at the edge."""
PRINTED_EDITIONS = ("main", "appendix", "submission")


LOOKS: dict[str, dict[str, Any]] = {
    "printed": {"color": PRINTED, "marker": "o", "ms": 6},
    "repaired": {"color": REPAIRED, "marker": "s", "ms": 6.5, "mfc": "none", "mew": 1.4},
    "printed, by a refuting instance": {"color": PRINTED, "marker": "X", "ms": 7, "mec": EXACT, "mew": 0.6},
    "repaired, by a refuting instance": {"color": REPAIRED, "marker": "X", "ms": 7, "mec": EXACT, "mew": 0.6},
}


@styled()
def plot_tightness(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the largest known exact left side over right side of every theorem and corollary.

    The settings meet all that the statement asks. They were met by the search, or are the instance that refutes it.

    Args:
        rows: of the scorecard.

    Raises:
        ValueError: no row has a search or a refuting instance.

    >>> rows = [{"id": "a.thm1", "edition": "main", "evidence": {"exact": {"search": {"largest_ratio": 0.5}}}}]
    >>> [label.get_text() for label in plot_tightness(rows).axes[0].get_yticklabels()]
    ['a.thm1']
    """
    found: dict[str, list[tuple[str, str, float]]] = {}
    for row in rows:
        if row["id"].split(".")[1].startswith(("thm", "cor")) and (ratio := _ratio(row)) is not None:
            found.setdefault(row["id"], []).append((row["edition"], *ratio))
    if not found:
        raise ValueError("rows: no theorem has a search or an instance; allowed is a scorecard that has some")
    figure, (axes,) = panels(6.4, 1.2 + 0.21 * len(found))
    for place, (id, editions) in enumerate(found.items()):
        for edition, kind, value in editions:
            axes.plot([max(value, LEAST)], [place], ls="", label=f"_{id}@{edition}", **LOOKS[kind])
    axes.axvline(1, color=EXACT, lw=0.9)
    axes.set(xscale="log", ylim=(len(found) - 0.5, -0.5), xlim=(LEAST / 1.5, None))
    axes.set_yticks(range(len(found)), found, fontsize=8)
    finish(axes, "Largest exact left side / right side that is known", "left / right", "", legend=False)
    used = {kind for editions in found.values() for _, kind, _ in editions}
    keys = [Line2D([], [], ls="", label=kind, **look) for kind, look in LOOKS.items() if kind in used]
    figure.legend(handles=keys, loc="outside lower center", ncols=3)
    return figure


def _ratio(row: Mapping[str, Any]) -> tuple[str, float] | None:
    """The kind of mark, and the ratio."""
    exact = (row.get("evidence") or {}).get("exact") or {}
    kind = "printed" if row["edition"] in PRINTED_EDITIONS else "repaired"
    instance, search = exact.get("instance") or {}, exact.get("search") or {}
    if instance.get("refutes"):
        return f"{kind}, by a refuting instance", float(instance["ratio"])
    return (kind, float(search["largest_ratio"])) if search.get("largest_ratio") is not None else None
