"""The greatest of the elements that one list of indices sends to each place, for all lines at once."""

from __future__ import annotations

from typing import Any

from ..._array import Array, apply
from ..._creation import arange
from ..._dtypes import float32
from .call import Call, cast
from .orders import along, place

_HALF = 1 << 31
_NAN = 0x7FC00000  # above all numbers, as bits


def narrow(x: Array) -> bool:
    """Has the dtype at most 32 bits, so that an element and an index fit into 64?"""
    return x.dtype.name in ("float16", "bfloat16", "float32", "int8", "int16", "int32", "uint8", "uint16", "uint32")


def _ordered(x: Array) -> Array:
    """Integers that are in the order of the elements, NaN last."""
    if x.dtype.kind != "f":
        return apply("cast", (x,), "dtype=i64")
    x = cast(x, float32)
    bits = apply("where", (apply("ne", (x, x)), _NAN, apply("bitcast", (x,), "dtype=i32")))
    bits = apply("where", (apply("lt", (bits, 0)), apply("xor", (bits, 0x7FFFFFFF)), bits))
    return apply("cast", (bits,), "dtype=i64")


def _elements(ordered: Array, dtype: Any) -> Array:
    if dtype.kind != "f":
        return cast(ordered, dtype)
    bits = apply("cast", (ordered,), "dtype=i32")
    bits = apply("where", (apply("lt", (bits, 0)), apply("xor", (bits, 0x7FFFFFFF)), bits))
    return cast(apply("bitcast", (bits,), "dtype=f32"), dtype)


def greatest(call: Call, x: Array, axis: int, indices: Array, source: Array, include_self: bool) -> Array:
    """indices: without other axes. In their order, the greatest so far of pairs of index and element is that of the index;
    its last one is what x gets."""
    count = x.shape[axis]
    order = apply("argsort", (indices,), "axis=0 descending=false")
    sorted_ = apply("cast", (apply("gather", (indices, order), "axis=0"),), "dtype=i64")
    source = apply("gather", (source, order), f"axis={axis}")
    shape = [s if a == axis else 1 for a, s in enumerate(source.shape)]
    high = apply("shl", (apply("reshape", (sorted_,), "shape=[" + ",".join(map(str, shape)) + "]"), 32))
    pairs = apply("cummax", (apply("add", (apply("add", (_ordered(source), _HALF)), high)),), f"axis={axis}")
    ends = apply("sub", (place(call, sorted_, arange(count, dtype="int64"), True), 1))
    found = apply("gather", (pairs, apply("max", (ends, 0))), f"axis={axis}")
    mine = apply("and", (apply("eq", (apply("shr", (found, 32)), along(count, axis, x.ndim))),
                         apply("ge", (ends.reshape([count if a == axis else 1 for a in range(x.ndim)]), 0))))
    value = _elements(apply("sub", (apply("and", (found, (1 << 32) - 1)), _HALF)), x.dtype)
    if include_self:
        value = apply("max", (x, value))
    return apply("where", (mine, value, x))
