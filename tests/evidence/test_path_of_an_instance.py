"""How many modules of the package an instance enters on its way from its file to its judgement.

A module is entered when a function of it runs, imports aside. Of these, the machinery (``papers``, ``subjects`` and
``evidence``) is told apart from what it works with: claims and their arithmetic, the vocabulary, and of runs and
policies the setting's parts and its moments.
"""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from fedtheory.evidence.judge import judge, parse
from fedtheory.files import read_json
from fedtheory.papers import instance_path

MACHINERY = ("papers", "subjects", "evidence")

ENTERED = {
    "values": ("fast.rem2.a@main", 7, 15),
    "weights": ("fedau.eqB_6_8.a@main", 10, 33),
    "a round's selection": ("flics.lemma4@main", 12, 22),
    "answers": ("flics.eq7.e@main", 11, 39),
    "a policy's trace": ("flics.thm2@main", 12, 41),
    "runs of FAST": ("fast.thm1@main", 12, 49),
    "runs of SAFARI": ("safari.thm5@main", 12, 45),
    "runs of FLICS": ("flics.thm1@main", 16, 50),
    "a round of FedAU": ("fedau.lemmaB_3_3@main", 13, 41),
}
"""By kind: an instance, and how many modules it may enter, of the machinery and in all."""


def entered(ref: str) -> set[str]:
    data = read_json(instance_path(ref))
    if "process" in data.get("selection", {}):
        data["selection"]["rounds"] = 3  # the same way, with fewer steps
    judge(parse(data))  # imports everything
    seen: set[str] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_globals.get("__name__", ""))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        judge(parse(data))
    finally:
        sys.setprofile(before)
    return {name.removeprefix("fedtheory.") for name in seen if name.startswith("fedtheory.")}


@pytest.mark.parametrize("kind", ENTERED)
def test_an_instance_enters_few_modules(kind: str) -> None:
    ref, machinery, everything = ENTERED[kind]
    modules = entered(ref)
    own = sorted(name for name in modules if name.split(".")[0] in MACHINERY)
    assert len(own) <= machinery, own
    assert len(modules) <= everything, sorted(modules)
