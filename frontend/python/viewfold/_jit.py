"""jit: a function is traced once for each signature, and calls with that signature run its program."""

from __future__ import annotations

import copyreg
import functools
import inspect
from typing import Any

from . import _mesh, _native, _reference, _tree
from ._array import Array
from ._creation import asarray
from ._trace import Dim, _Annotated, _check_function, _describe, _Function, _leaf, _name, _own, _said, _trace, _Traced, tracing


class _Jit:
    """What is behind a compiled function: the slow way of a call, and what can be asked of it."""

    def __init__(self, function: _Function, static: set[int], static_names: set[str],
                 placed: _mesh.Placed | None = None) -> None:
        self.function, self.static, self.static_names, self.placed = function, static, static_names, placed
        self.name = _name(function)
        self.traced: dict[Any, _Traced] = {}
        self.traces = 0
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        self.parameters = [p.name for p in parameters]
        self.required = [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        positional = all(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters) and parameters
        unknown = [n for n in sorted(static_names) if n not in self.parameters] + [i for i in sorted(static) if i >= len(parameters)]
        if positional and unknown:
            raise ValueError(f"jit: {self.name} has no argument {unknown[0]!r} to be static; it takes {', '.join(self.parameters)}")
        self.static |= {i for i, p in enumerate(self.parameters) if p in static_names}
        self.static_names |= {self.parameters[i] for i in self.static if i < len(self.parameters)}
        try:  # annotations may be text
            hints = inspect.get_annotations(function, eval_str=True)
        except Exception:
            hints = {}
        for p in self.parameters:
            if isinstance(hints.get(p), Dim):
                raise TypeError(f"jit: the annotation of {p} is the size {hints[p]!r}; annotate the array by the sizes of its axes, as "
                                f"in {p}: vf.Array[{hints[p].name}, 3]")
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

    def _leaf_names(self, remainder: list[Any], keywords: dict[str, Any]) -> tuple[list[str], list[Any]]:
        """A name, and the declared sizes, of each leaf that is an argument by itself."""
        names: list[str] = []
        dims: list[Any] = []
        positions = [i for i in range(len(remainder) + len(self.static)) if i not in self.static]
        for position, argument in zip(positions, remainder):
            name = self.parameters[position] if position < len(self.parameters) else f"x{position}"
            paths = _tree.paths(_tree.flatten(argument)[1])
            names.extend(name + path for path in paths)
            dims.extend(self.dims.get(name, ()) if not path else () for path in paths)
        for name in sorted(keywords, key=str):
            paths = _tree.paths(_tree.flatten(keywords[name])[1])
            names.extend(name + path for path in paths)
            dims.extend(self.dims.get(name, ()) if not path else () for path in paths)
        return names, dims

    def _unhashable(self, fixed: tuple[tuple[Any, Any], ...]) -> str:
        """Which of the static arguments cannot be a key, and what would be in its place."""
        for name, (kind, _) in fixed:
            if getattr(kind, "__hash__", None) is None:
                named = self.parameters[name] if isinstance(name, int) and name < len(self.parameters) else name
                instead = {list: "; give a tuple", dict: "; give a tuple of its items", set: "; give a frozenset"}.get(kind, "")
                return f"{named} is of type {kind.__name__}{instead}: "
        return ""

    def _check_sizes(self, name: str, shape: tuple[int, ...], wanted: tuple[Any, ...]) -> None:
        fits = len(wanted) == len(shape) and all(
            d.takes(s) if isinstance(d, Dim) else d == s or not isinstance(d, int) for d, s in zip(wanted, shape))
        if not fits:
            says = ", ".join(d.range() if isinstance(d, Dim) else str(d) for d in wanted)
            axes = "" if len(wanted) == len(shape) else f", {len(wanted)} ax{'i' if len(wanted) == 1 else 'e'}s"
            raise ValueError(f"{self.name}: {name} has shape {shape}; its annotation says [{says}]{axes}; give it such a shape, or "
                             "annotate it otherwise")

    def _array(self, x: Any) -> Any:
        try:
            return _leaf(x)
        except TypeError as error:
            if hasattr(type(x), self.name) and 0 not in self.static:
                raise TypeError(f"{self.name}: the object of a method, {type(x).__name__}, is no array; it is given as it is "
                                "by vf.jit(static_argnums=0), and its arrays are then constants") from None
            raise TypeError(f"{self.name}: an argument is {_said(x, error)}. What is no array is given as it is where it is "
                            "static: jit(f, static_argnames='mode')") from None

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Traced, list[Any], tuple[int, ...]]:
        remainder, keywords, statics = self._split(args, kwargs)
        leaves, form = _tree.flatten((remainder, keywords))
        written = tuple(n for n, x in enumerate(leaves) if isinstance(x, _reference.Ref))
        arrays = [x.get().realise() if isinstance(x, _reference.Ref) else self._array(x) for x in leaves]
        described = [_describe(a) for a in arrays]
        names, dims = self._leaf_names(remainder, keywords)
        marks = []
        for n, (code, shape, strides) in enumerate(described):
            wanted = dims[n] if n < len(dims) else ()
            if wanted:
                self._check_sizes(names[n], shape, wanted)
            marked = tuple(wanted[a].name if a < len(wanted) and isinstance(wanted[a], Dim) and wanted[a].takes(s) else s
                           for a, s in enumerate(shape))
            if strides is not None and marked != shape:  # strides would differ from size to size
                arrays[n] = asarray(arrays[n], copy=True)
                strides = None
                described[n] = (code, shape, None)
            marks.append((code, marked, strides))
        fixed = tuple((name, _told_apart(x)) for part in statics for name, x in sorted(part.items()))
        key = (form, tuple(marks), written, fixed)
        try:
            traced = self.traced.get(key)
        except TypeError:
            raise TypeError(f"{self.name}: {self._unhashable(fixed)}a static argument is hashable, as numbers, strings and tuples are; an array "
                            "is an argument that is not static, or a constant from the surroundings of the function") from None
        if traced is None:
            self.traces += 1
            named = [n for n in names if n.isidentifier() and names.count(n) == 1]
            traced = _trace(self._with_static(statics), self.name, described, form, names if len(named) == len(names)
                            else (), dims, (), written, self.placed)
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
                                         f"of argument {n}; axes of one name must have one size")
        return traced, arrays, tuple(sizes[d.name] for d in traced.dims)

    def html(self) -> str | None:
        """For a notebook: the page of the signature that was compiled last, where there is one."""
        if not self.traced:
            return None
        from ._explain import Explanation

        last = list(self.traced.values())[-1]
        return Explanation(last.graph, last.program, None, self.name)._repr_html_()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if tracing():
            if out is not None:
                raise TypeError(f"{self.name}: out is for calls from outside of traced functions")
            remainder, keywords, statics = self._split(args, kwargs)
            remainder, keywords = _own((remainder, keywords))
            if self.placed is not None:
                _native.tracing().set_mesh(self.placed.mesh._native)  # type: ignore[union-attr]
                remainder = self.placed.divide(remainder)
            return self._with_static(statics)(*remainder, **keywords)
        if out is not None and isinstance(out, Array):
            raise TypeError("out is an array of viewfold, which does not change; give a NumPy array, or use the result")
        remainder, keywords, _ = self._split(args, kwargs)
        leaves = _tree.flatten((remainder, keywords))[0]
        references = {n: x for n, x in enumerate(leaves) if isinstance(x, _reference.Ref)}
        if not references:
            return self._run(args, kwargs, out, {}, [])
        with _reference.held(references.values()):
            return self._run(args, kwargs, out, references, self._leaf_names(remainder, keywords)[0])

    def _run(self, args: Any, kwargs: Any, out: Any, references: dict[int, _reference.Ref], names: list[str]) -> Any:
        traced, arrays, sizes = self.prepare(args, kwargs)
        if len(references) > 1:
            _reference.check_apart([(names[n], r, n in traced.changed) for n, r in references.items()], self.name)
        if out is not None and len(traced.program.names(1)) != 1:
            raise ValueError("out is for functions with one result" + (", and none that write a Ref" if traced.changed else ""))
        made = self.dispatcher._run(traced.program, tuple(arrays), sizes, out)
        if out is not None:
            return out
        for n, newest in zip(traced.changed, made[len(made) - len(traced.changed):]):
            references[n].update(newest)
        return _tree.unflatten(traced.form, made)


