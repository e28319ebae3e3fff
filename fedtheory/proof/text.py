"""Chains as plain data and as lines of text, and a failing step as a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from ..quantities import QUANTITIES
from .chains import Chain
from .derivations import Derivation
from .gram import GramCounterexample
from .positivity import Counterexample
from .steps import Decision, Evidence, Step


class Wording(Protocol):
    """Letters and words of a paper.

    Attributes:
        letters: LaTeX by the name of a quantity.
        prose: the meaning of short names in the words of its steps.
        shorthands: a sentence for each other letter of its steps.
    """

    @property
    def letters(self) -> Mapping[str, str]:
        """LaTeX by the name of a quantity."""

    @property
    def prose(self) -> Mapping[str, str]:
        """Meaning of short names in the words of the paper's steps."""

    @property
    def shorthands(self) -> Mapping[str, str]:
        """Sentence for each other letter of the paper's steps."""


_CAP_DIGITS = 10**4


def describe(chain: Chain) -> dict:
    """Return a chain as plain data for JSON, without its certificates.

    >>> from fedtheory.papers.proofs import chain
    >>> describe(chain("fast.lemma2"))["outcome"]
    'proved'
    """
    first = chain.first_open
    return {
        "claim": chain.claim.ref,
        "source": chain.source.name if chain.source else None,
        "outcome": chain.outcome,
        "verdict": chain.verdict,
        "joints": chain.joints,
        "uses": uses(chain),
        "first_open": first.step.name if first else None,
        "open": [d.step.name for d in chain.open],
        "repaired": sum(d.outcome == "gap" and d.step.printed and d not in chain.open for d in chain.decisions),
        "readings": list(chain.readings),
        "decided": {kind: {"decided": done, "of": number} for kind, (done, number) in chain.counts.items()},
        "steps": [_step(d) for d in chain.decisions],
    }


def uses(chain: Chain) -> dict[str, list[str]]:
    """Return what a proof rests on, to be compared with the paper's assumptions. These are the kernel's ``axioms``,
    the ``assumptions``, each with its constant, and the facts that its steps take as ``given``.

    >>> from fedtheory.papers.proofs import chain
    >>> uses(chain("fast.lemma2"))["assumptions"]
    ['smooth(smoothness)', 'strongly_convex(strong_convexity)']
    """
    if isinstance(chain.source, Derivation):
        origin = chain.source.origin
        return {"axioms": [*origin.axioms()], "assumptions": [*origin.assumed()], "given": []}
    kinds = [kind for step in chain.own for kind in step.takes]
    given = [f"{step.equation}: {step.says}" for step in chain.own if step.kind == "definition"]
    return {"axioms": [], "assumptions": [*dict.fromkeys(kinds)], "given": given}


JOINTS = {
    "kernel": "composed by the kernel, from its axioms to the right side",
    "declared": "every step is decided; that they add up to the claim is declared, not made by the kernel",
}
"""Sentences on the way in which the steps of a proof are joined."""


def lines(chain: Chain) -> list[str]:
    """Return a chain as text: one line a step, with its refutation below. At the end stand what it rests on, the way
    in which its steps are joined, and the share decided."""
    data = describe(chain)
    text = [f"{data['claim']}: {data['verdict']} ({data['source']})"]
    for step in data["steps"]:
        text.append(f"  {step['equation']:<24} {step['kind']:<13} {step['outcome']:<8} {step['says']}")
        if step["counterexample"]:
            text.append(f"      fails at {step['counterexample']}")
        if step["weakest_cap"]:
            proved, refuted = step["weakest_cap"]["proved"], step["weakest_cap"]["refuted"]
            text.append(f"      {_cap_text(Fraction(proved), Fraction(refuted))}")
        if step["repaired_by"]:
            text.append(f"      repaired by {', '.join(step['repaired_by'])}")
    if data["first_open"]:
        text.append(f"  first open step: {data['first_open']}")
    text += [f"  read with {', '.join(f'{k} = {v}' for k, v in r.items())}" for r in data["readings"] if r]
    text += [f"  {name}: {'; '.join(names)}" for name, names in data["uses"].items() if names]
    text += [f"  {JOINTS[data['joints']]}"] if data["outcome"] == "proved" else []
    shares = [f"{kind} {c['decided']}/{c['of']}" for kind, c in data["decided"].items()]
    return [*text, f"  decided: {', '.join(shares)}"]


