"""Verdicts in a sentence or two each, for readers; docs/scorecard.md has the rule."""

from __future__ import annotations

from .verdict_rule import PROVED_AND_REFUTED

MEANINGS = {
    "proved": "A small kernel composes the proof, from axioms to the right side.",
    "steps decided": "Every step of the proof has a certificate; that they add up to the claim is declared by hand.",
    "holds": "It survived a search, and the largest left/right is given. That is no proof.",
    "untested": "No setting was found that meets every hypothesis: nothing is said for or against it.",
    "unproved": "It survives, but a named step of its proof does not, or the proof takes what is not printed.",
    "needs": "It falls where an assumption is violated that its proof takes and that is not printed.",
    "refuted": "A small instance breaks the bound in exact or ball arithmetic, under every reading of the text.",
    "vacuous": "Its hypotheses contradict each other.",
    PROVED_AND_REFUTED: "A proof and an instance contradict each other: an error of this program, never published.",
    "not checked": "It was exceeded, and no instance confirms it; or nothing covers it.",
    "not applicable": "A setting does not meet its hypotheses.",
}
"""Meanings, a sentence or two each, by the word."""
