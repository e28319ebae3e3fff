"""How much memory a computation takes at most: its tensors' bytes, counted while it runs once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Ledger(TorchDispatchMode):
    """Counts the bytes of the tensors that are made while it is on, and that are still there.

    Attributes:
        now, peak: bytes of storages, each counted once however many tensors view it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: dict[int, int] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: torch would import its compiler, which takes seconds, to keep it off from what is not compiled here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for value in tree_leaves((args, kwargs)):
            self._enter(value, counted=False)
        made = func(*args, **(kwargs or {}))
        for value in tree_leaves(made):
            self._enter(value, counted=True)
        return made

    def _enter(self, value: Any, counted: bool) -> None:
        """Take note of a tensor's storage; what was there before the ledger was opened does not count."""
        if not isinstance(value, Tensor):
            return
        storage = value.untyped_storage()
        if storage._cdata in self._known:
            return
        size = storage.nbytes() if counted else 0
        self._known[storage._cdata] = size
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._leave, storage._cdata)

    def _leave(self, number: int) -> None:
        self.now -= self._known.pop(number, 0)


def peak_bytes(compute: Callable[[], Any]) -> int:
    """The most bytes of tensors that are there at once while ``compute`` runs, those of its result included. What a
    library's own kernels take besides is not seen.

    >>> import torch
    >>> peak_bytes(lambda: (torch.ones(1000) + 1).sum())
    8000
    """
    with Ledger() as ledger:
        compute()
    return ledger.peak
