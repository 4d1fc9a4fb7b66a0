"""Operations that work element by element."""
import numpy as np

from graphs.maker import Skip, broadcast
from graphs.reference import UNKNOWN, Ref, cast, either, exact, fit, monotone, rounded, rounding, settled, work
from oracle.elementwise import dot2, dot4, error_function, extremum, floor_divide, gelu_erf, gelu_tanh, sigmoid, wrapping
from oracle.functions import inverse_erf_of
from oracle.rules import (ALL, BYTES, FLOATS, INTEGERS, NUMBERS, SIGNED, compute, float_of, promote)
from binding import NUMPY, Typed, to_dtype


def to(ref, old, new):
    """The cast that recording inserts before an operation of another dtype."""
    return ref if old == new else cast(ref, old, new)


# unary

def kept(function):
    """The error is unchanged."""
    def row(g):
        x = g.operand(NUMBERS)
        g.emit(g.one(function.names), [x], {}, lambda _, r: Ref(np.asarray(function(r.a), r.a.dtype), r.e),
               (x.dtype, x.shape))
    return row


def named(*names):
    def mark(function):
        function.names = names
        return function
    return mark


@named("neg", "negative")
def neg(a):
    return np.negative(a)


@named("abs", "absolute")
def absolute(a):
    return np.abs(a)


@named("relu")
def relu(a):
    return np.where(a == a, np.maximum(a, a.dtype.type(0)), a)


