"""Where FLICS-OPT appeared: its text names neither a journal nor a year."""

from ..citation import Citation

CITATION = Citation(("Mónica Ribero", "Haris Vikalo", "Gustavo de Veciana"), note="the authors' manuscript")
