"""Who takes part in some rounds, listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..extras import torch

if TYPE_CHECKING:
    from torch import Tensor


def listed(mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, np.ndarray]:
    """Where ``mask`` (rounds, replicas, clients) is true: the rounds, the clients and the replicas, sorted by them; how
    many places clients before each have in each round, (rounds, clients + 1); and how many each client has, (rounds,
    clients), in main memory. A device is waited for once, until the mask is there."""
    from ..loops.participant_lists import list_pairs

    known = mask.cpu().contiguous().numpy()
    found = torch.empty(3, int(np.count_nonzero(known)), dtype=torch.int64)
    offsets = torch.zeros(len(known), known.shape[2] + 1, dtype=torch.int64)
    round, client, replica = found.unbind()
    list_pairs(known, round.numpy(), client.numpy(), replica.numpy(), offsets.numpy())
    round, client, replica = found.to(mask.device).unbind()
    return round, client, replica, offsets.to(mask.device), np.diff(offsets.numpy())


def places(counts: Tensor) -> Tensor:
    """Where ``counts`` in main memory, contiguous, are above 0, flat.

    >>> places(torch.tensor([[0, 1], [2, 0]], dtype=torch.int8))
    tensor([1, 2])
    """
    from ..loops.participant_lists import find_places

    found = torch.empty(counts.numel(), dtype=torch.int64)
    return found[: find_places(counts.numpy().reshape(-1), found.numpy())]
