"""Reductions, products and the compositions of them, by NumPy in a wider dtype, with the bounds of the rulings."""
import itertools
import string

import numpy as np

from binding import NUMPY, Typed, to_dtype
from oracle.draw import Case, Want, ulps
from oracle.elementwise import extremum, in_dtype, rounded
from oracle.rules import (ALL, BYTES, FLOATS, INTEGERS, NUMBERS, accumulator, compute, convert, float_of, promote,
                          unit, work_unit)

SUM_UNITS = 128


def reduced(d, dtypes, low=0, kind="plain"):
    x = d.operand(d.one(dtypes), d.shape(low=low), kind)
    axes, written = d.axes(len(x.shape))
    keep = d.one([None, False, True])
    return x, axes, {"axes": written, "keepdims": keep}, {"axis": axes, "keepdims": bool(keep)}


def widened(x, dtype):
    """Elements in the dtype, as NumPy shall compute with them."""
    a = in_dtype(x, dtype)
    return a.astype(np.longdouble) if dtype in FLOATS else a


def final(dtype, y):
    """What the last rounding, to a narrow float, adds to a bound."""
    return ulps(dtype, y, 0.51)


def summed(d):
    x, _, attributes, over = reduced(d, ALL)
    dtype = accumulator(x.dtype)
    a = widened(x, dtype)
    if dtype not in FLOATS:
        return Case([x], Want(dtype, np.sum(a, dtype=NUMPY[dtype], **over)), **attributes)
    y = np.sum(a, **over)
    bound = SUM_UNITS * work_unit(dtype) * np.sum(np.abs(a), **over) + final(dtype, y)
    return Case([x], Want(dtype, y, bound, zeros=False), **attributes)


def product(d):
    x, axes, attributes, over = reduced(d, ALL)
    dtype = accumulator(x.dtype)
    a = widened(x, dtype)
    if dtype not in FLOATS:
        return Case([x], Want(dtype, np.prod(a, dtype=NUMPY[dtype], **over)), **attributes)
    a = np.sign(a) * (0.5 + np.abs(a) % 1)  # no partial product leaves the range
    x = d.hold(rounded(x.dtype, a.astype(compute(x.dtype))))
    y = np.prod(x.wide, **over)
    count = int(np.prod([x.shape[k] for k in axes], dtype=int))
    bound = 1.01 * count * work_unit(dtype) * np.abs(y) + final(dtype, y)
    return Case([x], Want(dtype, y, bound), **attributes)


def extreme(function, pairwise):
    """Of one operand a reduction, of two element by element."""
    def row(d):
        if pairwise and d.chance(0.3):
            dtype, shapes = d.any_dtype(), d.broadcast(2)
            x, y = (d.operand(dtype, s) for s in shapes)
            return Case([x, y], Want(dtype, rounded(dtype, extremum(function is np.max)(x.a, y.a))))
        x, _, attributes, over = reduced(d, ALL, low=1, kind="any")
        if 0 in x.shape:
            x = d.operand(x.dtype, tuple(max(1, s) for s in x.shape))
        return Case([x], Want(x.dtype, function(x.a, **over), zeros=False), **attributes)
    return row


def mean_of(d):
    x, axes, attributes, over = reduced(d, ALL)
    dtype = float_of(x.dtype)
    a = widened(x, dtype)
    count = int(np.prod([x.shape[k] for k in axes], dtype=int))
    y = np.sum(a, **over) / np.longdouble(count)
    bound = (SUM_UNITS + 2) * work_unit(dtype) * np.sum(np.abs(a), **over) / max(count, 1) + final(dtype, y)
    return Case([x], Want(dtype, y, bound, zeros=False), **attributes)


def truth(function):
    def row(d):
        x, _, attributes, over = reduced(d, ["bool"])
        return Case([x], Want("bool", function(x.a, **over)), **attributes)
    return row


