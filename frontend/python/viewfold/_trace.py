"""Tracing: a function is called with arrays that have a shape and a dtype and no elements, and what it does with them
is recorded into a graph, which is compiled."""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

from . import _mesh, _native, _reference, _tree
from ._array import Array
from ._creation import asarray
from ._shapes import name_axes

_Function = Callable[..., Any]


def tracing() -> bool:
    """Is a function being traced?"""
    return _native.tracing() is not None


def _own(tree: Any) -> Any:
    """The tree with arrays of its own in place of those that it has: what a function writes to its arguments stays in it."""
    leaves, form = _tree.flatten(tree)
    return _tree.unflatten(form, [x._another() if isinstance(x, Array) else x.copy() if hasattr(x, "__array_interface__") else x
                                  for x in leaves])


class Dim:
    """An axis that may have any size of a range: `Dim('n', 1, 512)`, or multiples of a divisor."""

    def __init__(self, name: str, lo: int = 1, hi: int = 1 << 20, divisor: int = 1) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"Dim: the name is {name!r}; takes letters, digits and _, as in Dim('n', 1, 512)")
        if not (0 <= lo <= hi and divisor >= 1 and hi // divisor * divisor >= lo):
            raise ValueError(f"Dim: {name} from {lo} to {hi} in multiples of {divisor} has no size; takes 0 <= lo <= hi, "
                             "a divisor >= 1 and a multiple of it between them")
        self.name, self.lo, self.hi, self.divisor = name, lo, hi, divisor

    def __repr__(self) -> str:
        return f"Dim({self.name!r}, {self.lo}, {self.hi}, {self.divisor})"

    def range(self) -> str:
        """What it takes, for messages."""
        return f"{self.name} from {self.lo} to {self.hi}" + (f" in multiples of {self.divisor}" if self.divisor > 1 else "")

    def takes(self, size: int) -> bool:
        return self.lo <= size <= self.hi and size % self.divisor == 0


def _no_value(self: Dim, *_: Any) -> Any:
    raise TypeError(f"{self!r} is a range of sizes for jit, and has no value; inside of the function, the size is that of an "
                    "argument, as in vf.arange(x.shape[0])")


for _name in ("index", "int", "float", "add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "truediv",
              "rtruediv", "mod", "rmod", "neg", "lt", "le", "gt", "ge"):
    setattr(Dim, f"__{_name}__", _no_value)


class _Annotated:
    """The sizes, or the letters, of the axes of an argument that an annotation gives: vf.Array[vf.Dim('n'), 4]."""

    def __init__(self, sizes: tuple[Any, ...]) -> None:
        self.sizes = sizes


Array.__class_getitem__ = classmethod(  # type: ignore[attr-defined]
    lambda cls, sizes: _Annotated(sizes if isinstance(sizes, tuple) else (sizes,)))


def _check_function(function: Any, who: str) -> None:
    if not callable(function):
        raise TypeError(f"{who} takes a function, as in {who}(f)(x), and got {type(function).__name__}")


def _said(x: Any, error: TypeError) -> str:
    """What is wrong with an argument, which the message may begin with."""
    return str(error) if str(error).startswith(f"{x!r:.40}") else f"{x!r:.60}: {error}"


def _leaf(x: Any) -> Any:
    """An argument as an array of ours, or as it is where it has a buffer."""
    if isinstance(x, Array):
        return x
    if isinstance(x, (bool, int, float)):
        return asarray(x)
    try:
        memoryview(_native.check_aligned(x))
        return x
    except (TypeError, ValueError, BufferError):
        return asarray(x)


def _describe(x: Any) -> tuple[int, tuple[int, ...], Any]:
    """dtype, shape, strides in bytes where it is not dense."""
    if isinstance(x, Array):
        return x.dtype.code, x._sizes, None
    view = memoryview(x)
    sample = _native.from_buffer(view[:0] if view.ndim and view.shape and view.shape[0] else view, True)
    if sample is None:
        raise TypeError(f"{type(x).__name__} has elements of the format {view.format!r}, which is no dtype of viewfold")
    return sample.dtype.code, tuple(view.shape or ()), None if view.c_contiguous else view.strides


class _Traced:
    """One signature of a function: its graph, program, the form of its results, and the numbers of the references that
    are written, whose newest versions are further results."""

    def __init__(self, graph: Any, program: Any, form: _tree.Form, signature: Any, dims: list[Dim],
                 changed: tuple[int, ...]) -> None:
        self.graph, self.program, self.form = graph, program, form
        self.signature, self.dims, self.changed = signature, dims, changed


def _trace(function: _Function, name: str, described: Sequence[Any], form: _tree.Form, names: Sequence[str],
           dims: Sequence[tuple[Any, ...]] = (), fixed: Sequence[Any] = (), written: Sequence[int] = (),
           placed: _mesh.Placed | None = None) -> _Traced:
    """Trace the function of a tree of arrays, given by dtype, shape and strides. written: numbers of those that are
    references there. placed: the mesh, and how arrays are divided."""
    graph = _native.graph(name)
    if placed is not None:
        graph.set_mesh(placed.mesh._native)
    variables: list[Dim] = []
    signature = []
    with _native.Recording(graph):
        inputs = []
        for n, (code, shape, strides) in enumerate(described):
            sizes: list[Any] = list(shape)
            marks = list(shape)
            for axis, d in enumerate(dims[n] if n < len(dims) else ()):
                if not isinstance(d, Dim) or axis >= len(sizes) or not d.takes(sizes[axis]):
                    continue
                known = [v.name for v in variables]
                if d.name not in known:
                    graph.variable(d.name, d.lo, d.hi, d.divisor)
                    variables.append(d)
                    known.append(d.name)
                sizes[axis], marks[axis] = d.name, -1 - known.index(d.name)
                strides = None
            item = 0 if strides is None else {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 10: 2, 11: 2, 8: 8, 9: 8, 13: 8}.get(code, 4)
            steps = None if strides is None else tuple(s // item for s in strides)
            letters = "".join(d if isinstance(d, str) else "_" for d in (dims[n] if n < len(dims) else ())[:len(shape)])
            inputs.append(graph.input(names[n] if n < len(names) else f"x{n}", code, tuple(sizes), steps))
            if letters.strip("_"):
                inputs[-1] = name_axes(inputs[-1], letters.ljust(len(shape), "_"))
            signature.append((code, tuple(marks), strides))
        references = {n: _reference.traced(inputs[n]) for n in written}
        args, kwargs = _tree.unflatten(form, [references.get(n, x) for n, x in enumerate(inputs)])
        if placed is not None:
            args = placed.divide(args)
        try:
            results = function(*args, *fixed, **kwargs)
        except TypeError as error:
            lists = [a for a in args if isinstance(a, (list, tuple)) and len(a) and all(getattr(i, "ndim", 1) == 0 for i in a)]
            if lists and hasattr(error, "add_note"):
                error.add_note(f"{name} was given a list of {len(lists[0])} numbers, and lists stay lists of arrays; vf.array(numbers), or "
                               "np.array(numbers), is an array")
            raise
        except RecursionError:
            raise RecursionError(f"{name} calls itself without end: while it is traced, no element tells when to stop; use vf.while_loop, "
                                 "or a number that is static (static_argnames) as the depth") from None
        leaves, result_form = _tree.flatten(results)
        leaves = [x.get() if isinstance(x, _reference.Ref) else x for x in leaves]
        changed = tuple(n for n, r in references.items() if r._held.array is not r._held.first)
        if not leaves and not changed:
            changed = tuple(references)
        leaves += [references[n].get() for n in changed]
        if not leaves:
            raise ValueError(f"{name} returns no array, so that there is nothing to compute; what is computed is returned")
        for n, leaf in enumerate(leaves):
            if not isinstance(leaf, (Array, bool, int, float)):
                try:
                    leaf = asarray(leaf)
                except TypeError as error:
                    raise TypeError(f"{name} returns {leaf!r:.60}: {error}. Results are arrays, numbers, and lists, tuples and "
                                    "dictionaries of them") from None
            graph.output(f"y{n}", leaf)
    return _Traced(graph, None, result_form, tuple(signature), variables, changed)


def _name(function: _Function) -> str:
    name = getattr(function, "__name__", "function")
    return name if name.isidentifier() else "function"


def _run_once(function: _Function, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """The function of these arrays, traced and computed now."""
    leaves, form = _tree.flatten((list(args), kwargs or {}))
    arrays = [_argument(x, _name(function)) for x in leaves]
    traced = _trace(lambda *a, **k: function(*a, **k), _name(function), [_describe(a) for a in arrays], form, ())
    program = traced.graph.compile()
    return _tree.unflatten(traced.form, _runner._run(program, tuple(arrays), ()))


def _argument(x: Any, who: str) -> Any:
    try:
        return _leaf(x)
    except TypeError as error:
        raise TypeError(f"{who}: an argument is {_said(x, error)}. What is no array comes from the surroundings: lambda x: f(x, 'mode')"
                        ) from None


_runner: Any = _native.Dispatcher(lambda *a: None)


def _in_trace(function: _Function) -> _Function:
    """The function, which works in traced functions alone, for use outside of them as well."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if tracing() else _run_once(function, args, kwargs)

    return call
