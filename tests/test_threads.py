"""Work that is shared out is done once, by as many threads as are to be, and its errors are told."""

from __future__ import annotations

import threading

import pytest

from fedtheory.loops.threads import shared_out


@pytest.mark.parametrize("count, threads, least, parts", [
    (10, 1, 1, 1), (10, 3, 1, 3), (10, 3, 4, 2), (10, 3, 6, 1), (2, 8, 1, 2), (0, 4, 1, 1), (5, 0, 1, 1),
])  # fmt: skip
def test_each_number_is_worked_on_once(count: int, threads: int, least: int, parts: int) -> None:
    spans: list[tuple[int, int]] = []
    shared_out(lambda first, last: spans.append((first, last)), count, threads, least)
    assert len(spans) == parts
    assert sorted(i for first, last in spans for i in range(first, last)) == list(range(count))


def test_parts_are_worked_on_at_once() -> None:
    meeting = threading.Barrier(3, timeout=20)  # which nobody leaves alone
    shared_out(lambda first, last: meeting.wait(), 3, 3)


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_errors_come_back_when_all_have_ended(wrong: int) -> None:
    ended: list[int] = []

    def work(first: int, last: int) -> None:
        ended.append(first)
        if first == wrong:
            raise ValueError(f"not {first}")

    with pytest.raises(ValueError, match=f"not {wrong}"):
        shared_out(work, 3, 3)
    assert sorted(ended) == [0, 1, 2]
