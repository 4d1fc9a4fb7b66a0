"""Meshes of devices with named axes, and arrays that are divided among them."""

from __future__ import annotations

import atexit
from typing import Any, Iterable, Sequence

from . import _native, _reference, _tree
from ._array import Array, apply
from ._creation import asarray


class P:
    """How an array is divided among the devices of a mesh: for each axis the mesh axes that divide it.

    `P("x", None)`: the first axis along x, the second whole. `P(("x", "y"))`: along x, and each part along y.
    Axes that are not named are whole. `pending="y"`: each device along y has a summand. `replicated="y"`: all along
    y have the same. docs/sharding.md describes what may stand in the text of a spec.
    """

    __slots__ = ("entries", "replicated", "pending")

    def __init__(self, *entries: Any, replicated: str | Sequence[str] = (), pending: str | Sequence[str] = ()) -> None:
        for entry in entries:
            parts = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
            if not all(isinstance(name, str) for name in parts):
                raise TypeError(f"P takes names of mesh axes, None, and tuples of names, as in P('x', None); got {entry!r:.60}")
        self.entries = entries
        self.replicated, self.pending = names(replicated), names(pending)

    def text(self, rank: int) -> str:
        """As graphs write it, for an array of so many axes."""
        if len(self.entries) > rank:
            raise ValueError(f"{self!r} has {len(self.entries)} entries, and the array {rank} axes; takes at most as many")
        words = ["-" if e is None or e == () else ".".join(e) if isinstance(e, tuple) else e for e in self.entries]
        words += ["-"] * (rank - len(words))
        behind = "".join("!" + name for name in self.replicated) + "".join("+" + name for name in self.pending)
        return "[" + ",".join(words) + "]" + behind

    def __repr__(self) -> str:
        options = [f"{k}={v!r}" for k, v in (("replicated", self.replicated), ("pending", self.pending)) if v]
        return f"P({', '.join([repr(e) for e in self.entries] + options)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, P) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def names(given: str | Iterable[str]) -> tuple[str, ...]:
    """Names of mesh axes, of which one may be given by itself."""
    return (given,) if isinstance(given, str) else tuple(given)


def spec_text(spec: Any, rank: int) -> str:
    """A P, or the text of a spec, as text."""
    if isinstance(spec, P):
        return spec.text(rank)
    if isinstance(spec, str):
        if "[" not in spec:
            raise TypeError(f"a spec says how an array is divided, as vf.P('x', None) or '[x,-]'; got {spec!r:.60}; an axis of the mesh is "
                            f"vf.P({spec!r:.60})")
        return spec
    raise TypeError(f"a spec says how an array is divided, as vf.P('x', None) or '[x,-]'; got {spec!r:.60}")


class Mesh:
    """A grid of devices with named axes, the major one first: `Mesh(x=2, y=4)`, or `Mesh("x=2,y=4")`; `Mesh("x=3:1")` has
    two, of which the first gets three times what the second does.

    The text may say more of the devices, as graphs write it: `"[x=2,y=2] latency=[1e-6,1e-6] bandwidth=[1e10,1e9]"`.
    The devices are threads of this process, or of several (`vf.processes`), or OpenCL devices:
    `'[x=2] devices=["cpu","opencl:0"]'`.
    """

    def __init__(self, text: str | None = None, /, *other: Any, **axes: int) -> None:
        if (text is None) == (not axes) or not isinstance(text, (str, type(None))) or other:
            raise TypeError("Mesh takes the sizes of named axes, as in Mesh(x=2, y=4) or Mesh('x=2,y=4')")
        wrong = next((name for name, size in axes.items() if not hasattr(type(size), "__index__")), None)
        if wrong is not None:
            raise TypeError(f"Mesh: {wrong} is {axes[wrong]!r:.40}; the size of an axis is an integer, and devices are named in a text, as in "
                            "vf.Mesh('[x=2] devices=[\"cpu\",\"cpu\"]')")
        self._text = text or ",".join(f"{name}={size}" for name, size in axes.items())
        self._native = _native.mesh(self._text)

    def __enter__(self) -> Any:
        raise TypeError("a mesh is no context: vf.set_mesh(mesh) is for arrays outside of functions, vf.jit(f, mesh=mesh) for a function")

    def __exit__(self, *error: Any) -> None:
        pass

    @property
    def shape(self) -> dict[str, int]:
        """The size of each axis."""
        return dict(self._native.axes())

    @property
    def axis_names(self) -> tuple[str, ...]:
        return tuple(self.shape)

    @property
    def size(self) -> int:
        """How many devices there are; they are counted row-major."""
        total = 1
        for size in self.shape.values():
            total *= size
        return total

    def coordinates(self, device: int) -> dict[str, int]:
        """Where a device is along each axis."""
        if not 0 <= device < self.size:
            raise IndexError(f"coordinates: there is no device {device}; there are {self.size}")
        return {name: self._native.coordinate(device, name) for name in self.axis_names}

    def part(self, spec: Any, shape: Sequence[int], device: int) -> tuple[slice, ...]:
        """What a device has of an array that is divided so: a slice for each axis."""
        return self._native.part(spec_text(spec, len(shape)), tuple(shape), device)

    def __repr__(self) -> str:
        return f"Mesh({self._text!r})"

    def __reduce__(self) -> Any:
        return Mesh, (self._text,)


