"""Devices and floating-point precisions of computations."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ..extras import is_tensor, torch

if TYPE_CHECKING:
    from torch import Tensor


class Placeable(Protocol):
    """Protocol of objects whose tensors can be put on a device, in a precision."""

    def _place(self, device: torch.device, dtype: torch.dtype) -> None:
        """Put its tensors there."""


P = TypeVar("P", bound=Placeable)
S = TypeVar("S")

DTYPES = ("float32", "float64")
"""Names of torch's types in which federations compute."""


def find_device(device: str | torch.device = "auto") -> torch.device:
    """Return the device of this name: "auto" is CUDA where there is one, else the CPU.

    Raises:
        ValueError: there is no such device here; what there is is named.

    >>> find_device("cpu")
    device(type='cpu')
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    there = ["cpu", *(["cuda"] if count else []), *(f"cuda:{i}" for i in range(count))]
    if device == "auto":
        return torch.device(there[min(1, count)])
    if str(device) not in there:
        lacks = " (torch finds no CUDA device)" if str(device).startswith("cuda") and not count else ""
        raise ValueError(f"device = {str(device)!r}{lacks}: allowed here is one of auto, {', '.join(there)}")
    return torch.device(device)


def device_name(device: torch.device) -> str:
    """Name the device for a run's record.

    >>> device_name(torch.device("cpu"))
    'cpu'
    """
    return "cpu" if device.type == "cpu" else f"{device.type}: {torch.cuda.get_device_name(device)}"


@contextmanager
def same_bits(device: torch.device) -> Iterator[None]:
    """A context in which what is computed on a CUDA device has the precision that it is asked for, and the same bits
    again in another run: without TensorFloat-32, by torch's deterministic algorithms, where there are some (torch warns
    of others), and by those of cuDNN, not chosen by a clock. On a CPU nothing changes.
    """
    if device.type != "cuda":
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the first product is made
    before = [getattr(place, name) for place, name, _ in _exact()]
    always, warned = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        for place, name, value in _exact():
            setattr(place, name, value)
        torch.use_deterministic_algorithms(True, warn_only=warned or not always)
        yield
    finally:
        for (place, name, _), value in zip(_exact(), before, strict=True):
            setattr(place, name, value)
        torch.use_deterministic_algorithms(always, warn_only=warned)


def _exact() -> list[tuple[Any, str, object]]:
    """Of torch's settings for CUDA: where, which, and what leaves nothing to chance."""
    cudnn, products = torch.backends.cudnn, torch.backends.cuda.matmul
    if hasattr(cudnn, "conv"):  # since torch 2.9, which refuses to mix these with those before
        whole: list[tuple[Any, str, object]] = [
            (place, "fp32_precision", "ieee") for place in (cudnn.conv, cudnn.rnn, products)
        ]
    else:
        whole = [(cudnn, "allow_tf32", False), (products, "allow_tf32", False)]
    kept = (torch.utils.deterministic, "fill_uninitialized_memory", False)
    return [*whole, (cudnn, "benchmark", False), (cudnn, "deterministic", True), kept]


def fetched(values: Sequence[Tensor]) -> list[np.ndarray]:
    """Fetch tensors of numbers that float64 has exactly into main memory; a device is waited for once.

    >>> fetched([torch.ones(2), torch.zeros(1, 1)])
    [array([1., 1.], dtype=float32), array([[0.]], dtype=float32)]
    """
    if all(each.device.type == "cpu" for each in values):
        return [each.numpy() for each in values]
    whole = torch.cat([each.reshape(-1).to(torch.float64) for each in values]).cpu()
    parts = whole.split([each.numel() for each in values])
    return [part.view(each.shape).to(each.dtype).numpy() for part, each in zip(parts, values, strict=True)]


def library(values: object) -> Any:
    """Return what computes with values: torch for its tensors, else numpy. What both call alike serves both.

    >>> library(np.ones(2)).sqrt(np.array([4.0])).tolist()
    [2.0]
    """
    return torch if is_tensor(values) else np


def kept_there(make: Callable[[S], np.ndarray]) -> Callable[[S, Any], Any]:
    """Make a method that returns an array one that returns it as a tensor on a device, made and copied there once; on
    the device of an array of numpy, which is a word, as it is.

    >>> class Two:
    ...     @kept_there
    ...     def numbers(self) -> np.ndarray:
    ...         return np.ones(2)
    >>> two = Two()
    >>> two.numbers(torch.device("cpu")) is two.numbers(torch.device("cpu"))
    True
    >>> two.numbers(np.zeros(3).device)
    array([1., 1.])
    """
    name = f"_{make.__name__}_there"

    @functools.wraps(make)
    def there(self: S, device: Any) -> Any:
        copies: dict[Any, Any] = self.__dict__.setdefault(name, {})  # of a frozen object, too
        if device not in copies:
            made = make(self)
            copies[device] = made if isinstance(device, str) else torch.from_numpy(made).to(device)
        return copies[device]

    return there


def find_dtype(dtype: str | torch.dtype | None, default: torch.dtype) -> torch.dtype:
    """The floating-point type called so, by its name or as torch has it; ``None`` is the default.

    Raises:
        ValueError: it is another one than float32 and float64.

    >>> find_dtype("float32", torch.float64)
    torch.float32
    """
    if dtype is None:
        return default
    known = {name: getattr(torch, name) for name in DTYPES}
    found = known.get(dtype) if isinstance(dtype, str) else dtype
    if found is None or found not in known.values():
        raise ValueError(f"dtype = {dtype!r}: allowed is 'float32', 'float64', torch.float32 or torch.float64")
    return found


def placed(federation: P, device: torch.device | str, dtype: torch.dtype | str) -> P:
    """Return a copy with its tensors on that device, in that precision.

    Raises:
        ValueError: there is no such device here, or it is another precision than float32 and float64.
    """
    moved = copy.copy(federation)
    moved._place(find_device(device), find_dtype(dtype, torch.float64))
    return moved
