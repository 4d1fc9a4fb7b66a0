"""Functions of viewfold in programs of JAX: `viewfold.jax.call(f, x, y)` inside and outside of `jax.jit`.

The function is recorded for the dtypes and shapes of its arguments, and XLA calls the program where it lies (XLA FFI, on the
processor): arrays are read and written in XLA's memory. `jax.grad`, `jax.vjp` and `jax.vmap` take the program's own.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from . import _native, _tree
from ._array import Array, apply
from ._creation import asarray
from ._dtypes import dtype as to_dtype
from ._trace import _name, _trace
from ._transform import vmap

_TARGET = "viewfold_run"
_call = Primitive("viewfold_call")
_call.multiple_results = True


class _Recorded:
    """A program for arguments of given dtypes and shapes."""

    def __init__(self, function: Callable[..., Any], avals: tuple[Any, ...], form: Any) -> None:
        described = [(to_dtype(str(a.dtype)).code, tuple(a.shape), None) for a in avals]
        self.results: list[Any] = []

        def flat(*leaves: Any) -> Any:
            made, self.form = _tree.flatten(function(*_tree.unflatten(form, leaves)))
            made = [_as_jax_has_it(asarray(x)) for x in made]
            self.results = [jax.ShapeDtypeStruct(tuple(x.shape), x.dtype.name) for x in made]
            return made

        self.graph = _trace(flat, _name(function), described, _tree.flatten((list(range(len(avals))), {}))[1], ()).graph
        self.program: Any = None

    def compiled(self) -> Any:
        if self.program is None:
            self.program = self.graph.compile()
        return self.program


def _as_jax_has_it(x: Array) -> Array:
    """Without jax_enable_x64, JAX has no types of 64 bits."""
    wanted = to_dtype(str(jax.dtypes.canonicalize_dtype(x.dtype.name)))
    return x if x.dtype is wanted else apply("cast", (x,), f"dtype={wanted.text}")


class _Function:
    """A function of lists of arrays: its programs, and the functions that derivatives and vmap make of it."""

    def __init__(self, function: Callable[..., Any], form: Any) -> None:
        self.function, self.form = function, form
        self.recorded: dict[Any, _Recorded] = {}
        self.others: dict[Any, _Function] = {}
        self.jitted = jax.jit(lambda *leaves: _call.bind(*leaves, function=self))
        self.differentiable = jax.custom_vjp(lambda *leaves: _call.bind(*leaves, function=self))
        self.differentiable.defvjp(lambda *leaves: (self.differentiable(*leaves), leaves), self._backward)

    def of(self, leaves: Any) -> _Recorded:
        key = tuple((str(x.dtype), tuple(x.shape)) for x in leaves)
        if key not in self.recorded:
            self.recorded[key] = _Recorded(self.function, tuple(leaves), self.form)
        return self.recorded[key]

    def flat(self, *leaves: Any) -> list[Any]:
        return _tree.flatten(self.function(*_tree.unflatten(self.form, leaves)))[0]

    def other(self, key: Any, function: Callable[..., Any], count: int) -> "_Function":
        if key not in self.others:
            self.others[key] = _Function(function, _tree.flatten(list(range(count)))[1])
        return self.others[key]

    def _backward(self, leaves: Any, cotangents: Any) -> tuple[Any, ...]:
        floats = [n for n, x in enumerate(leaves) if _is_float(x)]
        given = [n for n, r in enumerate(self.of(leaves).results) if _is_float(r)]
        count = len(leaves)

        def derived(*arguments: Any) -> list[Any]:
            inputs = [apply("reshape", (x,), "shape=[" + ",".join(map(str, x.shape)) + "]") for x in arguments[:count]]
            made = self.flat(*inputs)
            return list(_native.vjp([asarray(made[n]) for n in given], list(arguments[count:]), [inputs[n] for n in floats]))

        function = self.other(("vjp", tuple(floats), tuple(given), count), derived, count + len(given))
        made = iter(function.differentiable(*leaves, *(cotangents[n] for n in given)) if floats and given else ())
        return tuple(next(made) if n in floats and given else None for n in range(count))


def _is_float(x: Any) -> bool:
    return bool(jax.numpy.issubdtype(x.dtype, jax.numpy.floating))


def _lower(context: Any, *operands: Any, function: _Function) -> Any:
    program = function.of(context.avals_in).compiled()  # the function keeps it, and XLA's program the function
    context.module_context.add_keepalive(program)
    return _rule()(context, *operands, program=np.int64(id(program)))


@functools.cache
def _rule() -> Any:
    jax.ffi.register_ffi_target(_TARGET, _native.xla_handler(), platform="cpu")
    return jax.ffi.ffi_lowering(_TARGET)


def _batch(arguments: Any, axes: Any, *, function: _Function) -> Any:
    mapped = tuple(a if isinstance(a, int) else None for a in axes)
    function = function.other(("vmap", mapped), vmap(function.flat, in_axes=mapped), len(arguments))
    made = function.differentiable(*arguments)
    return made, [0] * len(made)


_call.def_impl(lambda *leaves, function: function.jitted(*leaves))
_call.def_abstract_eval(lambda *avals, function: [jax.core.ShapedArray(r.shape, r.dtype) for r in function.of(avals).results])
mlir.register_lowering(_call, _lower, platform="cpu")
batching.primitive_batchers[_call] = _batch

_functions: dict[Any, _Function] = {}


def call(function: Callable[..., Any], /, *arguments: Any) -> Any:
    """The function of viewfold's arrays, or of what `vf.jit` made, on arrays of JAX.

    Arguments and results: arrays, and lists, tuples and dictionaries of them. A function is recorded once for each
    combination of dtypes and shapes, and kept: give the same function again, not a new one for each call.
    """
    leaves, form = _tree.flatten(list(arguments))
    key = (function, form)
    if key not in _functions:
        plain = getattr(getattr(function, "_jit", None), "function", function)
        _functions[key] = _Function(plain, form)
    known = _functions[key]
    leaves = [jax.numpy.asarray(x) for x in leaves]
    made = known.differentiable(*leaves)
    return _tree.unflatten(known.of(leaves).form, made)
