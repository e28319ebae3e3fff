"""Explanations of words: verdicts, quantities and their letters, assumptions, left sides, readings."""

from __future__ import annotations

from typing import Any

Entry = dict[str, Any]


def explain(word: str) -> list[Entry]:
    """Return everything that a word is, each with its ``kind`` and what is known of it.

    Raises:
        ValueError: it is nothing; the nearest known word is named.

    >>> [(entry["kind"], entry["word"]) for entry in explain("smoothness")]
    [('quantity', 'smoothness'), ('assumption', 'smooth')]
    >>> [entry["kind"] for entry in explain("steps decided")]
    ['verdict']
    """
    from .claims.paper_letters import spelled
    from .quantities import nearest

    asked = word.strip().replace("-", "_").replace(" ", "_")
    entries = _entries()
    exact = [e for e in entries if asked.lower() in (_key(e["word"]), *map(_key, e.get("also", ())))]
    letters = [e for e in entries if spelled(word) and spelled(word) in map(spelled, e.get("letters", {}).values())]
    if not exact and not letters:
        known = {e["word"] for e in entries} | {spelled(a) for e in entries for a in e.get("letters", {}).values()}
        raise ValueError(f"{word!r} is no word of fedtheory: {nearest(word, known - {''})}")
    return [{k: v for k, v in e.items() if k != "also" and v not in ({}, [], "")} for e in exact or letters]


def _key(word: str) -> str:
    return word.replace("-", "_").replace(" ", "_").lower()


def _entries() -> list[Entry]:
    from . import functionals as module
    from .assumptions import ASSUMPTIONS
    from .evidence.verdict_words import MEANINGS
    from .papers import all_claims, papers
    from .quantities import QUANTITIES

    found: list[Entry] = [{"kind": "verdict", "word": word, "meaning": text} for word, text in MEANINGS.items()]
    for q in QUANTITIES.values():
        letters = {paper.name: paper.letters[q.name] for paper in papers().values() if q.name in paper.letters}
        found.append(
            {
                "kind": "quantity",
                "word": q.name,
                "meaning": q.meaning,
                "allowed": q.allowed,
                "units": str(q.units),
                "letters": letters,
                "algorithms": list(q.algorithms),
            }
        )
    found += [
        {
            "kind": "assumption",
            "word": a.name,
            "meaning": a.meaning,
            "also": [a.quantity] if a.quantity else [],
            "bounds": a.quantity,
            "implies": list(a.implies),
        }
        for a in ASSUMPTIONS.values()
    ]
    left = (f for f in vars(module).values() if isinstance(f, module.Functional))
    found += [{"kind": "left side", "word": f.name, "meaning": f.meaning, "units": str(f.units)} for f in left]
    return found + _readings(all_claims())


def _readings(claims: Any) -> list[Entry]:
    """Places where papers' words admit several readings, by name and reason, with the claims that have them."""
    found: dict[tuple[str, str], Entry] = {}
    for claim in claims:
        for a in claim.ambiguities:
            entry = found.setdefault(
                (a.name, a.why),
                {"kind": "reading", "word": a.name, "meaning": a.why, "options": list(a.options), "claims": []},
            )
            entry["claims"].append(claim.ref)
    return list(found.values())
