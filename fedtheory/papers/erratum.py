"""What is wrong in what a paper prints, told to a reader."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """One error, in sentences. Verdicts, formulas and the two numbers of the instance are read from where they are.

    Attributes:
        claims: refs of the printed statements that fall by it; the instance of the first one is shown.
        wrong: what is wrong.
        instance: the first one's instance in words, with every number of its file.
        true: what is true instead.
        editions: refs of the editions that state it, if there are any.
        objection: what an author may object.
        answer: the answer to that.
    """

    claims: tuple[str, ...]
    wrong: str
    instance: str
    true: str
    editions: tuple[str, ...] = ()
    objection: str = ""
    answer: str = ""
