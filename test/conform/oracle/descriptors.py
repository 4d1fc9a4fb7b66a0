"""Index descriptors and the views that they make; test/conform/create_view.py tries all of their kinds and forms."""
import numpy as np

from binding import Typed
from oracle.draw import Case, Want
from oracle.views import moved


def scalar(d, value):
    """A literal, or a value that the run gets."""
    return value if d.chance(0.5) else d.hold(Typed(np.array(value, np.int64)))


def numbers(*all_of_them):
    return Want("i64", np.array(all_of_them))


def index_point(d):
    k = d.integer(-5, 5)
    return Case([scalar(d, k)], numbers(0, 1, 1, k, 1))


def index_interval(d):
    start, end, stride, flag = d.integer(-5, 5), d.integer(-5, 5), d.integer(-3, 3), d.integer(0, 1)
    return Case([scalar(d, start), scalar(d, end), scalar(d, stride), flag], numbers(1, 2, 1, start, end, stride, flag))


def index_window(d):
    start, length, stride = d.integer(-5, 5), d.integer(1, 4), d.one([1, 2, -1, -3])
    return Case([scalar(d, start)], numbers(1, 2, 1, start, start + (length - 1) * stride, stride, 1), length=length,
                stride=stride)


def index_all(d):
    return Case([], numbers(2, 0, 1, 1))


def index_new_axis(d):
    return Case([], numbers(3, 1, 1, 0, 1))


def create_view(d):
    """Each axis at a point, or a window that goes up or down, whole, or behind a new axis."""
    x = d.operand(d.any_dtype(), d.shape(least=1, most=3, low=1))
    operands, key = [x], []
    for n in x.shape[:d.integer(0, len(x.shape))]:
        kind, start = d.integer(0, 3), d.integer(0, n - 1)
        if kind == 0:
            key.append(start)
            made = d.graph.apply("index_point", d.hold(Typed(np.array(start - n * d.integer(0, 1), np.int64))).value)
        elif kind == 1:
            stride, length = d.one([1, 2, -1]), 1
            while length < 4 and 0 <= start + length * stride < n:
                length += 1
            taken = [start + k * stride for k in range(length)]
            end = taken[-1] + (1 if stride > 0 else -1)
            key.append(slice(start, None if end < 0 else end, stride))
            made = d.graph.apply("index_window", d.hold(Typed(np.array(start, np.int64))).value, length=length, stride=stride)
        else:
            if kind == 3:
                key.append(None)
                operands.append(d.graph.apply("index_new_axis"))
            key.append(slice(None))
            made = d.graph.apply("index_all")
        operands.append(made)
    return Case(operands, moved(x, x.a[tuple(key)]))


ROWS = {"create_view": create_view, "index_point": index_point, "index_interval": index_interval,
        "index_window": index_window, "index_all": index_all, "index_new_axis": index_new_axis}
