"""Functions of functions: jit, grad, vmap, scan, cond and their kin.

A function is traced once for each signature: it is called with arrays that have a shape and a dtype and no elements,
and what it does with them is recorded into a graph, which is compiled.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Sequence

from . import _native, _reference, _tree
from ._array import Array, apply
from ._creation import asarray

_Function = Callable[..., Any]


def tracing() -> bool:
    """Is a function being traced?"""
    return _native.tracing() is not None


class _Into:
    """Operations inside of `with` are recorded into the graph."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __enter__(self) -> Any:
        self._before = _native.tracing(self._graph)
        return self._graph

    def __exit__(self, *error: Any) -> None:
        _native.tracing(self._before)


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

    def takes(self, size: int) -> bool:
        return self.lo <= size <= self.hi and size % self.divisor == 0


class _Annotated:
    """The sizes of an argument that an annotation gives: vf.Array[vf.Dim('n'), 4]."""

    def __init__(self, sizes: tuple[Any, ...]) -> None:
        self.sizes = sizes


Array.__class_getitem__ = classmethod(  # type: ignore[attr-defined]
    lambda cls, sizes: _Annotated(sizes if isinstance(sizes, tuple) else (sizes,)))


def _check_function(function: Any, who: str) -> None:
    if not callable(function):
        raise TypeError(f"{who} takes a function, as in {who}(f)(x), and got {type(function).__name__}")


def _leaf(x: Any) -> Any:
    """An argument as an array of ours, or as it is where it has a buffer."""
    if isinstance(x, Array):
        return x
    if isinstance(x, (bool, int, float)):
        return asarray(x)
    try:
        memoryview(x)
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
    """One signature of a function: its graph, program, and the form of its results."""

    def __init__(self, graph: Any, program: Any, form: _tree.Form, signature: Any, dims: list[Dim]) -> None:
        self.graph, self.program, self.form = graph, program, form
        self.signature, self.dims = signature, dims


def _trace(function: _Function, name: str, described: Sequence[Any], form: _tree.Form, names: Sequence[str],
           dims: Sequence[tuple[Any, ...]] = (), fixed: Sequence[Any] = (), written: Sequence[int] = ()) -> _Traced:
    """Trace the function of a tree of arrays, given by dtype, shape and strides. written: numbers of those that are
    references there, and whose newest versions are further results."""
    graph = _native.graph(name)
    variables: list[Dim] = []
    signature = []
    with _Into(graph):
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
            inputs.append(graph.input(names[n] if n < len(names) else f"x{n}", code, tuple(sizes), steps))
            signature.append((code, tuple(marks), strides))
        references = {n: _reference.traced(inputs[n]) for n in written}
        args, kwargs = _tree.unflatten(form, [references.get(n, x) for n, x in enumerate(inputs)])
        results = function(*args, *fixed, **kwargs)
        leaves, result_form = _tree.flatten(results)
        leaves = [x.get() if isinstance(x, _reference.Ref) else x for x in leaves]
        leaves += [r.get() for r in references.values()]
        if not leaves:
            raise ValueError(f"{name} returns no array, so that there is nothing to compute")
        for n, leaf in enumerate(leaves):
            if not isinstance(leaf, (Array, bool, int, float)):
                leaf = asarray(leaf)
            graph.output(f"y{n}", leaf)
    return _Traced(graph, None, result_form, tuple(signature), variables)


def _name(function: _Function) -> str:
    name = getattr(function, "__name__", "function")
    return name if name.isidentifier() else "function"


