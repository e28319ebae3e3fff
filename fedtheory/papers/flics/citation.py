"""Citation of FLICS-OPT, whose text names neither a journal nor a year."""

from ..in_print import Citation

CITATION = Citation(("Mónica Ribero", "Haris Vikalo", "Gustavo de Veciana"), note="the authors' manuscript")
