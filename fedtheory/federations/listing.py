"""Who takes part in some rounds, listed."""

from __future__ import annotations

import torch
from torch import Tensor

from ..randomness import in_memory


def listed(mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Where ``mask`` (rounds, replicas, clients) is true: the rounds, the clients and the replicas, sorted by them, and
    how many places clients before each have in each round, (rounds, clients + 1)."""
    offsets = torch.zeros(len(mask), mask.shape[2] + 1, dtype=torch.int64, device=mask.device)
    if in_memory(mask):
        from .compiled_listing import list_pairs

        found = torch.empty(3, int(mask.count_nonzero()), dtype=torch.int64)
        round, client, replica = found.unbind()
        list_pairs(mask.contiguous().numpy(), round.numpy(), client.numpy(), replica.numpy(), offsets.numpy())
        return round, client, replica, offsets
    round, client, replica = mask.transpose(1, 2).nonzero().unbind(1)
    torch.cumsum(mask.sum(1), 1, out=offsets[:, 1:])
    return round, client.contiguous(), replica.contiguous(), offsets


def places(counts: Tensor) -> Tensor:
    """Where ``counts`` in main memory, contiguous, are above 0, flat.

    >>> places(torch.tensor([[0, 1], [2, 0]], dtype=torch.int8))
    tensor([1, 2])
    """
    from .compiled_listing import find_places

    found = torch.empty(counts.numel(), dtype=torch.int64)
    return found[: find_places(counts.numpy().reshape(-1), found.numpy())]
