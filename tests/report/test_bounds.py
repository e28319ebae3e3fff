"""Figures show the numbers they are given, and are written whole."""

import io
import re
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
import sympy
from matplotlib.backends.backend_agg import FigureCanvasAgg

import fedtheory as ft
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT
from fedtheory.papers import all_claims
from fedtheory.quantities import QUANTITIES
from fedtheory.report.colours import EXACT, PRINTED, REPAIRED, WORST
from fedtheory.report.style import caption_of, save
from fedtheory.report.tightness_figures import LEAST, plot_tightness
from tests.loops import looped


@pytest.fixture
def setting():
    federation = ft.federations.Quadratic.common_hessian(offsets=[1, -1], gradient_noise=0.1)
    algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50")
    return ft.Setting(federation, algorithm, ft.participation.Fixed([0]), start=3)


def test_lines_are_bound_exact_and_measured(setting):
    rounds = np.arange(1, 41)
    bound = ft.claim("fast.thm1").at(setting, rounds=rounds)
    exact, run = setting.exact(rounds), setting.simulate(replicas=8, rounds=40, record_every=1)
    axes = ft.plot(bound, exact, run).axes[0]
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_array_equal(drawn["bound"], bound.value)
    np.testing.assert_array_equal(drawn["exact"], exact.functional(AVERAGE_SQUARED_GRADIENT))
    np.testing.assert_array_equal(drawn["measured (8 replicas)"], run.interval(AVERAGE_SQUARED_GRADIENT)[0])
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert "F$^{2}$/x$^{2}$" in axes.get_ylabel()


def test_the_same_figure_gives_the_same_file_and_nothing_else(setting, tmp_path):
    bound = ft.claim("fast.thm1").at(setting, rounds=np.arange(1, 9))
    for name in ("a.png", "b.png"):
        save(ft.plot(bound), tmp_path / "figures" / name)
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert files == ["a.png", "b.png"]
    assert (tmp_path / "figures" / "a.png").read_bytes() == (tmp_path / "figures" / "b.png").read_bytes()


def values(claim: ft.claims.Claim, rounds: object) -> dict[str, object]:
    """1 for every quantity, or the least above that it may be."""
    chosen = {n: max(1.0, QUANTITIES[n].lower) for n in claim.quantities if n not in claim.choices}
    return chosen | ({"rounds": rounds} if "rounds" in chosen else {})


@looped("id", dict.fromkeys(claim.id for claim in all_claims()), quick=24)
def test_every_claim_has_a_picture(id):
    claim, rounds = ft.claim(id), np.arange(1, 20)
    bound = claim.evaluate(**values(claim, rounds))
    axes = ft.plot(bound, np.broadcast_to(0.5, np.shape(bound.quantities.get("rounds", 1.0)))).axes[0]
    assert axes.get_title(loc="left").replace("\n", " ") == f"{claim.ref}: {claim.title}"
    if "rounds" in claim.quantities:
        drawn = lines(axes)
        np.testing.assert_array_equal(drawn["bound"].get_ydata(), np.broadcast_to(bound.value, rounds.shape))
        assert drawn["exact"].get_ydata().tolist() == [0.5] * 19
        letter = claim.letters["rounds"]
        assert axes.get_xlabel() == f"rounds {letter}"
        other = {"R": "T", "T": "R"}[letter]  # li2020 has T for steps, on its right side alone
        assert not re.search(rf"(?<![A-Za-z]){other}(?![A-Za-z])", axes.get_ylabel())
    else:
        names = [label.get_text().strip() for label in axes.get_yticklabels()]
        terms = bound.terms if len(bound.terms) > 1 else {}
        assert names == ["bound", *terms, "exact"]
        shown = [float(bound.value), *(float(term) for term in terms.values()), 0.5]
        assert [bar.get_width() for bar in axes.patches] == [v if np.isfinite(v) else 0 for v in shown]
        assert [text.get_text() for text in axes.texts[:-1]] == [f"{v:.4g}" for v in shown]


