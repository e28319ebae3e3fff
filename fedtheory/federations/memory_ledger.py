"""Peak memory of a computation: its tensors' bytes, counted while it runs once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Ledger(TorchDispatchMode):
    """Ledger of the bytes of the tensors that are made while it is on, and that are still there.

    Attributes:
        now, peak: bytes of storages, each counted once however many tensors view it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: dict[int, tuple[int, weakref.ref]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: torch would import its compiler, which takes seconds, to keep it off from what is not compiled here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for tensor in _tensors((*args, *kwargs.values()) if kwargs else args):
            self.enter(tensor, counted=False)
        made = func(*args, **(kwargs or {}))
        for tensor in _tensors((made,)):
            self.enter(tensor, counted=True)
        return made

    def enter(self, tensor: Tensor, counted: bool) -> None:
        """Take note of a tensor's storage; what was there before the ledger was opened does not count."""
        storage = tensor.untyped_storage()
        number = storage._cdata
        if number in self._known:
            return
        size = storage.nbytes() if counted else 0
        self._known[number] = size, weakref.ref(storage, lambda _: self._leave(number))
        self.now += size
        self.peak = max(self.peak, self.now)

    def _leave(self, number: int) -> None:
        self.now -= self._known.pop(number)[0]


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    """Yield the tensors among the arguments or results of an operation of torch: numbers, tensors, lists of them."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def peak_bytes(compute: Callable[[], Any]) -> int:
    """Measure the most bytes of tensors that are there at once while ``compute`` runs, those of its result included.

    Memory that a library's own kernels take besides is not seen.

    >>> import torch
    >>> peak_bytes(lambda: (torch.ones(1000) + 1).sum())
    8000
    """
    with Ledger() as ledger:
        compute()
    return ledger.peak
