"""NumPy's value of each tensor, and how far from it a result may be.

A Ref holds elements in the dtype that is computed in (f16 and bf16 as f32) and a bound of the absolute error
of each: None where all are exact, infinity where nothing is claimed. Integers and truth values are exact or
unknown. Operations bound their result's error from those of their operands and their own rounding; a result
that depends on an undecided condition, such as a comparison of nearly equal numbers, is unknown. The sign of
a zero is not claimed, and results that depend on it (a division, the bits) are unknown.
"""
import numpy as np

from binding import to_dtype
from oracle.rules import BYTES, FLOATS, FORMAT, compute, convert

UNKNOWN = np.inf


class Ref:
    __slots__ = ("a", "e")

    def __init__(self, a, e=None):
        self.a, self.e = np.asarray(a), None if e is None else np.asarray(e)

    @property
    def err(self):
        """The bound as a number or an array that broadcasts."""
        return 0.0 if self.e is None else self.e

    def view(self, move, fill=0):
        """The same elements rearranged; move(array, the value of new places)."""
        return Ref(move(self.a, fill), None if self.e is None else move(self.e, 0.0))


def unit(dtype):
    """The largest relative error of one rounding, twice where a narrow float is rounded from f32."""
    return 2.0 ** -FORMAT[dtype][0] * (1 if dtype in ("f32", "f64") else 1.02)


def work(dtype):
    return 2.0 ** (-53 if dtype == "f64" else -24)


def subnormal(dtype):
    """The least positive number of the dtype that operations compute in: twice the error of a product near 0."""
    return 2.0 ** (-1074 if dtype == "f64" else -149)


def rounding(dtype, size):
    """The largest error of one rounding of numbers of that size."""
    bits, least, _ = FORMAT[dtype]
    return unit(dtype) * size + 2.0 ** (least - bits if dtype != "f64" else -1074)


def largest(dtype):
    bits, _, most = FORMAT[dtype]
    return 2.0 ** most * (2 - 2.0 ** (1 - bits))


def fit(dtype, a):
    """Elements computed in the dtype's wider one, rounded to it; integers and truth values as they are."""
    if dtype == "f16":
        return np.asarray(a, np.float32).astype(np.float16).astype(np.float32)
    if dtype == "bf16":
        return to_dtype(np.asarray(a, np.float32), "bf16").wide()
    return np.asarray(a, compute(dtype))


def settled(dtype, a, e):
    """A Ref of floats: elements that may have overflowed, or are not finite because of an error, are
    unknown."""
    if e is None:
        return Ref(a)
    e = np.broadcast_to(np.asarray(e, np.float64), a.shape)
    with np.errstate(all="ignore"):
        sure = np.isfinite(e) & np.where(np.isfinite(a), np.abs(a.astype(np.float64)) + e < largest(dtype), e == 0)
    return Ref(a, np.where(sure, e, UNKNOWN)) if e.any() else Ref(a)


def exact(function, dtype, *refs):
    """A function of integers or truth values, element by element: unknown where an operand is."""
    a = np.asarray(function(*[r.a for r in refs]), compute(dtype))
    if all(r.e is None for r in refs):
        return Ref(a)
    lost = np.zeros(a.shape, bool)
    for r in refs:
        lost = lost | (r.err > 0)
    return Ref(a, np.where(lost, UNKNOWN, 0.0)) if lost.any() else Ref(a)


def either(ref, function):
    """A function of floats with steps: unknown where the error interval contains a step."""
    a = function(ref.a)
    if ref.e is None:
        return Ref(a)
    wide = ref.a.astype(np.float64)
    same = (function(wide - ref.e) == function(wide + ref.e)) & np.isfinite(ref.e)
    return Ref(a, np.where(same | (ref.e == 0), 0.0, UNKNOWN))


def monotone(ref, dtype, function, units=0.0, slope=None):
    """A monotone function of floats, computed within `units` units in the last place; slope: for a function
    that is not monotone, its greatest slope. Correctly rounded where units is 0."""
    wide = ref.a.astype(np.longdouble if dtype == "f64" else np.float64)
    y = function(wide)
    a = fit(dtype, y)
    if ref.e is None and not units:
        return Ref(a)
    e = 0.0
    if ref.e is not None:
        e = slope * ref.e if slope else np.fmax(np.abs(function(wide + ref.e) - y), np.abs(function(wide - ref.e) - y))
        if not slope:
            e = np.where(ref.e == 0, 0.0, np.where(np.isfinite(function(wide + ref.e) + function(wide - ref.e)), e,
                                                   UNKNOWN))
    narrow = dtype not in ("f32", "f64")
    rounding_error = 2 * (1 if narrow else units + 2) * rounding(dtype, np.abs(y) + np.where(np.isfinite(e), e, 0))
    whole = np.where(np.isfinite(y), e + rounding_error, np.where(ref.err > 0, UNKNOWN, 0.0))
    return settled(dtype, a, whole)


def rounded(dtype, y, e, exactly):
    """y computed in the dtype's wider one and correctly rounded; e: the error due to the operands."""
    a = fit(dtype, y)
    if exactly:
        return Ref(a)
    e = np.asarray(e, np.float64)
    rounding_error = np.where(e > 0, 2 * rounding(dtype, np.abs(a.astype(np.float64)) + np.where(np.isfinite(e), e, 0)), 0)
    return settled(dtype, a, np.where(np.isnan(e), UNKNOWN, e + rounding_error))


def cast(ref, old, new):
    """A conversion: to floats nearest even, to integers towards zero and saturating."""
    a = convert(ref.a, new).wide()
    a = a.astype(compute(new))
    if ref.e is None:
        return Ref(a)
    if new in FLOATS:
        if old not in FLOATS:
            return Ref(a, np.where(ref.e > 0, UNKNOWN, 0.0))
        return settled(new, a, ref.e + np.where(ref.e > 0, 2 * rounding(new, np.abs(a) + np.minimum(ref.e, 1e300)), 0))
    if old not in FLOATS:
        if new == "bool" or BYTES[new] <= 8:
            return Ref(a, ref.e)
    wide = ref.a.astype(np.float64)
    low, high = (convert(wide + s * np.where(np.isfinite(ref.e), ref.e, 0), new).wide() for s in (-1, 1))
    sure = (low == high) & np.isfinite(ref.e)
    if new == "bool":
        sure = sure & (np.abs(wide) > ref.e)
    return Ref(a, np.where(sure | (ref.e == 0), 0.0, UNKNOWN))


def whole_multiples(a, dtype, total):
    """Are the floats so few, and such small multiples of 1/16, that sums of them are exact in any order?"""
    bits = FORMAT[dtype][0] if dtype == "f64" else 24
    scaled = a.astype(np.float64) * 16
    return bool(np.all(np.isfinite(a))) and bool(np.all(scaled == np.rint(scaled))) and \
        bool(np.all(np.asarray(total) * 16 < 2.0 ** bits))
