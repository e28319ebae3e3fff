"""Every figure, drawn anew: the numbers and the picture that are kept, and nothing that cannot be read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from fedtheory.experiments.printed_tables import folder
from fedtheory.report.drawing import read_figure
from fedtheory.report.figure_files import figure_files
from fedtheory.report.figure_numbers import csv_text, nameless, numbers
from fedtheory.report.style import save

QUICK = ("fast.cor3", "safari.capacity", "fedau.inconsistency", "fast.labels", "flics.participation", "fast.tightness",
         "fedau.participation", "safari.thm5", "flics.tableI", "safari.table1_beside")  # fmt: skip
NAMES = [read_figure(path).name for path in figure_files()]
EVERY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
KEPT = folder().parent / "figures"
SMALLEST = 6.0
"""In points."""
Drawn = Callable[[str], Figure]


@pytest.mark.parametrize("name", EVERY)
def test_numbers_and_picture_are_the_kept_ones(name: str, drawn: Drawn, tmp_path: Path) -> None:
    figure = drawn(name)
    assert csv_text(numbers(figure)) == (KEPT / f"{name}.csv").read_text()
    save(figure, tmp_path / "new.png")
    assert same_picture(tmp_path / "new.png", KEPT / f"{name}.png")
    assert (KEPT / f"{name}.png").stat().st_size < 200_000


def test_a_picture_that_changed_is_noticed(tmp_path: Path) -> None:
    """A line half a pixel higher, a letter, a colour."""

    def drawn(name: str, height: float = 0.5, title: str = "one", colour: str = "#004488") -> Path:
        figure = Figure(figsize=(4, 3), dpi=100)
        axes = figure.add_axes((0.1, 0.1, 0.8, 0.8), ylim=(0, 1), title=title)
        axes.plot([0, 1], [height, height], color=colour, snap=False)
        save(figure, tmp_path / f"{name}.png")
        return tmp_path / f"{name}.png"

    plain = drawn("plain")
    assert same_picture(plain, drawn("again")) and same_picture(plain, drawn("nearly", 0.5 + 1e-12))
    assert not same_picture(plain, drawn("higher", 0.5 + 0.5 / 240))
    assert not same_picture(plain, drawn("letter", title="ono"))
    assert not same_picture(plain, drawn("colour", colour="#1e4488"))


@pytest.mark.parametrize("name", EVERY)
def test_it_can_be_read(name: str, drawn: Drawn) -> None:
    figure = drawn(name)
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()  # all is at its place then
    page = figure.bbox
    texts = [text for text in shown_texts(figure) if text.get_text().strip()]
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in texts]
    for text, box in boxes:
        assert page.x0 - 1 <= box.x0 and box.x1 <= page.x1 + 1, f"cut at the side: {text!r}"
        assert page.y0 - 1 <= box.y0 and box.y1 <= page.y1 + 1, f"cut above or below: {text!r}"
    assert all(text.get_fontsize() >= SMALLEST for text in texts)
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert not overlapping(a, b), f"{one!r} lies over {other!r}"
    assert not nameless(figure)
    assert not [text for text, _ in boxes if internal(text)]
    for legend in legends(figure):
        assert len(legend.get_texts()) == len({text.get_text() for text in legend.get_texts()})
        box = legend.get_window_extent()
        assert all(not overlapping(box, other) for text, other in boxes if text not in of(legend))


def test_what_cannot_be_read_is_found() -> None:
    """The same checks on figures that are wrong."""
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.plot([1, 2, 3], [1, 2, 3])
    assert len(nameless(figure)) == 1
    axes.text(1.5, 1.5, "one text"), axes.text(1.5, 1.52, "another")
    figure.text(0.9, 0.5, "this one is cut at the side")
    figure.draw_without_rendering()
    boxes = {text.get_text(): text.get_window_extent() for text in shown_texts(figure)}
    assert overlapping(boxes["one text"], boxes["another"])
    assert boxes["this one is cut at the side"].x1 > figure.bbox.x1
    assert internal("local_lr = 3") and not internal("$x_0$ and fast.thm1@from_0, q_condition fails")


SHADES, SHARE = 16, 1e-2
"""Of 255, and of the pixels: a processor that rounds a place otherwise changes the shade of an edge, and by it the
palette to which a picture is reduced, whose entries stand for several shades each."""


def same_picture(one: Path, other: Path) -> bool:
    """To a few shades in a few pixels."""
    with Image.open(one) as new, Image.open(other) as kept:
        if new.size != kept.size:
            return False
        off = np.abs(np.asarray(new.convert("RGB"), dtype=int) - np.asarray(kept.convert("RGB"), dtype=int)).max(2)
    return bool(off.max() <= SHADES and (off > 0).mean() <= SHARE)


def shown_texts(figure: Figure) -> Iterator[Text]:
    """Titles, labels, ticks inside the limits, annotations, legends."""
    yield from figure.texts
    for legend in figure.legends:
        yield from (legend.get_title(), *legend.get_texts())
    for axes in figure.axes:
        if axes.get_visible():
            yield from _of_axes(axes)


def _of_axes(axes: Axes) -> Iterator[Text]:
    yield from (axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts)
    if axes.get_legend():
        yield from (axes.get_legend().get_title(), *axes.get_legend().get_texts())
    for axis, limits in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if limits[0] <= tick.get_loc() <= limits[1] and tick.label1.get_visible():
                yield tick.label1


def legends(figure: Figure) -> list[Legend]:
    return [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]


def of(legend: Legend) -> set[str]:
    return {legend.get_title().get_text(), *(text.get_text() for text in legend.get_texts())}


def overlapping(one: Bbox, other: Bbox, slack: float = 1.0) -> bool:
    """Whether two boxes share more than a pixel or so in both directions."""
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return wide > slack and high > slack


INTERNAL = ("local_lr", "server_lr", "global_lr =", "snapshot_probability", "client_round_probability",
            "gradient_noise", "common_hessian", "test_accuracy", "<", "None", "nan", "[[", "{'")  # fmt: skip


def internal(text: str) -> bool:
    """Whether a text has names of the code in it, or what Python prints of objects; hypotheses keep their names."""
    text = text.replace("server_lr_choice", "")
    return any(each in text for each in INTERNAL if not (each == "<" and "< 1" in text))
