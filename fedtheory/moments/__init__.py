"""Exact expected errors: rounds as linear maps of moments, and what they lead to."""
