"""Functions of functions that are recorded: derivatives, maps, loops and conditions."""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any, Sequence

from . import _mesh, _native, _tree
from ._array import Array, apply
from ._creation import asarray
from ._errors import Error
from ._trace import _check_function, _Function, _in_trace, _name, _own


# derivatives

_MOST_AXES = 16  # of an array


def _floats(leaves: list[Any], who: str, form: _tree.Form | None = None) -> list[Array]:
    """The leaves, which must be floats. form: of the list of arguments that they are from, for the message."""
    for n, x in enumerate(leaves):
        if not isinstance(x, Array) or x.dtype.kind != "f":
            what = x.dtype.name if isinstance(x, Array) else type(x).__name__
            path = _tree.paths(form, "[{!r}]")[n].partition("]")[2] if form else ""
            if path:
                raise TypeError(f"{who}: a derivative by {path}, which is {what}; derivatives are by floats: convert it with "
                                ".astype(vf.float32), or give it by an argument that argnums does not name")
            raise TypeError(f"{who}: a derivative by array {n} of its arguments, which is {what}; derivatives are by floats: "
                            "convert it with .astype(vf.float32), or name other arguments by argnums")
    return leaves


def _apart(x: Array) -> Array:
    """The same elements as a value that nothing depends on yet: what the surroundings have computed of x is constant for
    derivatives by it."""
    if x.ndim == _MOST_AXES:
        return x * 1
    return apply("squeeze", (apply("unsqueeze", (x,), "axis=0"),), "axis=0")


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
        leaves = _floats([x if isinstance(x, Array) else asarray(x) for x in leaves], _name(function), form)
        leaves = [_apart(x) for x in leaves]
        given = _own(list(args))
        for n, tree in zip(numbers, _own(_tree.unflatten(form, leaves))):
            given[n] = tree
        returned = function(*given, **_own(kwargs))
        if has_aux and not (isinstance(returned, tuple) and len(returned) == 2):
            raise TypeError(f"{_name(function)} returns {type(returned).__name__}; with has_aux=True it returns a pair, the number and anything else")
        value, aux = returned if has_aux else (returned, None)
        if not isinstance(value, Array) or value.ndim:
            shape = value.shape if isinstance(value, Array) else value
            aux = "; has_aux=True is for a pair of it and anything else" if isinstance(value, tuple) else ""
            if not isinstance(value, (Array, tuple, list, dict)):
                raise TypeError(f"grad: {_name(function)} gives {value!r:.40}, which is not computed from its arguments; it must give an "
                                "array of one number, as x.sum()")
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
        leaves = [_apart(x) for x in _floats([asarray(x) for x in leaves], _name(function))]
        results = function(*_own(_tree.unflatten(form, leaves)))
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
        leaves = [_apart(x) for x in _floats([asarray(x) for x in leaves], _name(function))]
        along, _ = _tree.flatten(list(tangents))
        results = function(*_own(_tree.unflatten(form, leaves)))
        outputs, result_form = _tree.flatten(results)
        return results, _tree.unflatten(result_form, _native.jvp(outputs, leaves, along))

    return _in_trace(derived)(primals, tangents)


# functions that functions record: their number of results is found by recording them once, for nothing


def _probe(function: _Function, arguments: Any) -> Any:
    with _native.Recording(silent=True):
        return function(*_own(list(arguments)))


def _probe_tree(function: _Function, arguments: Any) -> tuple[list[Any], _tree.Form]:
    return _tree.flatten(_probe(function, arguments))


def vmap(function: _Function, in_axes: Any = 0, out_axes: Any = 0, axis_size: int = -1,
         over: str | Sequence[str] | None = None) -> _Function:
    """The function for each element along an axis of its arguments, with the results stacked.

    in_axes: an axis for all arguments, or one for each, or None where all elements have the same argument. over: the
    mesh axes that divide the elements, inside of `vf.jit(f, mesh=...)`.
    """

    _check_function(function, "vmap")

    if not (in_axes is None or isinstance(in_axes, (int, list, tuple))) or (
            isinstance(in_axes, (list, tuple)) and not all(a is None or isinstance(a, int) for a in in_axes)):
        raise TypeError(f"vmap: in_axes is {in_axes!r}; it is the number of an axis, None, or a tuple with one of these for each argument")
    divides = None if over is None else "[" + ".".join(_mesh.names(over)) + "]"

    def mapped(*args: Any) -> Any:
        leaves, form = _tree.flatten(list(args))
        leaves = [asarray(x) if not isinstance(x, Array) else x for x in leaves]
        axes: list[Any] = []
        given = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        if len(given) != len(args):
            raise ValueError(f"vmap: in_axes has {len(given)} entries, and the function is called with {len(args)} arguments; "
                             "each has one: an axis, or None for what is the same for all elements")
        for argument, axis in zip(args, given):
            axes.extend([axis] * len(_tree.flatten(argument)[0]))
        for n, (x, a) in enumerate(zip(leaves, axes)):
            if a is not None and not -x.ndim <= a < x.ndim:
                raise ValueError(f"vmap: axis {a} of array {n} of the arguments, of shape {x.shape}, is out of range; in_axes "
                                 "is None for what is the same for all elements")
        sample = [x if a is None else x[(slice(None),) * (a % x.ndim) + (0,)] for x, a in zip(leaves, axes)]
        outputs, result_form = _probe_tree(function, _tree.unflatten(form, sample))
        if not (out_axes is None or isinstance(out_axes, (int, tuple, list))):
            raise TypeError(f"vmap: out_axes is {out_axes!r}; it is the number of an axis, or a tuple with one for each result")
        outs = (out_axes,) * len(outputs) if isinstance(out_axes, int) or out_axes is None else tuple(out_axes)

        def record(*elements: Any) -> list[Any]:
            return _tree.flatten(function(*_tree.unflatten(form, elements)))[0]

        made = _native.vmap(record, leaves, tuple(axes), len(outputs), outs, axis_size, divides)
        return _tree.unflatten(result_form, made)

    return _in_trace(functools.wraps(function)(mapped))


