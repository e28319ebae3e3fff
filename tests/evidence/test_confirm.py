"""Judging and replaying instances, against a second route: plain loops in floats and in Fractions, formulas typed
from the paper, and runs of an independent little simulator on the line."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.claims.balls import working_precision
from fedtheory.evidence.judge import Judgement
from fedtheory.evidence.replay import ReplayError, replay
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.quantities import RUN_QUANTITIES
from fedtheory.subjects.enclosures import Undecided

from .numbers import Numbers, judge, left_side, run_boxes, stated_constants

ONES = {name: Fraction(1) for name in ("smoothness", "dissimilarity")}


def line(claim_ref: str, centres: tuple, start: object, **changes: object) -> Numbers:
    """F_i(x) = (x - c_i)^2 / 2 on the line."""
    defaults = {
        "hessians": ((Fraction(1),),) * len(centres),
        "centres": tuple((Fraction(c),) for c in centres),
        "start": (Fraction(start),),
        "cohort": len(centres), "local_steps": 1, "local_lr": Fraction(1, 200), "snapshot_period": 2,
        "members": (0,), "rounds": 100_000,
        "constants": {name: Fraction(int(name != "gradient_noise")) for name in stated_constants(claim_ref)},
    }  # fmt: skip
    return Numbers(claim=claim_ref, **(defaults | changes))


QUARTET = line("fast.thm1@main", ("9/20", "-9/20", 1, -1), "19/10")
LITERAL = ("period", "without replacement")
HOWS = [(s, d) for s in ("period", "probability") for d in ("without replacement", "with replacement")]
INDICES = ("k = 1..K", "k = 0..K-1")
AVERAGES = ("r = 1..R", "r = 0..R-1")


@pytest.fixture(scope="module")
def quartet() -> Judgement:
    return judge(QUARTET)


def holds(enclosure: arb, value: Fraction) -> bool:
    """Whether a finite ball holds a rational number."""
    with working_precision(20_000):
        return enclosure.is_finite() and bool(enclosure.contains(arb(fmpq(value.numerator, value.denominator))))


def middle(enclosure: arb) -> float:
    """A ball's middle, which must be sharp."""
    assert float(enclosure.rad()) <= 1e-20 * abs(float(enclosure)) + 1e-60
    return float(enclosure)


# The plain routes. A client at c moves x by K steps to c + (1 - eta)^K (x - c).


