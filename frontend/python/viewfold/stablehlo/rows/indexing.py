"""Gather and scatter: windows of an array at places that an array of indices tells."""

from __future__ import annotations

from math import prod
from typing import Any

from ... import _native
from ..._array import Array, apply
from ..._dtypes import int64
from ..._sizes import text_list
from ..bodies import binary
from ..recorder import Call, Unsupported
from .elementwise import cast
from .reductions import OPERATIONS, identity
from .shapes import along, expand, permute, reshape_to


class _Windows:
    """How axes of an array, of windows and of indices belong together. `shape` is that of all windows: the result of a
    gather, the updates of a scatter; its axes `window_axes` lie in a window, the others are those of the indices."""

    def __init__(self, x: Array, indices: Array, numbers: dict[str, Any], shape: list[int], window_axes: list[int],
                 left_out: list[int], starts: list[int], x_batch: list[int], index_batch: list[int]) -> None:
        vector = numbers.get("index_vector_dim", 0)
        if vector == indices.ndim:
            indices = apply("unsqueeze", (indices,), f"axis={vector}")
        self.index_batch = [b - (b > vector) for b in index_batch]
        self.indices = cast(permute(indices, [a for a in range(indices.ndim) if a != vector] + [vector]), int64)
        self.x, self.shape, self.starts, self.x_batch = x, shape, starts, x_batch
        self.in_window = [a for a in range(x.ndim) if a not in left_out and a not in x_batch]  # axes of x
        self.window_axes = window_axes
        self.places = [a for a in range(len(shape)) if a not in window_axes]  # axes of the shape
        self.extent = {a: shape[w] for a, w in zip(self.in_window, window_axes)}

    def start(self, axis: int) -> Array:
        """Of each window along that axis of x, in the rank of the shape."""
        n = self.starts.index(axis)
        lead = list(self.indices.shape[:-1])
        one = apply("shrink", (self.indices,), "bounds=" + text_list(
            [f"[0,{s}]" for s in lead] + [f"[{n},{n + 1}]"]))
        return self._at_places(reshape_to(one, lead))

    def _at_places(self, x: Array) -> Array:
        sizes = iter(x.shape)
        return reshape_to(x, [next(sizes) if a in self.places else 1 for a in range(len(self.shape))])

    def address(self, clamped: bool) -> tuple[Array, Any]:
        """Of each element of all windows: its place in x in row-major order; and whether its window lies in x, for all, or
        None, where each is moved into x."""
        made: Any = apply("cast", (0,), "dtype=i64")
        inside: Any = None
        stride = 1
        for axis in reversed(range(self.x.ndim)):
            size, at = self.x.shape[axis], None
            if axis in self.starts:
                at, last = self.start(axis), size - self.extent.get(axis, 1)
                if clamped:
                    at = apply("min", (apply("max", (at, 0)), last))
                else:
                    good = apply("and", (apply("ge", (at, 0)), apply("le", (at, last))))
                    inside = good if inside is None else apply("and", (inside, good))
            if axis in self.x_batch:
                place = self.places[self.index_batch[self.x_batch.index(axis)]]
                at = along(size, place, len(self.shape))
            if axis in self.in_window:
                w = self.window_axes[self.in_window.index(axis)]
                within = along(self.shape[w], w, len(self.shape))
                at = within if at is None else apply("add", (at, within))
            if at is not None:
                made = apply("add", (made, apply("mul", (at, stride)) if stride != 1 else at))
            stride *= size
        made = reshape_to(made, [1] * len(self.shape)) if not made.ndim and self.shape else made
        return expand(made, self.shape), inside

    def simple_axis(self) -> int | None:
        """The axis of x that whole windows are taken along, one index each."""
        if len(self.starts) != 1 or self.x_batch or self.in_window != [a for a in range(self.x.ndim) if a != self.starts[0]]:
            return None
        whole = all(self.extent[a] == self.x.shape[a] for a in self.in_window)
        return self.starts[0] if whole else None

    def order(self, axis: int) -> list[int]:
        """How the axes of x[:axis] ++ indices ++ x[axis+1:] stand in the shape."""
        count = len(self.places)
        order = [0] * len(self.shape)
        for n, w in enumerate(self.window_axes):
            order[w] = n if n < axis else n + count
        for n, p in enumerate(self.places):
            order[p] = axis + n
        return order