def steps(g):
    x = g.operand(FLOATS)
    op, f = g.one([("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.rint)])
    g.emit(op, [x], {}, lambda _, r: either(r, f), (x.dtype, x.shape))


def as_is(g):
    x = g.operand(ALL)
    op = g.one(["stored", "stop_gradient"])
    g.emit(op, [x], {}, lambda _, r: r, (x.dtype, x.shape))


def tangent(a):
    """On its middle branch, where it is increasing."""
    return np.where(np.abs(a) < 1.55, np.tan(a), np.nan)


# name: (function, units, the greatest slope where it is not monotone)
FUNCTIONS = {
    "sqrt": (np.sqrt, 0, None), "exp": (np.exp, 1, None), "exp2": (np.exp2, 1, None),
    "log": (np.log, 1, None), "log2": (np.log2, 1.5, None), "sin": (np.sin, 2, 1.0), "cos": (np.cos, 2, 1.0),
    "tan": (tangent, 4, None), "cosh": (np.cosh, 2, None), "tanh": (np.tanh, 2, None), "erf": (error_function, 3, None), "sigmoid": (sigmoid, 2, None),
    "expm1": (np.expm1, 1.5, None), "log1p": (np.log1p, 1.5, None), "asin": (np.arcsin, 2, None),
    "acos": (np.arccos, 2, None), "atan": (np.arctan, 2, None), "sinh": (np.sinh, 2, None),
    "asinh": (np.arcsinh, 2.5, None), "acosh": (np.arccosh, 2.5, None), "atanh": (np.arctanh, 2.5, None),
    "gelu_erf": (gelu_erf, 19, 1.2), "gelu_tanh": (gelu_tanh, 4, 1.2), "silu": (lambda a: a * sigmoid(a), 16, 1.2),
    "swish": (lambda a: a * sigmoid(a), 16, 1.2), "erfinv": (inverse_erf_of, 6, None),
}
BOUNDED = {"erfinv": 0.95, "asin": 0.99, "acos": 0.99, "atanh": 0.95, "exp": 30.0, "exp2": 40.0, "sinh": 30.0, "tan": 1.5,
           "expm1": 30.0, "sin": 2.0 ** 20, "cos": 2.0 ** 20}


def function_of(g):
    """A float function of an operand of any dtype; integers become floats first."""
    op = g.one(list(FUNCTIONS))
    f, units, slope = FUNCTIONS[op]
    x = g.operand(ALL if g.chance(0.2) else FLOATS)
    dtype = float_of(x.dtype)
    limit = BOUNDED.get(op)
    if limit and not all(np.all(np.abs(r.a.astype(np.float64)) <= limit) for r in x.refs if r.a.size):
        raise Skip
    if op == "cosh" and not all(np.all(r.a >= r.err) & np.all(r.a < 30) for r in x.refs):
        raise Skip
    if op in ("log", "log2", "sqrt", "acosh") and g.chance(0.9) and \
            not all(np.all(r.a >= (op == "acosh")) for r in x.refs):
        raise Skip

    def made(_, r):
        y = monotone(to(r, x.dtype, dtype), dtype, f, units, slope)
        if op in ("silu", "swish"):  # the sigmoid may be subnormal
            y = Ref(y.a, y.err + 4 * np.abs(r.a.astype(np.float64)) * rounding(dtype, 0))
        return Ref(y.a, np.where(np.isfinite(r.a.astype(np.float64)), y.err, UNKNOWN)) if units > 4 else y
    g.emit(op, [x], {}, made, (dtype, x.shape))


def tolerant(g):
    """Compositions of several roundings: relative and absolute errors, in units of the argument's size."""
    x = g.operand(FLOATS)
    op = g.one(["gelu", "gelu", "softplus", "elu", "leaky_relu"])
    attributes, slope = {}, 1.2
    if op == "gelu":
        how = g.one([None, "tanh", "none"])
        attributes, f = {"approximate": how}, gelu_tanh if how == "tanh" else gelu_erf
    elif op == "softplus":
        f = lambda a: np.logaddexp(0, a)
    else:
        alpha = g.one([0.5, 0.25, None])
        attributes = {"alpha": alpha}
        if op == "elu":
            f = lambda a: np.where(a > 0, a, (1.0 if alpha is None else alpha) * np.expm1(np.minimum(a, 0)))
        else:
            f = lambda a: np.where(a > 0, a, (0.01 if alpha is None else alpha) * a)

    def made(_, r):
        wide = r.a.astype(np.float64)
        y = f(wide)
        rounding_error = 16 * work(x.dtype) * (np.abs(wide) + np.abs(wide) ** 3 * (op == "gelu") + np.abs(y) + 1)
        e = np.where(np.isfinite(wide), slope * r.err + rounding_error + 2 * rounding(x.dtype, np.abs(y)), UNKNOWN)
        return settled(x.dtype, fit(x.dtype, y), e)
    g.emit(op, [x], attributes, made, (x.dtype, x.shape))


def inverse(g):
    """1 / x and 1 / sqrt x; nothing is claimed of the signs of 1 / 0."""
    op = g.one(["reciprocal", "rsqrt"])
    x = g.operand(ALL if g.chance(0.2) else FLOATS)
    dtype = float_of(x.dtype)

    def made(_, r):
        r = to(r, x.dtype, dtype)
        if op == "reciprocal":
            return divided(dtype, Ref(np.ones_like(r.a)), r)
        y = monotone(r, dtype, lambda a: 1 / np.sqrt(a), 1.5)
        return Ref(y.a, np.where((r.a == 0) | (np.abs(r.a) <= r.err), UNKNOWN, y.err))
    g.emit(op, [x], {}, made, (dtype, x.shape))


def square(g):
    x = g.operand(NUMBERS)
    g.emit("square", [x], {}, lambda _, r: multiplied(x.dtype, r, r), (x.dtype, x.shape))


def sign(g):
    x = g.operand(NUMBERS)

    def made(_, r):
        return either(r, np.sign) if x.dtype in FLOATS else exact(np.sign, x.dtype, r)
    g.emit("sign", [x], {}, made, (x.dtype, x.shape))


def clip(g):
    x = g.operand(NUMBERS)
    whole = x.dtype in INTEGERS
    low = None if g.chance(0.3) else g.integer(0, 3) if whole else g.integer(-6, 0) / 2
    high = None if g.chance(0.3) else g.integer(3, 9) if whole else g.integer(0, 6) / 2

    def made(_, r):
        a = r.a if low is None else np.maximum(r.a, r.a.dtype.type(low))
        return Ref(a if high is None else np.minimum(a, r.a.dtype.type(high)), r.e)
    g.emit("clip", [x], {"low": low, "high": high}, made, (x.dtype, x.shape))


def conversion(g):
    x = g.operand(ALL)
    dtype = g.dtype()
    g.emit("cast", [x], {"dtype": dtype}, lambda _, r: cast(r, x.dtype, dtype), (dtype, x.shape))


def same_bits(g):
    x = g.operand(NUMBERS)
    dtype = g.one([t for t in NUMBERS if BYTES[t] == BYTES[x.dtype]])

    def made(_, r):
        stored = to_dtype(r.a, x.dtype).array
        a = Typed(stored.view(NUMPY[dtype]), dtype).wide().astype(compute(dtype))
        if x.dtype not in FLOATS:
            return Ref(a, r.e)
        lost = (r.a == 0) | np.isnan(r.a) | (r.err > 0)
        if dtype == x.dtype:
            return r
        return Ref(a, np.where(lost, UNKNOWN, 0.0)) if lost.any() else Ref(a)
    g.emit("bitcast", [x], {"dtype": dtype}, made, (dtype, x.shape))


def complement(g):
    x = g.operand(("bool",) + INTEGERS)
    if g.chance(0.3):
        g.emit("logical_not", [x], {}, lambda _, r: exact(lambda a: a == 0, "bool", r), ("bool", x.shape))
    else:
        g.emit(g.one(["not", "bitwise_not"]), [x], {}, lambda _, r: exact(np.invert, x.dtype, r), (x.dtype, x.shape))


# two operands

def pair(g, dtypes, result=None):
    """(operands, the common dtype, shape, cast): values that broadcast, or a value and a literal."""
    x = g.operand(dtypes)
    if x.dtype != "bool" and g.chance(0.12):
        text = g.one(["0.5", "-2.0", "3.25", "1.0"]) if x.dtype in FLOATS else str(g.integer(1, 9))
        literal = Ref(np.asarray(float(text) if x.dtype in FLOATS else int(text)).astype(compute(x.dtype)))
        operands = [x, text]
        if g.chance(0.3):
            operands = [text, x]
        first = operands[0] is x
        dtype = result(x.dtype) if result else x.dtype
        return operands, dtype, x.shape, lambda r: (r[0], literal) if first else (literal, r[0])
    other = x.dtype
    if g.chance(0.2):
        other = g.one([t for t in dtypes if promote(x.dtype, t)] or [x.dtype])
    y = g.broadcastable(x, other)
    dtype = promote(x.dtype, y.dtype)
    if dtype not in dtypes:
        raise Skip
    dtype = result(dtype) if result else dtype
    operands = [x, y] if g.chance(0.5) else [y, x]
    a, b = (v.dtype for v in operands)
    return operands, dtype, broadcast(x.shape, y.shape), lambda r: (to(r[0], a, dtype), to(r[1], b, dtype))


def multiplied(dtype, x, y):
    if dtype not in FLOATS:
        return exact(wrapping(np.multiply), dtype, x, y)
    a, b = np.abs(x.a.astype(np.float64)), np.abs(y.a.astype(np.float64))
    e = a * y.err + b * x.err + x.err * y.err if x.e is not None or y.e is not None else 0
    return rounded(dtype, x.a * y.a, e, x.e is None and y.e is None)


def summed(function):
    def made(dtype, x, y):
        if dtype not in FLOATS:
            return exact(wrapping(function), dtype, x, y)
        return rounded(dtype, function(x.a, y.a), np.broadcast_to(x.err + y.err, np.shape(x.a + y.a)),
                       x.e is None and y.e is None)
    return made


def divided(dtype, x, y):
    b = np.abs(y.a.astype(np.float64)) - y.err
    q = x.a / y.a
    if x.e is None and y.e is None:
        r = Ref(fit(dtype, q))
    else:
        e = np.where(b > 0, (x.err + np.abs(q.astype(np.float64)) * y.err) / np.maximum(b, 1e-300), UNKNOWN)
        r = rounded(dtype, q, e, False)
    lost = np.broadcast_to(b <= 0, r.a.shape) & ~np.isnan(r.a)
    return Ref(r.a, np.where(lost, UNKNOWN, r.err)) if lost.any() else r


def floor_of_quotient(dtype, x, y):
    """floor(x / y) of floats; not claimed where the quotient is nearly an integer but not exact."""
    q = x.a.astype(np.float64) / y.a.astype(np.float64)
    bound = 1e-6 + 1e-3 * np.abs(q) + (x.err + np.abs(q) * y.err) / np.abs(y.a)
    near = ~(np.abs(q - np.rint(q)) > bound)  # an unknown operand gives a bound that is no number
    exactly = (x.err == 0) & (y.err == 0) & (np.rint(q) * y.a == x.a) & (np.abs(q) < 128)
    lost = ~np.isfinite(q) | (near & ~exactly) | (y.a == 0)
    a = fit(dtype, np.floor(q))
    return Ref(a, np.where(lost, UNKNOWN, 0.0)) if lost.any() else Ref(a)


def floored(dtype, x, y):
    """NumPy's floor division of exact operands."""
    if dtype not in FLOATS:
        return exact(lambda a, b: floor_divide(*np.broadcast_arrays(a, b)), dtype, x, y)
    r = floor_of_quotient(dtype, x, y)
    known = np.broadcast_to((x.err == 0) & (y.err == 0), r.a.shape)
    kind = np.float16 if dtype == "f16" else compute(dtype)
    a = fit(dtype, np.floor_divide(x.a.astype(kind), y.a.astype(kind)))
    return Ref(np.where(known, a, r.a), np.where(known, 0.0, r.err))


def remainder(dtype, x, y):
    """The remainder of floor division."""
    if dtype not in FLOATS:
        return exact(lambda a, b: (a - floor_divide(*np.broadcast_arrays(a, b)) * b).astype(a.dtype), dtype, x, y)
    q = floor_of_quotient(dtype, x, y)
    wide = x.a.astype(np.float64) - np.floor(q.a.astype(np.float64)) * y.a
    e = x.err + np.abs(q.a) * y.err
    e = np.where(np.isfinite(q.err + e), e + 4 * rounding(dtype, np.abs(wide) + np.abs(x.a)), UNKNOWN)
    return settled(dtype, fit(dtype, wide), e)


def powered(dtype, x, y):
    if dtype in FLOATS:
        a, b = x.a.astype(np.float64), y.a.astype(np.float64)
        off = np.abs(b) * x.err / np.maximum(np.abs(a) - x.err, 1e-300) + np.abs(np.log(np.abs(a))) * y.err
        z = np.power(a, b)
        e = np.expm1(off) * np.abs(z) + 6 * rounding(dtype, np.abs(z) * np.exp(off))
        lost = ~(np.isfinite(z) & (a > x.err) & (off < 1))
        return settled(dtype, fit(dtype, z), np.where(lost, UNKNOWN, e))

    def function(a, b):
        a, b = np.broadcast_arrays(a, b)
        total, base = np.ones(a.shape, a.dtype), a.copy()
        left = np.where(b > 0, b, b.dtype.type(0)).astype(np.uint64)
        while left.any():
            total = np.where(left & np.uint64(1), total * base, total).astype(a.dtype)
            base, left = base * base, left >> np.uint64(1)
        minus = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)) if a.dtype.kind == "i" else total
        return np.where(b < 0, minus, total).astype(a.dtype)
    return exact(function, dtype, x, y)


def extreme(greater):
    def made(dtype, x, y):
        f = extremum(greater)
        if dtype not in FLOATS:
            return exact(f, dtype, x, y)
        a = f(x.a, y.a)
        if x.e is None and y.e is None:
            return Ref(a)
        unknown = np.isnan(x.a.astype(np.float64) + y.a)
        return settled(dtype, a, np.where(unknown, UNKNOWN, np.maximum(x.err, y.err) + np.zeros(a.shape)))
    return made


def bits(function):
    return lambda dtype, x, y: exact(function, dtype, x, y)


BINARY = {
    ("add",): (summed(np.add), NUMBERS), ("sub", "subtract"): (summed(np.subtract), NUMBERS),
    ("mul", "multiply"): (multiplied, NUMBERS), ("div", "divide"): (divided, ALL),
    ("floordiv", "floor_divide"): (floored, NUMBERS), ("mod", "remainder"): (remainder, NUMBERS),
    ("pow", "power"): (powered, NUMBERS), ("maximum", "max"): (extreme(True), ALL),
    ("minimum", "min"): (extreme(False), ALL), ("and", "bitwise_and"): (bits(np.bitwise_and), ("bool",) + INTEGERS),
    ("or", "bitwise_or"): (bits(np.bitwise_or), ("bool",) + INTEGERS),
    ("xor", "bitwise_xor"): (bits(np.bitwise_xor), ("bool",) + INTEGERS), ("dot2",): (bits(wrapping(dot2)), INTEGERS),
    ("dot4",): (bits(wrapping(dot4)), INTEGERS),
}
COMMON = (("add",), ("sub", "subtract"), ("mul", "multiply"))


def binary(names):
    function, dtypes = BINARY[names]

    def row(g):
        division = names[0] == "div"
        operands, dtype, shape, cast_both = pair(g, dtypes, float_of if division else None)
        if division and dtype != operands[0 if not isinstance(operands[0], str) else 1].dtype and \
                any(isinstance(x, str) for x in operands):
            raise Skip  # a literal takes the dtype of the other operand, before the division
        g.emit(g.one(names), operands, {}, lambda _, *r: function(dtype, *cast_both(r)), (dtype, shape))
    return row


COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
               "ge": np.greater_equal}
