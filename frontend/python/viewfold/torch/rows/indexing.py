"""Elements by integers of other arrays."""

from __future__ import annotations

from typing import Any

from ..._array import Array, apply
from ..._creation import full
from ..._index import take, write
from ..._sizes import text_list
from .call import Call, Unsupported, array, broadcast, cast


def embedding(call: Call, weight: Array, indices: Array, *ignored: Any) -> Array:
    return apply("gather", (weight, indices), "axis=0")


def embedding_backward(call: Call, gradient: Array, indices: Array, count: int, padding: int, by_frequency: bool) -> Array:
    if by_frequency:
        raise Unsupported("embeddings whose gradient is scaled by frequency")
    width = gradient.shape[-1]
    if padding >= 0:
        real = apply("ne", (indices, padding))
        gradient = apply("where", (apply("unsqueeze", (real,), f"axis={indices.ndim}"), gradient, 0.0))
    zero = full((count, width), 0, dtype=gradient.dtype)
    return write(zero, (indices,), gradient, "add")


def _key(indices: Any) -> tuple[Any, ...]:
    key = []
    for i in indices:
        if isinstance(i, Array) and i.dtype.name == "bool":
            raise Unsupported("an index of truth values, whose number of elements a run finds out")
        key.append(slice(None) if i is None else i)
    return tuple(key)


def index(call: Call, x: Array, indices: Any) -> Array:
    made = take(x, _joined(_key(indices)))
    return made


def _joined(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays of one shape, where there are several."""
    arrays = [k for k in key if isinstance(k, Array)]
    if len(arrays) < 2:
        return key
    from ..._shapes import broadcast_shapes

    shape = list(broadcast_shapes(*(a.shape for a in arrays)))
    return tuple(broadcast(k, shape) if isinstance(k, Array) else k for k in key)


def index_put(call: Call, x: Array, indices: Any, values: Any, accumulate: bool = False) -> Array:
    if len(indices) == 1 and isinstance(indices[0], Array) and indices[0].dtype.name == "bool":
        mask = indices[0]
        if accumulate or (isinstance(values, Array) and values.ndim and call.fakes[2].numel() != 1):
            raise Unsupported("a write through truth values of as many values as they have")
        for _ in range(x.ndim - mask.ndim):
            mask = apply("unsqueeze", (mask,), f"axis={mask.ndim}")
        value = cast(values, x.dtype)
        return apply("where", (mask, apply("reshape", (value,), "shape=[]") if isinstance(value, Array) else value, x))
    return write(x, _joined(_key(indices)), values, "add" if accumulate else "set")


def gather(call: Call, x: Array, dim: int, indices: Array, *, sparse_grad: bool = False) -> Array:
    if not x.ndim:
        return broadcast(x, call.shape())
    axis = dim % x.ndim
    for a, (size, wanted) in enumerate(zip(x.shape, indices.shape)):
        if a != axis and size != wanted:
            pairs = [(0, wanted if b == a else s) for b, s in enumerate(x.shape)]
            x = apply("shrink", (x,), "bounds=" + text_list(f"[{b},{e}]" for b, e in pairs))
    return apply("take_along_axis", (x, indices), f"axis={axis}")


def _scatter(call: Call, x: Array, dim: int, indices: Array, source: Any, how: str) -> Array:
    if not x.ndim:
        raise Unsupported("scatter into an array without axes")
    axis = dim % x.ndim
    source = array(source, x.dtype)
    if source.ndim:
        pairs = [(0, s) for s in indices.shape]
        source = apply("shrink", (source,), "bounds=" + text_list(f"[{b},{e}]" for b, e in pairs))
    source = broadcast(source, list(indices.shape))
    target = apply("address", (x,))
    pairs = [(0, s if a == axis else i) for a, (s, i) in enumerate(zip(x.shape, indices.shape))]
    target = apply("shrink", (target,), "bounds=" + text_list(f"[{b},{e}]" for b, e in pairs))
    target = apply("take_along_axis", (target, indices), f"axis={axis}")
    return apply("assign", (x, target, source), f"op={how}")


def scatter(call: Call, x: Array, dim: int, indices: Array, source: Any) -> Array:
    return _scatter(call, x, dim, indices, source, "set")


def scatter_add(call: Call, x: Array, dim: int, indices: Array, source: Any) -> Array:
    return _scatter(call, x, dim, indices, source, "add")


def index_select(call: Call, x: Array, dim: int, indices: Array) -> Array:
    return apply("gather", (x, indices), f"axis={dim % x.ndim}")
