"""What operations of torch are made of, where the table has no row for them: those that torch knows, and some of ours."""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.nn import functional as F

from . import recurrent
from .rows.table import row_of

# Operations that torch's core keeps, and that are made of rows of the table.
_MORE = ("native_layer_norm", "native_layer_norm_backward", "native_group_norm", "native_group_norm_backward",
         "native_batch_norm", "native_batch_norm_backward", "_native_batch_norm_legit",
         "_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training", "_batch_norm_no_update",
         "_batch_norm_with_update_functional", "batch_norm_backward", "_fused_rms_norm", "nll_loss_forward",
         "nll_loss_backward", "nll_loss2d_forward", "nll_loss2d_backward", "upsample_nearest1d", "upsample_nearest2d",
         "upsample_bilinear2d", "upsample_bicubic2d", "grid_sampler_2d", "gelu_backward", "_softmax_backward_data",
         "_log_softmax_backward_data", "log_sigmoid_forward", "log_sigmoid_backward", "mse_loss", "binary_cross_entropy",
         "reflection_pad2d", "replication_pad2d", "pixel_shuffle", "addcmul", "addcdiv", "lerp", "std_mean", "_prelu_kernel",
         "rrelu_with_noise", "mkldnn_rnn_layer", "linear_backward", "std", "hardswish", "hardsigmoid", "softplus",
         "softplus_backward", "elu_backward", "threshold_backward", "hardtanh_backward", "leaky_relu_backward",
         "silu_backward", "sigmoid_backward", "tanh_backward", "embedding_renorm", "_unsafe_masked_index",
         "_unsafe_masked_index_put_accumulate", "masked_fill", "index_add", "index_copy", "diag_embed", "tril", "triu",
         "logit", "xlogy", "hypot", "trace", "dist", "cdist", "erfc", "frac", "nan_to_num", "unfold", "unfold_backward",
         "im2col", "col2im", "isposinf", "isneginf", "heaviside", "renorm", "smooth_l1_loss", "huber_loss", "narrow_copy", "cauchy",
         "exponential", "log_normal", "uniform", "normal", "normal_functional", "upsample_trilinear3d",
         "ldexp", "tril_indices", "triu_indices")


def _hidden(scores: Tensor, mask: Tensor | None, kind: int | None) -> Tensor:
    """Scores [rows, heads, queries, keys], with those that the mask names left out. kind: 0 of queries and keys, 1 of rows
    and keys, 2 of all four axes."""
    if mask is None:
        return scores
    if kind == 1:
        mask = mask[:, None, None, :]
    return scores.masked_fill(mask != 0, float("-inf"))


def _attention(x: Tensor, heads: int, qkv_weight: Tensor, qkv_bias: Tensor, weight: Tensor, bias: Tensor,
               mask: Tensor | None, kind: int | None) -> tuple[Tensor, Tensor]:
    """Of a sequence to itself: the result, and the probabilities of each head."""
    rows, length, width = x.shape
    q, k, v = F.linear(x, qkv_weight, qkv_bias).view(rows, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    p = _hidden((q * (width // heads) ** -0.5) @ k.transpose(-2, -1), mask, kind).softmax(-1)
    return F.linear((p @ v).transpose(1, 2).flatten(2), weight, bias), p


def _encoder_layer(x: Tensor, width: int, heads: int, qkv_weight: Tensor, qkv_bias: Tensor, weight: Tensor, bias: Tensor,
                   use_gelu: bool, norm_first: bool, eps: float, scale_1: Tensor, shift_1: Tensor, scale_2: Tensor,
                   shift_2: Tensor, weight_1: Tensor, bias_1: Tensor, weight_2: Tensor, bias_2: Tensor,
                   mask: Tensor | None = None, mask_type: int | None = None) -> Tensor:
    """A layer of nn.TransformerEncoder, in inference."""

    def norm_1(x: Tensor) -> Tensor:
        return F.layer_norm(x, [width], scale_1, shift_1, eps)

    def norm_2(x: Tensor) -> Tensor:
        return F.layer_norm(x, [width], scale_2, shift_2, eps)

    def attends(x: Tensor) -> Tensor:
        return _attention(x, heads, qkv_weight, qkv_bias, weight, bias, mask, mask_type)[0]

    def feeds(x: Tensor) -> Tensor:
        return F.linear((F.gelu if use_gelu else F.relu)(F.linear(x, weight_1, bias_1)), weight_2, bias_2)

    if norm_first:
        x = x + attends(norm_1(x))
        return x + feeds(norm_2(x))
    x = norm_1(x + attends(x))
    return norm_2(x + feeds(x))


def _multi_head_attention(query: Tensor, key: Tensor, value: Tensor, width: int, heads: int, qkv_weight: Tensor,
                          qkv_bias: Tensor, weight: Tensor, bias: Tensor, mask: Tensor | None = None,
                          need_weights: bool = True, average_attn_weights: bool = True,
                          mask_type: int | None = None) -> Any:
    """nn.MultiheadAttention of one sequence, in inference."""
    if query is not key or key is not value:
        return NotImplemented
    y, p = _attention(query, heads, qkv_weight, qkv_bias, weight, bias, mask, mask_type)
    if not need_weights:
        return y, query.new_empty(0)
    return y, p.mean(1) if average_attn_weights else p


def _batch_norm(x: Tensor, scale: Tensor | None, shift: Tensor | None, mean: Tensor | None, var: Tensor | None, training: bool,
                momentum: float, eps: float) -> Any:
    """By statistics that stay as they are, which has a row; what torch knows of the others is made of many operations."""
    if training or mean is None or var is None:
        return get_decompositions([torch.ops.aten.native_batch_norm])[torch.ops.aten.native_batch_norm.default](
            x, scale, shift, mean, var, training, momentum, eps)
    return torch.ops.aten._native_batch_norm_legit_no_training.default(x, scale, shift, mean, var, momentum, eps)


_OURS = {"native_batch_norm": _batch_norm, "_transformer_encoder_layer_fwd": _encoder_layer, "_native_multi_head_attention": _multi_head_attention}


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """What is recorded as rows of the table by way of others."""
    table = dict(core_aten_decompositions())
    packets = [getattr(torch.ops.aten, name) for name in _MORE if hasattr(torch.ops.aten, name)]
    table.update(get_decompositions(packets))
    table.update((getattr(torch.ops.aten, name).default, function) for name, function in _OURS.items()
                 if hasattr(torch.ops.aten, name))
    table.update(recurrent.of_exported())
    return {op: function for op, function in table.items() if row_of(op) is None}
