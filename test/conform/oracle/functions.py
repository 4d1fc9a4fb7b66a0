"""Activations, attention and random numbers."""
import math

import numpy as np

from binding import NUMPY, Typed
from oracle import elementwise
from oracle.draw import Case, Want, ulps
from oracle.elementwise import exactly, in_dtype, of_float, rounded, sigmoid
from oracle.reduce import SUM_UNITS, factors, final
from oracle.rules import ALL, FLOATS, INTEGERS, NUMBERS, compute, float_of, spacing, work_unit


def inverse_erf(v):
    """Newton's method on the complement, which is accurate where erf is nearly 1."""
    v = float(v)
    if not abs(v) < 1:
        return math.copysign(math.inf, v) if abs(v) == 1 else math.nan
    if abs(v) < 1e-8:
        return v * math.sqrt(math.pi) / 2
    rest, z = 1 - abs(v), min(abs(v), 0.9)
    for _ in range(60):
        off = math.erfc(z) - rest if abs(v) > 0.5 else abs(v) - math.erf(z)
        step = off * math.sqrt(math.pi) / 2 * math.exp(z * z)
        z += max(min(step, 0.5), -0.5)
        if abs(step) < 1e-17 * z:
            break
    return math.copysign(z, v)


def inverse_erf_of(a):
    return np.vectorize(inverse_erf, otypes=[np.float64])(a).astype(a.dtype)


def erfinv(d):
    """Mostly within its domain."""
    if d.whole or d.chance(0.2):
        return of_float(inverse_erf_of, (2.51, 6))(d)
    dtype = d.floats()
    a = d.random.uniform(-1, 1, d.shape()) ** d.one([1, 9])
    x = d.hold(rounded(dtype, np.asarray(a, compute(dtype))))
    y = inverse_erf_of(x.a.astype(np.float64)).astype(np.longdouble)
    return Case([x], Want(dtype, y, ulps(dtype, y, {"f32": 2.51, "f64": 6}.get(dtype, 0.51))))


def composed(function, spread, factor=0):
    """A function of floats in several roundings: spread(x, y) bounds these, in units of the dtype computed
    in. factor: the error, in least numbers, of a factor that x is multiplied by."""
    def row(d, **attributes):
        x = d.operand(d.dtype(FLOATS if d.whole else ALL), d.shape(), "plain")
        dtype = float_of(x.dtype)
        a = in_dtype(x, dtype).astype(np.longdouble)
        y = function(a, **attributes)
        least = spacing("f64" if dtype == "f64" else "f32", 0)
        bound = work_unit(dtype) * spread(a, y) + factor * least * np.abs(a) + final(dtype, y)
        return Case([x], Want(dtype, y, bound, zeros=False), **attributes)
    return row


def gelu(d):
    approximate = d.one([None, "tanh", "none"])
    case = GELU[approximate == "tanh"](d)
    case.attributes["approximate"] = approximate
    return case


GELU = (elementwise.ROWS["gelu_erf"], elementwise.ROWS["gelu_tanh"])


def drawn(row, **choices):
    """One of each list of values for each attribute; None leaves it out."""
    return lambda d: row(d, **{k: v for k, v in ((k, d.one(list(vs))) for k, vs in choices.items())
                               if v is not None})


def leaky(a, alpha=0.01):
    return np.where(a > 0, a, a * alpha)


def elu(a, alpha=1.0):
    return np.where(a > 0, a, alpha * np.expm1(a))


def square(d):
    x = d.operand(d.dtype(NUMBERS), d.shape())
    return Case([x], Want(x.dtype, rounded(x.dtype, x.a * x.a)))


def sign(d):
    x = d.operand(d.dtype(NUMBERS), d.shape())
    return Case([x], Want(x.dtype, rounded(x.dtype, np.sign(x.a)), zeros=False))


def clip(d):
    x = d.operand(d.dtype(NUMBERS), d.shape())
    low = None if d.chance(0.3) else d.integer(0, 3) if x.dtype in INTEGERS else d.integer(-6, 0) / 2
    high = None if d.chance(0.3) else d.integer(3, 9) if x.dtype in INTEGERS else d.integer(0, 6) / 2
    y = x.a if low is None else np.maximum(x.a, x.a.dtype.type(low))
    y = y if high is None else np.minimum(y, x.a.dtype.type(high))
    return Case([x], Want(x.dtype, rounded(x.dtype, y), zeros=False), low=low, high=high)


