"""Operations on each element."""

from __future__ import annotations

import math
from typing import Any, Callable

import torch

from ..._array import Array, apply
from ..._creation import full as filled
from ..._dtypes import float32
from ..._truncated import quotient, remainder as truncated_remainder
from .call import Call, Unsupported, array, broadcast, cast

Row = Callable[..., Any]


def unary(name: str) -> Row:
    """In the dtype of the result: integers become floats where torch says so."""
    return lambda call, x: apply(name, (cast(x, call.dtype),))


def rounding(name: str) -> Row:
    return lambda call, x: x if x.dtype.kind != "f" else apply(name, (x,))


def round_decimals(call: Call, x: Any, *, decimals: int = 0) -> Any:
    if x.dtype.kind != "f":
        return x
    scale = 10.0 ** abs(decimals)
    there, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    return apply(back, (apply("round", (apply(there, (x, scale)),)), scale)) if decimals else apply("round", (x,))


_OF_TRUTH = {"add": "or", "mul": "and", "max": "or", "min": "and"}  # arithmetic of truth values


def binary(name: str) -> Row:
    def row(call: Call, a: Any, b: Any, *, alpha: Any = 1) -> Any:
        a, b = cast(a, call.dtype), cast(b, call.dtype)
        if call.dtype.name == "bool":
            return apply(_OF_TRUTH.get(name, name), (a, b))
        if alpha != 1:
            b = apply("mul", (b, alpha)) if isinstance(b, Array) else b * alpha
        return apply(name, (_wrapped(a, call.dtype), _wrapped(b, call.dtype)))

    return row


def _wrapped(x: Any, dtype: Any) -> Any:
    """A number as the dtype of integers has it: what does not fit wraps around."""
    if not isinstance(x, int) or isinstance(x, bool) or dtype.kind not in "iu":
        return x
    bits = torch.iinfo(getattr(torch, dtype.name)).bits
    x %= 1 << bits
    return x - (1 << bits) if dtype.kind == "i" and x >> (bits - 1) else x


def rsub(call: Call, a: Any, b: Any, alpha: Any = 1) -> Any:
    a, b = cast(a, call.dtype), cast(b, call.dtype)
    return apply("sub", (b, apply("mul", (a, alpha)) if alpha != 1 else a))


