"""What the package shows of itself: public names that load, and nothing that loads early."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import fedtheory as ft

PACKAGES = ("algorithms", "claims", "data", "federations", "learning", "participation", "report", "selection",
            "simulation", "testing", "weights", "worstcase")  # fmt: skip


@pytest.mark.parametrize("name", ["", *PACKAGES])
def test_public_names_are_listed_and_load(name):
    package = import_module(f"fedtheory.{name}".rstrip("."))
    assert len(set(package.__all__)) == len(package.__all__)
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, each) is not None for each in package.__all__)
    with pytest.raises(AttributeError, match="absent"):
        package.absent  # noqa: B018


def test_the_face_needs_no_deep_import():
    assert {"Setting", "claim", "plot", "referee", "refute", "verify", *PACKAGES} <= set(dir(ft))
    assert {"fast", "safari", "fedau", "flics_avg"} <= set(dir(ft.algorithms))
    assert callable(ft.referee) and callable(ft.plot) and callable(ft.verify)


def test_importing_costs_nothing():
    packages = ", ".join(f"fedtheory.{name}" for name in ("claims", "federations", "report", "testing"))
    heavy = ("numpy", "sympy", "torch", "matplotlib")
    program = f"import sys, {packages}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


TELLING = ["--version", "--help", "prove --help", "claims", "quantities", "algorithms"]


@pytest.mark.parametrize("arguments", TELLING)
def test_what_only_tells_starts_without_anything_heavy(arguments):
    heavy = ("numpy", "scipy", "sympy", "torch", "cvxpy", "z3", "flint", "matplotlib")
    program = (
        "import sys; from fedtheory.cli.statuses import run; status = run(sys.argv[1:]);"
        f"print(status, [name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout and done.stderr.strip() == "0 []"


def test_a_claim_of_ones_own_is_verified_like_the_one_of_that_name():
    fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    setting = ft.Setting(fed, ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50"),
                         ft.participation.Fixed([0]), start=3)  # fmt: skip
    mine = ft.claim("fast.thm1").edited("mine", "here")
    ours = ft.verify(mine, setting, rounds=100)
    theirs = ft.verify("fast.thm1", setting, rounds=100)
    assert (ours.claim, ours.verdict, ours.why) == ("fast.thm1@mine", theirs.verdict, theirs.why)
