"""Distances between rows, by norms of their differences."""

from __future__ import annotations

from typing import Any

from ..._array import Array, apply
from ..._creation import full
from .call import Call, Unsupported, broadcast

_INFINITY = float("inf")


def _differences(a: Array, b: Array) -> Array:
    """[..., rows of a, rows of b, width]"""
    return apply("sub", (apply("unsqueeze", (a,), f"axis={a.ndim - 1}"), apply("unsqueeze", (b,), f"axis={b.ndim - 2}")))


def _norm(difference: Array, p: float) -> Array:
    """Along the last axis."""
    size, last = apply("abs", (difference,)), f"axes=[{difference.ndim - 1}]"
    if p == _INFINITY:
        return apply("reduce_max", (size,), last)
    if p == 0:
        return apply("sum", (apply("min", (apply("ceil", (size,)), 1.0)),), last)
    if p == 1:
        return apply("sum", (size,), last)
    if p == 2:
        return apply("sqrt", (apply("sum", (apply("mul", (difference, difference)),), last),))
    return apply("pow", (apply("sum", (apply("pow", (size, p)),), last), 1 / p))


def _slope(difference: Array, norm: Array, p: float) -> Array:
    """The derivative of the norm by each difference; 0 where the norm is 0."""
    norm = apply("unsqueeze", (norm,), f"axis={norm.ndim}")
    sign = apply("sign", (difference,))
    if p == 0:
        return apply("mul", (difference, 0.0))
    if p == 1:
        return sign
    size = apply("abs", (difference,))
    if p == _INFINITY:
        return apply("where", (apply("eq", (size, norm)), sign, 0.0))
    power = apply("mul", (sign, apply("pow", (size, p - 1)))) if p != 2 else difference
    by = apply("pow", (norm, p - 1)) if p != 2 else norm
    nothing = apply("eq", (norm, 0)) if p >= 2 else apply("or", (apply("eq", (norm, 0)), apply("eq", (size, 0))))
    return apply("where", (nothing, 0.0, apply("div", (power, by))))


def forward(call: Call, a: Array, b: Array, p: float, mode: Any = None) -> Array:
    shape = call.shape()
    if 0 in shape or 0 in a.shape:
        return full(shape, 0, dtype=call.dtype)
    return broadcast(_norm(_differences(a, b), float(p)), shape)


def backward(call: Call, gradient: Array, a: Array, b: Array, p: float, norm: Array) -> Array:
    shape = call.shape()
    if 0 in shape or 0 in b.shape:
        return full(shape, 0, dtype=call.dtype)
    by = apply("mul", (apply("unsqueeze", (gradient,), f"axis={gradient.ndim}"), _slope(_differences(a, b), norm, float(p))))
    return apply("sum", (by,), f"axes=[{by.ndim - 2}]")


def _first_and_second(rows: Any) -> tuple[Array, Array]:
    """The numbers of the rows of each pair."""
    from ..._creation import asarray

    if not isinstance(rows, int):
        raise Unsupported("pairs of a number of rows that varies")
    pairs = [(i, j) for i in range(rows) for j in range(i + 1, rows)]
    return tuple(asarray([p[n] for p in pairs], dtype="int64") for n in (0, 1))  # type: ignore[return-value]


def _of_pairs(x: Array) -> Array:
    return apply("sub", tuple(apply("gather", (x, rows), "axis=0") for rows in _first_and_second(x.shape[0])))


def pairs(call: Call, x: Array, p: float = 2) -> Array:
    """Of each row from those behind it."""
    return full(call.shape(), 0, dtype=call.dtype) if 0 in call.shape() else _norm(_of_pairs(x), float(p))


def pairs_backward(call: Call, gradient: Array, x: Array, p: float, norm: Array) -> Array:
    zero = full(call.shape(), 0, dtype=call.dtype)
    if 0 in norm.shape or 0 in x.shape:
        return zero
    by = apply("mul", (apply("unsqueeze", (gradient,), f"axis={gradient.ndim}"), _slope(_of_pairs(x), norm, float(p))))
    for rows, write in zip(_first_and_second(x.shape[0]), ("add", "sub")):
        target = apply("gather", (apply("address", (zero,)), rows), "axis=0")
        zero = apply("assign", (zero, target, by), f"op={write}")
    return zero