def _run_once(function: _Function, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """The function of these arrays, traced and computed now."""
    leaves, form = _tree.flatten((list(args), kwargs or {}))
    arrays = [_leaf(x) for x in leaves]
    traced = _trace(lambda *a, **k: function(*a, **k), _name(function), [_describe(a) for a in arrays], form, ())
    program = traced.graph.compile()
    return _tree.unflatten(traced.form, _runner._run(program, tuple(arrays), ()))


_runner: Any = _native.Dispatcher(lambda *a: None)


class _Jit:
    """What is behind a compiled function: the slow way of a call, and what can be asked of it."""

    def __init__(self, function: _Function, static: set[int], static_names: set[str]) -> None:
        self.function, self.static, self.static_names = function, static, static_names
        self.name = _name(function)
        self.traced: dict[Any, _Traced] = {}
        self.traces = 0
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        self.parameters = [p.name for p in parameters]
        self.static |= {i for i, p in enumerate(self.parameters) if p in static_names}
        self.static_names |= {self.parameters[i] for i in self.static if i < len(self.parameters)}
        try:  # annotations may be text
            hints = inspect.get_annotations(function, eval_str=True)
        except Exception:
            hints = {}
        self.dims = {p: hints[p].sizes for p in self.parameters if isinstance(hints.get(p), _Annotated)}
        self.dispatcher: Any = None

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
        fixed = {i: a for i, a in enumerate(args) if i in self.static}
        named = {k: v for k, v in kwargs.items() if k in self.static_names}
        remainder = [a for i, a in enumerate(args) if i not in self.static]
        return remainder, {k: v for k, v in kwargs.items() if k not in named}, (fixed, named)

    def _with_static(self, statics: Any) -> _Function:
        fixed, named = statics

        def call(*args: Any, **kwargs: Any) -> Any:
            given = list(args)
            for i in sorted(fixed):
                given.insert(i, fixed[i])
            return self.function(*given, **kwargs, **named)

        return call

    def _leaf_names(self, remainder: list[Any], form_args: list[Any]) -> tuple[list[str], list[Any]]:
        """A name, and the declared sizes, of each leaf that is an argument by itself."""
        names: list[str] = []
        dims: list[Any] = []
        positions = [i for i in range(len(remainder) + len(self.static)) if i not in self.static]
        for position, argument in zip(positions, remainder):
            name = self.parameters[position] if position < len(self.parameters) else f"x{position}"
            count = len(_tree.flatten(argument)[0])
            names.extend([name] if count == 1 else [f"{name}_{k}" for k in range(count)])
            dims.extend([self.dims.get(name, ())] * count)
        return names, dims

    def _array(self, x: Any) -> Any:
        try:
            return _leaf(x)
        except TypeError as error:
            raise TypeError(f"{self.name}: an argument is {x!r:.60}: {error}. What is no array is given as it is where it is "
                            "static: jit(f, static_argnames='mode')") from None

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Traced, list[Any], tuple[int, ...]]:
        remainder, keywords, statics = self._split(args, kwargs)
        leaves, form = _tree.flatten((remainder, keywords))
        written = tuple(n for n, x in enumerate(leaves) if isinstance(x, _reference.Ref))
        arrays = [x.get().realise() if isinstance(x, _reference.Ref) else self._array(x) for x in leaves]
        described = [_describe(a) for a in arrays]
        names, dims = self._leaf_names(remainder, arrays)
        marks = []
        for n, (code, shape, strides) in enumerate(described):
            wanted = dims[n] if n < len(dims) else ()
            marked = tuple(wanted[a].name if a < len(wanted) and isinstance(wanted[a], Dim) and wanted[a].takes(s) else s
                           for a, s in enumerate(shape))
            marks.append((code, marked, strides))
        key = (form, tuple(marks), written, tuple(sorted(statics[0].items())), tuple(sorted(statics[1].items())))
        try:
            traced = self.traced.get(key)
        except TypeError:
            raise TypeError(f"{self.name}: a static argument must be hashable") from None
        if traced is None:
            self.traces += 1
            named = [n for n in names if n.isidentifier() and names.count(n) == 1]
            traced = _trace(self._with_static(statics), self.name, described, form, names if len(named) == len(names)
                            else (), dims, (), written)
            traced.program = traced.graph.compile()
            self.traced[key] = traced
            flat = not kwargs and not self.static and not written and all(not isinstance(a, (list, tuple, dict)) for a in args)
            single = traced.form is _tree.LEAF
            if flat and (single or (traced.form.kind is tuple and all(c is _tree.LEAF for c in traced.form.children))):
                bounds = tuple((d.lo, d.hi, d.divisor) for d in traced.dims)
                self.dispatcher._add(traced.program, traced.signature, bounds, single)
        sizes: dict[str, int] = {}
        for n, (code, shape, strides) in enumerate(described):
            for axis, mark in enumerate(traced.signature[n][1]):
                if mark < 0:
                    d = traced.dims[-1 - mark]
                    if sizes.setdefault(d.name, shape[axis]) != shape[axis]:
                        raise ValueError(f"{self.name}: {d.name} is {sizes[d.name]}, and {shape[axis]} along axis {axis} "
                                         f"of argument {n}; axes of one name have one size")
        return traced, arrays, tuple(sizes[d.name] for d in traced.dims)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if tracing():
            if out is not None:
                raise TypeError(f"{self.name}: out is for calls from outside of traced functions")
            return self.function(*args, **kwargs)
        if out is not None and isinstance(out, Array):
            raise TypeError("out is an array of viewfold, which does not change; give a NumPy array, or use the result")
        traced, arrays, sizes = self.prepare(args, kwargs)
        made = self.dispatcher._run(traced.program, tuple(arrays), sizes, out)
        if out is not None:
            return out
        references = [x for x in _tree.flatten((args, kwargs))[0] if isinstance(x, _reference.Ref)]
        for reference, newest in zip(references, made[len(made) - len(references):]):
            reference.update(newest)
        return _tree.unflatten(traced.form, made)


