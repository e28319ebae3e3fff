"""Tightness of claims: a bound beside the exact worst case over a class of functions."""
