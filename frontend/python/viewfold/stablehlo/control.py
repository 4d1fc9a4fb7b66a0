"""Calls, conditions and loops.

A `while` that counts to a number is a scan, so that it has derivatives: what the body returns as it was given is taken from the
surroundings, parts of it at the counter become slices, and an array that each iteration writes its own part of is stacked.
"""

from __future__ import annotations

from typing import Any, Sequence

from .. import _native
from .._array import Array, apply
from .known import Known, direction
from .recorder import Call, Unsupported
from .rows import shapes
from .text import Region


def call(call: Call, *operands: Any) -> list[Any]:
    name = call.operation.symbol or str(call.attributes.get("callee", ""))[1:]
    return call.recorder.function(name, operands)


def custom_call(call: Call, *operands: Any) -> list[Any]:
    name = call.operation.symbol or call.attributes.get("call_target_name")
    raise Unsupported(f"{name}, a function of XLA's that no text says what it computes")


def _arrays(values: Sequence[Any]) -> list[Array]:
    return [x if isinstance(x, Array) else x.instead() for x in values]


# conditions

def _chosen(call: Call, condition: Array, then: Any, otherwise: Any) -> list[Any]:
    known = call.known(condition)
    if known is not None:
        return then() if known else otherwise()
    return list(_native.cond(condition, lambda: _arrays(then()), lambda: _arrays(otherwise()), [], len(call.operation.types)))


def _branch(call: Call, region: Region) -> Any:
    return lambda: call.recorder.region(region, (), call.values)


def if_(call: Call, condition: Array) -> list[Any]:
    return _chosen(call, condition, _branch(call, call.regions[0]), _branch(call, call.regions[1]))


def case(call: Call, index: Array) -> list[Any]:
    """An index that no branch has is that of the last one."""
    branches = [_branch(call, r) for r in call.regions]
    known = call.known(index)
    if known is not None:
        return branches[known if 0 <= known < len(branches) else -1]()

    def from_branch(n: int) -> list[Any]:
        if n == len(branches) - 1:
            return branches[n]()
        return _chosen(call, apply("eq", (index, n)), branches[n], lambda: from_branch(n + 1))

    return from_branch(0)


# loops

class _NotStacked(Exception):
    """An array of a loop's state is used otherwise than by a write of one part in each iteration."""

    def __init__(self, slot: int) -> None:
        self.slot = slot


class _Stack:
    """Stands for an array of the state whose parts the iterations write."""

    def __init__(self, slot: int, shape: tuple[int, ...]) -> None:
        self.slot, self.shape = slot, shape

    def instead(self) -> Any:
        raise _NotStacked(self.slot)


class _Stacked(_Stack):
    """The same after the write: the part, and at which index."""

    def __init__(self, stack: _Stack, part: Array, at: Known) -> None:
        super().__init__(stack.slot, stack.shape)
        self.part, self.at = part, at


