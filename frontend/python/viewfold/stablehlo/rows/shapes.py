"""Constants, views, and parts at places that a run computes."""

from __future__ import annotations

from typing import Any, Sequence

from ..._array import Array, apply
from ..._sizes import text_list
from ..constants import array
from ..recorder import Call


def constant(call: Call) -> Array:
    return array(call.attributes["value"], call.type)


def iota(call: Call) -> Array:
    axis = call.number("dim", "iota_dimension")
    made = along(call.shape[axis], axis, len(call.shape), call.type.dtype)
    made = expand(made, call.shape)
    call.recorder.lines[id(made)] = (made, axis)
    return made


def along(count: int, axis: int, rank: int, dtype: str = "i64") -> Array:
    """0, 1, ... along an axis, in an array of that rank."""
    whole = dtype if dtype[0] in "iu" else "i64"
    if not count:
        made = apply("expand", (apply("cast", (False,), f"dtype={whole}"),), "shape=[0]")
    else:
        made = apply("arange", (), f"dtype={whole} start=0 stop={count} step=1")
    if whole != dtype:
        made = apply("cast", (made,), f"dtype={dtype}")
    return reshape_to(made, [count if a == axis else 1 for a in range(rank)])


def reshape_to(x: Array, shape: Sequence[int]) -> Array:
    return x if list(x.shape) == list(shape) else apply("reshape", (x,), "shape=" + text_list(shape))


def expand(x: Array, shape: Sequence[int]) -> Array:
    return x if list(x.shape) == list(shape) else apply("expand", (x,), "shape=" + text_list(shape))


def permute(x: Array, order: Sequence[int]) -> Array:
    return x if list(order) == list(range(x.ndim)) else apply("permute", (x,), "order=" + text_list(order))


def shrink(x: Array, bounds: Sequence[tuple[int, int]]) -> Array:
    if all((b, e) == (0, s) for (b, e), s in zip(bounds, x.shape)):
        return x
    return apply("shrink", (x,), "bounds=" + text_list(f"[{b},{e}]" for b, e in bounds))


def broadcast_in_dim(call: Call, x: Array) -> Array:
    dims = call.numbers("dims", "broadcast_dimensions")
    x = permute(x, sorted(range(len(dims)), key=lambda n: dims[n]))
    sizes = dict(zip(sorted(dims), x.shape))
    return expand(reshape_to(x, [sizes.get(a, 1) for a in range(len(call.shape))]), call.shape)


def slice_(call: Call, x: Array) -> Array:
    if "ranges" in call.attributes:
        ranges = [(*r, 1)[:3] for r in call.attributes["ranges"]]
    else:
        begins, ends = call.numbers("start_indices"), call.numbers("limit_indices")
        ranges = list(zip(begins, ends, call.numbers("strides") or [1] * len(begins)))
    return strided(shrink(x, [(b, e) for b, e, _ in ranges]), [s for _, _, s in ranges])


def strided(x: Array, steps: Sequence[int]) -> Array:
    return x if all(s == 1 for s in steps) else apply("stride", (x,), "steps=" + text_list(steps))


def reverse(call: Call, x: Array) -> Array:
    axes = call.numbers("dims", "dimensions")
    return apply("flip", (x,), "axes=" + text_list(axes)) if axes else x


def concatenate(call: Call, *x: Array) -> Array:
    some = [i for i in x if 0 not in i.shape] or list(x[:1])
    return apply("concat", some, f"axis={call.number('dim', 'dimension')}") if len(some) > 1 else some[0]


def apart(x: Array, interior: Sequence[int], value: Any) -> Array:
    """With so many further elements between those of each axis."""
    for axis, n in enumerate(interior):
        if n and x.shape[axis] > 1:
            shape, size = list(x.shape), x.shape[axis]
            pads = [(0, n if a == axis + 1 else 0) for a in range(x.ndim + 1)]
            x = padded(apply("unsqueeze", (x,), f"axis={axis + 1}"), pads, value)
            x = reshape_to(x, shape[:axis] + [size * (n + 1)] + shape[axis + 1:])
            x = shrink(x, [(0, s - n if a == axis else s) for a, s in enumerate(x.shape)])
    return x


def padded(x: Array, pads: Sequence[tuple[int, int]], value: Any) -> Array:
    """Negative pads take elements away."""
    more = [(max(a, 0), max(b, 0)) for a, b in pads]
    if any(a or b for a, b in more):
        text = str(value).lower() if isinstance(value, bool) else value
        x = apply("pad", (x,), "pads=" + text_list(f"[{a},{b}]" for a, b in more) + (f" value={text}" if value else ""))
    return shrink(x, [(max(-a, 0), s - max(-b, 0)) for (a, b), s in zip(pads, x.shape)])


def pad(call: Call, x: Array, value: Array) -> Array:
    pads = list(zip(call.numbers("low", "edge_padding_low"), call.numbers("high", "edge_padding_high")))
    interior = call.numbers("interior", "interior_padding")

    def widened(x: Array, value: Any) -> Array:
        return padded(apart(x, interior, value), pads, value)

    known = call.known(value)
    if known is not None:
        return widened(x, known)
    inside = apply("expand", (apply("reshape", (apply("cast", (1,), "dtype=bool"),), "shape=" + text_list([1] * x.ndim)),),
                   "shape=" + text_list(x.shape)) if x.ndim else apply("cast", (1,), "dtype=bool")
    return apply("where", (widened(inside, False), widened(x, 0), value))


def _starts(call: Call, x: Array, sizes: Sequence[int], starts: Sequence[Array]) -> list[Any]:
    """Where the part begins along each axis: a number where it is known, and inside of the array, as XLA has it."""
    made: list[Any] = []
    for size, part, start in zip(x.shape, sizes, starts):
        known = call.known(start)
        if size == part:
            made.append(0)
        elif known is not None:
            made.append(min(max(known, 0), size - part))
        else:
            start = apply("cast", (start,), "dtype=i64")
            made.append(apply("min", (apply("max", (start, 0)), size - part)))
    return made


def part(x: Array, starts: Sequence[Any], sizes: Sequence[int]) -> Array:
    x = shrink(x, [(s, s + n) if isinstance(s, int) else (0, have) for s, n, have in zip(starts, sizes, x.shape)])
    for axis, (start, size) in enumerate(zip(starts, sizes)):
        if not isinstance(start, int):
            at = apply("add", (along(size, 0, 1), start))
            x = apply("gather", (x, at), f"axis={axis} mode=clip")
    return x


def dynamic_slice(call: Call, x: Array, *starts: Array) -> Array:
    sizes = call.numbers("sizes", "slice_sizes")
    return part(x, _starts(call, x, sizes, starts), sizes)


def dynamic_update_slice(call: Call, x: Array, update: Array, *starts: Array) -> Array:
    if 0 in update.shape:
        return x
    if list(update.shape) == list(x.shape):
        return update
    target = part(apply("address", (x,)), _starts(call, x, update.shape, starts), list(update.shape))
    return apply("assign", (x, target, update), "op=set")
