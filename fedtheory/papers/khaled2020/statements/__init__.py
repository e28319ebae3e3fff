"""Statements of Khaled, Mishchenko and Richtarik on identical data."""

from . import thm1

CLAIMS = thm1.EDITIONS
"""Every edition of every statement, in the paper's order."""
