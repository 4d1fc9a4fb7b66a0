"""Random operands, and the expected results of an operation on them."""
import numpy as np

from binding import NUMPY, Typed, to_dtype
from oracle.rules import ALL, BYTES, FLOATS, FORMAT, NUMBERS, compute, spacing

MOST_ELEMENTS = 600
WHOLE_ELEMENTS = 1024


class Want:
    """One result: its dtype and elements. bound None: the same bits, NaNs as a class; else the largest
    absolute error.

    zeros: whether the sign of a zero matters. batch_dims: how many of its axes are batch axes.
    """

    def __init__(self, dtype, array, bound=None, zeros=True, batch_dims=0):
        self.dtype, self.bound, self.zeros, self.batch_dims = dtype, bound, zeros, batch_dims
        self.array = array.wide() if isinstance(array, Typed) else np.asarray(array)

    def wrong(self, got):
        """None, or what differs."""
        if got.dtype != self.dtype or got.shape != self.array.shape:
            return f"{got.dtype}{list(got.shape)}, expected {self.dtype}{list(self.array.shape)}"
        if got.batch_dims != self.batch_dims:
            return f"{got.batch_dims} batch axes, expected {self.batch_dims}"
        a, b = got.wide(), self.array
        with np.errstate(all="ignore"):
            good = self._exact(a, b) if self.bound is None else self._near(a, b)
        if np.all(good):
            return None
        at = tuple(int(k) for k in np.argwhere(~np.broadcast_to(good, a.shape))[0])
        near = "" if self.bound is None else f" within {np.broadcast_to(self.bound, a.shape)[at]:.3g}"
        return f"at {list(at)} {a[at]!r}, expected {b[at]!r}{near} ({np.count_nonzero(~good)} of {a.size})"

    def _exact(self, a, b):
        if a.dtype.kind != "f":
            return a == b
        b = b.astype(a.dtype)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        return same & ((np.signbit(a) == np.signbit(b)) | np.isnan(a)) if self.zeros else same

    def _near(self, a, b):
        a, b = a.astype(np.longdouble), b.astype(np.longdouble)
        largest = np.ldexp(2 - np.ldexp(np.longdouble(1), 1 - FORMAT[self.dtype][0]), FORMAT[self.dtype][2])
        close = np.abs(a - b) <= self.bound
        # rounding may give infinity where the true value is at the end of the range
        over = np.isinf(a) & (np.sign(a) == np.sign(b)) & (np.abs(b) + self.bound > largest)
        under = np.isinf(b) & (np.sign(a) == np.sign(b)) & (np.abs(a) + self.bound >= largest)
        return close | (a == b) | over | under | (np.isnan(a) & np.isnan(b))


def ulps(dtype, array, count):
    """count units in the last place of each element."""
    return spacing(dtype, np.asarray(array, np.longdouble)) * count


class Operand:
    """A recorded operand and its elements: a in the dtype that NumPy computes with, typed as they are
    stored."""

    def __init__(self, value, typed):
        self.value, self.typed, self.dtype, self.shape = value, typed, typed.dtype, typed.shape
        self.a = typed.wide().astype(compute(typed.dtype))

    @property
    def wide(self):
        return self.a.astype(np.longdouble) if self.dtype in FLOATS else self.a


EDGES = {"f": [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5]}


class Outside(Exception):
    """The row does not accept the dtype."""


def float_edges(dtype):
    """Floats of the dtype around which results change, and their neighbours, with either sign."""
    digits, least, most = FORMAT[dtype]
    powers = [least - digits + 1, least, -digits, -1, 0, 1, digits - 2, digits - 1, digits, digits + 1, 50, 54,
              7, 8, 15, 16, 31, 32, 63, 64, most]
    sizes = [np.ldexp(np.longdouble(1), k) for k in powers if k <= most] + [0, np.inf, np.nan, 1.5, 2.5, 3, 0.1, 100]
    sizes = to_dtype(np.array(sizes, np.longdouble).astype(np.float64), dtype).array
    bits = NUMPY[f"u{8 * BYTES[dtype]}"]
    near = sizes.view(bits)[:, None] + np.array([-1, 0, 1]).astype(bits)
    sign = bits(1 << (8 * BYTES[dtype] - 1))
    return np.unique(np.concatenate([near.ravel(), near.ravel() ^ sign]))


