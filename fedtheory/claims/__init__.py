"""Statements as data, and their calculus: evaluate, solve, compare rates, typeset. No paper is known here."""
