"""Values between elements: grid_sample, and the derivatives of it and of padding with edges."""

from __future__ import annotations

import itertools
from typing import Any, Callable

from ... import _native
from ..._array import Array, apply
from ..._creation import arange
from ..._sizes import text_list
from .call import Call, Unsupported, broadcast

Row = Callable[..., Any]
BILINEAR, NEAREST = 0, 1  # torch's numbers of interpolations
ZEROS, BORDER, REFLECTION = 0, 1, 2  # and of what lies outside


def _clipped(x: Array, size: int) -> Array:
    """Into the axis. The derivative is 0 at its ends, as torch has it."""
    high = apply("where", (apply("ge", (x, size - 1.0)), size - 1.0, x))
    return apply("where", (apply("gt", (x, 0.0)), high, 0.0))


def _reflected(x: Array, twice_low: int, twice_high: int) -> Array:
    """Mirrored at both bounds as often as it takes."""
    if twice_low == twice_high:
        return apply("mul", (x, 0.0))
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    x = apply("sub", (x, low))
    x = apply("where", (apply("lt", (x, 0.0)), apply("neg", (x,)), x))
    turns = apply("floor", (apply("div", (x, span)),))
    beyond = apply("sub", (x, apply("mul", (turns, span))))
    even = apply("eq", (apply("mod", (turns, 2.0)), 0.0))
    return apply("add", (apply("where", (even, beyond, apply("sub", (span, beyond)))), low))


def _coordinate(given: Array, size: int, outside: int, align: bool) -> Array:
    """Of -1 to 1 in elements along an axis."""
    if align:
        x = apply("mul", (apply("add", (given, 1.0)), (size - 1) / 2))
    else:
        x = apply("div", (apply("sub", (apply("mul", (apply("add", (given, 1.0)), float(size))), 1.0)), 2.0))
    if outside == ZEROS:
        return x
    if outside == REFLECTION:
        x = _reflected(x, 0, 2 * (size - 1)) if align else _reflected(x, -1, 2 * size - 1)
    return _clipped(x, size)


class _Sampler:
    """Reads an array [rows, channels, *sizes] at whole positions of each row's own."""

    def __init__(self, x: Array, places: int) -> None:
        self.sizes, self.places = list(x.shape[2:]), places
        if not all(isinstance(s, int) for s in x.shape):
            raise Unsupported("grid_sample of axes of variable size")
        self.lead = list(x.shape[:2])
        count = 1
        for s in self.sizes:
            count *= s
        self.flat = apply("reshape", (x,), "shape=" + text_list(self.lead + [count]))

    def read(self, at: list[Array]) -> tuple[Array, Array]:
        """Elements, and whether they are inside. at: by axis, [rows, places], whole numbers in floats."""
        inside: Any = None
        flat: Any = None
        for x, size in zip(at, self.sizes):
            within = apply("and", (apply("ge", (x, 0.0)), apply("lt", (x, float(size)))))
            inside = within if inside is None else apply("and", (inside, within))
            # what is no number, or too large for an integer, is outside
            place = apply("cast", (apply("where", (within, x, 0.0)),), "dtype=i64")
            flat = place if flat is None else apply("add", (apply("mul", (flat, size)), place))
        flat = broadcast(apply("unsqueeze", (flat,), "axis=1"), self.lead + [self.places])
        return apply("take_along_axis", (self.flat, flat), "axis=2"), apply("unsqueeze", (inside,), "axis=1")


def _sample(x: Array, grid: Array, interpolation: int, outside: int, align: bool) -> Array:
    axes, shape = x.ndim - 2, list(grid.shape[1:-1])
    if interpolation not in (BILINEAR, NEAREST):
        raise Unsupported("grid_sample by cubics, backwards")
    places = 1
    for s in shape:
        places *= s
    grid = apply("reshape", (grid,), "shape=" + text_list([grid.shape[0], places, axes]))
    sampler = _Sampler(x, places)
    coordinates = []
    for axis, size in enumerate(sampler.sizes):  # a place names the last axis first
        n = axes - 1 - axis
        given = apply("squeeze", (apply("shrink", (grid,), "bounds=" + text_list(
            [f"[0,{grid.shape[0]}]", f"[0,{places}]", f"[{n},{n + 1}]"])),), "axes=[2]")
        coordinates.append(_coordinate(given, size, outside, align))
    total: Any = None
    if interpolation == NEAREST:
        value, inside = sampler.read([apply("round", (c,)) for c in coordinates])
        total = apply("where", (inside, value, 0.0))
    else:
        low = [apply("floor", (c,)) for c in coordinates]
        above = [apply("sub", (c, f)) for c, f in zip(coordinates, low)]
        for corner in itertools.product((0, 1), repeat=axes):
            weight: Any = None
            for up, part in zip(corner, above):
                part = part if up else apply("sub", (1.0, part))
                weight = part if weight is None else apply("mul", (weight, part))
            value, inside = sampler.read([apply("add", (f, float(up))) for f, up in zip(low, corner)])
            by = apply("mul", (value, apply("unsqueeze", (weight,), "axis=1")))
            by = apply("where", (inside, by, 0.0))
            total = by if total is None else apply("add", (total, by))
    return apply("reshape", (total,), "shape=" + text_list(list(x.shape[:2]) + shape))


def sample(call: Call, x: Array, grid: Array, interpolation: int, outside: int, align: bool) -> Array:
    return _sample(x, grid, interpolation, outside, align)


def sample_backward(call: Call, gradient: Array, x: Array, grid: Array, interpolation: int, outside: int, align: bool,
                    wanted: Any) -> Any:
    y = _sample(x, grid, interpolation, outside, align)
    by_x, by_grid = _native.vjp([y], [gradient], [x, grid])
    return (by_x if wanted[0] else None), by_grid


def edges_backward(call: Call, gradient: Array, x: Array, pads: Any) -> Array:
    """Of an array padded with its edges: what was read several times gets the sum."""
    y = x
    for n in range(len(pads) // 2):
        axis = x.ndim - 1 - n
        size, before, after = x.shape[axis], pads[2 * n], pads[2 * n + 1]
        at = apply("sub", (arange(size + before + after, dtype="int64"), before))
        at = apply("min", (apply("max", (at, 0)), size - 1))
        y = apply("gather", (y, at), f"axis={axis}")
    return _native.vjp([y], [gradient], [x])[0]
