"""Rows around products: matrices, convolutions, and what models put around them."""
import math

from oracle.rules import FLOATS, INTEGERS, NUMBERS
from storing.maker import Skip

SIZES = [1, 2, 4, 8, 12, 16, 17, 24, 32, 48, 49, 64, 77, 96, 100, 128, 144, 192, 196, 197, 256, 320, 333, 384, 512, 576, 640, 768, 960, 1000,
         1024, 1536, 2048, 3072]


def width(m, rows, terms):
    """A number of columns such that a product is of a usual cost."""
    most = max(1.0, min(m.target_ms / 4, 20 * m.target_ms / m.operations) * 2e7 / (rows * terms))
    return m.one([s for s in SIZES if s <= most] or [1])


def weight(m, x, columns):
    """A matrix of a number of columns, as a parameter, transposed or not."""
    k = x.shape[-1]
    if m.chance(0.3):
        return m.emit("permute", m.input(x.dtype, [columns, k], fan=k), order=[1, 0], keep=False)
    return m.input(x.dtype, [k, columns], fan=k)


def product(m):
    x = m.pick(NUMBERS, rank=(2, 3, 4), fits=lambda v: v.shape[-1] > 1)
    if m.chance(0.15):  # one row, or a few
        x = m.emit("shrink", x, bounds=[[0, s] for s in x.shape[:-2]] + [[0, min(x.shape[-2], m.one([1, 1, 4]))], [0, x.shape[-1]]], keep=False)
    rows, k = x.count // x.shape[-1], x.shape[-1]
    n = width(m, rows, k)
    y = m.emit("matmul", x, weight(m, x, n), products=rows * n * k)
    if y.dtype != x.dtype or y.dtype in INTEGERS:
        return
    if m.chance(0.5):
        y = m.emit("add", y, m.input(y.dtype, [n]))
    if m.chance(0.4):
        m.emit(m.one(["relu", "gelu", "tanh", "silu", "sigmoid"]), y)


def of_values(m):
    """A product of two values, the second transposed."""
    x = m.pick(NUMBERS, rank=(2, 3, 4), fits=lambda v: v.shape[-1] > 1)
    found = [v for v in m.values if v.dtype == x.dtype and v.rank in (2, x.rank) and v.shape[-1] == x.shape[-1] and
             (v.rank == 2 or v.shape[:-2] == x.shape[:-2])]
    y = m.one(found)
    order = list(range(y.rank))
    order[-1], order[-2] = order[-2], order[-1]
    t = m.emit("permute", y, order=order, keep=False)
    if m.chance(0.3) and x.dtype in FLOATS:
        t = m.emit("mul", t, m.one([0.125, 0.25]), keep=False)
    z = m.emit("matmul", x, t, products=x.count * y.shape[-2])
    if x.dtype in FLOATS:
        m.emit("mul", z, 1.0 / 2 ** round(math.log2(x.shape[-1]) / 2))


