"""Dtypes of arrays, and how they promote."""

from __future__ import annotations

from typing import Any


class DType:
    """The dtype of an array's elements; equal to itself, and to the name and NumPy dtype of it."""

    __slots__ = ("name", "code", "itemsize", "kind", "text")

    def __init__(self, name: str, code: int, itemsize: int, kind: str, text: str) -> None:
        self.name, self.code, self.itemsize, self.kind, self.text = name, code, itemsize, kind, text

    def __call__(self, x: Any = 0) -> Any:
        """The number, or the array, in this dtype: vf.int32(5)."""
        from ._creation import asarray

        return asarray(x, dtype=self)

    def __repr__(self) -> str:
        return f"viewfold.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        return other is not None and self.name == getattr(other, "name", other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return dtype, (self.name,)


# kind: b bool, i signed, u unsigned, f float. text: the name in graphs. code: a vf_dtype.
bool_ = DType("bool", 1, 1, "b", "bool")
int8 = DType("int8", 2, 1, "i", "i8")
uint8 = DType("uint8", 3, 1, "u", "u8")
int16 = DType("int16", 4, 2, "i", "i16")
uint16 = DType("uint16", 5, 2, "u", "u16")
int32 = DType("int32", 6, 4, "i", "i32")
uint32 = DType("uint32", 7, 4, "u", "u32")
int64 = DType("int64", 8, 8, "i", "i64")
uint64 = DType("uint64", 9, 8, "u", "u64")
float16 = DType("float16", 10, 2, "f", "f16")
bfloat16 = DType("bfloat16", 11, 2, "f", "bf16")
float32 = DType("float32", 12, 4, "f", "f32")
float64 = DType("float64", 13, 8, "f", "f64")

ALL = (bool_, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32, float64)
BY_CODE: tuple[DType | None, ...] = (None, *ALL, None)
_BY_NAME = {d.name: d for d in ALL} | {d.text: d for d in ALL}


def dtype(given: Any) -> DType:
    """The dtype that a dtype, its name, a type of Python, or a dtype of NumPy stands for."""
    if isinstance(given, DType):
        return given
    if given is bool:
        return bool_
    if given is int:
        return int32
    if given is float:
        return float32
    name = given if isinstance(given, str) else getattr(given, "name", None) or getattr(given, "__name__", "")
    if type(given).__module__ == "torch":
        name = str(given).removeprefix("torch.")
    if name in _BY_NAME:
        return _BY_NAME[name]
    raise TypeError(f"{given!r} is no dtype of viewfold; there are {', '.join(d.name for d in ALL)}")


_of = dtype
_SIGNED = (int8, int16, int32, int64)


def promote(a: DType, b: DType) -> DType:
    """The dtype that two arrays get together."""
    if a is b:
        return a
    if a.kind == "b":
        return b
    if b.kind == "b":
        return a
    if (a.kind == "f") != (b.kind == "f"):
        return a if a.kind == "f" else b
    if a.kind == "f":
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.itemsize > b.itemsize else b
    if a.kind == b.kind:
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    for wider in _SIGNED:
        if wider.itemsize > unsigned.itemsize:
            return wider
    raise TypeError(f"{a.name} and {b.name} have no common dtype; convert one with .astype()")


def result_type(*operands: Any) -> DType:
    """The dtype of an operation on these arrays, dtypes and numbers of Python; numbers take that of the others."""
    known = [o if isinstance(o, DType) else o.dtype for o in operands if isinstance(o, DType) or hasattr(o, "dtype")]
    numbers = [o for o in operands if not (isinstance(o, DType) or hasattr(o, "dtype"))]
    if not known:
        return float32 if any(isinstance(n, float) for n in numbers) else (
            bool_ if all(isinstance(n, bool) for n in numbers) else int32)
    made = dtype(known[0])
    for other in known[1:]:
        made = promote(made, dtype(other))
    if made.kind != "f" and any(isinstance(n, float) for n in numbers):
        return float32
    return made


def can_cast(start: Any, to: Any) -> bool:
    """Does `to` hold every value of the dtype, or of the array's?"""
    a, b = dtype(getattr(start, "dtype", start)), dtype(to)
    try:
        return promote(a, b) is b
    except TypeError:
        return False


def isdtype(dtype: Any, kind: Any) -> bool:
    """Is the dtype of this kind: a dtype, 'bool', 'signed integer', 'integral', ..., or a tuple of them?"""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    known = _of(dtype)
    if isinstance(kind, DType):
        return known is kind
    kinds = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
             "complex floating": "-", "numeric": "iuf"}
    if kind not in kinds:
        raise ValueError(f"{kind!r} is no kind of dtypes; there are {', '.join(kinds)}")
    return known.kind in kinds[kind]


class iinfo:
    """The range of an integer dtype."""

    def __init__(self, given: Any) -> None:
        self.dtype = dtype(getattr(given, "dtype", given))
        if self.dtype.kind not in "iu":
            raise TypeError(f"{self.dtype.name} is no integer dtype; use finfo")
        self.bits = 8 * self.dtype.itemsize
        self.min = -(1 << (self.bits - 1)) if self.dtype.kind == "i" else 0
        self.max = (1 << (self.bits - (self.dtype.kind == "i"))) - 1


class finfo:
    """The limits of a float dtype."""

    _rows = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}

    def __init__(self, given: Any) -> None:
        self.dtype = dtype(getattr(given, "dtype", given))
        if self.dtype.kind != "f":
            raise TypeError(f"{self.dtype.name} is no float dtype; use iinfo")
        fraction, exponent = self._rows[self.dtype.name]
        self.bits = 8 * self.dtype.itemsize
        self.eps = 2.0**-fraction
        self.max = (2 - 2.0**-fraction) * 2.0**exponent
        self.min = -self.max
        self.smallest_normal = 2.0 ** (1 - exponent)
