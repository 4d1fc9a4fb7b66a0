"""Views: the same elements in another shape or order, and parts."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ..._array import Array, apply
from ..._creation import arange
from ..._dtypes import int64
from ..._sizes import Size, text_list
from .call import Call, Unsupported, array, axes_of, broadcast, cast


def reshape(call: Call, x: Array, shape: Any = None, **ignored: Any) -> Array:
    return apply("reshape", (x,), "shape=" + text_list(call.shape()))


def expand(call: Call, x: Array, shape: Any, **ignored: Any) -> Array:
    return broadcast(x, call.shape())


def permute(call: Call, x: Array, order: Any) -> Array:
    return apply("permute", (x,), "order=" + text_list(o % x.ndim for o in order)) if x.ndim else x


def transpose(call: Call, x: Array, a: int = 0, b: int = 1) -> Array:
    return apply("swap_axes", (x,), f"axis1={a % x.ndim} axis2={b % x.ndim}") if x.ndim > 1 else x


def bounds(x: Array, axis: int, begin: Any, end: Any) -> Array:
    sizes = list(x.shape)
    pairs = [(begin, end) if a == axis else (0, s) for a, s in enumerate(sizes)]
    return apply("shrink", (x,), "bounds=" + text_list(f"[{b},{e}]" for b, e in pairs))


def _interval(x: Array, axis: int, start: Any, end: Any) -> tuple[Any, Any]:
    size = x.shape[axis]
    start = 0 if start is None else start
    if isinstance(start, int) and start < 0:
        start = size + start
    if end is None or (isinstance(end, int) and end >= (1 << 62)):
        end = size
    if isinstance(end, int) and end < 0:
        end = size + end
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        start = min(max(start, 0), size)
        end = min(max(end, start), size)
    return start, end


def _slice(x: Array, dim: int, start: Any, end: Any, step: int, count: Any) -> Array:
    """count: of the elements that torch takes, which knows where an end behind the axis is cut."""
    axis = dim % x.ndim
    begin, stop = _interval(x, axis, start, end)
    if isinstance(x.shape[axis], Size):
        stop = begin + (count if step == 1 else (count - 1) * step + 1)
    made = bounds(x, axis, begin, stop)
    if step != 1:
        made = apply("stride", (made,), "steps=" + text_list(step if a == axis else 1 for a in range(x.ndim)))
    return made


def slice_(call: Call, x: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Array:
    return _slice(x, dim, start, end, step, call.shape()[dim % x.ndim])


def select(call: Call, x: Array, dim: int, index: Any) -> Array:
    axis = dim % x.ndim
    if isinstance(index, int) and index < 0:
        index = x.shape[axis] + index
    made = bounds(x, axis, index, index + 1)
    return apply("squeeze", (made,), f"axes=[{axis}]")


def squeeze(call: Call, x: Array, dims: Any = None) -> Array:
    return apply("reshape", (x,), "shape=" + text_list(call.shape()))


def unsqueeze(call: Call, x: Array, dim: int) -> Array:
    return apply("unsqueeze", (x,), f"axis={dim % (x.ndim + 1)}")


def cat(call: Call, parts: Any, dim: int = 0) -> Array:
    rank = len(call.want.shape)
    kept = [cast(p, call.dtype) for p in parts if not (p.ndim == 1 and p.shape[0] == 0 and rank != 1)]
    return apply("concat", kept, f"axis={dim % rank}") if len(kept) > 1 else kept[0]


def stack(call: Call, parts: Any, dim: int = 0) -> Array:
    return apply("stack", [cast(p, call.dtype) for p in parts], f"axis={dim % len(call.want.shape)}")


def _pieces(call: Call, x: Array, axis: int) -> list[Array]:
    made: list[Array] = []
    at: Any = 0
    for n in range(len(call.want)):
        size = call.shape(n)[axis]
        made.append(bounds(x, axis, at, at + size))
        at = at + size
    return made


def split(call: Call, x: Array, sizes: Any, dim: int = 0) -> list[Array]:
    return _pieces(call, x, dim % x.ndim)


def unbind(call: Call, x: Array, dim: int = 0) -> list[Array]:
    axis = dim % x.ndim
    return [apply("squeeze", (bounds(x, axis, n, n + 1),), f"axes=[{axis}]") for n in range(len(call.want))]


def flip(call: Call, x: Array, dims: Any) -> Array:
    return apply("flip", (x,), "axes=" + text_list(axes_of(dims, x.ndim))) if dims and x.ndim else x


def roll(call: Call, x: Array, shifts: Any, dims: Any = ()) -> Array:
    from ..._shapes import roll as of_arrays

    shifts = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    if dims in ((), []):
        flat = apply("reshape", (x,), f"shape=[{math.prod(x.shape)}]")
        return apply("reshape", (roll(call, flat, shifts, [0]),), "shape=" + text_list(x.shape))
    for by, axis in zip(shifts, axes_of(dims, x.ndim)):
        size = x.shape[axis]
        if isinstance(size, Size) or isinstance(by, Size):  # where the second part begins is known in runs alone
            places = apply("mod", (apply("sub", (arange(size, dtype="int64"), cast(by, int64))), cast(size, int64)))
            x = apply("gather", (x, places), f"axis={axis}")
        else:
            x = of_arrays(x, by, axis=axis)
    return x


def pad(call: Call, x: Array, pads: Any, value: Any = 0) -> Array:
    """Pairs from the last axis on; negative ones cut."""
    pairs = [[0, 0] for _ in range(x.ndim)]
    for n in range(len(pads) // 2):
        pairs[x.ndim - 1 - n] = [pads[2 * n], pads[2 * n + 1]]
    for axis, (low, high) in enumerate(pairs):
        if low < 0 or high < 0:
            x = bounds(x, axis, max(0, -low), x.shape[axis] - max(0, -high))
    pairs = [[max(0, low), max(0, high)] for low, high in pairs]
    if not any(low or high for low, high in pairs):
        return x
    text = str(value).lower() if isinstance(value, bool) else (str(float(value)) if x.dtype.kind == "f" else str(int(value)))
    return apply("pad", (x,), "pads=" + text_list(f"[{low},{high}]" for low, high in pairs) + f" value={text}")


def repeat(call: Call, x: Array, times: Any) -> Array:
    sizes = [1] * (len(times) - x.ndim) + list(x.shape)
    x = apply("reshape", (x,), "shape=" + text_list(s for size in sizes for s in (1, size)))
    x = broadcast(x, [s for t, size in zip(times, sizes) for s in (t, size)])
    return apply("reshape", (x,), "shape=" + text_list(call.shape()))


def positions(call: Call, sizes: Any, strides: Any, offset: Any) -> Array:
    """The places in storage that a view by strides has."""
    made: Any = None
    for axis, (size, step) in enumerate(zip(sizes, strides)):
        shape = [size if a == axis else 1 for a in range(len(sizes))]
        along = apply("mul", (arange(size, dtype="int64"), cast(step, int64)))
        along = apply("reshape", (along,), "shape=" + text_list(shape))
        made = along if made is None else apply("add", (made, along))
    if made is None:
        made = array(0, call.recording.int64)
    return broadcast(apply("add", (made, cast(offset or 0, int64))), list(sizes))


def _storage(call: Call, x: Array) -> Array:
    if not call.fakes[0].is_contiguous():
        raise Unsupported("as_strided of an array that is not contiguous")
    return apply("reshape", (x,), "shape=" + text_list([math.prod(x.shape)]))


def _has_all(view: torch.Tensor, of: torch.Tensor) -> bool:
    """Has a view of a contiguous tensor its elements in their order, in each run?"""
    dense, offset = 1, view.storage_offset()
    for size, step in zip(reversed(view.shape), reversed(view.stride())):
        if not statically_known_true(step == dense):
            return False
        dense = dense * size
    return statically_known_true(dense == of.numel()) and statically_known_true(offset == of.storage_offset())


def as_strided(call: Call, x: Array, sizes: Any, strides: Any, offset: Any = None) -> Array:
    stored = _storage(call, x)
    if _has_all(call.want, call.fakes[0]):
        return apply("reshape", (stored,), "shape=" + text_list(sizes))
    return apply("gather", (stored, positions(call, sizes, strides, offset)), "axis=0")


def as_strided_scatter(call: Call, x: Array, source: Array, sizes: Any, strides: Any, offset: Any = None) -> Array:
    flat = _storage(call, x)
    target = apply("gather", (apply("address", (flat,)), positions(call, sizes, strides, offset)), "axis=0")
    return apply("reshape", (apply("assign", (flat, target, cast(source, x.dtype)), "op=set"),),
                 "shape=" + text_list(x.shape))


def _write(x: Array, target: Array, source: Any) -> Array:
    return apply("assign", (x, target, cast(source, x.dtype)), "op=set")


def slice_scatter(call: Call, x: Array, source: Array, dim: int = 0, start: Any = None, end: Any = None,
                  step: int = 1) -> Array:
    return _write(x, _slice(apply("address", (x,)), dim, start, end, step, source.shape[dim % x.ndim]), source)


def select_scatter(call: Call, x: Array, source: Array, dim: int, index: Any) -> Array:
    return _write(x, select(call, apply("address", (x,)), dim, index), source)


def diagonal_scatter(call: Call, x: Array, source: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    return _write(x, _diagonal(apply("address", (x,)), source.shape[-1], offset, dim1, dim2), source)


def diagonal(call: Call, x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonal becomes the last axis."""
    return _diagonal(x, call.shape()[-1], offset, dim1, dim2)


def _diagonal(x: Array, count: Any, offset: int, dim1: int, dim2: int) -> Array:
    a, b = dim1 % x.ndim, dim2 % x.ndim
    x = apply("permute", (x,), "order=" + text_list([i for i in range(x.ndim) if i not in (a, b)] + [a, b]))
    rows, columns = x.shape[-2:]
    if offset >= 0:
        x = bounds(x, x.ndim - 1, offset, columns)
    else:
        x = bounds(x, x.ndim - 2, -offset, rows)
    x = bounds(bounds(x, x.ndim - 1, 0, count), x.ndim - 2, 0, count)
    along = arange(count, dtype="int64")
    flat = apply("reshape", (x,), "shape=" + text_list(list(x.shape[:-2]) + [count * count]))
    return apply("gather", (flat, along * (count + 1)), f"axis={flat.ndim - 1}")
