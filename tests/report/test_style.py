"""The palette: one meaning a colour, told apart by people with any kind of colour blindness, and in print."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from fedtheory.report.colours import EXACT, MEASURED, PRINTED, REPAIRED, WORST
from fedtheory.report.style import KEY, PRINTED_LINES, REPAIRED_LINES, several

MEANINGS = {"printed": PRINTED, "repaired": REPAIRED, "exact": EXACT, "measured": MEASURED, "worst case": WORST}

# Linear maps of linear RGB that simulate full colour blindness: Machado, Oliveira and Fernandes (2009), severity 1.
DEFICIENT = {
    "none": np.eye(3),
    "protan": np.array([[0.152286, 1.052583, -0.204868],
                        [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deutan": np.array([[0.367322, 0.860646, -0.227968],
                        [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritan": np.array([[1.255528, -0.076749, -0.178779],
                        [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
DISTINCT = 12.0
"""In CIELAB; about 2.3 can just be told apart side by side."""


def lab(colour: str, deficiency: str) -> np.ndarray:
    """CIELAB (D65) of a colour as it is seen."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(DEFICIENT[deficiency] @ linear, 0, 1)
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
    xyz = to_xyz @ seen / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("deficiency", DEFICIENT)
def test_meanings_are_told_apart(deficiency: str) -> None:
    for (one, a), (other, b) in itertools.combinations(MEANINGS.items(), 2):
        distance = float(np.linalg.norm(lab(a, deficiency) - lab(b, deficiency)))
        assert distance > DISTINCT, f"{one} and {other}: {distance:.1f}"


@pytest.mark.parametrize("deficiency", DEFICIENT)
@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("scale", ["cividis", "viridis"])
def test_things_of_one_kind_are_told_apart_by_lightness(
    deficiency: str, count: int, scale: Literal["cividis", "viridis"]
) -> None:
    lightness = [float(lab(colour, deficiency)[0]) for colour in several(count, scale)]
    assert (np.diff(lightness) > 8).all()


@pytest.mark.parametrize("deficiency", DEFICIENT)
@pytest.mark.parametrize("count", range(1, 6))
def test_a_grey_line_to_compare_with_is_told_apart(deficiency: str, count: int) -> None:
    for colour in several(count, "viridis"):
        assert float(np.linalg.norm(lab(colour, deficiency) - lab(KEY, deficiency))) > DISTINCT


def test_red_and_green_of_one_lightness_would_not_do() -> None:
    distance = np.linalg.norm(lab("#c04040", "deutan") - lab("#4c7a3a", "deutan"))
    assert distance < 20 < np.linalg.norm(lab("#c04040", "none") - lab("#4c7a3a", "none"))


def test_no_colour_has_two_meanings() -> None:
    assert len(set(MEANINGS.values())) == 5
    for count in range(1, 14):
        assert not {*several(count), *several(count, "viridis")} & {*MEANINGS.values()}


def test_bounds_of_one_kind_differ_in_their_lines() -> None:
    for lines in (PRINTED_LINES, REPAIRED_LINES):
        assert len({str(line) for line in lines}) == len(lines)
