"""Files of arrays, of graphs and of models."""

from __future__ import annotations

import os
from typing import Any

from . import _native
from ._array import Array
from ._creation import asarray


def save(path: str | os.PathLike[str], arrays: Any) -> None:
    """Write arrays: a dictionary of them to NAME.safetensors or NAME.npz, one array to NAME.npy."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"save takes the path first, as in save('w.npz', {{'w': w}}), and got {type(path).__name__}")
    named = arrays if isinstance(arrays, dict) else {"": arrays}
    made = {name: asarray(a).realise() for name, a in named.items()}
    _native.write_arrays(os.fspath(path), tuple(made), tuple(made.values()))


def load(path: str | os.PathLike[str]) -> Any:
    """The arrays of a safetensors, .npz, .npy or GGUF file: a dictionary, or of .npy the array."""
    made = _native.read_arrays(os.fspath(path))
    return made[""] if set(made) == {""} else made


class Program:
    """A compiled graph, as `vf.compile` makes it: called with its inputs, in order or by name."""

    def __init__(self, graph: Any) -> None:
        self._graph, self._program = graph, graph.compile()
        self.inputs: tuple[str, ...] = self._program.names(0)
        self.outputs: tuple[str, ...] = self._program.names(1)

    def __call__(self, *args: Any, **named: Any) -> Any:
        from ._trace import _leaf, _runner

        given = dict(zip(self.inputs, args)) | named
        missing = [n for n in self.inputs if n not in given]
        if missing or len(given) != len(self.inputs):
            more = [n for n in named if n not in self.inputs]
            wrong = f"missing: {', '.join(missing)}" if missing else f"there is no {', '.join(more)}" if more else "got more"
            raise TypeError(f"the program takes {', '.join(self.inputs)}; {wrong}")
        arrays = []
        for number, name in enumerate(self.inputs):
            array = asarray(_leaf(given[name]))
            wanted = self._program.port(0, number)
            if (array.dtype.code, array._sizes) != wanted:
                from ._dtypes import BY_CODE

                raise ValueError(f"input {name} is {array.dtype.name}{list(array.shape)}; the program takes "
                                 f"{BY_CODE[wanted[0]]}{list(wanted[1])}")
            arrays.append(array)
        made = _runner._run(self._program, tuple(arrays), ())
        return made[0] if len(made) == 1 else made

    @property
    def text(self) -> str:
        """The graph as text, which vf.compile reads."""
        return self._graph.text()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph: `viewfold run` and `viewfold build` take the file."""
        if "= resource " in self.text:
            raise ValueError("the graph has arrays of more than 1,024 bytes that are in memory alone, and its text does not "
                             "hold them; make them arguments of the function")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def __reduce__(self) -> Any:
        return compile, (self.text,)


def compile(text: str) -> Program:
    """The program of a graph in text form (a .vf file)."""
    return _parsed(text, "text")


def _parsed(text: str, file: str) -> Program:
    return Program(_native.parse(text, file))


def load_program(path: str | os.PathLike[str]) -> Program:
    """The program of a .vf or .onnx file."""
    name = os.fspath(path)
    if name.endswith(".onnx"):
        return Program(_native.import_onnx(name))
    with open(name, encoding="utf-8") as file:
        return _parsed(file.read(), name)


def export(function: Any, *args: Any) -> Program:
    """The program of a function for the dtypes and shapes of these arguments, to be saved."""
    from ._jit import jit

    behind = getattr(function, "_jit", None) or jit(function)._jit
    traced, _, _ = behind.prepare(args, {})
    return compile(traced.graph.text())


