"""Walks through the house: which modules something enters at run time, and pictures of four of them.

`python -m tests.walks` draws the pictures in docs/ways anew: the packages that are entered, from below as the layers
are, with the imports between them, numbered as they are entered first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from types import FrameType

import fedtheory as ft
from fedtheory.evidence.judge import judge, parse
from fedtheory.files import read_json
from fedtheory.papers import claim, instance_path
from fedtheory.papers.proofs import prove

from .test_layers import LEVEL, edges, module_of

VOCABULARY = {"quantities", "functionals", "assumptions", "rationals", "schedule", "units", "lazy", "doors",
              "extras", "arguments", "numerals"}  # fmt: skip
"""Modules that say what words mean, which everything enters; no picture shows them."""

WAYS = Path(__file__).parent.parent / "docs" / "ways"


def setting() -> ft.Setting:
    """Three clients, of which two take part in every other round and the first in the others."""
    federation = ft.federations.Quadratic.common_hessian([1, -1, 2])
    algorithm = ft.algorithms.fast(cohort=2, snapshot_period=2, local_lr="1/50")
    return ft.Setting(federation, algorithm, ft.participation.Fixed([0]), start=3)


FILE = instance_path("fast.thm1@main")

ACTIONS: dict[str, Callable[[], object]] = {
    "claim": lambda: claim("fast.thm1").at(setting(), rounds=100),
    "instance": lambda: judge(parse(read_json(FILE))),
    "exact": lambda: setting().exact([1, 10, 100]),
    "run": lambda: setting().simulate(replicas=2, rounds=10, device="cpu"),
    "proof": lambda: prove(claim("fast.thm2@sharp")),
}
"""A claim at a setting, an instance from file to judgement, exact errors, a run, a proof."""


def walk(action: Callable[[], object]) -> list[str]:
    """The modules of fedtheory whose functions ``action`` calls, one for each change of module, without the first
    word of their names. Modules are imported before: ``action`` is done once unobserved."""
    action()
    stays: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            name = frame.f_globals.get("__name__", "")
            if name.startswith("fedtheory.") and (not stays or stays[-1] != name):
                stays.append(name)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        action()
    finally:
        sys.setprofile(before)
    return [name.removeprefix("fedtheory.") for name in stays]


def rooms(stays: list[str]) -> dict[str, list[str]]:
    """The modules of a walk by package, as they are entered first; modules that are in none stand for themselves."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(stays):
        found.setdefault(name.split(".")[0], []).append(name)
    return found


def picture(stays: list[str]) -> str:
    """A walk as SVG: a box for each package, with its modules, and an arrow for each import between them."""
    boxes = rooms([name for name in stays if name not in VOCABULARY])
    levels = sorted({LEVEL[name] for name in boxes}, reverse=True)
    wide, gap, line, left = 240, 46, 15, 8
    place: dict[str, tuple[float, float, float]] = {}
    top = 10.0
    for level in levels:
        row = [name for name in boxes if LEVEL[name] == level]
        for k, name in enumerate(row):
            place[name] = (10 + k * (wide + 20), top, 22 + line * len(boxes[name]))
        top += max(place[name][2] for name in row) + gap
    entered = {name for modules in boxes.values() for name in modules}
    arrows = sorted({
        (module_of(file).split(".")[0], to.split(".")[0]) for file, to in edges()
        if module_of(file) in entered and to in entered and module_of(file).split(".")[0] != to.split(".")[0]
    })  # fmt: skip
    width = 20 + max(x for x, _, _ in place.values()) + wide
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{top:.0f}" font-family="sans-serif" '
        'font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for a, b in arrows:
        x, y, height = place[a]
        u, v, _ = place[b]
        drawn.append(
            f'<line x1="{x + wide / 2:.0f}" y1="{y + height:.0f}" x2="{u + wide / 2:.0f}" y2="{v:.0f}" stroke="#9ab"/>'
        )
    for number, (name, modules) in enumerate(boxes.items(), 1):
        x, y, height = place[name]
        drawn.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{wide}" height="{height:.0f}" rx="4" fill="#f4f7fa" stroke="#456"/>'
            f'<text x="{x + left:.0f}" y="{y + 15:.0f}" font-weight="bold">{number}. {escape(name)}</text>'
        )
        for k, module in enumerate(modules):
            inner = module.partition(".")[2]
            drawn.append(f'<text x="{x + left:.0f}" y="{y + 15 + line * (k + 1):.0f}">{escape(inner)}</text>')
    return "\n".join([*drawn, "</svg>", ""])


if __name__ == "__main__":
    WAYS.mkdir(exist_ok=True)
    for name, action in ACTIONS.items():
        (WAYS / f"{name}.svg").write_text(picture(walk(action)))
