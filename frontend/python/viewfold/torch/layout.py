"""How tensors lie in memory: those that a program is given, and those that it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any, Callable

import torch

from .symbols import number_of


def _is(a: Any, b: Any) -> bool:
    """Are two sizes of torch equal, whatever the symbols in them stand for?"""
    a, b = (s.node.expr.expand() if isinstance(s, torch.SymInt) else s for s in (a, b))
    return bool(a == b)


def _hint(size: Any) -> int:
    """The number that a size had when the graph was traced."""
    return int(size.node.hint or 0) if isinstance(size, torch.SymInt) else size


def memory_order(sizes: Any, strides: Any, numbers: Any) -> list[int] | None:
    """The axes from the outermost to the innermost, of elements that lie densely; None: they do not.

    sizes: as the program has them, 1 for an axis that repeats; numbers: as torch has them."""
    known = [1 if _is(s, 1) else n for s, n in zip(sizes, numbers)]
    order = sorted(range(len(known)), key=lambda a: (_is(known[a], 1), 0 if _is(known[a], 1) else -_hint(strides[a]), a))
    step: Any = 1
    for a in reversed(order):
        if _is(known[a], 1):
            continue
        if not _is(strides[a], step):
            return None
        step = step * known[a]
    # axes of one element go where they are in the shape, as far as the others allow
    large = [a for a in order if not _is(known[a], 1)]
    if large == sorted(large):
        return list(range(len(known)))
    return large + [a for a in range(len(known)) if _is(known[a], 1)]


def size_of(x: torch.Tensor) -> int:
    """How many elements a result had when the graph was traced."""
    return reduce(mul, map(_hint, x.shape), 1)


# a function of torch that its own compilers use, and its stubs do not have
is_alias_of: Callable[[torch.Tensor, torch.Tensor], bool] = getattr(torch._C, "_is_alias_of")


def shares(x: torch.Tensor, base: torch.Tensor) -> bool:
    """Is a result a view of another, which has all of its memory, densely?"""
    return (is_alias_of(x, base) and x.dtype == base.dtype and _is(base.storage_offset(), 0) and
            _is(base.untyped_storage().nbytes(), base.numel() * base.element_size()))


def lies_within(x: torch.Tensor, base: torch.Tensor) -> bool:
    """Has a view no element before the first or behind the last one of another tensor, with the sizes that were traced? When
    the graph runs, what is around that tensor may be other memory than when it was traced."""
    def last(t: torch.Tensor) -> int:
        return sum((_hint(size) - 1) * _hint(stride) for size, stride in zip(t.shape, t.stride()))

    first = _hint(x.storage_offset()) - _hint(base.storage_offset())
    return 0 <= first and first + last(x) <= last(base)


def _allocator() -> Callable[[tuple[int, ...], tuple[int, ...], torch.dtype], torch.Tensor]:
    """Memory for a result: by the function of torch's own compilers, where it is there, in half the time."""
    made = getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None), "_empty_strided_cpu", None)
    return made or (lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype, device="cpu"))


empty_strided = _allocator()


class Result:
    """How a result is given back: memory for it, and its strides."""

    def __init__(self, dtype: torch.dtype, shape: list[Any], order: list[int]) -> None:
        self.dtype, self.shape, self.order = dtype, shape, order
        self.fixed = self._layout({}) if all(isinstance(s, int) for s in shape) else None

    def _layout(self, values: dict[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        shape = [number_of(s, values) for s in self.shape]
        strides, step = [1] * len(shape), 1
        for a in reversed(self.order):
            strides[a] = step
            step *= max(shape[a], 1)
        return tuple(shape), tuple(strides)

    def make(self, values: dict[str, int]) -> torch.Tensor:
        shape, strides = self.fixed or self._layout(values)
        return empty_strided(shape, strides, self.dtype)


@dataclass(frozen=True)
class Given:
    """A result that is an argument."""

    number: int


@dataclass(frozen=True)
class View:
    """A result that is a view of an argument: torch reads where it lies from it."""

    number: int
    shape: list[Any]
    strides: list[Any]
    offset: Any  # elements behind the first one of the argument

    def of(self, x: torch.Tensor, values: dict[str, int]) -> torch.Tensor:
        shape, strides = ([number_of(s, values) for s in given] for given in (self.shape, self.strides))
        return x.as_strided(shape, strides, x.storage_offset() + number_of(self.offset, values))


class Part(View):
    """A result that is a view of another, whose number this is."""
