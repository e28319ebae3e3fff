"""Operations on sixteen floats at once, for compiled loops.

A processor multiplies and adds many numbers by one instruction, if they lie side by side and their sums are kept apart.
Compilers do not arrange sums so by themselves, since it changes how they are rounded. These operations, for loops that
``loops.compiler.compiled`` takes, say it. There are sixteen sums of every sixteenth number each, and every product and
sum is rounded once (``fma``). The sixteen are added up in pairs, in the same order wherever they are compiled.

Each operation replaces a numpy line on ``a[i : i + 16]``: ``fma`` stands for ``a * b + c``, ``where_larger`` for
``np.where((a > b) | (a != a), yes, no)``, ``total`` for ``a.sum()``.

Arrays are contiguous and of float32, or, where it is said, of bytes, or of int16, the bits of numbers of half precision
(bfloat16). Indices count their numbers from the beginning, whatever their shape; nothing checks that there are sixteen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.extending import intrinsic, register_model

LANES = 16

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_BITS = ir.VectorType(ir.IntType(32), LANES)
_HALVES = ir.VectorType(ir.IntType(16), LANES)
_BYTES = ir.VectorType(ir.IntType(8), LANES)


class Sixteen(types.Type):  # type: ignore[misc]
    """Sixteen floats, in a compiled loop."""

    def __init__(self) -> None:
        super().__init__(name="Sixteen")


SIXTEEN = Sixteen()


def _operation(make: Callable[..., Any]) -> Callable[..., Any]:
    """An operation for compiled loops, from what numba asks of it."""
    return intrinsic(make)  # type: ignore[no-any-return]


@register_model(Sixteen)  # type: ignore[untyped-decorator]
class _InRegister(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


@_operation
def zeros(typing: Any) -> Any:
    """Make sixteen zeros."""
    return SIXTEEN(), lambda context, builder, signature, given: ir.Constant(_VECTOR, [0.0] * LANES)


@_operation
def load(typing: Any, array: Any, index: Any) -> Any:
    """Load sixteen numbers of ``array`` from ``index`` on; bytes and numbers of half precision become floats."""

    def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if array.dtype == types.float32:
            return builder.load(_place(context, builder, signature, given), align=4)
        kind, align = (_BYTES, 1) if array.dtype == types.uint8 else (_HALVES, 2)
        place = builder.bitcast(_number(context, builder, signature, given), kind.as_pointer())
        found = builder.load(place, align=align)
        if kind is _BYTES:
            return builder.uitofp(found, _VECTOR)
        return builder.bitcast(builder.shl(builder.zext(found, _BITS), _all(16)), _VECTOR)

    return SIXTEEN(array, types.intp), written


@_operation
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Put sixteen numbers into ``array`` from ``index`` on.

    In half precision they become the nearest numbers there; of two as near, the one whose last bit is 0.
    """

    def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if array.dtype == types.float32:
            builder.store(given[2], _place(context, builder, signature, given), align=4)
        else:
            place = builder.bitcast(_number(context, builder, signature, given), _HALVES.as_pointer())
            builder.store(_halves(builder, given[2]), place, align=2)
        return context.get_dummy_value()

    return types.void(array, types.intp, SIXTEEN), written


@_operation
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Compute a * b + c, rounded once; a may be one number."""

    def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        first = given[0] if signature.args[0] == SIXTEEN else _sixteen_times(builder, given[0])
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        fused = cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v16f32")
        return builder.call(fused, [first, given[1], given[2]])

    return SIXTEEN(SIXTEEN if a == SIXTEEN else types.float32, SIXTEEN, SIXTEEN), written


@_operation
def sixteen(typing: Any, value: Any) -> Any:
    """Repeat a number sixteen times."""
    return SIXTEEN(types.float32), lambda context, builder, signature, given: _sixteen_times(builder, given[0])


@_operation
def where_larger(typing: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
    """Choose ``yes`` where a > b or a is NaN, else ``no``."""

    def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        a, b, yes, no = given
        found = builder.or_(builder.fcmp_ordered(">", a, b), builder.fcmp_unordered("uno", a, a))
        return builder.select(found, yes, no)

    return SIXTEEN(*[SIXTEEN] * 4), written


@_operation
def where_equal(typing: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
    """Choose ``yes`` where a = b, else ``no``."""

    def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        a, b, yes, no = given
        return builder.select(builder.fcmp_ordered("==", a, b), yes, no)

    return SIXTEEN(*[SIXTEEN] * 4), written


@_operation
def store_bytes(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Put sixteen whole numbers from 0 to 255 into an array of bytes."""

    def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = builder.bitcast(_number(context, builder, signature, given), _BYTES.as_pointer())
        builder.store(builder.fptoui(given[2], _BYTES), place, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, SIXTEEN), written


@_operation
def total(typing: Any, value: Any) -> Any:
    """Sum the sixteen: pairs eight apart first, then four, two, one."""

    def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        left, size = given[0], LANES
        while size > 1:
            size //= 2
            halves = [_chosen(builder, left, range(begin, begin + size)) for begin in (0, size)]
            left = builder.fadd(*halves)
        return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

    return types.float32(SIXTEEN), written


@_operation
def fetch(typing: Any, array: Any, index: Any) -> Any:
    """Fetch the memory of ``array`` from ``index`` on into the cache, for later."""

    def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = builder.bitcast(_number(context, builder, signature, given), cgutils.voidptr_t)
        whole = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, whole, whole, whole])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [place, *(ir.Constant(whole, each) for each in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), written


def _halves(builder: Any, value: Any) -> Any:
    """The nearest numbers of half precision, as their bits; NaN stays."""
    bits = builder.bitcast(value, _BITS)
    last = builder.and_(builder.lshr(bits, _all(16)), _all(1))
    up = builder.lshr(builder.add(bits, builder.add(last, _all(0x7FFF))), _all(16))
    return builder.trunc(builder.select(builder.fcmp_unordered("uno", value, value), _all(0x7FC0), up), _HALVES)


def _all(bits: int) -> Any:
    return ir.Constant(_BITS, [bits] * LANES)


def _number(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, given[0])
    return builder.gep(array.data, [given[1]])


def _place(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    return builder.bitcast(_number(context, builder, signature, given), _VECTOR.as_pointer())


def _chosen(builder: Any, value: Any, lanes: range) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), mask)


def _sixteen_times(builder: Any, value: Any) -> Any:
    empty = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, empty, mask)