class Draw:
    """The source of one case's random choices; attributes are those that the operation accepts."""

    def __init__(self, random, graph, attributes, whole=None):
        """whole: the dtype of which WHOLE_ELEMENTS elements have random bits."""
        self.random, self.graph, self.attributes, self.whole = random, graph, attributes, whole

    def accepts(self, attribute):
        return attribute in self.attributes

    def chance(self, p):
        return self.random.random() < p

    def integer(self, low, high):
        """low <= result <= high"""
        return int(self.random.integers(low, high + 1))

    def one(self, items):
        return items[self.integer(0, len(items) - 1)]

    def shape(self, least=0, most=4, low=0, high=5):
        """A rank and sizes; sizes of 0 are rare."""
        if self.whole:
            return (WHOLE_ELEMENTS,)
        rank = self.integer(least, most)
        sizes = [max(low, self.integer(1, high)) for _ in range(rank)]
        if low == 0 and rank and self.chance(0.06):
            sizes[self.integer(0, rank - 1)] = 0
        if self.chance(0.05) and rank:
            sizes[self.integer(0, rank - 1)] = self.integer(30, 70)
        while np.prod(sizes, dtype=int) > MOST_ELEMENTS:
            sizes[int(np.argmax(sizes))] //= 2
        return tuple(sizes)

    def axis(self, rank, extra=0):
        """An axis and its spelling: from either end."""
        axis = self.integer(0, rank - 1 + extra)
        return axis, axis if self.chance(0.5) else axis - rank - extra

    def axes(self, rank):
        """Axes to reduce and their attribute: all (left out), or any subset, from either end."""
        if self.chance(0.25):
            return tuple(range(rank)), None
        axes = [k for k in range(rank) if self.chance(0.5)]
        return tuple(axes), [a if self.chance(0.6) else a - rank for a in axes]

    def array(self, dtype, shape, kind="any"):
        """kind any: all values of the dtype, often edge cases; plain: sums and products stay in range;
        wrapping: only those of floats do; small: a few integers."""
        random = self.random
        if self.whole and dtype != "bool":
            return self.any_bits(dtype, shape)
        if dtype == "bool":
            return Typed(random.integers(0, 2, shape).astype(bool))
        if kind == "small":
            low = 0 if dtype.startswith("u") else -4
            return to_dtype(np.asarray(random.integers(low, 5, shape)), dtype)
        if dtype not in FLOATS:
            limits = np.iinfo(NUMPY[dtype])
            if kind == "plain" or self.chance(0.3):
                return Typed(np.asarray(random.integers(max(limits.min, -9), 10, shape)).astype(NUMPY[dtype]))
            bits = random.integers(0, 256, tuple(shape) + (BYTES[dtype],), np.uint8)
            array = np.ascontiguousarray(bits).view(NUMPY[dtype]).reshape(shape)
            edges = np.array([limits.min, limits.max, 0, 1, limits.max - 1], NUMPY[dtype])
            return Typed(np.where(random.random(shape) < 0.2, edges[random.integers(0, 5, shape)], array))
        array = np.asarray(random.standard_normal(shape)) * self.one([1, 1, 4])
        if kind == "any":
            how = self.integer(0, 2)
            if how == 0:  # every exponent
                least, most = FORMAT[dtype][1] - 8, FORMAT[dtype][2]
                array = np.ldexp(array, random.integers(least, most, shape))
            elif how == 1:
                array = np.rint(array * 4) / 2
            edges = np.array(EDGES["f"])
            array = np.where(random.random(shape) < 0.1, edges[random.integers(0, len(edges), shape)], array)
        with np.errstate(all="ignore"):
            return to_dtype(array, dtype)

    def any_bits(self, dtype, shape):
        """Uniform random bits, except for every third element: an edge case, or an integer of few digits."""
        random, width = self.random, BYTES[dtype]
        unsigned = NUMPY[f"u{8 * width}"]
        bits = random.integers(0, 256, tuple(shape) + (width,), np.uint8).view(unsigned).reshape(shape)
        if dtype in FLOATS:
            edges = float_edges(dtype)
        else:
            limits = np.iinfo(NUMPY[dtype])
            edges = np.array([limits.min, limits.min + 1, limits.max - 1, limits.max]).astype(unsigned)
        small = random.integers(-9, 80, shape)
        small = small.astype(unsigned) if dtype not in FLOATS else to_dtype(small / 4, dtype).array.view(unsigned)
        which = random.random(shape)
        bits = np.where(which < 0.3, edges[random.integers(0, len(edges), shape)], bits)
        bits = np.where(which > 0.8, small, bits)
        if dtype in ("f16", "bf16"):  # computed in f32, where a signalling NaN becomes a quiet one
            digits, _, most = FORMAT[dtype]
            infinity = np.uint16(2 * most + 1 << (digits - 1))
            bits = np.where((bits & 0x7FFF) > infinity, bits | 1 << (digits - 2), bits)
        return Typed(bits.astype(unsigned).view(NUMPY[dtype]), dtype)

    def scalar(self, dtype, number):
        return Typed(np.array(number, NUMPY[dtype]))

    def dtype(self, dtypes):
        """One of the dtypes, for operands."""
        if self.whole and self.whole not in dtypes:
            raise Outside
        return self.whole or self.one(dtypes)

    def numbers(self):
        return self.dtype(NUMBERS)

    def floats(self):
        return self.dtype(FLOATS)

    def any_dtype(self):
        return self.dtype(ALL)

    def operand(self, dtype, shape, kind="any"):
        return self.hold(self.array(dtype, shape, kind))

    def hold(self, typed):
        """An operand with these elements: an input, or a view of an input that holds them in another order or
        at other places."""
        if not isinstance(typed, Typed):
            typed = Typed(typed)
        array, dtype, rank = typed.array, typed.dtype, len(typed.shape)
        variant = self.integer(0, 7) if rank else 0  # 0, 6, 7: the input itself
        axis = self.integer(0, rank - 1) if rank else 0
        graph = self.graph
        if variant == 1:
            order = [int(k) for k in self.random.permutation(rank)]
            stored = graph.input(Typed(np.ascontiguousarray(np.transpose(array, np.argsort(order))), dtype))
            inverse = [int(k) for k in order]
            value = graph.apply("permute", stored, order=inverse)
        elif variant == 2:
            stored = graph.input(Typed(np.ascontiguousarray(np.flip(array, axis)), dtype))
            value = graph.apply("flip", stored, axes=[axis])
        elif variant == 3:
            pads = [(self.integer(0, 2), self.integer(0, 2)) for _ in range(rank)]
            stored = graph.input(Typed(np.pad(array, pads), dtype))
            value = graph.apply("shrink", stored, bounds=[[p, p + s] for (p, _), s in zip(pads, array.shape)])
        elif variant == 4 and array.size:
            value = graph.apply("reshape", graph.input(Typed(array.reshape(-1), dtype)), shape=array.shape)
        elif variant == 5 and array.shape[axis]:
            stored = graph.input(Typed(np.repeat(array, 2, axis), dtype))
            value = graph.apply("stride", stored, steps=[2 if k == axis else 1 for k in range(rank)])
        else:
            value = graph.input(Typed(array, dtype))
        return Operand(value, typed)

    def broadcast(self, count):
        """Shapes that broadcast together."""
        if self.whole:
            return [self.shape()] * count
        whole = self.shape()
        shapes = []
        for _ in range(count):
            kept = whole[self.integer(0, len(whole)) if self.chance(0.3) else 0:]
            shapes.append(tuple(1 if self.chance(0.2) else s for s in kept))
        return shapes


class Case:
    """Operands, attributes and the expected results: one Want or several."""

    def __init__(self, operands, wants, **attributes):
        self.operands = [getattr(x, "value", x) for x in operands]
        self.wants = wants if isinstance(wants, list) else [wants]
        self.attributes = attributes


class TextCase:
    """A file of graphs whose @main is run: its inputs in order, its results by name."""

    def __init__(self, text, inputs, names, wants):
        self.text, self.inputs, self.names, self.wants = text, inputs, names, wants