@dataclass
class Line:
    """An instance on the line with curvature 1, as plain numbers."""

    centres: list
    start: object
    eta: object
    K: int
    m: int
    members: list[int]
    period: int
    rounds: int

    @classmethod
    def of(cls, instance: Numbers, number: type = float) -> Line:
        return cls(
            [number(c) for (c,) in instance.centres], number(instance.start[0]), number(instance.local_lr),
            instance.local_steps, instance.cohort, list(instance.members), instance.snapshot_period, instance.rounds,
        )  # fmt: skip

    @property
    def optimum(self) -> object:
        return sum(self.centres) / len(self.centres)

    def gradient_sums(self, x: object, clients: list[int]) -> tuple[object, object, object]:
        """Means over the clients of sum_k (x_k - c), for k = 0..K-1 and k = 1..K, and of the models at the end."""
        now, later, ends = 0, 0, 0
        for i in clients:
            y = x
            for _ in range(self.K):
                now += y - self.centres[i]
                y = y - self.eta * (y - self.centres[i])
                later += y - self.centres[i]
            ends += y
        return now / len(clients), later / len(clients), ends / len(clients)

    def run(self, rng: np.random.Generator | None, snapshots: str, draw: str) -> tuple[dict, list]:
        """One run: G_1, G_2, G_3 by index reading (``None`` where no round is of the kind), and x_0..x_R."""
        everyone = list(range(len(self.centres)))
        lists = {index: ([], [], []) for index in INDICES}
        x, path = self.start, [self.start]
        for r in range(self.rounds):
            snapshot = r % self.period == 0 if snapshots == "period" else rng.random() < 1 / self.period
            if not snapshot:
                clients = self.members
            elif rng is None:
                clients = everyone
            else:
                clients = rng.choice(len(everyone), self.m, replace=draw == "with replacement").tolist()
            now, later, x_next = self.gradient_sums(x, clients)
            full_now, full_later, _ = self.gradient_sums(x, everyone)
            for index, cohort, full in ((INDICES[0], later, full_later), (INDICES[1], now, full_now)):
                if snapshot:
                    lists[index][0].append(full**2)
                    lists[index][2].append(cohort**2)
                else:
                    lists[index][1].append(cohort**2)
            x = x_next
            path.append(x)
        return lists, path

    def left_sides(self, snapshots: str, draw: str) -> dict[str, float]:
        """E (1/R) sum (x_r - x*)^2 over r = 1..R and r = 0..R-1, and E (x_R - x*)^2, by E x and E x^2.

        With y = x - x*, a round is y' = s y + (1 - s) c with c the mean of the drawn centres (less x*), so
        E y'^2 = s^2 E y^2 + 2 s (1 - s) E y E c + (1 - s)^2 E c^2.
        """
        s = (1 - self.eta) ** self.K
        shifted = [c - self.optimum for c in self.centres]
        M, m = len(shifted), self.m
        mean_square = sum(c**2 for c in shifted) / M
        if draw == "with replacement":
            spread = mean_square / m
        else:  # the textbook's variance of the mean of a sample without replacement
            spread = mean_square / m * (M - m) / (M - 1) if M > 1 else 0 * self.eta
        fixed = sum(shifted[i] for i in self.members) / len(self.members)
        first = self.start - self.optimum
        y, y2, total = first, first**2, 0
        for r in range(self.rounds):
            total += y2
            moved = []
            for c, c2 in ((0, spread), (fixed, fixed**2)):
                moved.append((s * y + (1 - s) * c, s * s * y2 + 2 * s * (1 - s) * y * c + (1 - s) ** 2 * c2))
            if snapshots == "period":
                y, y2 = moved[0] if r % self.period == 0 else moved[1]
            else:
                y, y2 = ((a + (self.period - 1) * b) / self.period for a, b in zip(*moved, strict=True))
        return {"r = 0..R-1": total / self.rounds, "r = 1..R": (total + y2 - first**2) / self.rounds, "final": y2}


def theorem_1(instance: Numbers) -> Fraction:
    """The right side of (2), typed from the paper."""
    c = instance.constants
    L, sigma, sigma_G = c["smoothness"], c["gradient_noise"], c["dissimilarity"]
    K, R, eta, m, n = instance.local_steps, instance.rounds, instance.local_lr, instance.cohort, len(instance.members)
    q = Fraction(1, instance.snapshot_period)
    centres = [row[0] for row in instance.centres]
    optimum = sum(centres) / len(centres)

    def F(x: Fraction) -> Fraction:
        return sum((x - centre) ** 2 for centre in centres) / (2 * len(centres))

    zeta = F(instance.start[0]) - F(optimum)
    return (
        4 * zeta / (K * R * eta)
        + 4 * (q * n + (1 - q) * m) / (m * n) * L * eta * sigma**2
        + (120 * (1 - q) + 60 * q) * L**2 * K**2 * eta**2 * sigma_G**2
    )


def q_condition(instance: Numbers, G: tuple) -> tuple:
    """The slack of Theorem 1's condition on q: as printed, and with the denominator multiplied out."""
    c = instance.constants
    L, sigma_G, K, eta = c["smoothness"], c["dissimilarity"], instance.local_steps, instance.local_lr
    q = Fraction(1, instance.snapshot_period)
    G1, G2, G3 = G
    numerator = (2 * L * K * eta - 1) * G2 + 2 * K**2 * sigma_G**2
    denominator = G1 + (2 * L * K * eta - 1) * G2 - 2 * L * K * eta * G3 + 2 * K**2 * sigma_G**2
    return q - numerator / denominator, q * denominator - numerator


# The quartet.


def test_quartet_refutes_theorem_1_under_every_reading(quartet):
    assert len(quartet.readings) == 32
    assert len({tuple(r.reading.items()) for r in quartet.readings}) == 32
    assert quartet.refutes and all(r.refutes and not r.failing and not r.undecided for r in quartet.readings)
    assert quartet.readings[0].reading == {
        "average": "r = 1..R", "local gradients": "k = 1..K", "q-condition": "quotient", "snapshots": "period",
        "uniform cohort": "without replacement",
    }  # fmt: skip
    assert judge(replace(QUARTET, claim="fast.thm1@appendix")).refutes


