"""Records of a paper in print: the edition that is judged, for those who cite it, and errors, told to a reader."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Citation:
    """The edition of a paper whose statements are judged.

    Attributes:
        authors: full names, in the printed order; empty of an anonymous one.
        year: of that edition; 0 where the text does not say it.
        where: the conference or the journal; "" where the text does not say it.
        arxiv: the number there, or "".
        note: what else tells this edition from others.
    """

    authors: tuple[str, ...] = ()
    year: int = 0
    where: str = ""
    arxiv: str = ""
    note: str = ""


@dataclass(frozen=True)
class Erratum:
    """One error, in sentences. Verdicts, formulas and the two numbers of the instance are read from where they are.

    Attributes:
        claims: refs of the printed statements that fall by it; the instance of the first one is shown.
        printed: displays of the first one in LaTeX, as the paper has them: with its abbreviations and hidden constants.
        wrong: what is wrong.
        instance: the first one's instance in words, with every number of its file.
        true: what is true instead.
        editions: refs of the editions that state it, if there are any.
        objection: what an author may object.
        answer: the answer to that.
    """

    claims: tuple[str, ...]
    printed: tuple[str, ...]
    wrong: str
    instance: str
    true: str
    editions: tuple[str, ...] = ()
    objection: str = ""
    answer: str = ""
