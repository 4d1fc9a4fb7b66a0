"""Arrays from nothing, from numbers, and from other libraries."""

from __future__ import annotations

import struct
import sys
from typing import Any, Sequence

from . import _native
from ._array import Array, apply
from ._dtypes import DType, bool_, float32, int32, int64
from ._dtypes import dtype as to_dtype
from ._sizes import Size, text_list
from ._text import FORMATS


def _shape_of(nested: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(nested, (list, tuple)):
        shape.append(len(nested))
        if not nested:
            break
        nested = nested[0]
    return tuple(shape)


def _flatten(nested: Any, shape: tuple[int, ...], out: list[Any]) -> None:
    if not shape:
        if isinstance(nested, (list, tuple)):
            raise ValueError("rows of a nested list have different depths")
        out.append(nested)
        return
    if not isinstance(nested, (list, tuple)) or len(nested) != shape[0]:
        raise ValueError(f"rows of a nested list have different lengths; takes {shape[0]} here")
    for item in nested:
        _flatten(item, shape[1:], out)


def _range_of(dtype: DType) -> str:
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    return f", {-(1 << bits) if dtype.kind == 'i' else 0} to {(1 << bits) - 1}; a " + (
        "wider or a signed one holds it" if dtype.kind == "u" else "wider one holds it" if dtype.itemsize < 8 else
        "float holds it rounded") if dtype.kind in "iu" else ""


def _from_numbers(numbers: Any, dtype: DType | None) -> Array:
    shape = _shape_of(numbers)
    flat: list[Any] = []
    _flatten(numbers, shape, flat)
    if any(isinstance(n, Array) or hasattr(n, "__array_interface__") for n in flat):
        parts = [asarray(n, dtype=dtype) for n in flat]
        return apply("stack", parts, "axis=0").reshape(shape + tuple(parts[0].shape))
    for n in flat:
        if not isinstance(n, (bool, int, float)):
            raise TypeError(f"an element is {n!r}, of type {type(n).__name__}; takes bool, int and float")
    if dtype is None:
        kinds = {bool if isinstance(n, bool) else type(n) for n in flat}
        if any(issubclass(k, float) for k in kinds) or not flat:
            dtype = float32
        elif kinds == {bool}:
            dtype = bool_
        else:
            wide = any(not -(1 << 31) <= n < (1 << 31) for n in flat)
            dtype = int64 if wide else int32
    convert = {"b": bool, "i": int, "u": int, "f": float}[dtype.kind]
    stored = FORMATS[dtype.name] if dtype.kind != "f" or dtype.itemsize > 2 else "f"  # what has infinities
    try:
        packed = struct.pack(f"{len(flat)}{stored}", *map(convert, flat))
    except (struct.error, OverflowError):
        raise OverflowError(f"an element is out of the range of {dtype.name}{_range_of(dtype)}") from None
    if stored == "f" and dtype.itemsize == 2:
        return apply("cast", (_native.from_bytes(packed, float32.code, shape),), f"dtype={dtype.text}")
    return _native.from_bytes(packed, dtype.code, shape)


def _check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"arrays are on the device 'cpu', not on {device!r}; VIEWFOLD_DEVICE names where programs run")


