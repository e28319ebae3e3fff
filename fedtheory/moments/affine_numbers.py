"""Numbers that are affine in a state and in noise, with exact coefficients. Computing with them shows whether a step is
affine.

An array of them has the face of a tensor as far as affine operations go: +, -, * and / by numbers, sum, mean,
indexing, ``torch.where`` by who takes part. Each of these is carried out on the coefficients, so where a computation
succeeds, its result IS the affine form. Any other operation is refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.custom_algorithm import Refused
from ..extras import is_tensor
from .linear_rounds import NotClosed

if TYPE_CHECKING:
    from .cohorts import Split

FOLLOWED = "+, -, * and / by numbers, sum, mean, indexing and torch.where by who takes part"

UNKNOWN = frozenset({
    "matmul", "@", "einsum", "reshape", "view", "flatten", "permute", "transpose", "T", "mT", "cat", "stack", "roll",
    "flip", "cumsum", "diff", "gather", "index_select", "repeat", "tile", "expand", "numpy", "dot", "mm", "mv", "bmm",
    "tensordot", "split", "chunk", "movedim", "swapaxes", "narrow", "lerp", "addcmul", "concat", "concatenate",
})  # fmt: skip
"""Operations of tensors that are not followed, although their results may be affine."""

OUTSIDE, PART = ", with a tensor from outside the round", "assignment to a part"

DRAWING = frozenset({
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "normal_", "uniform_",
    "bernoulli", "bernoulli_", "multinomial", "poisson", "dropout",
})  # fmt: skip
"""Operations of tensors that draw."""

METHODS = ("sum", "mean", "clone", "unsqueeze", "squeeze")
"""Functions of torch that are methods too."""

SMALL = 2**20
"""Largest denominator with which a float is taken for the fraction that it is; another float was rounded."""


class NotLinear(NotClosed, Refused):
    """Error of an operation that does not keep a round affine in the state, or that is not followed; it is named."""

    @classmethod
    def in_(cls, operation: str) -> NotLinear:
        """Return the error that names the operation that is not linear, or not followed."""
        if operation in DRAWING:
            return cls(f"draws by itself at `{operation}`: allowed are draws by round")
        unknown = operation in UNKNOWN or operation == PART or operation.endswith(OUTSIDE)
        said = "not followed" if unknown else "not linear in the state"
        return cls(f"is {said} at `{operation}`: moments do not close; followed are {FOLLOWED}")


class MixedCoordinates(NotLinear):
    """Error of an operation that puts one coordinate in the place of another, where they are kept apart."""


@dataclass
class Space:
    """The numbers that affine forms depend on, and the first operation that was refused.

    The first ``state`` columns stand for the state's entries, the last of which is 1. The columns of the noises follow,
    in the order in which they come.
    """

    state: int
    columns: int
    refused: NotLinear | None = None
    rounding: bool = False
    """Whether forms know the size of what they were computed of, of which floats round: see ``Affine``."""
    crowd: tuple[int, ...] = ()
    """Of a crowd: for how many clients each entry of the clients' axis stands. No other axis has as many entries."""
    coordinates: int = 0
    """D, where a column stands for a vector and coordinate d of a form for combinations of its coordinate d; else 0."""
    mixed: bool = False
    """Whether an operation put one coordinate in the place of another, where columns stand for vectors."""
    divided: tuple[Split, int] | None = None
    """Of a crowd: how a cohort that was drawn divides the entries, which are too few then; and of how many ways."""
    deviations: list[int] = field(default_factory=list)
    """Of a crowd: the columns of how a client's vector differs from the mean of those that its entry stands for. In the
    row of an entry they are those of each of its clients; their sum over the entry is 0."""

    @classmethod
    def of(cls, vectors: int, dimension: int, coordinates: int, rounding: bool, crowd: tuple[int, ...]) -> Space:
        """Return the space of so many vectors, and 1."""
        size = vectors * (1 if coordinates else dimension) + 1
        return cls(size, size, rounding=rounding, crowd=crowd, coordinates=coordinates)

    def constant(self, values: Any) -> Affine:
        """Return numbers that depend on nothing, of the shape of ``values``."""
        exact = np.asarray(values, dtype=object)
        forms = np.full((*exact.shape, self.columns), Fraction(0), dtype=object)
        forms[..., self.state - 1] = exact
        return Affine(self, forms)

    def noise(self, size: int) -> slice:
        """Add ``size`` columns for new noise, and return their place."""
        self.columns += size
        return slice(self.columns - size, self.columns)