def test_a_claim_of_ones_own_has_a_picture():
    one = ft.claim("fast.thm2")
    mine = one.edited("mine", "here", terms={"more": sympy.Integer(1)})
    bound = mine.evaluate(**values(mine, np.arange(1, 5)))
    axes = ft.plot(bound, terms=True).axes[0]
    assert axes.get_title(loc="left").startswith("fast.thm2@mine") and bound.statement is mine
    assert [text.get_text() for text in axes.texts[:-1]] == [name.replace("_", " ") for name in bound.terms]
    assert len(axes.lines) == 1 + len(bound.terms)


def test_what_is_wrong_with_hypotheses_is_told(setting):
    bound = ft.claim("fast.thm1").at(setting, rounds=np.arange(1, 5))
    assert ft.plot(bound).axes[0].texts[0].get_text() == "undecided: q_condition"  # maxima over random runs
    undecided = replace(bound, slack=dict.fromkeys(bound.slack) | {"step_cap": np.array([-1.0, 1.0])})
    others = ", ".join(name for name in bound.slack if name != "step_cap")
    assert ft.plot(undecided).axes[0].texts[0].get_text() == f"fails: step_cap (in part); undecided: {others}"


def test_one_round_is_bars_with_the_measured_interval(setting):
    bound = ft.claim("fast.thm1").at(setting, rounds=40)
    run = setting.simulate(replicas=8, rounds=40, record_every=1)
    axes = ft.plot(bound, setting.exact([20, 40]), run).axes[0]
    mean, low, high = (each[-1] for each in run.interval(AVERAGE_SQUARED_GRADIENT))
    exact = setting.exact([40]).functional(AVERAGE_SQUARED_GRADIENT)[0]
    assert [bar.get_width() for bar in axes.patches] == [float(bound.value), *map(float, bound.terms.values()), exact,
                                                         mean]  # fmt: skip
    assert axes.lines[0].get_xdata().tolist() == [low, high]
    with pytest.raises(ValueError, match="exact does not have the bound's round 40"):
        ft.plot(bound, setting.exact([20]))


def test_another_quantity_is_the_axis(setting):
    q = np.linspace(0, 1, 11)
    claim = ft.claim("fast.thm2")
    bound = claim.evaluate(**values(claim, 10) | {"snapshot_probability": q})
    axes = ft.plot(bound).axes[0]
    assert axes.get_xlabel() == "snapshot probability  $q$" and axes.get_xscale() == "linear"
    with pytest.raises(ValueError, match=r"bound varies with .*: allowed is one of them, or rounds"):
        ft.plot(claim.evaluate(**values(claim, 10) | {"snapshot_probability": q, "smoothness": 1 + q}))
    with pytest.raises(ValueError, match="bound varies with snapshot_probability: allowed is a bound over rounds"):
        ft.plot(bound, run=setting.simulate(replicas=1, rounds=3))


def test_what_does_not_speak_of_the_claim_is_refused(setting):
    bound = ft.claim("fast.thm1").at(setting, rounds=[1, 2])
    other = replace(bound, statement=ft.claim("fedau.thm1"))
    with pytest.raises(ValueError, match=r"exact has shape \(3,\): allowed is that of the bound, \(2,\)"):
        ft.plot(bound, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"worst has shape \(3,\): allowed is that of the bound, \(2,\)"):
        ft.plot(bound, worst=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="exact has no average_squared_weighted_gradient: allowed is an array"):
        ft.plot(other, setting.exact([1, 2]))
    with pytest.raises(ValueError, match="run has no average_squared_weighted_gradient"):
        ft.plot(other, run=setting.simulate(replicas=1, rounds=3))


def test_the_users_own_settings_are_left_alone(setting):
    bound = ft.claim("fast.thm1").at(setting, rounds=np.arange(1, 9))
    plain = io.BytesIO()
    ft.plot(bound).savefig(plain, format="png")
    with matplotlib.rc_context({"axes.titlesize": 30, "lines.linewidth": 9, "axes.facecolor": "green"}):
        before = dict(matplotlib.rcParams)
        other = ft.plot(bound)
        assert dict(matplotlib.rcParams) == before
    again = io.BytesIO()
    other.savefig(again, format="png")
    assert plain.getvalue() == again.getvalue()


