"""Pictures of conditions show what they allow: the map, its colours, shares and labels; the largest q at a point."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from fedtheory.evidence.consistency import KINDS, SLIVER, Map, q_map
from fedtheory.papers import claim
from fedtheory.report.condition_maps import COLOURS, TEXTS, cell_edges, largest_q, percent, plot_maps
from fedtheory.report.pictures.claim_pictures import PairConditions
from fedtheory.report.style import save, scale


@pytest.fixture(scope="module")
def found() -> Map:
    fixed = dict(smoothness=1, strong_convexity=0.5, local_steps=1, cohort=1, arbitrary_cohort=1)
    steps, spread = np.geomspace(1e-3, 0.1, 9), np.geomspace(1e-3, 10, 7)
    return q_map(claim("fast.thm2@main"), ("local_lr", steps), ("dissimilarity", spread), fixed)


def test_every_kind_has_its_own_colour_and_words():
    assert len(set(COLOURS)) == len(KINDS) == len(COLOURS) and set(TEXTS) == set(KINDS)
    assert len(set(TEXTS.values())) == len(KINDS)


def test_the_picture_shows_the_kinds_where_they_are(found):
    figure = plot_maps(found)
    axes = figure.axes[0]
    mesh = axes.collections[0]
    assert (mesh.get_array() == found.kinds).all()
    # The colour at a cell is that of its kind.
    shown = mesh.to_rgba(found.kinds)
    for row, column in ((0, 0), (6, 0), (3, 8), (0, 7)):
        expected = to_rgb(COLOURS[found.kinds[row, column]])
        assert shown[row, column][:3] == pytest.approx(expected, abs=1e-6)
    # Each value lies in its own cell.
    corners = mesh.get_coordinates()
    assert (corners[0, :-1, 0] < found.x[1]).all() and (found.x[1] < corners[0, 1:, 0]).all()
    assert (corners[:-1, 0, 1] < found.y[1]).all() and (found.y[1] < corners[1:, 0, 1]).all()


def test_axes_and_legend_say_what_is_shown(found):
    figure = plot_maps(found)
    axes = figure.axes[0]
    assert (
        "local step size" in axes.get_xlabel() and r"\eta_c" in axes.get_xlabel() and "x$^{2}$/F" in axes.get_xlabel()
    )
    assert "dissimilarity" in axes.get_ylabel() and r"\sigma_G" in axes.get_ylabel()
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert r"$\mu$ = 0.5" in axes.get_title(loc="left")
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(texts) == len(set(found.kinds.ravel()))
    for kind, share in found.shares.items():
        assert (f"{TEXTS[kind]}: {round(100 * share)} %" in texts) == (share > 0)
    assert f"least q shown: {np.nanmin(found.least):.4g}" in axes.get_title(loc="left")


@pytest.fixture(scope="module")
def both(drawn) -> Figure:
    return drawn("fast.q_conditions")


def test_the_figure_of_both_theorems(both):
    left, right = both.axes
    assert left.get_title(loc="left").startswith("fast.thm2@appendix, least q shown: 0.9961\n")
    assert right.get_title(loc="left").startswith("fast.thm1@main, least q shown: 0\n")
    # By hand, at L = K = 1: no q is allowed above the cap 1/20 or where mu < 16 eta, a sliver elsewhere.
    kinds = np.asarray(left.collections[0].get_array())
    steps, curvatures = np.meshgrid(np.geomspace(1e-4, 1, 61), np.geomspace(1e-3, 1, 46))
    expected = np.where(steps > 1 / 20, "ruled out", np.where(curvatures < 16 * steps, "none", "sliver"))
    assert (np.array(KINDS)[kinds] == expected).all()
    # G_2 = G_3 = 1, 2 L K eta = 1/8: numerator 2 g^2 - 7/8, denominator G_1 - 1 + 2 g^2.
    kinds = np.asarray(right.collections[0].get_array())
    spread, peak = np.meshgrid(np.geomspace(0.01, 100, 61), np.geomspace(0.01, 1e4, 46))
    least = (2 * spread**2 - 7 / 8) / (peak - 1 + 2 * spread**2)
    room = 1 - np.clip(least, 0, 1)
    names = np.select([least > 1, least <= 0, room < SLIVER], ["none", "everything", "sliver"], "interval")
    assert (np.array(KINDS)[kinds] == names).all()
    assert {kind for kind in KINDS if (names == kind).any()} == {"none", "everything", "sliver", "interval"}
    texts = [text.get_text() for text in both.legends[0].get_texts()]
    assert f"{TEXTS['everything']}: 0 %, {percent((names == 'everything').mean())}" in texts


def test_a_figure_has_one_map_or_two(found):
    for maps in ((), (found, found, found)):
        with pytest.raises(ValueError, match=rf"maps = {len(maps)} of them: allowed is one or two"):
            plot_maps(*maps)


@pytest.mark.parametrize("single", [True, False])
def test_everything_is_inside_a_picture_of_800_pixels(found, both, single):
    figure = plot_maps(found) if single else both
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    assert figure.get_size_inches()[0] * 100 == 800
    box = figure.get_tightbbox()  # inches; the margin is a fiftieth of an inch for antialiasing
    assert box.x0 > -0.02 and box.x1 < 8.02 and box.y0 > -0.02 and box.y1 < figure.get_size_inches()[1] + 0.02


def test_the_same_map_gives_the_same_file(found, tmp_path):
    for name in ("a.png", "b.png"):
        save(plot_maps(found), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_scales_and_shares():
    assert scale(np.array([1.0, 2.0, 3.0])) == "linear" and scale(np.array([1.0, 10.0, 100.0])) == "log"
    assert scale(np.array([0.0, 10.0, 100.0])) == "linear"
    assert cell_edges(np.array([1.0, 2.0, 4.0]), "linear").tolist() == [0.5, 1.5, 3.0, 5.0]
    assert cell_edges(np.array([1.0, 4.0]), "log") == pytest.approx([0.5, 2.0, 8.0])
    assert [percent(share) for share in (0.0, 0.001, 0.25, 0.999, 1.0)] == ["0 %", "< 1 %", "25 %", "> 99 %", "100 %"]


def test_an_axis_that_cannot_be_drawn_is_refused(found):
    one = Map(found.claim, ("local_lr", np.array([0.1])), found.y, {}, found.least, found.room, found.kinds)
    with pytest.raises(ValueError, match=r"local_lr = .*: allowed are at least two increasing values"):
        plot_maps(one)


def lines(axes) -> dict[str, object]:
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def test_conditions() -> None:
    """By hand, for small steps: Theorem 5 at (x - 2)/(2 h x) allows x/(4 - x) as derived, h x/(h x + 8 - 4 x) as
    printed; Theorem 4 x^2/(x^2 + 4 - 2 (x - 1)^2) up to its pole."""
    left, right = PairConditions(curvatures=(1.0, 10.0)).drawn().axes
    for label, line in lines(right).items():
        x, q = line.get_xdata(), line.get_ydata()
        if label == "derived, any h":
            np.testing.assert_allclose(q, x / (4 - x), rtol=1e-6)
        elif label.startswith("printed"):
            h = float(label.split("= ")[1])
            np.testing.assert_allclose(q, h * x / (h * x + 8 - 4 * x), rtol=1e-6)
        else:
            np.testing.assert_allclose(x, 2 * q / (1 + q))
    x = np.array([0.5, 2.0, 3.0])
    found = largest_q(claim("safari.thm4"), "q_condition", smoothness=1, local_steps=1, server_lr=1e-9, dissimilarity=1,
                      peak_server_gradient=x**2, peak_arbitrary_pseudogradient=(x - 1) ** 2)  # fmt: skip
    np.testing.assert_allclose(found, x**2 / (x**2 + 4 - 2 * (x - 1) ** 2), rtol=1e-6)
    pole = next(patch for patch in left.patches).get_x()
    assert pole == pytest.approx(2 + 6**0.5, rel=0.01)  # x^2 + 4 - 2 (x - 1)^2 = 0


def test_where_a_run_settles_is_never_allowed() -> None:
    """x = 2q/(1 + q) under Theorem 5 as derived: x/(4 - x) = q/(2 + q) < q; under Theorem 4 with G_1, G_2 there."""
    q = np.linspace(0.01, 1, 50)
    x = 2 * q / (1 + q)
    allowed = largest_q(claim("safari.thm4"), "q_condition", smoothness=1, local_steps=1, server_lr=1e-9,
                        dissimilarity=1, peak_server_gradient=x**2,
                        peak_arbitrary_pseudogradient=(x - 1) ** 2)  # fmt: skip
    assert (allowed < q).all() and (x / (4 - x) < q).all()
    assert claim("safari.thm5@derived").hypotheses[1].name == "q_condition"


def test_the_same_conditions_give_the_same_file(tmp_path) -> None:
    for name in ("a", "b"):
        save(PairConditions(curvatures=(1.0,)).drawn(), tmp_path / f"{name}.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
