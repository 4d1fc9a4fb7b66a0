"""Convolutions and pooling."""
import numpy as np

from graphs.maker import FLOATS, NUMBERS, Skip
from graphs.reference import UNKNOWN, Ref, fit, rounding, settled, work
from graphs.rows_reduce import SUM_UNITS, contracted, wide
from graphs.sizes import number, product, quotient
from oracle.rules import accumulator
from oracle.window import correlate, spread

FEW = 700


def places(size, before, after, extent, stride):
    """The number of windows, at least one for all sizes."""
    whole = size + before + after - extent
    if whole.low < 0:
        raise Skip
    return quotient(whole, stride) + 1


def listed(values):
    return "[" + ",".join(str(v) for v in values) + "]"


def image(g, axes, dtypes):
    """A value with a batch, few channels and so many spatial axes."""
    def good(v):
        return v.shape[1].const in (1, 2, 3, 4) and all(product(v.shape).at(env) <= FEW for env in g.graph.envs)
    found = [v for v in g.values if v.dtype in dtypes and v.rank == axes + 2 and good(v)]
    if found and g.chance(0.7):
        return g.one(found)
    x = g.input(g.dtype([t for t in ("f32", "f32", "f64", "f16", "i32") if t in dtypes]),
                (g.size(), number(g.one([1, 2, 2, 4]))) + tuple(g.size() for _ in range(axes)))
    if not good(x):
        raise Skip
    return x


def conv(g):
    axes = g.integer(1, 2)
    x = image(g, axes, NUMBERS)
    channels = x.shape[1].const
    groups = g.one([k for k in (1, 1, 2) if channels % k == 0])
    few, many = channels // groups, g.integer(1, 2)
    kernel = [g.integer(1, 3) for _ in range(axes)]
    stride, dilation = ([g.one([1, 1, 2]) for _ in range(axes)] for _ in range(2))
    pads = [[g.integer(0, 2), g.integer(0, 2)] for _ in range(axes)]
    spatial = [places(s, a, b, (k - 1) * t + 1, by)
               for s, (a, b), k, t, by in zip(x.shape[2:], pads, kernel, dilation, stride)]
    shape = (x.shape[0], number(groups * many)) + tuple(spatial)
    g.room(shape)
    if any(product(shape).at(env) > FEW for env in g.graph.envs):
        raise Skip
    w = g.like(x.dtype, tuple(number(k) for k in [groups * many, few] + kernel))
    bias = [g.like(x.dtype, (number(groups * many),))] if g.chance(0.4) else []
    dtype = accumulator(x.dtype)

    def made(env, *refs):
        def f(a, b, *c):
            if not a.shape[0]:
                return np.zeros([0, groups * many] + [s.at(env) for s in spatial], a.dtype)
            y = correlate(np.pad(a, [(0, 0), (0, 0)] + pads), b, stride, dilation, groups)
            return y + c[0].reshape([-1] + [1] * axes) if c else y
        return contracted(dtype, f, refs, few * int(np.prod(kernel)) + 1)
    g.emit("conv", [x, w] + bias, {"stride": listed(stride), "dilation": listed(dilation), "groups": groups,
                                   "padding": str(pads).replace(" ", "")}, made, (dtype, shape))


