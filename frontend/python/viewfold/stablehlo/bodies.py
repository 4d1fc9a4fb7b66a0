"""What the small functions inside of reductions, scatters and sorts do."""

from __future__ import annotations

import itertools
import operator
from typing import Any, Callable

from .known import direction
from .text import Region

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "maximum": max, "minimum": min,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor}
_COMPARE = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "EQ": operator.eq, "NE": operator.ne}


def binary(region: Region) -> str | None:
    """The operation of a body that is one of its two parameters, such as `add`; `set`, where the body is the second one."""
    if not region.operations and region.results == region.parameters[1:]:
        return "set"
    if len(region.operations) != 1 or region.results != region.operations[0].results:
        return None
    operation = region.operations[0]
    name = operation.name.removeprefix("stablehlo.")
    return name if sorted(operation.operands) == sorted(region.parameters) and name in _BINARY else None


def _value(region: Region, arguments: tuple[Any, ...], outside: Callable[[str], Any]) -> list[Any]:
    """Of the body for numbers; KeyError: it has an operation that is not tried."""
    values = dict(zip(region.parameters, arguments))

    def of(name: str) -> Any:
        return values[name] if name in values else outside(name)

    for operation in region.operations:
        name, operands = operation.name.removeprefix("stablehlo."), [of(n) for n in operation.operands]
        if name == "compare":
            made = _COMPARE[direction(operation)](*operands)
        elif name == "select":
            made = operands[1] if operands[0] else operands[2]
        elif name == "not":
            made = not operands[0]
        elif name == "convert":
            made = operands[0]
        else:
            made = _BINARY[name](*operands)
        values[operation.results[0]] = made
    return [of(n) for n in region.results]


_TRIED = (1, 2, 3)  # three numbers are in each order with each other, and none is 0, which comparators treat apart


def _agrees(region: Region, outside: Callable[[str], Any], expected: Callable[..., list[Any]]) -> bool:
    try:
        return all(list(map(int, _value(region, given, outside))) == expected(*given)
                   for given in itertools.product(_TRIED, repeat=len(region.parameters)))
    except KeyError:
        return False


def extremum(region: Region, outside: Callable[[str], Any]) -> str | None:
    """`argmax` or `argmin`, of a body of (value, place, value, place) that keeps the first extremum."""
    for name, better in (("argmax", operator.gt), ("argmin", operator.lt)):
        def expected(a: int, i: int, b: int, j: int, better: Any = better) -> list[Any]:
            return [a, i] if better(a, b) else [b, j] if better(b, a) else [a, min(i, j)]

        if len(region.parameters) == 4 and _agrees(region, outside, expected):
            return name
    return None


_MOST_KEYS = 3  # 3^6 cases are tried in some ms


def order(region: Region, outside: Callable[[str], Any]) -> tuple[int, bool] | None:
    """By how many of the operands, the first ones, a comparator orders, and whether descending."""
    operands = len(region.parameters) // 2
    for keys, descending in itertools.product(range(1, min(operands, _MOST_KEYS) + 1), (False, True)):
        def expected(*given: int) -> list[Any]:
            a, b = given[0:2 * keys:2], given[1:2 * keys:2]
            return [a > b if descending else a < b]

        used = Region(region.parameters[:2 * keys], region.operations, region.results)
        if _agrees(used, outside, expected):
            return keys, descending
    return None
