"""Pictures of claims: bounds over rounds, conditions, how much of the bounds is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field, model_validator

from ...algorithms import Fast
from ...claims.evaluation import Bound
from ...claims.statement import Claim
from ...evidence.assess import PUBLISHED
from ...evidence.consistency import q_map
from ...evidence.measured import bound_on_run
from ...experiments.reading import Listed, Strict
from ...files import read_json
from ...moments.evaluators import Question, Unserved, left
from ...papers import claim
from ...quantities import QUANTITIES, RUN_QUANTITIES
from ...setting import Setting
from ...simulation import Run
from ..bound_figures import plot, values_said
from ..condition_maps import Allowed, largest_q, largest_q_by_product, plot_allowed, plot_maps
from ..style import in_words
from ..tightness_figures import plot_tightness
from ..worst_case_figures import over_rounds
from .picture import Kind, Number, Range, Ref, SettingPart


class Measured(Strict):
    """Simulation beside a bound: independent replicas, from a seed."""

    replicas: int = Field(ge=1)
    seed: int = Field(default=0, ge=0)


class Bounds(Kind):
    """Bounds of a statement's editions over rounds, the exact left side, and what is measured: ``plot``.

    Attributes:
        printed, repaired: the editions.
        setting: of what.
        stated: quantities that no setting has.
        rounds: the last one; points: so many, evenly spaced in their logarithms.
        measured: what is simulated; by default nothing.
        exact: whether the exact left side is drawn; it has to exist then.
        worst: whether the worst error of the claims' class of clients is drawn, at the same quantities; it has to
            be known then.
    """

    seen = ("printed", "repaired", "rounds", "first", "points", "stated", "exact", "worst")
    kind: Literal["bounds"] = "bounds"
    printed: Listed[Ref] = ()
    repaired: Listed[Ref] = ()
    setting: SettingPart
    stated: dict[str, Number] = Field(default_factory=dict)
    rounds: int = Field(ge=2)
    first: int = Field(default=1, ge=1)
    points: int = Field(default=80, ge=2)
    measured: Measured | None = None
    exact: bool = True
    worst: bool = False

    @model_validator(mode="after")
    def _check(self) -> Bounds:
        if not self.printed + self.repaired:
            raise ValueError("printed and repaired are empty: allowed is at least one claim")
        return self

    def claims(self) -> tuple[str, ...]:
        return (*self.printed, *self.repaired)

    def said(self) -> str:
        first = claim(self.claims()[0])
        if not chosen_by_rounds(first):
            return super().said()
        algorithm = self.setting.algorithm.model_copy(update=dict.fromkeys(first.choices, "as chosen"))
        setting = self.setting.model_copy(update={"algorithm": algorithm})
        return super(Bounds, self.model_copy(update={"setting": setting})).said()

    def drawn(self) -> Figure:
        places = np.unique(np.geomspace(self.first, self.rounds, self.points).astype(np.int64))
        setting = self.setting.built()
        run = self._run(setting)
        stated = {name: _number(value) for name, value in self.stated.items()}
        printed, repaired = (
            [self._bound(claim(ref), setting, places, stated, run) for ref in refs]
            for refs in (self.printed, self.repaired)
        )
        printed, repaired = ([_over(places, bound) for bound in bounds] for bounds in (printed, repaired))
        exact = self._exact([*printed, *repaired], places, stated) if self.exact else None
        first = (printed or repaired)[0]
        worst = (
            over_rounds([each.statement for each in (*printed, *repaired)], [*printed, *repaired], places)
            if self.worst
            else None
        )
        told = {name for part in (self.setting.federation, self.setting.algorithm) for name in part.model_fields_set}
        below = values_said(first, without=told | {"rounds"})
        return plot(printed, exact, run, repaired=repaired, worst=worst, below=below and f"Constants: {below}.")

    def _run(self, setting: Setting) -> Run | None:
        if self.measured is None:
            return None
        statement = claim(self.claims()[0])
        if statement.functional.observable is None or not statement.functional.observable:
            raise ValueError(f"measured: nothing that runs record is what {statement.ref} bounds; leave it out")
        of_a_run = isinstance(setting.algorithm, Fast) and {*RUN_QUANTITIES} & {*statement.quantities}
        peaks = ["peaks"] * bool(of_a_run)
        return setting.simulate(
            replicas=self.measured.replicas,
            rounds=self.rounds,
            seed=self.measured.seed,
            record_every=max(1, self.rounds // 150),
            observers=[statement.functional.observable, *peaks],
            device="cpu",
        )

    def _bound(self, statement: Claim, setting: Setting, places: np.ndarray, stated: Any, run: Run | None) -> Bound:
        stated = {name: value for name, value in stated.items() if name in statement.quantities}
        if chosen_by_rounds(statement):
            return along(statement, self.setting, places, stated)
        if run is None or not run.peaks:
            return statement.at(setting, rounds=places, **stated)
        known = {name: 0.0 for name in run.peaks if name in statement.quantities}
        seen = bound_on_run(statement, setting, run, self.rounds)
        bound = statement.at(setting, rounds=places, **known, **stated)
        shown = {name: value for name, value in bound.quantities.items() if name not in known}
        return replace(bound, slack=seen.slack, quantities=shown)

    def _exact(self, bounds: Sequence[Bound], places: np.ndarray, stated: Any) -> dict[str, Any]:
        """The exact left side of each functional that the bounds are about, with what each is called."""
        found: dict[str, Any] = {}
        first: dict[str, Bound] = {}
        for bound in bounds:
            first.setdefault(bound.statement.functional.name, bound)
        for bound in first.values():
            functional = bound.statement.functional
            name = "exact" if len(first) == 1 else f"exact: {in_words(functional.name)}"
            found[name] = exact_left(bound, self.setting, places, stated)
        return found


def _over(places: np.ndarray, bound: Bound) -> Bound:
    """The bound as one over rounds, though it may know only what varies with them."""
    constant = {name: value for name, value in bound.quantities.items() if not np.ndim(value) or name == "rounds"}
    return replace(bound, value=np.broadcast_to(bound.value, places.shape), quantities=constant | {"rounds": places})


def _number(value: Number) -> float:
    from ...rationals import exact_number

    return float(exact_number("value", value)) if isinstance(value, str) else value


CHOOSING = 3
"""The number of times that a statement chooses: one choice may change what another depends on."""


def chosen_by_rounds(statement: Claim) -> bool:
    """Whether a statement chooses step sizes, or a cutoff, by how many rounds there are."""
    return any("rounds" in {s.name for s in choice.free_symbols} for choice in statement.choices.values())


def along(statement: Claim, setting: SettingPart, places: np.ndarray, stated: Mapping[str, Any]) -> Bound:
    """Return a statement that chooses by the rounds, at each number of rounds with its choice there."""
    each = [statement.at(chosen_setting(statement, setting, int(R), stated), rounds=int(R), **stated) for R in places]
    last = each[-1]
    kept = {name: value for name, value in last.quantities.items() if name not in statement.choices}

    def together(of: str) -> dict[str, Any]:
        values = {name: [getattr(bound, of)[name] for bound in each] for name in getattr(last, of)}
        return {
            name: None if any(v is None for v in row) else np.array(row, dtype=float) for name, row in values.items()
        }

    value = np.array([float(bound.value) for bound in each])
    return replace(
        last, value=value, terms=together("terms"), slack=together("slack"), quantities=kept | {"rounds": places}
    )


def chosen_setting(statement: Claim, setting: SettingPart, rounds: int, stated: Mapping[str, Any]) -> Setting:
    """Return the setting with a statement's choices for so many rounds."""
    made = setting.built()
    for _ in range(CHOOSING):
        own = statement.at(made, rounds=rounds, **stated).quantities
        bound = statement.evaluate(**{name: value for name, value in own.items() if name not in statement.choices})
        chosen = {name: float(bound.quantities[name]) for name in statement.choices}
        whole = {name: int(value) for name, value in chosen.items() if QUANTITIES[name].integer}
        made = setting.built(**chosen | whole)
    return made


