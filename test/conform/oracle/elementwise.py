"""Operations that work element by element, by NumPy."""
import math
from fractions import Fraction

import numpy as np

from binding import NUMPY, Typed
from oracle.draw import Case, Want, ulps
from oracle.rules import (ALL, BYTES, FLOATS, INTEGERS, NUMBERS, SIGNED, compute, convert, float_of, nearest,
                          promote)


def rounded(dtype, array):
    """An f32 result for f16 and bf16, rounded to the dtype."""
    return convert(array, dtype) if dtype in FLOATS else Typed(np.asarray(array).astype(NUMPY[dtype]))


def in_dtype(x, dtype):
    """The operand's elements after a cast."""
    return convert(x.a, dtype).wide().astype(compute(dtype))


def unary(function, dtypes):
    """Exact: computed as the standard requires and rounded once."""
    def row(d):
        x = d.operand(d.dtype(dtypes), d.shape())
        return Case([x], Want(x.dtype, rounded(x.dtype, function(x.a))))
    return row


def of_float(function, bound):
    """A function of floats, within `bound` units in the last place of its value; integers become floats
    first."""
    def row(d):
        x = d.operand(d.dtype(FLOATS if d.whole else ALL), d.shape())
        dtype = float_of(x.dtype)
        a = in_dtype(x, dtype).astype(np.longdouble if dtype == "f64" else np.float64)
        y = function(a)
        units = bound[dtype == "f64"] if dtype in ("f32", "f64") else 0.51
        return Case([x], Want(dtype, y, ulps(dtype, y, units)))
    return row


def exactly(function):
    """A correctly rounded function of floats; integers become floats first."""
    def row(d):
        x = d.operand(d.dtype(ALL), d.shape())
        dtype = float_of(x.dtype)
        return Case([x], Want(dtype, rounded(dtype, function(in_dtype(x, dtype)))))
    return row


def far_angles(function):
    """Sine and cosine of f64 are NaN where an angle is beyond 2 to the 50."""
    def wide(a):
        y = function(a)
        return np.where(np.abs(a) > 2.0 ** 50, np.nan, y) if a.dtype == np.longdouble else y
    return wide


def sigmoid(a):
    return np.where(a < 0, np.exp(a) / (1 + np.exp(a)), 1 / (1 + np.exp(-a)))


def error_function(a):
    return np.vectorize(math.erf, otypes=[np.float64])(a).astype(a.dtype)


def gelu_erf(a):
    """x erfc(-x / sqrt 2) / 2, which is relatively accurate far below 0; the error of rounding the argument
    of erfc is corrected by its slope."""
    z = -a / np.sqrt(a.dtype.type(2))
    at = z.astype(np.float64)
    slope = -2 / np.sqrt(np.pi) * np.exp(-at.astype(a.dtype) ** 2)
    lost = np.where(np.isfinite(z), z - at, 0)
    erfc = np.vectorize(math.erfc, otypes=[np.float64])(at).astype(a.dtype) + slope * lost
    return np.where(a == -np.inf, -0.0, a / 2 * erfc)


def gelu_tanh(a):
    real = a.dtype.type
    u = np.sqrt(real(2) / np.arctan(real(1)) / 4) * (a + real("0.044715") * a * a * a)
    return np.where(a == -np.inf, -0.0, a / (1 + np.exp(-2 * u)))


def two(d, dtypes):
    """Two operands that broadcast and have a common dtype: half of the time the same one, now and then a
    literal."""
    a, b = d.dtype(dtypes), d.dtype(dtypes)
    if d.chance(0.5) or promote(a, b) is None or promote(a, b) == "bool" and "bool" not in dtypes:
        b = a
    shapes = d.broadcast(2)
    x = d.operand(a, shapes[0])
    y = d.operand(b, shapes[1])
    return x, y, promote(a, b)


def literal(d, dtype):
    """A literal, which takes the dtype of the other operand."""
    if dtype in FLOATS:
        return d.one([0.5, -2.0, 3.25, 0.0, 1.0])
    return d.integer(0 if dtype.startswith("u") else -3, 9)


class Number:
    def __init__(self, number, dtype):
        self.value, self.dtype, self.a, self.shape = number, dtype, np.array(number, compute(dtype)), ()


