"""Reductions, windows, and orders."""

from __future__ import annotations

import itertools
import math
from typing import Any, Sequence

from ..._array import Array, apply
from ..._dtypes import int32
from ..._sizes import text_list
from ..bodies import binary, extremum, order
from ..recorder import Call, Unsupported
from ..text import Operation, Region
from .elementwise import cast
from .shapes import apart, padded, reshape_to, shrink, strided

# a body: the reduction, of bool another one, the operation of two elements, what changes nothing
OPERATIONS = {"add": ("sum", "any", "add", 0), "multiply": ("prod", "all", "mul", 1), "maximum": ("reduce_max", "any", "max", None),
       "minimum": ("reduce_min", "all", "min", None), "and": ("", "all", "and", True), "or": ("", "any", "or", False), "xor": ("", "", "xor", None)}
_EXTREME = {"maximum": (-math.inf, 0), "minimum": (math.inf, 1)}  # of floats; of integers the least, the greatest


def identity(name: str, dtype: Any) -> Any:
    """What changes no element that it is combined with."""
    if name not in _EXTREME:
        return OPERATIONS[name][3]
    of_floats, greatest = _EXTREME[name]
    if dtype.kind == "f":
        return of_floats
    if dtype.kind == "b":
        return bool(greatest)
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    return (1 << bits) - 1 if greatest else -(1 << bits) if dtype.kind == "i" else 0


def _combined(call: Call, name: str, x: Array, init: Array) -> Array:
    """With the value that the reduction begins with."""
    known = call.known(init)
    if known is not None and known == identity(name, x.dtype):
        return x
    pair = {"add": "or", "multiply": "and"}.get(name, OPERATIONS[name][2]) if x.dtype.name == "bool" else OPERATIONS[name][2]
    return apply(pair, (x, init))


def _reduced(call: Call, name: str, x: Array, init: Array, axes: list[int]) -> Array:
    if name not in OPERATIONS or not OPERATIONS[name][x.dtype.name == "bool"]:
        raise Unsupported(f"a reduction of {x.dtype.text} by {name}")
    if any(x.shape[a] == 0 for a in axes):
        return apply("expand", (reshape_to(init, [1] * (x.ndim - len(axes))),), "shape=" + text_list(
            s for a, s in enumerate(x.shape) if a not in axes))
    which = OPERATIONS[name][1 if x.dtype.name == "bool" else 0]
    made = apply(which, (x,), "axes=" + text_list(sorted(axes))) if axes else x
    return _combined(call, name, cast(made, x.dtype), init)


def _body(call: Call) -> list[str] | None:
    """The operation for each operand, where the body has one for each."""
    if "applies" in call.operation.words:
        return [call.operation.words[1].removeprefix("stablehlo.")]
    body, made = call.regions[0], []
    half = len(body.parameters) // 2
    by_result: dict[str, Operation] = {o.results[0]: o for o in body.operations}
    for n, result in enumerate(body.results):
        found = by_result.get(result)
        name = found and binary(Region([body.parameters[n], body.parameters[half + n]], [found], [result]))
        if not name:
            return None
        made.append(name)
    return made


def reduce(call: Call, *operands: Array) -> Any:
    half = len(operands) // 2
    x, inits = operands[:half], operands[half:]
    axes = call.numbers("dimensions")
    names = _body(call)
    if names is not None:
        return [_reduced(call, n, a, i, axes) for n, a, i in zip(names, x, inits)]
    which = extremum(call.regions[0], call.outside)
    line = call.recorder.lines.get(id(x[1])) if half == 2 else None
    if which and line and len(axes) == 1 and line[1] == axes[0]:
        at = apply(which, (x[0],), f"axis={axes[0]}")
        value = apply("reduce_max" if which == "argmax" else "reduce_min", (x[0],), f"axes={text_list(axes)}")
        return value, cast(at, x[1].dtype)
    raise Unsupported("a body that is no sum, product, extremum, and, or, and no place of an extremum")


def _each(call: Call, name: str, count: int, default: int = 1) -> list[int]:
    return call.numbers(name) or [default] * count


def _windows(call: Call, rank: int) -> tuple[list[int], list[int], list[int], list[tuple[int, int]]]:
    """Extents, steps, dilations and pads."""
    pads = [tuple(p) for p in call.numbers("padding")] or [(0, 0)] * rank
    return (call.numbers("window_dimensions"), _each(call, "window_strides", rank), _each(call, "window_dilations", rank),
            pads)  # type: ignore[return-value]


_CUMULATIVE = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}


