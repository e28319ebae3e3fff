"""The pages of algorithms and of participation processes: what each is, how it looks, where it is used."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...algorithms import fedavg
from ...experiments.setting_parts import FAMILIES
from ...federations import Quadratic
from ...files import read_json
from ...papers import all_claims, papers
from ...papers.registry import algorithm_of
from ...participation import Bernoulli, history
from ...participation.examples import examples
from ...setting import Setting
from .algorithm_examples import ALGORITHMS
from .experiments import files, page_of

ROUNDS, SHOWN_ROUNDS, CLIENTS = 200, 90, 12


@dataclass(frozen=True)
class PartPage:
    """Content of the page of an algorithm or a process, for the template.

    Attributes:
        name: in code. kind: ``algorithm`` or ``process``. signature: as it is called. summary: one sentence. text: the
            docstring. curves: of an algorithm, as the page's plots take them. raster: of a process, a path for each
            client through the rounds in which it takes part. plotted: what the plot shows, or why there is none.
            claims: that are about it. experiments: that use it, with their pages. instances: likewise.
    """

    name: str
    kind: str
    signature: str
    summary: str
    text: str
    plotted: str
    curves: tuple[dict[str, Any], ...] = ()
    raster: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    experiments: tuple[tuple[str, str], ...] = ()
    instances: tuple[str, ...] = ()


def algorithm_pages() -> Iterator[PartPage]:
    """A page for each algorithm that an experiment file can name."""
    for name, made in FAMILIES["algorithm"]().items():
        plotted, curves = _errors(name)
        yield PartPage(
            name,
            "algorithm",
            f"{name}{_signature(made)}",
            *_text(made),
            plotted,
            curves=curves,
            claims=_claims().get(name, ()),
            experiments=_used(name),
            instances=_instances("algorithm").get(name, ()),
        )


def process_pages() -> Iterator[PartPage]:
    """A page for each process that an experiment file can name."""
    for name, made in FAMILIES["process"]().items():
        plotted, raster = _raster(name)
        yield PartPage(
            name,
            "process",
            f"{name}{_signature(made)}",
            *_text(made),
            plotted,
            raster=raster,
            experiments=_used(name),
            instances=_instances("participation").get(_kind(name), ()),
        )


def _kind(name: str) -> str:
    """Return a process's name in files of instances: LargestNoise is largest_noise."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).removeprefix("_")


def _signature(made: Callable[..., Any]) -> str:
    parameters = inspect.signature(made).parameters.values()
    return f"({', '.join(p.name if p.default is p.empty else f'{p.name}={p.default!r}' for p in parameters)})"


def _text(made: Any) -> tuple[str, str]:
    """The first paragraph of a docstring, and all of it."""
    text = inspect.getdoc(made) or "Nothing is said of it."
    first = " ".join(text.partition("\n\n")[0].split())
    return first if first.endswith(".") else f"{first} ...", text


def _problem() -> tuple[Quadratic, Bernoulli, int]:
    """Two groups of clients with minimisers 1 and -1, which come with probabilities 1/5 and 4/5; a start outside."""
    return Quadratic.common_hessian(offsets=[1, 1, -1, -1]), Bernoulli(["1/5", "1/5", "4/5", "4/5"]), 3


def _errors(name: str) -> tuple[str, tuple[dict[str, Any], ...]]:
    """The error of an algorithm round by round on the small problem, beside FedAvg's; or why it is not shown."""
    if name not in ALGORITHMS:
        return "no plot: it has no example", ()
    federation, who, start = _problem()
    words = (
        "E|x_r - x*|^2 on four clients x^2/2 with minimisers 1, 1, -1, -1, which take part with probabilities "
        "1/5, 1/5, 4/5, 4/5; a start at 3"
    )
    exact, own = _curve(Setting(federation, ALGORITHMS[name](), who, start=start))
    plain = _plain_error()
    how = "exact" if exact else "the mean of 400 simulated runs"
    curves = ({"kind": "exact pale", "points": plain}, {"kind": "exact" if exact else "measured", "points": own})
    return f"{words}: {how}, and pale that of FedAvg", curves


