"""Sums and other reductions, cumulative operations, and orders."""

from __future__ import annotations

import operator
from typing import Any, Callable

from ._array import Array, apply
from ._creation import asarray
from ._dtypes import dtype as to_dtype
from ._dtypes import int64, uint64
from ._hints import of_option
from ._sizes import as_axis, axes_text, axis_text


def _attributes(x: Array, axis: Any, keepdims: bool) -> str:
    parts = []
    if axis is not None:
        parts.append("axes=" + axes_text(axis))
    if keepdims:
        parts.append("keepdims=true")
    return " ".join(parts)


def _reduce(operation: str, x: Any, axis: Any, keepdims: bool, extra: str = "") -> Array:
    x = asarray(x)
    if isinstance(axis, Array) and operation in ("reduce_max", "reduce_min"):
        raise TypeError(f"{operation[7:]} is of one array, whose axis comes second; the {operation[7:]} of each two elements is "
                        f"vf.{operation[7:]}imum(x, y)")
    if isinstance(axis, tuple) and not axis:
        return x
    return apply(operation, (x,), (_attributes(x, axis, keepdims) + " " + extra).strip())


def _accumulated(x: Any, dtype: Any) -> Array:
    """x in the dtype that a sum has."""
    x = asarray(x)
    return x if dtype is None else x.astype(dtype)


def sum(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Array:
    """The sum over the axes; of integers of up to 32 bits in 32 bits."""
    x = _accumulated(x, dtype)
    if isinstance(axis, tuple) and not axis:
        return x
    made = _reduce("sum", x, axis, keepdims)
    return made if dtype is None else made.astype(dtype)


def prod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product over the axes."""
    x = _accumulated(x, dtype)
    if isinstance(axis, tuple) and not axis:
        return x
    made = _reduce("prod", x, axis, keepdims)
    return made if dtype is None else made.astype(dtype)


def mean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    return _reduce("mean", x, axis, keepdims)


def max(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    return _reduce("reduce_max", x, axis, keepdims)


def min(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    return _reduce("reduce_min", x, axis, keepdims)


def any(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    x = asarray(x)
    return x.astype("bool") if isinstance(axis, tuple) and not axis else _reduce("any", x, axis, keepdims)


def all(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    x = asarray(x)
    return x.astype("bool") if isinstance(axis, tuple) and not axis else _reduce("all", x, axis, keepdims)


def var(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    return _reduce("var", x, axis, keepdims, f"correction={float(correction)}")


def std(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    return _reduce("std", x, axis, keepdims, f"correction={float(correction)}")


def logsumexp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    return _reduce("logsumexp", x, axis, keepdims)


def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    return sum((asarray(x) != 0).astype("int32"), axis=axis, keepdims=keepdims)


def _position(operation: str, x: Any, axis: int | None, keepdims: bool) -> Array:
    x = asarray(x)
    if axis is None:
        made = apply(operation, (x.reshape(-1),), "axis=0")
        return made.reshape((1,) * x.ndim) if keepdims else made
    return apply(operation, (x,), f"axis={axis_text(axis if isinstance(axis, str) else as_axis(axis, x.ndim, operation))}" + (" keepdims=true" if keepdims else ""))


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Where the first largest element is."""
    return _position("argmax", x, axis, keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Where the first smallest element is."""
    return _position("argmin", x, axis, keepdims)


def _cumulative(operation: str, x: Any, axis: int | None, dtype: Any, first: Any) -> Array:
    x = _accumulated(x, dtype)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"a cumulative operation over an array of {x.ndim} axes takes an axis")
        axis = 0
    made = apply(operation, (x,), f"axis={axis_text(axis)}")
    if dtype is not None:
        made = made.astype(dtype)
    if first is not None:
        from ._creation import full
        from ._shapes import concat

        if isinstance(axis, str):
            axis = (made.axes or "").index(axis)
        head = list(made.shape)
        head[axis] = 1
        made = concat([full(head, first, dtype=made.dtype), made], axis=axis)
    return made


def cumulative_sum(x: Any, /, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False) -> Array:
    return _cumulative("cumsum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x: Any, /, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False) -> Array:
    return _cumulative("cumprod", x, axis, dtype, 1 if include_initial else None)


def cumsum(x: Any, axis: int | None = None) -> Array:
    return cumulative_sum(asarray(x).reshape(-1) if axis is None else x, axis=0 if axis is None else axis)


def cumprod(x: Any, axis: int | None = None) -> Array:
    return cumulative_prod(asarray(x).reshape(-1) if axis is None else x, axis=0 if axis is None else axis)


def diff(x: Array, /, axis: int = -1, *, n: int = 1, prepend: Any = None, append: Any = None) -> Array:
    from ._shapes import concat

    if operator.index(n) < 0:
        raise ValueError(f"diff: n is {n}; differences are taken 0 times or more")
    parts = [p for p in (prepend, x, append) if p is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    axis = as_axis(axis, x.ndim, "diff")
    for _ in range(n):
        lead = (slice(None),) * axis
        x = x[lead + (slice(1, None),)] - x[lead + (slice(None, -1),)]
    return x


def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    return apply("sort", (x,), f"axis={axis_text(axis)} descending={str(bool(descending)).lower()}")


def argsort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    return apply("argsort", (x,), f"axis={axis_text(axis)} descending={str(bool(descending)).lower()}")


def topk(x: Any, k: int, /, axis: int = -1, *, largest: bool = True) -> tuple[Array, Array]:
    """The k largest (smallest) elements along the axis, and where they are."""
    return apply("topk", (x,), f"k={k} axis={axis_text(axis)} largest={str(bool(largest)).lower()}", 2)


def _methods() -> None:
    """Reductions as methods, whose axis may come first, as NumPy's."""

    def method(function: Callable[..., Array]) -> Callable[..., Array]:
        def call(self: Array, axis: Any = None, *more: Any, **options: Any) -> Array:
            if more:
                raise TypeError(f"{function.__name__}: the axis alone stands without a name, as in "
                                f"x.{function.__name__}(1, keepdims=True), and got {axis!r}, {', '.join(map(repr, more))}")
            if "ddof" in options and function in (var, std):  # as NumPy calls it
                options["correction"] = options.pop("ddof")
            try:
                return function(self, axis=axis, **options)
            except TypeError as error:
                raise of_option(function, error, options) or error from None

        call.__name__ = function.__name__
        call.__doc__ = function.__doc__
        return call

    for function in (sum, prod, mean, max, min, any, all, var, std, argmax, argmin):
        setattr(Array, function.__name__, method(function))
    setattr(Array, "cumsum", lambda self, axis=None: cumsum(self, axis))
    setattr(Array, "cumprod", lambda self, axis=None: cumprod(self, axis))


_methods()
