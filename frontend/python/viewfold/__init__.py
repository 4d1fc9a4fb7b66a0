"""viewfold: arrays, and functions of them that are compiled.

    import viewfold as vf

    @vf.jit
    def step(w, x, y):
        loss = lambda w: ((x @ w - y) ** 2).mean()
        return w - 0.1 * vf.grad(loss)(w)
"""

from __future__ import annotations

import os as _os
from math import e, inf, nan, pi
from typing import Any as _Any

from . import _hints, _imports, _native
from ._dtypes import (
    DType, bfloat16, bool_, can_cast, dtype, finfo, float16, float32, float64, iinfo, int8, int16, int32, int64, isdtype,
    promote as promote_types, result_type, uint8, uint16, uint32, uint64,
)
from ._dtypes import BY_CODE as _BY_CODE
from ._errors import (
    BY_STATUS as _BY_STATUS, CompileError, DeviceError, Error, FileError, InternalError, InvalidError, NanError,
    OutOfMemoryError, RangeError, UnsupportedError,
)
from ._array import Array, apply

_native.set_up(Array, _BY_STATUS, _BY_CODE, _os.path.dirname(__file__) + _os.sep)

from ._creation import (
    arange, array, asarray, astype, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones,
    ones_like, tril, triu, zeros, zeros_like,
)
from ._elementwise import *  # noqa: F403
from ._files import load, save
from ._explain import explain
from ._mesh import Mesh, P, part, processes, set_mesh, shard
from ._look import callback, debug_nans, print, profile, tap
from ._program import Program, compile, export, load_program
from ._reductions import (
    all, any, argmax, argmin, argsort, count_nonzero, cumprod, cumsum, cumulative_prod, cumulative_sum, diff, logsumexp,
    max, mean, min, prod, sort, std, sum, topk, var,
)
from ._reference import Ref
from ._search import (
    isin, nonzero, searchsorted, take, take_along_axis, unique_all, unique_counts, unique_inverse, unique_values,
)
from ._shapes import (
    broadcast_arrays, broadcast_shapes, broadcast_to, concat, concatenate, expand_dims, flip, matrix_transpose, moveaxis,
    name_axes, pad, permute_dims, rearrange, repeat, reshape, roll, split, squeeze, stack, swapaxes, tile, transpose, unstack,
)
from ._sizes import Size
from ._jit import jit
from ._trace import Dim, tracing
from ._transform import (
    checkpoint, cond, fori_loop, grad, jvp, scan, value_and_grad, vjp, vmap, while_loop,
)
from . import _tree as tree
from . import _progress as _progress
from . import collectives, linalg, nn, random
from .linalg import einsum, matmul, outer, tensordot, vecdot

bool = bool_
newaxis = None
__version__ = _native.version
__array_api_version__ = "2024.12"


_MODULES = (("nn", nn), ("linalg", linalg), ("random", random), ("collectives", collectives))


def _namespace(version: str | None = None) -> _Any:
    if version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"the array API of version {version} is not known")
    import sys

    return sys.modules[__name__]


def __getattr__(name: str) -> _Any:
    raise _hints.missing(__name__, name)


class _Info:
    """What `__array_namespace_info__` gives."""

    def capabilities(self) -> dict[str, _Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> str:
        return "cpu"

    def default_dtypes(self, *, device: _Any = None) -> dict[str, DType]:
        return {"real floating": float32, "integral": int32, "indexing": int64}

    def devices(self) -> list[str]:
        return ["cpu"]

    def dtypes(self, *, device: _Any = None, kind: _Any = None) -> dict[str, DType]:
        from ._dtypes import ALL

        return {d.name: d for d in ALL if d.name not in ("float16", "bfloat16") and (kind is None or isdtype(d, kind))}


def __array_namespace_info__() -> _Info:
    return _Info()


_hints.say_options(globals(), [name for name in globals() if not name.startswith("_")])
_imports.say_imports(_module for _, _module in _MODULES)
for _, _module in _MODULES:
    _hints.say_options(vars(_module), _module.__all__)
