"""The exception for an enclosure that cannot be given."""

from __future__ import annotations


class Undecided(Exception):
    """The enclosure cannot be given; the reason is the message."""
