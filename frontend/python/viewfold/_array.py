"""Arrays: operators, methods, and what is asked of them."""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterator, NoReturn

from . import _native
from ._forgotten import is_forgotten
from ._sizes import Size


def apply(name: str, operands: Any, attributes: str | None = None, results: int = 1, **named: Any) -> Any:
    """Record an operation by its name in graphs (`viewfold ops` lists them), with attributes as written there."""
    if named:
        written = " ".join(f"{key}={value}" for key, value in named.items())
        raise TypeError(f"apply: attributes are one text, as graphs write them: apply({name!r}, operands, {written!r})")
    if isinstance(operands, Array):
        raise TypeError(f"apply: operands are a tuple: apply({name!r}, (x,))")
    return _native.apply(name, operands, attributes, results)


def _operand(x: Any, like: Any) -> Any:
    """A size that is known in runs alone has, as integers of Python, the dtype of the array that it meets."""
    return x.value(like.dtype.text if like.dtype.kind != "b" else "i32") if isinstance(x, Size) else x


def _is_operand(x: Any) -> bool:
    return isinstance(x, (Array, bool, int, float)) or hasattr(x, "__array_interface__")


def _no_operand(x: Any, name: str) -> Any:
    """The other object may know what to do with an array; lists do not."""
    if type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "__dlpack__"):
        raise TypeError(f"an operand is a {type(x).__name__} of torch; vf.from_dlpack(t) is an array of it")
    if type(x).__module__.partition(".")[0] in ("jax", "jaxlib"):
        raise TypeError("an operand is an array of JAX; vf.from_dlpack(x) is one of viewfold, and viewfold.jax.call(f, x) calls a "
                        "function inside of JAX's")
    if isinstance(x, (list, tuple)):
        raise TypeError(f"an operand is a {type(x).__name__}; lists become arrays by vf.array")
    return NotImplemented


def _forward(name: str) -> Callable[[Any, Any], Any]:
    """The method of an operator, whose left operand is the array."""

    def method(self: Any, other: Any) -> Any:
        other = _operand(other, self)
        return _native.apply(name, (self, other)) if _is_operand(other) else _no_operand(other, name)

    return method


def _backward(name: str) -> Callable[[Any, Any], Any]:
    """The same, whose right operand is the array."""

    def method(self: Any, other: Any) -> Any:
        other = _operand(other, self)
        return _native.apply(name, (other, self)) if _is_operand(other) else _no_operand(other, name)

    return method


class _Count(int):
    """A number of elements, which says what it is where it is called as a method."""

    __slots__ = ()

    def __call__(self, *axes: Any) -> NoReturn:
        raise TypeError("x.size is the number of elements, without parentheses; x.shape is the sizes of the axes, and x.shape[0] one")

    def __reduce__(self) -> Any:
        return int, (int(self),)


