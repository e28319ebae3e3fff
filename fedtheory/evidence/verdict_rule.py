"""Rule that turns evidence into one word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..assumptions import with_implied
from ..proof.verdict_word import DECLARED, KERNEL, PROVED, STEPS_DECIDED
from .search import ROUNDING

if TYPE_CHECKING:
    from ..proof.chains import Chain
    from .judge import Judgement


PROVED_AND_REFUTED = "proved and refuted"
"""Verdict on a claim that has a complete proof and an exact instance against it.

That is an error of this program, or of a file that is examined; both are shown.
"""


def overall(evidence: dict[str, Any]) -> tuple[str, str]:
    """Decide the verdict from a row's evidence, and say why in a few sentences (docs/scorecard.md).

    The first that applies decides:

    - ``proved and refuted``: an instance stands against what a complete proof shows. One of the two is wrong; both are
      told.
    - ``refuted``: an instance refutes the claim, replayed.
    - ``not checked``: there is a lead that no instance confirms, even if there is a proof. A lead is a ratio above 1 in
      the search, or a bound exceeded on data; it or the proof has to be wrong.
    - ``vacuous``: the hypotheses contradict each other.
    - ``needs``: an instance violates what the claim does not assume, and the claim falls by it under every reading. One
      by which it falls under some readings is told only.
    - ``unproved``: a proof takes an assumption which is not stated, and there is no such instance.
    - ``untested``: a search met no admissible setting, and on no data the claim holds, even if there is a proof.
    - ``proved``, or ``steps decided``: a proof is complete; the former where nothing in it is declared by hand.
    - ``unproved``: a proof has an open step.
    - ``holds``: the claim survived a search.
    - ``not checked``: no search covers it.
    """
    proof, instance, found = evidence["proof"], evidence["exact"]["instance"], evidence["exact"]["search"]
    proved = proof is not None and proof["outcome"] == "proved"
    if proved and (against := _against(evidence)):
        return PROVED_AND_REFUTED, proved_and_refuted(f"{proof['steps']} steps", against)
    if instance and instance["refutes"]:
        return "refuted", _refuted(instance)
    only_under = instance["only_under"] if instance else []
    lead = _lead(evidence)
    if lead:
        return "not checked", lead
    impossible = [f for f in evidence["consistency"] if f["name"] == "contradictory"]
    if impossible:
        return "vacuous", f"Its hypotheses contradict each other: {impossible[0]['what']}."
    units = evidence["units"]["findings"]
    remark = f" Not homogeneous in {' and '.join(f['where'] for f in units)}." if units else ""
    remark += _refuted_only(only_under)
    needs = [i for i in evidence["needs"] if not i.get("only_under")]
    remark += "".join(_refuted_only(i["only_under"], i["assumption"]) for i in evidence["needs"] if i not in needs)
    if needs:
        return "needs", _needs(needs, proof if proved else None, found) + remark
    if proved and proof["assuming"]:
        return "unproved", _unstated(proof["assuming"], bool(evidence["needs"])) + f" {_survived(found)}{remark}"
    if found and not found["admissible"] and not any(row["outcome"] == "holds" for row in evidence["measured"]):
        complete = "Its proof is complete, of what may say nothing. " if proved else ""
        return "untested", f"{complete}{_survived(found)}{remark}"
    if proved:
        return _word(proof), _proved(proof, found) + remark
    if proof is not None and proof["first_open"]:
        return "unproved", f"Its proof is open at {proof['first_open']}. {_survived(found)}{remark}"
    return ("holds", _survived(found) + remark) if found else ("not checked", "No search covers it.")


def _against(evidence: Mapping[str, Any]) -> str:
    """The instance that contradicts a complete proof, and how; or "": one under every reading, or under one that the
    proof covers, or one that violates nothing which the proof takes."""
    proof, instance = evidence["proof"], evidence["exact"]["instance"]
    if instance and instance["refutes"]:
        return f"{instance['file']} refutes it"
    if instance and any(_covered(proof["readings"], reading) for reading in instance["only_under"]):
        return f"{instance['file']} refutes it under a reading that the proof covers"
    for need in evidence["needs"]:
        under = any(_covered(proof["readings"], reading) for reading in need.get("only_under") or [{}])
        if under and not {*need["violates"]} & with_implied(proof["assuming"]):
            return f"{need['file']} refutes it and violates nothing that the proof takes"
    return ""


def complete_proof(judgement: Judgement) -> Chain | None:
    """Return the complete proof of a claim, under a reading under which an instance refutes it; ``None`` if there is
    none.

    There should be none. It is made anew, unless a published one is open.
    """
    from ..papers.proofs import proof_of
    from ..papers.saved_certificates import published_outcome

    chain = proof_of(judgement.statement) if published_outcome(judgement.statement.ref) in ("", "proved") else None
    fallen = [dict(reading.reading) for reading in judgement.readings if reading.refutes]
    return chain if chain and any(dict(reading) in fallen for reading in chain.readings) else None


def proved_and_refuted(proof: str, against: str) -> str:
    """Write the sentence on a claim that has both a complete proof and an instance against it."""
    return (
        f"There is a complete proof of it ({proof}), and an exact instance against it ({against}): one of the two is "
        "wrong, which is an error of this program or of what it was given."
    )


def covered(word: str, evidence: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the options under which a claim is proved, for each ambiguity that its proof does not cover in full."""
    return evidence["proof"]["readings"] if word in (PROVED, STEPS_DECIDED, "needs") and evidence.get("proof") else {}


