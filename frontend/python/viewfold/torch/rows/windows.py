"""Pools: values of windows, and their derivatives."""

from __future__ import annotations

import itertools
from typing import Any

from ... import _native
from ..._array import Array, apply
from ..._creation import arange, full, number
from ..._dtypes import iinfo
from ..._sizes import Size, text_list
from .call import Call, Unsupported, array, cast


def _each(given: Any, axes: int, default: Any = None) -> list[int]:
    given = list(given) if isinstance(given, (list, tuple)) else [given]
    if not given and default is not None:
        return list(default)
    return given * axes if len(given) == 1 else given


def _lowest(x: Array) -> Any:
    return float("-inf") if x.dtype.kind == "f" else iinfo(x.dtype).min


class _Windows:
    """Positions of windows along the last axes, padded so that each window is whole."""

    def __init__(self, call: Call, x: Array, shape: list[Any], kernel: Any, stride: Any, padding: Any,
                 dilation: Any = 1) -> None:
        axes = len(kernel) if isinstance(kernel, (list, tuple)) and len(kernel) > 1 else x.ndim - 2
        axes = max(1, min(axes, x.ndim - 1))
        self.axes, self.rank = axes, x.ndim
        self.kernel = _each(kernel, axes)
        self.stride = _each(stride, axes, self.kernel)
        self.padding, self.dilation = _each(padding, axes), _each(dilation, axes)
        self.sizes = list(x.shape[x.ndim - axes:])
        self.out = list(shape[x.ndim - axes:])

    def pads(self) -> list[tuple[Any, Any]]:
        """Before and after each of the axes: what the last window reads beyond the array included."""
        made = []
        for s, o, k, by, p, d in zip(self.sizes, self.out, self.kernel, self.stride, self.padding, self.dilation):
            # of an axis that varies: as far as a last window goes that torch's ceil_mode adds
            reach = p + by - 1 if isinstance(s, Size) else max(p, (o - 1) * by + (k - 1) * d + 1 - s - p)
            made.append((p, reach))
        return made

    def padded(self, x: Array, value: Any) -> Array:
        pads = [(0, 0)] * (self.rank - self.axes) + self.pads()
        if not any(a or b for a, b in pads):
            return x
        return apply("pad", (x,), "pads=" + text_list(f"[{a},{b}]" for a, b in pads) + f" value={value}")

    def element(self, padded: Array, at: tuple[int, ...]) -> Array:
        """The element of all windows at a place in them."""
        lead = list(padded.shape[:self.rank - self.axes])
        bounds = [(0, s) for s in lead]
        for k, by, d, o in zip(at, self.stride, self.dilation, self.out):
            bounds.append((k * d, k * d + (o - 1) * by + 1))
        x = apply("shrink", (padded,), "bounds=" + text_list(f"[{b},{e}]" for b, e in bounds))
        if all(s == 1 for s in self.stride):
            return x
        return apply("stride", (x,), "steps=" + text_list([1] * len(lead) + self.stride))

    def greatest(self, padded: Array) -> Array:
        """Of each window."""
        made = apply("max_pool", (padded,), " ".join(f"{name}={text_list(given)}" for name, given in (
            ("kernel", self.kernel), ("stride", self.stride), ("dilation", self.dilation))))
        sizes = list(made.shape[:self.rank - self.axes]) + self.out
        if list(made.shape) == sizes:
            return made
        return apply("shrink", (made,), "bounds=" + text_list(f"[0,{s}]" for s in sizes))

    def place(self, at: tuple[int, ...]) -> Array:
        """Where that element lies in the array, as one number over the axes: by window."""
        made: Any = None
        for axis in range(self.axes):
            k, by, d, p = at[axis], self.stride[axis], self.dilation[axis], self.padding[axis]
            along = arange(self.out[axis], dtype="int64") * by + (k * d - p)
            if p > k * d:  # in the padding: where the window first meets the array
                along = apply("where", (apply("lt", (along, 0)), apply("mod", (along, d)), along))
            along = along.reshape([self.out[axis] if a == axis else 1 for a in range(self.axes)])
            made = along if made is None else made * number(self.sizes[axis]) + along
        return made