def needs_mesh(mesh: Any, who: str) -> Mesh:
    """The mesh that the function `who` was given, or the exception."""
    if not isinstance(mesh, Mesh):
        raise TypeError(f"{who} takes a vf.Mesh, as in vf.Mesh(x=2), and got {type(mesh).__name__}")
    return mesh


def set_mesh(mesh: Mesh) -> None:
    """The mesh of arrays outside of functions: what is computed from one that `vf.shard` has divided is computed by
    the devices, and divided likewise. It can be exchanged for another until an array is divided."""
    _native.set_mesh(needs_mesh(mesh, "set_mesh")._native)


def shard(x: Any, spec: Any) -> Array:
    """x, divided as the spec says: `shard(x, vf.P("x", None))`. Its value stays the same.

    Inside of `vf.jit(f, mesh=...)` (and `vf.set_mesh` outside of functions).
    """
    x = asarray(x)
    if not _native.on_mesh():
        raise ValueError("shard: there is no mesh here; jit(f, mesh=vf.Mesh(x=2)) gives one to a function, and vf.set_mesh "
                         "to arrays outside of functions")
    text = spec_text(spec, x.ndim)
    return apply("shard", (x,), f'to="{text}"')


def part(x: Array, device: int) -> tuple[slice, ...]:
    """What a device of the mesh of `vf.set_mesh` has of x: a slice for each axis; all of it where x is not divided."""
    return x._part(device)


def processes(seconds: float | None = None) -> tuple[int, int]:
    """How many processes share the devices of meshes, and the number of this one.

    With seconds, joins those that a launcher of MPI has started (mpirun -n 4 python f.py): once, before functions are
    compiled. It says how long one may be silent while others wait for it; 0: 10.
    """
    if seconds is not None and not isinstance(seconds, (int, float)):
        raise TypeError(f"processes: {seconds!r:.40} is no number of seconds, which one process may be silent while others wait for it")
    if seconds is None:
        return _native.processes()
    joined = _native.processes(float(seconds))
    atexit.register(_native.leave)
    return joined


class Placed:
    """The mesh of a function, and how its arguments are divided: None, a spec for each, or a tree of specs."""

    def __init__(self, mesh: Mesh, specs: Any) -> None:
        if specs is not None and not isinstance(specs, (tuple, list)):
            raise TypeError(f"in_specs is a tuple, with a spec or None for each argument, and got {type(specs).__name__}")
        self.mesh, self.specs = mesh, specs

    def divide(self, args: Any) -> Any:
        if self.specs is None:
            return args
        if len(self.specs) != len(args):
            raise ValueError(f"in_specs has {len(self.specs)} specs for {len(args)} arguments; None leaves one to the compiler")
        return [_divided(x, spec, f"in_specs[{i}]") for i, (x, spec) in enumerate(zip(args, self.specs))]


def _divided(x: Any, spec: Any, place: str) -> Any:
    """The arrays of a tree, as a spec, or a tree of specs, says; None leaves them open. place: of the spec, for messages."""
    if spec is None:
        return x
    if isinstance(spec, (P, str)):
        return _tree.map(lambda leaf: _divide_one(leaf, spec), x)
    if isinstance(spec, dict) and isinstance(x, dict):
        unknown = [key for key in spec if key not in x]
        if unknown:
            raise ValueError(f"{place} has the key {unknown[0]!r:.40}, which the argument lacks; it has {', '.join(map(repr, x))}")
        return {key: _divided(item, spec.get(key), f"{place}[{key!r}]") for key, item in x.items()}
    if isinstance(spec, (list, tuple)) and isinstance(x, (list, tuple)) and len(spec) == len(x):
        made = [_divided(item, one, f"{place}[{i}]") for i, (item, one) in enumerate(zip(x, spec))]
        return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
    raise TypeError(f"in_specs has {spec!r:.60} for {type(x).__name__}; takes a spec, None, or the same lists and keys")


def _divide_one(x: Any, spec: Any) -> Any:
    if isinstance(x, _reference.Ref):
        raise TypeError("in_specs: an argument is a vf.Ref, which is divided like what it meets; give None for it")
    return shard(x, spec)
