"""Products of matrices, and convolutions."""

from __future__ import annotations

from math import prod
from typing import Any

from ..._array import Array, apply
from ..._sizes import text_list
from ..constants import elements
from ..recorder import Call
from .elementwise import cast
from .shapes import apart, padded, permute, reshape_to


def _dimensions(call: Call) -> tuple[list[int], list[int], list[int], list[int]]:
    """Batch axes and contracted axes, of both operands."""
    numbers = call.attributes.get("dot_dimension_numbers")
    if numbers is not None:
        names = ("lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions")
        return tuple(numbers.get(n, []) for n in names)  # type: ignore[return-value]
    batch = call.attributes.get("batching_dims", [[], []])
    return (*batch, *call.attributes.get("contracting_dims", [[], []]))


def dot_general(call: Call, a: Array, b: Array) -> Array:
    a_batch, b_batch, a_sum, b_sum = _dimensions(call)
    a_free = [n for n in range(a.ndim) if n not in a_batch + a_sum]
    b_free = [n for n in range(b.ndim) if n not in b_batch + b_sum]
    batch = [a.shape[n] for n in a_batch]
    rows, columns = prod(a.shape[n] for n in a_free), prod(b.shape[n] for n in b_free)
    terms = prod(a.shape[n] for n in a_sum)
    a = reshape_to(permute(cast(a, call.dtype), a_batch + a_free + a_sum), batch + [rows, terms])
    b = reshape_to(permute(cast(b, call.dtype), b_batch + b_sum + b_free), batch + [terms, columns])
    return reshape_to(cast(apply("matmul", (a, b)), call.dtype), call.shape)


def _layout(given: list[Any], first: str, second: str) -> list[int]:
    """The order of axes that has these two first, and those of space behind."""
    return [given.index(first), given.index(second)] + [given.index(n) for n in range(len(given) - 2)]


def convolution(call: Call, x: Array, weight: Array) -> Array:
    numbers = call.attributes.get("dim_numbers") or call.attributes["dimension_numbers"]["lists"][0]
    window = {**call.attributes, **call.attributes.get("window", {})}
    axes = x.ndim - 2

    def each(default: Any, *names: str) -> list[Any]:
        found = next((window[n] for n in names if n in window), None)
        return [default] * axes if found is None else found if isinstance(found, list) else elements(found)

    x = permute(x, _layout(numbers[0], "b", "f"))
    weight = permute(weight, _layout(numbers[1], "o", "i"))
    flipped = [n + 2 for n, r in enumerate(each(False, "reverse", "window_reversal")) if r]
    if flipped:
        weight = apply("flip", (weight,), "axes=" + text_list(flipped))
    groups = call.attributes.get("feature_group_count", 1)
    batches = call.attributes.get("batch_group_count", 1)
    if batches > 1:  # a group of examples becomes one of channels
        n, c, *space = x.shape
        x = permute(reshape_to(x, [batches, n // batches, c, *space]), [1, 0, *range(2, x.ndim + 1)])
        x, groups = reshape_to(x, [n // batches, batches * c, *space]), batches
    x = apart(x, [0, 0] + [d - 1 for d in each(1, "lhs_dilate", "lhs_dilation")], 0)
    pads = [tuple(p) for p in each([0, 0], "pad", "padding")]
    if any(b < 0 or e < 0 for b, e in pads):
        x = padded(x, [(0, 0), (0, 0)] + [(min(b, 0), min(e, 0)) for b, e in pads], 0)
        pads = [(max(b, 0), max(e, 0)) for b, e in pads]
    text = (f"stride={text_list(each(1, 'stride', 'window_strides'))} padding={text_list(f'[{b},{e}]' for b, e in pads)} "
            f"dilation={text_list(each(1, 'rhs_dilate', 'rhs_dilation'))} groups={groups}")
    made = cast(apply("conv", (cast(x, call.dtype), cast(weight, call.dtype)), text), call.dtype)
    back = _layout(numbers[2], "b", "f")
    return permute(made, [back.index(n) for n in range(made.ndim)])
