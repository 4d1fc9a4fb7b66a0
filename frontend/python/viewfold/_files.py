"""Files of arrays, of graphs and of models."""

from __future__ import annotations

import os
from typing import Any

from . import _native
from ._creation import asarray


def save(path: str | os.PathLike[str], arrays: Any) -> None:
    """Write arrays: a dictionary of them to NAME.safetensors or NAME.npz, one array to NAME.npy."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"save takes the path first, as in save('w.npz', {{'w': w}}), and got {type(path).__name__}")
    end = os.path.splitext(os.fspath(path))[1]
    if end not in (".npy", ".npz", ".safetensors"):
        raise TypeError(f"save: {os.fspath(path)} has no name of a file of arrays; arrays by name are written to NAME.npz or "
                        "NAME.safetensors, and one array to NAME.npy")
    if isinstance(arrays, dict) and end == ".npy":
        raise TypeError(f"save: {os.fspath(path)} holds one array, without a name: vf.save(path, w); names are kept in NAME.npz and "
                        "NAME.safetensors")
    if not isinstance(arrays, dict) and not callable(arrays) and not os.fspath(path).endswith(".npy"):
        raise TypeError(f"save: {os.fspath(path)} holds arrays by name: vf.save(path, {{'w': w}}); one array is for NAME.npy")
    named = arrays if isinstance(arrays, dict) else {"": arrays}
    functions = [name for name, a in named.items() if callable(a)]
    if functions:
        raise TypeError(f"save: {(functions[0] or 'the second argument')!s} is a function; that is saved as a program: vf.export(f, *arrays).save('f.vf')")
    nested = [name for name, a in named.items() if isinstance(a, (dict, tuple)) or not isinstance(name, str)]
    if nested:
        raise TypeError(f"save: {nested[0]!r} is no name of one array; arrays of a tree have a name each, as {{'layer.w': w}}")
    made = {name: asarray(a).realise() for name, a in named.items()}
    _native.write_arrays(os.fspath(path), tuple(made), tuple(made.values()))


def load(path: str | os.PathLike[str]) -> Any:
    """The arrays of a safetensors, .npz, .npy or GGUF file: a dictionary, or of .npy the array."""
    name = os.fspath(path)
    if name.endswith((".vf", ".onnx")):
        raise ValueError(f"load reads arrays, and {name} is a graph, which vf.load_program reads")
    made = _native.read_arrays(name)
    return made[""] if set(made) == {""} else made
