"""Counts of work: what they count, and that more than is allowed is seen, also where it is caught inside."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from tests.work import TooMuch, counted


def nothing() -> None:
    pass


def test_calls_are_counted():
    with counted() as few:
        for _ in range(10):
            nothing()
    with counted() as many:
        for _ in range(1010):
            nothing()
    assert many.calls - few.calls == 1000


def test_more_calls_than_allowed_raise_at_once():
    reached = []
    with pytest.raises(TooMuch, match="more than 50 calls"), counted(50):
        for i in range(10**9):
            reached.append(i)
    assert 30 < len(reached) <= 50
    with pytest.raises(TooMuch), counted(50):  # the block goes on, and is seen after it
        for _ in range(2):
            with contextlib.suppress(AssertionError):
                for _ in range(100):
                    nothing()


def test_bytes_are_counted_at_their_most():
    with counted(bytes=10**6):
        np.ones(10**5).sum()
    with pytest.raises(TooMuch, match="bytes; allowed are 1000000"), counted(bytes=10**6):
        np.ones(10**6).sum()