def asarray(obj: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array of the object: an array, a number, nested lists, or an array of another library.

    Memory of another library is shared where it is dense and aligned, unless `copy` is true: nobody may change it then.
    """
    _check_device(device)
    want = None if dtype is None else to_dtype(dtype)
    if isinstance(obj, Array):
        made = obj._another() if copy else obj
    elif isinstance(obj, (bool, int, float)) and not hasattr(obj, "dtype"):
        return _from_numbers(obj, want)
    elif isinstance(obj, (list, tuple)):
        return _from_numbers(obj, want)
    else:
        made = _native.from_buffer(obj, bool(copy))
        if made is None and hasattr(obj, "__dlpack__"):
            name = str(getattr(obj, "dtype", ""))
            if name == "bfloat16" and hasattr(obj, "__array_interface__"):  # which NumPy does not lend
                return asarray(apply("bitcast", (_native.from_buffer(obj.view("uint16"), True),), "dtype=bf16"), dtype=dtype)
            kind = getattr(getattr(obj, "dtype", None), "kind", "f") if name != "bfloat16" else "f"
            if kind in "cOSUVmM":  # NumPy's letters
                raise TypeError(f"an array of {obj.dtype}; takes bool, integers and floats of 8 to 64 bits")
            made = from_dlpack(obj, copy=copy)
        if made is None:
            if type(obj).__name__ == "Ref":
                raise TypeError("a vf.Ref is no array; r[...] is what it holds now")
            if isinstance(obj, (str, bytes, complex)) or obj is None:
                what = "there are no complex numbers" if isinstance(obj, complex) else "arrays are made of numbers"
                raise TypeError(f"{obj!r:.40}: {type(obj).__name__} is no array; {what}: bool, int and float, and lists of them")
            listed = "; vf.array(list(x)) takes its elements" if hasattr(obj, "__iter__") and not hasattr(obj, "keys") else ""
            raise TypeError(f"{type(obj).__name__} is no array: it has neither a buffer nor __dlpack__{listed}")
    if want is not None and made.dtype is not want:
        if copy is False:
            raise ValueError(f"another dtype takes a copy: {made.dtype.name} to {want.name}")
        made = astype(made, want)
    return made


def array(obj: Any, /, dtype: Any = None) -> Array:
    """As asarray, with a copy of the elements."""
    return asarray(obj, dtype=dtype, copy=True)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """The array of another library, by DLPack: without a copy, so that nobody may change it."""
    _check_device(device)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack takes an array of another library, and got {type(x).__name__}; lists become arrays by "
                        "vf.array")
    if not copy and getattr(x, "is_neg", bool)():  # DLPack has no word for it; a copy is of the negated elements
        raise BufferError(f"a tensor that stands for the negated elements{_torch_advice(x)}")
    if getattr(x, "requires_grad", False) and not sys.modules["torch"].is_grad_enabled():
        x = x.detach()
    try:
        capsule = x.__dlpack__(max_version=(1, 1), copy=copy)
    except TypeError:  # of a library that knows the old form alone
        capsule = x.__dlpack__()
    except BufferError as error:
        raise BufferError(f"{error}{_torch_advice(x)}") from None
    return _native.from_dlpack(capsule)


def _torch_advice(x: Any) -> str:
    """What to do with an array of torch that cannot be lent as it is."""
    what = (("requires_grad", "give t.detach(): derivatives of viewfold are of functions, vf.grad(f)(t.detach())"),
            ("is_conj", "give t.resolve_conj()"), ("is_neg", "give t.resolve_neg()"), ("is_sparse", "give t.to_dense()"),
            ("is_meta", "it has no elements: make it on a device, or give torch.empty_like(t, device='cpu')"),
            ("is_cuda", "give t.cpu()"))
    for name, advice in what:
        asked = getattr(x, name, False)
        if asked() if callable(asked) else asked:
            return f"; {advice}"
    device = getattr(getattr(x, "device", None), "type", "cpu")
    return "" if device == "cpu" else "; give t.cpu()"


def _unpickle(data: bytes, name: str, shape: tuple[int, ...]) -> Array:
    return _native.from_bytes(data, to_dtype(name).code, shape)


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The elements in another dtype."""
    _check_device(device)
    want = to_dtype(dtype)
    if x.dtype is want:
        return x._another() if copy else x
    return apply("cast", (x,), f"dtype={want.text}")


def _sizes(shape: Any) -> tuple[Any, ...]:
    if isinstance(shape, Size) or hasattr(shape, "__index__") and not hasattr(shape, "__len__"):
        return (shape,)
    if getattr(shape, "ndim", 1) == 0:
        return (shape,)
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"a shape is an integer or a tuple of them, as (2, 3), and got {shape!r:.60}")
    return tuple(shape)


