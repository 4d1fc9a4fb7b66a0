"""Sizes that differ from call to call: torch's symbols as variables of a program, or as numbers."""

from __future__ import annotations

from functools import reduce
from typing import Any

import torch

from .._sizes import Size
from .rows.call import Unsupported

MOST = 1 << 20  # elements along an axis of variable size; for a longer one a program of fixed sizes is made

VARYING = (torch.SymInt, torch.SymFloat, torch.SymBool)
SCALARS = VARYING + (int, float)  # what torch computes of sizes


_BINARY = {
    "Add": lambda a, b: a + b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "CleanDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b,
}


def type_of(given: Any) -> type:
    """What a number that torch computes of sizes is, once they are known."""
    return int if isinstance(given, torch.SymInt) else float if isinstance(given, torch.SymFloat) else bool


class Symbols:
    """What the symbols of a graph stand for: numbers where `fixed` gives them, else variables of the program."""

    def __init__(self, graph: Any, fixed: dict[Any, int] | None, ranges: dict[Any, Any]) -> None:
        self.graph, self.fixed, self.ranges = graph, fixed, ranges
        self.known: dict[Any, Any] = {}
        self.sources: list[tuple[int, int | None]] = []  # of each variable: the argument, and the axis whose size it is
        self.names: list[str] = []
        self.least: list[int] = []

    def declare(self, number: int, size: Any, axis: int | None) -> None:
        """The size of an axis of an argument, or an argument that is a size."""
        expression = size.node.expr
        for symbol in expression.free_symbols:
            if symbol in self.known:
                continue
            if self.fixed is not None:
                if symbol in self.fixed:
                    self.known[symbol] = self.fixed[symbol]
            elif expression == symbol and isinstance(size, torch.SymInt):
                name = "".join(c if c.isalnum() else "_" for c in str(symbol))
                known = size.node.shape_env
                bounds = self.ranges.get(symbol) or (known.var_to_range.get(symbol) if known else None)
                least = int(bounds.lower) if bounds is not None and bounds.lower.is_Integer else 1
                most = int(bounds.upper) if bounds is not None and bounds.upper.is_Integer else MOST
                self.least.append(max(least, 1))
                self.graph.variable(name, self.least[-1], min(max(most, self.least[-1]), MOST), 1)
                self.known[symbol] = Size(name)
                self.names.append(name)
                self.sources.append((number, axis))

    def fit(self, arguments: Any) -> bool:
        """Are the sizes of a call those that the variables were declared for?"""
        return all(least <= (int(arguments[n]) if axis is None else arguments[n].shape[axis]) <= MOST
                   for (n, axis), least in zip(self.sources, self.least))

    def size(self, given: Any) -> Any:
        """A number of torch, that is computed from sizes, as a number or as an expression of variables."""
        if isinstance(given, (int, float)):
            return given
        e = given.node.expr
        if all(isinstance(self.known.get(s), (int, float)) for s in e.free_symbols):
            return type_of(given)(e.subs({s: self.known[s] for s in e.free_symbols}))
        if not isinstance(given, torch.SymInt):
            raise Unsupported(f"the number {e} of sizes that are known in runs alone")
        return self._of(e)

    def _of(self, e: Any) -> Any:
        if e.is_Integer:
            return int(e)
        if e.is_Symbol:
            if e not in self.known:
                raise Unsupported(f"the size {e}, which is of no argument")
            return self.known[e]
        parts = [self._of(a) for a in e.args]
        name = type(e).__name__
        if name == "Pow" and isinstance(parts[1], int) and 0 < parts[1] < 4:
            return reduce(_BINARY["Mul"], [parts[0]] * parts[1])
        if name not in _BINARY:
            raise Unsupported(f"the size {e}")
        return reduce(_BINARY[name], parts)


def values_of(module: Any, arguments: Any) -> dict[Any, int]:
    """The numbers that the symbols of a graph stand for in a call: of those that are a size by themselves."""
    found: dict[Any, int] = {}
    for node, given in zip((n for n in module.graph.nodes if n.op == "placeholder"), arguments):
        val = node.meta.get("val")
        sizes = [(val, given)] if hasattr(val, "node") else list(zip(getattr(val, "shape", ()), getattr(given, "shape", ())))
        for size, number in sizes:
            if hasattr(size, "node") and size.node.expr.is_Symbol:
                found[size.node.expr] = type_of(size)(number)
    return found


def number_of(size: Any, values: dict[str, int]) -> int:
    """The number that an expression of variables stands for."""
    return size if isinstance(size, int) else int(eval(size.text, {"__builtins__": {}}, values))
