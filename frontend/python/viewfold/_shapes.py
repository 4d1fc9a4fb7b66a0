"""Other shapes of the same elements."""

from __future__ import annotations

import operator
from typing import Any, Sequence

from ._array import Array, apply
from ._creation import asarray
from ._sizes import Size, as_axis, axes_text, text_list


def _axes(axis: Any) -> list[int]:
    return [int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)]


def reshape(x: Array, /, shape: Any, *, copy: bool | None = None) -> Array:
    if isinstance(shape, str):
        raise TypeError(f"reshape: the shape is the text {shape!r:.40}; takes sizes, as in reshape(x, (3, 2))")
    if isinstance(shape, float):
        raise TypeError(f"reshape: the shape is {shape}; takes integers, as in reshape(x, (3, 2))")
    sizes = (shape,) if isinstance(shape, (int, Size)) or getattr(shape, "ndim", 1) == 0 else tuple(shape)
    return apply("reshape", (asarray(x),), "shape=" + text_list(sizes))


def broadcast_to(x: Array, /, shape: Any) -> Array:
    return apply("expand", (asarray(x),), "shape=" + text_list(shape))


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    rank = max((len(s) for s in shapes), default=0)
    out: list[Any] = [1] * rank
    for shape in shapes:
        for i, size in enumerate(reversed(tuple(shape)), 1):
            if size != 1 and out[-i] != 1 and out[-i] != size:
                raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast: {out[-i]} meets {size} at "
                                 f"axis -{i}; sizes must be equal or 1")
            if out[-i] == 1:
                out[-i] = size
    return tuple(out)


def broadcast_arrays(*arrays: Array) -> list[Array]:
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return [broadcast_to(a, shape) for a in arrays]


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    return apply("permute", (x,), "order=" + axes_text(axes))


def transpose(x: Array, axes: Sequence[int] | None = None, *more: Any) -> Array:
    if more:
        order = ", ".join(map(str, (axes, *more)))
        raise TypeError(f"transpose takes the order of all axes as one tuple, as in transpose(x, ({order})); two axes are exchanged by "
                        "vf.swapaxes(x, a, b)")
    return x.T if axes is None else permute_dims(x, axes)


def matrix_transpose(x: Array, /) -> Array:
    return x.mT


def swapaxes(x: Array, a: int, b: int) -> Array:
    return apply("swap_axes", (x,), f"axis1={a} axis2={b}")


def moveaxis(x: Array, source: Any, destination: Any, /) -> Array:
    froms = [as_axis(a, x.ndim, "moveaxis") for a in _axes(source)]
    tos = [as_axis(a, x.ndim, "moveaxis") for a in _axes(destination)]
    for role, axes in (("source", froms), ("destination", tos)):
        twice = next((a for a in axes if axes.count(a) > 1), None)
        if twice is not None:
            raise ValueError(f"moveaxis: the {role} has axis {twice} twice; takes each axis once")
    if len(froms) != len(tos):
        raise ValueError(f"moveaxis: {len(froms)} sources and {len(tos)} destinations; takes as many of both")
    order = [a for a in range(x.ndim) if a not in froms]
    for to, origin in sorted(zip(tos, froms)):
        order.insert(to, origin)
    return permute_dims(x, order)


def squeeze(x: Array, /, axis: Any = None) -> Array:
    if axis is None:
        return apply("squeeze", (x,))
    return apply("squeeze", (x,), "axes=" + text_list(_axes(axis))) if _axes(axis) else x


def expand_dims(x: Array, /, axis: Any = 0) -> Array:
    axes = _axes(axis)
    rank = x.ndim + len(axes)
    for a in axes:
        if not -rank <= a < rank:
            raise IndexError(f"expand_dims: axis {a} for a result of {rank} axes")
    for a in sorted(a % rank for a in axes):
        x = apply("unsqueeze", (x,), f"axis={a}")
    return x


def flip(x: Array, /, axis: Any = None) -> Array:
    return apply("flip", (x,), "axes=" + axes_text(tuple(range(x.ndim)) if axis is None else axis)) if x.ndim else x


def as_shift(shift: Any) -> int:
    try:
        return operator.index(shift)
    except TypeError:
        raise TypeError(f"roll: a shift is an integer that is known when a function is traced, and got {shift!r:.60}") from None


