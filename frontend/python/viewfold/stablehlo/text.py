"""The text of a module of StableHLO: what an importer needs of MLIR's syntax, in the pretty and in the generic form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .._errors import InvalidError

_TOKEN = re.compile(r"""
    (?P<skip>[ \t\r\n]+|//[^\n]*)
  | (?P<location>loc\((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\))*\))*\))
  | (?P<dense>dense<(?:"[^"]*"|[^<>"]*)>)
  | (?P<type>(?:tensor|tuple|vector|memref|complex)<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>|![\w.]+(?:<[^<>]*>)?)
  | (?P<array>array<[^<>]*>)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<attribute>\#[\w.$-]+)
  | (?P<value>%[\w$.-]+(?:\#\d+|:\d+)?)
  | (?P<symbol>@(?:"[^"]*"|[\w$.-]+))
  | (?P<block>\^\w+)
  | (?P<number>-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?))
  | (?P<word>[A-Za-z_][\w$.]*)
  | (?P<mark>->|[()\[\]{}<>=:,?*+|/-])
""", re.VERBOSE)

_DTYPES = {"i1": "bool", "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"} | {
    f"{given}{bits}": f"{ours}{bits}" for given, ours in (("i", "i"), ("si", "i"), ("ui", "u")) for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class Type:
    """Of a tensor: the dtype as graphs of viewfold write it, and the sizes."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass
class Dense:
    """The elements of a constant, as they are written."""

    text: str


@dataclass
class Region:
    parameters: list[str] = field(default_factory=list)
    operations: list["Operation"] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


@dataclass
class Operation:
    """A statement. `inits` are operands that `init:` names, `words` what stands without a key."""

    name: str
    line: int
    results: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    inits: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    symbol: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)  # of the results
    complete: bool = False  # the types are read


@dataclass
class Function:
    name: str
    parameters: list[tuple[str, Type, str]]  # the value, its type, a name for people
    results: list[Type]
    body: Region


def _problem(line: int, what: str) -> NoReturn:
    raise InvalidError(f"stablehlo: line {line}: {what}")


class Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []  # kind, text, line
        self.names: dict[int, str] = {}  # after which token a location names a value
        self.at, place, line = 0, 0, 1
        while place < len(text):
            found = _TOKEN.match(text, place)
            if not found:
                _problem(line, f"{text[place:place + 20]!r} is no text of MLIR; the text of a module is expected, as "
                               "jax.export.export(f)(x).mlir_module() gives it")
            if found.lastgroup == "location":
                self.names.setdefault(len(self.tokens) - 1, found[0].partition('"')[2].partition('"')[0])
            elif found.lastgroup != "skip":
                self.tokens.append((str(found.lastgroup), found[0], line))
            line, place = line + found[0].count("\n"), found.end()
        self.tokens += [("end", "the end", line)] * 3  # as many as are looked at ahead

    # tokens

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead][1]

    def kind(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead][0]

    @property
    def line(self) -> int:
        return self.tokens[self.at][2]

    def next(self) -> str:
        text = self.peek()
        if self.kind() == "end":
            _problem(self.line, "the text ends within a statement, or before its last }")
        self.at += 1
        return text

    def expect(self, text: str) -> None:
        if self.peek() != text:
            _problem(self.line, f"found {self.peek()!r}, expected {text!r}")
        self.at += 1

    def take(self, text: str) -> bool:
        found = self.peek() == text and self.kind() != "string"
        self.at += found
        return found

    # types and attributes

    def type(self) -> Type:
        line, text = self.line, self.next()
        found = re.fullmatch(r"tensor<((?:[\d?]+x)*)([^,]*)(?:,.*)?>", text)
        if not found:
            _problem(line, f"a value of the type {text}; takes tensors")
        sizes, dtype = found[1].split("x")[:-1], found[2].strip()
        if dtype not in _DTYPES:
            _problem(line, f"elements of {text}; takes bool, integers of 8 to 64 bits, f16, bf16, f32 and f64")
        if not all(s.isdigit() for s in sizes):
            _problem(line, f"{text} has a size that varies; export for arrays whose shapes are numbers")
        return Type(_DTYPES[dtype], tuple(map(int, sizes)))

    def types(self, close: str = "") -> list[Type]:
        made: list[Type] = []
        while not (close and self.take(close)):
            made.append(self.type())
            if self.peek() == "{":
                self.attributes()
            if not self.take(","):
                if close:
                    self.expect(close)
                break
        return made

    def attribute(self, typed: bool = True) -> Any:
        """A value; `[1] x [0]` and `[b, f]x[o, i]->[b, f]` are lists of their parts."""
        made = self._single()
        if self.peek() in ("x", "->"):
            made = [made]
            while self.take("x") or self.take("->"):
                made.append(self._single())
        if typed and self.peek() == ":" and self.kind(1) in ("word", "type"):  # its type
            self.at += 2
        return made

    def _single(self) -> Any:
        kind, line, text = self.kind(), self.line, self.peek()
        if text == "[" and kind == "mark":
            self.next()
            items = []
            while not self.take("]"):
                item = self.attribute()
                if self.peek() == ":" and self.kind(1) == "number":  # begin:end:step
                    item = [item]
                    while self.take(":"):
                        item.append(self.attribute())
                items.append(item)
                self.take(",")
            return items
        if text == "{" and kind == "mark":
            return self.attributes()
        self.next()
        if kind == "number":
            return int(text, 16) if "x" in text else float(text) if set(text) & set(".eE") else int(text)
        if kind == "dense":
            return Dense(text[len("dense<"):-1])
        if kind == "array":
            items = text[len("array<"):-1].partition(":")[2].split(",")
            return [i.strip() == "true" if i.strip() in ("true", "false") else int(i) for i in items if i.strip()]
        if kind == "attribute":
            return self._inside() if self.peek() == "<" else text
        if kind == "string":
            return text[1:-1]
        if kind in ("word", "symbol", "type"):
            return {"true": True, "false": False}.get(text, text)
        _problem(line, f"found {text!r}, expected an attribute")

    def _inside(self) -> Any:
        """`#stablehlo.gather<key = value, ...>`, or `#stablehlo<comparison_direction GT>`, whose last word counts."""
        self.expect("<")
        made: dict[str, Any] = {}
        words: list[str] = []
        depth = 0
        while depth or self.peek() != ">":
            if not depth and self.kind() == "word" and self.peek(1) == "=":
                key = self.next()
                self.next()
                made[key] = self.attribute()
            elif not depth and self.peek() == "[":
                made.setdefault("lists", []).append(self.attribute())
            else:
                depth += {"<": 1, ">": -1}.get(self.peek(), 0)
                words.append(self.next())
        self.expect(">")
        return made or (words[-1] if words else "")

    def attributes(self) -> dict[str, Any]:
        self.expect("{")
        made: dict[str, Any] = {}
        while not self.take("}"):
            key = self.next().strip('"')
            made[key] = self.attribute() if self.take("=") else True
            self.take(",")
        return made

    # statements

    def region(self, parameters: list[str] | None = None) -> Region:
        self.expect("{")
        made = Region(list(parameters or ()))
        if self.kind() == "block":
            self.next()
            if self.take("("):
                made.parameters = self._parameters()
            self.expect(":")
        while not self.take("}"):
            statement = self.operation()
            if statement.name in ("stablehlo.return", "return", "func.return"):
                made.results = statement.operands
            else:
                made.operations.append(statement)
        return made

    def _parameters(self) -> list[str]:
        made = []
        while not self.take(")"):
            made.append(self.next())
            self.expect(":")
            self.next()
            self.take(",")
        return made

    def operation(self) -> Operation:
        results: list[str] = []
        while self.kind() == "value":
            name, _, count = self.next().partition(":")
            results += [f"{name}#{n}" for n in range(int(count))] if count else [name]
            if not self.take(","):
                self.expect("=")
        line = self.line
        if self.kind() not in ("word", "string"):
            _problem(line, f"found {self.peek()!r}, expected an operation")
        made = Operation(self.next().strip('"'), line, results)
        bound: list[str] = []  # parameters of regions, in `while`
        while self._part(made, bound) and not made.complete:
            pass
        while made.complete and self.kind() == "word" and self.peek() in ("cond", "do", "reducer"):
            self._part(made, bound)
        if len(made.types) != len(made.results) and made.types:
            made.types = made.types[-1:] * len(made.results)
        return made

    def _part(self, made: Operation, bound: list[str]) -> bool:
        """What comes next of a statement; False: nothing."""
        kind, text = self.kind(), self.peek()
        if kind == "value":
            made.operands.append(self.next())
        elif text == "(" and self.peek(1) == "{":
            self.next()
            while not self.take(")"):
                made.regions.append(self.region())
                self.take(",")
        elif text == "(":
            self._operands(made, bound)
        elif text == "<" and self.peek(1) == "{":
            self.next()
            made.attributes.update(self.attributes())
            self.expect(">")
        elif text == "{":
            made.attributes.update(self.attributes())
        elif text == "[":
            made.attributes["ranges"] = self.attribute()
        elif kind == "word" and text in ("cond", "do"):
            self.next()
            made.regions.append(self.region(bound))
        elif kind == "word" and text == "reducer":
            self.next()
            pairs = []
            while self.take("("):
                pairs.append(self._parameters())
            made.regions.append(self.region([p[n] for n in (0, 1) for p in pairs]))
        elif kind == "word" and self.peek(1) == "=":
            key = self.next()
            self.next()
            made.attributes[key] = self.attribute(typed=False)
        elif kind in ("word", "string"):
            made.words.append(self.next().strip('"'))
        elif kind == "symbol":
            made.symbol = self.next()[1:].strip('"')
        elif kind == "dense":
            made.attributes["value"] = self._single()
        elif text == ",":
            self.next()
        elif text == ":":
            self.next()
            self._signature(made)
            made.complete = True
        else:
            return False
        return True

    def _operands(self, made: Operation, bound: list[str]) -> None:
        self.expect("(")
        while not self.take(")"):
            if self.take("init"):
                self.expect(":")
                made.inits.append(self.next())
                continue
            value = self.next()
            if self.take("="):
                bound.append(value)
                value = self.next()
            made.operands.append(value)
            self.take(",")

    def _signature(self, made: Operation) -> None:
        if not self.take("("):
            made.types = self.types()
            return
        while not self.take(")"):
            self.next()
        self.expect("->")
        made.types = self._results()

    def _results(self) -> list[Type]:
        return self.types(")") if self.take("(") else [self.type()]

    # the module

    def module(self) -> dict[str, Function]:
        while self.kind() == "attribute":  # #loc1 = loc("x"), whose location is gone
            self.at += 2
        if self.peek() != "module":
            _problem(self.line, f"found {self.peek()!r}, expected 'module', as jax.export.export(f)(x).mlir_module() begins")
        self.next()
        if self.kind() == "symbol":
            self.next()
        if self.take("attributes"):
            self.attributes()
        self.expect("{")
        made: dict[str, Function] = {}
        while not self.take("}"):
            function = self.function()
            made[function.name] = function
        return made

    def function(self) -> Function:
        self.expect("func.func")
        while self.kind() == "word":
            self.next()
        name = self.next()[1:].strip('"')
        self.expect("(")
        parameters: list[tuple[str, Type, str]] = []
        while not self.take(")"):
            value = self.next()
            self.expect(":")
            type_ = self.type()
            if self.peek() == "{":
                self.attributes()
            parameters.append((value, type_, self.names.get(self.at - 1, "")))
            self.take(",")
        results: list[Type] = []
        if self.take("->"):
            results = self._results()
        if self.take("attributes"):
            self.attributes()
        return Function(name, parameters, results, self.region([p[0] for p in parameters]))
