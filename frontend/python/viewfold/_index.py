"""Parts of arrays: `x[1:, ::2]`, `x[i]` with integers of an array, and writes to them."""

from __future__ import annotations

import operator
from typing import Any, Callable, NoReturn

from ._array import Array, apply
from ._forgotten import is_dropped
from ._sizes import Size, text_list
from ._text import numbers

WRITES = {"set": 0, "add": 1, "subtract": 2, "multiply": 3, "divide": 4, "min": 5, "max": 6, "and": 7, "or": 8,
          "xor": 9}
WRITE_NAMES = ("set", "add", "sub", "mul", "div", "min", "max", "and", "or", "xor")


def _as_index_array(item: Any) -> Any:
    """An array where the item is one, or a list; else None."""
    if isinstance(item, Array):
        return item
    if isinstance(item, (list, range)) or hasattr(item, "__array_interface__"):
        from ._creation import asarray

        return asarray(item if not isinstance(item, range) else list(item))
    return None


def _normalise(x: Array, key: Any) -> list[Any]:
    """One item for each axis, and None for new ones."""
    items = list(key) if isinstance(key, tuple) else [key]
    arrays = [_as_index_array(i) for i in items]
    items = [a if a is not None else i for a, i in zip(arrays, items)]
    taken = 0
    for i in items:
        if i is None or i is Ellipsis:
            continue
        taken += i.ndim if isinstance(i, Array) and i.dtype.name == "bool" else 1
    dots = [n for n, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has at most one `...`")
    if taken > x.ndim:
        raise IndexError(f"an index of {taken} ax{'is' if taken == 1 else 'es'} for an array of {x.ndim} ax{'is' if x.ndim == 1 else 'es'}, "
                         f"of shape {x.shape}")
    at = dots[0] if dots else len(items)
    items = items[:at] + [slice(None)] * (x.ndim - taken) + items[at + 1:]
    _check_arrays(items, x.shape)
    return items


def _is_mask(item: Any) -> bool:
    return isinstance(item, Array) and item.dtype.name == "bool"


def _check_arrays(items: list[Any], shape: tuple[Any, ...]) -> None:
    """Refuses masks of another shape than the axes that they are for (one without elements takes nothing), and indices that are known to be out of range."""
    axis = 0
    for item in items:
        if isinstance(item, bool) or (_is_mask(item) and not item.ndim):
            raise IndexError(f"{item!r:.60} in an index of several: one alone is a new axis of 0 or 1 elements, as of x[True]; "
                             "a mask has the shape of the axes that it is for")
        if _is_mask(item):
            for n, size in enumerate(item.shape):
                if size != 0 and isinstance(size, int) and isinstance(shape[axis + n], int) and size != shape[axis + n]:
                    raise IndexError(f"a mask of shape {item.shape} has {size} elements along its axis {n}, and the array, of shape "
                                     f"{shape}, {shape[axis + n]} along axis {axis + n}; a mask has the shape of the axes that it is for")
            axis += item.ndim
        elif item is not None:
            if isinstance(item, Array) and item.ndim:
                check_range(item, shape[axis], axis, shape)
            axis += 1


_CHECKED = 1024  # elements of indices that are looked at here, where the line is known; runs check all


def _is_checked(index: Array) -> bool:
    return index._state == "computed" and index.size <= _CHECKED


def check_range(index: Array, size: Any, axis: int, shape: Any) -> None:
    if not isinstance(size, int) or index.dtype.kind not in "iu" or not _is_checked(index):
        return
    for n in numbers(index):
        if not -size <= n < size:
            raise IndexError(f"index {n} is out of range for axis {axis} of {size} elements, of shape {tuple(shape)}")


def _position(item: Any, size: Any, axis: int, shape: Any) -> Any:
    try:
        index = operator.index(item)
    except TypeError:
        raise IndexError(f"an index is an integer, a slice, ..., None or an array of integers or truth values, not "
                         f"{item!r}") from None
    if isinstance(size, int) and not -size <= index < size:
        raise IndexError(f"index {index} is out of range for axis {axis} of {size} elements, of shape {shape}")
    return size + index if index < 0 else index


def _is_full(item: Any) -> bool:
    return isinstance(item, slice) and item.start is None and item.stop is None and item.step in (None, 1)


def _interval(item: slice, size: Any) -> tuple[Any, Any, int]:
    """begin, end, step of what the slice leaves, begin <= end, in the order of the axis."""
    if any(isinstance(part, Array) and part._state == "traced" for part in (item.start, item.stop, item.step)):
        raise TypeError("a slice of a traced function has bounds that are known when it is traced; n elements from i on are "
                        "x[i + vf.arange(n)], or make the bounds static (static_argnames)")
    if isinstance(size, int):
        picked = range(*item.indices(size))
        if not len(picked):
            return 0, 0, 1
        first, last = picked[0], picked[-1]
        return min(first, last), max(first, last) + 1, picked.step
    step = 1 if item.step is None else operator.index(item.step)
    begin = 0 if item.start is None else item.start
    end = size if item.stop is None else item.stop
    if isinstance(begin, int) and begin < 0:
        begin = size + begin
    if isinstance(end, int) and end < 0:
        end = size + end
    if step < 0 and not (item.start is None and item.stop is None):
        raise IndexError(f"a slice from the end of an axis of {size} elements has no bounds: x[::-1][a:b]")
    return begin, end, step


def _views(x: Array, items: list[Any], shape: tuple[Any, ...]) -> Array:
    """The part that integers and slices take; arrays leave their axis whole. New axes are still missing."""
    bounds: list[Any] = []
    steps: list[int] = []
    axis = 0
    for item in items:
        if item is None:
            continue
        size = shape[axis]
        if isinstance(item, slice):
            begin, end, step = _interval(item, size)
        elif isinstance(item, Array):
            begin, end, step = 0, size, 1
        else:
            begin = _position(item, size, axis, shape)
            end, step = begin + 1, 1
        bounds.append((begin, end))
        steps.append(step)
        axis += 1
    if any(b != 0 or e is not s and e != s for (b, e), s in zip(bounds, shape)):
        x = apply("shrink", (x,), "bounds=" + text_list(f"[{b},{e}]" for b, e in bounds))
    if any(s != 1 for s in steps):
        x = apply("stride", (x,), "steps=" + text_list(steps))
    return x


def _arrange(x: Array, items: list[Any]) -> Array:
    """Drop the axes of integers, add new ones."""
    axis, now = 0, x.shape
    shape: list[Any] = []
    for item in items:
        if item is None:
            shape.append(1)
            continue
        if isinstance(item, (slice, Array)):
            shape.append(now[axis])
        axis += 1
    return x if tuple(shape) == now else apply("reshape", (x,), "shape=" + text_list(shape))


_NOWHERE = -(1 << 40)  # an index that no others bring back into range


def _gather(x: Array, items: list[Any]) -> Array:
    """The axes at which the items are arrays, by these: NumPy's rules."""
    axes = [n for n, i in enumerate(items) if isinstance(i, Array)]
    for a in axes:
        if items[a].dtype.kind not in "iu":
            raise IndexError(f"an index array has an integer dtype or bool, not {items[a].dtype.name}")
    if len(axes) == 1:
        return apply("gather", (x, items[axes[0]]), f"axis={axes[0]}")
    # several: as one index into these axes, which become one
    from ._creation import number
    from ._shapes import broadcast_shapes

    shapes = [tuple(items[a].shape) for a in axes]
    try:
        broadcast_shapes(*([s if isinstance(s, int) else 1 for s in given] for given in shapes))
    except ValueError:
        raise IndexError(f"index arrays of the shapes {', '.join(map(str, shapes))} do not broadcast; sizes must be equal or 1") from None

    shape = x.shape
    together = all(b - a == 1 for a, b in zip(axes, axes[1:]))
    others = [n for n in range(x.ndim) if n not in axes]
    first = axes[0] if together else 0
    order = others[:first] + axes + others[first:]
    if order != list(range(x.ndim)):
        x = apply("permute", (x,), "order=" + text_list(order))
    flat: Any = None
    count: Any = 1
    for a in axes:
        index = items[a].astype("int64")
        size = number(shape[a])
        index = apply("where", (index < 0, index + size, index))
        if not _is_checked(items[a]):  # out of range of one axis is out of range of all
            wrong = (index < 0) | (index >= size)
            index = apply("where", (wrong, _NOWHERE, index))
        flat = index if flat is None else flat * size + index
        count = count * shape[a]
    joined = [shape[o] for o in others[:first]] + [count] + [shape[o] for o in others[first:]]
    return apply("gather", (apply("reshape", (x,), "shape=" + text_list(joined)), flat), f"axis={first}")


def _masks_to_positions(items: list[Any]) -> list[Any]:
    """Arrays of truth values as integer arrays; their number of elements must be known now."""
    made: list[Any] = []
    for item in items:
        if isinstance(item, Array) and item.dtype.name == "bool":
            if item._state == "traced":
                raise IndexError("x[mask] has as many elements as the mask has, which a traced function does not "
                                 "know; use vf.where(mask, x, other)")
            from ._search import nonzero

            made.extend(nonzero(item))
        else:
            made.append(item)
    return made


def take(x: Array, key: Any) -> Array:
    """What the key takes of x: also of positions, as the target of a write."""
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if isinstance(mask, bool) or (isinstance(mask, Array) and mask.dtype.name == "bool" and mask.ndim == 0):
        return apply("unsqueeze", (x,), "axis=0")[slice(0, int(bool(mask)))]
    items = _normalise(x, key)
    if any(isinstance(i, Array) for i in items):
        items = _masks_to_positions(items)
        items = [int(i) if isinstance(i, Array) and i.ndim == 0 and i._state != "traced" else i for i in items]
    shape = x.shape
    made = _views(x, items, shape)
    if not any(isinstance(i, Array) for i in items):
        return _arrange(made, items)
    # integers are index arrays, too, where there are others
    made = _arrange(made, [i for i in items if i is not None])
    kept = [i for i in items if i is not None and isinstance(i, (slice, Array))]
    made = _gather(made, kept)
    news = [n for n, i in enumerate(i for i in items if i is None or isinstance(i, (slice, Array))) if i is None]
    for axis in news:
        made = apply("unsqueeze", (made,), f"axis={axis}")
    return made


def read(x: Array, key: Any) -> Any:
    """What the key takes: another array where it takes all, since x may come to stand for others."""
    made = take(x, key)
    return made._another() if made is x else made


def is_element(x: Any, key: Any) -> bool:
    """Does the key name one element, by an integer for each axis?"""
    items = key if isinstance(key, tuple) else (key,)
    return len(items) == x.ndim and all(
        (isinstance(i, int) and not isinstance(i, bool)) or (getattr(i, "ndim", 1) == 0 and getattr(i.dtype, "kind", "") in "iu")
        for i in items)


def check_kind(dtype: Any, value: Any, how: str) -> None:
    """Refuses floats that are combined with integers in place, as NumPy does."""
    if how == "set" or dtype.kind not in "iu":
        return
    floats = isinstance(value, float) if isinstance(value, (bool, int, float)) else getattr(
        getattr(value, "dtype", None), "kind", "") == "f"
    if floats or how == "divide":
        raise TypeError(f"{how}: the result is of floats, and the elements stay {dtype.name}; have floats there, as of "
                        "x.astype(vf.float32), or set them, which truncates: r[...] = r[...] / 2")


def cast_to(dtype: Any, value: Any) -> Any:
    """The value in the dtype, as NumPy's assignment casts it."""
    from ._creation import asarray

    if isinstance(value, (bool, int, float)):
        return value if not (isinstance(value, float) and dtype.kind != "f") else asarray(value).astype(dtype)
    value = value if isinstance(value, Array) else asarray(value, copy=True)  # it is read later, when it may have changed
    return value if value.dtype is dtype else value.astype(dtype)


def write(x: Array, key: Any, value: Any, how: str = "set") -> Array:
    """x with what the key takes replaced, or combined with the value."""
    check_kind(x.dtype, value, how)
    value = cast_to(x.dtype, value)
    if isinstance(key, Array) and key.dtype.name == "bool" and key.shape == x.shape and how == "set":
        if isinstance(value, (bool, int, float)) or value.ndim == 0:
            return apply("where", (key, value, x))
    if x.ndim == 0 and how == "set":
        from ._creation import asarray
        from ._shapes import broadcast_to

        return broadcast_to(asarray(value, dtype=x.dtype), ())
    target = take(apply("address", (x,)), key)
    return apply("assign", (x, target, value), f"op={WRITE_NAMES[WRITES[how]]}")


class At:
    """`x.at[key]`: what is there (get), and x with something else there."""

    def __init__(self, x: Array, key: Any = Ellipsis) -> None:
        self._x, self._key = x, key

    def __getitem__(self, key: Any) -> "At":
        return At(self._x, key)

    def get(self) -> Array:
        return take(self._x, self._key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("x.at[i] = y writes nothing; x = x.at[i].set(y), or x[i] = y")

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"x.at[i] has no {name}; it has get(), and set(y), {', '.join(f'{how}(y)' for how in WRITES if how != 'set')}",
                             name=name, obj=self)

    def __call__(self, *args: Any) -> NoReturn:
        raise TypeError("x.at[i](y) says not what to do; x.at[i].set(y), or add, multiply, min, max")


def _at_methods() -> None:
    def make(how: str) -> Callable[[At, Any], Array]:
        def method(self: At, value: Any) -> Array:
            made = write(self._x, self._key, value, how)
            if is_dropped():
                raise TypeError(f"x.at[i].{how}(y) leaves x as it is and gives another array, which this statement drops; "
                                f"x = x.at[i].{how}(y)" + (", or x[i] = y" if how == "set" else ""))
            return made

        return method

    for how in WRITES:
        setattr(At, how, make(how))
    setattr(At, "mul", make("multiply"))


_at_methods()
