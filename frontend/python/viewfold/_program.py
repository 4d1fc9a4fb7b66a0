"""Programs: compiled graphs, which are saved, loaded and pickled."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

from . import _native
from ._array import Array
from ._creation import asarray
from ._errors import InvalidError

# arrays that a text does not hold itself: in memory, or in a file
_ELSEWHERE = re.compile(r'= (resource [^\n]*? of="[^"\n]*"|data file="(?:[^"\\\n]|\\.)*" name="(?P<name>(?:[^"\\\n]|\\.)*)") : (\S+)')
_WEIGHTS = "weights.safetensors"
_INPUT = re.compile(r"%\w+: (\w+)\[([^\]]*)\]")
_DECLARED = re.compile(r"(\w+)=(\d+)\.\.(\d+)(?::(\d+))?")
_LONG_NAMES = {"bool": "bool", "bf16": "bfloat16", "index": "int64"} | {
    f"{short}{bits}": f"{long}{bits}" for short, long in (("i", "int"), ("u", "uint"), ("f", "float")) for bits in (8, 16, 32, 64)}


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_Axis = tuple[Any, int, Any, int]  # a size, or a variable; lo, hi or None, divisor, where it is declared


def _read_types(text: str) -> list[tuple[str, list[_Axis]]]:
    """dtype and axes of each input, of the first line of a graph: `graph @f(%x: f32[n=1..64:4,3]) {`. Those that it runs as
    branches and loops stand before it."""
    begin = text.rindex("\ngraph @") if "\ngraph @" in text else 0
    header = text[begin: text.index(") {", begin)]
    return [(_LONG_NAMES[kind], [_read_axis(a) for a in axes.split(",") if a]) for kind, axes in _INPUT.findall(header)]


def _read_axis(text: str) -> _Axis:
    declared = _DECLARED.fullmatch(text)
    if declared:
        return declared[1], int(declared[2]), int(declared[3]), int(declared[4] or 1)
    if text.isdigit():
        return int(text), 0, None, 1
    if text.isidentifier():
        return text, 0, None, 1
    raise ValueError(f"a program whose inputs have sizes such as {text} is not called from here; `viewfold run` takes it")


def _written(dtype: str, axes: list[_Axis]) -> str:
    def axis(wanted: Any, lo: int, hi: Any, divisor: int) -> str:
        of = "" if hi is None else f" from {lo} to {hi}" + (f" in multiples of {divisor}" if divisor > 1 else "")
        return f"{wanted}{of}"

    return f"{dtype}[{', '.join(axis(*a) for a in axes)}]"


class Program:
    """A compiled graph, as `vf.compile` makes it: called with its inputs, in order or by name."""

    def __init__(self, graph: Any, file: str = "", folder: Any = None) -> None:
        """file: beside which files lie that the text names; folder: a temporary one, which they are in."""
        self._graph, self._program, self._file, self._folder = graph, graph.compile(), file, folder
        self.inputs: tuple[str, ...] = self._program.names(0)
        self._types = _read_types(graph.text())
        self.outputs: tuple[str, ...] = self._program.names(1)

    def __getattr__(self, name: str) -> Any:
        how = "; it is called, with arrays in order or by name: p(x), p(x=x)" if name in ("run", "forward", "execute", "apply", "predict") else ""
        raise AttributeError(f"a Program has no {name}{how}", name=name, obj=self)

    def __call__(self, *args: Any, **named: Any) -> Any:
        from ._trace import _leaf, _runner

        twice = [n for n in self.inputs[:len(args)] if n in named]
        if len(args) > len(self.inputs) or twice:
            wrong = f"{twice[0]} is given twice" if twice else f"{len(args)} are given"
            raise TypeError(f"the program takes {len(self.inputs)} inputs: {', '.join(self.inputs)}; {wrong}")
        given = dict(zip(self.inputs, args)) | named
        missing = [n for n in self.inputs if n not in given]
        if missing or len(given) != len(self.inputs):
            more = [n for n in named if n not in self.inputs]
            wrong = f"missing: {', '.join(missing)}" if missing else f"there is no {', '.join(more)}" if more else "got more"
            raise TypeError(f"the program takes {', '.join(self.inputs)}; {wrong}")
        arrays = tuple(asarray(_leaf(given[name])) for name in self.inputs)
        made = _runner._run(self._program, arrays, self._sizes(arrays))
        return made[0] if len(made) == 1 else made

    def _sizes(self, arrays: tuple[Array, ...]) -> tuple[int, ...]:
        """The values of the graph's variables, as the sizes of its inputs say."""
        sizes: dict[str, int] = {}
        for name, array, (dtype, axes) in zip(self.inputs, arrays, self._types):
            known = "".join(f", where {n} is {v}" for n, v in sizes.items())
            good = array.dtype.name == dtype and array.ndim == len(axes)
            for (wanted, lo, hi, divisor), size in zip(axes, array.shape):
                if isinstance(wanted, int):
                    good = good and size == wanted
                else:
                    good = good and sizes.setdefault(wanted, size) == size
                    good = good and (hi is None or (lo <= size <= hi and size % divisor == 0))
            if not good:
                raise ValueError(f"input {name} is {array.dtype.name}{list(array.shape)}; the program takes "
                                 f"{_written(dtype, axes)}{known}")
        return tuple(sizes.values())

    @property
    def text(self) -> str:
        """The graph as text, which vf.compile reads."""
        return self._graph.text()

    def _parts(self, file: str) -> tuple[str, dict[str, Array]]:
        """The text, in which all arrays that it does not hold itself are in that file, and these arrays by name."""
        arrays: dict[str, Array] = {}
        names: dict[str, str] = {}

        def moved(found: re.Match[str]) -> str:
            kept, type_ = found[1], found[3]
            if (same := kept.rpartition("/")[0] if kept.startswith("resource") else kept) not in names:
                name = found["name"] or f"constant{len(arrays)}"
                names[same] = name if name not in arrays else f"{name}_{len(arrays)}"
                alone = f"graph @part() {{\n  %y = {kept} : {type_}\n  return %y\n}}\n"
                arrays[names[same]] = Program(_native.parse(alone, self._file or "text"))()
            return f'= data file="{_quoted(file)}" name="{_quoted(names[same])}" : {type_}'

        return _ELSEWHERE.sub(moved, self.text), arrays

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph, and to NAME.safetensors beside it the arrays of more than 1,024 bytes that it has:
        `viewfold run` and `viewfold build` take the file."""
        name = os.fspath(path)
        if name.endswith(".onnx"):
            raise ValueError(f"save writes the graph as text, NAME.vf, and not a model of ONNX; got {name!r}")
        beside = name.removesuffix(".vf") + ".safetensors"
        text, arrays = self._parts(os.path.basename(beside))
        if arrays:
            _native.write_arrays(beside, tuple(arrays), tuple(a.realise() for a in arrays.values()))
        with open(name, "w", encoding="utf-8") as out:
            out.write(text)

    def __reduce__(self) -> Any:
        return _unpickled, self._parts(_WEIGHTS)


def _unpickled(text: str, arrays: dict[str, Array]) -> Program:
    if not arrays:
        return compile(text)
    folder = tempfile.TemporaryDirectory()
    _native.write_arrays(os.path.join(folder.name, _WEIGHTS), tuple(arrays), tuple(a.realise() for a in arrays.values()))
    file = os.path.join(folder.name, "graph.vf")
    return Program(_native.parse(text, file), file, folder)


def compile(text: str) -> Program:
    """The program of a graph in text form (a .vf file)."""
    if callable(text):
        raise TypeError("compile takes the text of a graph; a Python function is compiled by vf.jit(f), and vf.export(f, x) gives its program")
    if not isinstance(text, str):
        raise TypeError(f"compile takes the text of a graph, and got {type(text).__name__}; vf.load_program(path) reads a file")
    if text.endswith((".vf", ".onnx")) and "\n" not in text:
        raise InvalidError(f"compile takes the text of a graph, and {text!r:.60} is the name of a file, which vf.load_program reads")
    return _parsed(text, "text")


def _parsed(text: str, file: str) -> Program:
    return Program(_native.parse(text, file), "" if file == "text" else file)


def load_program(path: str | os.PathLike[str]) -> Program:
    """The program of a .vf or .onnx file."""
    name = os.fspath(path)
    if name.endswith(".onnx"):
        return Program(_native.import_onnx(name))
    with open(name, "rb") as file:
        text = file.read()
    try:
        return _parsed(text.decode(), name)
    except UnicodeDecodeError:
        raise InvalidError(f"{name} is no text of a graph; load_program reads NAME.vf, of Program.save, and NAME.onnx; arrays are "
                           "read by vf.load") from None


def export(function: Any, *args: Any, **kwargs: Any) -> Program:
    """The program of a function for the dtypes and shapes of these arguments, to be saved. Arrays that the function takes
    from its surroundings become part of it."""
    from . import _tree
    from ._jit import jit
    from ._trace import _check_function

    _check_function(function, "export")
    behind = getattr(function, "_jit", None) or jit(function)._jit
    needed = [p for p in behind.required if p not in kwargs][len(args):]
    if needed:
        raise TypeError(f"export: {behind.name} takes {', '.join(behind.parameters)}; the program is for the dtypes and shapes of "
                        f"arrays that are given, as in vf.export({behind.name}, vf.ones((2, 3)))")

    for position, x in enumerate(args):
        if isinstance(x, (tuple, list)) and x and position not in behind.static and all(type(n) is int for n in x):
            raise TypeError(f"export: argument {position} is {x!r:.40}, numbers and not an array; the program is for the dtypes and shapes of "
                            f"arrays, as of vf.ones({tuple(x)!r:.40}); numbers that are arguments are vf.array({x[0]})")

    def dense(name: Any, x: Any) -> Any:
        return x if name in behind.static or name in behind.static_names else _tree.map(_dense, x)

    traced, _, _ = behind.prepare(tuple(dense(i, x) for i, x in enumerate(args)), {k: dense(k, x) for k, x in kwargs.items()})
    return Program(traced.graph)


def _dense(x: Any) -> Any:
    return x if isinstance(x, (bool, int, float)) or not hasattr(x, "shape") else asarray(x)
