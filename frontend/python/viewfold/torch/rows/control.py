"""Branches and loops that a run decides: torch.cond and while_loop. What they run are functions that record graphs."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ... import _native
from ..._array import Array, apply
from ..._creation import full
from .call import Call, Unsupported

Function = Callable[..., list[Any]]


def _arrays(made: Sequence[Any], what: str) -> list[Array]:
    if not all(isinstance(x, Array) for x in made):
        raise Unsupported(f"{what} of which a result is a number, or none")
    return list(made)


def _scalar(x: Any, dtype: Any) -> Array:
    """A truth value as an array without axes."""
    x = x if isinstance(x, Array) else full((), x, dtype=dtype)
    return apply("reshape", (x,), "shape=[]") if x.ndim else x


def cond(call: Call, predicate: Any, then: Function, otherwise: Function, operands: Sequence[Any] = ()) -> tuple[Array, ...]:
    given = [x for x in operands if isinstance(x, Array)]  # others are sizes

    def branch(function: Function) -> Function:
        def taken(*x: Array) -> list[Array]:
            arrays = iter(x)
            return _arrays(function(*(next(arrays) if isinstance(o, Array) else o for o in operands)), "a branch")

        return taken

    chosen = _scalar(predicate, call.recording.boolean)
    return tuple(_native.cond(chosen, branch(then), branch(otherwise), given, len(call.want)))


def while_loop(call: Call, condition: Function, body: Function, state: Sequence[Any], others: Sequence[Any] = ()) -> tuple[Array, ...]:
    """others: what both functions read and none changes."""
    given = _arrays(state, "a loop")
    made = _native.while_loop(lambda *x: [_scalar(condition(*x, *others)[0], call.recording.boolean)],
                              lambda *x: _arrays(body(*x, *others), "a loop"), given, -1)
    return tuple(made)