def _inverse(order: list[int]) -> list[int]:
    return [order.index(n) for n in range(len(order))]


def flat(x: Array) -> Array:
    return reshape_to(x, [prod(x.shape)])


def gather(call: Call, x: Array, indices: Array) -> Array:
    numbers = call.attributes["dimension_numbers"]
    if 0 in call.shape:
        return expand(reshape_to(apply("cast", (0,), f"dtype={x.dtype.text}"), [1] * len(call.shape)), call.shape)
    w = _Windows(x, indices, numbers, call.shape, numbers.get("offset_dims", []), numbers.get("collapsed_slice_dims", []),
                 numbers.get("start_index_map", []), numbers.get("operand_batching_dims", []),
                 numbers.get("start_indices_batching_dims", []))
    axis = w.simple_axis()
    if axis is not None:
        at = reshape_to(w.indices, list(w.indices.shape[:-1]))
        made = apply("gather", (x, apply("max", (at, 0))), f"axis={axis} mode=clip")
        return permute(made, w.order(axis))
    return apply("gather", (flat(x), w.address(True)[0]), "axis=0 mode=clip")


_EXTREMA = {"maximum": "max", "minimum": "min"}


def scatter(call: Call, x: Array, indices: Array, updates: Array, *more: Array) -> Array:
    how = binary(call.regions[0])
    if more or how is None:
        raise Unsupported("a scatter of several arrays, or with a body that is no operation of its two parameters")
    numbers = call.attributes["scatter_dimension_numbers"]
    w = _Windows(x, indices, numbers, list(updates.shape), numbers.get("update_window_dims", []),
                 numbers.get("inserted_window_dims", []), numbers.get("scatter_dims_to_operand_dims", []),
                 numbers.get("input_batching_dims", []), numbers.get("scatter_indices_batching_dims", []))
    if 0 in updates.shape or 0 in x.shape:
        return x
    name = "scatter_add" if how == "add" else "scatter"
    added = how == "add" and x.dtype.kind != "b"
    axis = w.simple_axis() if how == "set" or added else None
    if axis is not None:
        at = reshape_to(w.indices, list(w.indices.shape[:-1]))
        at = apply("where", (apply("lt", (at, 0)), x.shape[axis], at))  # out of range, and not from the end
        return apply(name, (x, at, permute(updates, _inverse(w.order(axis)))), f"axis={axis} mode=fill")
    at, inside = w.address(False)
    line = flat(x)
    if inside is not None:
        at = apply("where", (inside, at, line.shape[0]))
    at, given = flat(at), flat(updates)
    if how in _EXTREMA:  # in an order in which the extremum is written last
        given = apply("where", (apply("lt", (at, line.shape[0])), given, identity(how, x.dtype)))
        by = apply("argsort", (given,), f"axis=0 descending={str(how == 'minimum').lower()}")
        at, given = (apply("gather", (i, by), "axis=0") for i in (at, given))
        given = apply("scatter", (line, at, given), "axis=0 mode=fill")
        return reshape_to(apply(_EXTREMA[how], (line, given)), list(x.shape))
    if how != "set" and not added:
        return reshape_to(_one_by_one(call, OPERATIONS[how][2], line, at, given), list(x.shape))
    return reshape_to(apply(name, (line, at, given), "axis=0 mode=fill"), list(x.shape))


def _one_by_one(call: Call, pair: str, line: Array, at: Array, given: Array) -> Array:
    """An element after the other, combined with what is there."""
    if line.dtype.kind == "b":
        pair = {"add": "or", "mul": "and"}.get(pair, pair)

    def step(line: Array, at: Array, given: Array) -> list[Array]:
        made = apply(pair, (apply("gather", (line, at), "axis=0 mode=fill"), given))
        return [apply("scatter", (line, at, made), "axis=0 mode=fill")]

    return _native.scan(step, [line], [at, given], 0, at.shape[0], False)[0]