def exact_left(bound: Bound, setting: SettingPart, places: np.ndarray, stated: Mapping[str, Any]) -> np.ndarray:
    """Compute the exact left side at so many rounds.

    Raises:
        ValueError: it cannot be computed.
    """
    statement = bound.statement
    reading = next(statement.readings())
    known = {name: value for name, value in stated.items() if name in statement.quantities}
    try:
        if not chosen_by_rounds(statement):
            found = left(statement.functional, Question(setting.built(), places, reading, stated=known))
            return np.broadcast_to(np.asarray(found, dtype=float), places.shape)
        at = [
            Question(chosen_setting(statement, setting, int(R), known), np.array([R]), reading, stated=known)
            for R in places
        ]
        return np.array([float(np.ravel(left(statement.functional, each))[-1]) for each in at])
    except Unserved as reason:
        raise ValueError(f"exact: {statement.ref}: {reason}; allowed is exact = false") from None


class MapPanel(Strict):
    """A panel of ``QMaps``: a claim, two quantities with their values, and the values of the others."""

    claim: Ref
    x: str
    over: Range
    y: str
    up: Range
    fixed: dict[str, Number]


class QMaps(Kind):
    """Maps of the snapshot probabilities that the hypotheses allow, over two quantities: ``plot_maps``."""

    seen = ("panels",)
    kind: Literal["q_maps"] = "q_maps"
    panels: Listed[MapPanel] = Field(min_length=1, max_length=2)

    def claims(self) -> tuple[str, ...]:
        return tuple(panel.claim for panel in self.panels)

    def drawn(self) -> Figure:
        found = [
            q_map(
                claim(each.claim),
                (each.x, each.over.values()),
                (each.y, each.up.values()),
                {name: _number(value) for name, value in each.fixed.items()},
            )
            for each in self.panels
        ]
        return plot_maps(*found)