def position(function):
    def row(d):
        x = d.operand(d.any_dtype(), d.shape(least=1, low=1), d.one(["any", "small"]))
        x = x if 0 not in x.shape else d.operand(x.dtype, tuple(max(1, s) for s in x.shape))
        keep = d.one([None, True])
        if d.chance(0.2):
            y = np.asarray(function(x.a, keepdims=bool(keep)))
            return Case([x], Want("i64", y), keepdims=keep)
        axis, written = d.axis(len(x.shape))
        return Case([x], Want("i64", np.asarray(function(x.a, axis, keepdims=bool(keep)))), axis=written,
                    keepdims=keep)
    return row


def minmax(d):
    x, _, attributes, over = reduced(d, ALL, low=1, kind="any")
    if 0 in x.shape:
        x = d.operand(x.dtype, tuple(max(1, s) for s in x.shape))
    return Case([x], [Want(x.dtype, f(x.a, **over), zeros=False) for f in (np.min, np.max)], **attributes)


def contraction(dtype, y, magnitude, length):
    """length units of the sum of magnitudes."""
    if dtype not in FLOATS:
        return Want(dtype, y)
    return Want(dtype, y, max(length, 1) * work_unit(dtype) * magnitude + final(dtype, y), zeros=False)


def factors(d, *shapes):
    """Operands of one dtype or two, and the dtype that their product has."""
    dtypes = [d.numbers()] * len(shapes)
    if d.chance(0.3):
        other = d.numbers()
        dtypes[0] = other if promote(other, dtypes[-1]) else dtypes[0]
    operands = [d.operand(t, s, "plain") for t, s in zip(dtypes, shapes)]
    dtype = dtypes[0]
    for t in dtypes[1:]:
        dtype = promote(dtype, t)
    return operands, accumulator(dtype)


def matmul(d):
    m, k, n = (d.integer(1, 9) for _ in range(3))
    k = 0 if d.chance(0.03) else k * d.one([1, 1, 5])
    batch = d.broadcast(2)
    left = () if d.chance(0.15) else batch[0][-2:] + (m,)
    right = (k,) if d.chance(0.15) else batch[1][-2:] + (k, n)
    operands, dtype = factors(d, left + (k,), right)
    a, b = (widened(x, dtype) for x in operands)
    return Case(operands, contraction(dtype, np.asarray(np.matmul(a, b)), np.matmul(np.abs(a), np.abs(b)), k))


EQUATIONS = ["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "i,i->", "i,j->ij", "ij->ji", "ij->", "ii->i", "ii", "ij,j",
             "ij,jk,kl->il", "...ij,...jk->...ik", "bhqd,bhkd->bhqk", "ij,ij->ij", "ij,ij->j", "ijk->k", "iij->ij",
             "i...->..."]


def einsum(d):
    equation = d.one(EQUATIONS)
    terms = equation.split("->")[0].split(",")
    sizes = {c: d.integer(1, 5) for c in string.ascii_letters}
    extra = tuple(d.integer(1, 3) for _ in range(d.integer(0, 2)))
    shapes = []
    for term in terms:
        before, dots, after = term.partition("...")
        shapes.append(tuple(sizes[c] for c in before) + (extra if dots else ()) + tuple(sizes[c] for c in after))
    operands, dtype = factors(d, *shapes)
    a = [widened(x, dtype) for x in operands]
    y = np.asarray(np.einsum(equation, *a))
    magnitude = np.einsum(equation, *[np.abs(v) for v in a])
    length = np.prod([sizes[c] for c in set("".join(terms)) - {"."}], dtype=float)
    if dtype in FLOATS:
        return Case(operands, contraction(dtype, y, magnitude, 2 * length), equation=f'"{equation}"')
    return Case(operands, Want(dtype, y.astype(NUMPY[dtype])), equation=f'"{equation}"')


def some_axis(d, x):
    axis, written = d.axis(len(x.shape))
    return axis, (None if axis == len(x.shape) - 1 and d.chance(0.4) else written)


