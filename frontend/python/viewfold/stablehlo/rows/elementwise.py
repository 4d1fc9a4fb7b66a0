"""Operations on each element."""

from __future__ import annotations

import math
from typing import Any, Callable

from ..._array import Array, apply
from ..._truncated import quotient
from ..known import direction
from ..recorder import Call, Unsupported

Row = Callable[..., Any]


def cast(x: Array, dtype: Any) -> Array:
    return x if x.dtype is dtype else apply("cast", (x,), f"dtype={dtype.text}")


def operation(name: str, of_truth: str = "") -> Row:
    """An operation of viewfold; of bool, another one."""
    return lambda call, *x: apply(of_truth if of_truth and x[0].dtype.name == "bool" else name, x)


def divide(call: Call, a: Array, b: Array) -> Array:
    return apply("div", (a, b)) if call.dtype.kind == "f" else quotient(a, b)



def cbrt(call: Call, x: Array) -> Array:
    """With a step of Newton's method, as a power of 1/3 loses digits."""
    size = apply("abs", (x,))
    root = apply("pow", (size, 1 / 3))
    rest = apply("sub", (apply("mul", (apply("mul", (root, root)), root)), size))
    step = apply("div", (rest, apply("mul", (apply("mul", (root, root)), 3.0))))
    plain = apply("or", (apply("eq", (size, 0.0)), apply("eq", (size, math.inf))))
    root = apply("where", (plain, size, apply("sub", (root, step))))
    return apply("where", (apply("lt", (x, 0.0)), apply("neg", (root,)), root))


def round_away(call: Call, x: Array) -> Array:
    """To the nearest, ties away from zero."""
    whole = apply("trunc", (x,))
    half = apply("ge", (apply("abs", (apply("sub", (x, whole)),)), 0.5))
    return apply("where", (half, apply("add", (whole, apply("sign", (x,)))), whole))



def _unsigned(x: Array) -> Array:
    return apply("bitcast", (x,), f"dtype={x.dtype.text.replace('i', 'u')}") if x.dtype.kind == "i" else x


def shift_right_logical(call: Call, a: Array, b: Array) -> Array:
    made = apply("shr", (_unsigned(a), _unsigned(b)))
    return made if made.dtype is call.dtype else apply("bitcast", (made,), f"dtype={call.type.dtype}")


def shift_right_arithmetic(call: Call, a: Array, b: Array) -> Array:
    if a.dtype.kind == "i":
        return apply("shr", (a, b))
    signed = [apply("bitcast", (x,), f"dtype={x.dtype.text.replace('u', 'i')}") for x in (a, b)]
    return apply("bitcast", (apply("shr", tuple(signed)),), f"dtype={call.type.dtype}")


def _ones(x: Array) -> Array:
    """How many bits are 1, of unsigned integers."""
    made: Any = None
    for k in range(8 * x.dtype.itemsize):
        bit = apply("and", (apply("shr", (x, k)), 1))
        made = bit if made is None else apply("add", (made, bit))
    return made


def popcnt(call: Call, x: Array) -> Array:
    return cast(_ones(_unsigned(x)), call.dtype)


def leading_zeros(call: Call, x: Array) -> Array:
    x, bits = _unsigned(x), 8 * x.dtype.itemsize
    shift = 1
    while shift < bits:  # all bits behind the first 1
        x = apply("or", (x, apply("shr", (x, shift))))
        shift *= 2
    return cast(apply("sub", (bits, _ones(x))), call.dtype)


def clamp(call: Call, low: Array, x: Array, high: Array) -> Array:
    return apply("min", (apply("max", (x, low)), high))


_COMPARE = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}


def compare(call: Call, a: Array, b: Array) -> Array:
    kinds = call.operation.words[1:] or [str(call.attributes.get("compare_type", ""))]
    if "TOTALORDER" in kinds and a.dtype.kind == "f":
        a, b = _ordered_bits(a), _ordered_bits(b)
    return apply(_COMPARE[direction(call.operation)], (a, b))


def _ordered_bits(x: Array) -> Array:
    """Integers in the total order of floats, in which -0 is less than 0, and NaNs are at the ends."""
    bits = 8 * x.dtype.itemsize
    whole = apply("bitcast", (x,), f"dtype=i{bits}")
    return apply("where", (apply("lt", (whole, 0)), apply("xor", (whole, (1 << (bits - 1)) - 1)), whole))




def bitcast_convert(call: Call, x: Array) -> Array:
    if x.dtype.itemsize != call.dtype.itemsize:
        raise Unsupported(f"the bits of {x.dtype.text} as {call.type.dtype}, which has another width")
    return apply("bitcast", (x,), f"dtype={call.type.dtype}")


def reduce_precision(call: Call, x: Array) -> Array:
    given = (call.number("format", "exponent_bits"), call.attributes.get("mantissa_bits"))
    words = given[0] if isinstance(given[0], str) else f"e{given[0]}m{given[1]}"
    forms = {"e5m10": "f16", "e8m7": "bf16", "e8m23": "f32", "e11m52": "f64"}
    if words not in forms:
        raise Unsupported(f"the precision {words}; takes that of f16, bf16, f32 and f64")
    return cast(apply("cast", (x,), f"dtype={forms[words]}"), call.dtype)
