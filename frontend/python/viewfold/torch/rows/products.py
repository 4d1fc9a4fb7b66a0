"""Products, convolutions, attention."""

from __future__ import annotations

from typing import Any

from ... import _native
from ..._array import Array, apply
from ..._sizes import text_list
from .call import Call, Unsupported, cast, dtype_of


def matmul(call: Call, a: Array, b: Array) -> Array:
    return apply("matmul", (a, b))


def _sum(beta: Any, bias: Array, alpha: Any, product: Array) -> Array:
    if alpha != 1:
        product = apply("mul", (product, alpha))
    if beta == 0:
        return product
    return apply("add", (product, bias if beta == 1 else apply("mul", (bias, beta))))


def addmm(call: Call, bias: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    return _sum(beta, bias, alpha, apply("matmul", (a, b)))


def addbmm(call: Call, bias: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    return _sum(beta, bias, alpha, apply("sum", (apply("matmul", (a, b)),), "axes=[0]"))


def trilinear(call: Call, a: Array, b: Array, c: Array, expand_a: Any, expand_b: Any, expand_c: Any, sums: Any,
              unroll_dim: int = 1) -> Array:
    """The sum over axes of the product of three arrays, which get axes of one element first."""
    made: Any = None
    for x, expand in ((a, expand_a), (b, expand_b), (c, expand_c)):
        for axis in sorted(expand):
            x = apply("unsqueeze", (x,), f"axis={axis}")
        made = x if made is None else apply("mul", (made, x))
    return apply("sum", (made,), "axes=" + text_list(sums)) if sums else made


def dot(call: Call, a: Array, b: Array) -> Array:
    return apply("sum", (apply("mul", (a, b)),))


def _conv(x: Array, weight: Array, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
          output_padding: Any, groups: int) -> Array:
    axes = weight.ndim - 2

    def each(given: Any) -> str:
        given = list(given)
        return text_list(given * axes if len(given) == 1 else given)

    text = f"stride={each(stride)} padding={each(padding)} dilation={each(dilation)} groups={groups}"
    operands = (x, weight) if bias is None else (x, weight, bias)
    if not transposed:
        return apply("conv", operands, text)
    return apply("conv_transpose", operands, text + f" output_padding={each(output_padding)}")


def convolution(call: Call, x: Array, weight: Array, bias: Any, stride: Any, padding: Any, dilation: Any,
                transposed: bool, output_padding: Any, groups: int) -> Array:
    if x.ndim != weight.ndim:
        raise Unsupported("a convolution without an axis of examples")
    return _conv(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def convolution_backward(call: Call, gradient: Array, x: Array, weight: Array, bias_sizes: Any, stride: Any,
                         padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
                         mask: Any) -> Any:
    made: list[Any] = [None, None, None]
    wanted = [n for n in (0, 1) if mask[n]]
    if wanted:
        y = _conv(x, weight, None, stride, padding, dilation, transposed, output_padding, groups)
        for n, g in zip(wanted, _native.vjp([y], [gradient], [(x, weight)[n] for n in wanted])):
            made[n] = g
    if mask[2]:
        made[2] = apply("sum", (gradient,), "axes=" + text_list([0] + list(range(2, gradient.ndim))))
    return made


def _factor(q: Array, scale: Any) -> Any:
    """What scores are multiplied by: where nobody says it, one over the root of the width."""
    if scale is not None:
        return float(scale)
    width = q.shape[-1]
    return width ** -0.5 if isinstance(width, int) else apply("rsqrt", (cast(width, q.dtype),))


def _scores(call: Call, q: Array, k: Array, is_causal: bool, attn_mask: Any, scale: Any) -> Array:
    """q k^T scale + mask, in f32 at least."""
    from ..._creation import arange

    factor = _factor(q, scale)
    s = apply("mul", (apply("matmul", (q, apply("swap_axes", (k,), "axis1=-2 axis2=-1"))), factor))
    if is_causal:
        rows, columns = s.shape[-2:]
        below = apply("ge", (arange(rows).reshape((rows, 1)), arange(columns)))
        s = apply("where", (below, s, float("-inf")))
    return s if attn_mask is None else apply("add", (s, attn_mask))


def attention(call: Call, q: Array, k: Array, v: Array, dropout_p: float = 0.0, is_causal: bool = False, *,
              attn_mask: Any = None, scale: Any = None) -> Any:
    """The result, and the logarithm of the sum of exponentials of each row of scores."""
    if dropout_p:
        raise Unsupported("attention with dropout inside")
    text = f"causal={str(bool(is_causal)).lower()}" + ("" if scale is None else f" scale={float(scale)}")
    k, v = _for_each_head(q, k), _for_each_head(q, v)
    y = apply("attention", (q, k, v) if attn_mask is None else (q, k, v, attn_mask), text)
    scores = cast(_scores(call, q, k, is_causal, attn_mask, scale), dtype_of(call.want[1].dtype))
    return y, apply("logsumexp", (scores,), "axes=[-1]")


def _for_each_head(q: Array, x: Array) -> Array:
    """Keys or values for as many heads as the queries have: groups of heads share them."""
    if x.shape[1] == q.shape[1]:
        return x
    b, shared, n, width = x.shape
    times = q.shape[1] // shared
    x = apply("reshape", (x,), "shape=" + text_list([b, shared, 1, n, width]))
    x = apply("expand", (x,), "shape=" + text_list([b, shared, times, n, width]))
    return apply("reshape", (x,), "shape=" + text_list([b, shared * times, n, width]))


def _for_shared_heads(x: Array, gradient: Array) -> Array:
    """The sum of gradients over the heads that share x."""
    if x.shape[1] == gradient.shape[1]:
        return gradient
    b, shared, n, width = x.shape
    parts = [b, shared, gradient.shape[1] // shared, n, width]
    return apply("sum", (apply("reshape", (gradient,), "shape=" + text_list(parts)),), "axes=[2]")


def attention_backward(call: Call, gradient: Array, q: Array, k: Array, v: Array, out: Array, logsumexp: Array,
                       dropout_p: float, is_causal: bool, *, attn_mask: Any = None, scale: Any = None) -> Any:
    """From the probabilities, which the saved logarithms give."""
    if dropout_p:
        raise Unsupported("attention with dropout inside")
    factor = _factor(q, scale)

    shared = (k, v)
    k, v = _for_each_head(q, k), _for_each_head(q, v)

    def t(x: Array) -> Array:
        return apply("swap_axes", (x,), "axis1=-2 axis2=-1")

    s = apply("mul", (apply("matmul", (q, t(k))), factor))
    if is_causal or attn_mask is not None:
        s = _scores(call, q, k, is_causal, attn_mask, scale)
    total = apply("unsqueeze", (logsumexp,), f"axis={s.ndim - 1}")
    p = apply("exp", (apply("sub", (cast(s, total.dtype), total)),))
    p = cast(apply("where", (apply("eq", (total, float("-inf"))), 0.0, p)), s.dtype)  # a row that the mask hides whole
    dp = apply("matmul", (gradient, t(v)))
    row = apply("sum", (apply("mul", (gradient, out)),), "axes=[-1] keepdims=true")
    ds = apply("mul", (apply("mul", (p, apply("sub", (dp, row)))), factor))
    return (apply("matmul", (ds, k)), _for_shared_heads(shared[0], apply("matmul", (t(ds), q))),
            _for_shared_heads(shared[1], apply("matmul", (t(p), gradient))))
