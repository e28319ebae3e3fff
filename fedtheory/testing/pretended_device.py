"""Simulated CUDA device: tensors report that they are on cuda:0, and are computed on the CPU.

It lets code for a GPU be tested where there is none. As on CUDA, an operation on tensors of two devices is refused,
except that a CPU scalar may be combined with anything. So is ``numpy()`` of a tensor on the device. The device counts
what costs time on a GPU: operations (kernel launches), copies between the devices, and synchronisations, in which the
processor waits for the device. Its memory has the size that is asked for, and a tensor that does not fit is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

from ..federations.memory_ledger import Ledger

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
aten = torch.ops.aten
_VALUES = {aten._local_scalar_dense.default, aten.equal.default, aten.is_nonzero.default}
"""Operations whose result is a Python number."""
_SIZES = {
    aten.nonzero.default, aten.masked_select.default, aten._unique2.default, aten.unique_dim.default,
    aten.unique_consecutive.default, aten.bincount.default,
}  # fmt: skip
"""Operations whose result has a size that depends on values, so that the processor has to wait for them."""


@dataclass
class Counts:
    """Counters of the work that was asked of the device.

    Attributes:
        operations: kernels launched, by the name of their operation. Views launch nothing.
        synchronisations: waits for the device, by the operation that waits.
        copies: copies between the devices, by their direction.
    """

    operations: Counter[str] = field(default_factory=Counter)
    synchronisations: Counter[str] = field(default_factory=Counter)
    copies: Counter[str] = field(default_factory=Counter)

    def clear(self) -> None:
        """Reset all counters to zero."""
        for each in (self.operations, self.synchronisations, self.copies):
            each.clear()

    def totals(self) -> tuple[int, int, int]:
        """Return the numbers of operations, synchronisations and copies."""
        return tuple(sum(each.values()) for each in (self.operations, self.synchronisations, self.copies))  # type: ignore[return-value]


class _Tensor(Tensor):
    """Tensor that reports being on cuda:0; its data are on the CPU."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> _Tensor:
        made = Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype, device=CPU
        )
        made.held = held
        _PRESENT[-1].allocate(held)
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    device = property(lambda self: CUDA)  # type: ignore[assignment]
    is_cuda = property(lambda self: True)  # type: ignore[assignment]
    is_cpu = property(lambda self: False)  # type: ignore[assignment]

    def __repr__(self) -> str:  # type: ignore[override]
        return f"cuda:0, {self.held!r}"

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy it first")

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def __array__(self, *args: object) -> Any:
        return self.numpy()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        return _PRESENT[-1].dispatch(func, args, kwargs or {})


_PRESENT: list[_Device] = []