def scan(body: _Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> Any:
    """carry, y = body(carry, x) for each x along the first axis of xs: the last carry, and all y, stacked."""
    _check_functions("scan(body, init, xs)", body)
    _check_calls("scan(body, init, xs)", "body", body, 2, "the carry, and an element of xs (None without xs)")
    body = _saying("scan calls body(carry, x), x an element of xs", body)

    def scanned(init: Any, xs: Any) -> Any:
        state, state_form = _tree.flatten(init)
        state = [asarray(s) for s in state]
        slices, xs_form = _tree.flatten(xs)
        slices = [asarray(x) for x in slices]
        _check_lengths(slices, _tree.paths(xs_form, "[{!r}]"), length)

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
            _check_state("scan: carry", state_form, state, carried)
            ys, ys_form = _tree.flatten(y)
            return carried + ys, ys_form

        (first, ys_form) = _probe(call, state + [x[0] for x in slices])
        count = len(first) - len(state)
        made = _native.scan(lambda *leaves: call(*leaves)[0], state, slices, count,
                            -1 if length is None else length, reverse)
        return _tree.unflatten(state_form, made[:len(state)]), _tree.unflatten(ys_form, made[len(state):])

    return _in_trace(scanned)(init, xs)


def _check_state(what: str, form: _tree.Form, before: list[Any], after: list[Any]) -> None:
    """Refuses arrays that an iteration changes to another dtype or shape."""
    for path, x, y in zip(_tree.paths(form, "[{!r}]"), before, after):
        if x.shape != y.shape:
            raise TypeError(f"{what}{path} is {x.dtype.name}{list(x.shape)} before an iteration, and {y.dtype.name}{list(y.shape)} after "
                            "it; both must be the same: begin with an array of the shape that the body gives, or return one of the "
                            "shape that it is given")
        if x.dtype != y.dtype:
            raise TypeError(f"{what}{path} is {x.dtype.name}{list(x.shape)} before an iteration, and {y.dtype.name}{list(y.shape)} after "
                            "it; both must be the same, by x.astype(...) of one of them")


def _check_calls(usage: str, role: str, function: Any, count: int, given: str) -> None:
    """Refuses a function that does not take so many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        takes = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in signature.parameters.values())
        raise TypeError(f"{usage}: {role} takes {takes} argument{'s' * (takes != 1)}, and is called with {count}: {given}") from None


def _saying(calls: str, function: _Function) -> _Function:
    """The function; where an index or a shape is wrong in it, the error says with what it is called."""
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except (IndexError, ValueError) as error:
            frame = error.__traceback__
            while frame is not None and frame.tb_next is not None:
                frame = frame.tb_next
            ours = isinstance(error, Error) or (frame is not None and frame.tb_frame.f_globals.get("__name__", "").startswith("viewfold."))
            if ours and not hasattr(error, "_said") and len(error.args) == 1:
                error._said = True  # type: ignore[union-attr]
                error.args = (f"{error.args[0]}; {calls}",)
            raise

    return call


def _check_functions(usage: str, *functions: Any) -> None:
    for function in functions:
        if not callable(function):
            raise TypeError(f"vf.{usage}: a function is expected where {type(function).__name__} is given")


def _check_lengths(slices: list[Array], paths: list[str], length: int | None) -> None:
    for x, path in zip(slices, paths):
        if not x.ndim:
            raise ValueError(f"scan: xs{path} has no axes; it goes along the first axis of xs, and what is the same in each iteration is "
                             "in init, or taken from the surroundings")
        if not isinstance(x.shape[0], int) or not isinstance(slices[0].shape[0], int):
            continue
        if x.shape[0] != slices[0].shape[0]:
            raise ValueError(f"scan: xs{paths[0]} has {slices[0].shape[0]} elements along its first axis, and xs{path} has {x.shape[0]}; "
                             "all must have the same number")
        if length is not None and x.shape[0] != length:
            raise ValueError(f"scan: xs{path} has {x.shape[0]} elements along its first axis, and length is {length}; leave length out")
    if not slices and length is None:
        raise ValueError("scan: there is no xs, so that nothing says how often; give length=n, or use vf.fori_loop")


def cond(predicate: Any, then: _Function, otherwise: _Function, *operands: Any) -> Any:
    """then(*operands) where the predicate holds, else otherwise(*operands); only one of them is run."""
    usage = "cond(predicate, then, otherwise, *operands)"
    _check_functions(usage, then, otherwise)
    if callable(predicate) and not hasattr(predicate, "dtype"):
        raise TypeError("cond(predicate, then, otherwise, *operands): the predicate is a truth value, as x.sum() > 0, and got a function")
    for role, function in (("then", then), ("otherwise", otherwise)):
        _check_calls(usage, role, function, len(operands), "the operands, which stand behind the functions, as in vf.cond(p, f, g, x)")
    then, otherwise = (_saying(f"cond calls {role}(*operands), in their order", f) for role, f in (("then", then), ("otherwise", otherwise)))

    def chosen(predicate: Any, *operands: Any) -> Any:
        leaves, form = _tree.flatten(list(operands))
        leaves = [asarray(x) for x in leaves]
        outputs, result_form = _probe_tree(then, _tree.unflatten(form, leaves))

        def branch(function: _Function) -> _Function:
            return lambda *a: [asarray(x) for x in _tree.flatten(function(*_tree.unflatten(form, a)))[0]]

        made = _native.cond(asarray(predicate), branch(then), branch(otherwise), leaves, len(outputs))
        return _tree.unflatten(result_form, made)

    return _in_trace(chosen)(predicate, *operands)


def while_loop(condition: _Function, body: _Function, init: Any, max_trips: int = -1) -> Any:
    """body of the state, as long as the condition of it holds. Gradients need max_trips."""
    usage = "while_loop(condition, body, init)"
    _check_functions(usage, condition, body)
    for role, function in (("condition", condition), ("body", body)):
        _check_calls(usage, role, function, 1, "the state, of the form of init, which may be a tuple")
    condition, body = (_saying(f"while_loop calls {role}(state), of the form of init", f) for role, f in (("condition", condition), ("body", body)))

    def looped(init: Any) -> Any:
        state, form = _tree.flatten(init)
        state = [asarray(s) for s in state]

        def step(*leaves: Any) -> list[Any]:
            made = [asarray(x) for x in _tree.flatten(body(_tree.unflatten(form, leaves)))[0]]
            _check_state("while_loop: state", form, state, made)
            return made

        made = _native.while_loop(lambda *leaves: [condition(_tree.unflatten(form, leaves))], step, state, max_trips)
        return _tree.unflatten(form, made)

    return _in_trace(looped)(init)


def _bound(given: Any) -> int:
    """A bound of fori_loop as an integer, which an array of one has outside of traced functions."""
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError("fori_loop: a bound is an array that is computed in a function that is being traced; bounds are integers, known when the "
                        "function is traced; vf.while_loop takes what is computed, and static_argnames an argument") from None


def fori_loop(lower: int, upper: int, body: _Function, init: Any) -> Any:
    """body(i, state) for i from lower to upper - 1."""
    _check_functions("fori_loop(lower, upper, body, init)", body)
    _check_calls("fori_loop(lower, upper, body, init)", "body", body, 2, "the number of the iteration, and the state")
    body = _saying("fori_loop calls body(i, state), i the number of the iteration", body)

    def step(state: Any, i: Any) -> Any:
        return body(i, state), None

    from ._creation import arange

    for bound in (lower, upper):
        if not getattr(bound, "ndim", 0) and getattr(getattr(bound, "dtype", None), "kind", "i") not in "iu":
            raise TypeError(f"fori_loop: a bound is an array of {bound.dtype.name}; bounds are integers, as of int(x) outside of traced functions")
        if not hasattr(bound, "__index__") or getattr(bound, "ndim", 0):
            raise TypeError(f"fori_loop: a bound is {f'an array of shape {bound.shape}' if getattr(bound, 'ndim', 0) else repr(bound)}; bounds are integers, and vf.while_loop takes what is computed")
    lower, upper = (_bound(b) for b in (lower, upper))
    return scan(step, init, arange(lower, upper))[0] if upper > lower else _own(_tree.map(asarray, init))


def checkpoint(function: _Function) -> _Function:
    """The function, whose intermediate values gradients compute again instead of keeping them."""

    _check_function(function, "checkpoint")

    def checked(*args: Any) -> Any:
        leaves, form = _tree.flatten(list(args))
        leaves = [asarray(x) for x in leaves]
        outputs, result_form = _probe_tree(function, _tree.unflatten(form, leaves))
        made = _native.checkpoint(lambda *a: _tree.flatten(function(*_tree.unflatten(form, a)))[0], leaves,
                                  len(outputs))
        return _tree.unflatten(result_form, made)

    return _in_trace(functools.wraps(function)(checked))