@cache
def _plain_error() -> list[list[float]]:
    """FedAvg's error on the small problem."""
    federation, who, start = _problem()
    return _curve(Setting(federation, fedavg(local_lr="1/10"), who, start=start))[1]


def _curve(setting: Setting) -> tuple[bool, list[list[float]]]:
    """Whether the error is exact, and its points; where moments do not close, it is simulated."""
    try:
        found = setting.exact(np.arange(ROUNDS + 1))
        exact, rounds, errors = True, found.rounds, found.squared_distance
    except ValueError:
        run = setting.simulate(replicas=400, rounds=ROUNDS, record_every=2, device="cpu")
        exact, rounds, errors = False, run.rounds, run.rows["squared_distance"].mean(0)
    return exact, [[int(r), float(f"{e:.6g}")] for r, e in zip(rounds, errors, strict=True) if np.isfinite(e)]


def _raster(name: str) -> tuple[str, tuple[str, ...]]:
    """Draw who takes part in the first rounds of one run of a process; or say why it is not shown."""
    if name in NOT_DRAWN:
        return f"no plot: {NOT_DRAWN[name]}", ()
    process = examples(CLIENTS)[name]
    counts = history(process, CLIENTS, SHOWN_ROUNDS)[:, 0].numpy()
    rows = tuple("".join(f"M{r} 0h1v1h-1z" for r in np.flatnonzero(counts[:, i])) for i in range(CLIENTS))
    called = re.sub(r"Fraction\((\d+), (\d+)\)", r"\1/\2", repr(process))
    return f"{CLIENTS} clients, one a line, through {SHOWN_ROUNDS} rounds of one run of {called}", rows


NOT_DRAWN = {
    "LargestNoise": "who takes part depends on the noise of a round's gradients",
    "Everyone": "all clients take part in every round",
    "ByClass": "its probabilities come from the labels of a data set",
    "recorded_text": "it is Recorded, with a record that the file holds",
}
"""Reasons why a process is not drawn alone."""


@cache
def _claims() -> dict[str, tuple[str, ...]]:
    """The claims that are about an algorithm, by its name."""
    found: dict[str, tuple[str, ...]] = {}
    for claim in all_claims():
        name = algorithm_of(claim)
        if name:
            found[name] = (*found.get(name, ()), claim.ref)
    return found


@cache
def _kinds_in_files() -> dict[str, tuple[tuple[str, str], ...]]:
    """The experiments in which a kind of part stands, with their pages."""
    found: dict[str, dict[str, str]] = {}
    for path, experiment in files():
        title = f"{path.parent.name} {path.stem}"
        for kind in set(_kinds(experiment.content)):
            found.setdefault(kind, {})[title] = page_of(path)
    return {kind: tuple(pages.items()) for kind, pages in found.items()}


def _kinds(content: Any) -> Iterator[str]:
    """Every ``kind`` in a file, and every ``pattern`` by which classes come and go, which is a process too."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key.rpartition(".")[2] in ("kind", "pattern"):
                yield from (each for each in ([value] if isinstance(value, str) else value) if isinstance(each, str))
        content = content.values()
    if not isinstance(content, str) and hasattr(content, "__iter__"):
        for entry in content:
            yield from _kinds(entry)


def _used(name: str) -> tuple[tuple[str, str], ...]:
    return _kinds_in_files().get(name, ())


@cache
def _instances(part: str) -> dict[str, tuple[str, ...]]:
    """The claims whose published instances have a part of a kind, by the kind."""
    found: dict[str, dict[str, None]] = {}
    for paper in papers().values():
        folder = paper.folder
        for path in sorted([*folder.glob("instances/*.json"), *folder.glob("needs/*.json")]) if folder else ():
            data = read_json(path)
            kind = data.get(part, {}).get("kind") if isinstance(data.get(part), dict) else None
            if kind:
                found.setdefault(kind, {})[data["claim"]] = None
    return {kind: tuple(refs) for kind, refs in found.items()}
