"""What a row knows of the call that it stands for."""

from __future__ import annotations

from typing import Any

import torch

from ..._array import Array, apply
from ..._dtypes import dtype as to_dtype
from ..._sizes import Size, text_list


class Unsupported(Exception):
    """The call cannot be taken: it runs in torch. The text says why."""


def dtype_of(given: torch.dtype) -> Any:
    """The dtype of viewfold for one of torch."""
    name = str(given).removeprefix("torch.")
    try:
        return to_dtype(name)
    except (TypeError, ValueError, KeyError):
        raise Unsupported(f"the dtype {name}") from None


class Call:
    """A call in a graph of torch: `want` is what torch says of its results, `fakes` of its arguments, both without
    elements; `recording` holds what is common to all calls (the seed of random numbers); `used` are the numbers of those of
    several results that something reads."""

    def __init__(self, want: Any, fakes: Any, recording: Any, used: set[int]) -> None:
        self.want, self.fakes, self.recording, self.used = want, fakes, recording, used

    @property
    def dtype(self) -> Any:
        """Of the first result."""
        want = self.want[0] if isinstance(self.want, (tuple, list)) else self.want
        return dtype_of(want.dtype)

    @property
    def common(self) -> Any:
        """The dtype that torch's promotion gives for the first two arguments."""
        return dtype_of(torch.result_type(self.fakes[0], self.fakes[1]))

    def shape(self, number: int | None = None) -> list[Any]:
        """The sizes of a result: numbers, or expressions of variables."""
        want = self.want if number is None else self.want[number]
        return [self.recording.size(s) for s in want.shape]


def cast(x: Any, dtype: Any) -> Any:
    """An array in the dtype, also of a size that varies; numbers stay numbers."""
    if isinstance(x, Size):
        x = x.value(dtype.text if dtype.kind != "b" else "i64")
    if not isinstance(x, Array):
        return x
    return x if x.dtype is dtype else apply("cast", (x,), f"dtype={dtype.text}")


def array(x: Any, dtype: Any) -> Array:
    """An array in the dtype, also of a number or a size."""
    if isinstance(x, (Array, Size)):
        return cast(x, dtype)
    from ..._creation import full

    return full((), x, dtype=dtype)


def broadcast(x: Array, shape: list[Any]) -> Array:
    return x if list(x.shape) == list(shape) else apply("expand", (x,), "shape=" + text_list(shape))


def axes_of(axis: Any, rank: int) -> list[int]:
    """Axes from 0; none given: all."""
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        return list(range(rank))
    given = axis if isinstance(axis, (list, tuple)) else [axis]
    return [a % rank if rank else 0 for a in given]