def lines(axes) -> dict[str, object]:
    return {line.get_label(): line for line in axes.lines}


def legend(figure) -> set[str]:
    """What it says, inside the panel or below."""
    inside = figure.axes[0].get_legend()
    return {text.get_text() for each in [*figure.legends, inside] if each for text in each.get_texts()}


def test_several_editions_stand_beside_each_other(setting):
    rounds = np.arange(1, 41)
    printed, sharp, averaged = (ft.claim(f"fast.thm1@{edition}").at(setting, rounds=rounds)
                                for edition in ("main", "sharp", "averaged"))  # fmt: skip
    worst = printed.value * 0.9
    axes = ft.plot([printed], setting.exact(rounds), repaired=[sharp, averaged], worst=worst).axes[0]
    drawn = lines(axes)
    assert list(drawn) == [
        "printed (main)",
        "repaired (sharp)",
        "repaired (averaged)",
        "worst case of the class",
        "exact",
    ]
    for label, values in zip(drawn, (printed.value, sharp.value, averaged.value, worst), strict=False):
        np.testing.assert_array_equal(drawn[label].get_ydata(), values)
    colours = [line.get_color() for line in drawn.values()]
    assert colours == [PRINTED, REPAIRED, REPAIRED, WORST, EXACT]
    assert len({(str(line._dash_pattern), line.get_color()) for line in drawn.values()}) == 5
    alone = lines(ft.plot([], repaired=[sharp, averaged]).axes[0])
    assert list(alone) == ["repaired (sharp)", "repaired (averaged)"]
    assert {line.get_color() for line in alone.values()} == {REPAIRED}
    with pytest.raises(ValueError, match="bound and repaired are empty"):
        ft.plot([])
    with pytest.raises(ValueError, match=r"fast.thm1@sharp varies with rounds: allowed are bounds at the same places"):
        ft.plot(printed, repaired=[ft.claim("fast.thm1@sharp").at(setting, rounds=rounds + 1)])
    with pytest.raises(ValueError, match="4 printed bounds: allowed are up to 3"):
        ft.plot([printed] * 4)


def test_several_editions_at_one_place_are_bars(setting):
    printed, sharp = (ft.claim(f"fast.thm1@{edition}").at(setting, rounds=40) for edition in ("main", "sharp"))
    axes = ft.plot(printed, setting.exact([40]), repaired=[sharp], worst=0.5).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["printed (main)", "repaired (sharp)", "worst case", "exact"]
    assert [bar.get_width() for bar in axes.patches][:3] == [float(printed.value), float(sharp.value), 0.5]


def test_left_sides_of_several_functionals(setting):
    rounds = np.arange(1, 11)
    bound = ft.claim("fast.thm1").at(setting, rounds=rounds)
    axes = ft.plot(bound, {"least": bound.value / 3, "mean": bound.value / 2}).axes[0]
    assert list(lines(axes)) == ["bound", "least", "mean"] and axes.get_ylabel().startswith("both sides")


def test_the_refuting_instances(drawn) -> None:
    """Printed bounds end far below the exact errors, the repaired ones stay above."""
    for name, ratio in (("safari.thm4", 7.2), ("safari.thm5", 9.0)):
        shown = {label: line.get_ydata() for label, line in lines(drawn(name).axes[0]).items()}
        exact = shown["exact"]
        assert exact[-1] / shown["printed (main)"][-1] == pytest.approx(ratio, rel=0.01)
        repaired = [values for label, values in shown.items() if label.startswith("repaired")]
        assert len(repaired) == 3 and all((exact <= values * (1 + 1e-12)).all() for values in repaired)
    bound = lines(drawn("safari.thm4").axes[0])["printed (main)"].get_ydata()[-1]
    assert bound == pytest.approx(0.064, rel=1e-12)


