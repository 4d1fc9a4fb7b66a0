"""Operations that depend on the order of elements: running extrema, medians, places in sorted lines."""

from __future__ import annotations

from typing import Any, Callable

from ..._array import Array, apply
from ..._creation import arange, full, number
from ..._index import write
from ..._sizes import Size, text_list
from .call import Call, array, broadcast, cast

Row = Callable[..., Any]


def along(count: Any, axis: int, rank: int) -> Array:
    """The positions along an axis, in the rank of an array."""
    return arange(count, dtype="int64").reshape([count if a == axis else 1 for a in range(rank)])


def _line(x: Array, dim: int) -> tuple[Array, int]:
    """The array, with an axis where it has none, and the axis from 0."""
    return (x, dim % x.ndim) if x.ndim else (apply("reshape", (x,), "shape=[1]"), 0)


def shaped(x: Array, shape: list[Any]) -> Array:
    return x if list(x.shape) == shape else apply("reshape", (x,), "shape=" + text_list(shape))


def running(name: str) -> Row:
    """cummax, cummin: the extremum so far, and where it was last; NaN stays one."""

    def row(call: Call, x: Array, dim: int) -> tuple[Array, Array]:
        x, axis = _line(x, dim)
        value = apply(name, (x,), f"axis={axis}")
        reached = apply("or", (apply("eq", (x, value)), apply("ne", (x, x))))
        places = broadcast(along(x.shape[axis], axis, x.ndim), list(x.shape))
        where = apply("cummax", (apply("where", (reached, places, 0)),), f"axis={axis}")
        return shaped(value, call.shape(0)), shaped(where, call.shape(1))

    return row


def _picked(call: Call, x: Array, order: Array, axis: int, at: Array) -> tuple[Array, Array]:
    """What lies at a place of the order of each line, and its place in the array."""
    where = apply("take_along_axis", (order, at), f"axis={axis}")
    made = apply("take_along_axis", (x, where), f"axis={axis}")
    return shaped(made, call.shape(0)), shaped(cast(where, call.recording.int64), call.shape(1))


def _ascending(x: Array, axis: int) -> Array:
    return apply("argsort", (x,), f"axis={axis} descending=false")  # NaN is greatest; stable


def _alike(x: Array, axis: int, value: Any) -> Array:
    """The value, once for each line along the axis."""
    return broadcast(array(value, arange(1, dtype="int64").dtype), [1 if a == axis else s for a, s in enumerate(x.shape)])