class _Loop:
    """Of `length` iterations. slices: the arrays that are read at the counter, by (identity, index), with the slice of this
    iteration, or None while it is found out which there are."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.readable: dict[int, Array] = {}
        self.slices: dict[tuple[int, int, int], Any] = {}


def _one_of_the_counter(known: Known | None, size: int, part: int) -> bool:
    """Is it an index of single elements that moves by one?"""
    return known is not None and abs(known.scale) == 1 and part == 1 and known.bounds()[0] >= 0 and known.bounds()[1] < size


def dynamic_slice(call: Call, x: Any, *starts: Array) -> list[Any] | None:
    """A slice of a scan; None: it is none."""
    sizes = call.numbers("sizes", "slice_sizes")
    if not isinstance(x, Array) or not sizes or list(x.shape[1:]) != sizes[1:]:
        return None
    at = call.recorder.known(starts[0])
    if at is None or not _one_of_the_counter(at, x.shape[0], sizes[0]) or id(x) not in at.loop.readable:
        return None
    key = (id(x), at.scale, at.offset)
    part = at.loop.slices.setdefault(key, None)
    return None if part is None else [shapes.reshape_to(part, sizes)]


def dynamic_update_slice(call: Call, x: Any, update: Any, *starts: Array) -> list[Any] | None:
    if not isinstance(x, _Stack) or isinstance(x, _Stacked) or not isinstance(update, Array):
        return None
    at = call.recorder.known(starts[0])
    if list(update.shape[1:]) != list(x.shape[1:]) or not _one_of_the_counter(at, x.shape[0], update.shape[0]):
        return None
    return [_Stacked(x, shapes.reshape_to(update, update.shape[1:]), at)]  # type: ignore[arg-type]


class _While:
    def __init__(self, call: Call, init: Sequence[Array]) -> None:
        self.call, self.recorder, self.init = call, call.recorder, init
        self.condition, self.body = call.regions
        self.loop = _Loop(0)
        self.counters: dict[int, int] = {}  # slot: the value at the beginning
        self.kept: set[int] = set()  # slots that stay as they are
        self.stacked: set[int] = set()

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        return self.recorder.region(self.body, arguments, self.call.values)

    def count(self) -> tuple[int, int] | None:
        """The slot that is compared with a number, and the number."""
        *constants, compare = self.condition.operations
        given = {o.results[0]: o for o in constants if o.name == "stablehlo.constant"}
        if compare.name != "stablehlo.compare" or len(given) != len(constants) or direction(compare) != "LT":
            return None
        counter, bound = compare.operands
        if counter not in self.condition.parameters or bound in self.condition.parameters:
            return None
        if bound in given:
            array = self.recorder.operation(given[bound], {})[0]
        else:
            array = self.call.values[bound]
        known = self.call.known(array)
        return None if not isinstance(known, int) else (self.condition.parameters.index(counter), known)

    def find_counters(self) -> None:
        """And what stays as it is: the body is recorded for nothing."""
        while True:
            given = [x._another() for x in self.init]
            for n, begin in self.counters.items():
                self.recorder.know(given[n], Known(begin, 1, self.loop))
            with _native.Recording(silent=True):
                made = self.run(given)
            wrong = [n for n, begin in self.counters.items() if self.recorder.known(made[n]) != Known(begin + 1, 1, self.loop)]
            for n in wrong:
                del self.counters[n]
            if not wrong:
                self.kept = {n for n, (a, b) in enumerate(zip(given, made)) if a is b}
                return

    def arguments(self, states: Sequence[Array], counter: Any) -> list[Any]:
        left = iter(states)
        made: list[Any] = []
        for n, x in enumerate(self.init):
            if n in self.counters:
                at = apply("cast", (apply("add", (counter, self.counters[n])),), f"dtype={x.dtype.text}")
                self.recorder.know(at, Known(self.counters[n], 1, self.loop))
                made.append(at)
            elif n in self.kept:
                made.append(x)
            else:
                made.append(_Stack(n, tuple(x.shape)) if n in self.stacked else next(left))
        return made

    def results(self, made: Sequence[Any]) -> tuple[list[Array], list[_Stacked]]:
        """The next state, and what is stacked."""
        for n in self.stacked:
            if not isinstance(made[n], _Stacked) or made[n].slot != n:
                raise _NotStacked(n)
        return _arrays([made[n] for n in self.carried()]), [made[n] for n in sorted(self.stacked)]

    def find_stacks(self, states: Sequence[Array]) -> list[_Stacked]:
        with _native.Recording(silent=True):
            counter = apply("cast", (0,), "dtype=i64")
            return self.results(self.run(self.arguments([x._another() for x in states], counter)))[1]

    def carried(self) -> list[int]:
        """The slots that are nothing else."""
        return [n for n in range(len(self.init)) if n not in self.counters and n not in self.kept and n not in self.stacked]

    def states(self) -> list[Array]:
        return [self.init[n] for n in self.carried()]

    def scan(self) -> list[Any]:
        self.stacked = {n for n, x in enumerate(self.init) if x.ndim and n not in self.kept}
        self.loop.readable = {id(self.init[n]): self.init[n] for n in self.kept if self.init[n].ndim}
        while True:
            self.loop.slices = {}
            try:
                found = self.find_stacks(self.states())
                break
            except _NotStacked as error:
                if error.slot not in self.stacked:
                    raise
                self.stacked.discard(error.slot)
        keys, length = list(self.loop.slices), self.loop.length
        xs = [shapes.along(length, 0, 1)] + [self.sliced(*key) for key in keys]
        states = self.states()

        def step(*leaves: Any) -> list[Any]:
            self.loop.slices = dict(zip(keys, leaves[len(states) + 1:]))
            next_states, parts = self.results(self.run(self.arguments(leaves[:len(states)], leaves[len(states)])))
            return next_states + [p.part for p in parts]

        made = iter(_native.scan(step, states, xs, len(found), length, False))
        last = {n: next(made) for n in self.carried()}
        for stack, whole in zip(found, made):
            last[stack.slot] = self.placed(self.init[stack.slot], whole, stack.at)
        return [self.after(n, last.get(n)) for n in range(len(self.init))]

    def sliced(self, identity: int, scale: int, offset: int) -> Array:
        """The part of an array that the iterations read, in their order."""
        x, length = self.loop.readable[identity], self.loop.length
        low = offset if scale > 0 else offset - length + 1
        part = shapes.shrink(x, [(low, low + length)] + [(0, s) for s in x.shape[1:]])
        return part if scale > 0 else apply("flip", (part,), "axes=[0]")

    def placed(self, init: Array, made: Array, at: Known) -> Array:
        """The array after the loop: what the iterations wrote, and the rest as it was."""
        low, high = at.bounds()
        if at.scale < 0:
            made = apply("flip", (made,), "axes=[0]")
        parts = [shapes.shrink(init, [(b, e)] + [(0, s) for s in init.shape[1:]]) for b, e in ((0, low), (high + 1, init.shape[0]))]
        whole = [x for x in (parts[0], made, parts[1]) if x.shape[0]]
        return apply("concat", whole, "axis=0") if len(whole) > 1 else made

    def after(self, n: int, last: Any) -> Array:
        if n in self.kept:
            return self.init[n]
        if n not in self.counters:
            return last
        made = shapes.reshape_to(shapes.along(1, 0, 1), [])
        made = apply("cast", (apply("add", (made, self.counters[n] + self.loop.length)),), f"dtype={self.init[n].dtype.text}")
        self.recorder.know(made, Known(self.counters[n] + self.loop.length))
        return made

    def general(self) -> list[Any]:
        self.counters, self.stacked = {}, set()
        self.find_counters()
        states = self.states()
        if not states:
            raise Unsupported("a loop without an end")

        def holds(*leaves: Array) -> list[Any]:
            return _arrays(self.recorder.region(self.condition, self.arguments(leaves, None), self.call.values))

        def step(*leaves: Array) -> list[Any]:
            return self.results(self.run(self.arguments(leaves, None)))[0]

        made = iter(_native.while_loop(holds, step, states, -1))
        return [self.init[n] if n in self.kept else next(made) for n in range(len(self.init))]


def while_(call: Call, *init: Any) -> list[Any]:
    loop = _While(call, _arrays(init))
    counted = loop.count()
    begin = None if counted is None else call.known(loop.init[counted[0]])
    if counted is None or begin is None:
        return loop.general()
    loop.loop.length = max(counted[1] - begin, 0)
    if not loop.loop.length:
        return list(loop.init)
    for n, x in enumerate(loop.init):
        known = call.known(x)
        if isinstance(known, int) and not isinstance(known, bool) and not x.ndim and x.dtype.kind in "iu":
            loop.counters[n] = known
    loop.find_counters()
    return loop.scan() if counted[0] in loop.counters else loop.general()