def binary(function, dtypes, result=None, zeros=True):
    """Computed in the common dtype (result: in the dtype that it returns), and rounded once."""
    def row(d):
        x, y, dtype = two(d, dtypes)
        if dtype != "bool" and d.chance(0.15):
            y, dtype = Number(literal(d, x.dtype), x.dtype), x.dtype
            if x.dtype == "bool":
                y, dtype = x, "bool"
        dtype = result(dtype) if result else dtype
        z = function(in_dtype(x, dtype), in_dtype(y, dtype))
        return Case([x, y], Want(dtype, rounded(dtype, z), zeros=zeros))
    return row


def compare(function):
    def row(d):
        x, y, dtype = two(d, ALL)
        return Case([x, y], Want("bool", function(in_dtype(x, dtype), in_dtype(y, dtype))))
    return row


def wrapping(function):
    """NumPy's integers wrap, but its scalars warn about it."""
    def wrapped(a, b):
        return function(np.atleast_1d(a), np.atleast_1d(b)).reshape(np.broadcast_shapes(a.shape, b.shape))
    return wrapped


def wrapped_as(values, dtype):
    """Integers of any size modulo 2 to the number of bits, in the dtype's range."""
    bits = 8 * dtype.itemsize
    wrap = np.vectorize(lambda v: (int(v) + 2**(bits - 1)) % 2**bits - 2**(bits - 1)
                        if dtype.kind == "i" else int(v) % 2**bits, otypes=[object])
    return wrap(values).astype(dtype) if values.size else values.astype(dtype)


def parts(x, count, signed):
    """Each of so many equal parts of the bits, the lowest first."""
    bits = 8 * x.dtype.itemsize // count
    found = [np.array([(int(v) >> bits * i) % 2**bits for v in x.ravel()], object) for i in range(count)]
    return [np.where(p >= 2**(bits - 1), p - 2**bits, p).reshape(x.shape) if signed else p.reshape(x.shape) for p in found]


def dot2(a, b):
    """The sum of the products of both halves of the bits, as signed integers."""
    return wrapped_as(sum(x * y for x, y in zip(parts(a, 2, True), parts(b, 2, True))), a.dtype)


def dot4(a, b):
    """The sum of the products of the four quarters of the bits, unsigned of a and signed of b."""
    return wrapped_as(sum(x * y for x, y in zip(parts(a, 4, False), parts(b, 4, True))), a.dtype)


def floor_divide(a, b):
    """NumPy's; of integers, by 0 it is 0."""
    if a.dtype.kind == "f":
        return np.floor_divide(a, b)
    least = np.iinfo(a.dtype).min
    over = (a == least) & (b == -1) if least else np.zeros(np.broadcast_shapes(a.shape, b.shape), bool)
    safe = np.where((b == 0) | over, np.array(1, a.dtype), b)
    return np.where(b == 0, np.array(0, a.dtype), np.floor_divide(a, safe))  # least // -1 is least


def remainder(a, b):
    """NumPy's; for integers the remainder of floor division: the dividend after a division by 0."""
    if a.dtype.kind == "f":
        return np.remainder(a, b)
    return (a - floor_divide(a, b) * b).astype(a.dtype)


def fused(a, b, c):
    """a * b + c rounded once: from exact fractions."""
    def one(x, y, z):
        if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
            return x * y + z if not (math.isfinite(x) and math.isfinite(y)) else z
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if exact == 0:
            return x * y + z if x * y == 0 or z == 0 else 0.0
        return _to_long(exact)
    a, b, c = np.broadcast_arrays(a, b, c)
    wide = np.empty(a.shape, np.longdouble)
    for at in np.ndindex(a.shape):
        wide[at] = one(float(a[at]), float(b[at]), float(c[at]))
    return nearest("f64" if a.dtype == np.float64 else "f32", wide).array


def _to_long(exact):
    """A fraction as a long double, rounded to odd, so that a second rounding to fewer bits is correct."""
    sign, exact = (-1, -exact) if exact < 0 else (1, exact)
    shift = 63 - (exact.numerator.bit_length() - exact.denominator.bit_length())
    scaled = exact * Fraction(2) ** shift
    whole = scaled.numerator // scaled.denominator
    while whole >= 1 << 64:
        whole, shift, scaled = whole >> 1 | (whole & 1), shift - 1, scaled / 2
    if scaled != whole:
        whole |= 1
    if shift > 16000:
        return 0.0
    high, low = whole >> 32, whole & 0xFFFFFFFF
    return sign * np.ldexp(np.longdouble(high) * 4294967296 + np.longdouble(low), -shift)