def test_quartet_right_side(quartet):
    """4 * 1.805 / 500 + 90 / 40000."""
    assert theorem_1(QUARTET) == Fraction(1669, 100_000)
    assert all(holds(r.right, theorem_1(QUARTET)) for r in quartet.readings)


@pytest.mark.parametrize("how", HOWS)
def test_quartet_left_sides(quartet, how):
    """A hundred thousand steps of plain floats lose less than 1e-11: errors add up to at most 1e5 * 1e-16."""
    expected = Line.of(QUARTET).left_sides(*how)
    for reading in quartet.readings:
        if (reading.reading["snapshots"], reading.reading["uniform cohort"]) == how:
            assert middle(reading.left) == pytest.approx(expected[reading.reading["average"]], rel=1e-11)
            assert float(reading.left) > 3 * float(reading.right)


def test_quartet_run_quantities(quartet):
    """The deterministic run, by a plain loop; and the slack that follows from it."""
    lists, path = Line.of(QUARTET).run(None, *LITERAL)
    assert np.mean(np.square(path[1:])) == pytest.approx(float(quartet.readings[0].left), rel=1e-11)
    with working_precision():
        for index in INDICES:
            (box,) = run_boxes(QUARTET, *LITERAL, index)
            G = tuple(max(values) for values in lists[index])
            for name, value in zip(RUN_QUANTITIES, G, strict=True):
                assert middle(box[name]) == pytest.approx(value, rel=1e-12)
            for reading in quartet.readings:
                r = reading.reading
                if (r["snapshots"], r["uniform cohort"], r["local gradients"]) == (*LITERAL, index):
                    expected = float(q_condition(QUARTET, G)[r["q-condition"] == "product"])
                    assert float(reading.slack["q_condition"]) == pytest.approx(expected, rel=1e-11)


def test_quartet_other_conditions(quartet):
    """eta = 1/200 against min(1/8, (1/2 + 4/2) / 20) = 1/8; the largest |grad F_i - grad F| is 1."""
    for reading in quartet.readings:
        assert reading.slack["step_cap"] == Fraction(1, 8) - Fraction(1, 200)
        assert [reading.slack[f"assumption_{i}"] for i in (1, 2, 3)] == [0, 0, 0]


def test_quartet_hinges_on_the_maxima():
    """Read G_1 and G_2 as minima, or as values late in the run, and the condition on q fails: the start alone, far
    away, makes the maxima large."""
    lists, _ = Line.of(QUARTET).run(None, *LITERAL)
    for index in INDICES:
        G1, G2, G3 = lists[index]
        assert min(q_condition(QUARTET, (max(G1), max(G2), max(G3)))) > 0
        assert max(q_condition(QUARTET, (min(G1), min(G2), max(G3)))) < 0
        assert max(q_condition(QUARTET, (min(G1), min(G2), min(G3)))) < 0
        assert max(q_condition(QUARTET, (G1[-1], G2[-1], G3[-1]))) < 0


# Any instance on the line.


@st.composite
def lines(draw, **fixed: object) -> Numbers:
    """A few clients, with short horizons and steps of any size below 1."""
    centres = tuple(draw(st.lists(st.fractions(-2, 2, max_denominator=20), min_size=1, max_size=5)))
    members = draw(st.permutations(range(len(centres))))[: draw(st.integers(1, len(centres)))]
    options = {
        "cohort": draw(st.integers(1, len(centres))), "local_steps": draw(st.integers(1, 3)),
        "local_lr": draw(st.fractions(Fraction(1, 50), Fraction(9, 10), max_denominator=50)),
        "snapshot_period": draw(st.integers(2, 4)), "members": tuple(members), "rounds": draw(st.integers(2, 40)),
    }  # fmt: skip
    return line("fast.thm1@main", centres, draw(st.fractions(-3, 3, max_denominator=20)), **(options | fixed))


def full_cohort(instance: Numbers) -> Numbers:
    return replace(instance, cohort=len(instance.centres))


@settings(deadline=None, max_examples=40)
@given(lines())
def test_left_sides_hold_the_exact_values(instance):
    """In Fractions, for all four ways of running the algorithm."""
    plain = Line.of(instance, Fraction)
    for how in HOWS:
        expected = plain.left_sides(*how)
        with working_precision():
            left = left_side(instance, *how)
            for average in AVERAGES:
                assert holds(left.of(AVERAGE_SQUARED_GRADIENT, average), expected[average])
            assert holds(left.of(FINAL_SQUARED_DISTANCE, ""), expected["final"])
            assert holds(left.final["squared_gradient"], expected["final"])  # curvature 1