def jit(function: _Function | None = None, /, *, static_argnums: Any = (), static_argnames: Any = ()) -> Any:
    """The function, compiled: for each combination of dtypes and shapes of its arguments, when it is first called.

    Arguments are arrays (also NumPy's, which are read where they are), numbers, and trees of them. Arguments that are
    static, by position or name, are given to the function as they are, and each value is compiled by itself. An
    argument that is annotated as `vf.Array[vf.Dim('n', 1, 512), 4]` may have any size of the range along that axis,
    with one program for all. `f(x, y, out=z)` writes the one result to a NumPy array.
    """
    if function is None:
        return functools.partial(jit, static_argnums=static_argnums, static_argnames=static_argnames)
    _check_function(function, "jit")
    numbers = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    behind = _Jit(function, numbers, names)
    made: Any = _native.Dispatcher(behind)
    behind.dispatcher = made
    functools.update_wrapper(made, function)
    made._jit = behind
    return made


def _in_trace(function: _Function) -> _Function:
    """The function, which works in traced functions alone, for use outside of them as well."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if tracing() else _run_once(function, args, kwargs)

    return call


# derivatives


def _floats(leaves: list[Any], who: str) -> list[Array]:
    for n, x in enumerate(leaves):
        if not isinstance(x, Array) or x.dtype.kind != "f":
            what = x.dtype.name if isinstance(x, Array) else type(x).__name__
            raise TypeError(f"{who}: array {n} of what is derived by is {what}; derivatives are by floats, so "
                            "convert it with .astype(vf.float32), or give argnums")
    return leaves


def value_and_grad(function: _Function, argnums: Any = 0, has_aux: bool = False) -> _Function:
    """A function that gives the value, and its gradients by the arguments argnums, in their form."""
    _check_function(function, "grad")
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def derived(*args: Any, **kwargs: Any) -> Any:
        for n in numbers:
            if not isinstance(n, int):
                raise TypeError(f"grad: argnums is {argnums!r:.60}; takes positions of arguments, as 0 or (0, 2)")
            if not -len(args) <= n < len(args):
                raise IndexError(f"grad: argnums has {n}, and {_name(function)} is called with {len(args)} arguments by "
                                 "position; the first is 0")
        at = [args[n] for n in numbers]
        leaves, form = _tree.flatten(at)
        leaves = _floats([x if isinstance(x, Array) else asarray(x) for x in leaves], _name(function))
        leaves = [apply("reshape", (x,), "shape=[" + ",".join(map(str, x.shape)) + "]") for x in leaves]
        given = list(args)
        for n, tree in zip(numbers, _tree.unflatten(form, leaves)):
            given[n] = tree
        returned = function(*given, **kwargs)
        value, aux = returned if has_aux else (returned, None)
        if not isinstance(value, Array) or value.ndim:
            shape = value.shape if isinstance(value, Array) else value
            aux = "; has_aux=True is for a pair of it and anything else" if isinstance(value, tuple) else ""
            raise TypeError(f"grad: {_name(function)} gives {shape}; a gradient is of one number, as of x.sum(){aux}")
        gradients = _tree.unflatten(form, _native.vjp((value,), None, leaves))
        result = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        return ((value, aux), result) if has_aux else (value, result)

    return _in_trace(functools.wraps(function)(derived))


def grad(function: _Function, argnums: Any = 0, has_aux: bool = False) -> _Function:
    """A function that gives the gradients of the number that `function` gives, by the arguments argnums."""
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def derived(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return derived


def vjp(function: _Function, primals: tuple[Any, ...], cotangents: Any) -> tuple[Any, Any]:
    """The results of the function, and the cotangents of its arguments for those of its results."""

    _check_function(function, "vjp")
    if not isinstance(primals, (tuple, list)):
        raise TypeError(f"vjp: primals are a tuple, one for each argument, as in vjp(f, (x,), ...); got "
                        f"{type(primals).__name__}")

    def derived(primals: Any, cotangents: Any) -> Any:
        leaves, form = _tree.flatten(list(primals))
        leaves = [apply("reshape", (x,), "shape=[" + ",".join(map(str, x.shape)) + "]")
                  for x in _floats([asarray(x) for x in leaves], _name(function))]
        results = function(*_tree.unflatten(form, leaves))
        outputs, _ = _tree.flatten(results)
        given, _ = _tree.flatten(cotangents)
        return results, tuple(_tree.unflatten(form, _native.vjp(outputs, given, leaves)))

    return _in_trace(derived)(primals, cotangents)


def jvp(function: _Function, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """The results of the function, and how they vary when its arguments vary by the tangents."""

    _check_function(function, "jvp")
    if not isinstance(primals, (tuple, list)):
        raise TypeError(f"jvp: primals are a tuple, one for each argument, as in jvp(f, (x,), ...); got "
                        f"{type(primals).__name__}")

    def derived(primals: Any, tangents: Any) -> Any:
        leaves, form = _tree.flatten(list(primals))
        leaves = [apply("reshape", (x,), "shape=[" + ",".join(map(str, x.shape)) + "]")
                  for x in _floats([asarray(x) for x in leaves], _name(function))]
        along, _ = _tree.flatten(list(tangents))
        results = function(*_tree.unflatten(form, leaves))
        outputs, result_form = _tree.flatten(results)
        return results, _tree.unflatten(result_form, _native.jvp(outputs, leaves, along))

    return _in_trace(derived)(primals, tangents)


# functions that functions record: their number of results is found by recording them once, for nothing


def _probe(function: _Function, arguments: Any) -> tuple[list[Any], _tree.Form]:
    from . import _look

    with _look.silence():
        return _tree.flatten(function(*arguments))


def vmap(function: _Function, in_axes: Any = 0, out_axes: Any = 0, axis_size: int = -1) -> _Function:
    """The function for each element along an axis of its arguments, with the results stacked.

    in_axes: an axis for all arguments, or one for each, or None where all elements have the same argument.
    """

    _check_function(function, "vmap")

    def mapped(*args: Any) -> Any:
        leaves, form = _tree.flatten(list(args))
        leaves = [asarray(x) if not isinstance(x, Array) else x for x in leaves]
        axes: list[Any] = []
        given = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        if len(given) != len(args):
            raise ValueError(f"vmap: {len(given)} axes for {len(args)} arguments")
        for argument, axis in zip(args, given):
            axes.extend([axis] * len(_tree.flatten(argument)[0]))
        for n, (x, a) in enumerate(zip(leaves, axes)):
            if a is not None and not -x.ndim <= a < x.ndim:
                raise ValueError(f"vmap: axis {a} of array {n} of the arguments, of shape {x.shape}, is out of range; in_axes "
                                 "is None for what is the same for all elements")
        sample = [x if a is None else x[(slice(None),) * (a % x.ndim) + (0,)] for x, a in zip(leaves, axes)]
        outputs, result_form = _probe(function, _tree.unflatten(form, sample))
        outs = (out_axes,) * len(outputs) if isinstance(out_axes, int) or out_axes is None else tuple(out_axes)

        def record(*elements: Any) -> list[Any]:
            return _tree.flatten(function(*_tree.unflatten(form, elements)))[0]

        made = _native.vmap(record, leaves, tuple(axes), len(outputs), outs, axis_size)
        return _tree.unflatten(result_form, made)

    return _in_trace(functools.wraps(function)(mapped))


def scan(body: _Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> Any:
    """carry, y = body(carry, x) for each x along the first axis of xs: the last carry, and all y, stacked."""

    def scanned(init: Any, xs: Any) -> Any:
        state, state_form = _tree.flatten(init)
        state = [asarray(s) for s in state]
        slices, xs_form = _tree.flatten(xs)
        slices = [asarray(x) for x in slices]

        def call(*leaves: Any) -> tuple[list[Any], _tree.Form]:
            returned = body(_tree.unflatten(state_form, leaves[:len(state)]),
                            _tree.unflatten(xs_form, leaves[len(state):]))
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TypeError("scan: the body returns a pair, the next carry and what is stacked (None for nothing)")
            carry, y = returned
            carried, carried_form = _tree.flatten(carry)
            if carried_form != state_form:
                raise ValueError("scan: the carry that the body returns has another form than init")
            carried = [asarray(c) if not isinstance(c, Array) else c for c in carried]
            for n, (before, after) in enumerate(zip(state, carried)):
                if before.shape != after.shape or before.dtype != after.dtype:
                    raise TypeError(f"scan: array {n} of the carry is {before.dtype.name}{list(before.shape)} before an "
                                    f"iteration, and {after.dtype.name}{list(after.shape)} after it")
            ys, ys_form = _tree.flatten(y)
            return carried + ys, ys_form

        (first, ys_form) = _probe_pair(call, state + [x[0] for x in slices])
        count = len(first) - len(state)
        made = _native.scan(lambda *leaves: call(*leaves)[0], state, slices, count,
                            -1 if length is None else length, reverse)
        return _tree.unflatten(state_form, made[:len(state)]), _tree.unflatten(ys_form, made[len(state):])

    return _in_trace(scanned)(init, xs)


def _probe_pair(function: _Function, arguments: Any) -> Any:
    from . import _look

    with _look.silence():
        return function(*arguments)


def cond(predicate: Any, then: _Function, otherwise: _Function, *operands: Any) -> Any:
    """then(*operands) where the predicate holds, else otherwise(*operands); only one of them is run."""

    def chosen(predicate: Any, *operands: Any) -> Any:
        leaves, form = _tree.flatten(list(operands))
        leaves = [asarray(x) for x in leaves]
        outputs, result_form = _probe(then, _tree.unflatten(form, leaves))

        def branch(function: _Function) -> _Function:
            return lambda *a: [asarray(x) for x in _tree.flatten(function(*_tree.unflatten(form, a)))[0]]

        made = _native.cond(asarray(predicate), branch(then), branch(otherwise), leaves, len(outputs))
        return _tree.unflatten(result_form, made)

    return _in_trace(chosen)(predicate, *operands)


def while_loop(condition: _Function, body: _Function, init: Any, max_trips: int = -1) -> Any:
    """body of the state, as long as the condition of it holds. Gradients need max_trips."""

    def looped(init: Any) -> Any:
        state, form = _tree.flatten(init)
        state = [asarray(s) for s in state]

        def step(*leaves: Any) -> list[Any]:
            return [asarray(x) for x in _tree.flatten(body(_tree.unflatten(form, leaves)))[0]]

        made = _native.while_loop(lambda *leaves: [condition(_tree.unflatten(form, leaves))], step, state, max_trips)
        return _tree.unflatten(form, made)

    return _in_trace(looped)(init)


def fori_loop(lower: int, upper: int, body: _Function, init: Any) -> Any:
    """body(i, state) for i from lower to upper - 1."""

    def step(state: Any, i: Any) -> Any:
        return body(i, state), None

    from ._creation import arange

    return scan(step, init, arange(lower, upper))[0] if upper > lower else init


def checkpoint(function: _Function) -> _Function:
    """The function, whose intermediate values gradients compute again instead of keeping them."""

    _check_function(function, "checkpoint")

    def checked(*args: Any) -> Any:
        leaves, form = _tree.flatten(list(args))
        leaves = [asarray(x) for x in leaves]
        outputs, result_form = _probe(function, _tree.unflatten(form, leaves))
        made = _native.checkpoint(lambda *a: _tree.flatten(function(*_tree.unflatten(form, a)))[0], leaves,
                                  len(outputs))
        return _tree.unflatten(result_form, made)

    return _in_trace(functools.wraps(function)(checked))


