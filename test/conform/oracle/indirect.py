"""Operations with indices, by loops over NumPy's elements."""
import numpy as np

from binding import NUMPY, Typed
from oracle.draw import Case, Want
from oracle.reduce import final
from oracle.rules import ALL, FLOATS, NUMBERS, work_unit
from oracle.views import moved


def index_input(d, shape, size):
    """Indices into an axis, the operation's mode for those out of range, and the element of each: -1 for
    none."""
    mode = d.one([None, "check", "clip", "fill"])
    room = 0 if mode in (None, "check") else 3
    dtype = d.one(["i64", "i32", "i16", "i8"])
    indices = np.asarray(d.random.integers(max(-size - room, -128), min(size + room, 128), shape))
    at = np.where(indices < 0, indices + size, indices)
    outside = (at < 0) | (at >= size)
    at = np.where(outside, -1, at) if mode == "fill" else np.clip(at, 0, size - 1)
    return d.hold(Typed(indices.astype(NUMPY[dtype]))), mode, at


def batched(d, axis):
    """How many of the axes before `axis` are common batch axes of data and indices."""
    return d.integer(0, axis) if d.accepts("batch") and d.chance(0.5) else 0


def data(d, dtype, kind="any"):
    shape = tuple(min(max(1, s), 8) for s in d.shape(least=1, most=3, low=1))
    x = d.operand(dtype, shape, kind)
    axis, written = d.axis(len(shape))
    return x, axis, written


def places(shape, axis, at, batch):
    """For each index (the place in the data, the place in the gathered result), in row-major order of the
    latter."""
    for before in np.ndindex(shape[:axis]):
        for j in np.ndindex(at.shape[batch:]):
            yield before, j, at[before[:batch] + j]


def gather(d):
    x, axis, written = data(d, d.any_dtype())
    batch = batched(d, axis)
    i, mode, at = index_input(d, x.shape[:batch] + d.shape(most=2, high=4), x.shape[axis])
    y = np.zeros(x.shape[:axis] + at.shape[batch:] + x.shape[axis + 1:], x.a.dtype)
    for before, j, k in places(x.shape, axis, at, batch):
        if k >= 0:
            y[before + j] = x.a[before + (k,)]
    return Case([x, i], moved(x, y), axis=written, mode=mode, batch=batch or None)


def take(d):
    """Without an axis, indices into the flattened operand."""
    x, axis, written = data(d, d.any_dtype())
    if d.chance(0.6):
        i, mode, at = index_input(d, d.shape(most=2, high=4), x.shape[axis])
        flat = np.moveaxis(x.a, axis, 0)
    else:
        i, mode, at = index_input(d, d.shape(most=2, high=4), x.a.size)
        flat, axis, written = x.a.reshape(-1), 0, None
    y = np.where((at < 0).reshape(at.shape + (1,) * (flat.ndim - 1)), np.zeros((), x.a.dtype), flat[at])
    for k in range(axis):  # the axes of the indices replace the axis
        y = np.moveaxis(y, at.ndim + k, k)
    return Case([x, i], moved(x, y), axis=written, mode=mode)


def added(x, y, count, magnitude):
    """Sums of floats, and how far from them a result may be."""
    if x.dtype not in FLOATS:
        return Want(x.dtype, y.astype(NUMPY[x.dtype]))
    return Want(x.dtype, y, (count + 1) * work_unit(x.dtype) * magnitude + final(x.dtype, y), zeros=False)


def scatter(add):
    def row(d):
        x, axis, written = data(d, d.one(NUMBERS if add else ALL), "wrapping" if add else "any")
        batch = batched(d, axis)
        i, mode, at = index_input(d, x.shape[:batch] + d.shape(most=2, high=4), x.shape[axis])
        shape = x.shape[:axis] + at.shape[batch:] + x.shape[axis + 1:]
        kept = shape[d.integer(0, len(shape)) if d.chance(0.2) else 0:]
        u = d.operand(x.dtype, tuple(1 if d.chance(0.1) else s for s in kept), "wrapping" if add else "any")
        whole = np.broadcast_to(u.wide, shape)
        y, magnitude = np.array(x.wide), np.abs(x.wide) if add and x.dtype in FLOATS else None
        count = 0
        for before, j, k in places(x.shape, axis, at, batch):
            if k < 0:
                continue
            if not add:
                y[before + (k,)] = whole[before + j]
                continue
            y[before + (k,)] += whole[before + j]
            count += 1
            if magnitude is not None:
                magnitude[before + (k,)] += np.abs(whole[before + j])
        want = added(x, y, count, magnitude) if add else Want(x.dtype, y)
        return Case([x, i, u], want, axis=written, mode=mode, batch=batch or None)
    return row