class PairConditions(Kind):
    """Shares q of client rounds that the conditions of SAFARI's theorems allow at a point x: ``plot_allowed``.

    They are drawn beside where a run with this share settles. The clients are F_i(x) = h (x - c_i)^2/2 with c = 1, -1;
    that at 1 alone takes part.

    On the left Theorem 4 with G_1 = |grad F(x)|^2 and G_2 = |grad F_1(x)|^2, with h = 1; on the right Theorem 5 as
    printed, for several curvatures h, and as derived, which does not depend on them.

    Attributes:
        curvatures: h.
    """

    seen = ("curvatures",)
    kind: Literal["pair_conditions"] = "pair_conditions"
    curvatures: Listed[float] = Field(default=(1.0, 10.0, 1000.0), min_length=1, max_length=3)

    def claims(self) -> tuple[str, ...]:
        return ("safari.thm4@main", "safari.thm5@main", "safari.thm5@derived")

    def drawn(self) -> Figure:
        x = np.linspace(0.02, 6, 300)
        area = largest_q(
            claim("safari.thm4"),
            "q_condition",
            smoothness=1,
            local_steps=1,
            server_lr=0.01,
            dissimilarity=1,
            peak_server_gradient=x**2,
            peak_arbitrary_pseudogradient=(x - 1) ** 2,
        )
        first = Allowed("Theorem 4: allowed far away, not where runs settle", "q", x, area)
        x = np.linspace(0.005, 2, 200)

        def tied(h: float, step: float = 1e-9) -> dict[str, float | np.ndarray]:
            return {
                "smoothness": h,
                "strong_convexity": h,
                "server_lr": step / h,
                "local_lr": 2 * step / h,
                "least_client_progress": (x - 2) / (2 * h * x),
                "local_steps": 1,
            }

        thm5, derived = claim("safari.thm5"), claim("safari.thm5@derived")
        printed = [(f"printed, h = {h:g}", largest_q(thm5, "q_condition", **tied(h))) for h in self.curvatures]
        second = Allowed(
            "Theorem 5: what is printed depends on the units",
            "largest q allowed at x",
            x,
            None,
            printed,
            [("derived, any h", largest_q_by_product(derived, "q_condition", **tied(1)))],
        )
        q = np.linspace(0, 1, 200)
        return plot_allowed(first, second, ("settles at $2q/(1+q)$", 2 * q / (1 + q), q))


class Tightness(Kind):
    """Shares of each bound that the worst setting known to the published scorecard uses: ``plot_tightness``."""

    kind: Literal["tightness"] = "tightness"

    def drawn(self) -> Figure:
        return plot_tightness(read_json(PUBLISHED / "scorecard.json")["rows"])


KINDS = (Bounds, QMaps, PairConditions, Tightness)