def exponents(d, log):
    """Softmax and its logarithm: x less its maximum, over the sum of exponentials."""
    def row(d):
        x = d.operand(d.one(ALL), d.shape(least=1, low=1), "plain")
        x = x if 0 not in x.shape else d.operand(x.dtype, tuple(max(1, s) for s in x.shape), "plain")
        axis, written = some_axis(d, x)
        dtype = float_of(x.dtype)
        a = widened(x, dtype)
        less = a - np.max(a, axis, keepdims=True)
        e = np.exp(less)
        total = np.sum(e, axis, keepdims=True)
        u = work_unit(dtype)
        if log:
            y = less - np.log(total)
            bound = u * (np.abs(less) + np.abs(y) + SUM_UNITS + 8)
        else:
            y = e / total
            bound = u * y * (np.abs(less) + np.max(np.abs(less), axis, keepdims=True) + SUM_UNITS + 8)
        return Case([x], Want(dtype, y, bound + final(dtype, y), zeros=False), axis=written)
    return row


def logsumexp(d):
    x, _, attributes, over = reduced(d, ALL, low=1)
    if 0 in x.shape:
        x = d.operand(x.dtype, tuple(max(1, s) for s in x.shape), "plain")
    dtype = float_of(x.dtype)
    a = widened(x, dtype)
    top = np.max(a, axis=over["axis"], keepdims=True)
    y = np.log(np.sum(np.exp(a - top), **over)) + np.max(a, **over)
    bound = work_unit(dtype) * (3 * np.max(np.abs(a), **over) + np.abs(y) + SUM_UNITS + 8) + final(dtype, y)
    return Case([x], Want(dtype, y, bound, zeros=False), **attributes)


def variance(root):
    """Squared deviations over max(elements - correction, 0)."""
    def row(d):
        x, axes, attributes, over = reduced(d, ALL, low=1)
        correction = d.one([None, 0, 1])
        dtype = float_of(x.dtype)
        a = widened(x, dtype)
        count = int(np.prod([x.shape[k] for k in axes], dtype=int))
        mean = np.sum(a, axis=over["axis"], keepdims=True) / np.longdouble(count)
        total = np.sum((a - mean) ** 2, **over)
        below = np.longdouble(max(count - (correction or 0), 0))
        y = total / below
        if below == 0:  # 0 / 0, whatever is left of 0 by rounding
            y = np.where(total == 0, np.nan, np.inf)
        # the mean's error adds only its square, as deviations from the mean sum to 0
        largest, u = np.max(np.abs(a), initial=0), work_unit(dtype)
        bound = (SUM_UNITS + 12) * u * y + (2 * SUM_UNITS * u * largest) ** 2 * max(count, 1) / max(below, 1)
        if root:
            y, bound = np.sqrt(y), bound / np.maximum(np.sqrt(y), np.sqrt(bound) + 1e-300)
        attributes["correction"] = correction
        return Case([x], Want(dtype, y, bound + final(dtype, y), zeros=False), **attributes)
    return row


def normalised(centre):
    def row(d):
        x = d.operand(d.floats(), d.shape(least=1, low=1), "plain")
        x = x if 0 not in x.shape else d.operand(x.dtype, tuple(max(1, s) for s in x.shape), "plain")
        axis, written = some_axis(d, x)
        if not centre and d.chance(0.5):
            axis, written = len(x.shape) - 1, None
        eps = d.one([None, 0.5, 1e-3])
        inner = x.shape[axis:]
        count = d.integer(0, 2 if centre else 1)
        more = [d.operand(x.dtype, inner[d.integer(0, len(inner) - 1):], "plain") for _ in range(count)]
        a, axes = x.wide, tuple(range(axis, len(x.shape)))
        mean = np.mean(a, axes, keepdims=True) if centre else np.longdouble(0)
        var = np.mean((a - mean) ** 2, axes, keepdims=True)
        below = np.sqrt(var + np.longdouble(1e-5 if eps is None else eps))
        weight = more[0].wide if count else np.longdouble(1)
        bias = more[1].wide if count > 1 else np.longdouble(0)
        y = (a - mean) / below * weight + bias
        largest = np.max(np.abs(a))
        u = work_unit(x.dtype)
        # relative, of 1 / below: see variance
        spread = ((SUM_UNITS + 12) * u * var + (2 * SUM_UNITS * u * largest) ** 2) / (2 * below ** 2) + 4 * u
        bound = np.abs(weight) * (np.abs((a - mean) / below) * spread + SUM_UNITS * u * largest / below)
        bound = bound + 8 * u * (np.abs(y) + np.abs(bias)) + final(x.dtype, y)
        return Case([x] + more, Want(x.dtype, y, bound, zeros=False), axis=written, eps=eps)
    return row


