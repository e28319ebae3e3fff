"""Generated bad input: texts, bytes and plain data, spoiled by a generator with a seed."""

from __future__ import annotations

import random
from typing import Any

TEXTS = ("", " ", "0", "-1", "1e400", "nan", "-inf", "1/0", "1.5", "9" * 400, "ä\u202e", "a=b", "--", "../..", "{}",
         "[]", "null", "%s%n", "\\", "'", '"', "fast.thm2@", "@main", "fast.", "true", "x" * 300,
         "1,2,3", "\t", ";", "$(x)")  # fmt: skip
"""What a slip or an attack might put in the place of a word."""

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**40, 1.5, float("nan"), float("inf"), "", "1/0", "1e999", "9" * 500, "chosen", [], {}, [[]],
    [None], {"a": 1}, ["1"], [["1", "2"], ["3"]],
)  # fmt: skip
"""What may stand in the place of another value."""


def spoiled(content: bytes, rng: random.Random) -> bytes:
    """Bytes cut, flipped, doubled, or with others put in."""
    at, other = rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)
    start, end = sorted((at, other))
    return rng.choice([
        lambda: content[:at], lambda: content[at:], lambda: content[:start] + content[end:],
        lambda: content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :], lambda: content + content,
        lambda: content[:at] + rng.choice(TEXTS).encode() + content[at:], lambda: content[:end] + content[start:],
    ])()  # fmt: skip


def mutated(data: Any, rng: random.Random) -> Any:
    """Plain data in which one or two places have another value, are missing or are doubled."""
    for _ in range(rng.randint(1, 2)):
        holder, key = rng.choice(list(_places(data)))
        action = rng.randrange(4)
        if action == 0:
            del holder[key]
        elif action == 1 and isinstance(holder, list):
            holder.append(holder[key])
        elif action == 2 and isinstance(holder, dict):
            holder[rng.choice(TEXTS)] = holder[key]
        else:
            holder[key] = rng.choice(VALUES)
        if not list(_places(data)):
            break
    return data


def _places(data: Any) -> Any:
    """(holder, key) of every value inside."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from _places(value)