def max_pool(call: Call, x: Array, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False) -> Any:
    """The greatest of each window, and its place."""
    w = _Windows(call, x, call.shape(0), kernel, stride, padding, dilation)
    padded = w.padded(x, _lowest(x))
    if 1 not in call.used:
        return w.greatest(padded), None
    best: Any = None
    where: Any = None
    for at in itertools.product(*map(range, w.kernel)):
        element, place = w.element(padded, at), w.place(at)
        if best is None:
            best, where = element, apply("expand", (place,), "shape=" + text_list(element.shape))
            continue
        # NaN counts as greatest, and what lies in the padding never
        greater = apply("or", (apply("gt", (element, best)), apply("ne", (element, element))))
        best = apply("where", (greater, element, best))
        where = apply("where", (greater, place, where))
    return best, where


def max_pool_backward(call: Call, gradient: Array, x: Array, kernel: Any, stride: Any, padding: Any, dilation: Any,
                      ceil_mode: bool, places: Array) -> Array:
    return _to_places(gradient, list(x.shape), len(_each(kernel, x.ndim - 2)) if x.ndim > 2 else 1, places)


def _to_places(gradient: Array, shape: list[Any], axes: int, places: Array) -> Array:
    """Each window's gradient at its place along the last axes of an array."""
    lead, count = shape[:len(shape) - axes], 1
    for s in shape[len(shape) - axes:]:
        count = count * s
    zero = full(lead + [count], 0, dtype=gradient.dtype)
    windows: Any = 1
    for s in places.shape[len(shape) - axes:]:
        windows = windows * s
    flat = "shape=" + text_list(lead + [windows])
    at = apply("reshape", (places,), flat)
    target = apply("take_along_axis", (apply("address", (zero,)), at), f"axis={len(lead)}")
    made = apply("assign", (zero, target, apply("reshape", (gradient,), flat)), "op=add")
    return apply("reshape", (made,), "shape=" + text_list(shape))


def _average(call: Call, x: Array, shape: list[Any], kernel: Any, stride: Any, padding: Any, count_pads: bool,
             divisor: Any) -> Array:
    w = _Windows(call, x, shape, kernel, stride, padding)
    padded = w.padded(x, 0.0)
    total: Any = None
    for at in itertools.product(*map(range, w.kernel)):
        element = w.element(padded, at)
        total = element if total is None else apply("add", (total, element))
    if divisor:
        return apply("div", (total, float(divisor)))
    counts: Any = None
    for axis in range(w.axes):  # how many elements of a window count: a number for each window along the axis
        s, k, by, p, o = w.sizes[axis], w.kernel[axis], w.stride[axis], w.padding[axis], w.out[axis]
        begin = arange(o, dtype="int64") * by - p
        if count_pads:
            along = apply("min", (begin + k, number(s + p))) - begin
        else:
            along = apply("min", (begin + k, number(s))) - apply("max", (begin, 0))
        along = cast(along, x.dtype).reshape([o if a == axis else 1 for a in range(w.axes)])
        counts = along if counts is None else apply("mul", (counts, along))
    return apply("div", (total, counts))


def avg_pool(call: Call, x: Array, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: Any = None) -> Array:
    return _average(call, x, call.shape(), kernel, stride, padding, count_include_pad, divisor_override)


def avg_pool_backward(call: Call, gradient: Array, x: Array, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
                      count_include_pad: bool, divisor_override: Any) -> Array:
    y = _average(call, x, list(gradient.shape), kernel, stride, padding, count_include_pad, divisor_override)
    return _native.vjp([y], [gradient], [x])[0]