def attention(d):
    """Softmax of products of queries and keys, times values; queries without keys give 0."""
    n, m, width, out = d.integer(1, 5), d.integer(1, 5), d.integer(1, 4), d.integer(1, 4)
    batch = [s[-2:] for s in d.broadcast(2)]
    operands, _ = factors(d, batch[0] + (n, width), batch[1] + (m, width), batch[1] + (m, out))
    dtype = operands[0].dtype
    if any(x.dtype != dtype or x.dtype not in FLOATS for x in operands):
        dtype = d.floats()
        operands = [d.operand(dtype, x.shape, "plain") for x in operands]
    q, k, v = (x.wide for x in operands)
    scale, causal = d.one([None, 0.5, 0.25]), d.one([None, False, True])
    factor = np.longdouble(scale or 1 / np.sqrt(np.longdouble(width)))
    u = work_unit(dtype)
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * factor
    off = (width + 3) * u * np.matmul(np.abs(q), np.abs(np.swapaxes(k, -1, -2))) * factor
    if d.chance(0.5):
        mask = d.operand(d.one(["bool", dtype]), d.one([(n, m), (1, m), (m,), (n, 1)]), "plain")
        operands.append(mask)
        scores = np.where(mask.a, scores, -np.inf) if mask.dtype == "bool" else scores + mask.wide
        off = off + u * np.abs(np.where(np.isfinite(scores), scores, 0))
    if causal:
        scores = np.where(np.arange(m) <= np.arange(n)[:, None], scores, -np.inf)
    top = np.max(scores, -1, keepdims=True)
    e = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = np.sum(e, -1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    less = np.where(e > 0, np.abs(scores - np.where(np.isinf(top), 0, top)), 0)
    relative = 4 * np.max(np.broadcast_to(off, scores.shape), -1, keepdims=True) + \
        u * (2 * np.max(less, -1, keepdims=True) + SUM_UNITS + m + 8)
    y = np.matmul(p, v)
    bound = relative * np.matmul(p, np.abs(v)) + final(dtype, y)
    return Case(operands, Want(dtype, y, bound, zeros=False), scale=scale, causal=causal)


# Threefry-2x32 with 20 rounds, from its publication.
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key, counter):
    k = [np.asarray(v, np.uint32) for v in key]
    k.append(k[0] ^ k[1] ^ np.uint32(0x1BD11BDA))
    x = [np.asarray(counter[0], np.uint32) + k[0], np.asarray(counter[1], np.uint32) + k[1]]
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            x[0] = x[0] + x[1]
            x[1] = (x[1] << np.uint32(turn) | x[1] >> np.uint32(32 - turn)) ^ x[0]
        x[0] = x[0] + k[(group + 1) % 3]
        x[1] = x[1] + k[(group + 2) % 3] + np.uint32(group + 1)
    return x


def threefry_row(d):
    operands = [d.operand("u32", s) for s in d.broadcast(4)]
    shape = np.broadcast_shapes(*[x.shape for x in operands])
    a = [np.atleast_1d(np.broadcast_to(x.a, shape)) for x in operands]  # NumPy's scalars warn when they wrap
    return Case(operands, [Want("u32", w.reshape(shape)) for w in threefry(a[:2], a[2:])])


def seeded(d):
    """A seed, as an operand or an attribute."""
    seed = d.one([0, 1, 7, 2 ** 32 + 5, -1, 2 ** 63 - 1])
    dtype = d.one(["i64", "u64"])
    if d.chance(0.5):
        return [], {"seed": seed}, seed
    x = d.hold(Typed(np.array(seed % 2 ** 64, np.uint64).astype(NUMPY[dtype])))
    return [x], {}, seed