ALIASES = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
           "ge": "greater_equal"}


def compare(g):
    op = g.one(list(COMPARISONS))
    operands, dtype, shape, cast_both = pair(g, ALL)

    def made(_, *r):
        x, y = cast_both(r)
        a = COMPARISONS[op](x.a, y.a)
        if x.e is None and y.e is None:
            return Ref(a)
        if dtype not in FLOATS:
            return exact(COMPARISONS[op], "bool", x, y)
        e = x.err + y.err
        near = ~(np.abs(x.a.astype(np.float64) - y.a) > e) & (e > 0)
        return Ref(a, np.where(near, UNKNOWN, 0.0))
    g.emit(op if g.chance(0.7) else ALIASES[op], operands, {}, made, ("bool", shape))


def shift(g):
    """By the width or more: 0, or the sign; by a negative count: 0."""
    left = g.chance(0.5)
    x = g.operand(INTEGERS)
    y = g.broadcastable(x, x.dtype)
    dtype, width = x.dtype, 8 * BYTES[x.dtype]

    def function(a, b):
        zero = a.dtype.type(0)
        inside = np.where((b >= 0) & (b < width), b, zero)
        if left:
            return np.where((b >= 0) & (b < width), np.left_shift(a, inside), zero)
        out = np.where((a < 0) & (b >= width), -1, 0) if dtype in SIGNED else np.zeros_like(a)
        return np.where((b >= 0) & (b < width), np.right_shift(a, inside), out)
    g.emit(g.one(["shl", "left_shift"] if left else ["shr", "right_shift"]), [x, y], {},
           lambda _, r, s: exact(function, dtype, r, s), (dtype, broadcast(x.shape, y.shape)))


