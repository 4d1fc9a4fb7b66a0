"""Sizes of axes that are known in runs alone: expressions of variables."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from ._errors import UnsupportedError


_SIGNS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod"}


class Size:
    """An integer expression of size variables, such as `n` or `n // 4`: for shapes and attributes."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def value(self, dtype: str = "f32") -> Any:
        """It as an array without axes, of the dtype."""
        from ._array import apply

        one = apply("arange", (), "dtype=i32 start=1 stop=2 step=1")
        return apply("cast", (apply("sum", (apply("expand", (one,), f"shape=[{self.text}]"),), "axes=[0]"),), f"dtype={dtype}")

    def _with(self, other: Any, sign: str, swapped: bool = False) -> Any:
        """Of integers and sizes a size, and of floats an array."""
        if isinstance(other, float) or sign == "/" and isinstance(other, (int, Size)):
            mine, theirs = self.value(), other.value() if isinstance(other, Size) else other
            return getattr(mine, ("__r" if swapped else "__") + _SIGNS[sign] + "__")(theirs)
        if not isinstance(other, (int, Size)) or isinstance(other, bool):
            return NotImplemented
        if sign == "+" and isinstance(other, int) and other < 0:
            return Size(f"({self.text}-{-other})")
        a, b = (str(other), self.text) if swapped else (self.text, str(other))
        return Size(f"({a}{sign}{b})")

    def __str__(self) -> str:
        return self.text

    def __add__(self, o: Any) -> "Size":
        return self._with(o, "+")

    def __radd__(self, o: Any) -> "Size":
        return self._with(o, "+", True)

    def __sub__(self, o: Any) -> "Size":
        return self._with(o, "-")

    def __rsub__(self, o: Any) -> "Size":
        return self._with(o, "-", True)

    def __mul__(self, o: Any) -> "Size":
        return self._with(o, "*")

    def __rmul__(self, o: Any) -> "Size":
        return self._with(o, "*", True)

    def __floordiv__(self, o: Any) -> "Size":
        return self._with(o, "//")

    def __truediv__(self, o: Any) -> Any:
        return self._with(o, "/")

    def __rtruediv__(self, o: Any) -> Any:
        return self._with(o, "/", True)

    def __mod__(self, o: Any) -> "Size":
        return self._with(o, "%")

    def _compared(self, other: Any) -> NoReturn:
        raise TypeError(f"the size {self.text} is known in runs alone, so that nothing can depend on how it compares; fix the axis")

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __bool__(self) -> bool:
        return True

    def __index__(self) -> int:
        raise UnsupportedError(f"the size {self.text} is known in runs alone; shapes of viewfold take it, as in vf.zeros(x.shape[0]), arithmetic too, and "
                               "loops along an axis are vf.scan; or fix the axis")


def as_axis(axis: Any, rank: int, who: str) -> int:
    """The axis, counted from 0."""
    try:
        number = operator.index(axis)
    except TypeError:
        raise TypeError(f"{who}: an axis is an integer, and got {axis!r:.60}") from None
    if not -rank <= number < rank:
        raise IndexError(f"{who}: axis {number} is out of range for {rank} axes; it lies in {-rank}..{rank - 1}")
    return number % rank


def axis_text(axis: Any) -> str:
    """One axis as attributes of graphs have it: a number, or its letter."""
    if isinstance(axis, str):
        return f'"{axis}"'
    try:
        return str(operator.index(axis))
    except TypeError:
        if axis is None:
            raise TypeError("an axis is an integer, and got None; all elements are one axis of x.reshape(-1)") from None
        raise TypeError(f"an axis is an integer that is known when a function is traced, or a letter of vf.name_axes, and got "
                        f"{type(axis).__name__}; vf.jit(f, static_argnames='axis') gives an argument as it is") from None


def axes_text(axes: Any) -> str:
    """Several axes likewise: (0, 1), or their letters as "hw"; or one."""
    if isinstance(axes, (list, tuple)) and axes and isinstance(axes[0], str):
        axes = "".join(axes)
    if isinstance(axes, (list, tuple)):
        return "[" + ",".join(axis_text(a) for a in axes) + "]"
    return axis_text(axes) if isinstance(axes, str) else f"[{axis_text(axes)}]"


def text_list(items: Any) -> str:
    """A list as attributes of graphs have it."""
    if isinstance(items, str):
        raise TypeError(f"a list of integers is needed, such as (2, 3), and got {items!r:.60}")
    return "[" + ",".join(i if isinstance(i, str) else _integer_text(i) for i in items) + "]"


def _integer_text(item: Any) -> str:
    if isinstance(item, Size):
        return str(item)
    try:
        return str(operator.index(item))
    except TypeError:
        raise TypeError(f"a size, or another number of a shape, is an integer that is known when a function is traced, and got "
                        f"{item!r:.60}; vf.jit(f, static_argnames='n') gives an argument n as it is") from None
