"""Reductions, products and compositions of them, by NumPy in a wider dtype, with the bounds that the
specification rules."""
import string

import numpy as np

from binding import NUMPY
from oracle.draw import Case, Want, ulps
from oracle.elementwise import extremum, in_dtype, rounded
from oracle.rules import ALL, FLOATS, accumulator, compute, float_of, promote, work_unit

SUM_UNITS = 128


def reduced(d, dtypes, low=0, kind="wrapping"):
    x = d.operand(d.one(dtypes), d.shape(low=low), kind)
    axes, written = d.axes(len(x.shape))
    keep = d.one([None, False, True])
    return x, axes, {"axes": written, "keepdims": keep}, {"axis": axes, "keepdims": bool(keep)}


def widened(x, dtype):
    """Elements in the dtype that NumPy computes with."""
    a = in_dtype(x, dtype)
    return a.astype(np.longdouble) if dtype in FLOATS else a


def final(dtype, y):
    """The part of a bound that is due to the last rounding, to a narrow float."""
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
    """Of one operand a reduction, of two elementwise."""
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


def arg_reduction(function):
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
    """Operands of one dtype or two, and the dtype of their product."""
    dtypes = [d.numbers()] * len(shapes)
    if d.chance(0.3):
        other = d.numbers()
        dtypes[0] = other if promote(other, dtypes[-1]) else dtypes[0]
    kind = "plain" if any(t in FLOATS for t in dtypes) else "wrapping"
    operands = [d.operand(t, s, kind) for t, s in zip(dtypes, shapes)]
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


EQUATIONS = ("ij,jk->ik ij,kj->ik bij,bjk->bik i,i-> i,j->ij ij->ji ij-> ii->i ii ij,j ij,jk,kl->il "
             "...ij,...jk->...ik bhqd,bhkd->bhqk ij,ij->ij ij,ij->j ijk->k iij->ij i...->...").split()


def einsum(d):
    equation = d.one(EQUATIONS)
    terms = equation.split("->")[0].split(",")
    sizes = {c: d.integer(1, 5) for c in string.ascii_letters}
    extra = tuple(d.integer(1, 3) for _ in range(d.integer(0, 2)))
    shapes = []
    for term in terms:
        before, dots, after = term.partition("...")
        before, after = (tuple(sizes[c] for c in part) for part in (before, after))
        shapes.append(before + (extra if dots else ()) + after)
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
    """Softmax and its logarithm: from x minus its maximum, and the sum of exponentials."""
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
        if below == 0:  # 0 / 0, whatever rounding makes of the dividend
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


ROWS = {
    "sum": summed, "prod": product, "max": extreme(np.max, True), "min": extreme(np.min, True),
    "reduce_max": extreme(np.max, False), "reduce_min": extreme(np.min, False), "mean": mean_of,
    "any": truth(np.any), "all": truth(np.all), "argmax": arg_reduction(np.argmax), "argmin": arg_reduction(np.argmin),
    "minmax": minmax, "matmul": matmul, "einsum": einsum,
    "softmax": exponents(None, False), "log_softmax": exponents(None, True), "logsumexp": logsumexp,
    "var": variance(False), "std": variance(True), "layer_norm": normalised(True),
    "rms_norm": normalised(False),
}
