"""Arrays as text."""

from __future__ import annotations

import struct
from typing import Any

FORMATS = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
            "int64": "q", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d"}


def numbers(a: Any) -> list[Any]:
    """The elements in row-major order; nothing is recorded."""
    data = a.tobytes()
    if a.dtype.name == "bfloat16":  # the upper half of a float32
        halves = struct.unpack(f"{len(data) // 2}H", data)
        return [struct.unpack("f", struct.pack("I", h << 16))[0] for h in halves]
    form = FORMATS[a.dtype.name]
    return list(struct.unpack(f"{len(data) // a.dtype.itemsize}{form}", data))


def _nest(flat: list[Any], shape: tuple[Any, ...]) -> Any:
    if not shape:
        return flat[0]
    step = len(flat) // shape[0] if shape[0] else 0
    return [_nest(flat[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def to_list(a: Any) -> Any:
    return _nest(numbers(a), a.shape)


def elements(a: Any) -> str:
    """The elements as NumPy writes them, of large arrays the first and last."""
    try:
        import numpy

        values = a.numpy() if a.dtype.name != "bfloat16" else numpy.array(numbers(a), "float32").reshape(a.shape)
        return str(numpy.array2string(values, separator=", ", threshold=200))
    except ImportError:
        return str(to_list(a) if a.size <= 200 else numbers(a)[:6] + ["..."])


def _type(a: Any) -> str:
    return f"{a.dtype.name}[{', '.join(map(str, a.shape))}]"


def describe(a: Any) -> str:
    """Of a computed array the elements, of another one the operation that it will be computed by."""
    if a._state == "computed":
        return f"Array({elements(a)}, dtype={a.dtype.name})".replace("\n", "\n      ")
    return f"<{a._state} {_type(a)}: {a._expression}>"