def power(d):
    x, y, dtype = two(d, NUMBERS)
    if dtype in FLOATS:
        a, b = in_dtype(x, dtype), in_dtype(y, dtype)
        wide = np.longdouble
        z = np.power(a.astype(wide), b.astype(wide))
        units = {"f32": 1, "f64": 1.5}.get(dtype, 0.51)
        return Case([x, y], Want(dtype, z, ulps(dtype, z, units)))
    a, b = np.broadcast_arrays(in_dtype(x, dtype), in_dtype(y, dtype))
    bits = 8 * BYTES[dtype]
    z = np.empty(a.shape, NUMPY[dtype])
    for at in np.ndindex(a.shape):
        base, exponent = int(a[at]), int(b[at])
        if exponent >= 0:
            number = pow(base, exponent, 1 << bits)
        else:
            number = 1 if base == 1 else 1 - 2 * (exponent % 2) if base == -1 else 0
        z[at] = np.array(int(number) % (1 << bits), np.uint64).astype(NUMPY[dtype])
    return Case([x, y], Want(dtype, z))


def extremum(greater):
    """NaN if either is; -0 is less than 0."""
    def function(a, b):
        if a.dtype.kind != "f":
            return np.maximum(a, b) if greater else np.minimum(a, b)
        zero = (a == 0) & (b == 0)
        sign = np.signbit(a) & np.signbit(b) if greater else np.signbit(a) | np.signbit(b)
        z = np.maximum(a, b) if greater else np.minimum(a, b)
        return np.where(zero, np.where(sign, -0.0, 0.0), z).astype(a.dtype)
    return function


def shift(left):
    """By the width or more: 0, or the sign; by a negative count: 0."""
    def row(d):
        x, y, dtype = two(d, INTEGERS)
        counts = d.array(y.dtype, y.shape, "small").array.astype(np.int64) * d.one([1, 1, 3, 20])
        limits = np.iinfo(NUMPY[y.dtype])
        y = d.hold(Typed(np.clip(counts, limits.min, limits.max).astype(NUMPY[y.dtype])))
        a, b = in_dtype(x, dtype), in_dtype(y, dtype)
        bits = 8 * BYTES[dtype]
        count = np.clip((np.minimum(b, 64) if dtype == "u64" else b).astype(np.int64), -1, bits)
        inside = np.clip(count, 0, bits - 1).astype(a.dtype)
        zero = np.array(0, a.dtype)
        if left:
            z = np.where(count < bits, np.left_shift(a, inside), zero)
        else:
            z = np.right_shift(a, np.minimum(inside, a.dtype.type(bits - 1)))
            all_out = np.where(a < 0, a.dtype.type(-1), zero) if dtype in SIGNED else zero
            z = np.where(count < bits, z, all_out)
        return Case([x, y], Want(dtype, np.where(count < 0, zero, z)))
    return row


def logical(function):
    """Of whether elements differ from 0."""
    def row(d):
        shapes = d.broadcast(2)
        x, y = (d.operand(d.any_dtype(), s) for s in shapes)
        return Case([x, y], Want("bool", function(x.a != 0, y.a != 0)))
    return row


def logical_not(d):
    x = d.operand(d.any_dtype(), d.shape())
    return Case([x], Want("bool", x.a == 0))


def invert(d):
    x = d.operand(d.dtype(("bool",) + INTEGERS), d.shape())
    return Case([x], Want(x.dtype, np.invert(x.a)))


def cast(d):
    x, dtype = d.operand(d.any_dtype(), d.shape()), d.one(ALL)
    return Case([x], Want(dtype, convert(x.a, dtype)), dtype=dtype)


def bitcast(d):
    x = d.operand(d.numbers(), d.shape())
    dtype = d.one([t for t in NUMBERS if BYTES[t] == BYTES[x.dtype]])
    return Case([x], Want(dtype, Typed(x.typed.array.view(NUMPY[dtype]), dtype)), dtype=dtype)


def where(d):
    a, b = d.dtype(ALL), d.dtype(ALL)
    b = a if promote(a, b) is None else b
    shapes = d.broadcast(3)
    condition, x, y = d.operand("bool", shapes[0]), d.operand(a, shapes[1]), d.operand(b, shapes[2])
    dtype = promote(a, b)
    z = np.where(condition.a, in_dtype(x, dtype), in_dtype(y, dtype))
    return Case([condition, x, y], Want(dtype, rounded(dtype, z)))


