"""References: arrays with an identity, which writes change in their memory."""

from __future__ import annotations

from typing import Any

from . import _native
from ._array import Array, apply
from ._creation import asarray
from ._index import WRITE_NAMES, WRITES, cast_to, take


class Ref:
    """An array that changes: `r = vf.Ref(a); r[1:, ::2] += b; r[...]`.

    Writes are pending until an array is computed, and then done in place. A part, `r[1:]`, is a reference to the same
    memory; `r[...]`, `r.get()` and operators give arrays, which stay what they are.
    """

    __slots__ = ("_held", "_like", "_whole")

    def __init__(self, array: Any, *, _held: Any = None, _like: Any = None, _whole: Any = None) -> None:
        if _held is None:
            made = asarray(array)
            _held, _like = _native.reference(made), made.dtype
        self._held, self._like, self._whole = _held, _like, _whole

    @property
    def dtype(self) -> Any:
        return self._like

    @property
    def shape(self) -> Any:
        return self._held.target().shape

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

    def __getitem__(self, key: Any) -> Any:
        if key is Ellipsis:
            return self.get()
        held = self._held.view(take(self._held.target(), key))
        return Ref(None, _held=held, _like=self._like, _whole=self)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Ref):
            if value._whole is self:  # the end of `r[key] += x`
                return
            value = value.get()
        place = self if key is Ellipsis else self[key]
        place.update(value)

    def update(self, value: Any, how: str = "set") -> "Ref":
        """The elements become the value, or are combined with it: add, subtract, multiply, divide, min, max, ..."""
        value = value.get() if isinstance(value, Ref) else value
        self._held.update(cast_to(self._like, value), WRITES[how])
        return self

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
        self.array = array

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


def traced(array: Array) -> Ref:
    """A reference inside of a function that is traced, which holds the array at first."""
    return Ref(None, _held=_Traced(array), _like=array.dtype)


def _operators() -> None:
    """Arrays of what is held, for the other operators."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "le", "gt", "ge", "and", "or"):
        for full in (f"__{name}__", f"__r{name}__"):
            if hasattr(Array, full):

                def method(self: Ref, other: Any, full: str = full) -> Any:
                    return getattr(self.get(), full)(other.get() if isinstance(other, Ref) else other)

                setattr(Ref, full, method)
    setattr(Ref, "__neg__", lambda self: -self.get())
    setattr(Ref, "__len__", lambda self: self.shape[0])
    setattr(Ref, "__float__", lambda self: float(self.get()))


_operators()