def _dtype_behind(shape: Any, dtype: Any, who: str) -> DType:
    """The dtype behind a shape, which people also write without brackets."""
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        raise TypeError(f"{who}: a shape is one tuple, as in {who}(({shape}, {dtype}))")
    return float32 if dtype is None else to_dtype(dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """The value everywhere."""
    _check_device(device)
    want = None if dtype is None else to_dtype(dtype)
    wide = isinstance(fill_value, float) and want is not None and want.name not in ("float16", "bfloat16", "float32")
    value = asarray(fill_value, dtype="float64") if wide else asarray(fill_value)  # no digit is lost on the way
    if want is not None:
        value = value.astype(want)
    return apply("expand", (value,), "shape=" + text_list(_sizes(shape)))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Zeros, of float32 unless told otherwise."""
    _check_device(device)
    want = _dtype_behind(shape, dtype, "zeros")
    return full(shape, False if want.kind == "b" else 0, dtype=want)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Ones, of float32 unless told otherwise."""
    _check_device(device)
    want = _dtype_behind(shape, dtype, "ones")
    return full(shape, True if want.kind == "b" else 1, dtype=want)


empty = zeros


def _like(x: Any, name: str) -> Any:
    """The array whose shape and dtype are taken: also one of another library."""
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return x
    if isinstance(x, (tuple, list)):
        raise TypeError(f"{name}_like takes an array, of whose shape and dtype it makes one; vf.{name}(shape) takes a shape")
    return asarray(x)


def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    x = _like(x, "zeros")
    return zeros(x.shape, dtype=dtype or x.dtype)


def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    x = _like(x, "ones")
    return ones(x.shape, dtype=dtype or x.dtype)


def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    x = _like(x, "full")
    return full(x.shape, fill_value, dtype=dtype or x.dtype)


empty_like = zeros_like


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Array:
    """start, start + step, ... before stop."""
    _check_device(device)
    if stop is None:
        start, stop = 0, start
    if isinstance(step, (int, float)) and step == 0:
        raise ValueError(f"arange: the step from {start} to {stop} is 0; takes another number")
    for what, n in (("start", start), ("stop", stop), ("step", step)):
        if getattr(n, "ndim", 0):
            raise TypeError(f"arange: {what} is an array of shape {tuple(n.shape)}; takes numbers, as in arange(x.shape[0])")
        if not isinstance(n, (int, float, Size)) and not hasattr(n, "__index__") and not hasattr(n, "__float__"):
            raise TypeError(f"arange: {what} is {n!r:.40}, of type {type(n).__name__}; takes numbers, as in arange(0, 10, 2)")
    whole = all(isinstance(n, (int, Size)) for n in (start, stop, step))
    want = to_dtype(dtype) if dtype is not None else (int32 if whole else float32)
    if whole and want.kind == "b":
        raise TypeError("arange: there are no two equal steps of bool")
    if isinstance(stop, int) and whole and len(range(start, stop, step)) == 0:
        return zeros((0,), dtype=want)
    if not whole:
        from math import ceil

        count = max(0, ceil((stop - start) / step))
        steps = arange(count, dtype="float64") if count else zeros((0,), dtype="float64")
        return (steps * float(step) + float(start)).astype(want)
    return apply("arange", (), f"dtype={want.text} start={start} stop={stop} step={step}")


def linspace(start: float, stop: float, /, num: int, *, dtype: Any = None, device: Any = None,
             endpoint: bool = True) -> Array:
    """num numbers at equal distances, with both ends unless `endpoint` is false."""
    _check_device(device)
    want = float32 if dtype is None else to_dtype(dtype)
    for role, given in (("start", start), ("stop", stop)):
        if getattr(given, "ndim", 0):
            raise TypeError(f"linspace: {role} is an array of shape {tuple(given.shape)}; start and stop are numbers")
    if num == 0:
        return zeros((0,), dtype=want)
    if not endpoint and num > 0:
        return linspace(start, stop, num + 1, dtype=want)[:num]
    return apply("linspace", (), f"dtype={want.text} start={float(start)!r} stop={float(stop)!r} num={num}")


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Array:
    """Ones on diagonal k, zeros elsewhere."""
    _check_device(device)
    want = float32 if dtype is None else to_dtype(dtype)
    columns = n_rows if n_cols is None else n_cols
    for role, given in (("rows", n_rows), ("columns", columns)):
        if isinstance(given, (float, str, tuple, list)):
            raise TypeError(f"eye: the {role} are {given!r:.40}; takes an integer" +
                            (f", as in eye{tuple(given)}" if isinstance(given, (tuple, list)) else ""))
    if isinstance(n_rows, int) and isinstance(columns, int) and min(n_rows, columns) < 0:
        raise ValueError(f"eye: {n_rows} rows and {columns} columns; takes 0 or more")
    rows = apply("arange", (), f"dtype=i64 start=0 stop={n_rows} step=1") if n_rows else zeros((0,), dtype="int64")
    line = apply("arange", (), f"dtype=i64 start=0 stop={columns} step=1") if columns else zeros((0,), dtype="int64")
    return (rows[:, None] + k == line[None, :]).astype(want)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Zeros above diagonal k of the last two axes."""
    return apply("tril", (x,), f"diagonal={k}")


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Zeros below diagonal k of the last two axes."""
    return apply("triu", (x,), f"diagonal={k}")


def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    """Arrays of coordinates from one axis each."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is {indexing!r}; takes 'xy' or 'ij'")
    from ._shapes import broadcast_arrays

    arrays = tuple(asarray(a) for a in arrays)
    count = len(arrays)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[0], places[1] = 1, 0
    spread = [a.reshape(tuple(-1 if p == q else 1 for q in range(count))) for a, p in zip(arrays, places)]
    return list(broadcast_arrays(*spread))


def stack_of(items: Sequence[Any]) -> Array:
    """An array of equal arrays or numbers."""
    return apply("stack", [asarray(i) for i in items], "axis=0")


def number(size: Any) -> Any:
    """A size as an operand: a number, or the array without axes of one that varies."""
    if not isinstance(size, Size):
        return size
    last = apply("shrink", (arange(size, dtype="int64"),), f"bounds=[[{size}-1,{size}]]")
    return apply("add", (apply("reshape", (last,), "shape=[]"), 1))