def product_and_sum(call: Call, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, the product of float32 and float64 rounded, too; dynamo writes lerp and addcdiv of optimizers so."""
    d = call.dtype
    wide = float32 if d.name in ("float16", "bfloat16") else d
    return cast(apply("add", (apply("mul", (cast(a, wide), cast(b, wide))), cast(c, wide))), d)


def compare(name: str) -> Row:
    return lambda call, a, b: apply(name, (cast(a, call.common), cast(b, call.common)))


def logical(name: str) -> Row:
    def truth(x: Any) -> Any:
        return x if not isinstance(x, Array) or x.dtype.name == "bool" else apply("ne", (x, 0))

    return lambda call, *x: apply(name, tuple(truth(i) for i in x))


def div(call: Call, a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    d = call.dtype
    a, b = cast(a, d), cast(b, d)
    if rounding_mode is None:
        return apply("div", (a, b))
    if rounding_mode == "floor":
        return apply("floordiv", (a, b))
    if d.kind == "f":
        return apply("trunc", (apply("div", (a, b)),))
    return quotient(a, b)


def fmod(call: Call, a: Any, b: Any) -> Any:
    """The remainder, with the sign of the first operand."""
    a, b = cast(a, call.dtype), cast(b, call.dtype)
    return truncated_remainder(array(a, call.dtype), array(b, call.dtype))


def remainder(call: Call, a: Any, b: Any) -> Any:
    return apply("mod", (cast(a, call.dtype), cast(b, call.dtype)))


def power(call: Call, a: Any, b: Any) -> Any:
    d = call.dtype
    a, b = cast(a, d), cast(b, d)
    simple = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    if isinstance(b, (int, float)) and isinstance(a, Array):
        if b == 1:
            return a
        if b in (2, 3, 4):
            square = apply("mul", (a, a))
            return square if b == 2 else apply("mul", (square, a if b == 3 else square))
        if d.kind == "f" and b in simple:
            return apply(simple[b], (a,))
    return apply("pow", (a, b))


def positive_or(call: Call, x: Any, low: Any = None, high: Any = None) -> Any:
    """clamp: NaN stays."""
    d = call.dtype
    x = cast(x, d)
    if low is not None:
        x = apply("max", (x, _bound(low, d)))
    return x if high is None else apply("min", (x, _bound(high, d)))


def _bound(b: Any, d: Any) -> Any:
    if isinstance(b, float) and d.kind != "f":
        raise Unsupported("clamp of integers with bounds of floats")
    return cast(b, d)


def where(call: Call, condition: Any, a: Any, b: Any) -> Any:
    d = call.dtype
    if not isinstance(a, Array) and not isinstance(b, Array):
        a = array(a, d)
    return apply("where", (condition, cast(a, d), cast(b, d)))


def masked_fill(call: Call, x: Any, mask: Any, value: Any) -> Any:
    return broadcast(apply("where", (mask, cast(value, call.dtype), cast(x, call.dtype))), call.shape())


def to_copy(call: Call, x: Any, **ignored: Any) -> Any:
    return cast(x, call.dtype)


def convert(call: Call, x: Any, dtype: Any) -> Any:
    return cast(x, call.dtype)


def same(call: Call, x: Any, **ignored: Any) -> Any:
    return x


def copy(call: Call, x: Any, source: Any, non_blocking: bool = False) -> Any:
    return broadcast(array(source, call.dtype), call.shape())


def isnan(call: Call, x: Any) -> Any:
    return apply("ne", (x, x))


def isinf(call: Call, x: Any) -> Any:
    if x.dtype.kind != "f":
        return filled(call.shape(), False, dtype=call.dtype)
    return apply("eq", (apply("abs", (x,)), math.inf))


def sign(call: Call, x: Any) -> Any:
    """0 of NaN, as torch has it."""
    if x.dtype.name == "bool":
        return x
    made = apply("sign", (x,))
    return apply("where", (apply("eq", (x, x)), made, 0)) if x.dtype.kind == "f" else made


_BITS = {2: "i16", 4: "i32", 8: "i64"}


def signbit(call: Call, x: Any) -> Any:
    if x.dtype.name == "bool" or x.dtype.kind == "u":
        return filled(call.shape(), False, dtype=call.dtype)
    return apply("lt", (_bits(x) if x.dtype.kind == "f" else x, 0))


def _bits(x: Any) -> Any:
    """The bits of floats, as signed integers."""
    return apply("bitcast", (x,), f"dtype={_BITS[torch.finfo(getattr(torch, x.dtype.name)).bits // 8]}")


def copysign(call: Call, a: Any, b: Any) -> Any:
    d = call.dtype
    size = apply("abs", (array(a, d),))
    below = apply("lt", (_bits(array(b, d)), 0))
    return apply("where", (below, apply("neg", (size,)), size))


def hypot(call: Call, a: Any, b: Any) -> Any:
    """Without squares that are too large or too small."""
    a, b = (apply("abs", (cast(x, call.dtype),)) for x in (a, b))
    large, small = apply("max", (a, b)), apply("min", (a, b))
    ratio = apply("div", (small, apply("where", (apply("eq", (large, 0)), 1.0, large))))
    made = apply("mul", (large, apply("sqrt", (apply("add", (apply("mul", (ratio, ratio)), 1.0)),))))
    infinite = apply("or", (apply("eq", (a, math.inf)), apply("eq", (b, math.inf))))
    return apply("where", (infinite, math.inf, made))


def angle(call: Call, x: Any) -> Any:
    """Of real numbers."""
    x = cast(x, call.dtype)
    return apply("where", (apply("ne", (x, x)), x, apply("where", (apply("lt", (x, 0)), math.pi, 0.0))))


def gelu(call: Call, x: Any, *, approximate: str = "none") -> Any:
    return apply("gelu_tanh" if approximate == "tanh" else "gelu_erf", (x,))


def scaled(factor: float, name: str) -> Row:
    """A function of an element, times a number: logarithms of other bases."""
    return lambda call, x: apply("mul", (apply(name, (cast(x, call.dtype),)), factor))


def hardtanh(call: Call, x: Any, low: Any = -1.0, high: Any = 1.0) -> Any:
    return apply("min", (apply("max", (x, low)), high))


def leaky_relu(call: Call, x: Any, slope: float = 0.01) -> Any:
    return apply("where", (apply("gt", (x, 0)), x, apply("mul", (x, float(slope)))))


def elu(call: Call, x: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    negative = apply("mul", (apply("expm1", (apply("mul", (x, float(input_scale))),)), float(alpha) * float(scale)))
    return apply("where", (apply("gt", (x, 0)), apply("mul", (x, float(scale))), negative))


def atan2(call: Call, a: Any, b: Any) -> Any:
    from ..._elementwise import atan2 as of_arrays

    return of_arrays(array(a, call.dtype), array(b, call.dtype))


def prefer_number(name: str) -> Row:
    """fmax and fmin: NaN only where both are."""

    def row(call: Call, a: Any, b: Any) -> Any:
        a, b = cast(a, call.dtype), cast(b, call.dtype)
        if call.dtype.kind != "f":
            return apply(name, (a, b))
        made = apply(name, (a, b))
        return apply("where", (apply("ne", (a, a)), b, apply("where", (apply("ne", (b, b)), a, made))))

    return row
