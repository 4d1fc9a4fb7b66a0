"""NumPy's functions that are compositions of ours, with NumPy's arguments: other shapes, products, and sums of neighbours."""

from __future__ import annotations

import builtins
import operator
from typing import Any, Callable

from ._array import Array, apply
from ._creation import arange, asarray, ones_like, zeros_like
from ._elementwise import where
from ._reductions import all, diff, max, mean, min, sum
from ._search import take
from ._shapes import concat, expand_dims, flip, moveaxis, stack
from ._sizes import as_axis

# shapes


def ravel(a: Any) -> Array:
    return asarray(a).reshape(-1)


def flipud(m: Any) -> Array:
    return asarray(m)[::-1]


def fliplr(m: Any) -> Array:
    return asarray(m)[:, ::-1]


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Array:
    m, k = asarray(m), operator.index(k) % 4
    for _ in range(k):
        m = flip(m, axis=axes[1]).swapaxes(axes[0], axes[1])
    return m


def atleast_1d(*arrays: Any) -> Any:
    made = [a if a.ndim else a.reshape(1) for a in map(asarray, arrays)]
    return made[0] if len(made) == 1 else made


def atleast_2d(*arrays: Any) -> Any:
    made = [a if a.ndim > 1 else a.reshape((1, -1)) for a in map(asarray, arrays)]
    return made[0] if len(made) == 1 else made


def vstack(tup: Any) -> Array:
    return concat([atleast_2d(a) for a in tup], axis=0)


def hstack(tup: Any) -> Array:
    parts = [atleast_1d(a) for a in tup]
    return concat(parts, axis=0 if parts[0].ndim == 1 else 1)


def dstack(tup: Any) -> Array:
    return concat([a if a.ndim > 2 else a[..., None] for a in map(atleast_2d, tup)], axis=2)


def column_stack(tup: Any) -> Array:
    return concat([a if a.ndim > 1 else a.reshape((-1, 1)) for a in map(asarray, tup)], axis=1)