def _told_apart(x: Any) -> Any:
    """A static argument as a key: 1, 1.0 and True are equal, as are 0.0 and -0.0, and make different programs."""
    if isinstance(x, tuple):
        return type(x), tuple(_told_apart(item) for item in x)
    return type(x), repr(x) if isinstance(x, float) else x


def _by_name(compiled: Any) -> str:
    """How a compiled function is pickled: as functions are, by its name in its module."""
    name: str = compiled.__qualname__
    if "<" in name:
        raise TypeError(f"a compiled function is pickled by its name, and {name} has none in its module; define it with def outside "
                        "of functions, or save its program: vf.export(f, *arrays).save(path)")
    return name


copyreg.pickle(_native.Dispatcher, _by_name)  # type: ignore[arg-type]


def _described(compiled: Any) -> str:
    behind = getattr(compiled, "_jit", None)
    if behind is None:
        return "<a compiled function>"
    names = ", ".join(behind.parameters)
    return f"<compiled {behind.name}({names}), called with {len(behind.traced)} signatures; vf.explain shows its kernels>"


_native.Dispatcher.__repr__ = _described  # type: ignore[method-assign]


def jit(function: _Function | None = None, /, *, static_argnums: Any = (), static_argnames: Any = (),
        mesh: _mesh.Mesh | None = None, in_specs: Any = None) -> Any:
    """The function, compiled: for each combination of dtypes and shapes of its arguments, when it is first called.

    Arguments are arrays (also NumPy's, which are read where they are), numbers, and trees of them. Arguments that are
    static, by position or name, are given to the function as they are, and each value is compiled by itself. An
    argument that is annotated as `vf.Array[vf.Dim('n', 1, 512), 4]` may have any size of the range along that axis,
    with one program for all. `f(x, y, out=z)` writes the one result to a NumPy array.

    mesh: the function runs on its devices. It takes and gives whole arrays, and each device computes parts. in_specs
    says how arguments are divided: a tuple of `vf.P("x", None)`, of None, which leaves it open, and of trees of them,
    for the arguments that are not static; what is open is divided so that little moves.
    """
    if function is None:
        return functools.partial(jit, static_argnums=static_argnums, static_argnames=static_argnames, mesh=mesh,
                                 in_specs=in_specs)
    _check_function(function, "jit")
    numbers = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    if mesh is None and in_specs is not None:
        raise TypeError("jit: in_specs divides arguments among the devices of a mesh; give one, as mesh=vf.Mesh(x=2)")
    behind = _Jit(function, numbers, names, None if mesh is None else _mesh.Placed(_mesh.needs_mesh(mesh, "jit"), in_specs))
    made: Any = _native.Dispatcher(behind)
    behind.dispatcher = made
    functools.update_wrapper(made, function)
    made._jit, made._repr_html_ = behind, behind.html
    return made
