"""The page of a diagnosis: one file for a browser, without a network, with its figures and every number."""

from __future__ import annotations

import base64
import io
import math
from html import escape

import numpy as np
from matplotlib.figure import Figure

from ..diagnosis.diagnosis import Diagnosis
from ..diagnosis.recommendation import Recommendation
from ..diagnosis.time_dependence import survival
from ..files import json_text
from .colours import EXACT, MEASURED, PRINTED
from .style import DASHED, finish, panels, styled

NIGHT = (22, 6)
"""Hours at which night begins and ends, for shading."""

MOST_ROWS = 2000
"""Number of clients, and of rounds, that a raster shows; of more, every so-manieth."""

STYLE = (
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    "<style>:root{color-scheme:light dark}body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
    "overflow-wrap:anywhere}p{margin:.3em 0}figure{margin:1.5em 0}figcaption{opacity:.8}.wide{overflow-x:auto}"
    "img{display:block;width:100%;min-width:40em}table{border-collapse:collapse;font-size:.85em;margin:1em 0}"
    "th,td{padding:.15em .8em .15em 0;text-align:left;vertical-align:top;white-space:nowrap}"
    "td:last-child{white-space:normal;min-width:12em}</style>"
)
"""Style of the page: in a narrow window figures and the table scroll by themselves, so that they stay readable."""

WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


def diagnosis_page(found: Diagnosis, title: str, chosen: Recommendation | None = None) -> str:
    """Return the page of a diagnosis, and perhaps of what is recommended, as HTML."""
    pictures = "\n".join(
        f'<figure><div class="wide"><img alt="{escape(caption)}" src="data:image/png;base64,{_png(figure)}"></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for figure, caption in _figures(found, chosen)
    )
    said = [*(str(chosen).splitlines() if chosen else ()), *str(found).splitlines()]
    lines = "\n".join(f"<p>{escape(line.strip())}</p>" for line in said)
    content = {"diagnosis": found.to_json()} | ({"recommendation": chosen.to_json()} if chosen else {})
    numbers = "\n".join(
        f'<script type="application/json" id="{name}">{json_text(each).replace("<", chr(92) + "u003c")}</script>'
        for name, each in content.items()
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"{STYLE}</head>\n<body>\n<h1>{escape(title)}</h1>\n{lines}\n{_table(chosen)}{pictures}\n"
        f"{numbers}\n</body>\n</html>\n"
    )


def _table(chosen: Recommendation | None) -> str:
    """The candidates, a row each; "" without a recommendation."""
    if chosen is None:
        return ""
    rows = [each.table_row() for each in chosen.choices]
    cells = [[*rows[0]], *([str(cell) for cell in row.values()] for row in rows)]
    lines = [
        "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for row, tag in zip(cells, ["th", *["td"] * len(rows)], strict=True)
    ]
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>\n"


def _png(figure: Figure) -> str:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=100)
    return base64.b64encode(content.getvalue()).decode()


@styled()
def _figures(found: Diagnosis, chosen: Recommendation | None) -> list[tuple[Figure, str]]:
    drawn = []
    if chosen is not None:
        drawn.append((_fronts(chosen), "Candidates: no other has both a lower error and fewer uploads on the lines."))
    nights = "; nights are grey" if _has_nights(found) else ""
    drawn += [(_raster(found), f"Who was there: a row a client, the rarest on top{nights}.")]
    if found.times:
        drawn.append((_week(found), "Mean number of clients by weekday and hour."))
    drawn += [
        (_absences(found), "Absences longer than so many rounds, and what geometric ones of the same means give."),
        (_weights(found), "Weights of the clients in the implied objective, times their number, against fair ones."),
        (
            _errors(found),
            "FedAU's weight error by cutoff: on this log, with the band of block resamples of it. No law is assumed.",
        ),
    ]
    hour = next((each for each in found.calendar if each.of == "hour"), None)
    if hour is not None:
        figure, (axes,) = panels(8, 2.8)
        axes.bar(hour.labels, hour.means, color=MEASURED)
        finish(axes, "Ripple", "hour", "clients a round")
        drawn.append((figure, "Mean size of a round by hour."))
    return drawn


def _has_nights(found: Diagnosis) -> bool:
    """Whether rounds have times, and are shorter than a night is long."""
    return bool(found.times and found.width and found.width < 43_200)


