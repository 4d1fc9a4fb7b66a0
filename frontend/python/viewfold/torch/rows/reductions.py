"""Sums, extrema and orders along axes."""

from __future__ import annotations

from typing import Any, Callable

from ..._array import Array, apply
from ..._creation import full as filled
from ..._sizes import text_list
from .call import Call, Unsupported, axes_of, cast

Row = Callable[..., Any]


def _attributes(axes: list[int], keepdim: bool) -> str:
    return "axes=" + text_list(axes) + (" keepdims=true" if keepdim else "")


def _with_axis(row: Row) -> Row:
    """Of an array without axes: as one of one element."""

    def taken(call: Call, x: Array, *arguments: Any, **options: Any) -> Any:
        if x.ndim:
            return row(call, x, *arguments, **options)
        made = row(call, apply("reshape", (x,), "shape=[1]"), *arguments, **options)
        results = [apply("reshape", (y,), "shape=[]") for y in (made if isinstance(made, tuple) else (made,))]
        return tuple(results) if isinstance(made, tuple) else results[0]

    return taken


def reduce(name: str) -> Row:
    """(x, dim, keepdim, dtype) in the dtype of the result."""

    def row(call: Call, x: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Array:
        x = cast(x, call.dtype)
        return apply(name, (x,), _attributes(axes_of(dim, x.ndim), keepdim)) if x.ndim else x

    return row


def truth(name: str) -> Row:
    def row(call: Call, x: Array, dim: Any = None, keepdim: bool = False) -> Array:
        x = x if x.dtype.name == "bool" else apply("ne", (x, 0))
        made = apply(name, (x,), _attributes(axes_of(dim, x.ndim), keepdim)) if x.ndim else x
        return cast(made, call.dtype)  # uint8 stays

    return row


def position(name: str) -> Row:
    def row(call: Call, x: Array, dim: Any = None, keepdim: bool = False) -> Array:
        rank = x.ndim
        if dim is None or not rank:
            x, dim = apply("reshape", (x,), "shape=[" + _count(x) + "]"), 0
        made = cast(apply(name, (x,), f"axis={dim % x.ndim}"), call.dtype)
        return apply("reshape", (made,), "shape=" + text_list(call.shape()))

    return row


def _count(x: Array) -> str:
    total: Any = 1
    for s in x.shape:
        total = total * s
    return str(total)


def extremum(value: str, at: str) -> Row:
    """The extremum along an axis, and where it is."""

    def row(call: Call, x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        if not x.ndim:
            return x, cast(apply("mul", (x, 0)), call.recording.int64)
        text = f"axis={dim % x.ndim}" + (" keepdims=true" if keepdim else "")
        return (apply(value, (x,), _attributes([dim % x.ndim], keepdim)),
                cast(apply(at, (x,), text), call.recording.int64))

    return row


def _spread(name: str, x: Array, dim: Any, correction: Any, keepdim: bool) -> Array:
    correction = 1.0 if correction is None else float(correction)
    return apply(name, (x,), _attributes(axes_of(dim, x.ndim), keepdim) + f" correction={correction}")


def spread(name: str) -> Row:
    def row(call: Call, x: Array, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Array:
        return _spread(name, x, dim, correction, keepdim)

    return _with_axis(row)


def spread_mean(name: str) -> Row:
    def row(call: Call, x: Array, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        mean = apply("mean", (x,), _attributes(axes_of(dim, x.ndim), keepdim))
        return _spread(name, x, dim, correction, keepdim), mean

    return _with_axis(row)


def cumulative(name: str) -> Row:
    def row(call: Call, x: Array, dim: int, *, dtype: Any = None) -> Array:
        x = cast(x, call.dtype)
        return apply(name, (x,), f"axis={dim % x.ndim}") if x.ndim else x

    return row


def softmax(name: str) -> Row:
    def row(call: Call, x: Array, dim: int, half_to_float: bool = False) -> Array:
        x = cast(x, call.dtype)
        return x if 0 in x.shape else apply(name, (x,), f"axis={dim % x.ndim}")

    return _with_axis(row)


@_with_axis
def logsumexp(call: Call, x: Array, dim: Any, keepdim: bool = False) -> Array:
    axes = axes_of(dim, x.ndim)
    if any(x.shape[a] == 0 for a in axes):
        return filled(call.shape(), float("-inf"), dtype=call.dtype)
    return apply("logsumexp", (cast(x, call.dtype),), _attributes(axes, keepdim))


def vector_norm(call: Call, x: Array, order: Any = 2, dim: Any = None, keepdim: bool = False, *,
                dtype: Any = None) -> Array:
    x = cast(x, call.dtype)
    how = _attributes(axes_of(dim, x.ndim), keepdim)
    size = apply("abs", (x,))
    if not x.ndim:
        return size if order else cast(apply("ne", (x, 0)), x.dtype)
    if order == 2:
        return apply("sqrt", (apply("sum", (apply("mul", (x, x)),), how),))
    if order == 1:
        return apply("sum", (size,), how)
    if order in (float("inf"), float("-inf")):
        return apply("reduce_max" if order > 0 else "reduce_min", (size,), how)
    if order == 0:
        return apply("sum", (cast(apply("ne", (x, 0)), x.dtype),), how)
    return apply("pow", (apply("sum", (apply("pow", (size, float(order))),), how), 1.0 / float(order)))


@_with_axis
def sort(call: Call, x: Array, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    text = f"axis={dim % x.ndim} descending={str(bool(descending)).lower()}"
    return apply("sort", (x,), text), cast(apply("argsort", (x,), text), call.recording.int64)


@_with_axis
def topk(call: Call, x: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, at = apply("topk", (x,), f"k={k} axis={dim % x.ndim} largest={str(bool(largest)).lower()}", 2)
    return values, cast(at, call.recording.int64)
