"""Scalars whose values are known while a program is recorded: constants, and counters of loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .text import Operation


@dataclass(frozen=True)
class Known:
    """scale * t + offset, where t counts the iterations of a loop from 0; of no loop, the offset."""

    offset: Any
    scale: int = 0
    loop: Any = None  # has `length`, where scale is not 0

    def bounds(self) -> tuple[Any, Any]:
        if not self.scale:
            return self.offset, self.offset
        ends = (self.offset, self.offset + self.scale * (self.loop.length - 1))
        return min(ends), max(ends)


def _sum(a: Known, b: Known, sign: int) -> Known | None:
    if a.scale and b.scale and a.loop is not b.loop:
        return None
    scale = a.scale + sign * b.scale
    return Known(a.offset + sign * b.offset, scale, (a.loop or b.loop) if scale else None)


def _product(a: Known, b: Known) -> Known | None:
    if a.scale and b.scale:
        return None
    if a.scale:
        a, b = b, a
    return Known(a.offset * b.offset, a.offset * b.scale, b.loop if a.offset * b.scale else None)


def _less(a: Known, b: Known, strictly: bool) -> Known | None:
    (a_least, a_most), (b_least, b_most) = a.bounds(), b.bounds()
    if a_most < b_least or (not strictly and a_most == b_least):
        return Known(True)
    return Known(False) if a_least > b_most or (strictly and a_least == b_most) else None


def direction(operation: Operation) -> str:
    """Of a comparison: LT, LE, GT, GE, EQ, NE."""
    return str(operation.words[0] if operation.words else operation.attributes["comparison_direction"])


def _compared(operation: Operation, a: Known, b: Known) -> Known | None:
    how = direction(operation)
    if how in ("LT", "LE"):
        return _less(a, b, how == "LT")
    if how in ("GT", "GE"):
        return _less(b, a, how == "GT")
    if a.scale or b.scale:
        return None
    return Known((a.offset == b.offset) == (how == "EQ"))


_ARITHMETIC = {"stablehlo.add": lambda a, b: _sum(a, b, 1), "stablehlo.subtract": lambda a, b: _sum(a, b, -1),
               "stablehlo.multiply": _product}
_MOST = 1 << 31  # within it, no sum of i32 wraps that is used further
_SAME = ("stablehlo.reshape", "stablehlo.broadcast_in_dim")


def fold(operation: Operation, operands: list[Known | None]) -> Known | None:
    """What is known of the result, a scalar, from what is known of the operands."""
    name = operation.name
    if name == "stablehlo.select" and operands[0] is not None:
        return operands[1] if operands[0].offset else operands[2]
    if any(o is None for o in operands) or not operands:
        return None
    known = [o for o in operands if o is not None]
    if name in _SAME:
        return known[0]
    dtype = operation.types[0].dtype
    if name == "stablehlo.compare":
        return _compared(operation, *known)
    if dtype[0] not in "iu":
        return None
    if name == "stablehlo.convert":
        made: Known | None = known[0] if all(isinstance(b, int) for b in known[0].bounds()) else None
    else:
        made = _ARITHMETIC[name](*known) if name in _ARITHMETIC else None
    if made is None:
        return None
    low, high = made.bounds()
    return made if -_MOST < low and high < _MOST and (dtype[0] == "i" or low >= 0) else None
