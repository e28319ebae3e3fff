"""Counter-based random draws. A draw is a function of its purpose, never of the other draws in its batch.

Every number used by a simulation is a hash of ``(seed, axis, replica, client, round, step)``. So a replica's draws are
the same whether it runs alone or among a thousand, on one chunk plan or another, before or after a restart, and on
every device. The hash is integer arithmetic modulo 2^64 (the finalizer of Steele, Lea & Flood, "Fast splittable
pseudorandom number generators", 2014). In main memory it is computed by compiled loops (`loops.draws.py`), elsewhere by
torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .extras import is_tensor, torch
from .rationals import checked_seed

if TYPE_CHECKING:
    from torch import Tensor

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as a signed 64-bit integer
_MULTIPLIER_1 = -4658895280553007687  # 0xBF58476D1CE4E5B9
_MULTIPLIER_2 = -7723592293110705685  # 0x94D049BB133111EB


class Axis(IntEnum):
    """Purpose of a draw; draws on different axes are independent streams."""

    SNAPSHOT = 1
    COHORT = 2
    ARBITRARY = 3
    GRADIENT_NOISE = 4
    SELECTION = 5
    BATCH = 6
    DROPOUT = 7
    AUGMENTATION = 8
    INITIAL = 9
    STEP = 10


@dataclass(frozen=True)
class Seeds:
    """Seeds of several runs whose replicas are one batch: replica n is replica n mod R of run number n // R.

    Attributes:
        seeds: of the runs, in order.
        replicas: R >= 1, of each run.
    """

    seeds: tuple[int, ...]
    replicas: int = 1

    def __post_init__(self) -> None:
        for seed in self.seeds:
            checked_seed(seed, -(2**63))

    def of(self, replica: Any) -> tuple[Any, Any]:
        """Return the seed and the own number of each of these replicas, tensors or arrays.

        >>> Seeds((5, 9), 2).of(np.arange(4))
        (array([5, 5, 9, 9]), array([0, 1, 0, 1]))
        """
        if is_tensor(replica):
            known: Any = torch.tensor(self.seeds, device=replica.device)
        else:
            known = np.array(self.seeds, dtype=np.int64)
        return known[replica // self.replicas], replica % self.replicas


def _shift_right(x: Tensor, bits: int) -> Tensor:
    """Logical right shift of int64 (torch's ``>>`` keeps the sign)."""
    return (x >> bits).bitwise_and_((1 << (64 - bits)) - 1)


def in_memory(x: Tensor) -> bool:
    """Whether compiled loops can reach these numbers."""
    return x.device.type == "cpu"


def _mix(x: Tensor) -> Tensor:
    x = _shift_right(x, 30).bitwise_xor_(x).mul_(_MULTIPLIER_1)
    x = _shift_right(x, 27).bitwise_xor_(x).mul_(_MULTIPLIER_2)
    return _shift_right(x, 31).bitwise_xor_(x)


def _mixed(number: int) -> int:
    """``_mix`` of a number, from -2^63 to 2^63 - 1 or modulo 2^64."""
    x = number % 2**64
    x = (x ^ (x >> 30)) * (_MULTIPLIER_1 % 2**64) % 2**64
    x = (x ^ (x >> 27)) * (_MULTIPLIER_2 % 2**64) % 2**64
    x ^= x >> 31
    return x - 2**64 if x >= 2**63 else x


def _mixed_all(x: np.ndarray) -> np.ndarray:
    """``_mix`` of uint64 numbers, without a compiled loop."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_MULTIPLIER_1 % 2**64)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_MULTIPLIER_2 % 2**64)
    return x ^ (x >> np.uint64(31))


def _absorbed_by_numpy(state: np.ndarray | int, coordinate: np.ndarray | int) -> np.ndarray:
    before, more = (np.atleast_1d(np.asarray(each, np.int64)).view(np.uint64) for each in (state, coordinate))
    golden = np.uint64(_GOLDEN % 2**64)
    return _mixed_all((before ^ _mixed_all(more + golden)) + golden).view(np.int64)


def _absorbed(state: Any, coordinate: Any) -> Any:
    """The state of the hash after one more coordinate."""
    if isinstance(state, np.ndarray) or isinstance(coordinate, np.ndarray):
        return _absorbed_by_numpy(state, coordinate)
    if is_tensor(coordinate):
        if in_memory(coordinate):
            return _absorbed_in_memory(state, finalized(coordinate))
        return _mix((_mix(coordinate.to(torch.int64) + _GOLDEN) ^ state).add_(_GOLDEN))
    mixed = _mixed(int(coordinate) + _GOLDEN)
    if isinstance(state, int):
        return _mixed((state ^ mixed) + _GOLDEN)
    if in_memory(state):
        return _absorbed_in_memory(state, np.uint64(mixed % 2**64))
    return _mix((state ^ mixed).add_(_GOLDEN))


def finalized(coordinate: Tensor) -> np.ndarray:
    """Return the finalizer of a coordinate in main memory, uint64, which the hash absorbs."""
    from .loops.draws import mix_all

    mixed = coordinate.numpy().astype(np.int64, order="C").view(np.uint64)
    mix_all(mixed.reshape(-1))
    return mixed


def _absorbed_in_memory(state: Tensor | int, mixed: np.ndarray | np.uint64) -> Tensor:
    from .loops.draws import mix_all

    known = np.uint64(state % 2**64) if isinstance(state, int) else state.numpy().view(np.uint64)
    found = np.asarray(np.bitwise_xor(known, mixed, order="C"))
    mix_all(found.reshape(-1))
    return torch.from_numpy(found.view(np.int64))


def words(seed: int | Seeds, axis: Axis, *coordinates: Any) -> Any:
    """Draw 64 random bits (int64) for each entry of the broadcast ``coordinates``: tensors, or arrays of numpy, which
    give an array.

    With seeds of several runs the first coordinate is the replica, and each has the bits of its own run.

    Raises:
        ValueError: the seed is no integer of 64 bits.

    >>> a = words(0, Axis.COHORT, torch.arange(3), 7)
    >>> bool((a[2:] == words(0, Axis.COHORT, torch.tensor([2]), 7)).all())
    True
    """
    first: Any = seed
    if isinstance(seed, Seeds):
        first, own = seed.of(coordinates[0])
        coordinates = own, *coordinates[1:]
    else:
        checked_seed(seed, -(2**63))
    device = next((c.device for c in coordinates if is_tensor(c)), None)
    state: Any = 0
    for coordinate in (first, int(axis), *coordinates):
        state = _absorbed(state, coordinate.to(device) if is_tensor(coordinate) else coordinate)
    return torch.tensor(state, device=device) if isinstance(state, int) else state


def refined(words: Tensor, *coordinates: Tensor | int) -> Tensor:
    """Draw 64 other bits for each of ``words`` and each entry of the ``coordinates``, which broadcast with them.

    >>> a = words(0, Axis.DROPOUT, torch.arange(2))
    >>> bool((refined(a, 5)[1] == refined(a[1], 5)).all()), bool((refined(a, 5) == refined(a, 6)).any())
    (True, False)
    """
    for coordinate in coordinates:
        words = cast("Tensor", _absorbed(words, coordinate))
    return words


def sixteenths(words: Tensor, dimension: int) -> Tensor:
    """Draw uniform int16 numbers, shape ``words.shape + (dimension,)``; four of them from each derived word.

    >>> sixteenths(torch.tensor([3]), 5).shape
    torch.Size([1, 5])
    """
    return _derived(words, -(-dimension // 4)).view(torch.int16)[..., :dimension]


def uniforms(words: Any) -> Any:
    """Draw uniform float64 numbers in the open interval (0, 1), of 52 bits and a half: symmetric about 1/2.

    >>> float(uniforms(torch.tensor([0])))  # the smallest one
    1.1102230246251565e-16
    """
    if isinstance(words, np.ndarray):
        return ((words.view(np.uint64) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return (_shift_right(words, 12).to(torch.float64) + 0.5) * 2.0**-52


def exponentials(words: Tensor) -> Tensor:
    """Draw standard exponential float64 numbers, positive and finite."""
    return -torch.log(uniforms(words))


def signs(words: Tensor, dimension: int) -> Tensor:
    """Draw fair signs +-1, shape ``words.shape + (dimension,)``, int8; 64 of them from each derived word."""
    derived = _derived(words, -(-dimension // 64))
    bits = (derived[..., None] >> torch.arange(64, device=words.device)) & 1
    return (2 * bits - 1).to(torch.int8).flatten(-2)[..., :dimension]


def rare(words: Tensor, dimension: int, probability: float) -> Tensor:
    """Draw events of this probability, at most 1/2, shape ``words.shape + (dimension,)``, bool. They happen where the
    ``signs`` are +1 and ``ranks`` are low enough, so that a rarer event happens only where a less rare one does.

    >>> draws = torch.arange(100_000)
    >>> half, tenth = rare(draws, 1, 0.5), rare(draws, 1, 0.1)
    >>> float(half.double().mean()), float(tenth.double().mean()), bool((tenth <= half).all())
    (0.49899, 0.09995, True)
    """
    return ranks(words, dimension) < 2 * probability


def ranks(words: Tensor, dimension: int) -> Tensor:
    """Draw uniform float64 numbers in (0, 2), below 1 where ``signs`` are +1, shape ``words.shape + (dimension,)``."""
    coordinates = torch.arange(dimension, device=words.device)
    return uniforms(refined(words[..., None], coordinates)) + (signs(words, dimension) < 0)


def scaled_signs(words: Tensor, dimension: int, scale: float, dtype: torch.dtype) -> Tensor:
    """Draw ``scale`` times ``signs``, in one of torch's floating types, bits taken eight at a time from a table.

    >>> scaled_signs(torch.tensor([3]), 4, 0.5, torch.float32).tolist() == (signs(torch.tensor([3]), 4) / 2).tolist()
    True
    """
    if in_memory(words) and str(dtype) in _BITS:
        return _scaled_signs_in_memory(words, dimension, scale, dtype)
    derived = _derived(words, -(-dimension // 64))
    places = derived.view(torch.uint8)[..., : -(-dimension // 8)].int()
    signs = torch.nn.functional.embedding(places, _signs_of_bytes(scale, dtype, words.device))
    return signs.flatten(-2)[..., :dimension]


_BITS: dict[str, tuple[Any, Any]] = {
    "torch.float32": (np.float32, np.uint32),
    "torch.float64": (np.float64, np.uint64),
}
"""Types of numpy, floats and words of bits, by the name of torch's type."""


def _scaled_signs_in_memory(words: Tensor, dimension: int, scale: float, dtype: torch.dtype) -> Tensor:
    from .loops.draws import signs_double, signs_single

    kind, bits = _BITS[str(dtype)]
    result = torch.empty(*words.shape, dimension, dtype=dtype)
    loop = signs_single if dtype == torch.float32 else signs_double
    loop(_keys(words), kind(scale).view(bits), result.numpy().view(bits).reshape(-1, dimension))
    return result


@lru_cache(maxsize=16)
def _signs_of_bytes(scale: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``scale`` with the signs that the bits of 0, ..., 255 give, lowest first, (256, 8)."""
    bits = torch.arange(256, device=device)[:, None] >> torch.arange(8, device=device) & 1
    return ((2 * bits - 1).to(torch.float64) * scale).to(dtype)


def normals(words: Tensor, dimension: int, dtype: torch.dtype | None = None, scale: float = 1.0) -> Tensor:
    """Draw normal numbers of mean 0 and standard deviation ``scale``, shape ``words.shape + (dimension,)``: by Box and
    Muller, sqrt(-2 log u) (cos, sin)(t).

    In float64 u and t take a derived word of 64 bits each; in float32 they share one, u on a grid of 2^-31 and t of
    2^-32, so that no number is beyond 6.67 and means and variances are those of a normal law to 1e-7. The two
    precisions draw different numbers. The default is float64.

    >>> normals(torch.tensor([3]), 5, torch.float32).shape
    torch.Size([1, 5])
    """
    dtype = dtype or torch.float64
    if in_memory(words) and str(dtype) in _BITS:
        return _normals_in_memory(words, dimension, dtype, scale)
    half = -(-dimension // 2)
    radius, angle = _halves(words, half) if dtype == torch.float32 else _wholes(words, half)
    radius.log_().mul_(-2.0).sqrt_()
    found = torch.cat([radius * torch.cos(angle), angle.sin_().mul_(radius)], dim=-1)[..., :dimension].to(dtype)
    return found if scale == 1 else found.mul_(scale)


def _normals_in_memory(words: Tensor, dimension: int, dtype: torch.dtype, scale: float) -> Tensor:
    from .loops.draws import normals

    result = torch.empty(*words.shape, dimension, dtype=dtype)
    normals(_keys(words), scale, result.numpy().reshape(-1, dimension))
    return result


def _wholes(words: Tensor, half: int) -> tuple[Tensor, Tensor]:
    """Uniform numbers in (0, 1), and angles, float64."""
    uniform = uniforms(_derived(words, 2 * half))
    return uniform[..., :half].contiguous(), 2.0 * torch.pi * uniform[..., half:]


def _halves(words: Tensor, half: int) -> tuple[Tensor, Tensor]:
    """Uniform numbers in (0, 1], and angles, float32, of 32 bits each."""
    bits = _derived(words, half).view(torch.int32)
    uniform = (bits[..., :half] & 0x7FFFFFFF).to(torch.float32).mul_(2.0**-31).add_(2.0**-32)
    return uniform, bits[..., half:].to(torch.float32).mul_(torch.pi * 2.0**-31)


def _derived(words: Tensor, count: int) -> Tensor:
    """``count`` words of each of the ``words``, shape ``words.shape + (count,)``."""
    if not in_memory(words):
        return _mix(words[..., None] + torch.arange(1, count + 1, device=words.device) * _GOLDEN)
    from .loops.draws import derive

    result = torch.empty(*words.shape, count, dtype=torch.int64)
    derive(_keys(words), result.numpy().view(np.uint64).reshape(-1, count))
    return result


def _keys(words: Tensor) -> np.ndarray:
    """Words in main memory one after the other, uint64."""
    return words.numpy().reshape(-1).view(np.uint64)
