"""What random graphs are made of. A row picks operands among the values that are there, and records some operations."""
import math

from oracle.rules import ALL, FLOATS, INTEGERS, NUMBERS
from storing.blocks import BLOCKS, STARTS
from storing.maker import Skip

BOUNDED = ["tanh", "sigmoid", "erf", "sin", "cos", "atan"]
GROWING = ["relu", "silu", "gelu", "gelu_tanh", "abs", "neg", "leaky_relu", "elu", "softplus", "square"]


# elementwise

def function(m):
    x = m.pick(FLOATS)
    for _ in range(m.integer(1, 3)):
        x = m.emit(m.one(BOUNDED + GROWING[:6]), x)


def root(m):
    x = m.pick(FLOATS)
    a = m.emit("square", x, keep=False)
    m.emit(m.one(["sqrt", "rsqrt", "log"]), m.emit("add", a, 0.5, keep=False))


def exponential(m):
    m.emit(m.one(["exp", "exp2"]), m.emit("min", m.pick(FLOATS), 1.0, keep=False))


def two(m):
    x = m.pick(NUMBERS)
    y = m.like(x)
    if x.dtype in FLOATS:
        z = m.emit(m.one(["add", "add", "sub", "mul", "max", "min"]), x, y)
        if m.chance(0.3):
            m.emit("mul", z, 0.5)
        return
    m.emit(m.one(["add", "sub", "mul", "max", "min", "and", "or", "xor"]), x, y)


def quotient(m):
    x = m.pick(FLOATS)
    m.emit("div", x, m.emit("add", m.emit("abs", m.like(x), keep=False), 1.0, keep=False))


def with_constant(m):
    x = m.pick(NUMBERS)
    if x.dtype in FLOATS:
        m.emit(m.one(["add", "mul", "sub", "max"]), x, m.one([0.5, 0.125, 0.0, 1.0]))
    else:
        m.emit(m.one(["add", "mul", "max", "and"]), x, m.integer(1, 9))


def with_vector(m):
    """A bias or a scale along one axis."""
    x = m.pick(NUMBERS, rank=(1, 2, 3, 4, 5))
    k = m.one([x.rank - 1, x.rank - 1, min(1, x.rank - 1), 0])
    v = m.input(x.dtype, [x.shape[k]] + [1] * (x.rank - 1 - k))
    m.emit(m.one(["add", "mul", "sub"]), x, v)


