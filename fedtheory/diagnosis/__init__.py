"""Diagnoses of participation logs: rates, dependence, the family it is of, and what follows for those who average."""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
