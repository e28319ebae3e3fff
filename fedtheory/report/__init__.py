"""Figures."""

from .figures import plot

__all__ = ["plot"]
