"""Lists of the clients that take part in some rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..extras import torch

if TYPE_CHECKING:
    from torch import Tensor


def listed(mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, np.ndarray]:
    """List the places where ``mask`` (rounds, replicas, clients) is true.

    A device is waited for once, until the mask is there.

    Returns:
        the rounds, the clients and the replicas, sorted in this order; how many places clients before each have in each
        round, (rounds, clients + 1); and how many each client has, (rounds, clients), in main memory.
    """
    from ..loops.participant_lists import list_pairs

    known = mask.cpu().contiguous().numpy()
    found = torch.empty(3, int(np.count_nonzero(known)), dtype=torch.int64)
    offsets = torch.zeros(len(known), known.shape[2] + 1, dtype=torch.int64)
    round, client, replica = found.unbind()
    list_pairs(known, round.numpy(), client.numpy(), replica.numpy(), offsets.numpy())
    round, client, replica = found.to(mask.device).unbind()
    return round, client, replica, offsets.to(mask.device), np.diff(offsets.numpy())


def places(counts: Tensor) -> Tensor:
    """Return the flat indices at which ``counts``, contiguous in main memory, are above 0.

    >>> places(torch.tensor([[0, 1], [2, 0]], dtype=torch.int8))
    tensor([1, 2])
    """
    from ..loops.participant_lists import find_places

    found = torch.empty(counts.numel(), dtype=torch.int64)
    return found[: find_places(counts.numpy().reshape(-1), found.numpy())]
