"""Exact moments of rounds and runs in which a server selects among the clients at hand (FLICS-AVG)."""
