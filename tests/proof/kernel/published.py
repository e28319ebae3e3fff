"""Every proof that the kernel makes for a paper's derivation, by name, and how what it says is evaluated in the small
models of its paper. Nothing is listed by hand: a proof without models is an error. Their names are read from the page
on the kernel, so that nothing is proved where tests are only collected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

from fedtheory.papers.fedau.proofs import thm1_thm2, thm3
from fedtheory.papers.khaled2020.proofs import thm1
from fedtheory.papers.li2020.proofs import thm1_to_thm3
from fedtheory.papers.proofs import library
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.kernel.round_bounds import OF_POINTS
from fedtheory.proof.kernel.run_bounds import RunBound
from fedtheory.proof.kernel.theorems import Theorem
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.proof.translate.sample_bounds import OfSamples

from . import test_answers, test_intervals, test_means, test_on_models, test_points, test_safari, test_weighted
from .mean_models import MeanModel
from .models import Exact, _inside, valued

Least = Callable[[list[Theorem], Any], list[tuple[Theorem, Any]]]


@dataclass(frozen=True)
class Proof:
    """How a theorem is made, and where it is evaluated."""

    make: Callable[[], Theorem]
    least: Least
    models: Iterable[Any]

    def fails(self, theorem: Theorem) -> bool:
        """Whether a theorem on the same scalars and vectors is false in a model."""
        return any(slack < 0 for model in self.models for _, slack in self.least([theorem], model))


# Models that are said to have constants, and an algorithm -----------------------------------------------------------

_CONSTANTS = {
    "smooth": ("L", 1), "strongly_convex": ("mu", 1), "bounded_noise": ("sigma", 2), "bounded_gradient": ("G", 2),
    "bounded_weighted_noise": ("B", 1), "bounded_heterogeneity_gap": ("Gamma", 1),
    "bounded_stochastic_gradients": ("G", 2),
}  # fmt: skip


def _has_constants(theorem: Theorem, numbers: Mapping[str, Exact], spread: str) -> bool:
    """Whether a model meets the theorem's assumptions with their constants, if it does with its own."""
    for name, constant in theorem.assumptions:
        if constant is None:
            continue
        letter, power = (spread, 2) if name.startswith("bounded_dissimilarity") else _CONSTANTS[name]
        own, stated = numbers[letter] ** power, valued(constant, numbers)
        if stated > own if name == "strongly_convex" else stated < own:
            return False
    return True


def _is_of(theorem: Theorem, model: MeanModel) -> bool:
    """Whether a theorem is of the model's algorithm."""
    at = model.numbers
    own = {"clients": at["n"], "share": at["share"]}
    of = dict(theorem.parameters)
    steps = of.pop("local_lr", None)
    if steps is not None and any(valued(steps, {**at, "k": k + 0 * at["K"]}) != model.step(k)
                                 for k in range(model.steps)):  # fmt: skip
        return False
    return all(valued(value, at) == own[name] for name, value in of.items() if name in own)


def _of_means(of: list[Theorem], model: MeanModel) -> list[tuple[Theorem, Any]]:
    kept = [t for t in of if _has_constants(t, model.numbers, "sigma_G") and _is_of(t, model)]
    return test_means.least(kept, model)


def _of_weights(of: list[Theorem], model: Any) -> list[tuple[Theorem, Any]]:
    """Where F has no least value nothing is said of what is about its optimum."""
    kept = [t for t in of if _has_constants(t, model.numbers, "d")]
    if any(client.left < 0 or client.right < 0 for client in model.clients):
        kept = [t for t in kept if not {"x*", "g_opt"} & {term.atom.name for term in t.form.terms}]
    return test_weighted.least(kept, model)


def _of_points(of: list[Theorem], model: Any) -> list[tuple[Theorem, Any]]:
    at = {**model.numbers, "size": model.numbers["K"]}
    kept = [t for t in of if _has_constants(t, at, "sigma_G") and _inside(t, at)]
    return [(t, test_points.least(t, model)) for t in kept]


