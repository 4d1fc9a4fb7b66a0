"""Division that rounds to 0, as C has it, of what the operations round to below."""

from __future__ import annotations

from typing import Any

from ._array import apply


def quotient(a: Any, b: Any) -> Any:
    """Of integers."""
    q = apply("floordiv", (a, b))
    inexact = apply("ne", (apply("mul", (q, b)), a))
    up = apply("and", (apply("lt", (q, 0)), inexact))
    return apply("add", (q, apply("cast", (up,), f"dtype={q.dtype.text}")))


def remainder(a: Any, b: Any) -> Any:
    """With the sign of the first operand; both are arrays."""
    if a.dtype.kind == "u":
        return apply("mod", (a, b))
    if a.dtype.kind != "f":  # not by way of abs, which the least integer does not have
        return apply("sub", (a, apply("mul", (quotient(a, b), b))))
    size = apply("mod", (apply("abs", (a,)), apply("abs", (b,))))
    return apply("where", (apply("lt", (a, 0)), apply("neg", (size,)), size))