def steps(seed, count, wide):
    """The integer k of each element: 24 bits of its word, or 53 bits of both words of its counter."""
    seed %= 2 ** 64
    i = np.arange(count, dtype=np.uint64)
    at = i if wide else i >> np.uint64(1)
    key = [np.full(count, seed & 0xFFFFFFFF, np.uint32), np.full(count, seed >> 32, np.uint32)]
    first, second = threefry(key, [at.astype(np.uint32), (at >> np.uint64(32)).astype(np.uint32)])
    if wide:
        return ((second.astype(np.uint64) << np.uint64(32)) + first) >> np.uint64(11)
    return np.where(i & np.uint64(1), second, first) >> np.uint32(8)


def uniform(d):
    operands, attributes, seed = seeded(d)
    shape, dtype = d.shape(), d.one(FLOATS)
    low, high = d.one([(None, None), (None, None), (-1.5, 2.5), (None, 3.0)])
    wide = dtype == "f64"
    number = np.float64 if wide else np.float32
    u = steps(seed, int(np.prod(shape)), wide).astype(number) * number(2.0 ** (-53 if wide else -24))
    a, b = number(low or 0), number(1 if high is None else high)
    y = a + u * (b - a)
    y = rounded(dtype, y).wide().astype(number)
    limit = Typed(np.array(b, number)) if dtype in ("f32", "f64") else rounded(dtype, np.array(b))
    y = np.where(y >= b, below(dtype, limit), y)
    return Case(operands, Want(dtype, y.reshape(shape)), shape=shape, low=low, high=high, dtype=dtype,
                **attributes)


def below(dtype, typed):
    """The next number below, in the dtype."""
    width = typed.array.dtype.itemsize * 8
    bits = typed.array.view(NUMPY[f"u{width}"])
    less = bits - 1 if typed.wide() > 0 else bits + 1
    return Typed(less.astype(bits.dtype).view(typed.array.dtype), dtype).wide()


def normal(d):
    operands, attributes, seed = seeded(d)
    shape, dtype = d.shape(), d.one(FLOATS)
    mean, std = d.one([(None, None), (2.0, 0.5), (None, 3.0)])
    wide = dtype == "f64"
    bits = 53 if wide else 24
    k = steps(seed, int(np.prod(shape)), wide).astype(np.longdouble)
    v = (2 * k + 1) * np.longdouble(2.0) ** -bits - 1
    z = np.sqrt(np.longdouble(2)) * inverse_erf_of(v).astype(np.longdouble)
    y = (np.longdouble(mean or 0) + np.longdouble(1 if std is None else std) * z).reshape(shape)
    bound = work_unit(dtype) * 16 * (np.abs(y) + abs(mean or 0)) + final(dtype, y)
    return Case(operands, Want(dtype, y, bound, zeros=False), shape=shape, mean=mean, std=std, dtype=dtype,
                **attributes)


def bernoulli(d):
    operands, attributes, seed = seeded(d)
    shape, p = d.shape(), d.one([None, 0.25, 0.9, 0.0, 1.0])
    u = steps(seed, int(np.prod(shape)), False).astype(np.float32) * np.float32(2.0 ** -24)
    y = u < np.float32(0.5 if p is None else p)
    return Case(operands, Want("bool", y.reshape(shape)), shape=shape, p=p, **attributes)


ELEMENTWISE = {"expm1", "log1p", "erfinv", "reciprocal", "square", "sign", "clip", "silu", "gelu", "softplus",
               "leaky_relu", "elu", "threefry2x32"}
ROWS = {
    "expm1": of_float(np.expm1, (1.51, 1.51)), "log1p": of_float(np.log1p, (1.51, 1.51)),
    "erfinv": erfinv,
    "reciprocal": exactly(lambda a: 1 / a), "square": square, "sign": sign, "clip": clip,
    "silu": composed(lambda a: a * sigmoid(a), lambda a, y: 8 * np.abs(y), 2),
    "gelu": gelu,
    "softplus": composed(lambda a: np.logaddexp(0, a), lambda a, y: 8 * np.abs(y)),
    "leaky_relu": drawn(composed(leaky, lambda a, y: 3 * np.abs(y)), alpha=(None, 0.25, 0.1)),
    "elu": drawn(composed(elu, lambda a, y: 8 * np.abs(y)), alpha=(None, 0.5, 1.5)),
    "attention": attention, "threefry2x32": threefry_row, "uniform": uniform, "normal": normal,
    "bernoulli": bernoulli,
}