_AT_POINTS = _of_points, (test_points.MODEL,)
_OF_INTERVALS = test_intervals.least, test_intervals.MODELS
_OF_PAPER: Mapping[str, tuple[Least, Iterable]] = {
    "fast": (test_on_models.least, test_on_models.MODELS.values()),
    "safari": (test_safari.least, test_safari.MODELS.values()),
    "fedau": (_of_weights, test_weighted.MODELS.values()),
    "flics": (test_answers.least, test_answers.MODELS.values()),
    "khaled2020": (_of_means, test_means.OF_LOCAL.values()),
    "li2020": (_of_means, test_means.OF_DECAYING.values()),
}

# The proofs ---------------------------------------------------------------------------------------------------------


def _key(make: Any) -> Any:
    """What a function makes a theorem of; of a bound, and of a function that keeps it, the theorem."""
    if isinstance(make, partial) and make.func is _made:
        return id(make.args[0])
    if hasattr(make, "cache_info"):
        return id(make())
    return (make.func, make.args, *sorted(make.keywords.items())) if isinstance(make, partial) else make


def _label(make: Any) -> str:
    if isinstance(make, partial) and make.func is _made:
        return _names().get(id(make.args[0]), "theorem")
    return (make.func if isinstance(make, partial) else make).__name__


def _named(derivation: Derivation, known: set) -> Iterator[tuple[str, Callable[[], Theorem]]]:
    """A derivation's theorems that no earlier one has, by its claim, and by their makers where there are several."""
    ref = derivation.proves[0].replace("@", ".").removesuffix(".main")
    new = [make for make in makes(derivation.origin) if _key(make) not in known]
    known.update(map(_key, new))
    for make in new:
        yield (ref if len(new) == 1 else f"{ref}.{_label(make)}"), make


def makes(origin: Any) -> list[Any]:
    """The makers of an origin's theorems on a round, as they were given; a bound on numbers or draws has none."""
    return [partial(_made, theorem) for theorem in _theorems(origin.bound)]


def _made(theorem: Theorem) -> Theorem:
    return theorem


def _theorems(bound: RunBound) -> list[Theorem]:
    """The theorems that a bound is made of, each once."""
    found: dict[int, Theorem] = {}
    for part in bound.made_of:
        found |= {id(t): t for t in (_theorems(part) if isinstance(part, RunBound) else [part])}
    return list(found.values())


def _names() -> dict[int, str]:
    """The names of the functions of proofs that make theorems, where a bound is made of several."""
    made = {}
    for module in (thm1_thm2, thm3, thm1, thm1_to_thm3):
        for name, function in vars(module).items():
            if hasattr(function, "cache_info") and not signature(function).parameters:
                made[id(function())] = name
    return made


def of_rounds() -> list[Derivation]:
    """Derivations from theorems of the kernel but those on samples, which have tests of their own."""
    return [d for d in library().derivations if not isinstance(d.origin, OfSamples)]


def theorem_of(ref: str) -> Theorem:
    """The one theorem on a round that a claim's derivation is made of, without making others'."""
    (theorem,) = (make() for d in of_rounds() if d.proves[0] == ref for make in makes(d.origin))
    return theorem


@cache
def proofs() -> dict[str, Proof]:
    """Every proof by its name."""
    found: dict[str, Proof] = {}
    known: set = set()
    for derivation in of_rounds():
        of_paper = _OF_PAPER[derivation.proves[0].split(".")[0]]
        models = _AT_POINTS if derivation.functional in OF_POINTS else of_paper
        for name, make in _named(derivation, known):
            of_intervals = isinstance(derivation.origin, MadeBound) and "absence" in dict(make().parameters)
            found[name] = Proof(make, *(_OF_INTERVALS if of_intervals else models))
    return found


# Their names --------------------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "kernel.md"


def rows() -> dict[str, list[int]]:
    """The page's table of changes, by proof; its last row is of ``ALL``."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[1].isdigit():
            found[cells[0]] = [int(cell) for cell in cells[1:]]
    return found


ALL = "all of these"


def not_yet_run() -> set[str]:
    """The proofs of which the page says so."""
    found = re.search(r"^Not yet run in full: (.*?)\.$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return set(found[1].split(", ")) if found else set()


NAMES = sorted({*rows(), *not_yet_run()} - {ALL})
"""Of all proofs, by the page; ``test_every_change`` finds the same in ``proofs``."""
