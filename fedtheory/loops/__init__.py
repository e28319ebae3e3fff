"""Compiled loops, one module for each computation."""
