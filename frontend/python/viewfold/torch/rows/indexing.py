"""Elements by integers of other arrays."""

from __future__ import annotations

from typing import Any

from ..._array import Array, apply
from ..._creation import full
from ..._dtypes import int64
from ..._index import take, write
from ..._sizes import text_list
from . import segments
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


def _region(x: Array, axis: int, indices: Array) -> Array:
    """The part of x whose lines along the axis the indices are of."""
    pairs = [(0, s if a == axis else i) for a, (s, i) in enumerate(zip(x.shape, indices.shape))]
    return apply("shrink", (x,), "bounds=" + text_list(f"[{b},{e}]" for b, e in pairs))


def _assigned(x: Array, axis: int, indices: Array, source: Array, how: str) -> Array:
    target = apply("take_along_axis", (_region(apply("address", (x,)), axis, indices), indices), f"axis={axis}")
    return apply("assign", (x, target, source), f"op={how}")


def _sum(x: Array, axis: int, indices: Array, source: Array, include_self: bool) -> Array:
    if not include_self:
        x = _assigned(x, axis, indices, broadcast(array(0, x.dtype), list(source.shape)), "set")
    return _assigned(x, axis, indices, source, "add")


def _mean(x: Array, axis: int, indices: Array, source: Array, include_self: bool) -> Array:
    ones = broadcast(array(1, x.dtype), list(source.shape))
    count = _assigned(full(x.shape, int(include_self), dtype=x.dtype), axis, indices, ones, "add")
    total = _sum(x, axis, indices, source, include_self)
    return apply("div" if x.dtype.kind == "f" else "floordiv", (total, apply("max", (count, 1))))


def _greatest(x: Array, axis: int, indices: Array, source: Array, include_self: bool, descending: bool = False) -> Array:
    """In ascending order, where the last write is that of the greatest, or of NaN."""
    order = apply("argsort", (source,), f"axis={axis} descending={str(descending).lower()}")
    indices, source = (apply("take_along_axis", (i, order), f"axis={axis}") for i in (indices, source))
    made = _assigned(x, axis, indices, source, "set")
    return apply("min" if descending else "max", (x, made)) if include_self else made


def _least(x: Array, axis: int, indices: Array, source: Array, include_self: bool) -> Array:
    if x.dtype.kind != "f":
        return _greatest(x, axis, indices, source, include_self, descending=True)
    x, source = (apply("neg", (i,)) for i in (x, source))  # NaN comes last in ascending order
    return apply("neg", (_greatest(x, axis, indices, source, include_self),))


def _product(x: Array, axis: int, indices: Array, source: Array, include_self: bool) -> Array:
    """Each element looks for what is written to it."""
    from .orders import along

    places = along(x.shape[axis], axis, x.ndim + 1)
    hit = apply("eq", (apply("unsqueeze", (indices,), f"axis={axis}"), places))
    factor = apply("where", (hit, apply("unsqueeze", (source,), f"axis={axis}"), 1))
    factor = apply("prod", (cast(factor, x.dtype),), f"axes=[{axis + 1}]")
    old = _region(x, axis, indices)
    if not include_self:
        old = apply("where", (apply("any", (hit,), f"axes=[{axis + 1}]"), 1, old))
    return apply("assign", (x, _region(apply("address", (x,)), axis, indices), apply("mul", (old, cast(factor, x.dtype)))), "op=set")


_REDUCTIONS = {"sum": _sum, "add": _sum, "mean": _mean, "prod": _product, "multiply": _product, "amax": _greatest,
               "amin": _least}


def _for_all_lines(call: Call, x: Array, axis: int, indices: Array, source: Array) -> bool:
    """Do indices that repeat along all other axes send whole parts of x, whose elements sort as integers?"""
    fake = call.fakes[2] if len(call.fakes) > 2 else None
    if fake is None or len(fake.shape) != x.ndim or not segments.narrow(x):
        return False
    others = [a for a in range(x.ndim) if a != axis]
    return (all(x.shape[a] == indices.shape[a] and (fake.stride(a) == 0 or x.shape[a] == 1) for a in others) and
            isinstance(x.shape[axis], int) and isinstance(indices.shape[axis], int))