def test_left_side_of_300_rounds_in_fractions():
    """The quartet: numbers of about 1400 digits against balls of 77."""
    instance = replace(QUARTET, rounds=300)
    expected = Line.of(instance, Fraction).left_sides(*LITERAL)
    lists, path = Line.of(instance, Fraction).run(None, *LITERAL)
    assert sum(x**2 for x in path[1:]) / 300 == expected["r = 1..R"]
    literal = judge(instance).readings[0]
    assert holds(literal.left, expected["r = 1..R"]) and holds(literal.right, theorem_1(instance))
    assert float(literal.left.rad()) < 1e-60
    with working_precision():
        for index in INDICES:
            (box,) = run_boxes(instance, *LITERAL, index)
            assert all(holds(box[n], max(v)) for n, v in zip(RUN_QUANTITIES, lists[index], strict=True))


@settings(deadline=None, max_examples=30)
@given(lines().map(full_cohort))
def test_deterministic_runs_are_followed(instance):
    """G_1 to G_3 in Fractions, in sharp boxes; and the wide boxes of ``follow=False`` hold them too."""
    lists, _ = Line.of(instance, Fraction).run(None, *LITERAL)
    with working_precision():
        for index in INDICES:
            (sharp,) = run_boxes(instance, *LITERAL, index)
            wide = run_boxes(instance, *LITERAL, index, follow=False)
            G = dict(zip(RUN_QUANTITIES, map(max, lists[index]), strict=True))
            assert all(holds(sharp[name], G[name]) and float(sharp[name].rad()) < 1e-60 for name in G)
            assert any(all(holds(box[name], G[name]) for name in G) for box in wide)


def inside(box: dict, values: list[float], scale: float) -> bool:
    """Whether floats lie in a box; they carry rounding errors of 1e-12 of the scale of the squares."""
    return all(
        float(box[n].lower()) - 1e-12 * scale <= v <= float(box[n].upper()) + 1e-12 * scale
        for n, v in zip(RUN_QUANTITIES, values, strict=True)
    )


@settings(deadline=None, max_examples=30)
@given(lines(), st.integers(0, 2**32))
def test_every_run_is_in_one_of_the_boxes(instance, seed):
    """Runs that have rounds of both kinds, simulated by the plain loop."""
    rng, plain = np.random.default_rng(seed), Line.of(instance)
    for how in HOWS:
        with working_precision():
            boxes = {index: run_boxes(instance, *how, index, follow=False) for index in INDICES}
        for _ in range(4):
            lists, _ = plain.run(rng, *how)
            for index in INDICES:
                if lists[index][0] and lists[index][1]:
                    G = [max(values) for values in lists[index]]
                    assert any(inside(box, G, 30.0 * instance.local_steps**2) for box in boxes[index])


@settings(deadline=None, max_examples=10)
@given(lines(), st.integers(0, 2**32))
def test_runs_of_the_engine_are_in_the_boxes(instance, seed):
    """The same with the package's own simulator; a maximum over no rounds is 0 there, and such runs are left out."""
    for how in HOWS:
        run = instance.setting(*how).simulate(replicas=6, rounds=instance.rounds, seed=seed, observers=["peaks"])
        with working_precision():
            boxes = run_boxes(instance, *how, "k = 0..K-1", follow=False)
        for G in np.stack([run.peaks[name] for name in RUN_QUANTITIES], axis=1):
            if how[0] == "period" or (G[0] > 0 and G[1] > 0):
                assert any(inside(box, list(G), 30.0 * instance.local_steps**2) for box in boxes)