def roll(x: Array, /, shift: Any, *, axis: Any = None) -> Array:
    if axis is None:
        return roll(x.reshape(-1), shift, axis=0).reshape(x.shape)
    axes = [as_axis(a, x.ndim, "roll") for a in _axes(axis)]
    shifts = [as_shift(s) for s in (shift if isinstance(shift, (list, tuple)) else [shift])]
    count = max(len(axes), len(shifts))
    if any(len(given) not in (1, count) for given in (axes, shifts)):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes; takes one for each, or one for all")
    for by, a in zip(shifts * (count // len(shifts)), axes * (count // len(axes))):
        size = x.shape[a]
        if not isinstance(size, int):
            raise TypeError(f"roll: the size {size} of axis {a} is known in runs alone; fix it, or roll by vf.concat of two slices")
        if size == 0 or by % size == 0:
            continue
        cut: list[Any] = [slice(None)] * x.ndim
        cut[a] = slice(size - by % size, None)
        remainder = list(cut)
        remainder[a] = slice(None, size - by % size)
        x = concat([x[tuple(cut)], x[tuple(remainder)]], axis=a)
    return x


def _check_axis(axis: Any, who: str) -> None:
    try:
        operator.index(axis)
    except TypeError:
        raise TypeError(f"{who} takes a list of arrays and an axis, as in {who}([a, b], axis=0); the axis is "
                        f"{type(axis).__name__}") from None


def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    if axis is not None:
        _check_axis(axis, "concat")
    parts = [asarray(a) for a in arrays]
    if axis is None:
        parts, axis = [a.reshape(-1) for a in parts], 0
    return apply("concat", parts, f"axis={axis}")


def concatenate(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    if axis is not None:
        _check_axis(axis, "concatenate")
    return concat(arrays, axis=axis)


def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    _check_axis(axis, "stack")
    return apply("stack", [asarray(a) for a in arrays], f"axis={axis}")


def unstack(x: Array, /, axis: int = 0) -> tuple[Array, ...]:
    rank = axis % x.ndim
    return tuple(x[(slice(None),) * rank + (i,)] for i in range(x.shape[rank]))


def split(x: Array, parts: int, axis: int = 0) -> tuple[Array, ...]:
    if not isinstance(parts, int) or parts < 1:
        raise ValueError(f"split: {parts!r:.60} parts; takes a number of equal parts, 1 or more")
    return apply("split", (x,), f"parts={parts} axis={axis}", parts) if parts > 1 else (x,)


def tile(x: Array, repetitions: Any, /) -> Array:
    times = list(_axes(repetitions))
    if any(not isinstance(t, (int, Size)) or (isinstance(t, int) and t < 0) for t in times):
        raise ValueError(f"tile: repetitions {repetitions!r:.60}; takes integers >= 0, one for each axis")
    x = x.reshape((1,) * max(0, len(times) - x.ndim) + tuple(x.shape))
    times = [1] * (x.ndim - len(times)) + times
    wide = [s for t, size in zip(times, x.shape) for s in (t, size)]
    inner = x.reshape(tuple(s for size in x.shape for s in (1, size)))
    return broadcast_to(inner, wide).reshape(tuple(t * s for t, s in zip(times, x.shape)))


def repeat(x: Array, repeats: int, /, axis: int | None = None) -> Array:
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = as_axis(axis, x.ndim, "repeat")
    if isinstance(repeats, int) and repeats < 0:
        raise ValueError(f"repeat: {repeats} times; takes 0 or more")
    if not isinstance(repeats, int):
        counts = numbers(repeats) if isinstance(repeats, Array) else list(repeats)
        if len(counts) == 1:
            return repeat(x, counts[0], axis=axis)
        if len(counts) != x.shape[axis]:
            raise ValueError(f"repeat: {len(counts)} repetitions for the {x.shape[axis]} elements of axis {axis}; takes one for each, or one "
                             "number for all")
        positions = [i for i, n in enumerate(counts) for _ in range(n)]
        return apply("gather", (x, asarray(positions, dtype="int64")), f"axis={axis}")
    shape = x.shape
    wide = shape[:axis + 1] + (repeats,) + shape[axis + 1:]
    return broadcast_to(expand_dims(x, axis + 1), wide).reshape(
        shape[:axis] + (shape[axis] * repeats,) + shape[axis + 1:])


def pad(x: Array, pads: Any, mode: str = "constant", value: Any = 0) -> Array:
    """Elements before and after each axis: constant, edge, reflect or wrap, as numpy.pad."""
    pairs: list[Any] = [pads] if isinstance(pads, int) else [pads] if len(pads) and all(isinstance(p, int) for p in pads) else list(pads)
    pairs = [(p, p) if isinstance(p, int) else tuple(p) for p in pairs] * (x.ndim if len(pairs) == 1 else 1)
    if any(len(p) != 2 for p in pairs):
        raise ValueError(f"pad: the pads are {pads}; takes a number, a pair (before, after), or a pair for each axis")
    attributes = "pads=" + text_list(f"[{lo},{hi}]" for lo, hi in pairs)
    return apply("pad", (x,), attributes + (f" value={value}" if mode == "constant" else f" mode={mode}"))


def name_axes(x: Array, letters: str) -> Array:
    """x with a letter for each axis, or _ for none: name_axes(x, "bchw").

    Operations check letters and pass them on (`x.axes` tells them), and take them in place of numbers: x.sum("hw").
    Arguments of functions of `vf.jit` are given them by annotations, `x: vf.Array["b", "c"]`, or inside.
    """
    if not isinstance(letters, str):
        raise TypeError(f"name_axes: the letters are {letters!r:.40}; takes one text, a letter for each axis, as in name_axes(x, 'ab')")
    return apply("name_axes", (asarray(x),), f'to="{letters}"')


def rearrange(x: Array, pattern: str, **sizes: int) -> Array:
    """Axes by letters, as einops: rearrange(x, 'b h w c -> b c h w'); one letter for each axis."""
    if not isinstance(pattern, str) or pattern.count("->") != 1:
        raise TypeError(f"rearrange: the pattern is {pattern!r:.60}; takes one text with an arrow, as in rearrange(x, 'b h w c -> b c h w')")
    before, after = (p.replace(" ", "") for p in pattern.split("->"))
    for letter, size in sizes.items():
        before = before.replace(letter, f"{letter}={size} ")
    return apply("rearrange", (x,), f'from="{before}" to="{after}"')