def fma(d):
    dtype, shapes = d.floats(), d.broadcast(3)
    x, y, z = (d.operand(dtype, s) for s in shapes)
    return Case([x, y, z], Want(dtype, rounded(dtype, fused(x.a, y.a, z.a)), zeros=False))


def fma2(d):
    """Words of two bf16, none of them subnormal: both products are added, one after the other, the upper halves first."""
    shapes = d.broadcast(3)
    halves = [[(d.random.standard_normal(s) + 0.01).astype(np.float32).view(np.uint32) & np.uint32(0xffff0000) for s in [t] * 2]
              for t in shapes[:2]]
    x, y = (d.hold(Typed(np.asarray(upper | lower >> np.uint32(16)), "u32")) for upper, lower in halves)
    z = d.operand("f32", shapes[2], "plain")
    sum_ = z.a
    for (a, b) in zip(*halves):
        sum_ = rounded("f32", fused(a.view(np.float32), b.view(np.float32), sum_)).array
    return Case([x, y, z], Want("f32", Typed(sum_, "f32"), zeros=False))


ROWS = {
    "neg": unary(np.negative, NUMBERS), "abs": unary(np.abs, NUMBERS),
    "relu": unary(lambda a: np.where(a > 0, a, np.where(a == a, a.dtype.type(0), a)), NUMBERS),
    "floor": unary(np.floor, FLOATS), "ceil": unary(np.ceil, FLOATS), "trunc": unary(np.trunc, FLOATS),
    "round": unary(np.rint, FLOATS), "stop_gradient": unary(lambda a: a, FLOATS),
    "sqrt": exactly(np.sqrt),
    # (units for f32, for f64), as ir/elementary/elementary.h states them, plus the error of NumPy's own
    "rsqrt": of_float(lambda a: 1 / np.sqrt(a), (1.51, 1.51)),
    "exp": of_float(np.exp, (1.01, 1.01)), "exp2": of_float(np.exp2, (1.01, 1.01)),
    "log": of_float(np.log, (1.01, 1.01)), "log2": of_float(np.log2, (1.51, 1.01)),
    "sin": of_float(far_angles(np.sin), (2.01, 2.01)), "cos": of_float(far_angles(np.cos), (1.51, 2.01)),
    "tanh": of_float(np.tanh, (2.01, 2.01)), "erf": of_float(error_function, (2.01, 3)),
    "gelu_erf": of_float(gelu_erf, (2.01, 19)), "gelu_tanh": of_float(gelu_tanh, (2.01, 2.01)),
    "sigmoid": of_float(sigmoid, (2.01, 2.01)), "tan": of_float(far_angles(np.tan), (1.01, 4.01)),
    "asin": of_float(np.arcsin, (2.01, 2.01)), "acos": of_float(np.arccos, (2.01, 2.01)),
    "atan": of_float(np.arctan, (2.01, 2.01)), "sinh": of_float(np.sinh, (2.01, 2.01)),
    "cosh": of_float(np.cosh, (2.01, 2.01)), "asinh": of_float(np.arcsinh, (2.51, 2.51)),
    "acosh": of_float(np.arccosh, (2.51, 2.51)), "atanh": of_float(np.arctanh, (2.51, 2.51)),
    "not": invert, "logical_not": logical_not, "cast": cast, "bitcast": bitcast,
    "add": binary(wrapping(np.add), NUMBERS), "sub": binary(wrapping(np.subtract), NUMBERS),
    "mul": binary(wrapping(np.multiply), NUMBERS), "div": binary(np.divide, ALL, float_of),
    "floordiv": binary(floor_divide, NUMBERS), "mod": binary(remainder, NUMBERS), "pow": power,
    "maximum": binary(extremum(True), ALL), "minimum": binary(extremum(False), ALL),
    "eq": compare(np.equal), "ne": compare(np.not_equal), "lt": compare(np.less),
    "le": compare(np.less_equal), "gt": compare(np.greater), "ge": compare(np.greater_equal),
    "and": binary(np.bitwise_and, ("bool",) + INTEGERS), "or": binary(np.bitwise_or, ("bool",) + INTEGERS),
    "xor": binary(np.bitwise_xor, ("bool",) + INTEGERS),
    "logical_and": logical(np.logical_and), "logical_or": logical(np.logical_or),
    "logical_xor": logical(np.logical_xor),
    "shl": shift(True), "shr": shift(False), "dot2": binary(wrapping(dot2), INTEGERS),
    "dot4": binary(wrapping(dot4), INTEGERS), "where": where, "fma": fma, "fma2": fma2,
}
