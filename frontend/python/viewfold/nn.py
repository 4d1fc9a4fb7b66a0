"""Functions of neural networks."""

from __future__ import annotations

from typing import Any

from ._array import Array, apply
from ._hints import missing
from ._shapes import pad
from ._sizes import axis_text, text_list

__all__ = ["relu", "sigmoid", "silu", "gelu", "softplus", "leaky_relu", "elu", "softmax", "log_softmax", "logsumexp",
           "one_hot", "layer_norm", "rms_norm", "attention", "conv", "conv_transpose", "max_pool", "avg_pool"]


def relu(x: Any) -> Array:
    return apply("relu", (x,))


def sigmoid(x: Any) -> Array:
    return apply("sigmoid", (x,))


def silu(x: Any) -> Array:
    return apply("silu", (x,))


def gelu(x: Any, *, approximate: bool | str = False) -> Array:
    """x times the normal distribution function, or its approximation by tanh. Torch's names "none" and "tanh" are taken, too."""
    if isinstance(approximate, str) and approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate is {approximate!r:.40}; takes True or 'tanh', False or 'none'")
    return apply("gelu_tanh" if approximate and approximate != "none" else "gelu_erf", (x,))


def softplus(x: Any) -> Array:
    return apply("softplus", (x,))


def leaky_relu(x: Any, alpha: float = 0.01) -> Array:
    return apply("leaky_relu", (x,), f"alpha={float(alpha)}")


def elu(x: Any, alpha: float = 1.0) -> Array:
    return apply("elu", (x,), f"alpha={float(alpha)}")


def softmax(x: Any, axis: int = -1) -> Array:
    return apply("softmax", (x,), f"axis={axis_text(axis)}")


def log_softmax(x: Any, axis: int = -1) -> Array:
    return apply("log_softmax", (x,), f"axis={axis_text(axis)}")


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    from ._reductions import logsumexp as reduce

    return reduce(x, axis=axis, keepdims=keepdims)


def one_hot(x: Any, classes: int, *, dtype: Any = "float32") -> Array:
    """1 at the class of each element, on a new last axis."""
    from ._creation import arange, asarray, astype

    x = asarray(x)
    return astype(x.reshape(tuple(x.shape) + (1,)) == arange(classes, dtype=x.dtype), dtype)


def _check_factors(usage: str, weight: Any, bias: Any = None) -> None:
    """Refuses a shape, an axis or an eps in the place of an array."""
    for role, given in (("weight", weight), ("bias", bias)):
        if isinstance(given, (int, float, tuple, list)):
            raise TypeError(f"{usage}: the {role} is an array, and got {given!r:.40}; " +
                            (f"it is eps={given!r}" if isinstance(given, float) else "the axes that are normalised are those from axis on"))


def layer_norm(x: Any, weight: Any = None, bias: Any = None, *, axis: int = -1, eps: float = 1e-5) -> Array:
    _check_factors("layer_norm(x, weight, bias, axis=-1, eps=1e-5)", weight, bias)
    given = [a for a in (weight, bias) if a is not None]
    return apply("layer_norm", (x, *given), f"axis={axis_text(axis)} eps={float(eps)}")


def rms_norm(x: Any, weight: Any = None, *, axis: int = -1, eps: float = 1e-6) -> Array:
    _check_factors("rms_norm(x, weight, axis=-1, eps=1e-6)", weight)
    return apply("rms_norm", (x,) if weight is None else (x, weight), f"axis={axis_text(axis)} eps={float(eps)}")


def attention(q: Any, k: Any, v: Any, mask: Any = None, *, scale: float | None = None, causal: bool = False) -> Array:
    """softmax(q k^T scale + mask) v, without the matrix of scores in memory."""
    attributes = f"causal={str(bool(causal)).lower()}" + (f" scale={float(scale)}" if scale else "")
    return apply("attention", (q, k, v) if mask is None else (q, k, v, mask), attributes)


def _windows(**lists: Any) -> str:
    parts = []
    for name, given in lists.items():
        if given is not None:
            parts.append(f"{name}=" + (text_list(given) if isinstance(given, (list, tuple)) else str(given)))
    return " ".join(parts)


def _each(given: Any, axes: int) -> Any:
    return [given] * axes if isinstance(given, int) else given


def conv(x: Any, weight: Any, bias: Any = None, *, stride: Any = None, padding: Any = None, dilation: Any = None,
         groups: int = 1, precision: str | None = None) -> Array:
    """Convolution of [batch, channels, spatial...] by [channels of the result, channels / groups, spatial...].

    padding: a number, one for each spatial axis, or pairs of what goes before and behind each. precision: "relaxed" allows
    errors that are relative to the largest result, in fewer multiplications; "exact", where VIEWFOLD_PRECISION is not
    relaxed. The latter also has products of bf16 computed by instructions that take subnormal numbers as zeros, "exact" or not.
    """
    axes = weight.ndim - 2
    if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)):
        x, padding = pad(x, [(0, 0), (0, 0), *padding]), None
    return apply("conv", (x, weight) if bias is None else (x, weight, bias),
                 _windows(stride=_each(stride, axes), padding=_each(padding, axes), dilation=_each(dilation, axes),
                          groups=groups, precision=precision))


def conv_transpose(x: Any, weight: Any, bias: Any = None, *, stride: Any = None, padding: Any = None,
                   output_padding: Any = None, dilation: Any = None, groups: int = 1) -> Array:
    axes = weight.ndim - 2
    return apply("conv_transpose", (x, weight) if bias is None else (x, weight, bias),
                 _windows(stride=_each(stride, axes), padding=_each(padding, axes),
                          output_padding=_each(output_padding, axes), dilation=_each(dilation, axes), groups=groups))


def max_pool(x: Any, kernel: Any, *, stride: Any = None, padding: Any = None, dilation: Any = None) -> Array:
    """The greatest of each window over the last axes."""
    axes = 2 if isinstance(kernel, int) else len(kernel)
    return apply("max_pool", (x,), _windows(kernel=_each(kernel, axes), stride=_each(stride, axes),
                                            padding=_each(padding, axes), dilation=_each(dilation, axes)))


def avg_pool(x: Any, kernel: Any, *, stride: Any = None, padding: Any = None, count_pads: bool = True) -> Array:
    axes = 2 if isinstance(kernel, int) else len(kernel)
    return apply("avg_pool", (x,), _windows(kernel=_each(kernel, axes), stride=_each(stride, axes),
                                            padding=_each(padding, axes), count_pads=str(bool(count_pads)).lower()))


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, f"it has {', '.join(__all__)}")
