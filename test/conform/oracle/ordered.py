"""Cumulative operations and sorting; and what moves elements as it is."""
import numpy as np

from binding import NUMPY
from oracle.draw import Case, Want
from oracle.elementwise import rounded
from oracle.reduce import SUM_UNITS, final, widened
from oracle.rules import ALL, FLOATS, accumulator, compute, work_unit
from oracle.views import moved


def line(d, dtype, kind):
    x = d.operand(dtype, d.shape(least=1), kind)
    axis, written = d.axis(len(x.shape))
    return x, axis, written


def directed(function, a, axis, reverse):
    if not reverse:
        return function(a, axis)
    return np.flip(function(np.flip(a, axis), axis), axis)


def before(y, axis, reverse, first):
    """Each result moved by one: the result before the element; `first` for the first one."""
    y = np.flip(y, axis) if reverse else y
    y = np.concatenate([np.full_like(np.take(y, [], axis), first, shape=[1 if k == axis else s for k, s in
                                                                         enumerate(y.shape)]),
                        np.delete(y, -1, axis) if y.shape[axis] else y], axis)[
        tuple(slice(0, s) for s in y.shape)]
    return np.flip(y, axis) if reverse else y


def running(function, first):
    """Cumulative sums and products."""
    def row(d):
        x, axis, written = line(d, d.one(ALL), "wrapping")
        dtype = accumulator(x.dtype)
        reverse, exclusive = (d.one([None, True, False]) for _ in range(2))
        if first and x.dtype in FLOATS:  # no partial product leaves the range
            a = np.sign(x.a) * (compute(x.dtype)(0.5) + np.abs(x.a) % 1)
            x = d.hold(rounded(x.dtype, a))
        a = widened(x, dtype)
        def all_of(values):
            kind = None if dtype in FLOATS else NUMPY[dtype]
            y = directed(lambda v, k: function(v, k, dtype=kind), values, axis, reverse)
            return before(y, axis, reverse, first) if exclusive else y
        y = all_of(a)
        attributes = {"axis": written, "reverse": reverse, "exclusive": exclusive}
        if dtype not in FLOATS:
            return Case([x], Want(dtype, y), **attributes)
        magnitude = all_of(np.abs(a))
        units = SUM_UNITS if first == 0 else 1.01 * max(x.shape[axis], 1)
        bound = units * work_unit(dtype) * magnitude + final(dtype, y)
        return Case([x], Want(dtype, y, bound, zeros=False), **attributes)
    return row


def record(function):
    """Cumulative maximum and minimum."""
    def row(d):
        x, axis, written = line(d, d.any_dtype(), "any")
        reverse = d.one([None, True, False])
        y = directed(lambda v, k: function.accumulate(v, k), x.a, axis, reverse)
        return Case([x], Want(x.dtype, rounded(x.dtype, y), zeros=False), axis=written, reverse=reverse)
    return row


def order(a, axis, descending):
    """Stable in both directions; NaNs are the greatest."""
    if not descending:
        return np.argsort(a, axis, kind="stable")
    back = np.argsort(np.flip(a, axis), axis, kind="stable")
    return a.shape[axis] - 1 - np.flip(back, axis)


def sorted_line(d):
    x, axis, written = line(d, d.any_dtype(), d.one(["any", "any", "small"]))
    if axis == len(x.shape) - 1 and d.chance(0.4):
        written = None
    return x, axis, written


def sort(indices):
    def row(d):
        x, axis, written = sorted_line(d)
        descending = d.one([None, True, False])
        at = order(x.a, axis, bool(descending))
        want = Want("i64", at) if indices else moved(x, np.take_along_axis(x.a, at, axis))
        return Case([x], want, axis=written, descending=descending)
    return row


def topk(d):
    x, axis, written = sorted_line(d)
    k, largest = d.integer(0 if x.shape[axis] == 0 else 1, x.shape[axis]), d.one([None, True, False])
    at = np.take(order(x.a, axis, largest is not False), np.arange(k), axis)
    return Case([x], [moved(x, np.take_along_axis(x.a, at, axis)), Want("i64", at)],
                k=k, axis=written, largest=largest)


def stored(d):
    x = d.operand(d.any_dtype(), d.shape())
    return Case([x], moved(x, x.a))


def exchange(d):
    """One device alone: a box of its own part."""
    x = d.operand(d.any_dtype(), d.shape())
    at = [d.integer(0, 9) for _ in x.shape]
    begins = [d.integer(0, size) for size in x.shape]
    sizes = [d.integer(0, size - begin) for begin, size in zip(begins, x.shape)]
    box = x.a[tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes))]
    return Case([x], moved(x, box), shape=sizes, start=[a + b for a, b in zip(at, begins)], at=at,
                kind=d.one([None, "all_gather"]))


ROWS = {
    "cumsum": running(np.cumsum, 0), "cumprod": running(np.cumprod, 1),
    "cummax": record(np.maximum), "cummin": record(np.minimum),
    "sort": sort(False), "argsort": sort(True), "topk": topk, "stored": stored,
    "exchange": exchange,
}
