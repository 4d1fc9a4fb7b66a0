"""A module of StableHLO recorded as operations of viewfold: its functions are inlined."""

from __future__ import annotations

from collections import ChainMap
from typing import Any, Sequence

from .._array import Array
from .._dtypes import dtype as to_dtype
from .._errors import InvalidError, UnsupportedError
from .constants import elements, number
from .known import Known, fold
from .text import Function, Operation, Region, Type

_Values = Any  # a mapping from names to arrays


class Unsupported(Exception):
    """An operation, or a form of it, that is not covered. The text says what."""


class Call:
    """What a row knows of the operation that it records: the statement, and the values that surround it."""

    def __init__(self, recorder: "Recorder", operation: Operation, values: _Values) -> None:
        self.recorder, self.operation, self.values = recorder, operation, values
        self.attributes, self.regions = operation.attributes, operation.regions

    @property
    def type(self) -> Type:
        """Of the first result."""
        return self.operation.types[0]

    @property
    def dtype(self) -> Any:
        return to_dtype(self.type.dtype)

    @property
    def shape(self) -> list[int]:
        return list(self.type.shape)

    def numbers(self, *names: str) -> list[Any]:
        """An attribute that is a list, by the first of its names that is there."""
        for name in names:
            if name in self.attributes:
                given = self.attributes[name]
                return list(given) if isinstance(given, (list, tuple)) else elements(given)
        return []

    def number(self, *names: str) -> Any:
        return next((self.attributes[n] for n in names if n in self.attributes), 0)

    def known(self, x: Any) -> Any:
        """The value of a scalar that is a constant of the program, or None."""
        made = self.recorder.known(x)
        return made.offset if made is not None and not made.scale else None

    def outside(self, name: str) -> Any:
        """A constant that a body takes from its surroundings; KeyError: it is none."""
        made = self.known(self.values[name])
        if made is None:
            raise KeyError(name)
        return made


class Recorder:
    def __init__(self, functions: dict[str, Function]) -> None:
        self.functions = functions
        self._known: dict[int, tuple[Any, Known]] = {}  # by identity; the array is kept, so that no other one has it
        self.lines: dict[int, tuple[Any, int]] = {}  # arrays that count along an axis, and this axis

    def known(self, x: Any) -> Known | None:
        found = self._known.get(id(x))
        return found[1] if found else None

    def know(self, x: Any, what: Known) -> None:
        self._known[id(x)] = (x, what)

    def function(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        function = self.functions[name]
        return self.region(function.body, arguments, {})

    def region(self, region: Region, arguments: Sequence[Any], surroundings: _Values) -> list[Any]:
        values = ChainMap(dict(zip(region.parameters, arguments)), surroundings)
        for operation in region.operations:
            values.update(zip(operation.results, self.operation(operation, values)))
        return [self.value(n, values) for n in region.results]

    def value(self, name: str, values: _Values) -> Any:
        """The value of a name; the first of several results has the name without a number, too."""
        return values[name] if name in values else values[name.removesuffix("#0")]

    def operation(self, operation: Operation, values: _Values) -> list[Any]:
        from .rows.table import CONTROL, ROWS

        operands = [self.value(n, values) for n in operation.operands]
        call = Call(self, operation, values)
        name = operation.name
        if name == "stablehlo.composite":
            name = operation.words[0]
        row = ROWS.get(name.removeprefix("stablehlo.").removeprefix("chlo."))
        if row is None and name != operation.name:
            return self.function(operation.attributes["decomposition"][1:], operands)
        try:
            made = CONTROL[name](call, *operands) if name in CONTROL else None
            if made is not None:
                return list(made)
            if row is None:
                raise Unsupported("there is no row for it; docs/jax.md lists what is covered")
            operands = [x if isinstance(x, Array) else x.instead() for x in operands]
            made = row(call, *operands, *(self.value(n, values) for n in operation.inits))
        except Unsupported as error:
            raise UnsupportedError(f"stablehlo: line {operation.line}: {name}: {error}") from None
        except (ValueError, NotImplementedError) as error:
            if str(error).startswith("stablehlo: "):
                raise
            raise InvalidError(f"stablehlo: line {operation.line}: {name}: {error}") from error
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        for x, wanted in zip(results, operation.types):
            found = Type(x.dtype.text, tuple(x.shape))
            if found != wanted:
                raise InvalidError(f"stablehlo: line {operation.line}: {name} gives {found}, and the text says {wanted}")
        if len(results) == 1 and not operation.types[0].shape:
            self._fold(operation, operands, results[0])
        return results

    def _fold(self, operation: Operation, operands: list[Any], made: Any) -> None:
        if operation.name == "stablehlo.constant":
            self.know(made, Known(number(operation.attributes["value"], operation.types[0])))
            return
        what = fold(operation, [self.known(x) for x in operands])
        if what is not None:
            self.know(made, what)
