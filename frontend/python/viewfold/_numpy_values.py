"""NumPy's functions that are compositions of ours, with NumPy's arguments: of elements, reductions and orders."""

from __future__ import annotations

import builtins
import math
from typing import Any, Callable

from ._array import Array, apply
from ._creation import asarray, ones_like, zeros
from ._elementwise import isfinite, isnan, where
from ._reductions import all, any, argmax, argmin, argsort, cumprod, cumsum, max, mean, min, prod, sort, sum, var
from ._search import searchsorted, take, unique_all
from ._shapes import broadcast_to, expand_dims, flip, stack
from ._sizes import as_axis
from ._text import numbers

def copy(a: Any, order: Any = "K", subok: bool = False) -> Array:
    return asarray(a, copy=True)


# elementwise


def fmod(x1: Any, x2: Any) -> Array:
    """The remainder with the sign of x1."""
    x1, x2 = asarray(x1), asarray(x2)
    left = abs(x1) % abs(x2)
    return where(x1 < 0, -left, left)


def fmax(x1: Any, x2: Any) -> Array:
    """The larger; of a NaN and a number, the number."""
    return where(isnan(asarray(x2)), x1, where(isnan(asarray(x1)), x2, apply("max", (x1, x2))))


def fmin(x1: Any, x2: Any) -> Array:
    return where(isnan(asarray(x2)), x1, where(isnan(asarray(x1)), x2, apply("min", (x1, x2))))


def float_power(x1: Any, x2: Any) -> Array:
    return apply("pow", (asarray(x1).astype("float64"), asarray(x2).astype("float64")))


def cbrt(x: Any) -> Array:
    x = asarray(x)
    return apply("sign", (x,)) * abs(x) ** (1 / 3)


def heaviside(x1: Any, x2: Any) -> Array:
    x1 = asarray(x1)
    return where(isnan(x1), x1, where(x1 == 0, x2, (x1 > 0).astype(x1.dtype)))


def sinc(x: Any) -> Array:
    x = asarray(x)
    angle = math.pi * where(x == 0, 1.0e-20, x)
    return apply("sin", (angle,)) / angle


def deg2rad(x: Any) -> Array:
    return asarray(x) * (math.pi / 180)


def rad2deg(x: Any) -> Array:
    return asarray(x) * (180 / math.pi)


def logaddexp2(x1: Any, x2: Any) -> Array:
    from ._elementwise import logaddexp

    ln2 = math.log(2)
    return logaddexp(asarray(x1) * ln2, asarray(x2) * ln2) / ln2


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    """NaNs and infinities as numbers: 0, and the largest of the dtype."""
    x = asarray(x)
    if x.dtype.kind != "f":
        return x
    from ._dtypes import finfo

    limits = finfo(x.dtype)
    x = where(isnan(x), nan, where(x == math.inf, limits.max if posinf is None else posinf, x))
    return where(x == -math.inf, limits.min if neginf is None else neginf, x)


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    a, b = asarray(a), asarray(b)
    if a.dtype.kind != "f" and b.dtype.kind != "f":
        a, b = a.astype("float64"), b.astype("float64")
    near = where(isfinite(a) & isfinite(b), abs(a - b) <= atol + rtol * abs(b), a == b)
    return near | (isnan(a) & isnan(b)) if equal_nan else near


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    return all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return False
    same = a1 == a2
    return all(same | (isnan(a1) & isnan(a2)) if equal_nan else same)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: {len(condlist)} conditions and {len(choicelist)} choices; give one choice for each condition")
    made = default
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        made = where(condition, choice, made)
    return made


# reductions, with NaNs left out


def _kept(x: Any, instead: float) -> Array:
    x = asarray(x)
    return x if x.dtype.kind != "f" else where(isnan(x), instead, x)