def test_boxes_are_not_everything():
    """They exclude what cannot be: the quartet's G_1 is at least the start's, G_3 at most the farthest cohort's."""
    with working_precision():
        (box,) = run_boxes(QUARTET, "period", "with replacement", "k = 0..K-1")
        G1, G2, G3 = (box[name] for name in RUN_QUANTITIES)
    start = Fraction(19, 10)
    assert holds(G1, start**2) and float(G1.rad()) < 1e-60
    assert float(G3.upper()) == pytest.approx(float(start + 1) ** 2, rel=1e-7)  # a radius has 30 bits
    assert float(G2.upper()) == pytest.approx(float(start - Fraction(9, 20)) ** 2, rel=1e-7)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_left_sides_against_recursion_and_simulation(how, seed):
    """Two dimensions, two curvatures, three local steps and noise, which the line does not cover."""
    rng = np.random.default_rng(seed)
    centres = tuple(tuple(Fraction(int(v), 10) for v in row) for row in rng.integers(-20, 20, (4, 2)))
    instance = replace(
        QUARTET, claim="fast.thm2@main", hessians=((Fraction(1), Fraction(1, 2)),) * 4, centres=centres,
        start=(Fraction(2), Fraction(-1)), cohort=2, local_steps=3, local_lr=Fraction(1, 10), snapshot_period=3,
        members=(0, 2), rounds=20, constants=ONES | {"gradient_noise": Fraction(4)},  # the larger part of the error
    )  # fmt: skip
    setting = instance.setting(*how)
    with working_precision():
        left = left_side(instance, *how)
    floats = setting.exact([20])
    run = setting.simulate(replicas=400, rounds=20, seed=seed)
    for functional, averages in ((AVERAGE_SQUARED_GRADIENT, AVERAGES), (FINAL_SQUARED_DISTANCE, ("r = 1..R",))):
        for average in averages:
            value = float(left.of(functional, average))
            assert value == pytest.approx(floats.functional(functional, average)[0], rel=1e-12)
            # 36 intervals at level 1e-4: all hold but with chance 0.4%, and the seeds are fixed
            _, low, high = run.interval(functional, average, confidence=1 - 1e-4)
            assert low[-1] <= value <= high[-1]


@pytest.mark.parametrize(
    "changes",
    [
        {"constants": ONES | {"gradient_noise": Fraction(1)}},
        {"local_lr": Fraction(3, 2)},
        {"hessians": ((Fraction(0),),) * 4},
        {"hessians": ((Fraction(1), Fraction(1)),) * 4, "centres": ((Fraction(1), Fraction(0)),) * 4,
         "start": (Fraction(0), Fraction(1))},
    ],
    ids=["noise", "steps above 1 / curvature", "no curvature", "two dimensions"],
)  # fmt: skip
def test_runs_that_no_interval_covers_are_undecided(changes):
    instance = replace(QUARTET, rounds=10, **changes)
    if "hessians" in changes and not any(map(any, changes["hessians"])):
        with pytest.raises(ValueError, match="singular"):
            run_boxes(instance, "probability", "with replacement", "k = 1..K")
        return
    with pytest.raises(Undecided):
        run_boxes(instance, "probability", "with replacement", "k = 1..K")
    judgement = judge(instance)
    undecided = [r for r in judgement.readings if r.undecided]
    assert undecided and not judgement.refutes
    assert all("q_condition" in r.failing and not r.refutes for r in undecided)
    assert all("undecided" in r.to_json() for r in undecided)


# Claims that stand.


def test_a_true_claim_is_not_refuted():
    """Theorem 2 with every hypothesis met, under each reading: the left side is below the right one."""
    instance = line(
        "fast.thm2@appendix", ("9/20", "-9/20", 1, -1), "19/10", snapshot_period=1, cohort=2, rounds=1000,
        local_lr=Fraction(1, 40), members=(0, 1),
    )  # fmt: skip
    judgement = judge(instance)
    assert len(judgement.readings) == 4
    assert all(r.failing == [] and not r.undecided for r in judgement.readings)
    assert not judgement.refutes and all(r.left < r.right for r in judgement.readings)
    with pytest.raises(ReplayError, match="the bound is not exceeded"):
        replay(judgement.to_json())


@settings(deadline=None, max_examples=40)
@given(
    lines(snapshot_period=1, local_lr=Fraction(1, 300)), st.sampled_from(["fast.thm2@main", "fast.thm2@appendix"]),
    st.integers(1, 10**6), st.fractions(0, 3, max_denominator=9),
)  # fmt: skip
def test_theorem_2_stands(instance, ref, rounds, noise):
    spread = max(abs(c - sum(sum(instance.centres, ())) / len(instance.centres)) for (c,) in instance.centres)
    constants = ONES | {
        "strong_convexity": Fraction(1),
        "gradient_noise": noise,
        "dissimilarity": spread + Fraction(1, 100),
    }
    judgement = judge(replace(instance, claim=ref, rounds=rounds, constants=constants))
    assert not any(r.failing for r in judgement.readings)
    assert not any(r.refutes for r in judgement.readings)


