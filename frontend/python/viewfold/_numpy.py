"""NumPy's functions of our arrays: `numpy.sin(x)` is `viewfold.sin(x)`, also in functions that are traced."""

from __future__ import annotations

import inspect
from typing import Any

# where NumPy's name is another one
_OTHER = {"arctan2": "atan2", "absolute": "abs", "true_divide": "divide", "amax": "max", "amin": "min",
          "dot": "matmul", "around": "round", "round_": "round", "row_stack": "vstack",
          "radians": "deg2rad", "degrees": "rad2deg"}
# by what x.at[i] calls it
_AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "true_divide": "divide", "minimum": "min",
       "maximum": "max"}
# what NumPy passes though nobody has given it
_DEFAULTS = {"out": None, "keepdims": False, "initial": None, "where": True, "dtype": None, "casting": "same_kind",
             "order": None, "subok": True, "optimize": False}


# functions of NumPy that write, and what does the same
_PLACES = "x = x.at[i].set(y), or x[i] = y"
_WRITES = {"copyto": "x = vf.full_like(x, value), or x = y", "put": _PLACES, "put_along_axis": _PLACES,
           "place": "x = vf.where(mask, y, x)", "putmask": "x = vf.where(mask, y, x)",
           "fill_diagonal": "x = vf.where(vf.eye(n, dtype='bool'), value, x)"}


def _ours(name: str, called: str = "") -> Any:
    import viewfold

    known = _OTHER.get(name, name)
    if known == "norm":
        return _norm
    from . import _numpy_shapes, _numpy_values

    for place in (_numpy_shapes, _numpy_values, viewfold, viewfold.linalg):
        found = getattr(place, known, None) if known in place.__dict__ else None
        if callable(found):
            return found
    called = called or name
    if name in _WRITES:
        raise TypeError(f"numpy.{called} writes into its argument, and arrays of viewfold do not change: {_WRITES[name]}")
    raise TypeError(f"viewfold has no numpy.{called}; use numpy.{called}(numpy.asarray(x)) outside of traced functions")


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """numpy.linalg.norm, of vectors: of matrices where there is no ord."""
    from . import linalg

    if ord is not None and x.ndim > 1 and not isinstance(axis, int):
        raise TypeError("numpy.linalg.norm with an ord of a matrix: use vf.linalg.matrix_norm(x, ord=...)")
    return linalg.vector_norm(x, axis, keepdims=keepdims, ord=2 if ord is None else ord)


# what NumPy asks of any array
_ASKED: dict[str, Any] = {"ndim": lambda a: a.ndim, "shape": lambda a: a.shape,
          "size": lambda a, axis=None: a.size if axis is None else a.shape[axis]}


def _given(name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The options that differ from NumPy's defaults, by our names."""
    made = {k: v for k, v in kwargs.items()
            if not (k in _DEFAULTS and (v is _DEFAULTS[k] or type(v).__name__ == "_NoValueType"
                                        or (k == "keepdims" and v == _DEFAULTS[k])))}
    if name == "clip":
        made = {k.removeprefix("a_"): v for k, v in made.items()}
    if name in ("var", "std") and "ddof" in made:
        made["correction"] = made.pop("ddof")
    if made.get("out") is not None:
        raise TypeError(f"numpy.{name} of an array of viewfold has no out; use the result")
    return made


# what to write in place of an option of NumPy
_INSTEAD = {"where": "use vf.where(mask, x, y)", "initial": "combine the result with it", "dtype": "use x.astype(dtype)",
            "order": "arrays are in row-major order"}


def _call(name: str, function: Any, args: Any, options: dict[str, Any], numpys: Any = None) -> Any:
    """The function, by keywords where NumPy's takes arguments by position that this one does not."""
    known = inspect.signature(function).parameters
    taken = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in known.values())
    if numpys is not None and len(args) > taken and not any(p.kind is p.VAR_POSITIONAL for p in known.values()):
        names = list(inspect.signature(numpys).parameters)[taken:len(args)]
        args, options = args[:taken], dict(zip(names, args[taken:])) | options
    missing = [k for k in options if k not in known] if not any(p.kind is p.VAR_KEYWORD for p in known.values()) else []
    if missing:
        from ._hints import option_of

        ours = option_of(missing[0], known)
        instead = f"use vf.{function.__name__}(x, ..., {ours}=...)" if ours else _INSTEAD.get(missing[0], "leave it out")
        raise TypeError(f"numpy.{name} of an array of viewfold has no {missing[0]}; {instead}")
    return function(*args, **options)


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    name = ufunc.__name__
    if method == "reduce" and name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or"):
        reduction = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
                     "logical_or": "any"}[name]
        return _call(name + ".reduce", _ours(reduction), inputs[:1], _given(reduction, {"axis": 0} | options))
    if method == "at":
        advice = f"x = x.at[i].{_AT[name]}(y)" if name in _AT else "x = x.at[i].set(y), with the elements computed before"
        raise TypeError(f"numpy.{name}.at writes into its argument, and arrays of viewfold do not change: {advice}")
    if method != "__call__":
        raise TypeError(f"viewfold has no numpy.{name}.{method}; use numpy.{name}.{method}(numpy.asarray(x)) outside of traced functions")
    return _call(name, _ours(name), inputs, _given(name, options))


def call_function(function: Any, args: Any, kwargs: Any) -> Any:
    name = function.__name__
    if name in _ASKED:
        return _ASKED[name](*args, **kwargs)
    inside = function.__module__.removeprefix("numpy").lstrip(".")
    if inside:  # of numpy.fft or numpy.linalg, by the name that the user knows
        return _call(name, _ours(name, f"{inside}.{name}"), args, _given(name, kwargs), function)
    return _call(name, _ours(name), args, _given(name, kwargs), function)
