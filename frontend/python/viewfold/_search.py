"""Indices: taking by them, and finding them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._array import Array, apply
from ._creation import asarray
from ._elementwise import clip
from ._index import check_range
from ._text import numbers


def take(x: Array, indices: Any, /, axis: int | None = None, *, mode: str = "raise") -> Array:
    """The elements at the indices of the axis; negative ones count from the end. mode, of indices out of range: "raise" an
    error, "clip" them to the first and last, or "wrap" them around."""
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"take: mode is {mode!r}; takes 'raise', 'clip' or 'wrap'")
    if axis is None:
        x, axis = (x.reshape(-1), 0) if x.ndim != 1 else (x, 0)
    indices = asarray(indices)
    if mode != "raise":
        size = x.shape[axis]
        indices = clip(indices, 0, size - 1) if mode == "clip" else indices % size
    if isinstance(axis, int) and -x.ndim <= axis < x.ndim:
        check_range(indices, x.shape[axis], axis % x.ndim, x.shape)
    return apply("gather", (x, indices), f"axis={axis}")


def take_along_axis(x: Array, indices: Array, /, axis: int = -1) -> Array:
    """Each line along the axis by indices of its own."""
    return apply("take_along_axis", (x, asarray(indices)), f"axis={axis}")


def _refuse_traced(x: Array, who: str) -> None:
    """How many results there are depends on the elements, which a traced function does not have."""
    if x._state == "traced":
        raise TypeError(f"{who}: how many there are depends on the elements, which are not known inside of a traced function; call it "
                        "outside, or use vf.where(mask, x, other) with a result of a known shape")


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The positions of elements that are not 0; their number must be known, so outside of traced functions only."""
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError("nonzero: an array without axes has no positions")
    _refuse_traced(x, "nonzero")
    found = [i for i, v in enumerate(numbers(x)) if v]
    made = []
    for size in reversed(x.shape):
        made.append(asarray([i % size for i in found], dtype="int64") if found else _no_positions())
        found = [i // size for i in found]
    return tuple(reversed(made))


def _no_positions() -> Array:
    from ._creation import zeros

    return zeros((0,), dtype="int64")


def searchsorted(x1: Array, x2: Array, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Where x2 belongs in the sorted x1."""
    x1, x2 = asarray(x1), asarray(x2)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is {side!r:.40}; takes 'left' or 'right'")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: x1 has shape {tuple(x1.shape)}; takes a sorted array of one axis")
    if sorter is not None:
        x1 = take(x1, sorter)
    wide = x2.reshape(tuple(x2.shape) + (1,))
    before = (x1 < wide) if side == "left" else (x1 <= wide)
    from ._reductions import sum

    return sum(before.astype("int64"), axis=-1)


class UniqueAll(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """Different elements in ascending order, where each is first, which each element is, how often it occurs."""
    x = asarray(x)
    _refuse_traced(x, "unique")
    flat = x.reshape(-1)
    if flat.shape[0] == 0:
        none = _no_positions()
        return UniqueAll(flat, none, none.reshape(x.shape), none)
    order = apply("argsort", (flat,), "axis=0 descending=false")
    ordered = take(flat, order)
    new = [True] + [bool(b) for b in (ordered[1:] != ordered[:-1]).tolist()]
    starts = [i for i, n in enumerate(new) if n]
    counts = [b - a for a, b in zip(starts, starts[1:] + [len(new)])]
    group = -1
    inverse = [0] * len(new)
    for place, fresh in zip(order.tolist(), new):
        group += fresh
        inverse[place] = group
    first = take(order, asarray(starts, dtype="int64"))
    return UniqueAll(take(ordered, asarray(starts, dtype="int64")), first,
                     asarray(inverse, dtype="int64").reshape(x.shape), asarray(counts, dtype="int64"))


def unique_counts(x: Array, /) -> UniqueCounts:
    made = unique_all(x)
    return UniqueCounts(made.values, made.counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    made = unique_all(x)
    return UniqueInverse(made.values, made.inverse_indices)


def unique_values(x: Array, /) -> Array:
    return unique_all(x).values


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    from ._reductions import any

    x1, x2 = asarray(x1), asarray(x2)
    found = any(x1.reshape(tuple(x1.shape) + (1,)) == x2.reshape(-1), axis=-1)
    return ~found if invert else found
