"""Families of instances along which left/right grows without bound: no constant of what stays will do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from .protocol import Point


@dataclass(frozen=True)
class Family:
    """Instances of one claim, one of every size. That left/right has no bound is derived by hand where ``member`` is
    defined; a judgement of some of them is a check of it.

    Attributes:
        member: the instance of a size.
        sizes: some, increasing.
        grows: the quantities that change with the size; those on which the claim's O(.) says how it depends.
    """

    member: Callable[[Claim, int], Point]
    sizes: tuple[int, ...]
    grows: tuple[str, ...]