def kthvalue(call: Call, x: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    x, axis = _line(x, dim)
    return _picked(call, x, _ascending(x, axis), axis, _alike(x, axis, k - 1))


def median(skips_nan: bool) -> Row:
    """The lower one of two; a line with a NaN has it, or is taken without."""

    def row(call: Call, x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        x, axis = _line(x, dim)
        count, text = x.shape[axis], f"axes=[{axis}] keepdims=true"
        numbers = apply("sum", (cast(apply("eq", (x, x)), call.recording.int64),), text)  # how many are no NaN
        middle = apply("floordiv", (apply("sub", (numbers, 1)), 2))
        if skips_nan:
            at = apply("max", (middle, 0))
        else:
            at = apply("where", (apply("lt", (numbers, number(count))), numbers, middle))
        return _picked(call, x, _ascending(x, axis), axis, at)

    return row


def median_of_all(skips_nan: bool) -> Row:
    row = median(skips_nan)

    def taken(call: Call, x: Array) -> Array:
        count: Any = 1
        for s in x.shape:
            count = count * s
        whole = Call((call.want, call.want), call.fakes, call.recording, call.used)
        return row(whole, apply("reshape", (x,), f"shape=[{count}]"), 0)[0]

    return taken


def mode(call: Call, x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The least of the values that are most frequent."""
    x, axis = _line(x, dim)
    order = _ascending(x, axis)
    ordered = apply("take_along_axis", (x, order), f"axis={axis}")
    before = apply("take_along_axis", (ordered, apply("max", (apply("sub", (_places(x, axis), 1)), 0))), f"axis={axis}")
    new = apply("ne", (ordered, before))
    begin = apply("cummax", (apply("where", (new, _places(x, axis), 0)),), f"axis={axis}")
    length = apply("sub", (_places(x, axis), begin))
    longest = apply("unsqueeze", (apply("argmax", (length,), f"axis={axis}"),), f"axis={axis}")
    return _picked(call, x, order, axis, longest)


def _places(x: Array, axis: int) -> Array:
    return broadcast(along(x.shape[axis], axis, x.ndim), list(x.shape))


def place(call: Call, ordered: Array, x: Array, behind_equal: bool) -> Array:
    """How many elements of each ordered line lie before an element of x: by halving. NaN is greatest."""
    compare = "gt" if behind_equal else "ge"
    count = ordered.shape[-1]
    if isinstance(count, Size) or ordered.ndim > 1:
        lines = apply("unsqueeze", (ordered,), f"axis={ordered.ndim - 1}")
        before = apply("not", (apply(compare, (lines, apply("unsqueeze", (x,), f"axis={x.ndim}"))),))
        return apply("sum", (cast(before, call.recording.int64),), f"axes=[{x.ndim}]")
    at = broadcast(array(0, call.recording.int64), list(x.shape))
    step = 1 << max(count.bit_length() - 1, 0)
    while step and count:
        further = apply("add", (at, step))
        inside = apply("min", (apply("sub", (further, 1)), count - 1))
        reached = apply(compare, (apply("gather", (ordered, inside), "axis=0"), x))
        goes = apply("and", (apply("le", (further, count)), apply("not", (reached,))))
        at = apply("where", (goes, further, at))
        step >>= 1
    return at


def searchsorted(call: Call, ordered: Array, x: Any, *, out_int32: bool = False, right: bool = False, side: Any = None,
                 sorter: Any = None) -> Array:
    if sorter is not None:
        ordered = apply("take_along_axis", (ordered, sorter), f"axis={ordered.ndim - 1}")
    x = array(x, ordered.dtype)
    shape = call.shape()
    if ordered.ndim > 1:
        return cast(place(call, ordered, x, right or side == "right"), call.dtype)
    made = place(call, ordered, x, right or side == "right")
    return cast(broadcast(made, shape), call.dtype)


def bucketize(call: Call, x: Any, bounds: Array, *, out_int32: bool = False, right: bool = False) -> Array:
    return cast(place(call, cast(bounds, call.common), array(x, call.common), right), call.dtype)


def histc(call: Call, x: Array, bins: int = 100, low: Any = 0, high: Any = 0) -> Array:
    """How many elements lie in each of so many parts of an interval: that of the elements, where none is given."""
    axes = "axes=" + text_list(range(x.ndim))
    if x.dtype.name in ("float16", "bfloat16"):
        x = apply("cast", (x,), "dtype=f32")
    begin, end = array(float(low), x.dtype), array(float(high), x.dtype)
    if low == high:
        begin, end = (apply(name, (x,), axes) if x.ndim else x for name in ("reduce_min", "reduce_max"))
        alike = apply("eq", (begin, end))
        begin = apply("where", (alike, apply("sub", (begin, 1)), begin))
        end = apply("where", (alike, apply("add", (end, 1)), end))
    within = apply("and", (apply("ge", (x, begin)), apply("le", (x, end))))
    part = apply("mul", (apply("div", (apply("sub", (x, begin)), apply("sub", (end, begin)))), float(bins)))
    part = apply("min", (cast(apply("where", (within, part, 0)), call.recording.int64), bins - 1))
    count: Any = 1
    for s in x.shape:
        count = count * s
    flat = [apply("reshape", (i,), f"shape=[{count}]") for i in (part, cast(within, call.dtype))]
    return write(full((bins,), 0, dtype=call.dtype), (flat[0],), flat[1], "add")


def repeat_interleave(call: Call, times: Array, *, output_size: Any = None) -> Array:
    """Each position as often as the array says."""
    ends = apply("cumsum", (cast(times, call.recording.int64),), "axis=0")
    return cast(place(call, ends, arange(call.shape()[0], dtype="int64"), True), call.dtype)