def test_shares_of_bounds_are_marked_by_edition_and_by_how_they_are_known():
    def row(ref, largest, refuting=None):
        found = None if refuting is None else {"refutes": True, "ratio": refuting}
        exact = {"search": {"largest_ratio": largest}, "instance": found}
        return dict(zip(("id", "edition"), ref.split("@"), strict=True)) | {"evidence": {"exact": exact}}

    shares = {"p.thm1@main": 0.5, "p.thm1@appendix": 0.25, "p.thm1@submission": 1e-9, "p.thm1@corrected": 0.75}
    unseen = [row("p.lemma1@main", 0.5), row("p.thm2@main", None), {"id": "p.thm3", "edition": "main"}]
    figure = plot_tightness([*(row(*each) for each in shares.items()), row("p.cor1@main", 0.5, 1.5), *unseen])
    printed, repaired, falls = ("o", PRINTED), ("s", REPAIRED), ("X", PRINTED)
    assert {line.get_label(): ((line.get_marker(), line.get_color()), *line.get_xydata()[0])
            for line in figure.axes[0].lines[:-1]} == {
        "_p.thm1@main": (printed, 0.5, 0), "_p.thm1@appendix": (printed, 0.25, 0),
        "_p.thm1@submission": (printed, LEAST, 0), "_p.thm1@corrected": (repaired, 0.75, 0),
        "_p.cor1@main": (falls, 1.5, 1),
    }  # fmt: skip
    assert legend(figure) == {"printed", "repaired", "printed, by a refuting instance"}
    assert legend(plot_tightness([row("p.thm1@corrected", 0.5, 1.5)])) == {"repaired, by a refuting instance"}


def test_what_is_not_seen_is_not_in_the_legend(setting):
    """One replica has no band; that of replicas that agree is hidden by the line."""
    rounds = np.arange(1, 31)
    bound = ft.claim("fast.thm1").at(setting, rounds=rounds)
    calm = replace(setting, federation=ft.federations.Quadratic.common_hessian(offsets=[1, -1]), start=3)
    noisy = replace(setting, federation=ft.federations.Quadratic.common_hessian(offsets=[1, -1], gradient_noise=20))
    seen = {}
    for name, runs in {"one": setting.simulate(replicas=1, rounds=30), "calm": calm.simulate(replicas=3, rounds=30),
                       "several": noisy.simulate(replicas=3, rounds=30)}.items():  # fmt: skip
        seen[name] = legend(ft.plot(bound, run=runs))
    assert seen["one"] == {"bound", "measured (1 replica)"}
    assert seen["calm"] == {"bound", "measured (3 replicas)"}
    assert seen["several"] == {"bound", "measured (3 replicas)", "99% interval"}


def test_where_the_bound_is_first_exceeded(setting):
    rounds = np.arange(1, 31)
    bound = ft.claim("fast.thm1").at(setting, rounds=rounds)
    below, above = bound.value * 0.5, np.where(rounds >= 12, bound.value * 1.5, bound.value)
    labels = [{line.get_label(): line for line in ft.plot(bound, left).axes[0].lines} for left in (below, above)]
    assert not [label for label in labels[0] if label.startswith("above the bound")]
    mark = labels[1]["above the bound at R = 12"]
    np.testing.assert_array_equal(mark.get_xydata(), [[12, above[11]]])


def test_a_figure_says_at_which_values(setting):
    bound = ft.claim("fast.thm1").at(setting, rounds=np.arange(1, 9))
    below = caption_of(ft.plot(bound))
    assert (
        "local\u00a0step\u00a0size\u00a0=\u00a00.02" in below
        and "cohort\u00a0=\u00a02" in below
        and "rounds" not in below
    )


def test_long_titles_stay_on_the_figure(setting):
    """The longest that a claim has, measured where it is drawn."""
    longest = max(all_claims(), key=lambda claim: len(claim.ref) + len(claim.title))
    at = ft.claim("fast.thm1").at(setting, rounds=np.arange(1, 9))
    figure = ft.plot(replace(at, statement=replace(at.statement, title=longest.title + ", " + longest.title)))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert 0 < figure.axes[0]._left_title.get_window_extent().x1 <= figure.bbox.x1
