"""Recorded participation: given masks, adversaries' schedules, and patterns handed out to clients at random."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arguments import check_clients, check_count, check_option, listed
from ..extras import torch
from ..randomness import words
from .base import AnySize, Inclusion, Keys
from .bernoulli import independent_inclusion
from .probabilities import check_mask

if TYPE_CHECKING:
    from torch import Tensor

AFTER = ("refuse", "repeat", "absent", "last")
ORDERS = ("ascending", "descending")


class RecordedState(NamedTuple):
    """A process's keys, the record (rounds, columns) bool, and who reads which column (replicas or 1, clients)."""

    keys: Keys
    mask: Tensor
    column: Tensor


class FromRecord(AnySize):
    """A process that reads a record (rounds, columns)."""

    mask: np.ndarray

    def _set_record(self, name: str) -> None:
        mask = check_mask(name, self.mask)
        mask.setflags(write=False)
        object.__setattr__(self, "mask", mask)

    def _check_columns(self, clients: int) -> None:
        """Raise ``ValueError`` if there is not one column for each client."""
        check_clients("mask", self.mask.shape[1], clients)

    def init(self, keys: Keys) -> RecordedState:
        self._check_columns(keys.clients)
        device = keys.replica_ids.device
        own = torch.arange(keys.clients, device=device)[None]
        return RecordedState(keys, torch.tensor(self.mask, device=device), own)

    def _digest(self) -> str:
        """Stands for the record in ``repr``, which tells processes apart."""
        content = hashlib.sha256(np.packbits(self.mask).tobytes()).hexdigest()
        return f"<{self.mask.shape[0]} rounds x {self.mask.shape[1]}, sha256 {content}>"


class _InOrder(FromRecord):
    """A process that reads a record from its beginning, which ends."""

    after: str

    def _row(self, round: int) -> int | None:
        """Return the row of the record that a round reads; None if nobody takes part any more.

        Raises:
            ValueError: the record has ended and ``after`` is "refuse".
        """
        if round < len(self.mask):
            return round
        if self.after == "refuse":
            raise ValueError(
                f"round = {round}: the record has the rounds 0 to {len(self.mask) - 1}; allowed beyond is "
                'after="repeat", after="absent" or after="last"'
            )
        if self.after == "last":
            return len(self.mask) - 1
        return round % len(self.mask) if self.after == "repeat" else None

    def step(self, state: RecordedState, round: int) -> tuple[Tensor, RecordedState]:
        keys, row = state.keys, self._row(round)
        if row is None:
            shape = len(keys.replica_ids), keys.clients
            return torch.zeros(shape, dtype=torch.int8, device=keys.replica_ids.device), state
        here = state.mask[row][state.column]
        return here.expand(len(keys.replica_ids), -1).to(torch.int8), state