def _weights(size: int, out: int, dtype: Any) -> Array:
    """[size, out]: what each element gives to each mean of an adaptive pool, as torch divides the axis."""
    from ..._creation import asarray

    rows = [[0.0] * out for _ in range(size)]
    for o, (begin, length) in enumerate(zip(*_parts(size, out))):
        for i in range(begin, begin + length):
            rows[i][o] = 1.0 / length
    return asarray(rows, dtype=dtype)


def _adaptive(x: Array, out: list[Any]) -> Array:
    """Means over parts of the last axes: one product for each axis."""
    for n, o in enumerate(out):
        axis = x.ndim - len(out) + n
        size = x.shape[axis]
        if o == size:
            continue
        if not isinstance(size, int):
            if o != 1:
                raise Unsupported("an adaptive pool of an axis of variable size")
            x = apply("mean", (x,), f"axes=[{axis}] keepdims=true")
        elif size % o == 0:
            shape = list(x.shape)
            x = apply("reshape", (x,), "shape=" + text_list(shape[:axis] + [o, size // o] + shape[axis + 1:]))
            x = apply("mean", (x,), f"axes=[{axis + 1}]")
        else:
            x = apply("swap_axes", (x,), f"axis1={axis} axis2={x.ndim - 1}") if axis != x.ndim - 1 else x
            x = apply("matmul", (x, _weights(size, o, x.dtype)))
            x = apply("swap_axes", (x,), f"axis1={axis} axis2={x.ndim - 1}") if axis != x.ndim - 1 else x
    return x


def adaptive_avg_pool(call: Call, x: Array, sizes: Any) -> Array:
    return _adaptive(x, call.shape()[x.ndim - len(sizes):])


def adaptive_avg_pool_backward(axes: int) -> Any:
    """Of pools of the last axes."""

    def row(call: Call, gradient: Array, x: Array) -> Array:
        y = _adaptive(x, list(gradient.shape)[x.ndim - axes:])
        return _native.vjp([y], [gradient], [x])[0]

    return row


def _parts(size: Any, out: Any) -> tuple[list[int], list[int]]:
    """Where each part of an axis that an adaptive pool divides begins, and how many elements it has."""
    if not isinstance(size, int) or not isinstance(out, int):
        raise Unsupported("an adaptive pool of an axis of variable size")
    begins = [o * size // out for o in range(out)]
    return begins, [-((o + 1) * size // -out) - begin for o, begin in enumerate(begins)]


def adaptive_max_pool(axes: int) -> Any:
    """The greatest of each part of the last axes, and its place; NaN counts as greatest."""

    def row(call: Call, x: Array, out: Any) -> Any:
        from ..._creation import asarray

        sizes = list(x.shape[x.ndim - axes:])
        parts = [_parts(s, o) for s, o in zip(sizes, call.shape(0)[x.ndim - axes:])]
        best: Any = None
        where: Any = None
        for at in itertools.product(*(range(max(length, default=0)) for _, length in parts)):
            element, place = x, None
            for n, (k, (begins, lengths)) in enumerate(zip(at, parts)):  # a short part's last element again
                along = asarray([b + min(k, m - 1) for b, m in zip(begins, lengths)], dtype="int64")
                element = apply("gather", (element, along), f"axis={x.ndim - axes + n}")
                along = along.reshape([along.shape[0] if a == n else 1 for a in range(axes)])
                place = along if place is None else place * sizes[n] + along
            place = apply("expand", (place,), "shape=" + text_list(element.shape))
            if best is None:
                best, where = element, place
                continue
            greater = apply("or", (apply("gt", (element, best)), apply("ne", (element, element))))
            best, where = apply("where", (greater, element, best)), apply("where", (greater, place, where))
        return best, where

    return row


def adaptive_max_pool_backward(axes: int) -> Any:
    def row(call: Call, gradient: Array, x: Array, places: Array) -> Array:
        return _to_places(gradient, list(x.shape), axes, places)

    return row