class Array(_native.Array):
    """An array of numbers with a shape and a dtype.

    Arrays do not change. Operations on them are recorded, and computed together when elements are asked for: by
    `print`, `float`, `numpy.asarray`. `a[i] = b` makes `a` stand for a new array; others that were made of the old
    one keep it.
    """

    __dlpack_c_exchange_api__ = _native.exchange_table()

    __slots__ = ()
    __array_priority__ = 1000

    # what it is

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of the axes: integers, or a Size where one is known in runs alone."""
        sizes = self._sizes
        if -1 not in sizes:
            return sizes
        return tuple(Size(self._size_text(i)) if s < 0 else s for i, s in enumerate(sizes))

    @property
    def size(self) -> Any:
        """How many elements there are."""
        total: Any = 1
        for s in self.shape:
            total = total * s
        return _Count(total) if isinstance(total, int) else total

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return int(self.size) * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> "Array":
        if device != "cpu" or stream is not None:
            raise ValueError(f"arrays are on the device 'cpu', not on {device!r}")
        return self

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        from . import _namespace

        return _namespace(api_version)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("an array without axes has no length, and nothing to iterate over; float(x), int(x) or x.item() is its element")
        size = self.shape[0]
        if not isinstance(size, int):
            raise TypeError(f"len: the size {size} is known in runs alone; x.shape[0] computes with it")
        return size

    def __iter__(self) -> Iterator["Array"]:
        for i in range(len(self)):
            yield self[i]

    def __repr__(self) -> str:
        from ._text import describe

        return describe(self)

    def __str__(self) -> str:
        from ._text import elements

        if self._state != "traced":
            return elements(self)
        said = repr(self)
        return said if _native.tracing() is None else f"{said[:-1]}; vf.print('{{}}', x) shows its elements when the function runs>"

    def __format__(self, how: str) -> str:
        if how and self.ndim:
            raise TypeError(f"format: {how!r} is for one number, and the array has shape {self.shape}; format x[i], or print(x)")
        if how:
            self._ask("vf.print('x is {}', x) shows them when the function runs")
        return format(self.item() if how else str(self), how)

    def __setattr__(self, name: str, value: Any) -> None:
        from ._hints import of_setting

        own = type(self).__mro__[:type(self).__mro__.index(Array)]  # what classes derived from this one have
        if hasattr(self, "__dict__") or any(hasattr(c.__dict__.get(name), "__set__") for c in own):
            object.__setattr__(self, name, value)
            return
        raise AttributeError(of_setting(name), name=name, obj=self)

    def __getattr__(self, name: str) -> Any:
        from ._hints import of_array, plain_error

        advice = of_array(name)
        if advice:
            raise plain_error(f"arrays have no {name}; {advice}")
        raise AttributeError(f"arrays have no {name}", name=name, obj=self)

    # elements

    def tolist(self) -> Any:
        """The elements as numbers in nested lists."""
        from ._text import to_list

        self._ask("return it, or vf.print('x is {}', x) and vf.tap(x, function) show them when the function runs")
        return to_list(self)

    def item(self, *index: int) -> Any:
        """The only element, as a number; or that of an index, of one integer for each axis or in row-major order."""
        self._ask("use it as it is, without axes, return it, or vf.print('x is {}', x)")
        if index:
            return (self[index] if len(index) == self.ndim else self.reshape(-1)[index]).item()
        if self.ndim and self.size != 1:
            raise ValueError(f"item: the array has {self.size} elements; takes one")
        value = self.reshape(()).tolist() if self.ndim else self.tolist()
        return value

    def _ask(self, advice: str) -> None:
        """Refuses what needs elements in a function that is traced."""
        if self._state == "traced" and _native.tracing() is not None:
            raise TypeError(f"an array inside of a function that is being traced has no elements; {advice}")

    def _scalar(self, what: str) -> Any:
        self._ask("in place of range(n) use vf.while_loop, or vf.fori_loop where n is known, of list[i] an array x[i], or make the argument static (static_argnames)"
                  if what == "index" else f"in place of {what}(x) use x itself, or x.astype(...), in place "
                  "of math.exp(x) vf.exp(x), or make the argument static")
        if self.ndim:
            raise TypeError(f"{what}: the array has shape {self.shape}; takes one without axes, as of x[0] or x.sum()")
        return self.item()

    def __bool__(self) -> bool:
        if self.ndim:
            raise TypeError(f"bool: the array has shape {self.shape}; (x == y).all() and .any() are one truth value, and a "
                            "condition for each element is vf.where(x > 0, a, b), with & | ~ in place of and, or, not and of a < x < b, and "
                            "vf.maximum and vf.minimum of max and min")
        self._ask("use vf.where, vf.cond or vf.while_loop in place of if, while and assert, & | ~ of and, or, not and of a < x < b, "
                  "vf.maximum and vf.minimum of max and min, vf.sort of sorted, or make the argument static")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" and (self._state != "traced" or _native.tracing() is None):
            raise TypeError(f"an index is an integer, and the array has dtype {self.dtype.name}")
        return int(self._scalar("index"))

    def numpy(self) -> Any:
        """A NumPy array of the elements, which it shares and cannot write to."""
        self._ask("NumPy's functions of it are recorded, as np.sin(x); np.array([a, b]) is vf.stack([a, b]), and a[x] of NumPy's "
                  "array vf.asarray(a)[x]; vf.callback calls what needs elements when the function runs")
        import numpy

        if self.dtype.name == "bfloat16":
            try:
                import ml_dtypes  # type: ignore[import-not-found]
            except ImportError:
                raise TypeError("NumPy has no bfloat16 without ml_dtypes; use x.astype(vf.float32)") from None
            bits = numpy.frombuffer(self.tobytes(), ml_dtypes.bfloat16)
            return bits.reshape(self.shape)
        return numpy.frombuffer(memoryview(self), dtype=self.dtype.name).reshape(self.shape) if self.size else numpy.empty(
            self.shape, self.dtype.name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        made = self.numpy()
        if dtype is not None and made.dtype != dtype:
            return made.astype(dtype)
        return made.copy() if copy else made

    # NumPy's functions of these arrays are ours

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from ._numpy import call_ufunc

        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ._numpy import call_function

        return call_function(function, args, kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __reduce__(self) -> Any:
        from ._creation import _unpickle

        self._ask("it cannot be pickled, copied to another process or saved; return it, or vf.tap(x, function) gives them to a "
                  "function when they are computed")
        return _unpickle, (self.tobytes(), self.dtype.name, self.shape)

    def __copy__(self) -> "Array":
        return self._another()

    def __deepcopy__(self, memo: Any) -> "Array":
        return self._another()

    # parts

    def __getitem__(self, key: Any) -> Any:
        from ._index import read

        return read(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from ._index import write

        if is_forgotten(sys.getrefcount(self)):
            raise TypeError("what is written here is lost: the array is another one than that of which it is a part or a form, and "
                            "has no name; write to the array itself, as x[0, 0] = y in place of x[0][0] = y and x[:, 0] = y of x.T[0] = y")
        if self._whole is not None:
            raise TypeError("what is written here stays in this array, which is a part or a form of another one, of shape "
                            f"{self._whole.shape}, that is still there: arrays share no memory, as NumPy's do. Write to that one, as "
                            "a[0, 1] = y in place of b = a[0]; b[1] = y, or make this one a copy before, b = a[0].copy()")
        self._become(write(self, key, value))

    def __delitem__(self, key: Any) -> NoReturn:
        raise TypeError("elements of an array cannot be deleted; vf.concat([x[:i], x[i + 1:]]) is an array without one")

    @property
    def at(self) -> Any:
        """`x.at[i].set(y)`: x with other elements there; also add, subtract, multiply, divide, min, max, get."""
        from ._index import At

        return At(self)

    @property
    def T(self) -> "Array":
        """The transpose of a matrix; of others, all axes in reverse."""
        return apply("permute", (self,), "order=[" + ",".join(str(i) for i in reversed(range(self.ndim))) + "]")

    @property
    def mT(self) -> "Array":
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(f"mT: the array has {self.ndim} axes; takes 2 or more")
        return apply("swap_axes", (self,), "axis1=-2 axis2=-1")

    # conversions

    def astype(self, dtype: Any, /, *, copy: bool = True) -> "Array":
        """The elements in another dtype: floats truncate to integers, and saturate."""
        from ._creation import astype

        return astype(self, dtype, copy=copy)

    def reshape(self, *shape: Any) -> "Array":
        """The same elements, in row-major order, in another shape; one size may be -1."""
        from ._shapes import reshape

        return reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, Size)) else shape)

    def flatten(self, order: Any = "C", **options: Any) -> "Array":
        """A copy with one axis, of the elements in row-major order."""
        return self.ravel(order, **options)._another()

    def ravel(self, order: Any = "C", **options: Any) -> "Array":
        """The elements in row-major order, with one axis."""
        if order in ("F", "A", "K") and not options:
            raise TypeError(f"elements are in row-major order, 'C', and got order={order!r}; x.T.reshape(-1) has them by columns")
        if options or order != "C":
            raise TypeError("flatten makes one axis of all, and takes nothing; x.reshape(x.shape[0], -1) keeps the first")
        return self.reshape(-1)

    def transpose(self, *order: Any, axes: Any = None) -> "Array":
        from ._shapes import permute_dims

        axes = order or (() if axes is None else (axes,))
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self.T if not order else permute_dims(self, order)

    def squeeze(self, axis: Any = None) -> "Array":
        from ._shapes import squeeze

        return squeeze(self, axis)

    def copy(self) -> "Array":
        return self._another()

    def dot(self, other: Any) -> "Array":
        """The product of matrices, or vectors."""
        return apply("matmul", (self, other))

    def clip(self, min: Any = None, max: Any = None) -> "Array":
        from ._elementwise import clip

        return clip(self, min, max)

    def round(self, decimals: int = 0) -> "Array":
        from ._elementwise import round

        return round(self, decimals)

    def __round__(self, digits: int | None = None) -> "Array":
        """Of the builtin round: an array, as elsewhere."""
        return self.round(digits or 0)

    def __floor__(self) -> "Array":
        return apply("floor", (self,))

    def __ceil__(self) -> "Array":
        return apply("ceil", (self,))

    def __trunc__(self) -> "Array":
        return apply("trunc", (self,))

    def swapaxes(self, a: int, b: int) -> "Array":
        return apply("swap_axes", (self,), f"axis1={a} axis2={b}")

    def take(self, indices: Any, axis: Any = None) -> "Array":
        from ._search import take

        return take(self, indices, axis=axis)

    # operators

    __add__, __radd__ = _forward("add"), _backward("add")
    __sub__, __rsub__ = _forward("sub"), _backward("sub")
    __mul__, __rmul__ = _forward("mul"), _backward("mul")
    __truediv__, __rtruediv__ = _forward("div"), _backward("div")
    __floordiv__, __rfloordiv__ = _forward("floordiv"), _backward("floordiv")
    __mod__, __rmod__ = _forward("mod"), _backward("mod")

    def __divmod__(self, other: Any) -> tuple["Array", "Array"]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple["Array", "Array"]:
        return other // self, other % self

    __pow__, __rpow__ = _forward("pow"), _backward("pow")
    __matmul__, __rmatmul__ = _forward("matmul"), _backward("matmul")
    __and__, __rand__ = _forward("and"), _backward("and")
    __or__, __ror__ = _forward("or"), _backward("or")
    __xor__, __rxor__ = _forward("xor"), _backward("xor")
    __lshift__, __rlshift__ = _forward("shl"), _backward("shl")
    __rshift__, __rrshift__ = _forward("shr"), _backward("shr")
    __lt__, __le__ = _forward("lt"), _forward("le")
    __gt__, __ge__ = _forward("gt"), _forward("ge")
    __eq__, __ne__ = _forward("eq"), _forward("ne")  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __neg__(self) -> "Array":
        return _native.apply("neg", (self,))

    def __pos__(self) -> "Array":
        return self._another()

    def __abs__(self) -> "Array":
        return _native.apply("abs", (self,))

    def __invert__(self) -> "Array":
        return _native.apply("not", (self,))
