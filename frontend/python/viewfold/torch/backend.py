"""torch.compile(model, backend="viewfold"): graphs of torch, forwards and backwards, as programs."""

from __future__ import annotations

import contextlib
import copy
import gc
import logging
import weakref
from typing import Any, Callable, Iterator

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from . import inference, recurrent
from .decompose import decompositions
from .program import CannotTake, Program, placeholders, value
from .rows.call import Unsupported, dtype_of
from .rows.table import row_of
from .symbols import SCALARS, VARYING, values_of

_log = logging.getLogger("viewfold.torch")


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without collections of garbage: each walks all that torch has, and what compiling makes stays."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Report:
    """What became of the graphs of a compiled function: programs, and what runs in torch."""

    def __init__(self) -> None:
        self.programs: list[Program] = []
        self.eager: list[tuple[str, str]] = []  # operation, reason
        self.by_size: list[tuple[str, str]] = []  # where sizes are numbers, with a program for each: operation, reason

    def __str__(self) -> str:
        taken = sum(sum(n.op == "call_function" for n in p.module.graph.nodes) for p in self.programs)
        lines = [f"{len(self.programs)} programs of {taken} operations; {len(self.eager)} operations run in torch"]
        lines += [f"  {name}: {reason}" for name, reason in self.eager]
        lines += [f"  a program for each size, for {name}: {reason}" for name, reason in self.by_size]
        return "\n".join(lines)


class Compiled:
    """A graph that is taken whole: programs for its sizes, and for weights that stay as they are.

    constants: numbers of the arguments whose elements may be constants; given: those arguments by number, as the first call has
    them, or nothing where they are not known yet. now: what cannot be compiled is told at once, and not by the first call.
    CannotTake: something has no row.
    """

    def __init__(self, module: fx.GraphModule, report: Report, constants: tuple[int, ...] = (),
                 given: dict[int, torch.Tensor] | None = None, now: bool = False) -> None:
        self.module, self.report, self.constants = module, report, constants
        self.weights: list[tuple[int, torch.Tensor, int, int]] = []  # argument, tensor, version, address
        self.by_sizes: dict[Any, Callable[[Any], Any]] = {}
        self.instead: Callable[[Any], Any] | None = None  # where a call finds out that something cannot be taken
        self.program: Program | None = None
        self.always: Program | None = None  # the one of each call, where neither sizes nor weights can be others
        self.begun: Program | None = None  # which compiles, until the first call needs it
        self.varies = any(isinstance(s, VARYING) for n in placeholders(module) for s in (
            value(n).shape if isinstance(value(n), torch.Tensor) else [value(n)]))
        if constants and not given:
            self._record({})  # can it be taken? The weights come with the first call
        elif now:
            self.program = self._made({})
        else:
            self._freeze(given or {})

    def _record(self, weights: dict[int, torch.Tensor]) -> Program | None:
        """None: sizes that vary are numbers, with a program for each."""
        try:
            return Program(self.module, weights)
        except CannotTake as e:
            if not self.varies or _has_no_row(e.node):
                raise
            if (why := (str(e.node.target), e.reason)) not in self.report.by_size:
                self.report.by_size.append(why)
            return None

    def _begin(self, weights: dict[int, torch.Tensor]) -> Program | None:
        with _uncollected():
            made = self._record(weights)
            if made is not None:
                self.report.programs.append(made.begin())
        return made

    def _compiled(self, begun: Program) -> Program:
        try:
            with _uncollected():
                return begun.compile()
        except CannotTake:
            self.report.programs.remove(begun)
            raise

    def _made(self, weights: dict[int, torch.Tensor]) -> Program | None:
        begun = self._begin(weights)
        return begun if begun is None else self._compiled(begun)

    def _freeze(self, given: dict[int, torch.Tensor]) -> None:
        self.weights = [(n, t, t._version, t.data_ptr()) for n, t in given.items()]
        self.begun = self._begin(given)

    def _changed(self, arguments: Any) -> bool:
        for n, tensor, version, address in self.weights:
            t = arguments[n]
            if t is not tensor or t._version != version or t.data_ptr() != address:
                return True
        return False

    def __call__(self, arguments: Any) -> Any:
        if self.always is not None:
            return self.always(arguments)
        if self.instead is None:
            try:
                function = self._of(arguments)
            except CannotTake as e:
                function = self.instead = _spread(_in_parts(self.module, self.report, e))
        else:
            function = self.instead
        return function(arguments)

    def _of(self, arguments: Any) -> Callable[[Any], Any]:
        if self.constants:
            if not self.weights:
                self._freeze({n: arguments[n] for n in self.constants})
            elif self._changed(arguments):  # weights are arguments from now on
                self.constants, self.weights, self.by_sizes = (), [], {}
                self.begun, self.program = None, self._made({})
        if self.begun is not None:
            self.program, self.begun = self._compiled(self.begun), None
        if self.program is not None and self.program.recording.symbols.fit(arguments):
            self.always = self.program if self.program.plan is not None and not self.constants else None
            return self.program
        return self._of_sizes(arguments)

    def _of_sizes(self, arguments: Any) -> Callable[[Any], Any]:
        sizes = values_of(self.module, arguments)
        key = tuple(sizes.values())
        if key not in self.by_sizes:
            given = {n: arguments[n] for n in self.constants}
            try:
                made = Program(self.module, given, sizes).compile()
            except CannotTake as e:
                self.by_sizes[key] = _spread(_in_parts(self.module, self.report, e))
            else:
                self.by_sizes[key] = made
                self.report.programs.append(made)
        return self.by_sizes[key]