def sentence(decision: Decision, words: Wording, repair: Step | None = None) -> str:
    """Say of an open step its claim, where it fails, and for how large a step size it holds; then ``repair``, the step
    that replaces it.

    >>> from fedtheory.papers import paper
    >>> from fedtheory.papers.proofs import library
    >>> broken = library().decided("a2.22_under_the_cap_1/8")
    >>> print(sentence(broken, paper("fast"), library().step(broken.step.repaired_by[0])))
    (21) to (22): it is claimed that 1/2 - 30 z^2 >= 1/4 under the theorem's z <= 1/8 (z = L K eta_c). At L = 1, K = 1,
    eta_c = 1/8 this is off by 7/32: 30/64 > 1/4. It holds for z <= 0.0912 and fails for z = 0.0914. What follows it
    holds all the same: 1/2 - 12 z^2 >= 1/4 under z <= 1/8.
    """
    step = decision.step
    says = in_letters(step.says, words)
    meant = [text for letter, text in words.shorthands.items() if re.search(rf"\b{letter}\b", says)]
    claims = f"{step.equation}: {'' if step.kind == 'unclear' else 'it is claimed that '}{says}"
    claims += f" ({', '.join(meant)})" if meant else ""
    if decision.outcome != "gap":
        return f"{claims}. This is neither proved nor refuted."
    parts = [f"{claims}. {_failure(decision, words)}{f': {in_letters(step.why, words)}' if step.why else ''}."]
    if step.weakest_cap:
        proved, refuted = step.weakest_cap.weakest()
        if proved is not None and refuted is not None:
            parts.append(f"It {_cap_text(proved, refuted)}.")
    if repair is not None:
        parts.append(f"What follows it holds all the same: {in_letters(repair.says, words)}.")
    return " ".join(parts)


def _failure(decision: Decision, words: Wording) -> str:
    index, finding = next((i, f) for i, f in enumerate(decision.findings) if f.outcome == "gap")
    against = finding.evidence[0] if finding.evidence else None
    if not isinstance(against, Counterexample):
        return f"At {in_letters(str(_point(against) or against), words)} it fails" if against else "It fails"
    check = decision.step.checks[index]
    used = {s.name for s in check.expression.free_symbols} if hasattr(check, "expression") else set()
    values = dict(against.point)
    shown = [n for n in (*QUANTITIES, *sorted(values.keys() - QUANTITIES.keys())) if n in values and n in used]
    short = str(-Fraction(against.value))
    return f"At {', '.join(f'{letter(n, words)} = {values[n]}' for n in shown)} this is off by {short}"


def letter(name: str, words: Wording) -> str:
    """Return a quantity's letter as plain text, or its name.

    >>> from fedtheory.papers import paper
    >>> fast, flics = paper("fast"), paper("flics")
    >>> letter("local_lr", fast), letter("dissimilarity", fast), letter("initial_distance", fast)
    ('eta_c', 'sigma_G', '|x_0 - x*|')
    >>> letter("local_lr", flics), letter("excess", fast)
    ('eta_L', 'l - mu K R eta_c')
    """
    if name not in QUANTITIES:
        return words.prose.get(name, name)
    latex = words.letters.get(name, name)
    if re.fullmatch(r"\\?\w+", latex):
        return latex.removeprefix("\\")
    meaning = QUANTITIES[name].meaning
    return meaning if re.fullmatch(r"\S+( [-+] \S+)?", meaning) else name.replace("_", " ")


def in_letters(text: str, words: Wording) -> str:
    """Return a step's words with the paper's letters."""
    for short, long in words.prose.items():
        text = re.sub(rf"\b{short}\b", long.replace("\\", r"\\"), text)
    for name in QUANTITIES:
        # a name of one word is also a word: it is a symbol only beside an operator
        pattern = rf"\b{name}\b" if "_" in name else rf"(?<=[*/(]){name}\b|\b{name}(?=[*/)^])"
        text = re.sub(pattern, letter(name, words).replace("\\", r"\\"), text)
    return text.replace("**", "^")


def _cap_text(proved: Fraction, refuted: Fraction) -> str:
    """Rounded away from what was decided."""
    below = float(Fraction(proved * _CAP_DIGITS // 1, _CAP_DIGITS))
    above = float(Fraction(-(-refuted * _CAP_DIGITS // 1), _CAP_DIGITS))
    return f"holds for z <= {below:g} and fails for z = {above:g}"


def _step(decision: Decision) -> dict:
    step = decision.step
    against = next((e for e in decision.evidence if isinstance(e, (Counterexample, GramCounterexample))), None)
    cap = step.weakest_cap.weakest() if step.weakest_cap and decision.outcome == "gap" else None
    return {
        "name": step.name,
        "equation": step.equation,
        "kind": step.kind,
        "says": step.says,
        "printed": step.printed,
        "outcome": decision.outcome,
        "why": step.why,
        "counterexample": _point(against) if decision.outcome == "gap" else None,
        "weakest_cap": {"proved": str(cap[0]), "refuted": str(cap[1])} if cap else None,
        "repaired_by": list(step.repaired_by),
    }


def _point(found: Evidence | None) -> str | None:
    if isinstance(found, Counterexample):
        return ", ".join(f"{name} = {x}" for name, x in found.point) + f": {found.value}"
    if isinstance(found, GramCounterexample):
        parts = [f"{name} = {x}" for name, x in (*found.parameters, *found.numbers)]
        parts += [f"{name} = ({', '.join(v)})" for name, v in found.coordinates]
        return ", ".join(parts) + f": {found.value}"
    return None
