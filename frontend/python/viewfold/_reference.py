"""References: arrays with an identity, which writes change in their memory."""

from __future__ import annotations

import contextlib
import math
import threading
from typing import Any, Iterable, Iterator, NoReturn, Sequence

from . import _native
from ._array import Array, apply
from ._creation import asarray
from ._text import numbers
from ._index import WRITE_NAMES, WRITES, cast_to, check_kind, is_element, take, write


# names of writes elsewhere
_WRITTEN = dict.fromkeys(("set", "assign", "assign_", "copy_", "store", "write", "fill_", "value", "data"), "r[...] = x writes it, and r[...] reads it")
_WRITTEN |= dict.fromkeys(("add", "add_", "assign_add", "iadd"), "r[...] += x, or r.update(x, 'add')") | {"at": "r[i] = x and r[i] += x write a part"}


class Ref:
    """An array that changes: `r = vf.Ref(a); r[1:, ::2] += b; r[...]`.

    Writes are pending until an array is computed, and then done in place. A part, `r[1:]` or `r.T`, is a reference to the same
    memory; `r[...]`, `r.get()`, operators and an element, `r[1, 2]`, give arrays, which stay what they are.
    """

    __slots__ = ("_held", "_like", "_whole", "_key", "_lock", "_scope")

    def __init__(self, array: Any, *, _held: Any = None, _like: Any = None, _whole: Any = None, _key: Any = None) -> None:
        if _held is None:
            traced = _native.tracing() is not None
            made = asarray(array, copy=traced)
            _held, _like = _Traced(made) if traced else _native.reference(made), made.dtype
        self._held, self._like, self._whole, self._key = _held, _like, _whole, _key
        self._lock: Any = threading.RLock() if _whole is None else _whole._lock
        self._scope: int = _native.scope() if _whole is None else _whole._scope

    @property
    def dtype(self) -> Any:
        return self._like

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        raise AttributeError("the dtype of a Ref stays; vf.Ref(r[...].astype(dtype)) is another one", name="dtype", obj=self)

    @property
    def shape(self) -> Any:
        return self._held.target().shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise AttributeError("the shape of a Ref stays; r.reshape(shape) is a view of its memory", name="shape", obj=self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def get(self) -> Array:
        """What it holds now."""
        return self._held.get()

    def __reduce__(self) -> Any:
        return Ref, (self.get(),)

    def __repr__(self) -> str:
        return f"Ref({self.get()!r})"

    def __str__(self) -> str:
        return f"Ref({self.get()})"

    # other views of the same memory

    def _view(self, key: Any) -> "Ref":
        """Of a function of arrays that gives a view."""
        return Ref(None, _held=self._held.view(key(self._held.target())), _like=self._like, _whole=self, _key=key)

    @property
    def T(self) -> "Ref":
        """The transpose, a reference to the same memory: `r.T[0] += 1`."""
        return self._view(lambda x: x.T)

    @T.setter
    def T(self, value: Any) -> None:
        self._end_of_write(value, "T")

    def _end_of_write(self, value: Any, name: str) -> None:
        """The end of `r.T += x`, which has written; anything else is refused."""
        if not (isinstance(value, Ref) and value._whole is self):
            raise AttributeError(f"a Ref's {name} is not replaced; r.{name}[...] = x writes its elements", name=name, obj=self)

    @property
    def mT(self) -> "Ref":
        """The last two axes exchanged, a reference to the same memory."""
        return self._view(lambda x: x.mT)

    @mT.setter
    def mT(self, value: Any) -> None:
        self._end_of_write(value, "mT")

    def transpose(self, *axes: Any) -> "Ref":
        return self._view(lambda x: x.transpose(*axes))

    def reshape(self, *shape: Any) -> "Ref":
        return self._view(lambda x: x.reshape(*shape))

    def swapaxes(self, a: int, b: int) -> "Ref":
        return self._view(lambda x: x.swapaxes(a, b))

    def _is_constant(self) -> bool:
        """Is it of the surroundings of a function that is traced?"""
        return not isinstance(self._held, (_Traced, _TracedPart)) and _native.tracing() is not None

    def __getitem__(self, key: Any) -> Any:
        if key is Ellipsis:
            return self.get()
        if self._is_constant() or is_element(self, key):
            return take(self.get(), key)
        held = self._held.view(take(self._held.target(), key))
        return Ref(None, _held=held, _like=self._like, _whole=self, _key=key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_scope()
        if isinstance(value, Ref):
            if value._whole is self and value._key is key:  # the end of `r[key] += x`
                return
            value = value.get()
        if key is Ellipsis:
            self.update(value)
            return
        if isinstance(key, Array) and key._state == "traced" and key.dtype.name == "bool" and key.shape == self.shape:
            self.update(write(self.get(), key, value))
            return
        held = self._held.view(take(self._held.target(), key))
        Ref(None, _held=held, _like=self._like, _whole=self).update(value)

    def update(self, value: Any, how: str = "set") -> "Ref":
        """The elements become the value, or are combined with it: add, subtract, multiply, divide, min, max, ..."""
        self._check_scope()
        value = value.get() if isinstance(value, Ref) else value
        check_kind(self._like, value, how)
        value = cast_to(self._like, value)
        with self._lock:
            self._held.update(value, WRITES[how])
        return self

    def _check_scope(self) -> None:
        if self._scope >= _native.scope():
            return
        if self._is_constant():
            raise TypeError("a Ref of the surroundings is written in a function that is traced, which would write once; make it an "
                            "argument of the compiled function, f(r), and outside of vf.jit return what is written")
        raise TypeError("a Ref is written in a function of a loop, a condition, a map or a checkpoint; make its value a carry: "
                        "c = r[...], which the function returns, and r[...] = result behind it")

    # as of NumPy's arrays

    def __getattr__(self, name: str) -> NoReturn:
        if name in _WRITTEN:
            raise AttributeError(f"a Ref has no {name}; {_WRITTEN[name]}", name=name, obj=self)
        advice = f"; r[...] is its array, which has one: r[...].{name}" if hasattr(Array, name) and name[:2] != "__" else ""
        raise AttributeError(f"a Ref has no {name}{advice}", name=name, obj=self)

    def __delitem__(self, key: Any) -> NoReturn:
        raise TypeError("elements of a Ref cannot be deleted; vf.concat of r[...][:i] and r[...][i + 1:] is an array without one")

    def __bool__(self) -> bool:
        return bool(self.get())

    def __iadd__(self, value: Any) -> "Ref":
        return self.update(value, "add")

    def __isub__(self, value: Any) -> "Ref":
        return self.update(value, "subtract")

    def __imul__(self, value: Any) -> "Ref":
        return self.update(value, "multiply")

    def __itruediv__(self, value: Any) -> "Ref":
        return self.update(value, "divide")

    def __iand__(self, value: Any) -> "Ref":
        return self.update(value, "and")

    def __ior__(self, value: Any) -> "Ref":
        return self.update(value, "or")

    def __ixor__(self, value: Any) -> "Ref":
        return self.update(value, "xor")

    def numpy(self) -> Any:
        """A copy of the elements."""
        return self.get().numpy().copy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.get().__array__(dtype, copy)


class _Traced:
    """What a reference holds in a function that is traced: an array, which updates replace."""

    def __init__(self, array: Array) -> None:
        self.array = self.first = array

    def get(self) -> Array:
        return self.array

    def target(self) -> Array:
        return apply("address", (self.array,))

    def view(self, positions: Array) -> "_TracedPart":
        return _TracedPart(self, positions)

    def update(self, value: Any, how: int, positions: Array | None = None) -> None:
        positions = self.target() if positions is None else positions
        self.array = apply("assign", (self.array, positions, value), f"op={WRITE_NAMES[how]}")


class _TracedPart:
    """A part of it, by the positions of its elements."""

    def __init__(self, whole: _Traced, positions: Array) -> None:
        self.whole, self.positions = whole, positions

    def get(self) -> Array:
        return apply("gather", (self.whole.array.reshape(-1), self.positions), "axis=0")

    def target(self) -> Array:
        return self.positions

    def view(self, positions: Array) -> "_TracedPart":
        return _TracedPart(self.whole, positions)

    def update(self, value: Any, how: int) -> None:
        self.whole.update(value, how, self.positions)


def _root(reference: Ref) -> tuple[Ref, list[Any]]:
    """What it is a part of, and the keys that take it from there."""
    keys: list[Any] = []
    while reference._whole is not None:
        keys.insert(0, reference._key)
        reference = reference._whole
    return reference, keys


@contextlib.contextmanager
def held(references: Iterable[Ref]) -> Iterator[None]:
    """Inside of `with` no other thread writes to the references: what they hold is read, computed with, and stored."""
    with contextlib.ExitStack() as stack:
        for lock in sorted({id(r._lock): r._lock for r in references}.items()):
            stack.enter_context(lock[1])
        yield


def _positions(whole: Ref, keys: list[Any]) -> set[int]:
    from ._creation import arange

    shape = whole.shape
    found = arange(1, math.prod(shape) + 1, dtype="int64").reshape(shape)  # from 1: from 0 they are the targets of writes
    for key in keys:
        found = key(found) if callable(key) else take(found, key)
    return set(numbers(found))


def _overlap(one: Ref, other: Ref) -> bool:
    (whole, keys), (other_whole, other_keys) = _root(one), _root(other)
    return whole is other_whole and (one is other or bool(_positions(whole, keys) & _positions(whole, other_keys)))


def check_apart(given: Sequence[tuple[str, Ref, bool]], who: str) -> None:
    """Refuses two arguments (a name, a reference, and is it written?) that are one memory, of which one is written."""
    for n, (name, reference, written) in enumerate(given):
        for other_name, other, other_written in given[:n]:
            if (written or other_written) and _overlap(reference, other):
                which = name if written else other_name
                raise ValueError(f"{who}: {other_name} and {name} are one Ref, or parts of one that overlap, and {which} is written; "
                                 "give it once, and take its parts inside of the function")


def traced(array: Array) -> Ref:
    """A reference inside of a function that is traced, which holds the array at first."""
    return Ref(None, _held=_Traced(array), _like=array.dtype)


def _operators() -> None:
    """Arrays of what is held, for operators; in place, those that writes have no operation for store the result."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "le", "gt", "ge", "eq", "ne", "and", "or",
                 "xor", "lshift", "rshift"):
        for full in (f"__{name}__", f"__r{name}__"):
            if hasattr(Array, full):

                def method(self: Ref, other: Any, full: str = full) -> Any:
                    return getattr(self.get(), full)(other.get() if isinstance(other, Ref) else other)

                setattr(Ref, full, method)

    for name in ("floordiv", "mod", "pow", "matmul", "lshift", "rshift"):

        def in_place(self: Ref, other: Any, name: str = name) -> Any:
            made = getattr(self, f"__{name}__")(other)
            if made is NotImplemented:
                return made
            if made.dtype.kind == "f":
                check_kind(self._like, made, name)
            return self.update(made)

        setattr(Ref, f"__i{name}__", in_place)
    for name in ("neg", "pos", "abs", "invert"):
        setattr(Ref, f"__{name}__", lambda self, full=f"__{name}__": getattr(self.get(), full)())
    setattr(Ref, "__hash__", object.__hash__)
    setattr(Ref, "__len__", lambda self: self.shape[0])
    setattr(Ref, "__float__", lambda self: float(self.get()))


_operators()
