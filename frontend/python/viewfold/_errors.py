"""Exceptions: each is also the one of Python that says the same."""


class Error(Exception):
    """What viewfold raises."""


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
