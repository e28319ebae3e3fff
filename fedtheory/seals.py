"""Seals over JSON: a hash of the content, kept in it. It finds accidents and edits; it is no signature, since whoever
knows this page can make another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from .files import json_text

SEAL = "seal"


def seal_of(data: Mapping[str, Any]) -> str:
    """The SHA-256 hash of an object's canonical JSON, without its seal: 64 hexadecimal digits.

    >>> seal_of({"a": 1, "b": [2.5]}) == seal_of({"b": [2.5], "a": 1, "seal": "any"})
    True
    >>> seal_of({"a": 1}) == seal_of({"a": 1.0})
    False
    """
    content = {key: value for key, value in data.items() if key != SEAL}
    text = json.dumps(json.loads(json_text(content)), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The object with its seal, as the last entry.

    >>> list(sealed({"a": 1}))
    ['a', 'seal']
    """
    return {**{key: value for key, value in data.items() if key != SEAL}, SEAL: seal_of(data)}


def check_seal(data: Mapping[str, Any], where: str = "the content") -> None:
    """Refuse an object that was changed after it was sealed.

    Raises:
        ValueError: it has no seal, or another one.

    >>> check_seal({**sealed({"mean": 1.0}), "mean": 2.0}, "a.json")
    Traceback (most recent call last):
    ...
    ValueError: a.json: it was changed after it was sealed
    """
    if SEAL not in data:
        raise ValueError(f"{where}: it has no seal")
    if data[SEAL] != seal_of(data):
        raise ValueError(f"{where}: it was changed after it was sealed")
