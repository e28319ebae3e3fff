"""Citation of FAST, whose text names neither authors nor a year."""

from ..in_print import Citation

CITATION = Citation(note="anonymous submission, under double-blind review")
