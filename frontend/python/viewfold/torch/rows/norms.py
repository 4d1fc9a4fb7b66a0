"""Batch and layer normalisation, and their derivatives.

torch has decompositions of these, which are a third of what tracing a network with many of them takes. Halves are computed in f32.
"""

from __future__ import annotations

from typing import Any, Sequence

from ..._array import Array, apply
from ..._creation import full, number
from ..._dtypes import float32
from ..._sizes import text_list
from .call import Call, cast, dtype_of


def _wide(x: Any) -> Any:
    """An array to compute with."""
    return cast(x, float32) if isinstance(x, Array) and x.dtype.itemsize == 2 else x


def _add(a: Array, b: Array) -> Array:
    return apply("add", (a, b))


def _sub(a: Array, b: Array) -> Array:
    return apply("sub", (a, b))


def _mul(a: Array, b: Any) -> Array:
    return apply("mul", (a, b))


def _over(name: str, x: Array, axes: Sequence[int], keepdims: bool = True, more: str = "") -> Array:
    return apply(name, (x,), f"axes={text_list(axes)}" + (" keepdims=true" if keepdims else "") + more) if axes else x


def _as(call: Call, place: int, x: Any) -> Any:
    """In the dtype and shape that torch says of a result; None stays."""
    want = call.want[place]
    if x is None or want is None:
        return None
    x = cast(x, dtype_of(want.dtype))
    shape = call.shape(place)
    return x if list(x.shape) == shape else apply("reshape", (x,), "shape=" + text_list(shape))


def _along_channels(x: Any, rank: int) -> Any:
    """[channels] as an array of that rank; None stays."""
    if x is None:
        return None
    return apply("reshape", (_wide(x),), "shape=" + text_list([x.shape[0] if a == 1 else 1 for a in range(rank)]))


def _but_channels(rank: int) -> list[int]:
    return [a for a in range(rank) if a != 1]


def _scaled(x: Array, mean: Array, inverse: Array, weight: Any, bias: Any) -> Array:
    y = _mul(_sub(x, mean), inverse)
    y = y if weight is None else _mul(y, weight)
    return y if bias is None else _add(y, bias)


def _inverse(variance: Array, eps: float) -> Array:
    return apply("rsqrt", (apply("add", (variance, eps)),))


def _statistics(x: Array, axes: Sequence[int], eps: float) -> tuple[Array, Array, Array]:
    """Mean, variance, and the inverse of the deviation, with axes of one element."""
    mean, variance = _over("mean", x, axes), _over("var", x, axes, more=" correction=0.0")
    return mean, variance, _inverse(variance, eps)


def batch_norm_fixed(call: Call, x: Array, weight: Any, bias: Any, mean: Array, variance: Array, momentum: float, eps: float) -> Any:
    """By statistics that are given."""
    m, v, w, b = (_along_channels(i, x.ndim) for i in (mean, variance, weight, bias))
    nothing = [full((0,), 0, dtype=dtype_of(call.want[n].dtype)) for n in (1, 2)]
    return (_as(call, 0, _scaled(_wide(x), m, _inverse(v, eps), w, b)), *nothing)


def batch_norm(call: Call, x: Array, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float,
               eps: float) -> Any:
    """And what becomes of the statistics."""
    if not training:
        return (*batch_norm_fixed(call, x, weight, bias, mean, variance, momentum, eps), mean, variance)
    axes, wide = _but_channels(x.ndim), _wide(x)
    m, v, inverse = _statistics(wide, axes, eps)
    w, b = (_along_channels(i, x.ndim) for i in (weight, bias))
    made = [_scaled(wide, m, inverse, w, b), m, inverse]
    count: Any = 1
    for a in axes:
        count = count * x.shape[a]
    if mean is not None:
        n = number(count)
        more = float(count) / max(count - 1, 1) if isinstance(count, int) else apply(
            "div", (cast(n, wide.dtype), cast(apply("sub", (n, 1)), wide.dtype)))
        for kept, now in ((mean, m), (variance, _mul(v, more))):
            now = apply("reshape", (now,), f"shape=[{x.shape[1]}]")
            made.append(_add(_mul(now, float(momentum)), _mul(_wide(kept), 1.0 - float(momentum))))
    return tuple(_as(call, n, y) for n, y in enumerate(made))


def batch_norm_of_batch(call: Call, x: Array, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Any:
    return batch_norm(call, x, weight, bias, None, None, True, momentum, eps)


def batch_norm_backward(call: Call, gradient: Array, x: Array, weight: Any, mean: Any, variance: Any, saved_mean: Any,
                        saved_inverse: Any, training: bool, eps: float, mask: Sequence[bool]) -> Any:
    rank, g, wide = x.ndim, _wide(gradient), _wide(x)
    axes = _but_channels(rank)
    if training:
        m, inverse = (_along_channels(i, rank) for i in (saved_mean, saved_inverse))
    else:
        m, inverse = _along_channels(mean, rank), _inverse(_along_channels(variance, rank), eps)
    normal = _mul(_sub(wide, m), inverse)
    made: list[Any] = [None, None, None]
    if mask[0]:
        scale = inverse if weight is None else _mul(inverse, _along_channels(weight, rank))
        made[0] = _mul(_centred(g, normal, axes) if training else g, scale)
    if mask[1]:
        made[1] = _over("sum", _mul(g, normal), axes, False)
    if mask[2]:
        made[2] = _over("sum", g, axes, False)
    return tuple(_as(call, n, y) for n, y in enumerate(made))


def _centred(g: Array, normal: Array, axes: Sequence[int]) -> Array:
    """A gradient without its parts along the mean and along the normalised values, which change nothing."""
    return _sub(_sub(g, _over("mean", g, axes)), _mul(normal, _over("mean", _mul(g, normal), axes)))


def layer_norm(call: Call, x: Array, shape: Sequence[Any], weight: Any, bias: Any, eps: float) -> Any:
    wide = _wide(x)
    mean, _, inverse = _statistics(wide, range(x.ndim - len(shape), x.ndim), eps)
    made = (_scaled(wide, mean, inverse, _wide(weight), _wide(bias)), mean, inverse)
    return tuple(_as(call, n, y) for n, y in enumerate(made))


def layer_norm_backward(call: Call, gradient: Array, x: Array, shape: Sequence[Any], mean: Array, inverse: Array, weight: Any,
                        bias: Any, mask: Sequence[bool]) -> Any:
    g, last = _wide(gradient), x.ndim - len(shape)
    normal = _mul(_sub(_wide(x), _wide(mean)), _wide(inverse))
    made: list[Any] = [None, None, None]
    if mask[0]:
        made[0] = _mul(_centred(g if weight is None else _mul(g, _wide(weight)), normal, range(last, x.ndim)), _wide(inverse))
    if mask[1]:
        made[1] = _over("sum", _mul(g, normal), range(last), False)
    if mask[2]:
        made[2] = _over("sum", g, range(last), False)
    return tuple(_as(call, n, y) for n, y in enumerate(made))
