"""A graph of torch as one program: recorded, compiled, and called with tensors."""

from __future__ import annotations

import operator
import os
import threading
from array import array
from typing import Any, Callable, NamedTuple

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from .. import _native
from .._array import Array, apply
from .._creation import from_dlpack
from .._dtypes import bool_, int64
from .._sizes import Size, text_list
from .layout import Given, Part, Result, View, empty_strided, is_alias_of, lies_within, memory_order, shares, size_of
from .rows.call import Call, Unsupported, dtype_of
from .rows.table import row_of
from .symbols import SCALARS, VARYING, Symbols, number_of


class CannotTake(Exception):
    """A node of the graph, and why no program has it."""

    def __init__(self, node: fx.Node, reason: str) -> None:
        super().__init__(f"{node.target}: {reason}")
        self.node, self.reason = node, reason


class _Plan(NamedTuple):
    """A call whose sizes are numbers. made: shape, strides and dtype of what the program writes; returned: what gives each
    result, of the arguments and of what is written; None: results are what is written."""

    made: list[tuple[tuple[int, ...], tuple[int, ...], torch.dtype]]
    returned: list[Callable[[Any, list[torch.Tensor]], Any]] | None


class Recording:
    """What calls have in common while a graph is recorded."""

    int64, boolean = int64, bool_

    def __init__(self, graph: Any, fixed: dict[Any, int] | None, ranges: Any) -> None:
        self.graph = graph
        self.symbols = Symbols(graph, fixed, ranges)
        self.size = self.symbols.size
        self.draws = 0
        self._seed: Any = None

    @property
    def draws_numbers(self) -> bool:
        return self.draws > 0

    def seed(self) -> Array:
        """Another seed for each use, of the one that a run is given."""
        if self._seed is None:
            self._seed = self.graph.input("seed", int64.code, ())
        self.draws += 1
        return apply("add", (self._seed, self.draws))


def value(node: Any) -> Any:
    """What torch says of a node's result: a tensor without elements, a size, or a tuple of them."""
    return node.meta.get("val") if isinstance(node, fx.Node) else node


def _threads() -> int:
    """How many threads a program may use."""
    told = os.environ.get("VIEWFOLD_THREADS", "")
    return int(told) if told.isdigit() and int(told) else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def placeholders(module: fx.GraphModule) -> list[fx.Node]:
    return [n for n in module.graph.nodes if n.op == "placeholder"]


def _text(size: Any) -> Any:
    return size.text if isinstance(size, Size) else size