def attention(m):
    """Primitive operations, or the composition; heads split from the last axis."""
    x = m.pick(FLOATS, rank=(3,), fits=lambda v: v.shape[-1] % 4 == 0 and v.shape[-2] > 1)
    b, t, c = x.shape
    h = m.one([h for h in (1, 2, 4, 8, 12, 16) if c % h == 0])
    if c // h > 256:
        raise Skip
    m.afford(2 * b * t * t * c + 4 * b * t * c * c)
    q, k, v = (m.emit("add", m.emit("matmul", x, weight(m, x, c), products=b * t * c * c, keep=False), m.input(x.dtype, [c]), keep=False)
               if m.chance(0.7) else x for _ in range(3))
    split = [m.emit("reshape", a, shape=[b, t, h, c // h], keep=False) for a in (q, k, v)]
    q, k, v = (m.emit("permute", a, order=[0, 2, 1, 3], keep=False) for a in split)
    if m.chance(0.3):
        y = m.emit("attention", q, k, v, causal=True if m.chance(0.5) else None, products=2 * b * t * t * c, keep=False)
    else:
        kt = m.emit("permute", k, order=[0, 1, 3, 2], keep=False)
        scale, where = (c // h) ** -0.5, m.integer(0, 2)
        if where == 1:
            q, kt = (m.emit("mul", a, scale ** 0.5, keep=False) for a in (q, kt))
        s = m.emit("matmul", q, kt, products=b * t * t * c, keep=False)
        if where != 1:
            s = m.emit("mul", s, scale, keep=False)
        if m.chance(0.4):
            s = m.emit("add", s, m.input(x.dtype, [t, t]), keep=False)
        y = m.emit("matmul", m.emit("softmax", s, axis=-1, keep=False), v, products=b * t * t * c, keep=False)
    y = m.emit("reshape", m.emit("permute", y, order=[0, 2, 1, 3], keep=False), shape=[b, t, c], keep=False)
    y = m.emit("matmul", y, weight(m, y, c), products=b * t * c * c, keep=False)
    residual(m, x, y)


def residual(m, x, y):
    z = m.emit("add", x, y)
    if m.chance(0.6):
        c = x.shape[-1]
        z = m.emit("layer_norm", z, m.input(x.dtype, [c]), m.input(x.dtype, [c]), axis=-1)
    elif m.chance(0.3):
        z = m.emit("rms_norm", z, m.input(x.dtype, x.shape[-1:]))
    return z


def feed_forward(m):
    x = m.pick(FLOATS, rank=(2, 3), fits=lambda v: v.shape[-1] > 7)
    c, n = x.shape[-1], m.one([1, 2, 4]) * x.shape[-1]
    rows = x.count // c
    m.afford(2 * rows * c * n)
    h = m.emit("matmul", x, weight(m, x, n), products=rows * c * n, keep=False)
    if m.chance(0.7):
        h = m.emit("add", h, m.input(x.dtype, [n]), keep=False)
    act = m.one(["gelu", "relu", "silu", "gelu_tanh", "by hand"])
    if act == "by hand":  # gelu as models are exported
        e = m.emit("erf", m.emit("div", h, 1.4142135, keep=False), keep=False)
        h = m.emit("mul", m.emit("mul", h, m.emit("add", e, 1.0, keep=False), keep=False), 0.5, keep=False)
    else:
        h = m.emit(act, h, keep=False)
    if m.chance(0.2):
        h = m.emit("mul", h, m.emit("matmul", x, weight(m, x, n), products=rows * c * n, keep=False), keep=False)
    residual(m, x, m.emit("matmul", h, weight(m, h, c), products=rows * c * n, keep=False))


def gates(m):
    """A step of a recurrent cell: one row or a few, four gates."""
    x = m.pick(FLOATS, rank=(2,), fits=lambda v: v.shape[0] <= 32 and v.shape[1] >= 8)
    b, c = x.shape
    h = min(c, 256)
    z = m.emit("add", m.emit("matmul", x, weight(m, x, 4 * h), products=b * c * 4 * h, keep=False), m.input(x.dtype, [4 * h]), keep=False)
    i, f, g, o = m.emit("split", z, parts=4, axis=1, keep=False)
    i, f, o = (m.emit("sigmoid", a, keep=False) for a in (i, f, o))
    state = m.emit("add", m.emit("mul", f, m.input(x.dtype, [b, h]), keep=False), m.emit("mul", i, m.emit("tanh", g, keep=False), keep=False))
    m.emit("mul", o, m.emit("tanh", state, keep=False))


def image_of(m):
    return m.pick(NUMBERS, rank=(4,), fits=lambda v: v.shape[0] <= 8 and v.shape[2] == v.shape[3] <= 64 and v.shape[1] * v.shape[2] > 8)


def activated(m, y):
    if y.dtype not in FLOATS:
        return y
    how = m.integer(0, 4)
    if how == 0:
        return m.emit("relu", y)
    if how == 1:
        return m.emit("min", m.emit("max", y, 0.0, keep=False), 6.0)
    if how == 2:
        return m.emit("mul", y, m.emit("sigmoid", y, keep=False))
    if how == 3:
        c = y.shape[1]
        scale, shift = (m.input(y.dtype, [1, c, 1, 1]) for _ in range(2))
        return m.emit("relu", m.emit("add", m.emit("mul", y, scale, keep=False), shift, keep=False))
    return y


def convolved(m, x, out, kernel, stride=1, groups=1):
    b, c, n, _ = x.shape
    terms = c // groups * kernel * kernel
    side = (n + stride - 1) // stride
    w = m.input(x.dtype, [out, c // groups, kernel, kernel], fan=terms)
    bias = [m.input(x.dtype, [out])] if m.chance(0.5) and x.dtype in FLOATS else []
    return m.emit("conv", x, w, *bias, products=b * out * terms * side * side, stride=None if stride == 1 else stride,
                  padding=kernel // 2 or None, groups=None if groups == 1 else groups)


def pointwise(m):
    x = image_of(m)
    places = x.shape[0] * x.shape[2] ** 2
    activated(m, convolved(m, x, width(m, places, x.shape[1]), 1, m.one([1, 1, 1, 2])))


def full(m):
    x = image_of(m)
    places = x.shape[0] * x.shape[2] ** 2
    activated(m, convolved(m, x, width(m, places, 9 * x.shape[1]), 3, m.one([1, 1, 2])))


def depthwise(m):
    x = image_of(m)
    activated(m, convolved(m, x, x.shape[1], m.one([3, 3, 5]), m.one([1, 1, 2]), groups=x.shape[1]))


def inverted(m):
    """Wide 1×1, depthwise, narrow 1×1, added to what went in."""
    x = m.pick(FLOATS, rank=(4,), fits=lambda v: v.shape[0] <= 8 and v.shape[2] == v.shape[3] <= 64 and v.shape[1] >= 4)
    c = x.shape[1]
    m.afford(12 * x.count * c)
    y = activated(m, convolved(m, x, 6 * c if m.chance(0.5) else 4 * c, 1))
    y = activated(m, convolved(m, y, y.shape[1], 3, groups=y.shape[1]))
    m.emit("add", convolved(m, y, c, 1), x)


def bottleneck(m):
    x = m.pick(FLOATS, rank=(4,), fits=lambda v: v.shape[0] <= 8 and v.shape[2] == v.shape[3] <= 64 and v.shape[1] >= 8)
    c = x.shape[1]
    m.afford(x.count * c)
    y = activated(m, convolved(m, x, c // 4 if m.chance(0.7) else c, 1 if m.chance(0.7) else 3))
    y = activated(m, convolved(m, y, y.shape[1], 3))
    m.emit("relu", m.emit("add", convolved(m, y, c, 1), x, keep=False))


def pool(m):
    x = image_of(m)
    if x.shape[2] < 3:
        raise Skip
    k = m.one([2, 3])
    m.emit(m.one(["max_pool", "avg_pool"]), x, kernel=[k, k], stride=[m.one([1, 2]), 2], padding=[k // 2, k // 2] if m.chance(0.5) else None)


def squeeze(m):
    """A gate for each channel, from the mean of all places."""
    x = m.pick(FLOATS, rank=(4,))
    b, c = x.shape[:2]
    y = m.emit("mean", x, axes=[2, 3])
    y = m.emit("sigmoid", m.emit("matmul", y, weight(m, y, c), products=b * c * c, keep=False), keep=False)
    m.emit("mul", x, m.emit("reshape", y, shape=[b, c, 1, 1], keep=False))


def masked_product(m):
    """An operand that is padded, selected or gathered before it is multiplied."""
    x = m.pick(NUMBERS, rank=(2, 3), fits=lambda v: v.shape[-1] > 3 and v.shape[-2] > 1)
    how = m.integer(0, 3)
    if how == 0:
        y = m.emit("pad", x, pads=[[0, 0]] * (x.rank - 2) + [[1, 1], [0, 0]], keep=False)
    elif how == 1:
        y = m.emit("tril", x, keep=False)
    elif how == 2:
        y = m.emit("gather", x, m.input("i32", [x.shape[-2]]), axis=x.rank - 2, mode="clip", keep=False)
    else:
        y = m.emit("where", m.emit("gt", x, 0.25 if x.dtype in FLOATS else 5, keep=False), x, 0.0 if x.dtype in FLOATS else 0, keep=False)
    rows, k = y.count // y.shape[-1], y.shape[-1]
    n = width(m, rows, k)
    m.emit("matmul", y, weight(m, y, n), products=rows * n * k)


def quantized(m):
    """A product of narrow integers, between casts."""
    x = m.pick(FLOATS, rank=(2, 3), fits=lambda v: v.shape[-1] > 7)
    to = m.one(["i8", "u8", "i16"])
    q = m.emit("cast", m.emit("clip", m.emit("mul", x, 20.0, keep=False), low=-100.0 if to != "u8" else 0.0, high=100.0, keep=False), dtype=to,
               keep=False)
    rows, k = x.count // x.shape[-1], x.shape[-1]
    n = width(m, rows, k)
    y = m.emit("matmul", q, m.input(to, [k, n], fan=k), products=rows * n * k, keep=False)
    m.emit("mul", m.emit("cast", y, dtype=x.dtype, keep=False), 1.0 / 1024 / max(1, round(math.sqrt(k))))


# first parameters

def tokens(m):
    b = m.one([1, 1, 1, 2, 4])
    c = m.one([s for s in (16, 32, 64, 96, 128, 192, 256, 384, 512, 768) if s <= max(16, m.usual // 4)])
    m.source(m.main, [b, m.size(max(1, m.usual // (b * c))), c])


def image(m):
    side = m.one([s for s in (4, 7, 8, 14, 16, 28, 32, 56) if s * s <= max(16, m.usual)])
    m.source(m.main, [m.one([1, 1, 2]), m.size(max(1, m.usual // (side * side))), side, side])


def table(m):
    n = m.size(max(1, int(m.usual ** m.random.uniform(0.1, 0.9))))
    m.source(m.main, [n, m.size(max(1, m.usual // n))])


def row(m):
    m.source(m.main, [m.one([1, 1, 4, 8]), m.size(min(m.usual, 2048))])


def line(m):
    m.source(m.main, [m.size(m.usual)])


def cube(m):
    a, b = m.size(max(1, int(m.usual ** 0.3))), m.size(max(1, int(m.usual ** 0.35)))
    m.source(m.main, [a, b, m.size(max(1, m.usual // (a * b)))])


BLOCKS = {product: 8, of_values: 3, attention: 5, feed_forward: 5, gates: 2, pointwise: 4, full: 3, depthwise: 3, inverted: 3, bottleneck: 3,
          pool: 2, squeeze: 2, masked_product: 3, quantized: 2}
STARTS = [tokens, tokens, image, image, table, row, line, cube]