def nansum(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return sum(_kept(a, 0.0), axis=axis, keepdims=keepdims)


def nanprod(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return prod(_kept(a, 1.0), axis=axis, keepdims=keepdims)


def nancumsum(a: Any, axis: Any = None) -> Array:
    return cumsum(_kept(a, 0.0), axis)


def nancumprod(a: Any, axis: Any = None) -> Array:
    return cumprod(_kept(a, 1.0), axis)


def _counted(a: Array, axis: Any, keepdims: bool) -> Array:
    return sum((a == a).astype(a.dtype), axis=axis, keepdims=keepdims)


def nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    a = asarray(a)
    return mean(a, axis=axis, keepdims=keepdims) if a.dtype.kind != "f" else nansum(a, axis, keepdims) / _counted(a, axis, keepdims)


def nanvar(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Array:
    a = asarray(a)
    if a.dtype.kind != "f":
        return var(a, axis=axis, correction=ddof, keepdims=keepdims)
    away = a - nanmean(a, axis, True)
    return nansum(away * away, axis, keepdims) / (_counted(a, axis, keepdims) - ddof)


def nanstd(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Array:
    return apply("sqrt", (nanvar(a, axis, ddof, keepdims),))


def _nan_extremum(reduce: Callable[..., Array], least: float) -> Callable[..., Array]:
    def extremum(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
        a = asarray(a)
        made = reduce(_kept(a, least), axis=axis, keepdims=keepdims)
        return made if a.dtype.kind != "f" else where(all(isnan(a), axis=axis, keepdims=keepdims), math.nan, made)

    return extremum


nanmax = _nan_extremum(max, -math.inf)
nanmin = _nan_extremum(min, math.inf)


def nanargmax(a: Any, axis: Any = None) -> Array:
    return argmax(_kept(a, -math.inf), axis)


def nanargmin(a: Any, axis: Any = None) -> Array:
    return argmin(_kept(a, math.inf), axis)


def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return max(a, axis=axis, keepdims=keepdims) - min(a, axis=axis, keepdims=keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    a = asarray(a)
    if weights is None:
        made = mean(a, axis=axis, keepdims=keepdims)
        count = sum(ones_like(a, dtype=made.dtype), axis=axis, keepdims=keepdims)
    else:
        weights = asarray(weights)
        if weights.ndim == 1 and isinstance(axis, int) and -a.ndim <= axis < a.ndim and weights.shape[0] != a.shape[axis]:
            raise ValueError(f"average: {weights.shape[0]} weights for the {a.shape[axis]} elements along axis {axis}; takes one for each")
        if weights.ndim != a.ndim:
            if weights.ndim != 1 or not isinstance(axis, int):
                raise ValueError(f"average: weights have shape {weights.shape} and a has {a.shape}; give them the shape of a, or one for "
                                 "each element along an axis that is given")
            weights = weights.reshape((1,) * as_axis(axis, a.ndim, "average") + (-1,) + (1,) * (a.ndim - 1 - as_axis(axis, a.ndim, "average")))
        weights = broadcast_to(weights, a.shape)
        count = sum(weights, axis=axis, keepdims=keepdims)
        made = sum(a * weights, axis=axis, keepdims=keepdims) / count
    return (made, count) if returned else made


# orders


def _lines(a: Any, axis: Any, who: str) -> tuple[Array, tuple[Any, ...], tuple[int, ...]]:
    """The array with the axes as one, which is the last; the shape of the others; the axes."""
    a = asarray(a)
    axes = tuple(range(a.ndim)) if axis is None else tuple(as_axis(x, a.ndim, who) for x in (axis if isinstance(axis, (tuple, list)) else [axis]))
    others = [n for n in range(a.ndim) if n not in axes]
    shape = tuple(a.shape[n] for n in others)
    return a.transpose(others + list(axes)).reshape(shape + (-1,)) if a.ndim else a.reshape(1), shape, axes


def _quantile(a: Any, q: Any, axis: Any, method: str, keepdims: bool, who: str) -> Array:
    if method != "linear":
        raise TypeError(f"{who}: method is {method!r}; there is 'linear', which interpolates")
    if isinstance(q, Array) and q._state == "traced":
        raise TypeError(f"{who}: which one is known when a function is traced: give numbers, or static_argnames")
    lines, _, axes = _lines(a, axis, who)
    size = lines.shape[-1]
    if not isinstance(size, int) or size < 1:
        raise TypeError(f"{who}: an axis of {size} elements; takes 1 or more, of a number that is known when a function is traced")
    if lines.dtype.kind != "f":
        lines = lines.astype("float64")
    ordered = sort(lines, axis=-1)
    several = asarray(q).ndim > 0
    made = []
    for part in numbers(asarray(q, dtype="float64")):
        if not 0 <= part <= 1:
            raise ValueError(f"{who}: {q!r:.60} is outside of the range; quantiles are 0 to 1, and percentiles 0 to 100")
        place = part * (size - 1)
        low = builtins.min(int(place), size - 1)
        one = ordered[..., low]
        if place > low:
            one = one + (ordered[..., low + 1] - one) * (place - low)
        one = where(any(isnan(lines), axis=-1), math.nan, one)
        made.append(expand_dims(one, tuple(sorted(axes))) if keepdims else one)
    return stack(made, axis=0) if several else made[0]


def quantile(a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Array:
    return _quantile(a, q, axis, method, keepdims, "quantile")


def percentile(a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Array:
    part = q / 100 if isinstance(q, (int, float)) else [x / 100 for x in numbers(asarray(q, dtype="float64"))]
    return _quantile(a, part, axis, method, keepdims, "percentile")


def median(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return _quantile(a, 0.5, axis, "linear", keepdims, "median")


def partition(a: Any, kth: Any, axis: int = -1) -> Array:
    """In order altogether, which is one of the partitions."""
    return sort(a, axis=axis)


def argpartition(a: Any, kth: Any, axis: int = -1) -> Array:
    return argsort(a, axis=axis)


def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    bins = asarray(bins)
    side = "left" if right else "right"
    ends = numbers(bins) if bins._state != "traced" and bins.size else [0]
    if ends[0] > ends[-1]:
        return bins.shape[0] - searchsorted(flip(bins), asarray(x), side=side)
    return searchsorted(bins, asarray(x), side=side)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Array:
    """How often each number occurs. Inside of a function that is traced, there are `minlength` of them."""
    x = asarray(x)
    if x.dtype.kind not in "iu":
        raise TypeError(f"bincount: the array is {x.dtype.name}; takes integers, as of x.astype('int32')")
    if x._state == "traced" and not minlength:
        raise TypeError("bincount: how many numbers there are depends on the elements, which a traced function does not know; give "
                        "minlength=n for the numbers 0 to n - 1")
    length = minlength if x._state == "traced" or not x.size else builtins.max(int(max(x)) + 1, minlength)
    one = ones_like(x, dtype="int64") if weights is None else asarray(weights)
    return apply("scatter_add", (zeros((length,), dtype=one.dtype if weights is None else "float64"), x,
                                 one if weights is None else one.astype("float64")), "axis=0")


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Array:
    """Values between points (xp, fp), whose xp ascend, by straight lines."""
    x, xp, fp = asarray(x), asarray(xp), asarray(fp)
    size = xp.shape[0]
    if size == 1:
        middle = broadcast_to(fp[0], x.shape) if x.ndim else fp[0]
    else:
        at = searchsorted(xp, x, side="right") - 1
        at = apply("min", (apply("max", (at, 0)), size - 2))
        x0, y0 = take(xp, at), take(fp, at)
        middle = y0 + (take(fp, at + 1) - y0) * ((x - x0) / (take(xp, at + 1) - x0))
    made = where(x < xp[0], fp[0] if left is None else left, where(x > xp[-1], fp[-1] if right is None else right, middle))
    return where(isnan(x), math.nan, where(x == xp[-1], fp[-1], made))


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    made = unique_all(asarray(ar))
    wanted = [made.values] + [part for part, asked in ((made.indices, return_index), (made.inverse_indices, return_inverse),
                                                       (made.counts, return_counts)) if asked]
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


def unravel_index(indices: Any, shape: Any) -> tuple[Array, ...]:
    indices = asarray(indices)
    made: list[Array] = []
    for size in reversed(shape if isinstance(shape, (tuple, list)) else (shape,)):
        made.insert(0, indices % size)
        indices = indices // size
    return tuple(made)


def ravel_multi_index(multi_index: Any, dims: Any) -> Array:
    flat: Any = 0
    for index, size in zip(multi_index, dims):
        flat = flat * size + asarray(index)
    return flat
