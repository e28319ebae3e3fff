"""``show`` says all that a claim states, and loads none of what computes."""

import json
import subprocess
import sys

import pytest

from fedtheory.evidence.claim_summaries import shown
from fedtheory.papers import all_claims, claim


def test_every_claim_is_shown() -> None:
    for each in all_claims():
        said = shown(each.ref)
        assert said["claim"] == each.ref and [*said["terms"]] == [term.name for term in each.terms], each.ref
        assert [*said["hypotheses"]] == [h.name for h in each.hypotheses], each.ref
        assert json.loads(json.dumps(said)) == said, each.ref


def test_showing_loads_nothing_that_computes() -> None:
    code = (
        "import sys; from fedtheory.cli.statuses import run; run(['show', 'fast.thm2', '--json'])\n"
        "print([name for name in ('scipy.special', 'torch', 'numba', 'z3', 'fedtheory.proof.kernel',"
        " 'fedtheory.papers.safari.statements') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *lines, loaded = run.stdout.splitlines()
    assert json.loads("\n".join(lines)) == shown("fast.thm2") | {"latex": claim("fast.thm2").latex()}
    assert loaded == "[]"


def test_a_claim_that_is_not_there_is_named() -> None:
    assert shown("fast.thm2") == shown("fast.thm2@main") != shown("fast.thm2@sharp")
    assert claim("fast.thm2").ref == "fast.thm2@main"
    for ref, why in (("fast.thm22", "did you mean"), ("fast.thm2@shrap", "did you mean 'sharp'"), ("x.y", "unknown")):
        with pytest.raises(ValueError, match=why):
            shown(ref)
