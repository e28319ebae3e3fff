"""Statements of Li, Huang, Yang, Wang and Zhang on FedAvg."""

from . import theorems

CLAIMS = theorems.CLAIMS
"""Every edition of every statement, in the paper's order."""