def _spread(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda arguments: function(*arguments)


def _foreign(node: fx.Node) -> str:
    """Why no program has an argument or a result of the call: of a dtype, device or layout that is not taken; "" where none is."""
    for n in (*node.all_input_nodes, node):
        val = value(n)
        for x in val if isinstance(val, (tuple, list)) else [val]:
            if not isinstance(x, torch.Tensor):
                continue
            if x.device.type != "cpu" or x.layout != torch.strided:
                return f"a tensor on {x.device}, {x.layout}"
            try:
                dtype_of(x.dtype)
            except Unsupported as e:
                return str(e)
    return ""


def _has_no_row(node: fx.Node) -> bool:
    return (node.op == "call_function" and row_of(node.target) is None and "getitem" not in str(node.target) and
            not isinstance(value(node), SCALARS))


class _Taken(OperatorSupportBase):
    """Has a call a row, but for those that turned out not to be taken?"""

    def __init__(self, refused: set[str]) -> None:
        self.refused = refused

    def is_node_supported(self, submodules: Any, node: fx.Node) -> bool:
        if node.op != "call_function" or node.name in self.refused:
            return False
        return not _has_no_row(node)


def _in_parts(module: fx.GraphModule, report: Report, error: CannotTake) -> Callable[..., Any]:
    """The graph with programs for what is taken, between operations that run in torch."""
    refused: dict[str, tuple[str, str]] = {}
    if error.node.op == "call_function":
        refused[error.node.name] = (str(error.node.target), error.reason)
    for node in module.graph.nodes:
        if _has_no_row(node):
            refused[node.name] = (str(node.target), "there is no row for it")
        elif any(n.op == "get_attr" and isinstance(getattr(module, str(n.target)), fx.GraphModule) for n in node.all_input_nodes):
            refused[node.name] = (str(node.target), "branches and loops of a graph that is cut")
        elif node.op == "call_function" and (reason := _foreign(node)):
            refused[node.name] = (str(node.target), reason)
    while True:
        whole = fx.GraphModule(module, copy.deepcopy(module.graph))
        for old, new in zip(module.graph.nodes, whole.graph.nodes):
            new.meta = old.meta
        split = CapabilityBasedPartitioner(whole, _Taken(set(refused)), allows_single_node_partition=True
                                           ).partition_and_fuse()
        made: dict[str, Compiled] = {}
        parts = Report()
        try:
            for name, part in list(split.named_children()):
                if name.startswith("fused_") and isinstance(part, fx.GraphModule):
                    made[name] = Compiled(part, parts, now=True)
        except CannotTake as e:
            if e.node.name in refused or e.node.op == "placeholder":
                _log.warning("a graph runs in torch: %s", e)
                report.eager += [(str(n.target), str(e)) for n in module.graph.nodes if n.op == "call_function"]
                return module.forward
            refused[e.node.name] = (str(e.node.target), e.reason)
            continue
        break
    for name, compiled in made.items():
        output = next(n for n in getattr(split, name).graph.nodes if n.op == "output")
        setattr(split, name, _Part(compiled, not isinstance(output.args[0], (tuple, list))))
    report.programs += parts.programs
    report.eager += list(refused.values())
    for operation, reason in refused.values():
        _log.info("%s runs in torch: %s", operation, reason)
    return split.forward


class _Part(torch.nn.Module):
    def __init__(self, compiled: Compiled, single: bool) -> None:
        super().__init__()
        self.compiled, self.single = compiled, single

    def forward(self, *arguments: Any) -> Any:
        made = self.compiled(arguments)
        return made[0] if self.single else made


def compile_graph(module: fx.GraphModule, report: Report, constants: tuple[int, ...] = (),
                  given: dict[int, torch.Tensor] | None = None) -> Callable[[Any], Any]:
    """A function of a list of arguments, which does what the graph does. constants, given: as of Compiled."""
    try:
        return Compiled(module, report, constants, given)
    except CannotTake as e:
        return _spread(_in_parts(module, report, e))


def _boxed(compiled: Callable[[Any], Any], report: Report) -> Callable[..., Any]:
    """As AOTAutograd calls it: with a list that it empties."""

    def call(arguments: list[Any]) -> Any:
        made = compiled(arguments)
        arguments.clear()
        return made

    call._boxed_call = True  # type: ignore[attr-defined]
    call.report = report  # type: ignore[attr-defined]
    return call


def _plain(compiled: Callable[[Any], Any], held: tuple[torch.Tensor, ...], report: Report) -> Callable[..., Any]:
    """As dynamo calls it. held: arguments before those of a call."""

    def call(*arguments: Any) -> Any:
        return compiled(held + arguments)

    call.report = report  # type: ignore[attr-defined]
    return call


_reports: list[weakref.ref[Report]] = []  # a report lives as long as the functions that it is of


def _static(module: fx.GraphModule) -> tuple[int, ...]:
    """The arguments that are parameters and buffers of the model."""
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return tuple(getattr(metadata, "static_input_indices", None) or ())


def backend(module: fx.GraphModule, examples: Any, *, options: dict[str, Any] | None = None,
            mode: str | None = None) -> Any:
    """The back end of torch.compile.

    options: `freeze` (True where it is not said): weights of a model that is compiled without gradients are constants,
    packed once; where one is changed, by an operation of torch or by another tensor, the model is compiled again with
    weights as arguments. A change of elements that torch does not count (through `.data`, or NumPy) is not noticed.
    """
    unknown = set(options or {}) - {"freeze"}
    if unknown:
        raise ValueError(f"the back end viewfold has no option {sorted(unknown)[0]!r}; it takes 'freeze'")
    freeze = (options or {}).get("freeze", True)
    report = Report()
    _reports[:] = [r for r in _reports if r() is not None] + [weakref.ref(report)]

    def with_gradients(graph: fx.GraphModule, arguments: Any) -> Any:
        return _boxed(compile_graph(graph, report), report)

    def without(graph: fx.GraphModule, arguments: Any) -> Any:
        return _boxed(compile_graph(graph, report, _static(graph) if freeze else ()), report)

    module = recurrent.in_place_of_torch(module)
    with _uncollected():
        alone = inference.recorded(module, examples, decompositions())
    if alone is not None:
        weights = alone.weights if freeze else ()
        arguments = (*alone.held, *examples)
        given = {n: arguments[n] for n in weights}
        known = not any(isinstance(t, FakeTensor) for t in given.values())
        return _plain(compile_graph(alone.graph, report, weights, given if known else None), alone.held, report)
    compiler = aot_autograd(fw_compiler=with_gradients, bw_compiler=with_gradients, inference_compiler=without,
                            decompositions=decompositions(), partition_fn=min_cut_rematerialization_partition,
                            keep_inference_input_mutations=False)
    return compiler(module, examples)


recurrent.allow(backend)


def forget() -> None:
    """Empties the list of `explain`; compiled functions stay."""
    _reports.clear()


def explain() -> list[Report]:
    """What became of each graph whose compiled function is there, the last one last; `print` says what runs in torch."""
    return [report for report in (r() for r in _reports) if report is not None]