def listed(d, values, default):
    """An attribute with one value for each spatial axis: a number where all are alike, left out where it may be."""
    if all(v == default for v in values) and d.chance(0.5):
        return None
    return values[0] if len(set(map(str, values))) == 1 and not isinstance(values[0], list) and d.chance(0.5) \
        else values


def conv(d):
    axes, groups = d.integer(1, 2), d.one([1, 1, 2])
    few, many = d.integer(1, 2), d.integer(1, 2)
    size = [d.integer(3, 7) for _ in range(axes)]
    kernel = [d.integer(1, 3) for _ in range(axes)]
    stride, dilation = ([d.one([1, 1, 2]) for _ in range(axes)] for _ in range(2))
    pads = [[d.integer(0, 2), d.integer(0, 2)] for _ in range(axes)]
    pads = [[a, b + max(0, (k - 1) * t + 1 - s - a - b)] for (a, b), k, t, s in zip(pads, kernel, dilation, size)]
    shapes = [(d.integer(1, 2), groups * few, *size), (groups * many, few, *kernel), (groups * many,)]
    operands, dtype = factors(d, *shapes[:d.integer(2, 3)])
    x, w, *bias = (widened(o, dtype) for o in operands)
    y, magnitude = (correlate(np.pad(f(x), [(0, 0), (0, 0)] + pads), f(w), stride, dilation, groups)
                    for f in (np.asarray, np.abs))
    if bias:
        b = bias[0].reshape([-1] + [1] * axes)
        y, magnitude = y + b, magnitude + np.abs(b)
    want = contraction(dtype, y, magnitude, 1 + few * np.prod(kernel))
    return Case(operands, want, stride=listed(d, stride, 1), dilation=listed(d, dilation, 1), groups=groups,
                padding=pads)


def correlate(x, w, stride, dilation, groups):
    """Every place, every position of the window."""
    places = [(s - (k - 1) * t - 1) // by + 1
              for s, k, t, by in zip(x.shape[2:], w.shape[2:], dilation, stride)]
    few, many = w.shape[1], w.shape[0] // groups
    y = np.zeros((x.shape[0], w.shape[0], *places), x.dtype)
    for place in itertools.product(*map(range, places)):
        part = x[(slice(None), slice(None)) + tuple(slice(p * by, p * by + (k - 1) * t + 1, t) for p, by, k, t in
                                                    zip(place, stride, w.shape[2:], dilation))]
        for c in range(w.shape[0]):
            first = c // many * few
            whole = part[:, first:first + few] * w[c]
            y[(slice(None), c) + place] = whole.reshape(len(x), -1).sum(axis=1, dtype=x.dtype)
    return y


def conv_transpose(d):
    axes, groups = d.integer(1, 2), d.one([1, 1, 2])
    few, many = d.integer(1, 2), d.integer(1, 2)
    size = [d.integer(1, 4) for _ in range(axes)]
    kernel = [d.integer(1, 3) for _ in range(axes)]
    stride, dilation = ([d.one([1, 2, 2]) for _ in range(axes)] for _ in range(2))
    extra = [d.integer(0, max(s, t) - 1) if d.chance(0.5) else 0 for s, t in zip(stride, dilation)]
    whole = [(s - 1) * by + (k - 1) * t + 1 for s, by, k, t in zip(size, stride, kernel, dilation)]
    pads = [d.integer(0, 1) if f > 3 else 0 for f in whole]
    operands, dtype = factors(d, (d.integer(1, 2), groups * few, *size), (groups * few, many, *kernel))
    x, w = (widened(o, dtype) for o in operands)
    y, magnitude = (spread(f(x), f(w), stride, dilation, whole, extra, pads, groups)
                    for f in (np.asarray, np.abs))
    want = contraction(dtype, y, magnitude, few * np.prod(kernel))
    return Case(operands, want, stride=listed(d, stride, 1), dilation=listed(d, dilation, 1), groups=groups,
                padding=listed(d, pads, 0), output_padding=listed(d, extra, 0))


