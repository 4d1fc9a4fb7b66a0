"""Exceptions: each is also the one of Python that says the same."""


import re
from typing import Any

# What messages of the library name that Python writes otherwise.
_IN_PYTHON = tuple((re.compile(found), written) for found, written in (
    (r"vf_graph_set_mesh gives it one(, or in a text mesh @m \[x=2,y=4\])?", "vf.set_mesh(vf.Mesh(x=2, y=4)) gives it one"),
    (r"permute %(\w) order=\[([\d,]+)\]", r"vf.permute_dims(\1, (\2))"),
    (r"get it again with vf_tensor_value", "make it anew"),
    (r"with vf_output\b", "by returning it"),
    (r"^(\w+): has (\d+) results; vf_apply_all returns them all", r"\1: has \2 results; vf.apply('\1', operands, attributes, \2) gives them all"),
    (r"; `viewfold ops \w+` shows how", ""),
    (r"its value as one is the sum of ones: .*? = sum %o", "an array of it is vf.asarray(n)"),
    (r"or use and, or, not\b", "or use & | ~ ^"),
    (r"\bchunk takes any number", "numpy.array_split(x, n) takes any number"),
    (r"%y = neg %x", "y = vf.negative(x)"),
    (r"\bvf_(grad|vjp|jvp|vmap|scan|cond|tap|print|callback|concat|stack|reshape|gather|where|output|data|ones|zeros)\b", r"vf.\1"),
))

_SIGNS = ("vf_", "%", "`", "and, or, not", "chunk")  # one is in each message that a row is for


def in_python(message: str) -> str:
    """The message of the library, with what Python calls the same."""
    for found, written in _IN_PYTHON if any(sign in message for sign in _SIGNS) else ():
        message = found.sub(written, message)
    return message


class Error(Exception):
    """What viewfold raises."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(in_python(a) if isinstance(a, str) else a for a in args))


class InvalidError(Error, ValueError):
    """A shape, axis, dtype or argument that an operation refuses."""


class OutOfMemoryError(Error, MemoryError):
    """Memory is short."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class UnsupportedError(Error, NotImplementedError):
    """Well formed, but no device can do it."""


class CompileError(Error, RuntimeError):
    """Code cannot be generated, or must not be (VIEWFOLD_COMPILE=0)."""


class DeviceError(Error, RuntimeError):
    """A device is absent or has failed."""


class RangeError(Error, IndexError):
    """An index of a gather, or of a write, is out of range."""


class InternalError(Error, RuntimeError):
    """A fault of viewfold: please report it."""


class NanError(Error, FloatingPointError):
    """An operation made a NaN or an infinity while debug_nans is on."""


# by vf_status
BY_STATUS = (InternalError, InvalidError, OutOfMemoryError, FileError, UnsupportedError, CompileError, DeviceError,
             RangeError, InternalError, NanError)