def conv_transpose(g):
    axes = g.integer(1, 2)
    x = image(g, axes, NUMBERS)
    if any(s.low < 1 for s in x.shape[2:]):
        raise Skip
    channels = x.shape[1].const
    groups = g.one([k for k in (1, 1, 2) if channels % k == 0])
    many = g.integer(1, 2)
    kernel = [g.integer(1, 3) for _ in range(axes)]
    stride, dilation = ([g.one([1, 2, 2]) for _ in range(axes)] for _ in range(2))
    extra = [g.integer(0, max(s, t) - 1) if g.chance(0.3) else 0 for s, t in zip(stride, dilation)]
    whole = [(s - 1) * by + ((k - 1) * t + 1) for s, by, k, t in zip(x.shape[2:], stride, kernel, dilation)]
    pads = [g.integer(0, 1) if f.low > 3 else 0 for f in whole]
    spatial = [f + e - 2 * p for f, e, p in zip(whole, extra, pads)]
    shape = (x.shape[0], number(groups * many)) + tuple(spatial)
    g.room(shape)
    if any(product(shape).at(env) > FEW for env in g.graph.envs):
        raise Skip
    w = g.like(x.dtype, tuple(number(k) for k in [channels, many] + kernel))
    dtype = accumulator(x.dtype)

    def made(env, *refs):
        def f(a, b):
            if not a.shape[0]:
                return np.zeros([0, groups * many] + [s.at(env) for s in spatial], a.dtype)
            return spread(a, b, stride, dilation, [s.at(env) for s in whole], extra, pads, groups)
        y = contracted(dtype, f, refs, channels * int(np.prod(kernel)))
        # zeros lie between the elements of x, and are multiplied by weights that may be infinite
        return y if np.all(np.isfinite(refs[1].a)) else Ref(y.a, np.full(y.a.shape, UNKNOWN))
    g.emit("conv_transpose", [x, w], {"stride": listed(stride), "dilation": listed(dilation), "groups": groups,
                                      "padding": listed(pads), "output_padding": listed(extra)}, made, (dtype, shape))


def pool(g):
    mean = g.chance(0.5)
    axes = g.integer(1, 2)
    dtypes = FLOATS if mean else NUMBERS
    x = g.operand(dtypes, least=axes, most=4)
    kernel = [g.integer(1, 3) for _ in range(axes)]
    stride = [g.integer(1, 3) for _ in range(axes)]
    pads = [g.integer(0, k // 2) for k in kernel]
    outer = x.rank - axes
    if any(s.low < k for s, k in zip(x.shape[outer:], kernel)):
        raise Skip
    spatial = [places(s, p, p, k, by) for s, p, k, by in zip(x.shape[outer:], pads, kernel, stride)]
    shape = x.shape[:outer] + tuple(spatial)
    count_pads = g.one([None, "false"]) if mean else None

    def windows(a, fill):
        """The elements of each window along a last axis."""
        a = np.pad(a, [(0, 0)] * outer + [(p, p) for p in pads], constant_values=fill)
        for k, (extent, by) in enumerate(zip(kernel, stride)):
            a = np.lib.stride_tricks.sliding_window_view(a, extent, outer + k)
            a = a[tuple([slice(None)] * (outer + k) + [slice(None, None, by)])]
        return a.reshape(a.shape[:x.rank] + (int(np.prod(kernel)),))

    def made(_, r):
        if not mean:
            lowest = -np.inf if x.dtype in FLOATS else np.iinfo(r.a.dtype).min
            a = np.max(windows(r.a, lowest), -1)
            if r.e is None:
                return Ref(a)
            e = np.max(windows(np.broadcast_to(r.e, r.a.shape), 0.0), -1)
            if x.dtype not in FLOATS:
                return Ref(a, e)
            return settled(x.dtype, a, np.where(np.isnan(a.astype(np.float64)), UNKNOWN, e))
        a, e = wide(r)
        held = np.prod(kernel) if count_pads is None else np.sum(windows(np.ones_like(a), 0.0), -1)
        y = np.sum(windows(a, 0.0), -1) / held
        size = np.sum(windows(np.abs(a) + e, 0.0), -1) / held
        bound = np.sum(windows(e, 0.0), -1) / held + (SUM_UNITS + 2) * work(x.dtype) * size + \
            2 * rounding(x.dtype, size)
        return settled(x.dtype, fit(x.dtype, y), np.where(np.isfinite(y), bound, UNKNOWN))
    g.emit("avg_pool" if mean else "max_pool", [x],
           {"kernel": listed(kernel), "stride": listed(stride), "padding": listed(pads), "count_pads": count_pads},
           made, (x.dtype, shape))


ROWS = [(2, conv), (1, conv_transpose), (2, pool)]
