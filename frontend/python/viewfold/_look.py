"""Looking at compiled functions, and into their runs."""

from __future__ import annotations

import builtins
from typing import Any, Callable

from . import _native
from ._array import Array, apply

_taps: dict[str, Callable[[Any], None]] = {}


def _report(name: str, text: str | None, array: Any) -> None:
    if _native.is_silent():
        return
    if text is not None:
        builtins.print(text)
    elif name in _taps:
        _taps[name](array)


_native.set_report(_report)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def print(text: str, x: Array) -> Array:
    """x, which is printed each time that it is computed, in place of {} in the text."""
    if not isinstance(text, str) or text.count("{}") > 1:
        raise TypeError("print takes a text with at most one {}, and one array, as in vf.print('x is {}', x)")
    if _native.is_silent():
        return x
    if _native.tracing() is None:
        builtins.print(text.replace("{}", str(x)) if "{}" in text else f"{text} {x}")
        return x
    return _native.tap(x, None, text)


def tap(x: Array, function: Callable[[Any], None], name: str = "") -> Array:
    """x; each time that it is computed, the function is called with an array of its elements."""
    if not callable(function) or not hasattr(x, "shape"):
        raise TypeError("tap takes an array and a function that is called with its elements, as in vf.tap(x, print), and perhaps a name, "
                        f"name='x'; got {type(x).__name__} and {type(function).__name__}")
    if _native.is_silent():
        return x
    if _native.tracing() is None:
        function(x)
        return x
    name = name or f"tap{len(_taps)}"
    _taps[name] = function
    return _native.tap(x, name, None)


def callback(function: Callable[..., Any], like: Any, *arrays: Any, gradient: Callable[..., Any] | None = None) -> Array:
    """What a function of Python gives for these arrays, called each time that a compiled function runs.

    It is called with NumPy's arrays (or ours, without NumPy), depends on them alone, and gives an array of the shape and
    dtype of `like`, which is an array or anything that has both. It has a derivative where a gradient is given:
    gradient(*arrays, y, cotangent), of arrays of ours, gives what the cotangent of its result y contributes to that of each
    array; one array, or a tuple.
    """
    from ._creation import asarray
    from ._dtypes import dtype as to_dtype

    if not callable(function) or not hasattr(like, "shape") or not arrays:
        raise TypeError("callback takes a function, an array like its result, and the arrays that it is called with: "
                        "vf.callback(np.sin, x, x); " +
                        ("the function is " + type(function).__name__ if not callable(function) else "there are no arrays" if not arrays else
                         f"what the result is like is {type(like).__name__}, which has no shape and dtype"))
    want, shape = to_dtype(like.dtype), tuple(like.shape)
    name = getattr(function, "__name__", type(function).__name__)

    def call(*given: Array) -> Array:
        try:
            made = asarray(function(*(a.numpy() for a in given)))
        except ImportError:
            made = asarray(function(*given))
        if made.shape != shape:
            raise ValueError(f"callback: {name} gives shape {made.shape}, and like, the second argument, has shape {shape}; "
                             "both must be the same")
        return made.astype(want).realise() if made.dtype is not want else made

    call.__name__ = name
    operands = tuple(asarray(a) for a in arrays)
    if _native.is_silent() or _native.tracing() is None:
        if _native.tracing() is None:
            return call(*operands)
        from ._creation import zeros

        return zeros(shape, dtype=want)
    def derive(*given: Array) -> tuple[Any, ...]:
        made = gradient(*given)  # type: ignore[misc]
        return made if isinstance(made, tuple) else (made,)

    return _native.callback(call, operands, want.code, shape, derive if gradient else None)


class debug_nans:
    """Runs stop where an operation makes a NaN (or an infinity) from operands without one: `vf.debug_nans(True)`, or
    `with vf.debug_nans(): ...`. Functions compiled before are not looked at."""

    def __init__(self, on: bool = True, infinities: bool = False) -> None:
        self._before = getattr(debug_nans, "flags", 0)
        debug_nans.flags = (8 | (16 if infinities else 0)) if on else 0  # type: ignore[attr-defined]
        _native.set_flags(debug_nans.flags)  # type: ignore[attr-defined]

    def __enter__(self) -> "debug_nans":
        return self

    def __exit__(self, *error: Any) -> None:
        debug_nans.flags = self._before  # type: ignore[attr-defined]
        _native.set_flags(self._before)


def profile(function: Any, runs: int = 10, form: str = "text") -> Callable[..., str]:
    """vf.profile(f)(x, y): where the time of so many runs goes: a table, or "json", or "trace" for Perfetto."""
    from ._jit import jit
    from ._trace import _check_function

    _check_function(function, "profile")
    behind = getattr(function, "_jit", None) or jit(function)._jit

    def call(*args: Any, **kwargs: Any) -> str:
        traced, arrays, _ = behind.prepare(args, kwargs)
        return traced.program.profile(traced.graph, tuple(arrays), form, runs)

    return call


