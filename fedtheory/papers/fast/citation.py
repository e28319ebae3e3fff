"""Where FAST appeared: its text names neither authors nor a year."""

from ..citation import Citation

CITATION = Citation(note="anonymous submission, under double-blind review")