def reduce_window(call: Call, x: Array, init: Array, *more: Array) -> Array:
    names = _body(call)
    if more or not names or names[0] not in _CUMULATIVE or x.dtype.name == "bool":
        raise Unsupported("a window whose body is no sum, product or extremum of numbers")
    name, rank = names[0], x.ndim
    extents, steps, dilations, pads = _windows(call, rank)
    nothing = identity(name, x.dtype)
    x = apart(x, [d - 1 for d in _each(call, "base_dilations", rank)], nothing)
    wide = [a for a in range(rank) if extents[a] > 1]
    plain = all(s == 1 for s in steps) and all(p == (0, 0) for a, p in enumerate(pads) if a not in wide)
    if len(wide) == 1 and plain and dilations[wide[0]] == 1 and extents[wide[0]] == x.shape[wide[0]]:
        axis, n = wide[0], x.shape[wide[0]]
        if pads[axis] in ((n - 1, 0), (0, n - 1)):  # all elements before, or behind
            text = f"axis={axis}" + (" reverse=true" if pads[axis][1] else "")
            return _combined(call, name, cast(apply(_CUMULATIVE[name], (x,), text), x.dtype), init)
    x = padded(x, pads, nothing)
    for axis in range(rank):  # one axis after the other: so there are fewer operations than elements of a window
        x = _along(OPERATIONS[name][2], x, axis, extents[axis], steps[axis], dilations[axis])
    return _combined(call, name, x, init)


def _along(pair: str, x: Array, axis: int, extent: int, step: int, dilation: int) -> Array:
    places = (x.shape[axis] - (extent - 1) * dilation - 1) // step + 1
    made: Any = None
    for k in range(extent):
        element = _element(x, axis, k * dilation, places, step)
        made = element if made is None else apply(pair, (made, element))
    return made


def _element(x: Array, axis: int, begin: int, places: int, step: int) -> Array:
    bounds = [(begin, begin + (places - 1) * step + 1) if a == axis else (0, s) for a, s in enumerate(x.shape)]
    return strided(shrink(x, bounds), [step if a == axis else 1 for a in range(x.ndim)])


def select_and_scatter(call: Call, x: Array, source: Array, init: Array) -> Array:
    """What a maximum over windows hands back: each element of the source goes to the first extremum of its window."""
    chooses = call.regions[0].operations
    how = chooses[0].words[0] if len(chooses) == 1 and chooses[0].words else ""
    if how not in ("GE", "LE") or binary(call.regions[1]) != "add" or x.dtype.kind != "f":
        raise Unsupported("windows of floats that choose by anything but GE and LE, or scatter by anything but a sum")
    extents, steps, _, pads = _windows(call, x.ndim)
    shape = list(x.shape)
    x = padded(x, pads, -math.inf if how == "GE" else math.inf)
    best: Any = None
    at: Any = None
    places = list(itertools.product(*map(range, extents)))
    for n, place in enumerate(places):
        element = x
        for axis, k in enumerate(place):
            element = _element(element, axis, k, source.shape[axis], steps[axis])
        if best is None:
            best, at = element, apply("expand", (reshape_to(apply("cast", (0,), "dtype=i32"), [1] * x.ndim),),
                                      "shape=" + text_list(source.shape))
            continue
        stays = apply("ge" if how == "GE" else "le", (best, element))
        best, at = apply("where", (stays, best, element)), apply("where", (stays, at, n))
    total: Any = None
    for n, place in enumerate(places):
        given = apart(apply("where", (apply("eq", (at, n)), source, 0)), [s - 1 for s in steps], 0)
        given = padded(given, [(k, s - k - g) for k, s, g in zip(place, x.shape, given.shape)], 0)
        total = given if total is None else apply("add", (total, given))
    total = shrink(total, [(b, b + s) for (b, _), s in zip(pads, shape)])
    return _combined(call, "add", total, init)


def sort(call: Call, *x: Array) -> Any:
    axis = call.number("dimension") % max(x[0].ndim, 1)
    found = order(call.regions[0], call.outside)
    if found is None:
        raise Unsupported("a comparator that does not order by the first operands, ascending or descending")
    if not x[0].ndim:
        return x
    keys, descending = found
    text = f"axis={axis} descending={str(descending).lower()}"
    if len(x) == 1:
        return apply("sort", x, text)
    return _ordered(x, x[:keys], axis, text)


def _ordered(x: Sequence[Array], keys: Sequence[Array], axis: int, text: str) -> list[Array]:
    """By the last key first, as each sort is stable."""
    made: Any = None
    for key in reversed(keys):
        if made is not None:
            key = apply("take_along_axis", (key, made), f"axis={axis}")
        by = apply("argsort", (key,), text)
        made = by if made is None else apply("take_along_axis", (made, by), f"axis={axis}")
    return [apply("take_along_axis", (i, made), f"axis={axis}") for i in x]


def top_k(call: Call, x: Array) -> Any:
    given = call.attributes.get("composite_attributes", call.attributes)
    values, at = apply("topk", (x,), f"k={given['k']} axis=-1 largest=true", 2)
    return values, cast(at, int32)
