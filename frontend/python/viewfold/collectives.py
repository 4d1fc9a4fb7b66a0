"""What moves among the devices of a mesh. Values are those of whole arrays, of which devices have parts; `over` names
mesh axes, the major first: "x", or ("x", "y"). Inside of `vf.jit(f, mesh=...)`."""

from __future__ import annotations

from typing import Any, Sequence

from ._array import Array, apply
from ._creation import asarray
from ._hints import missing
from ._mesh import names

__all__ = ["all_gather", "all_reduce", "all_to_all", "axis_index", "ppermute", "reduce_scatter"]


def _over(over: Any) -> str:
    return "" if over is None else f'over="[{".".join(names(over))}]"'


def _attributes(*parts: str) -> str | None:
    return " ".join(p for p in parts if p) or None


def all_reduce(x: Any, over: Any = None, axis: int | None = None, reduce: str | None = None) -> Array:
    """Pending sums carried out. With axis, its blocks along mesh axes combined: sum, mean, max, min, prod, any, all."""
    return apply("all_reduce", (asarray(x),), _attributes(_over(over), "" if axis is None else f"axis={axis}",
                                                          "" if reduce is None else f"reduce={reduce}"))


def all_gather(x: Any, axis: int, over: Any = None) -> Array:
    """The axis, whole on every device."""
    return apply("all_gather", (asarray(x),), _attributes(_over(over), f"axis={axis}"))


def reduce_scatter(x: Any, axis: int, over: Any = None) -> Array:
    """Pending sums carried out, and the axis divided."""
    return apply("reduce_scatter", (asarray(x),), _attributes(_over(over), f"axis={axis}"))


def all_to_all(x: Any, split: int, concat: int, over: Any = None) -> Array:
    """What divides the axis concat divides the axis split instead."""
    return apply("all_to_all", (asarray(x),), _attributes(_over(over), f"split={split} concat={concat}"))


def ppermute(x: Any, over: Any, axis: int, pairs: Sequence[tuple[int, int]]) -> Array:
    """Block b of the axis is what block a was, for each pair (a, b); the others are zeros."""
    listed = ",".join(f"[{a},{b}]" for a, b in pairs)
    return apply("ppermute", (asarray(x),), _attributes(_over(over), f"axis={axis} pairs=[{listed}]"))


def axis_index(over: Any) -> Array:
    """0, 1, 2, ... along mesh axes, divided among them: each device has its own number."""
    return apply("axis_index", (), _over(over))


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, f"it has {', '.join(__all__)}")
