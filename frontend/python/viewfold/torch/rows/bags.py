"""Sums and means of bags of rows: nn.EmbeddingBag."""

from __future__ import annotations

from typing import Any

from ..._array import Array, apply
from ..._creation import arange, full
from ..._index import write
from .call import Call, Unsupported, cast
from .orders import place

SUM, MEAN = 0, 1  # torch's numbers of ways


def _bags(call: Call, indices: Array, offsets: Array) -> Array:
    """The bag of each index: bags begin at offsets."""
    return apply("sub", (place(call, cast(offsets, call.recording.int64), arange(indices.shape[0], dtype="int64"), True), 1))


def _shares(indices: Array, bags: Array, count: Any, mode: int, weights: Any, padding: int, dtype: Any) -> Array:
    """What each index's row is multiplied with, [indices, 1]; bags is how many there are at least."""
    share = cast(apply("ne", (indices, padding)), dtype)
    if mode == MEAN:
        sizes = write(full((count,), 0, dtype=dtype), (bags,), share, "add")
        share = apply("div", (share, apply("max", (apply("gather", (sizes, bags), "axis=0"), 1))))
    if weights is not None:
        share = apply("mul", (share, weights))
    return apply("unsqueeze", (share,), "axis=1")


def _known(mode: int) -> None:
    if mode not in (SUM, MEAN):
        raise Unsupported("the greatest of the rows of a bag")


def embedding_bag(call: Call, table: Array, indices: Array, offsets: Array, by_frequency: bool = False, mode: int = 0,
                  sparse: bool = False, weights: Any = None, last_offset: bool = False, padding: int = -1) -> Any:
    _known(mode)
    bags, count = _bags(call, indices, offsets), call.shape(0)[0]
    rows = apply("gather", (table, indices), "axis=0")
    rows = apply("mul", (rows, _shares(indices, bags, count, mode, weights, padding, table.dtype)))
    made = write(full(call.shape(0), 0, dtype=table.dtype), (bags,), rows, "add")
    # the others are torch's notes for its own derivative, which ours finds from the offsets
    return made, *(full(call.shape(n), 0, dtype=indices.dtype) for n in (1, 2, 3))


def backward(call: Call, gradient: Array, indices: Array, offsets: Array, bag_of: Any, sizes: Any, greatest: Any,
             rows: Any, by_frequency: bool, mode: int, sparse: bool, weights: Any, padding: int = -1) -> Array:
    _known(mode)
    if by_frequency or sparse:
        raise Unsupported("gradients of bags that are sparse, or scaled by frequency")
    bags = _bags(call, indices, offsets)
    given = apply("gather", (gradient, bags), "axis=0")
    given = apply("mul", (given, _shares(indices, bags, gradient.shape[0], mode, weights, padding, gradient.dtype)))
    return write(full(call.shape(), 0, dtype=gradient.dtype), (indices,), given, "add")


def weights_backward(call: Call, gradient: Array, table: Array, indices: Array, offsets: Array, bag_of: Any, mode: int,
                     padding: int = -1) -> Array:
    given = apply("gather", (gradient, _bags(call, indices, offsets)), "axis=0")
    made = apply("sum", (apply("mul", (given, apply("gather", (table, indices), "axis=0"))),), "axes=[1]")
    return apply("where", (apply("ne", (indices, padding)), made, 0.0))
