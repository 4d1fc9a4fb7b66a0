"""Models of torch as files: a graph in text, and its weights beside it."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

import torch
from torch import fx
from torch.export.graph_signature import InputKind, OutputKind

from .. import _native
from .._array import Array, apply
from .._creation import from_dlpack, full
from .._program import Program as Loaded
from .._program import load_program
from .decompose import decompositions
from .program import CannotTake, Program, placeholders, value
from .rows.call import dtype_of

_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_CHANGES = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


class _Graph(Program):
    """A graph whose weights are constants of a file, and whose results are all outputs, with names."""

    def __init__(self, exported: Any, called: str, file: str, weights: dict[int, str]) -> None:
        self.called, self.ranges = called, exported.range_constraints
        self.file, self.weights, self.results = file, weights, _names_of_results(exported.graph_signature)
        self.held: dict[str, Array] | None = None
        super().__init__(exported.graph_module)

    def _constant(self, number: int) -> Array | None:
        if number not in self.weights:
            return None
        if self.held is None:
            self.held = self.graph.constants(self.file) if os.path.exists(self.file) else {}
        made = self.held.get(self.weights[number])
        if made is None:
            return full((), 0)  # nothing uses it
        wanted = tuple(value(placeholders(self.module)[number]).shape)
        return made if tuple(made.shape) == wanted else apply("reshape", (made,), f"shape={list(wanted)}")

    def _return(self, node: fx.Node, env: dict[fx.Node, Any]) -> None:
        for name, r in zip(self.results, node.args[0]):  # type: ignore[arg-type]
            val = value(r)
            if not isinstance(val, torch.Tensor):
                raise CannotTake(node, f"the result {name} is no tensor; return a tensor of it")
            if env[r].dtype is not dtype_of(val.dtype):
                raise CannotTake(r, f"{env[r].dtype.name} where torch makes {val.dtype}")
            self.graph.output(name, env[r])


def _names_of_results(signature: Any) -> list[str]:
    """`y` of one result, `y0` and so on of several; what a buffer or an argument becomes is called `NAME_new`."""
    inputs = {spec.target: spec.arg.name for spec in signature.input_specs if spec.target}
    results = [spec for spec in signature.output_specs if spec.kind not in _CHANGES]
    made, number = [], 0
    for spec in signature.output_specs:
        if spec.kind in _CHANGES:
            made.append(inputs.get(spec.target, spec.target) + "_new")
        else:
            made.append("y" if len(results) == 1 else f"y{number}")
            number += 1
    return made


def export(model: Any, path: str | os.PathLike[str], *arguments: Any, dynamic_shapes: Any = None) -> Loaded:
    """Writes a model as a graph that `viewfold run`, `show` and `build` take.

    model: a torch.nn.Module, called with the arguments, or an ExportedProgram of torch.export. path: NAME.vf; weights go
    to NAME.safetensors beside it, under the names that the model has for them. dynamic_shapes: as torch.export takes it;
    sizes that vary are variables of the graph. Inputs are called as the model's arguments are; a buffer that the model
    changes is an input too, and what it becomes an output. Returns the program. CannotTake: an operation has no row.
    """
    name = os.fspath(path)
    if not name.endswith(".vf"):
        raise ValueError(f"the name of a graph's file ends in .vf, not {os.path.basename(name)!r}")
    if not isinstance(model, torch.export.ExportedProgram):
        model = torch.export.export(model, arguments, dynamic_shapes=dynamic_shapes)
    exported = model.run_decompositions(decompositions())
    changed = {spec.target for spec in exported.graph_signature.output_specs if spec.kind == OutputKind.BUFFER_MUTATION}
    weights: dict[int, str] = {}
    arrays: dict[str, Array] = {}
    for number, spec in enumerate(exported.graph_signature.input_specs):
        if spec.kind in _WEIGHTS and spec.target not in changed:
            held = exported.state_dict if spec.target in exported.state_dict else exported.constants
            weights[number] = str(spec.target)
            if not placeholders(exported.graph_module)[number].users:
                continue
            arrays[weights[number]] = from_dlpack(held[spec.target].detach().contiguous())
    beside = name.removesuffix(".vf") + ".safetensors"
    with tempfile.TemporaryDirectory() as folder:
        # the text names the file as it was opened: by a name that nothing else in it has, until it is where it belongs
        file = os.path.join(folder, "weights.safetensors")
        if arrays:
            _native.write_arrays(file, tuple(arrays), tuple(a.realise() for a in arrays.values()))
        called = re.sub(r"\W", "_", os.path.basename(name).removesuffix(".vf"))
        text = _Graph(exported, called, file, weights).graph.text()
    if arrays:
        _native.write_arrays(beside, tuple(arrays), tuple(arrays.values()))
    quoted = os.path.basename(beside).replace("\\", "\\\\").replace('"', '\\"')
    with open(name, "w", encoding="utf-8") as out:
        out.write(text.replace(f'file="{file}"', f'file="{quoted}"'))
    return load_program(name)