def _word(proof: Mapping[str, Any]) -> str:
    """Return the verdict on a claim whose proof has every step decided."""
    return STEPS_DECIDED if proof["joints"] == DECLARED else PROVED


def with_readings(row: dict[str, Any]) -> str:
    """Write a row's verdict, with the readings that its proof covers where there are others.

    >>> with_readings({"verdict": "proved", "evidence": {"proof": {"readings": {"root": ["root of 30"]}}}})
    'proved (root: root of 30)'
    """
    options = [f"{name}: {' or '.join(some)}" for name, some in covered(row["verdict"], row["evidence"]).items()]
    word = " ".join([row["verdict"], ", ".join(needed(row["verdict"], row["evidence"]))]).rstrip()
    return f"{word} ({'; '.join(options)})" if options else word


def _refuted(instance: dict[str, Any]) -> str:
    ratio = float(instance["ratio"])  # a file has an infinite one as a word
    times = "" if ratio == float("inf") else f" {ratio:.3g} times"
    under = f", under all {instance['readings']} readings of the text" if instance["readings"] > 1 else ""
    return f"A small setting meets every printed hypothesis and exceeds the bound{times}{under}."


def needed(word: str, evidence: dict[str, Any]) -> tuple[str, ...]:
    """Return the kinds of assumption that a claim needs and does not make: those of its proof, else those of the
    instances."""
    if word != "needs":
        return ()
    fallen = [i["assumption"] for i in evidence["needs"] if not i.get("only_under")]
    taken = (evidence.get("proof") or {}).get("assuming") or fallen
    return tuple(taken)


def _needs(instances: list[dict[str, Any]], proof: dict[str, Any] | None, found: dict[str, Any] | None) -> str:
    falls = " and ".join(f"{float(i['ratio']):.3g} times without {_words([i['assumption']])}" for i in instances)
    with_it = f"With {_words(proof['assuming'])} a proof is complete. {_shown(proof)} " if proof else ""
    return (
        f"It falls without what is not printed: a small setting exceeds the bound {falls}. {with_it}{_survived(found)}"
    ).rstrip()


def _unstated(assuming: list[str], partly: bool) -> str:
    names, always = _words(assuming), " under every reading" if partly else ""
    return (
        f"Its proof takes {names}, which is not printed. With that it is complete, and no setting shows that it falls "
        "without"
        f"{always}."
    )


def _refuted_only(readings: list[dict[str, str]], without: str = "") -> str:
    if not readings:
        return ""
    under = " or ".join(", ".join(f"{name}: {option}" for name, option in reading.items()) for reading in readings)
    kind = f" without {_words([without])}" if without else ""
    return f" In a small setting{kind} it falls, read with {under}."


def _covered(covered: dict[str, list[str]], reading: dict[str, str]) -> bool:
    """Whether a proof that covers these options of some ambiguities, and all of the others, covers the reading, which
    may leave some open."""
    return all(reading.get(name, options[0]) in options for name, options in covered.items())


def _lead(evidence: dict[str, Any]) -> str:
    exceeded = [row["data"] for row in evidence["measured"] if row["outcome"] == "exceeded"]
    if exceeded:
        return f"The bound is exceeded on {exceeded[0]}; no exact instance confirms it."
    found = evidence["exact"]["search"]
    if found and not float(found["largest_ratio"]) <= 1 + ROUNDING:  # what is no number is a lead too
        return f"The search found a ratio of {float(found['largest_ratio']):.3g}; no instance confirms it."
    return ""


def _proved(proof: dict[str, Any], found: dict[str, Any] | None) -> str:
    readings = "; ".join(f"{name}: {' or '.join(options)}" for name, options in proof["readings"].items())
    under = f" Read with {readings}." if readings else ""
    return f"{_shown(proof)}{under} {_survived(found)}".rstrip()


def _shown(proof: Mapping[str, Any]) -> str:
    """Say what shows a claim whose proof is complete."""
    by = {
        KERNEL: "The kernel composes the whole proof, from axioms to the right side",
        DECLARED: f"Each of the {proof['steps']} steps of its proof has a certificate; that they add up to the claim "
        "is declared by hand",
    }[proof["joints"]]
    broken = proof["repaired"]
    gaps = f" {broken} printed step{'s do' if broken > 1 else ' does'} not hold and " if broken else ""
    gaps += f"{'are' if broken > 1 else 'is'} replaced." if broken else ""
    return f"{by}.{gaps}"


def _words(kinds: Iterable[str]) -> str:
    """Names of assumptions as words.

    >>> _words(["independent_noise", "cohort_before_noise"])
    'independent noise and cohort before noise'
    """
    return " and ".join(kind.replace("_", " ") for kind in kinds)


def _survived(found: dict[str, Any] | None) -> str:
    if not found:
        return ""
    if not found["admissible"]:
        return f"None of the {found['candidates']} settings that were tried meets every hypothesis."
    late = (
        f", and {float(found['largest_late_ratio']):.3g} once the first term has faded"
        if found["largest_late_ratio"]
        else ""
    )
    return (
        f"Of {found['candidates']} settings that were tried, none that meets the hypotheses exceeds the bound: left "
        f"over right is at most {float(found['largest_ratio']):.3g}{late}."
    )