def test_charity():
    """With a nearer start the literal reading still falls, but not every reading does."""
    judgement = judge(replace(QUARTET, start=(Fraction(3, 2),)))
    fallen = [r.refutes for r in judgement.readings]
    assert fallen[0] and not all(fallen) and not judgement.refutes
    assert judgement.to_json()["refutes"] is False


def test_failing_hypotheses_refute_nothing():
    for changes in ({"start": (Fraction(1, 10),)}, {"constants": QUARTET.constants | {"smoothness": Fraction(1, 2)}}):
        judgement = judge(replace(QUARTET, **changes))
        assert all(r.failing and not r.refutes for r in judgement.readings)


def test_without_following_nothing_more_is_proved(quartet):
    """``follow=False`` gives lower bounds that the run's own values respect."""
    quick = judge(QUARTET, follow=False)
    for a, b in zip(quick.readings, quartet.readings, strict=True):
        assert a.reading == b.reading and a.left.mid() == b.left.mid() and a.right.mid() == b.right.mid()
        assert a.slack["q_condition"] is None or a.slack["q_condition"] <= b.slack["q_condition"]


@settings(deadline=None, max_examples=25)
@given(lines().map(full_cohort), st.integers(0, 2**32))
def test_slack_is_a_lower_bound_on_every_run(instance, seed):
    """Over the boxes: no run, of any reading, has less slack than what was proven (if something was)."""
    rng, plain = np.random.default_rng(seed), Line.of(instance)
    for reading in judge(replace(instance, constants=instance.constants | {"dissimilarity": Fraction(4)})).readings:
        r, slack = reading.reading, reading.slack["q_condition"]
        if slack is None:
            continue
        lists, _ = plain.run(rng, r["snapshots"], r["uniform cohort"])
        G = lists[r["local gradients"]]
        if G[0] and G[1]:
            stated = replace(instance, constants=instance.constants | {"dissimilarity": Fraction(4)})
            true = q_condition(stated, tuple(map(max, G)))[r["q-condition"] == "product"]
            assert float(slack) <= float(true) + 1e-9  # floats of the plain run, slopes of order 10


def assert_below_boxes(instance: Numbers, shares: list[float]) -> int:
    """The slack of every reading is at most the condition's at the corners of all its boxes, and at a point inside;
    how many readings have one."""
    decided = 0
    for reading in judge(instance, follow=False).readings:
        r, slack = reading.reading, reading.slack["q_condition"]
        if slack is None:
            continue
        decided += 1
        for box in run_boxes(instance, r["snapshots"], r["uniform cohort"], r["local gradients"], follow=False):
            ends = [(float(box[name].lower()), float(box[name].upper())) for name in RUN_QUANTITIES]
            inner = tuple(low + t * (high - low) for (low, high), t in zip(ends, shares, strict=True))
            for G in (*itertools.product(*ends), inner):
                value = float(q_condition(instance, G)[r["q-condition"] == "product"])
                # a radius of a ball has 30 bits, so a corner is off by 1e-9 of its size
                assert float(slack) <= value + 1e-7 * (1 + abs(value))
    return decided


def test_slack_is_a_lower_bound_on_every_box_of_the_quartet():
    assert assert_below_boxes(replace(QUARTET, rounds=10), [0.5, 0.5, 0.5]) == 32


@settings(deadline=None, max_examples=10)
@given(lines(local_lr=Fraction(1, 50)), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_slack_is_a_lower_bound_on_every_box(instance, shares):
    assert_below_boxes(replace(instance, constants=instance.constants | {"dissimilarity": Fraction(2)}), shares)


def test_strong_convexity_is_bounded_from_below():
    """Theorem 2 may state a smaller mu than the federation's, not a larger one."""
    instance = line("fast.thm2@appendix", (1, -1), 1, snapshot_period=1, rounds=10, cohort=1)
    for mu, fails in (("1", False), ("1/2", False), ("1001/1000", True)):
        constants = instance.constants | {"strong_convexity": Fraction(mu), "smoothness": Fraction(2)}
        literal = judge(replace(instance, constants=constants)).readings[0]
        assert ("assumption_4" in literal.failing) == fails
