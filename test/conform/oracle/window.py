"""Convolutions and pooling: window by window."""
import itertools

import numpy as np

from binding import NUMPY
from oracle.draw import Case, Want
from oracle.reduce import SUM_UNITS, contraction, factors, final, widened
from oracle.rules import FLOATS, NUMBERS, work_unit


def listed(d, values, default):
    """An attribute with one value for each spatial axis: a number where all are equal, left out where that is
    allowed."""
    if all(v == default for v in values) and d.chance(0.5):
        return None
    alike = len(set(values)) == 1
    return values[0] if alike and d.chance(0.5) else values


def conv(d):
    axes, groups = d.integer(1, 2), d.one([1, 1, 2])
    few, many = d.integer(1, 2), d.integer(1, 2)
    size = [d.integer(3, 7) for _ in range(axes)]
    kernel = [d.integer(1, 3) for _ in range(axes)]
    stride, dilation = ([d.one([1, 1, 2]) for _ in range(axes)] for _ in range(2))
    pads = [[d.integer(0, 2), d.integer(0, 2)] for _ in range(axes)]
    pads = [[a, b + max(0, (k - 1) * t + 1 - s - a - b)]  # room for at least one window
            for (a, b), k, t, s in zip(pads, kernel, dilation, size)]
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
    """For every place, the sum over the elements of the window."""
    places = [(s - (k - 1) * t - 1) // by + 1
              for s, k, t, by in zip(x.shape[2:], w.shape[2:], dilation, stride)]
    few, many = w.shape[1], w.shape[0] // groups
    y = np.zeros((x.shape[0], w.shape[0], *places), x.dtype)
    for place in itertools.product(*map(range, places)):
        at = tuple(slice(p * by, p * by + (k - 1) * t + 1, t)
                   for p, by, k, t in zip(place, stride, w.shape[2:], dilation))
        part = x[(slice(None), slice(None)) + at]
        for c in range(w.shape[0]):
            first = c // many * few
            whole = part[:, first:first + few] * w[c]
            y[(slice(None), c) + place] = whole.reshape(len(x), -1).sum(axis=1, dtype=x.dtype)
    return y


def conv_transpose(d):
    axes, groups = d.integer(1, 2), d.one([1, 1, 2])
    few, many = d.one([1, 2, 2, 40]), d.integer(1, 2)
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
    """Transposed convolution: each element adds itself times the weight to the places that it comes from."""
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
    "conv": conv, "conv_transpose": conv_transpose, "max_pool": pool(False), "avg_pool": pool(True),
}
