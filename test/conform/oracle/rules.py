"""viewfold's rules on dtypes and rounding, stated independently for NumPy."""
import numpy as np

from binding import NUMPY, Typed, to_dtype

SIGNED, UNSIGNED = ("i8", "i16", "i32", "i64"), ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f16", "bf16", "f32", "f64")
NUMBERS = INTEGERS + FLOATS
ALL = ("bool",) + NUMBERS
BYTES = {"bool": 1, "bf16": 2, **{d: int(d[1:]) // 8 for d in NUMBERS if d != "bf16"}}
# Bits of a significand, the leading one included; the least and the greatest exponent of a normal number.
FORMAT = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}


def promote(a, b):
    """The common dtype of two operands, None where there is none."""
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if (a in FLOATS) != (b in FLOATS):
        return a if a in FLOATS else b
    if a in FLOATS:
        return "f32" if BYTES[a] == BYTES[b] else max(a, b, key=BYTES.get)
    if (a in SIGNED) == (b in SIGNED):
        return max(a, b, key=BYTES.get)
    s, u = (a, b) if a in SIGNED else (b, a)
    if BYTES[s] > BYTES[u]:
        return s
    return {1: "i16", 2: "i32", 4: "i64"}.get(BYTES[u])


def float_of(dtype):
    """The dtype of float functions, and of divisions, of operands of this dtype."""
    return dtype if dtype in FLOATS else "f64" if BYTES[dtype] == 8 else "f32"


def accumulator(dtype):
    """The dtype of sums and products of elements."""
    if dtype in FLOATS or BYTES[dtype] == 8:
        return dtype
    return "u32" if dtype in UNSIGNED else "i32"


def compute(dtype):
    """The dtype that NumPy computes in for elements of this dtype."""
    return np.float32 if dtype in ("f16", "bf16") else NUMPY[dtype]


def unit(dtype):
    """Half the distance from 1 to the next number."""
    return 2.0 ** -FORMAT[dtype][0]


def work_unit(dtype):
    """The same for the dtype that is computed in."""
    return unit("f64" if dtype == "f64" else "f32")


def spacing(dtype, x):
    """The distance between adjacent numbers of that dtype at x; at least that of subnormals."""
    bits, least, most = FORMAT[dtype]
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(x), x, 1))[1] - 1
    exponent = np.clip(np.where(np.equal(x, 0), least, exponent), least, most)
    return np.ldexp(np.longdouble(1), exponent - (bits - 1))


def nearest(dtype, x):
    """A real in long double, rounded once, ties to even."""
    x = np.asarray(x, np.longdouble)
    bits, _, most = FORMAT[dtype]
    with np.errstate(all="ignore"):
        step = spacing(dtype, x)
        y = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        y = np.where(np.abs(y) >= np.ldexp(np.longdouble(1), most + 1), np.copysign(np.inf, x), y)
        y = np.where(y == 0, np.copysign(np.longdouble(0), x), y)
        if dtype == "bf16":
            return to_dtype(y.astype(np.float32), "bf16")
        return Typed(y.astype(NUMPY[dtype]))


def convert(array, dtype):
    """A cast: array holds elements of any dtype (of bf16 as f32)."""
    array = np.asarray(array)
    if dtype in FLOATS:
        return nearest(dtype, array.astype(np.longdouble))
    if dtype == "bool":
        return Typed(array != 0)
    if array.dtype.kind != "f":
        return Typed(array.astype(NUMPY[dtype]))
    limits = np.iinfo(NUMPY[dtype])
    with np.errstate(all="ignore"):
        whole = np.trunc(np.where(np.isnan(array), 0, array)).astype(np.longdouble)
        inside = np.clip(whole, limits.min, limits.max)
    # u64 and i64 fit a long double's 64 bits
    wide = np.uint64 if dtype in UNSIGNED else np.int64
    return Typed(inside.astype(wide).astype(NUMPY[dtype]))