@dataclass(frozen=True, repr=False, eq=False)
class Recorded(_InOrder):
    """Recorded participation: client i takes part in round r if ``mask[r, i]``, as in a trace or an adversary's
    schedule.

    Args:
        mask: (rounds, clients), 0 or 1; see `rounds_of` for intervals from a file.
        after: what happens when the record has ended: "refuse" (a ``ValueError``), "repeat" from its beginning,
            "absent", nobody takes part any more, or "last", the last round stays.

    Raises:
        ValueError: a mask of another shape or content, or another ``after``; in `check`, if it has not one column for
            each client.

    >>> process = Recorded.of_sets([[0], [0, 2], []], clients=3, after="repeat")
    >>> process.marginal(3, round=4).first.tolist()
    [Fraction(1, 1), Fraction(0, 1), Fraction(1, 1)]
    """

    mask: np.ndarray
    after: str = "refuse"

    def __post_init__(self) -> None:
        self._set_record("mask")
        check_option("after", self.after, AFTER)

    @classmethod
    def of_sets(cls, sets: Sequence[Sequence[int]], clients: int, after: str = "refuse") -> Recorded:
        """The process in which ``sets[r]`` take part in round r.

        Raises:
            ValueError: a client that is repeated or not in 0 to ``clients`` - 1, or as `Recorded`.
        """
        mask = np.zeros((len(sets), clients), dtype=bool)
        for round, members in enumerate(sets):
            for client in members:
                if check_count(f"sets[{round}]", client, least=0) >= clients:
                    raise ValueError(f"sets[{round}] = {list(members)}: client {client} is not in 0 to {clients - 1}")
                if mask[round, client]:
                    raise ValueError(f"sets[{round}] = {list(members)}: client {client} is there twice")
                mask[round, client] = True
        return cls(mask, after)

    @classmethod
    def of_counts(cls, counts: Sequence[Sequence[int]], groups: Sequence[int], after: str = "refuse") -> Recorded:
        """The process in which the first ``counts[r][j]`` clients of each group j take part in round r.

        Args:
            groups: each client's group, 0, 1, ...

        Raises:
            ValueError: a count that is not one a group, or more than the group has; or as `Recorded`.

        >>> Recorded.of_counts([[2, 0], [1, 1]], groups=[0, 0, 1]).mask.astype(int).tolist()
        [[1, 1, 0], [1, 0, 1]]
        """
        place = [list(groups[:i]).count(j) for i, j in enumerate(groups)]
        sizes = [list(groups).count(j) for j in range(max(groups, default=-1) + 1)]
        for round, row in enumerate(counts):
            fits = len(row) == len(sizes) and all(
                check_count(f"counts[{round}]", n, least=0) <= size for n, size in zip(row, sizes, strict=True)
            )
            if not fits:
                raise ValueError(f"counts[{round}] = {list(row)}: allowed is one number a group, at most {sizes}")
        return cls(np.array([[p < row[j] for p, j in zip(place, groups, strict=True)] for row in counts]), after)

    @classmethod
    def of_text(cls, record: str, clients: int, after: str = "refuse") -> Recorded:
        """The process of a record that is written as a text: see ``to_text``.

        Raises:
            ValueError: the text is none, or not one of whole rounds of so many clients; or as `Recorded`.
        """
        wide = -(-check_count("clients", clients) // 8)
        try:
            packed = zlib.decompress(base64.b64decode(record, validate=True))
        except (ValueError, zlib.error):
            raise ValueError(f"record = {record[:20]!r}...: allowed is a text that Recorded.to_text made") from None
        if not packed or len(packed) % wide:
            raise ValueError(
                f"record has {len(packed)} bytes: allowed with {clients} clients is a multiple of {wide}, at least one"
            )
        rows = np.frombuffer(packed, dtype=np.uint8).reshape(-1, wide)
        return cls(np.unpackbits(rows, axis=1, count=clients) > 0, after)

    def to_text(self) -> str:
        """Return the record as a text for a file: a bit for each client and round, compressed, in base64.

        >>> text = Recorded([[1, 0], [0, 1]]).to_text()
        >>> Recorded.of_text(text, clients=2).mask.tolist()
        [[True, False], [False, True]]
        """
        return base64.b64encode(zlib.compress(np.packbits(self.mask, axis=1).tobytes(), 9)).decode()

    def __repr__(self) -> str:
        return f"Recorded({self._digest()}, after={self.after!r})"

    @property
    def deterministic(self) -> bool:
        """Whether the participants are fixed; they always are."""
        return True

    def check(self, clients: int) -> None:
        self._check_columns(clients)

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        sizes = self.mask.sum(axis=1)
        return 0 if self.after == "absent" else int(sizes.min()), int(sizes.max())

    def inclusion(self, clients: int) -> Inclusion:
        """Compute the moments of a record whose rounds are all the same.

        Raises:
            ValueError: rounds differ; see `marginal`.
        """
        self.check(clients)
        if (self.mask != self.mask[0]).any() or self.after == "absent":
            raise ValueError(f"mask = {self._digest()}: its rounds differ, and so do their moments; see marginal")
        return self.marginal(clients, 0)

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        row = self._row(round)
        here = np.zeros(clients, dtype=bool) if row is None else self.mask[row]
        return np.array([Fraction(int(x)) for x in here], dtype=object)

    def marginal(self, clients: int, round: int) -> Inclusion:
        first = self.expected(clients, round)
        return Inclusion(first, np.outer(first, first))


@dataclass(frozen=True, repr=False, eq=False)
class RandomPatterns(_InOrder):
    """Participation by the pattern of a user, which each client receives at random from a pool, once a run, and
    follows.

    Users are drawn with replacement, independently for every client: two clients may follow the same user. (FLICS does
    not say; its 10,000 synthetic clients are more than its 5,342 users.) Rounds depend on each other.

    Args:
        mask: (rounds, users), 0 or 1: when each user is available.
        pools: the users of each pool, distinct.
        pool_of: each client's pool.
        after: as in `Recorded`.

    Raises:
        ValueError: a mask, pool or client's pool that is not allowed; in `check`, if there is not one pool a client.

    Source: FLICS, section IV-B, processes 4 and 5: `real_random`, `real_correlated`.

    >>> day, night = [1, 0, 1, 0], [0, 1, 0, 1]
    >>> process = RandomPatterns.real_random(np.array([day, day, night]).T, clients=2)
    >>> process.marginal(2, round=1).first.tolist()
    [Fraction(1, 3), Fraction(1, 3)]
    """

    mask: np.ndarray
    pools: Sequence[Sequence[int]]
    pool_of: Sequence[int]
    after: str = "refuse"

    independent_rounds = False

    def __post_init__(self) -> None:
        self._set_record("mask")
        check_option("after", self.after, AFTER)
        users = self.mask.shape[1]
        pools = tuple(
            tuple(check_count(f"pools[{k}]", u, 0) for u in listed(f"pools[{k}]", pool))
            for k, pool in enumerate(listed("pools", self.pools))
        )
        for k, pool in enumerate(pools):
            if not pool or len(set(pool)) != len(pool) or max(pool) >= users:
                allowed = f"distinct users of 0 to {users - 1}, at least one"
                raise ValueError(f"pools[{k}] = {list(pool)}: allowed are {allowed}")
        pool_of = tuple(check_count(f"pool_of[{i}]", k, least=0) for i, k in enumerate(listed("pool_of", self.pool_of)))
        for i, k in enumerate(pool_of):
            if k >= len(pools):
                raise ValueError(f"pool_of[{i}] = {k}: allowed is 0 to {len(pools) - 1}")
        object.__setattr__(self, "pools", pools)
        object.__setattr__(self, "pool_of", pool_of)

    @classmethod
    def real_random(cls, mask: np.ndarray, clients: int, after: str = "refuse") -> RandomPatterns:
        """FLICS's real-random process: every client draws from all users.

        Raises:
            ValueError: as `RandomPatterns`, or no client.
        """
        mask = check_mask("mask", mask)
        return cls(mask, [range(mask.shape[1])], [0] * check_count("clients", clients), after)

    @classmethod
    def real_correlated(
        cls,
        mask: np.ndarray,
        groups: Sequence[int],
        availability: Sequence[float],
        order: str = "ascending",
        parts: int = 3,
        after: str = "refuse",
    ) -> RandomPatterns:
        """FLICS's real-correlated process: users are sorted by availability and split into three equal parts; each
        group of clients draws from one part, so that availability goes with the data.

        Where numbers do not divide, the first parts have one user, or one group, more. Groups 0, 1, ... go to the parts
        in their order; users of the same availability keep theirs. In which order users are sorted the paper does not
        say: "ascending" (ours) gives the lowest groups the rarest users, "descending" the most available.

        Args:
            groups: each client's group, 0 to groups - 1.
            availability: (users,), see `light_use`.

        Raises:
            ValueError: fewer users or groups than parts, an availability that is no finite number, or as
                `RandomPatterns`.

        >>> RandomPatterns.real_correlated(np.eye(3), groups=[0, 1, 2, 2], availability=[0.5, 0.1, 0.9]).pools
        ((1,), (0,), (2,))
        """
        check_option("order", order, ORDERS)
        mask, available = check_mask("mask", mask), np.asarray(availability, dtype=float)
        if available.shape != (mask.shape[1],) or not np.isfinite(available).all():
            raise ValueError(f"availability: allowed is one finite number for each of {mask.shape[1]} users")
        numbers = [check_count(f"groups[{i}]", g, least=0) for i, g in enumerate(groups)]
        for name, there in {"users": len(available), "groups": max(numbers, default=-1) + 1}.items():
            if there < check_count("parts", parts):
                raise ValueError(f"parts = {parts}: allowed is at most {there}, the number of {name}")
        ranked = np.argsort(available if order == "ascending" else -available, kind="stable")
        part_of = {g: k for k, part in enumerate(np.array_split(np.arange(max(numbers) + 1), parts)) for g in part}
        pools = [part.tolist() for part in np.array_split(ranked, parts)]
        return cls(mask, pools, [part_of[g] for g in numbers], after)

    def __repr__(self) -> str:
        return f"RandomPatterns({self._digest()}, pools={self.pools}, pool_of={self.pool_of}, after={self.after!r})"

    @property
    def deterministic(self) -> bool:
        """Whether the participants are fixed; they never are."""
        return False

    def check(self, clients: int) -> None:
        check_clients("pool_of", len(self.pool_of), clients)

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        members = np.bincount(self.pool_of, minlength=len(self.pools))
        fewest = sum(n * self.mask[:, pool].all(axis=1) for n, pool in zip(members, self.pools, strict=True))
        most = sum(n * self.mask[:, pool].any(axis=1) for n, pool in zip(members, self.pools, strict=True))
        return 0 if self.after == "absent" else int(fewest.min()), int(most.max())

    def init(self, keys: Keys) -> RecordedState:
        self.check(keys.clients)
        device = keys.replica_ids.device
        clients = torch.arange(keys.clients, device=device)
        width = max(len(pool) for pool in self.pools)
        table = torch.tensor([[*pool, *[0] * (width - len(pool))] for pool in self.pools], device=device)
        sizes = torch.tensor([len(pool) for pool in self.pools], device=device)
        pool_of = torch.tensor(self.pool_of, device=device)
        place = words(keys.seed, keys.axis, keys.replica_ids[:, None], clients) % sizes[pool_of]
        return RecordedState(keys, torch.tensor(self.mask, device=device), table[pool_of, place])

    def inclusion(self, clients: int) -> Inclusion:
        """Raise ``ValueError``, since a client follows one pattern in all rounds.

        Raises:
            ValueError: always; ``marginal`` has the moments of one round alone.
        """
        self.check(clients)
        raise ValueError("participation = RandomPatterns: its rounds depend on each other and differ; see marginal")

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        row = self._row(round)
        shares = [
            Fraction(0) if row is None else Fraction(int(self.mask[row, pool].sum()), len(pool)) for pool in self.pools
        ]
        return np.array([shares[k] for k in self.pool_of], dtype=object)

    def marginal(self, clients: int, round: int) -> Inclusion:
        return independent_inclusion(self.expected(clients, round))
