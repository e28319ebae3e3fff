"""Where a paper appeared, for those who cite it."""

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
