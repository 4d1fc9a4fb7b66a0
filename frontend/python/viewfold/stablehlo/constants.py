"""Constants: `dense<...>`, of one element for all, of lists, or of bytes."""

from __future__ import annotations

import re
import struct
from math import prod
from typing import Any

from .. import _native
from .._array import Array, apply
from .._creation import full
from .._dtypes import dtype as to_dtype
from .._sizes import text_list
from .._text import FORMATS
from .text import Dense, Type

_BITS = {"f16": ("H", "e"), "f32": ("I", "f"), "f64": ("Q", "d")}


def _element(text: str, dtype: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if not text.startswith("0x"):
        return float(text) if dtype[0] in "fb" else int(text)
    bits = int(text, 16)
    if dtype == "bf16":
        return struct.unpack("f", struct.pack("I", bits << 16))[0]
    whole, broken = _BITS[dtype]
    return struct.unpack(broken, struct.pack(whole, bits))[0]


def elements(given: Dense) -> list[Any]:
    """Of an attribute of integers, nested lists included."""
    def nested(text: str) -> list[Any]:
        return [int(t) for t in re.findall(r"-?\d+", text)]

    if given.text.startswith("[["):
        return [nested(row) for row in given.text[1:-1].split("]") if row.strip(" ,")]
    return nested(given.text)


def number(given: Dense, type_: Type) -> Any:
    """The value of a constant scalar."""
    text = given.text
    if text.startswith('"'):
        dtype = to_dtype(type_.dtype)
        return struct.unpack(FORMATS[dtype.name], bytes.fromhex(text[3:-1]))[0] if dtype.name in FORMATS else 0
    return _element(text.strip("[] "), type_.dtype)


def array(given: Dense, type_: Type) -> Array:
    text, dtype, count = given.text, to_dtype(type_.dtype), prod(type_.shape)
    if text.startswith('"'):
        data = bytes.fromhex(text[3:-1])
        if len(data) == count * dtype.itemsize:
            return _native.from_bytes(data, dtype.code, type_.shape)
        one = _native.from_bytes(data, dtype.code, ())
        return apply("expand", (one,), "shape=" + text_list(type_.shape))
    items = re.findall(r"[^\s\[\],]+", text)
    if len(items) == 1 and not (count == 1 and "[" in text):
        return full(type_.shape, _element(items[0], type_.dtype), dtype=dtype)
    if not items:
        return full(type_.shape, 0 if dtype.kind != "b" else False, dtype=dtype)
    numbers = [_element(i, type_.dtype) for i in items]
    if dtype.kind == "f" and dtype.itemsize == 2:
        wide = _native.from_bytes(struct.pack(f"{len(numbers)}f", *numbers), to_dtype("f32").code, type_.shape)
        return apply("cast", (wide,), f"dtype={dtype.text}")
    return _native.from_bytes(struct.pack(f"{len(numbers)}{FORMATS[dtype.name]}", *numbers), dtype.code, type_.shape)