def _by_segments(call: Call, x: Array, axis: int, indices: Array, source: Array, name: str, include_self: bool) -> Array:
    line = apply("shrink", (indices,), "bounds=" + text_list(
        f"[0,{s if a == axis else 1}]" for a, s in enumerate(indices.shape)))
    line = apply("reshape", (line,), f"shape=[{indices.shape[axis]}]")
    if name == "amax":
        return segments.greatest(call, x, axis, line, source, include_self)
    # the least: the greatest of what is in the opposite order, where NaN is last still
    x, source = (_opposite(i) for i in (x, source))
    return _opposite(segments.greatest(call, x, axis, line, source, include_self))


def _opposite(x: Array) -> Array:
    return apply("neg" if x.dtype.kind == "f" else "not", (x,))


def scatter(how: str | None) -> Any:
    """Writes along an axis at indices of each element's own; None: as the call says."""

    def row(call: Call, x: Array, dim: int, indices: Array, source: Any, reduce: Any = None, *,
            include_self: bool = True) -> Array:
        shape = list(x.shape)
        source = array(source, x.dtype)
        if not x.ndim:
            x = apply("reshape", (x,), "shape=[1]")
        if not indices.ndim:  # torch takes an index without axes as one of one element
            indices = apply("reshape", (indices,), "shape=[1]")
            source = apply("reshape", (source,), "shape=[1]")
        if 0 in indices.shape:
            return x
        axis = dim % x.ndim
        if source.ndim:
            pairs = [(0, s) for s in indices.shape]
            source = apply("shrink", (source,), "bounds=" + text_list(f"[{b},{e}]" for b, e in pairs))
        source = broadcast(source, list(indices.shape))
        name = how or reduce
        if name in ("amax", "amin") and _for_all_lines(call, x, axis, indices, source):
            return _by_segments(call, x, axis, indices, source, name, include_self)
        if name == "set":
            made = _assigned(x, axis, indices, source, "set")
        else:
            made = _REDUCTIONS[name](x, axis, indices, source, include_self)
        return made if list(made.shape) == shape else apply("reshape", (made,), "shape=" + text_list(shape))

    return row


def index_reduce(call: Call, x: Array, dim: int, indices: Array, source: Array, reduce: str, *,
                 include_self: bool = True) -> Array:
    """As a scatter with the same indices for each line."""
    if source.ndim:
        axis = dim % source.ndim
        indices = apply("reshape", (indices,), "shape=" + text_list(
            source.shape[a] if a == axis else 1 for a in range(source.ndim)))
        indices = broadcast(indices, list(source.shape))
    return scatter(None)(call, x, dim, indices, source, reduce, include_self=include_self)


def _flat(x: Array) -> Array:
    count: Any = 1
    for s in x.shape:
        count = count * s
    return apply("reshape", (x,), f"shape=[{count}]")


def put(call: Call, x: Array, indices: Array, source: Array, accumulate: bool = False) -> Array:
    made = write(_flat(x), (_flat(indices),), _flat(source), "add" if accumulate else "set")
    return apply("reshape", (made,), "shape=" + text_list(x.shape))


def _rank_among(mask: Array) -> Array:
    """How many elements of the mask, in order of memory, are true before each one."""
    counted = apply("cumsum", (cast(_flat(mask), int64),), "axis=0")
    return apply("max", (apply("sub", (counted, 1)), 0))


def masked_scatter(call: Call, x: Array, mask: Array, source: Array) -> Array:
    """Elements of the source, one after the other, where the mask is true."""
    shape = call.shape()
    mask, x = broadcast(mask, shape), broadcast(x, shape)
    if 0 in source.shape:
        return x
    taken = apply("gather", (_flat(cast(source, x.dtype)), _rank_among(mask)), "axis=0 mode=clip")
    return apply("where", (mask, apply("reshape", (taken,), "shape=" + text_list(shape)), x))


def masked_scatter_backward(call: Call, gradient: Array, mask: Array, sizes: Any) -> Array:
    mask = broadcast(mask, list(gradient.shape))
    count: Any = 1
    for s in call.shape():
        count = count * s
    given = apply("where", (_flat(mask), _flat(gradient), 0))
    made = write(full((count,), 0, dtype=gradient.dtype), (_rank_among(mask),), given, "add")
    return apply("reshape", (made,), "shape=" + text_list(call.shape()))


def index_select(call: Call, x: Array, dim: int, indices: Array) -> Array:
    if not x.ndim:
        return broadcast(x, call.shape())
    return apply("gather", (x, indices), f"axis={dim % x.ndim}")
