"""Programs of StableHLO, as `jax.export` writes them, as functions and programs of viewfold.

    loaded = viewfold.stablehlo.load(jax.export.export(jax.jit(f))(x))    # or its text
    loaded(x); vf.grad(lambda x: loaded(x).sum())(x); loaded.save("f.vf")
"""

from __future__ import annotations

import re
from typing import Any

from .. import _jit, _program, _tree
from .._array import Array
from .._creation import asarray
from .._dtypes import dtype as to_dtype
from .._errors import InvalidError
from .._trace import _trace, tracing
from .recorder import Recorder
from .text import Function, Parser, Type

__all__ = ["Loaded", "load"]


class Loaded:
    """The function `main` of a module: called with arrays, inside and outside of what is traced."""

    def __init__(self, functions: dict[str, Function], trees: Any = None, kept: tuple[int, ...] = ()) -> None:
        """trees: JAX's forms of arguments and results, where they are known; kept: the numbers of the arguments, flat, that
        something uses, which are the program's."""
        self._functions, self._trees, self._kept = functions, trees, kept
        main = functions["main"]
        self._types = [t for _, t, _ in main.parameters]
        names = [re.sub(r"\W+", "_", name).strip("_") or f"x{n}" for n, (_, _, name) in enumerate(main.parameters)]
        self.inputs = tuple(n if names.count(n) == 1 and not n[0].isdigit() else f"x{i}" for i, n in enumerate(names))
        self.input_types, self.output_types = tuple(map(str, self._types)), tuple(map(str, main.results))
        self._compiled = _jit.jit(self._flat)
        described = [(to_dtype(t.dtype).code, t.shape, None) for t in self._types]
        form = _tree.flatten((list(range(len(described))), {}))[1]
        self._graph = _trace(lambda *x: self._flat(list(x)), "main", described, form, self.inputs).graph

    def _flat(self, arrays: list[Array]) -> list[Array]:
        for name, x, wanted in zip(self.inputs, arrays, self._types):
            if Type(x.dtype.text, tuple(x.shape)) != wanted:
                raise InvalidError(f"stablehlo: input {name} is {Type(x.dtype.text, tuple(x.shape))}; the program takes {wanted}")
        return Recorder(self._functions).function("main", arrays)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Arguments as the function of JAX has them, where its form is known; else an array for each input. One result is
        an array, several are a tuple."""
        leaves: list[Any] = list(arguments)
        if self._trees is not None:
            import jax

            leaves, form = jax.tree.flatten((arguments, named))
            if form != self._trees[0]:
                raise InvalidError(f"stablehlo: arguments have the form {form}; the program takes {self._trees[0]}")
            leaves = [leaves[n] for n in self._kept]
        elif named:
            leaves += [named[n] for n in self.inputs[len(leaves):] if n in named]
        if len(leaves) != len(self.inputs):
            raise InvalidError(f"stablehlo: {len(leaves)} arrays; the program takes {len(self.inputs)}: {', '.join(self.inputs)}")
        arrays = [asarray(x) if not isinstance(x, (bool, int, float)) else asarray(x, dtype=to_dtype(t.dtype))
                  for x, t in zip(leaves, self._types)]
        made = self._flat(arrays) if tracing() else self._compiled(arrays)
        if self._trees is not None:
            return jax.tree.unflatten(self._trees[1], made)
        return made[0] if len(made) == 1 else tuple(made)

    def program(self) -> _program.Program:
        """Compiled for the shapes that the text has, with its inputs by name."""
        return _program.Program(self._graph)

    def save(self, path: Any) -> None:
        """Write NAME.vf, and to NAME.safetensors beside it the constants of more than 1,024 bytes."""
        self.program().save(path)


def load(given: Any) -> Loaded:
    """The program of a text of StableHLO, or of what `jax.export.export` gives.

    InvalidError: the text is none, or its types do not fit; UnsupportedError: an operation,
    or a form of it, that is not covered. Both name the line and the operation.
    """
    trees, kept = None, ()
    text = given
    if not isinstance(given, str):
        if not hasattr(given, "mlir_module"):
            raise TypeError("load takes the text of a module of StableHLO, or what jax.export.export(f)(x) gives, and got "
                            f"{type(given).__name__}")
        text = given.mlir_module()
        trees, kept = (given.in_tree, given.out_tree), tuple(given.module_kept_var_idx)
    functions = Parser(text).module()
    if "main" not in functions:
        raise InvalidError(f"stablehlo: there is no function main; there are {', '.join(functions) or 'none'}")
    return Loaded(functions, trees, kept)