class _Device(TorchFunctionMode):
    """Mode that creates tensors on the device where Python asks for it, and counts."""

    def __init__(self, memory: int) -> None:
        super().__init__()
        self.counts, self.held, self.memory, self.allowed = Counts(), Ledger(), memory, memory

    def allocate(self, x: Tensor) -> None:
        """Account for the memory of ``x``, once however many views it has."""
        self.held.enter(x, counted=True)
        if self.held.now > self.allowed:
            raise torch.OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {x.nbytes} bytes. GPU 0 has {self.allowed} bytes in all."
            )

    def allow(self, fraction: float, which: object = None) -> None:
        self.allowed = int(fraction * self.memory)

    def forget_peak(self, which: object = None) -> None:
        self.held.peak = self.held.now

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (Tensor.to, Tensor.cpu, Tensor.cuda):
            return self._moved(func, args, kwargs)
        asked = kwargs.get("device")
        if asked is None or torch.device(asked).type != "cuda":
            return func(*args, **kwargs)
        like = any(isinstance(each, _Tensor) for each in tree_flatten((args, kwargs))[0])
        made = func(*args, **{**kwargs, "device": None if like else CPU})
        if isinstance(made, _Tensor):
            return made
        copied = func in (torch.tensor, torch.as_tensor, torch.asarray)
        (self.counts.copies if copied else self.counts.operations)["to the device" if copied else func.__name__] += 1
        return _Tensor(made)

    def _moved(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Tensor:
        """Return the tensor on the requested device and in the requested precision."""
        x, *rest = args
        if func is not Tensor.to:
            device, rest, dtype = (CPU if func is Tensor.cpu else CUDA), [], None
        else:
            named = [*rest, *kwargs.values()]
            others = [each for each in named if isinstance(each, Tensor)]
            places = [each for each in named if isinstance(each, str | torch.device)]
            dtypes = [each for each in named if isinstance(each, torch.dtype)]
            device = others[0].device if others else torch.device(places[0]) if places else x.device
            dtype = others[0].dtype if others else dtypes[0] if dtypes else None
        device = CUDA if device.type == "cuda" else CPU
        if dtype is not None and dtype != x.dtype:
            with torch._C.DisableTorchFunction():
                x = x.to(dtype)
        if device == x.device:
            return x
        if device == CUDA:
            return _Moved.apply(x, self, True) if x.requires_grad else self.put(x)
        return _Moved.apply(x, self, False) if x.requires_grad else self.fetched(x)

    def put(self, x: Tensor) -> Tensor:
        """Return a copy on the device."""
        self.counts.copies["to the device"] += 1
        return _Tensor(x.detach().clone())

    def fetched(self, x: Tensor) -> Tensor:
        """Return a copy on the CPU, which waits for the device."""
        self.counts.copies["from the device"] += 1
        self.counts.synchronisations["copy"] += 1
        return _held(x.detach()).clone()

    def dispatch(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run one operation, some of whose tensors are on the device."""
        flat, _ = tree_flatten((args, kwargs))
        tensors = [each for each in flat if isinstance(each, Tensor)]
        name = func.overloadpacket.__name__
        if func is aten.copy_.default and tensors[0].device != tensors[1].device:
            return self._copied(*tensors)
        strangers = [each for each in tensors if not isinstance(each, _Tensor) and each.dim()]
        indexing = name in ("index", "index_put", "index_put_", "_unsafe_index", "_unsafe_index_put")
        if indexing and isinstance(args[0], _Tensor):  # CUDA takes indices from the CPU, and copies them
            self.counts.copies["to the device"] += len(strangers)
            strangers = [each for each in strangers if each.dtype not in (torch.int64, torch.bool, torch.int32)]
        if strangers:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
                f"({name})"
            )
        masks = indexing and any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1])
        sized = func is aten.repeat_interleave.Tensor and kwargs.get("output_size") is None
        if func in _VALUES or func in _SIZES or masks or sized:
            self.counts.synchronisations[name] += 1
        asked = kwargs.get("device")
        kwargs = {**kwargs, **({"device": CPU} if asked is not None else {})}
        inner_args, inner_kwargs = tree_map(_held, (args, kwargs))
        made = func(*inner_args, **inner_kwargs)
        if not func.is_view and func not in _VALUES:
            self.counts.operations[name] += 1
        return _wrapped(func, args, made)

    def _copied(self, into: Tensor, source: Tensor) -> Tensor:
        way = "to the device" if isinstance(into, _Tensor) else "from the device"
        self.counts.copies[way] += 1
        if way == "from the device":
            self.counts.synchronisations["copy"] += 1
        _held(into).copy_(_held(source))
        return into


class _Moved(torch.autograd.Function):
    """Copy between the devices that lets gradients through."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, device: _Device, there: bool) -> Tensor:
        ctx.device, ctx.there = device, there
        return device.put(x) if there else device.fetched(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        return (ctx.device.fetched(gradient) if ctx.there else ctx.device.put(gradient)), None, None


def _held(x: Any) -> Any:
    return x.held if isinstance(x, _Tensor) else x


def _wrapped(func: Any, args: Any, made: Any) -> Any:
    """Wrap the result as on the device; a tensor that was changed in place is returned itself."""
    if func._schema.is_mutable and isinstance(made, Tensor) and isinstance(args[0], _Tensor) and made is args[0].held:
        return args[0]
    return tree_map(lambda x: _Tensor(x) if isinstance(x, Tensor) else x, made)


@contextmanager
def pretended_device(memory: int = 8 * 2**30) -> Iterator[Counts]:
    """Simulate one CUDA device, cuda:0, with ``memory`` bytes, as long as the context lasts.

    Returns:
        Counters of the work, which grow as it is asked for.

    >>> with pretended_device() as counts:
    ...     x = torch.arange(3.0, device="cuda")
    ...     print(x.device, (x * x).sum().item(), sum(counts.operations.values()), dict(counts.synchronisations))
    cuda:0 5.0 3 {'_local_scalar_dense': 1}
    """
    device = _Device(memory)
    _PRESENT.append(device)
    there: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "get_device_name": lambda which=None: "pretended",
        "mem_get_info": lambda which=None: (device.allowed - device.held.now, memory),
        "synchronize": lambda which=None: None,
        "current_device": lambda: 0,
        "reset_peak_memory_stats": device.forget_peak,
        "memory_allocated": lambda which=None: device.held.now,
        "max_memory_allocated": lambda which=None: device.held.peak,
        "empty_cache": lambda: None,
        "set_per_process_memory_fraction": device.allow,
    }
    overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # parameters change their type when they move
    try:
        with patch.multiple(torch.cuda, **there), device:
            yield device.counts
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(overwrites)
        _PRESENT.pop()