def choice(m):
    x = m.pick(NUMBERS)
    how = m.integer(0, 2)
    if how == 0:
        c = m.emit(m.one(["gt", "le"]), x, m.like(x), keep=False)
    elif how == 1:
        c = m.input("bool", x.shape[-1:])
    else:
        i = m.emit("iota", shape=list(x.shape), axis=m.integer(0, x.rank - 1) if x.rank else 0, dtype="i32", keep=False)
        c = m.emit("lt", i, max(1, max(x.shape) // 3), keep=False)
    m.emit("where", c, x, m.like(x) if m.chance(0.5) else (0.0 if x.dtype in FLOATS else 0))


def chain(m):
    """A chain with shared subexpressions."""
    x = m.pick(FLOATS)
    parts = [x]
    for _ in range(m.integer(3, 9)):
        a, b = m.one(parts[-3:]), m.one(parts)
        parts.append(m.emit(m.one(BOUNDED), a, keep=False) if m.chance(0.4) else
                     m.emit(m.one(["add", "mul", "sub", "max", "min"]), a, b, keep=False))
    m.emit("mul", parts[-1], 0.5)


def integers(m):
    x = m.pick(INTEGERS)
    y = m.emit("shr", x, m.integer(1, 3)) if m.chance(0.3) else m.emit("and", x, m.one([15, 63]))
    if m.chance(0.5):
        m.emit(m.one(["mul", "add", "xor"]), y, x)


def cast(m):
    x = m.pick(ALL)
    to = m.one([d for d in NUMBERS if d != x.dtype])
    if to in INTEGERS and x.dtype in FLOATS:
        x = m.emit("mul", x, 20.0, keep=False)
    y = m.emit("cast", x, dtype=to)
    if to in FLOATS and x.dtype in INTEGERS:
        m.emit("mul", y, 0.0625)


# views

def permute(m):
    x = m.pick(ALL, rank=(2, 3, 4, 5))
    order = list(range(x.rank))
    if m.chance(0.5):
        order[-1], order[-2] = order[-2], order[-1]
    else:
        m.random.shuffle(order)
    m.emit("permute", x, order=order)


def factors(m, n):
    found = [d for d in range(2, n) if n % d == 0 and d <= 512]
    if not found:
        raise Skip
    d = m.one(found)
    return [d, n // d]


def reshape(m):
    x = m.pick(ALL, rank=(1, 2, 3, 4, 5))
    shape = list(x.shape)
    for _ in range(m.integer(1, 2)):
        k = m.integer(0, len(shape) - 1)
        if m.chance(0.5) and k + 1 < len(shape):
            shape[k:k + 2] = [shape[k] * shape[k + 1]]
        elif len(shape) < 5:
            shape[k:k + 1] = factors(m, shape[k])
    m.emit("reshape", x, shape=shape)


def heads(m):
    """An axis split, and half of it moved forward."""
    x = m.pick(ALL, rank=(2, 3, 4))
    x = m.emit("reshape", x, shape=list(x.shape[:-1]) + factors(m, x.shape[-1]), keep=False)
    order = list(range(x.rank))
    order.insert(m.integer(0, x.rank - 3) if x.rank > 3 else 0, order.pop(-2))
    if m.chance(0.3):
        order[-1], order[-2] = order[-2], order[-1]
    m.emit("permute", x, order=order)


def window(m):
    x = m.pick(ALL, rank=(1, 2, 3, 4))
    k = m.integer(0, x.rank - 1)
    n = x.shape[k]
    low = m.integer(0, n // 2)
    bounds = [[0, s] for s in x.shape]
    bounds[k] = [low, m.integer(low + 1, n)] if m.chance(0.5) else [0, max(1, n // 2)]
    m.emit("shrink", x, bounds=bounds)


def halves(m):
    """Gates: an axis split into parts, of which each goes a way of its own."""
    x = m.pick(ALL, rank=(1, 2, 3, 4), fits=lambda v: any(s % 2 == 0 for s in v.shape))
    k = m.one([k for k, s in enumerate(x.shape) if s % 2 == 0])
    a, b = m.emit("split", x, parts=2, axis=k)
    if x.dtype in FLOATS and m.chance(0.7):
        m.emit("mul", m.emit("sigmoid", a, keep=False), m.emit(m.one(["tanh", "neg", "relu"]), b, keep=False))


def pad(m):
    x = m.pick(ALL, rank=(1, 2, 3, 4))
    mode = m.one(["constant", "constant", "edge", "reflect", "wrap"])
    m.emit("pad", x, pads=[[m.integer(0, 2), m.integer(0, 2)] if s > 3 else [0, 0] for s in x.shape],
           mode=None if mode == "constant" else mode)


def flip(m):
    x = m.pick(ALL, rank=(1, 2, 3, 4))
    m.emit("flip", x, axes=[m.integer(0, x.rank - 1)])


def stride(m):
    x = m.pick(ALL, rank=(1, 2, 3, 4), least=16)
    m.emit("stride", x, steps=[m.one([1, 1, 2, -1, 3]) if s > 4 else 1 for s in x.shape])


def expand(m):
    x = m.pick(ALL, rank=(1, 2, 3, 4), fits=lambda v: 1 in v.shape)
    k = m.one([k for k, s in enumerate(x.shape) if s == 1])
    shape = list(x.shape)
    shape[k] = m.size(max(2, m.usual // x.count))
    m.emit("expand", x, shape=shape)


def join(m):
    x = m.pick(ALL, rank=(1, 2, 3, 4))
    m.emit("concat", *[m.like(x) if k else x for k in range(m.integer(2, 4))], axis=m.integer(0, x.rank - 1))


def around(m):
    """A rotation, as of position encodings: halves swapped, one negated."""
    x = m.pick(FLOATS, rank=(2, 3, 4), fits=lambda v: v.shape[-1] % 2 == 0)
    a, b = m.emit("split", x, parts=2, axis=x.rank - 1, keep=False)
    r = m.emit("concat", m.emit("neg", b, keep=False), a, axis=x.rank - 1, keep=False)
    c, s = (m.input(x.dtype, x.shape[-2:]) for _ in range(2))
    m.emit("add", m.emit("mul", x, c, keep=False), m.emit("mul", r, s, keep=False))


# reductions

def axes_of(m, x):
    axes = sorted(m.random.sample(range(x.rank), m.integer(1, x.rank))) if m.chance(0.4) else [m.one([x.rank - 1, 0, m.integer(0, x.rank - 1)])]
    return axes, math.prod(x.shape[k] for k in axes)


def reduction(m):
    x = m.pick(NUMBERS, rank=(1, 2, 3, 4))
    axes, terms = axes_of(m, x)
    op = m.one(["sum", "max", "min", "mean", "sum", "logsumexp", "var"] if x.dtype in FLOATS else ["sum", "max", "min"])
    keep = m.chance(0.6)
    y = m.emit(op, x, axes=axes, keepdims=keep)
    if op == "sum" and x.dtype in FLOATS:
        y = m.emit("mul", y, 1.0 / 2 ** round(math.log2(terms) / 2))
    if keep and m.chance(0.6) and y.dtype == x.dtype:
        m.emit(m.one(["sub", "add", "mul", "max"]), x, y)


def few_products(m):
    x = m.pick(NUMBERS, rank=(2, 3, 4), fits=lambda v: min(v.shape) <= 16)
    m.emit("prod", x, axes=[x.shape.index(min(x.shape))])


def normalised(m):
    x = m.pick(FLOATS, rank=(1, 2, 3, 4))
    how = m.integer(0, 4)
    if how == 0:
        m.emit(m.one(["softmax", "log_softmax"]), x, axis=m.one([x.rank - 1, 0]))
    elif how == 1:
        m.emit("layer_norm", x, m.input(x.dtype, x.shape[-1:]), m.input(x.dtype, x.shape[-1:]), axis=-1)
    elif how == 2:
        m.emit("rms_norm", x, m.input(x.dtype, x.shape[-1:]), axis=-1)
    else:
        axes, _ = axes_of(m, x)
        mean = m.emit("mean", x, axes=axes, keepdims=True, keep=False)
        c = m.emit("sub", x, mean, keep=False)
        v = m.emit("mean", m.emit("mul", c, c, keep=False), axes=axes, keepdims=True, keep=False)
        m.emit("mul", c, m.emit("rsqrt", m.emit("add", v, 1e-5, keep=False), keep=False))


def position(m):
    x = m.pick(NUMBERS, rank=(1, 2, 3, 4))
    axis = m.integer(0, x.rank - 1)
    i = m.emit(m.one(["argmax", "argmin"]), x, axis=axis, keepdims=True)
    if m.chance(0.6):
        m.emit("take_along_axis", x, i, axis=axis, mode="clip")


# in order

def cumulative(m):
    x = m.pick(NUMBERS, rank=(1, 2, 3))
    axis = m.integer(0, x.rank - 1)
    op = m.one(["cumsum", "cumsum", "cummax", "cummin"])
    if op == "cumsum" and x.dtype in FLOATS:
        x = m.emit("mul", x, 1.0 / 2 ** round(math.log2(x.shape[axis])), keep=m.chance(0.3))
    y = m.emit(op, x, axis=axis, reverse=True if m.chance(0.2) else None)
    if m.chance(0.4) and y.dtype == x.dtype:
        m.emit("sub", y, x)


def sort(m):
    x = m.pick(NUMBERS, rank=(1, 2, 3), fits=lambda v: v.count <= 65536)
    axis = m.integer(0, x.rank - 1)
    m.ms += x.count * 20 / 1e6
    how = m.integer(0, 2)
    if how == 0:
        m.emit("sort", x, axis=axis)
    elif how == 1:
        m.emit("take_along_axis", x, m.emit("argsort", x, axis=axis), axis=axis, mode="clip")
    else:
        m.emit("topk", x, k=min(x.shape[axis], m.integer(1, 8)), axis=axis)


def gather(m):
    x = m.pick(NUMBERS, rank=(1, 2, 3, 4))
    axis = m.integer(0, x.rank - 1)
    old = [v for v in m.values if v.dtype in ("i32", "i64") and v.rank in (1, 2)]
    most = max(1, m.usual // max(1, x.count // x.shape[axis]))
    i = m.one(old) if old and m.chance(0.3) else m.input(m.one(["i32", "i64"]), [m.size(most)])
    m.emit("gather", x, i, axis=axis, mode=m.one(["clip", "fill"]))


def scatter(m):
    x = m.pick(NUMBERS, rank=(1, 2, 3))
    i = m.input("i32", [m.size(max(1, x.shape[0] // 2))])
    u = m.pick([x.dtype], rank=(x.rank,), fits=lambda v: v.shape[1:] == x.shape[1:] and v is not x)
    if u.shape[0] < i.shape[0]:
        raise Skip
    u = m.emit("shrink", u, bounds=[[0, i.shape[0]]] + [[0, s] for s in u.shape[1:]], keep=False)
    m.emit(m.one(["scatter", "scatter_add", "scatter_add"]), x, i, u, axis=0, mode="clip")


def patch(m):
    x = m.pick(NUMBERS, rank=(1, 2, 3))
    u = m.emit("mul", m.emit("shrink", x, bounds=[[0, max(1, s // 2)] for s in x.shape], keep=False), 2, keep=False)
    m.emit("slice_update", x, u, start=[m.integer(0, s - max(1, s // 2)) for s in x.shape])


ROWS = {function: 6, root: 2, exponential: 2, two: 10, quotient: 2, with_constant: 5, with_vector: 6, choice: 4, chain: 4, integers: 3, cast: 3,
        permute: 5, reshape: 4, heads: 4, window: 3, halves: 3, pad: 3, flip: 2, stride: 2, expand: 3, join: 3, around: 2,
        reduction: 6, few_products: 1, normalised: 6, position: 2, cumulative: 2, sort: 1, gather: 3, scatter: 2, patch: 1, **BLOCKS}