def append(arr: Any, values: Any, axis: Any = None) -> Array:
    return concat([asarray(arr), asarray(values)], axis=axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts that need not be of one size: so many, or those that begin at the indices."""
    ary = asarray(ary)
    axis = as_axis(axis, ary.ndim, "array_split")
    size, parts = ary.shape[axis], indices_or_sections
    if isinstance(parts, int):
        if parts < 1 or not isinstance(size, int):
            raise ValueError(f"array_split: {parts} parts of an axis of {size}; takes 1 or more, of an axis whose size is known")
        bounds = [n * (size // parts) + builtins.min(n, size % parts) for n in range(parts + 1)]
    else:
        bounds = [0, *(operator.index(i) for i in parts), size]
    return [ary[(slice(None),) * axis + (slice(a, b),)] for a, b in zip(bounds, bounds[1:])]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    ary = asarray(ary)
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError(f"split: {indices_or_sections} parts of an axis of {ary.shape[axis]} elements are not of one size; "
                         "numpy.array_split takes those")
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    return split(ary, indices_or_sections, 0 if asarray(ary).ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    return split(ary, indices_or_sections, 0)


def diag(v: Any, k: int = 0) -> Array:
    """The diagonal of a matrix, or the matrix that has this diagonal."""
    v = asarray(v)
    if v.ndim != 1:
        from .linalg import diagonal

        return diagonal(v, offset=k)
    size = v.shape[0] + abs(k)
    rows, columns = arange(size).reshape((-1, 1)), arange(size)
    along = take(v, apply("min", (apply("max", (columns - builtins.max(k, 0), 0)), v.shape[0] - 1)))
    return where(rows + k == columns, along, zeros_like(v[0]))


def vander(x: Any, N: Any = None, increasing: bool = False) -> Array:
    x = asarray(x)
    count = x.shape[0] if N is None else N
    columns = [ones_like(x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return stack((columns if increasing else columns[::-1])[:count], axis=1)


# products and sums of neighbours


def inner(a: Any, b: Any) -> Array:
    from .linalg import tensordot

    a, b = asarray(a), asarray(b)
    return a * b if not a.ndim or not b.ndim else tensordot(a, b, axes=((-1,), (-1,)))


def vdot(a: Any, b: Any) -> Array:
    return sum(asarray(a).reshape(-1) * asarray(b).reshape(-1))


def kron(a: Any, b: Any) -> Array:
    a, b = asarray(a), asarray(b)
    rank = builtins.max(a.ndim, b.ndim)
    a = a.reshape((1,) * (rank - a.ndim) + tuple(a.shape))
    b = b.reshape((1,) * (rank - b.ndim) + tuple(b.shape))
    wide = a.reshape(tuple(s for n in a.shape for s in (n, 1))) * b.reshape(tuple(s for n in b.shape for s in (1, n)))
    return wide.reshape(tuple(m * n for m, n in zip(a.shape, b.shape)))


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    a, v = asarray(a), asarray(v)
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolve: mode is {mode!r}; takes 'full', 'same' or 'valid'")
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"convolve: shapes {a.shape} and {v.shape}; takes two arrays of one axis")
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    made = apply("conv", (a.reshape((1, 1, n)), flip(v).reshape((1, 1, m))), f"padding=[{m - 1}]").reshape(-1)
    first = {"full": 0, "same": (m - 1) // 2, "valid": m - 1}[mode]
    return made[first:first + {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]]


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    if asarray(v).shape[0] > asarray(a).shape[0]:
        return flip(convolve(flip(asarray(a)), v, mode))
    return convolve(a, flip(asarray(v)), mode)


def ediff1d(ary: Any) -> Array:
    return diff(asarray(ary).reshape(-1))


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    y = moveaxis(asarray(y), axis, -1)
    step: Any = dx
    if x is not None:
        x = asarray(x)
        step = diff(x if x.ndim == 1 else moveaxis(x, axis, -1), axis=-1)
    return sum((y[..., 1:] + y[..., :-1]) * step, axis=-1) * 0.5


trapz = trapezoid


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided at both ends; the distance is one number for each axis, or for all."""
    f = asarray(f)
    axes = tuple(range(f.ndim)) if axis is None else tuple(as_axis(a, f.ndim, "gradient") for a in (axis if isinstance(axis, tuple) else (axis,)))
    if edge_order != 1 or builtins.any(getattr(v, "ndim", 0) or isinstance(v, (list, tuple)) for v in varargs):
        raise TypeError("gradient: takes edge_order=1, and one distance for each axis, a number")
    steps = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if len(steps) != len(axes):
        raise TypeError(f"gradient: {len(varargs)} distances for {len(axes)} axes; give one for all, or one for each")
    f = f if f.dtype.kind == "f" else f.astype("float64")
    made = []
    for a, step in zip(axes, steps):
        if isinstance(f.shape[a], int) and f.shape[a] < 2:
            raise ValueError(f"gradient: axis {a} has {f.shape[a]} elements; takes 2 or more")
        lead = (slice(None),) * a
        inside = (f[lead + (slice(2, None),)] - f[lead + (slice(None, -2),)]) * 0.5
        first = f[lead + (slice(1, 2),)] - f[lead + (slice(0, 1),)]
        last = f[lead + (slice(-1, None),)] - f[lead + (slice(-2, -1),)]
        made.append(concat([first, inside, last], axis=a) / step)
    return made[0] if len(made) == 1 else tuple(made)


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Array:
    m = atleast_2d(m)
    m = m if rowvar or m.shape[0] == 1 else m.T
    if y is not None:
        y = atleast_2d(y)
        m = concat([m, y if rowvar or y.shape[0] == 1 else y.T], axis=0)
    m = m if m.dtype.kind == "f" else m.astype("float64")
    away = m - mean(m, axis=1, keepdims=True)
    less = (0 if bias else 1) if ddof is None else ddof
    made = (away @ away.T) / (m.shape[1] - less)
    return made.reshape(()) if m.shape[0] == 1 else made


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Array:
    c = cov(x, y, rowvar)
    if not c.ndim:
        return c / c
    from .linalg import diagonal

    size = apply("sqrt", (diagonal(c),))
    c = c / size.reshape((-1, 1)) / size
    return apply("max", (apply("min", (c, 1.0)), -1.0))


def polyval(p: Any, x: Any) -> Array:
    """The polynomial with these coefficients, that of the highest power first."""
    p, x = asarray(p), asarray(x)
    made = zeros_like(x)
    for i in range(p.shape[0]):
        made = made * x + p[i]
    return made


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Array:
    """The function of each line along the axis."""
    from ._transform import vmap

    arr = asarray(arr)
    axis = as_axis(axis, arr.ndim, "apply_along_axis")
    lines = moveaxis(arr, axis, -1)
    others = tuple(lines.shape[:-1])
    if not others:
        return asarray(func1d(arr, *args, **kwargs))
    made = vmap(lambda line: asarray(func1d(line, *args, **kwargs)))(lines.reshape((-1, lines.shape[-1])))
    shape = tuple(made.shape[1:])
    made = made.reshape(others + shape)
    for n in range(len(shape)):
        made = moveaxis(made, len(others) + n, axis + n)
    return made


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    made = asarray(a)
    for axis in axes if isinstance(axes, (list, tuple)) else (axes,):
        less = asarray(func(made, axis))
        made = less if less.ndim == made.ndim else expand_dims(less, as_axis(axis, made.ndim, "apply_over_axes"))
    return made


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> Any:
    raise TypeError("numpy.put_along_axis writes into its argument, and arrays of viewfold do not change; apply('put_along_axis', "
                    "(x, indices, values), 'axis=1') is another array")