def lines(d, x, axis):
    """Indices of the data's rank; the other sizes are the data's or 1."""
    shape = [d.integer(0, 5) if k == axis else 1 if d.chance(0.15) else s for k, s in enumerate(x.shape)]
    return index_input(d, tuple(shape), x.shape[axis])


def take_along_axis(d):
    x, axis, written = data(d, d.any_dtype())
    i, mode, at = lines(d, x, axis)
    at = np.broadcast_to(at, [s if k != axis else at.shape[axis] for k, s in enumerate(x.shape)])
    y = np.take_along_axis(x.a, np.maximum(at, 0), axis)
    y = np.where(at < 0, np.zeros((), y.dtype), y)
    return Case([x, i], moved(x, y), axis=None if axis == 0 else written, mode=mode)


def scatter_along_axis(add):
    def row(d):
        x, axis, written = data(d, d.one(NUMBERS if add else ALL), "wrapping" if add else "any")
        i, mode, at = lines(d, x, axis)
        at = np.broadcast_to(at, [s if k != axis else at.shape[axis] for k, s in enumerate(x.shape)])
        u = d.operand(x.dtype, tuple(1 if d.chance(0.1) else s for s in at.shape), "wrapping" if add else "any")
        whole, y = np.broadcast_to(u.wide, at.shape), np.array(x.wide)
        magnitude, count = np.abs(y) if x.dtype in FLOATS and add else None, 0
        for place in np.ndindex(at.shape):
            if at[place] < 0:
                continue
            to = place[:axis] + (at[place],) + place[axis + 1:]
            y[to] = y[to] + whole[place] if add else whole[place]
            count += 1
            if magnitude is not None:
                magnitude[to] += np.abs(whole[place])
        want = added(x, y, count, magnitude) if add else Want(x.dtype, y)
        return Case([x, i, u], want, axis=None if axis == 0 else written, mode=mode)
    return row


def slice_update(d):
    x = d.operand(d.any_dtype(), d.shape(most=3))
    size = [d.integer(0, s) for s in x.shape]
    start = [d.integer(0, s - n) for n, s in zip(size, x.shape)]
    shape = tuple(1 if d.chance(0.1) else n for n in size)
    u = d.operand(x.dtype, shape)
    y = np.array(x.a)
    y[tuple(slice(b, b + n) for b, n in zip(start, size))] = u.a
    begin = [b - s if b < s and d.chance(0.4) else b for b, s in zip(start, x.shape)]
    left_out = shape == tuple(size) and d.chance(0.4)
    return Case([x, u], moved(x, y), start=begin, size=None if left_out else size)


def address(d):
    """Of an operand, or of its shape."""
    x = d.operand(d.any_dtype(), d.shape())
    want = Want("i64", np.arange(x.a.size).reshape(x.shape))
    return Case([x], want) if d.chance(0.5) else Case([], want, shape=list(x.shape))


def assign(d):
    """Stores through a transposed or a gathered view; test/conform/writes.py tries all views and operations."""
    x, axis, _ = data(d, d.any_dtype())
    target, at = d.graph.apply("address", x.value), np.arange(x.a.size).reshape(x.shape)
    if d.chance(0.5):
        i, mode, chosen = index_input(d, d.shape(least=1, most=1, low=1, high=4), x.shape[axis])
        if mode != "fill":
            target, at = d.graph.apply("gather", target, i.value, axis=axis, mode=mode), np.take(at, chosen, axis)
    target, at = d.graph.apply("permute", target, order=list(range(at.ndim))[::-1]), at.T
    u = d.operand(x.dtype, tuple(1 if d.chance(0.1) else s for s in at.shape))
    y = np.array(x.a).reshape(-1)
    for place in np.ndindex(at.shape):
        y[at[place]] = np.broadcast_to(u.a, at.shape)[place]
    return Case([x, target, u], moved(x, y.reshape(x.shape)), op=d.one([None, "set"]))


ROWS = {
    "address": address, "assign": assign,
    "gather": gather, "take": take, "take_along_axis": take_along_axis, "scatter": scatter(False),
    "scatter_add": scatter(True), "scatter_along_axis": scatter_along_axis(False),
    "scatter_add_along_axis": scatter_along_axis(True), "slice_update": slice_update,
}