class Program:
    """A graph, for arguments of the dtypes, sizes and strides that it was traced with.

    weights: tensors by number of the argument, whose elements are constants of the program. fixed: numbers for the
    symbols in sizes; None: sizes are variables. strides: of the arguments, where they differ from what the graph was
    traced with. CannotTake names the first node that has no row.
    """

    called = "compiled"
    ranges: dict[Any, Any] = {}  # of symbols, where torch was told of others than it traced with

    def __init__(self, module: fx.GraphModule, weights: dict[int, torch.Tensor] | None = None,
                 fixed: dict[Any, int] | None = None, strides: dict[int, Any] | None = None) -> None:
        self.module, self.graph = module, _native.graph(self.called)
        self.made_with = (weights, fixed)
        self.strides = strides or {}
        self.layouts = array("q")  # of the inputs: rank, sizes, strides; -1 for what varies
        self.layout: Any = None  # those, once compiled
        self.others: Program | None = None  # for arguments that lie in another way
        self.plan: _Plan | None = None  # where all but addresses is known before a call
        self.inputs: list[int] = []  # numbers of the arguments that runs are given
        self.copied: list[int] = []  # places among these of parts of arrays, whose sizes vary
        self.outputs: list[Result] = []
        self.returned: list[Any] = []  # of each result: the number of the output, or what it is
        env: dict[fx.Node, Any] = {}
        with _native.Recording(self.graph):
            self.recording = Recording(self.graph, fixed, self.ranges)
            self._declare()
            for number, node in enumerate(placeholders(module)):
                given = self._constant(number)
                env[node] = self._argument(number, node) if given is None else given
            for node in module.graph.nodes:
                if node.op == "output":
                    try:
                        self._return(node, env)
                    except Unsupported as e:
                        raise CannotTake(node, str(e)) from None
                elif node.op != "placeholder":
                    env[node] = self._record(module, node, env)
        self.program: Any = None
        self.lock = threading.Lock()
        self.beside: threading.Thread | None = None  # which compiles, since `begin`
        self.failed: Exception | None = None  # there

    def _constant(self, number: int) -> Array | None:
        """The elements of an argument that is a constant; None: it is given in runs."""
        given = (self.made_with[0] or {}).get(number)
        return None if given is None else constant(given)

    def _declare(self) -> None:
        for number, node in enumerate(placeholders(self.module)):
            val = value(node)
            if isinstance(val, VARYING):
                self.recording.symbols.declare(number, val, None)
            for axis, size in enumerate(val.shape if isinstance(val, torch.Tensor) else ()):
                if isinstance(size, torch.SymInt):
                    self.recording.symbols.declare(number, size, axis)

    def _argument(self, number: int, node: fx.Node) -> Any:
        val = value(node)
        if isinstance(val, SCALARS):
            return self._size(node)
        if not isinstance(val, torch.Tensor):
            raise CannotTake(node, f"an argument of the type {type(val).__name__}")
        if val.device.type != "cpu" or val.layout != torch.strided:
            raise CannotTake(node, f"a tensor on {val.device}, {val.layout}")
        try:
            code = dtype_of(val.dtype).code
            shape = [self.recording.size(s) for s in val.shape]
            steps = list(self.strides.get(number) or [self.recording.size(s) for s in val.stride()])
        except Unsupported as e:
            raise CannotTake(node, str(e)) from None
        base = [1 if step == 0 else s for s, step in zip(shape, steps)]  # an axis of stride 0 repeats one element
        order = memory_order(base, self.strides.get(number) or val.stride(), val.shape)
        if order is None and any(isinstance(s, Size) for s in base + steps):  # programs have no such inputs: a run copies it
            self.copied.append(len(self.inputs))
            base, steps, order = shape, [-1] * len(shape), list(range(len(shape)))
        self.inputs.append(number)
        for numbers in (shape, steps):
            self.layouts.extend([len(shape)] * (numbers is shape) + [s if isinstance(s, int) else -1 for s in numbers])
        if order is not None:
            x = self.graph.input(node.name, code, tuple(_text(base[a]) for a in order))
            if order != list(range(len(order))):
                x = apply("permute", (x,), "order=" + text_list(order.index(a) for a in range(len(order))))
        else:
            x = self.graph.input(node.name, code, tuple(base), tuple(steps) if shape else None)
        return x if base == shape else apply("expand", (x,), "shape=" + text_list(shape))

    def _size(self, node: fx.Node) -> Any:
        try:
            return self.recording.size(value(node))
        except Unsupported as e:
            raise CannotTake(node, str(e)) from None

    def _record(self, module: fx.GraphModule, node: fx.Node, env: dict[fx.Node, Any]) -> Any:
        if node.op == "get_attr":
            held = getattr(module, str(node.target))
            return self._function(held) if isinstance(held, fx.GraphModule) else constant(held)
        if node.target is operator.getitem:
            return env[node.args[0]][node.args[1]]  # type: ignore[index]
        if isinstance(value(node), SCALARS):
            return self._size(node)
        row: Any = row_of(node.target)
        if row is None:
            raise CannotTake(node, "there is no row for it")
        args = fx.map_arg(list(node.args), lambda n: env[n])
        kwargs = fx.map_arg(dict(node.kwargs), lambda n: env[n])
        try:
            used = {n.args[1] for n in node.users if n.target is operator.getitem}
            call = Call(value(node), fx.map_arg(list(node.args), value), self.recording, used)
            return row(call, *args, **kwargs)
        except Unsupported as e:
            raise CannotTake(node, str(e)) from None
        except Exception as e:
            raise CannotTake(node, f"{type(e).__name__}: {e}") from e

    def _function(self, module: fx.GraphModule) -> Callable[..., list[Any]]:
        """A graph that a node of another runs, a branch or the body of a loop: of arrays, its results."""

        def record(*given: Any) -> list[Any]:
            env: dict[fx.Node, Any] = dict(zip(placeholders(module), given, strict=True))
            for node in module.graph.nodes:
                if node.op == "output":
                    made: Any = node.args[0]
                    return [env[n] if isinstance(n, fx.Node) else n for n in (made if isinstance(made, (list, tuple)) else [made])]
                if node.op != "placeholder":
                    env[node] = self._record(module, node, env)
            return []

        return record

    def _return(self, node: fx.Node, env: dict[fx.Node, Any]) -> None:
        given: Any = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
        arguments = {n: number for number, n in enumerate(placeholders(self.module))}
        alone: list[tuple[int, Any]] = []  # results in memory of their own, by place: views of them come behind
        for place, r in enumerate(given):
            val = value(r)
            if not isinstance(val, torch.Tensor):
                self.returned.append(env[r] if isinstance(r, fx.Node) else r)
            elif r in arguments:
                self.returned.append(Given(arguments[r]))
            elif (view := self._view(val)) is not None:
                self.returned.append(view)
            else:
                self.returned.append(None)
                alone.append((place, val))
        bases: list[int] = []  # places of those that have memory of their own: the larger of two that share some
        for place, val in sorted(alone, key=lambda p: -size_of(p[1])):
            if not any(shares(val, value(given[b])) for b in bases):
                bases.append(place)
        for place in sorted(bases):
            val = value(given[place])
            shape = [self.recording.size(s) for s in val.shape]
            order = memory_order(shape, val.stride(), val.shape) or list(range(len(shape)))
            self._output(given[place], env[given[place]], val.dtype, shape, order)
            self.returned[place] = self.outputs[-1]
        for place, val in alone:
            if self.returned[place] is None:
                base = next(b for b in bases if shares(val, value(given[b])))
                shape, strides = ([self.recording.size(s) for s in g] for g in (val.shape, val.stride()))
                self.returned[place] = Part(self.outputs.index(self.returned[base]), shape, strides,
                                            self.recording.size(val.storage_offset()))

    def _view(self, val: torch.Tensor) -> View | None:
        """The result as a view of the argument whose memory it shares, if there is one that lies as it was traced."""
        for number, node in enumerate(placeholders(self.module)):
            base = value(node)
            if (number not in self.inputs or number in self.strides or not is_alias_of(val, base) or
                    not lies_within(val, base)):
                continue
            if val.dtype != base.dtype:
                return None
            try:
                shape, strides = ([self.recording.size(s) for s in given] for given in (val.shape, val.stride()))
                return View(number, shape, strides, self.recording.size(val.storage_offset() - base.storage_offset()))
            except Unsupported:
                return None
        return None

    def _output(self, node: fx.Node, made: Array, dtype: torch.dtype, shape: list[Any], order: list[int]) -> None:
        if order != list(range(len(shape))):
            made = apply("permute", (made,), "order=" + text_list(order))
        if made.dtype is not dtype_of(dtype):
            raise CannotTake(node, f"{made.dtype.name} where torch makes {dtype}")
        self.graph.output(f"y{len(self.outputs)}", made)
        self.outputs.append(Result(dtype, shape, order))

    def _compile_beside(self) -> None:
        try:
            self.program = self.graph.compile()
        except Exception as e:  # `compile` raises it
            self.failed = e

    def begin(self) -> "Program":
        """Compiles: where programs may use two threads, in one beside torch, which goes on with what it makes of the graph, and
        `compile` waits for it."""
        if _threads() == 1 or not self.outputs:
            return self.compile()
        self.beside = threading.Thread(target=self._compile_beside, name="viewfold compiles")
        self.beside.start()
        return self

    def compile(self) -> "Program":
        if self.beside is not None:
            self.beside.join()
        with self.lock:
            if self.outputs and self.layout is None:
                self._finish()
            elif self.plan is None:
                self.plan = self._plan()
        return self

    def _finish(self) -> None:
        if self.recording.draws_numbers:
            self.layouts.append(0)
        try:
            if self.failed is not None:
                raise self.failed
            if self.program is None:
                self.program = self.graph.compile()
        except Exception as e:
            raise CannotTake(next(n for n in self.module.graph.nodes if n.op == "output"), str(e)) from e
        self.plan = self._plan()
        self.layout = self.layouts.tobytes()

    def _plan(self) -> "_Plan | None":
        if self.recording.draws_numbers or self.recording.symbols.sources or self.copied:
            return None
        made = [(*r.fixed, r.dtype) for r in self.outputs if r.fixed is not None]
        return _Plan(made, None if self.returned == self.outputs else [self._returns(r) for r in self.returned])

    def _returns(self, r: Any) -> Callable[[Any, list[torch.Tensor]], Any]:
        """How a result whose sizes are numbers comes of the arguments of a call and of what the program has written."""
        if isinstance(r, Result):
            place = self.outputs.index(r)
            return lambda arguments, made: made[place]
        if isinstance(r, Part):
            return lambda arguments, made: r.of(made[r.number], {})
        if isinstance(r, View):
            return lambda arguments, made: r.of(arguments[r.number], {})
        if isinstance(r, Given):
            return lambda arguments, made: arguments[r.number]
        return lambda arguments, made: r

    def _otherwise(self, arguments: Any) -> list[Any]:
        """What arguments give that do not lie as those that this is compiled for, or whose addresses are not aligned."""
        odd = [n for n in self.inputs if arguments[n].data_ptr() % arguments[n].element_size()]
        if not odd:
            return self._lying_as(arguments)(arguments)
        return self([a.clone() if n in odd else a for n, a in enumerate(arguments)])

    def _lying_as(self, arguments: Any) -> "Program":
        """A program for arguments with other strides: of what was computed before, torch may know other ones."""
        strides = {n: arguments[n].stride() for n in self.inputs}
        at = self.others
        while at is not None and at.strides != strides:
            at = at.others
        if at is None:
            at = Program(self.module, *self.made_with, strides).compile()
            at.others, self.others = self.others, at
        return at

    def __call__(self, arguments: Any) -> list[Any]:
        inputs = [arguments[n] for n in self.inputs]
        if self.plan is not None:
            made = [empty_strided(shape, strides, dtype) for shape, strides, dtype in self.plan.made]
            if made and _native.run_into(self.program, inputs, (), made, self.layout) is not None:
                return self._otherwise(arguments)
            return made if self.plan.returned is None else [r(arguments, made) for r in self.plan.returned]
        for place in self.copied:
            inputs[place] = inputs[place].contiguous()
        if self.recording.draws_numbers:
            inputs.append(torch.randint(-(1 << 62), 1 << 62, ()))
        symbols = self.recording.symbols
        sizes = tuple([int(arguments[n]) if axis is None else arguments[n].shape[axis] for n, axis in symbols.sources])
        values = dict(zip(symbols.names, sizes))
        made = [r.make(values) for r in self.outputs]
        if self.program is not None and _native.run_into(self.program, inputs, sizes, made, self.layout) is not None:
            return self._otherwise(arguments)
        if self.returned == self.outputs:
            return made
        by_result = dict(zip(self.outputs, made))
        results: list[Any] = []
        for r in self.returned:
            if isinstance(r, Result):
                results.append(by_result[r])
            elif isinstance(r, Part):
                results.append(r.of(made[r.number], values))
            elif isinstance(r, View):
                results.append(r.of(arguments[r.number], values))
            elif isinstance(r, Given):
                results.append(arguments[r.number])
            else:
                results.append(number_of(r, values) if isinstance(r, Size) else r)
        return results


def constant(x: torch.Tensor) -> Array:
    """The elements of a tensor as a constant of the graph that is recorded."""
    with unset_fake_temporarily():
        return from_dlpack(x.detach().contiguous())
