"""Minibatches of a client's points in each step of a visit, drawn by (seed, replica, client, round, step)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..extras import is_tensor, torch
from ..neural.augmentation import augmentation_keys
from ..neural.batches import Visits
from ..neural.dropout import dropout_keys
from ..randomness import Axis, in_memory, refined, uniforms, words
from ..rationals import checked_count
from .federation import Pairs

if TYPE_CHECKING:
    from torch import Tensor

AHEAD = 2**18
"""Numbers of points that are drawn at once on a device, for the pairs of the rounds to come: what a round of few pairs
costs there is operations that are launched, however many numbers each makes. In main memory a round's stay in the
cache."""
SAMPLINGS = ("independent", "shuffled", "one pass")


@dataclass(frozen=True, eq=False)
class Minibatches:
    """Rule by which clients take batches of B points from the ones they hold.

    - "independent": each point of each batch is drawn uniformly from the client's n points, independently of all
      others. A batch's gradient is then unbiased given all that was before, as theorems assume.
    - "shuffled": a visit goes through the client's points in random order, and through them again in another random
      order when it has used them all; a batch takes the next B.
    - "one pass": as "shuffled", but the visit ends when every point was used once, after ceil(n / B) steps, the last
      one on what is left. It ends earlier if the algorithm asks for fewer steps. A pass over PyTorch's
      ``DataLoader(shuffle=True)`` does likewise. With ``epochs`` E it goes on to E passes, each in an order of its own
      and with a last batch of its own, so that a visit has E ceil(n / B) steps, or E floor(n / B) if ``drop_last``.

    Attributes:
        sizes: (holders,) int64, the points of each holder, >= 1; the clients, and perhaps the server after them.
        batch_size: B >= 1.
        sampling: one of the three.
        epochs: E >= 1, passes over a client's points in a visit; other than 1 with "one pass" only.
        drop_last: whether a pass leaves out the points after its last whole batch.
        servers: how many of the last holders make no visits.
    """

    sizes: Tensor
    batch_size: int
    sampling: str = "independent"
    epochs: int = 1
    drop_last: bool = False
    servers: int = 0

    @cached_property
    def known_sizes(self) -> np.ndarray:
        """``sizes`` in main memory."""
        return self.sizes.cpu().numpy()

    def to(self, device: torch.device) -> Minibatches:
        """Return this rule with its sizes on another device."""
        moved = replace(self, sizes=self.sizes.to(device))
        moved.__dict__["known_sizes"] = self.known_sizes
        return moved

    def __post_init__(self) -> None:
        checked_count("batch_size", self.batch_size, allowed="an integer >= 1, or None for all points")
        if self.sampling not in SAMPLINGS:
            raise ValueError(f"sampling = {self.sampling!r}: allowed is one of {', '.join(SAMPLINGS)}")
        checked_count("local_epochs", self.epochs)
        if self.sampling != "one pass" and (self.epochs, self.drop_last) != (1, False):
            raise ValueError(f"sampling = {self.sampling!r}: allowed with local_epochs or drop_last is 'one pass'")
        visited = self.visited_sizes
        without = (self.steps_of_visits(visited) == 0).nonzero()[0]
        if self.sampling == "one pass" and len(without):
            points = visited[without[0]]
            raise ValueError(
                f"local_epochs: client {without[0]} has {points} points, which make no batch of {self.batch_size}; "
                "allowed are clients with a step in every epoch"
            )

    @property
    def visited_sizes(self) -> np.ndarray:
        """The points of each client, without those of servers."""
        return self.known_sizes[: len(self.known_sizes) - self.servers]

    def steps_of_visits(self, sizes: np.ndarray) -> np.ndarray:
        """The steps of visits that end by themselves, to clients with so many points."""
        return self.epochs * (sizes // self.batch_size if self.drop_last else -(-sizes // self.batch_size))

    def __str__(self) -> str:
        plain = (self.epochs, self.drop_last) == (1, False)
        return self.sampling if plain else f"{self.sampling}, {self.epochs} epochs, drop_last {self.drop_last}"

    def of(self, pairs: Pairs, first: int, steps: int, dropout: bool, augmented: bool) -> Visits:
        """Draw the points of every pair in the steps ``first`` to ``first + steps - 1``.

        Returns their numbers among all holders' points, and the keys of other draws.

        >>> pairs = Pairs.of(torch.ones(1, 2, dtype=torch.bool), torch.zeros(1).long(), seed=0, round=0)
        >>> visits = Minibatches(torch.tensor([3, 2]), 2, "one pass").of(pairs, 0, 2, dropout=False, augmented=False)
        >>> sorted(visits.index[1, 0].tolist()), visits.weights[:, 1].tolist()
        ([3, 4], [[1.0, 0.0], [0.0, 0.0]])
        """

        def drawn(some: Pairs) -> Visits:
            return self._drawn(some, first, steps, dropout, augmented)

        if in_memory(pairs.client):
            return drawn(pairs)
        each = (
            steps * self.batch_size
            if self.sampling == "independent"
            else max(steps * self.batch_size, self.epochs * int(self.known_sizes.max()))
        )
        name = f"visits, {self.batch_size} {self}, {first} and {steps}, {dropout}, {augmented}"
        return pairs.ahead(name, drawn, AHEAD // each)

    def holder(self, pairs: Pairs) -> Tensor:
        """Return the number of each pair's holder among ``sizes``, (P,)."""
        return pairs.client

    def known_holder(self, pairs: Pairs) -> np.ndarray:
        """Return the same in main memory."""
        return pairs.known_client

    def _drawn(self, pairs: Pairs, first: int, steps: int, dropout: bool, augmented: bool) -> Visits:
        step = torch.arange(first, first + steps, device=pairs.client.device)
        if self.sampling == "independent":
            own, counting = self._independent(pairs, step), None
        else:
            own, counting = self._in_order(pairs, first, steps)
        starts = self.sizes.cumsum(0) - self.sizes
        index = starts[self.holder(pairs)][:, None, None] + own
        coordinates = *_before_step(pairs), step
        return Visits(
            index,
            None if counting is None else torch.from_numpy(counting).to(index.device, torch.float32),
            dropout_keys(*coordinates) if dropout else None,
            augmentation_keys(*coordinates) if augmented else None,
            counting,
        )

    def _independent(self, pairs: Pairs, step: Tensor) -> Tensor:
        """Points of each pair, counted from 0 for each holder, (P, K, B)."""
        seed, *others = _before_step(pairs)
        bits = words(seed, Axis.BATCH, *others, step)
        slots = torch.arange(self.batch_size, device=bits.device)
        sizes = self.sizes[self.holder(pairs)][:, None, None]
        return torch.minimum((uniforms(refined(bits[..., None], slots)) * sizes).long(), sizes - 1)

    def _in_order(self, pairs: Pairs, first: int, steps: int) -> tuple[Tensor, np.ndarray | None]:
        """Likewise of orders, and where visits end which points count. How many orders are drawn is known in main
        memory, so that no device is waited for."""
        B, sizes = self.batch_size, self.sizes[self.holder(pairs)]
        known = self.known_sizes[self.known_holder(pairs)]
        position = torch.arange(first * B, (first + steps) * B, device=sizes.device).view(1, steps, B)
        lap, place = position // sizes[:, None, None], position % sizes[:, None, None]
        counting: np.ndarray | None = None
        drawn = ((first + steps) * B - 1) // known - first * B // known + 1
        if self.sampling == "one pass":
            lap, place, _ = self._in_passes(torch.arange(first, first + steps, device=sizes.device), sizes)
            known_lap, _, counts = self._in_passes(torch.arange(first, first + steps), torch.from_numpy(known))
            counting = counts.numpy()
            drawn = (known_lap[:, -1, -1] - known_lap[:, 0, 0] + 1).numpy()
        begin, laps = lap[:, 0, 0], lap[:, -1, -1] - lap[:, 0, 0] + 1
        pair = torch.arange(len(pairs), device=sizes.device).repeat_interleave(laps, output_size=int(drawn.sum()))
        before = laps.cumsum(0) - laps
        number = begin[pair] + torch.arange(len(pair), device=sizes.device) - before[pair]
        seed, *others = _before_step(pairs)
        of_pair = (each.flatten()[pair] if is_tensor(each) else each for each in others)
        bits = words(seed, Axis.BATCH, *of_pair, number)
        shuffled, offsets = _orders(bits, sizes[pair], int((known * drawn).sum()))
        segment = before[:, None, None] + lap - begin[:, None, None]
        own = shuffled[offsets[segment] + place]
        return own, counting

    def _in_passes(self, step: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The pass of each point of a batch, its place there, and whether it counts, (P, K, B): not after the last
        pass, nor after a pass's last point."""
        B, sizes, slot = self.batch_size, sizes[:, None, None], torch.arange(self.batch_size, device=sizes.device)
        each = sizes // B if self.drop_last else (sizes + B - 1) // B
        step = step.view(1, -1, 1)
        place = step % each * B + slot
        lap = (step // each).expand(place.shape)
        return lap.clamp(max=self.epochs - 1), place % sizes, (place < sizes) & (lap < self.epochs)


def _before_step(pairs: Pairs) -> tuple[int, Tensor, Tensor, int | Tensor]:
    """Seed, replica, client and round, as they broadcast with steps; of several rounds each pair has its own."""
    round = pairs.round[:, None] if is_tensor(pairs.round) else pairs.round
    return pairs.seed, pairs.replica_id[:, None], pairs.client[:, None], round


def _orders(bits: Tensor, sizes: Tensor, total: int) -> tuple[Tensor, Tensor]:
    """A random order of 0 to sizes[s] - 1 for every s, in a row of ``total`` numbers, and where each begins."""
    offsets = sizes.cumsum(0) - sizes
    of = torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes, output_size=total)
    place = torch.arange(len(of), device=sizes.device) - offsets[of]
    by_draw = torch.argsort(refined(bits[of], place), stable=True)
    order = by_draw[torch.argsort(of[by_draw], stable=True)]
    return place[order], offsets