class Affine:
    """An array of affine forms; ``forms`` (*shape, columns) has their coefficients.

    Where the space asks for it, ``sizes`` has, in floats, what the coefficients would be if nothing cancelled: the sums
    of absolute values. The same computation in floats is off by roundings of these.
    """

    __slots__ = ("forms", "sizes", "space")
    dtype = "exact"
    __array_priority__ = 1000

    def __init__(self, space: Space, forms: np.ndarray, sizes: np.ndarray | None = None) -> None:
        self.space, self.forms = space, forms
        if space.crowd and forms.shape[:-1].count(len(space.crowd)) > 1:
            raise self._refused("an operation of each client of a crowd with each")
        self.sizes = np.abs(forms).astype(float) if sizes is None and space.rounding else sizes

    def _arranged(self, arrange: Callable[[np.ndarray], np.ndarray]) -> Affine:
        """The forms and their sizes, put otherwise, or added up."""
        return Affine(self.space, arrange(self.forms), None if self.sizes is None else arrange(self.sizes))

    # Its face.

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers, as of a tensor; of a crowd, with all its clients."""
        if not self.space.crowd:
            return self.forms.shape[:-1]
        entries = len(self.space.crowd)
        return tuple(sum(self.space.crowd) if size == entries else size for size in self.forms.shape[:-1])

    @property
    def of_crowd(self) -> bool:
        """Whether an axis is that of a crowd's clients."""
        return len(self.space.crowd) in self.forms.shape[:-1]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.forms.ndim - 1

    def dim(self) -> int:
        """Return the number of axes, as a tensor's method does."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the length of the axis ``dim``."""
        return self.shape if dim is None else self.shape[dim]

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Affine]:
        return (self[i] for i in range(len(self)))

    def _refused(self, operation: str) -> NotLinear:
        """The error; it stays with the space, so that a step that catches it gains nothing."""
        error = NotLinear.in_(operation)
        self.space.refused = self.space.refused or error
        return error

    def _keeps_coordinates(self, kept: bool, operation: str) -> None:
        """Refuse an operation that does not keep the last axis as that of the coordinates, where these stay apart."""
        if not kept and self.space.coordinates and not self.fixed:
            self.space.mixed = True
            raise MixedCoordinates.in_(operation)

    def __repr__(self) -> str:
        return f"Affine of shape {self.shape}"

    def clone(self) -> Affine:
        """Return a copy."""
        return self._arranged(np.copy)

    def __getitem__(self, key: Any) -> Affine:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(each, Affine) or is_tensor(each) for each in keys):
            raise self._refused("indexing by numbers of the round")
        if self.of_crowd and not all(each is None or each is Ellipsis or each == slice(None) for each in keys):
            raise self._refused("indexing one client of a crowd")
        whole = any(each is Ellipsis for each in keys)
        rest, last = () if whole else (Ellipsis,), keys[-1] if keys else Ellipsis
        inside = not whole and sum(each is not None for each in keys) < self.ndim
        self._keeps_coordinates(inside or last is Ellipsis or (isinstance(last, slice) and last == slice(None)), "[]")
        return self._arranged(lambda forms: forms[(*keys, *rest, slice(None))])

    def unsqueeze(self, dim: int) -> Affine:
        """Insert an axis of length 1 before the axis ``dim``."""
        self._keeps_coordinates(dim not in (-1, self.ndim), "unsqueeze")
        return self._arranged(lambda forms: np.expand_dims(forms, dim if dim >= 0 else dim - 1))

    def squeeze(self, dim: int) -> Affine:
        """Remove the axis ``dim``, whose length is 1."""
        self._keeps_coordinates(dim not in (-1, self.ndim - 1), "squeeze")
        return self._arranged(lambda forms: np.squeeze(forms, dim if dim >= 0 else dim - 1))

    def sum(self, dim: Any = None, keepdim: bool = False) -> Affine:
        """Sum over all axes, or over those in ``dim``."""
        self._keeps_coordinates(dim is not None and not {-1, self.ndim - 1} & {*_axes(dim)}, "sum")
        if self.of_crowd:
            return self._sum_of_crowd(dim, keepdim)
        if dim is None:
            return self._arranged(lambda forms: forms.reshape(-1, forms.shape[-1]).sum(0))
        dims = tuple(d if d >= 0 else d - 1 for d in (dim if isinstance(dim, tuple | list) else (dim,)))
        return self._arranged(lambda forms: forms.sum(axis=dims, keepdims=keepdim))

    def _sum_of_crowd(self, dim: Any, keepdim: bool) -> Affine:
        axis, weights = self.forms.shape.index(len(self.space.crowd)), self.space.crowd
        dims = tuple(range(self.ndim)) if dim is None else dim if isinstance(dim, tuple | list) else (dim,)
        dims = tuple(d % self.ndim for d in dims)

        def added(forms: np.ndarray) -> np.ndarray:
            if axis not in dims:
                return forms.sum(axis=dims, keepdims=keepdim)
            shape = [1] * forms.ndim
            shape[axis] = len(weights)
            each = forms * np.array(weights, dtype=object if forms.dtype == object else float).reshape(shape)
            found = each.sum(axis=dims, keepdims=keepdim)
            found[..., [column for column in self.space.deviations if column < found.shape[-1]]] *= 0
            return found

        return self._arranged(added)

    def mean(self, dim: Any = None, keepdim: bool = False) -> Affine:
        """Average over all axes, or over those in ``dim``."""
        total = self.sum(dim, keepdim)
        if self.of_crowd and dim is not None:
            dims = dim if isinstance(dim, tuple | list) else (dim,)
            return total * Fraction(1, int(np.prod([self.shape[d % self.ndim] for d in dims], dtype=int)))
        many = np.prod(self.shape, dtype=int) // max(1, np.prod(total.shape, dtype=int))
        return total * Fraction(1, int(many))

    # Affine operations.

    def __add__(self, other: Any) -> Affine:
        mine, others = self._aligned(self._lifted(other, "+"))
        return self._with_coordinates(Affine(self.space, total(mine.forms, others.forms), _added(mine, others)), "+")

    def __sub__(self, other: Any) -> Affine:
        mine, others = self._aligned(self._lifted(other, "-"))
        return self._with_coordinates(
            Affine(self.space, total(mine.forms, others.forms, -1), _added(mine, others)), "-"
        )

    def _with_coordinates(self, made: Affine, operation: str) -> Affine:
        """A result whose last axis is that of the coordinates, where these stay apart."""
        if self.space.coordinates:
            made._keeps_coordinates(made.ndim > 0 and made.forms.shape[-2] == self.space.coordinates, operation)
        return made

    def __rsub__(self, other: Any) -> Affine:
        return self._lifted(other, "-") - self

    def __neg__(self) -> Affine:
        return Affine(self.space, -self.forms, self.sizes)

    def __pos__(self) -> Affine:
        return self

    def __mul__(self, other: Any) -> Affine:
        factor = self._lifted(other, "*")
        if not factor.fixed:
            if not self.fixed:
                raise self._refused("*, of two numbers that depend on the state or the noise")
            self, factor = factor, self
        times = factor.numbers[..., None]
        sizes = None if self.sizes is None else self.sizes * np.abs(times).astype(float)
        return self._with_coordinates(Affine(self.space, scaled(self.forms, times), sizes), "*")

    def __truediv__(self, other: Any) -> Affine:
        divisor = self._lifted(other, "/")
        if not divisor.fixed:
            raise self._refused("/, by a number that depends on the state or the noise")
        if (divisor.numbers == 0).any():
            raise ValueError("division by 0 in a round that may come: multiply by share, or by somebody")
        inverse = np.array([1 / number for number in divisor.numbers.ravel()], dtype=object)
        return self * self.space.constant(inverse.reshape(divisor.numbers.shape))

    def __rtruediv__(self, other: Any) -> Affine:
        return self._lifted(other, "/") / self

    def __pow__(self, exponent: Any) -> Affine:
        if not (self.fixed and isinstance(exponent, int) and exponent >= 0):
            raise self._refused("**")
        return self.space.constant(self.numbers**exponent)

    __radd__, __rmul__ = __add__, __mul__

    # What is known of numbers that depend on nothing.

    @property
    def fixed(self) -> bool:
        """Whether the numbers depend on neither state nor noise."""
        last = self.space.state - 1
        return not (self.forms[..., :last] != 0).any() and not (self.forms[..., last + 1 :] != 0).any()

    @property
    def numbers(self) -> np.ndarray:
        """The constant parts, (*shape,): the values, if they depend on neither the state nor the noise."""
        return self.forms[..., self.space.state - 1]

    def _compared(self, other: Any, how: str, compare: Callable[[Any, Any], Any]) -> Affine:
        right = self._lifted(other, how)
        if not (self.fixed and right.fixed):
            raise self._refused(how)
        truth = np.asarray(compare(self.numbers, right.numbers), dtype=int)
        return self.space.constant(truth.astype(object) * Fraction(1))

    def __lt__(self, other: Any) -> Affine:
        return self._compared(other, "<", np.less)

    def __le__(self, other: Any) -> Affine:
        return self._compared(other, "<=", np.less_equal)

    def __gt__(self, other: Any) -> Affine:
        return self._compared(other, ">", np.greater)

    def __ge__(self, other: Any) -> Affine:
        return self._compared(other, ">=", np.greater_equal)

    def __eq__(self, other: Any) -> Any:
        return self._compared(other, "==", np.equal)

    def __ne__(self, other: Any) -> Any:
        return self._compared(other, "!=", np.not_equal)

    __hash__ = None  # type: ignore[assignment]

    # Everything else is refused by its name.

    def __bool__(self) -> bool:
        raise self._refused("bool")  # of all replicas at once it means nothing, of fixed numbers either

    def __float__(self) -> float:
        raise self._refused("float")

    def __int__(self) -> int:
        raise self._refused("int")

    def __abs__(self) -> Affine:
        raise self._refused("abs")

    def __matmul__(self, other: Any) -> Affine:
        raise self._refused("@")

    def __rmatmul__(self, other: Any) -> Affine:
        raise self._refused("@")

    def __rpow__(self, other: Any) -> Affine:
        raise self._refused("**")

    def __mod__(self, other: Any) -> Affine:
        raise self._refused("%")

    def __floordiv__(self, other: Any) -> Affine:
        raise self._refused("//")

    def __invert__(self) -> Affine:
        raise self._refused("~")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._refused(PART)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refused(name)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise self._refused("numpy")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        own = {
            "add": "__radd__",
            "subtract": "__rsub__",
            "multiply": "__rmul__",
            "true_divide": "__rtruediv__",
            "divide": "__rtruediv__",
        }.get(ufunc.__name__)
        if own is None or method != "__call__" or isinstance(inputs[0], Affine):
            raise self._refused(ufunc.__name__)
        return getattr(self, own)(inputs[0])

    def __array_function__(self, function: Callable, types: Any, args: Any, kwargs: Any) -> Any:
        raise self._refused(function.__name__)

    @classmethod
    def __torch_function__(cls, function: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [each for arg in args for each in (arg if isinstance(arg, list | tuple) else (arg,))]
        mine = next(each for each in (*given, *(kwargs or {}).values()) if isinstance(each, Affine))
        return mine._function(function.__name__, args, kwargs or {})

    def _function(self, name: str, args: Any, kwargs: Any) -> Any:
        """A function of torch of this name."""
        if name in METHODS and isinstance(args[0], Affine):
            return getattr(args[0], name)(*args[1:], **kwargs)
        if name in ("zeros_like", "ones_like") and len(args) == 1:
            return self * 0 + int(name == "ones_like")
        if name == "where" and len(args) == 3 and isinstance(args[0], Affine):
            condition, chosen, other = args
            if not condition.fixed:
                raise self._refused("where")
            return condition * chosen + (1 - condition) * other
        if any(map(is_tensor, args)):
            raise self._refused(f"{name}{OUTSIDE}")
        raise self._refused(name)

    # What comes from elsewhere.

    def _lifted(self, other: Any, operation: str) -> Affine:
        if isinstance(other, Affine):
            return other
        if is_tensor(other):
            raise self._refused(f"{operation}{OUTSIDE}")
        if isinstance(other, list | tuple | np.ndarray):
            if {len(self.space.crowd), sum(self.space.crowd)} & {*np.shape(other)} - {0}:
                raise self._refused(f"{operation}, with numbers for each client of a crowd")
            exact = np.vectorize(exact_value, otypes=[object])(np.asarray(other, dtype=object))
            return self.space.constant(exact)
        return self.space.constant(exact_value(other))

    def _aligned(self, other: Affine) -> tuple[Affine, Affine]:
        """Both with all columns, of as many axes."""
        axes = max(self.ndim, other.ndim)

        def arranged(each: Affine) -> Affine:
            def widened(forms: np.ndarray) -> np.ndarray:
                none = np.full((*forms.shape[:-1], self.space.columns - forms.shape[-1]), 0, dtype=forms.dtype)
                if forms.dtype == object:
                    none = none * Fraction(1)
                whole = np.concatenate([forms, none], axis=-1)
                return whole.reshape(*(1,) * (axes - each.ndim), *whole.shape)

            return each._arranged(widened)

        return arranged(self), arranged(other)

    def all_columns(self) -> Affine:
        """Return the same with coefficients in all columns, (*shape, columns)."""
        return self._aligned(self)[0]


def total(one: np.ndarray, other: np.ndarray, sign: int = 1) -> np.ndarray:
    """Return one + sign * other of arrays of Fractions, of which most are 0."""
    one, other = np.broadcast_arrays(one, other)
    found, there = one.copy(), other.astype(bool)
    found[there] = found[there] + other[there] if sign > 0 else found[there] - other[there]
    return found


def scaled(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return values * times of arrays of Fractions, of which most are 0."""
    values, times = np.broadcast_arrays(values, times)
    found = np.full(values.shape, Fraction(0), dtype=object)
    there = values.astype(bool) & times.astype(bool)
    found[there] = values[there] * times[there]
    return found


def _axes(dim: Any) -> tuple[int, ...]:
    return tuple(dim) if isinstance(dim, tuple | list) else (dim,)


def _added(one: Affine, other: Affine) -> np.ndarray | None:
    return None if one.sizes is None or other.sizes is None else one.sizes + other.sizes


def exact_value(value: Any) -> Any:
    """A number as a Fraction.

    Raises:
        ValueError: it is a float that was rounded, or no number.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, float) and np.isfinite(value) and Fraction(value).denominator <= SMALL:
        return Fraction(value)
    if isinstance(value, float):
        raise ValueError(
            f"{value} is a float, which is not exact: give it to the algorithm as one of its numbers, or draw by round"
        )
    raise ValueError(f"{value!r}: allowed is a number")