def spread(x, w, stride, dilation, whole, extra, pads, groups):
    """Each element adds itself times the weight where it came from."""
    few, many = x.shape[1] // groups, w.shape[1]
    y = np.zeros((x.shape[0], groups * many, *[f + e for f, e in zip(whole, extra)]), x.dtype)
    for place in itertools.product(*map(range, x.shape[2:])):
        at = tuple(slice(p * by, p * by + (k - 1) * t + 1, t)
                   for p, by, k, t in zip(place, stride, w.shape[2:], dilation))
        for c in range(x.shape[1]):
            first = c // few * many
            y[(slice(None), slice(first, first + many)) + at] += \
                x[(slice(None), c) + place].reshape([-1] + [1] * (w.ndim - 1)) * w[c]
    return y[(slice(None), slice(None)) + tuple(slice(p, s - p) for p, s in zip(pads, y.shape[2:]))]


def pool(mean):
    def row(d):
        axes = d.integer(1, 2)
        kernel = [d.integer(1, 3) for _ in range(axes)]
        stride = [d.integer(1, 3) for _ in range(axes)]
        pads = [d.integer(0, k // 2) for k in kernel]
        size = [d.integer(max(1, k), 7) for k in kernel]
        count_pads = d.one([None, True, False])
        dtype = d.floats() if mean else d.one(NUMBERS)
        x = d.operand(dtype, d.shape(most=2, high=3, low=1) + tuple(size), "plain")
        a = x.wide
        outer = [(0, 0)] * (len(x.shape) - axes)
        lowest = -np.inf if dtype in FLOATS else np.iinfo(NUMPY[dtype]).min
        padded = np.pad(a, outer + [(p, p) for p in pads], constant_values=0 if mean else lowest)
        ones = np.pad(np.ones_like(a), outer + [(p, p) for p in pads])
        places = [(s + 2 * p - k) // by + 1 for s, p, k, by in zip(size, pads, kernel, stride)]
        lead = x.shape[:len(x.shape) - axes]
        y, bound = np.zeros(lead + tuple(places), a.dtype), np.zeros(lead + tuple(places), np.longdouble)
        spatial = tuple(range(len(lead), len(x.shape)))
        for place in itertools.product(*map(range, places)):
            at = (Ellipsis,) + tuple(slice(p * by, p * by + k) for p, by, k in zip(place, stride, kernel))
            here = (Ellipsis,) + place
            if not mean:
                y[here] = padded[at].max(axis=spatial)
                continue
            held = np.prod(kernel) if count_pads in (None, True) else ones[at].sum(axis=spatial)
            y[here] = padded[at].sum(axis=spatial) / held
            bound[here] = np.abs(padded[at]).sum(axis=spatial) / held
        attributes = dict(kernel=kernel, padding=listed(d, pads, 0), stride=stride)
        if not mean:
            return Case([x], Want(dtype, y, zeros=False), **attributes)
        bound = SUM_UNITS * work_unit(dtype) * bound + final(dtype, y)
        return Case([x], Want(dtype, y, bound, zeros=False), count_pads=count_pads, **attributes)
    return row


ROWS = {
    "sum": summed, "prod": product, "max": extreme(np.max, True), "min": extreme(np.min, True),
    "reduce_max": extreme(np.max, False), "reduce_min": extreme(np.min, False), "mean": mean_of,
    "any": truth(np.any), "all": truth(np.all), "argmax": position(np.argmax), "argmin": position(np.argmin),
    "minmax": minmax, "matmul": matmul, "einsum": einsum,
    "softmax": exponents(None, False), "log_softmax": exponents(None, True), "logsumexp": logsumexp,
    "var": variance(False), "std": variance(True), "layer_norm": normalised(True), "rms_norm": normalised(False),
    "conv": conv, "conv_transpose": conv_transpose, "max_pool": pool(False), "avg_pool": pool(True),
}