def logical(g):
    op, f = g.one([("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)])
    x = g.operand(ALL)
    y = g.broadcastable(x, g.dtype())

    def truth(r):
        return Ref(r.a != 0, None if r.e is None else np.where((r.e > 0) & ~(np.abs(r.a) > r.e), UNKNOWN, 0.0))
    g.emit(op, [x, y], {}, lambda _, r, s: exact(f, "bool", truth(r), truth(s)), ("bool", broadcast(x.shape, y.shape)))


def where(g):
    x = g.operand(ALL)
    y = g.broadcastable(x, x.dtype)
    shape = broadcast(x.shape, y.shape)
    c = g.broadcastable(x, "bool")
    shape = broadcast(shape, c.shape)
    if shape is None:
        raise Skip

    def made(_, p, r, s):
        a = np.where(p.a, r.a, s.a)
        if p.e is None and r.e is None and s.e is None:
            return Ref(a)
        e = np.where(p.a, r.err, s.err)
        return Ref(a, np.where(p.err > 0, UNKNOWN, e) + np.zeros(a.shape))
    g.emit("where", [c, x, y], {}, made, (x.dtype, shape))


def fma(g):
    x = g.operand(("f32", "f64"))
    y = g.broadcastable(x, x.dtype)
    z = g.broadcastable(x, x.dtype)
    shape = broadcast(x.shape, y.shape)
    shape = broadcast(shape, z.shape)
    if shape is None:
        raise Skip

    def made(_, r, s, t):
        a, b, c = (np.abs(v.a.astype(np.float64)) for v in (r, s, t))
        y = r.a.astype(np.float64) * s.a + t.a
        e = a * s.err + b * r.err + r.err * s.err + t.err + 4 * rounding(x.dtype, a * b + c)
        return settled(x.dtype, fit(x.dtype, y), np.where(np.isfinite(y), e, UNKNOWN))
    g.emit("fma", [x, y, z], {}, made, (x.dtype, shape))


ROWS = [(1, kept(neg)), (1, kept(absolute)), (1, kept(relu)), (2, steps), (1, as_is), (7, function_of), (2, tolerant),
        (2, inverse), (1, square), (1, sign), (1, clip), (4, conversion), (1, same_bits), (1, complement), (3, compare),
        (1, shift), (1, logical), (3, where), (1, fma)] + \
       [(5 if names in COMMON else 1, binary(names)) for names in BINARY]