def _raster(found: Diagnosis) -> Figure:
    order = np.argsort(found.rates.rate, kind="stable")
    rows, columns = (max(1, -(-n // MOST_ROWS)) for n in (len(order), found.rounds))
    figure, (axes,) = panels(8, 4)
    shown = found.mask[::columns, order[::rows]].T
    axes.imshow(shown, aspect="auto", cmap="Greys", interpolation="nearest", extent=(0, found.rounds, len(order), 0))
    if _has_nights(found):
        night = np.array([t.hour >= NIGHT[0] or t.hour < NIGHT[1] for t in found.times])
        edges = np.flatnonzero(np.diff(np.concatenate([[0], night.astype(int), [0]])))
        for first, last in edges.reshape(-1, 2).tolist():
            axes.axvspan(first, last, color="0.5", alpha=0.25, lw=0)
    finish(axes, "Participation", "round", "client, by rate", grid=False)
    return figure


def _week(found: Diagnosis) -> Figure:
    total, count = np.zeros((7, 24)), np.zeros((7, 24))
    for time, size in zip(found.times, found.mask.sum(axis=1).tolist(), strict=True):
        total[time.weekday(), time.hour] += size
        count[time.weekday(), time.hour] += 1
    figure, (axes,) = panels(8, 2.8)
    mean = np.divide(total, count, out=np.full((7, 24), np.nan), where=count > 0)
    figure.colorbar(axes.imshow(mean, aspect="auto", cmap="cividis"), ax=axes)
    axes.set_yticks(range(7), WEEKDAYS)
    finish(axes, "Clients a round", "hour", "", grid=False)
    return figure


def _absences(found: Diagnosis) -> Figure:
    table = survival(found.mask)
    figure, (axes,) = panels(8, 3)
    axes.plot([k + 1 for k in table["rounds"]], table["geometric"], color=PRINTED, ls=DASHED, label="geometric")
    axes.plot([k + 1 for k in table["rounds"]], table["share"], color=MEASURED, label="this log")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=1e-5)
    finish(axes, "Absences", "rounds", "share that is at least so long")
    return figure


def _weights(found: Diagnosis) -> Figure:
    figure, (axes,) = panels(8, 3)
    order, n = np.argsort(found.rates.rate, kind="stable"), len(found.names)
    for k, each in enumerate(found.objectives):
        axes.plot(np.arange(n), each.weight[order] * n, lw=1.2, color=f"C{k}", label=each.rule)
    axes.plot(np.arange(n), found.fair[order] * n, color=EXACT, ls=DASHED, label="fair")
    finish(
        axes, "Implied objectives", "client, by rate", "weight x clients", loc="center left", bbox_to_anchor=(1, 0.5)
    )
    return figure


def _errors(found: Diagnosis) -> Figure:
    figure, (axes,) = panels(8, 3)
    finite = {k: v for k, v in found.weight_errors.items() if not math.isinf(k)}
    low, high = (np.array([found.weight_error_bands[k][end] for k in finite]) for end in (0, 1))
    axes.fill_between([*finite], low, high, color=MEASURED, alpha=0.2, lw=0, label=f"{found.level:.0%} of resamples")
    axes.plot([*finite], [*finite.values()], "o-", color=MEASURED, label="this log")
    if math.inf in found.weight_errors:
        axes.axhline(found.weight_errors[math.inf], color=EXACT, ls=DASHED, label="no cutoff")
    axes.set_xscale("log")
    axes.set_yscale("log")
    finish(axes, "FedAU's weights", "cutoff", r"mean of $(p\,\omega - 1)^2$")
    return figure


def _fronts(chosen: Recommendation) -> Figure:
    figure, both = panels(8, 3.6, 2)
    for axes, value, front, title in (
        (both[0], "score", "pareto", "Error"),
        (both[1], "worst_client", "pareto_worst", "Worst client's error"),
    ):
        rows = sorted(chosen.choices, key=lambda row: row.uploads)
        shown = [row for row in rows if math.isfinite(getattr(row, value)) and getattr(row, value) > 0]
        best = [row for row in shown if getattr(row, front)]
        axes.plot([r.uploads for r in shown], [getattr(r, value) for r in shown], "o", color="0.6", ms=4)
        axes.plot([r.uploads for r in best], [getattr(r, value) for r in best], "o-", color=EXACT, label="front")
        named = {(row.uploads, getattr(row, value)): row.name for row in reversed(best)}
        middle = (shown[0].uploads + shown[-1].uploads) / 2 if shown else 0
        for k, (point, name) in enumerate(named.items()):
            right = point[0] > middle
            axes.annotate(
                name,
                point,
                fontsize=7,
                xytext=(-5 if right else 5, -9 if k % 2 else 4),  # neighbours do not cover each other
                textcoords="offset points",
                ha="right" if right else "left",
            )
        own = chosen.chosen
        axes.plot([own.uploads], [getattr(own, value)], "*", color=PRINTED, ms=11, label="recommended")
        if chosen.target is not None and value == "score":
            axes.axhline(chosen.target, color=PRINTED, ls=DASHED, label="target")
        axes.set_yscale("log")
        finish(axes, title, "uploads", "F - F*")
    return figure
