"""The graph of an inference, recorded while the operations of dynamo's graph run once on tensors without elements.

AOTAutograd runs a graph twice, first to find what is written and what is a view, then through functional tensors and proxies.
Where no gradient is wanted, sizes are numbers, and nothing is written but tensors that the graph itself makes and nothing
else sees, one run finds all that a program needs. Every other graph is left to AOTAutograd.
"""

from __future__ import annotations

import logging
import operator
from typing import Any, Callable, NamedTuple

import torch
from torch import fx
from torch._guards import detect_fake_mode
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from .program import placeholders
from .rows.table import row_of

_log = logging.getLogger("viewfold.torch")
_ATEN = torch.ops.aten
_STATEFUL = ("functorch", "torch.amp", "torch.autograd")  # modules of functions that change how others run


class Recorded(NamedTuple):
    """The arguments of `graph` are the tensors `held`, which dynamo's graph has as attributes, and behind them its arguments;
    weights: the numbers of those that are parameters and buffers of the model."""

    graph: fx.GraphModule
    held: tuple[torch.Tensor, ...]
    weights: tuple[int, ...]


class _Left(Exception):
    """The graph has what is left to AOTAutograd."""


def _storage(x: torch.Tensor) -> int:
    return x.untyped_storage()._cdata


class _Recorder(TorchDispatchMode):
    """Writes each operation that a program has a row for to a graph, and runs what others are made of."""

    def __init__(self, table: dict[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self.table, self.graph = table, fx.Graph()
        self.constants: dict[str, torch.Tensor] = {}
        self.nodes: dict[int, fx.Node] = {}  # of tensors, by identity
        self.sharing: dict[int, int] = {}  # how many tensors have a memory
        self.given: set[int] = set()  # memory of arguments
        self.alive: list[torch.Tensor] = []  # so that identities stay those of one tensor

    def argument(self, x: FakeTensor) -> None:
        self._keep(x, self.graph.placeholder(f"arg{len(self.given)}_1"))
        self.given.add(_storage(x))

    def _keep(self, x: Any, node: fx.Node) -> None:
        if type(x) is not FakeTensor or x._has_symbolic_sizes_strides:
            raise _Left(f"a result of {node.target}: {type(x).__name__}")
        node.meta["val"] = x
        if id(x) not in self.nodes:
            self.alive.append(x)
            memory = _storage(x)
            self.sharing[memory] = self.sharing.get(memory, 0) + 1
        self.nodes[id(x)] = node

    def node(self, x: Any) -> Any:
        """What stands for an argument of an operation in the graph."""
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) not in self.nodes:
            if isinstance(x, FakeTensor):
                raise _Left("a tensor from elsewhere")
            name = f"_constant{len(self.constants)}"
            self.constants[name] = x
            return self.graph.get_attr(name)
        return self.nodes[id(x)]

    def _written(self, function: OpOverload, args: Any, kwargs: Any) -> Any:
        """An operation that writes to its first argument, as the one that returns the new elements."""
        name = function._opname
        x = args[0] if args else None
        written = [n for n, a in enumerate(function._schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
        if function.namespace != "aten" or not name.endswith("_") or written != [0] or not isinstance(x, torch.Tensor):
            raise _Left(f"{function} writes")
        if id(x) not in self.nodes or _storage(x) in self.given or self.sharing[_storage(x)] > 1:
            raise _Left(f"{function} writes to memory that others see")
        functional = getattr(getattr(_ATEN, name[:-1], None), function._overloadname, None)
        if functional is None:
            raise _Left(f"{function} has no form that returns what it writes")
        made = functional(*args, **kwargs)
        if made.dtype != x.dtype:
            made = _ATEN._to_copy.default(made, dtype=x.dtype)
        if made.shape != x.shape or made.stride() != x.stride():
            raise _Left(f"{function} makes another layout")
        self.nodes[id(x)] = self.nodes[id(made)]
        return x

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(function, OpOverload):
            raise _Left(str(function))
        if function is torch.ops.prim.device.default:
            return args[0].fake_device
        if function is _ATEN.lift_fresh.default:
            function = _ATEN.lift_fresh_copy.default  # what it is given is fresh, but the constant here is not
        if function._schema.is_mutable:
            with self:
                return self._written(function, args, kwargs)
        if row_of(function) is None:
            with self:
                made = self.table[function](*args, **kwargs) if function in self.table else NotImplemented
                if made is NotImplemented:
                    made = function.decompose(*args, **kwargs)
            if made is NotImplemented:
                raise _Left(f"there is no row for {function}")
            return made
        given, named = fx.node.map_aggregate((args, kwargs), self.node)  # type: ignore[misc]
        made = function(*args, **kwargs)
        node = self.graph.call_function(function, given, dict(named))
        if isinstance(made, (tuple, list)):
            node.meta["val"] = made
            for n, x in enumerate(made):
                if x is not None:
                    self._keep(x, self.graph.call_function(operator.getitem, (node, n)))
        elif made is not None:
            self._keep(made, node)
        return made


def _run(module: fx.GraphModule, env: dict[fx.Node, Any]) -> Any:
    """What dynamo's graph returns. env: what its arguments are, and attributes."""
    for node in module.graph.nodes:
        if node in env:
            continue
        args, kwargs = (fx.map_arg(a, env.__getitem__) for a in (node.args, node.kwargs))
        if node.op == "output":
            return args[0]
        if node.op == "call_function":
            env[node] = node.target(*args, **kwargs)
        elif node.op == "call_method":
            env[node] = getattr(args[0], node.target)(*args[1:], **kwargs)
        else:
            raise _Left(f"{node.op} {node.target}")
    return ()


def _fake(node: fx.Node, given: Any, mode: Any) -> FakeTensor:
    """An argument or attribute without its elements, as dynamo made it."""
    x = node.meta.get("example_value", given)
    if mode and isinstance(x, torch.Tensor) and not isinstance(x, FakeTensor):
        x = mode.from_tensor(x, static_shapes=True)
    if type(x) is not FakeTensor or x._has_symbolic_sizes_strides or x.device.type != "cpu" or x.layout != torch.strided:
        raise _Left(f"the argument {node.name}")
    return x


def _recorded(module: fx.GraphModule, examples: Any, table: dict[Any, Callable[..., Any]]) -> Recorded:
    if torch.is_autocast_enabled("cpu"):
        raise _Left("autocast")
    for node in module.graph.nodes:
        target = node.target
        if isinstance(target, HigherOrderOperator) or target is torch._C._set_grad_enabled or any(
                name in (getattr(target, "__module__", None) or "") for name in _STATEFUL):
            raise _Left(str(target))
    arguments = placeholders(module)
    attributes = module.graph.find_nodes(op="get_attr")
    made_by_dynamo = (n.meta.get("example_value") for n in (*arguments, *attributes))
    mode = next((x.fake_mode for x in made_by_dynamo if isinstance(x, FakeTensor)), None) or detect_fake_mode(examples)
    held: dict[int, torch.Tensor] = {}
    env: dict[fx.Node, Any] = {}
    recorder = _Recorder(table)
    for node in attributes:
        x = getattr(module, str(node.target), None)
        if not isinstance(x, torch.Tensor):
            raise _Left(f"the attribute {node.target}")
        env[node] = _fake(node, x, mode)
        if id(env[node]) not in recorder.nodes:
            held[len(held)] = x
            recorder.argument(env[node])
    for node, given in zip(arguments, examples, strict=True):
        env[node] = _fake(node, given, mode)
        if id(env[node]) in recorder.nodes:
            raise _Left("two arguments are one tensor")
        recorder.argument(env[node])
    if any(x.fake_mode is not mode or x.requires_grad and torch.is_grad_enabled() for x in env.values()):
        raise _Left("gradients")
    with torch.no_grad(), mode, recorder:
        made = _run(module, env)
    results, memory = [], set(recorder.given)
    for x in made:
        if isinstance(x, torch.Tensor):
            if x.requires_grad or id(x) not in recorder.nodes or _storage(x) in memory:
                raise _Left("a result that is a view, or that wants a gradient")
            memory.add(_storage(x))
            results.append(recorder.nodes[id(x)])
        elif x is None or isinstance(x, (int, float)):
            results.append(x)
        else:
            raise _Left(f"a result of the type {type(x).__name__}")
    recorder.graph.output(tuple(results))
    recorder.graph.eliminate_dead_code()
    constant = [n + len(held) for n, node in enumerate(arguments)
                if (node.meta.get("tensor_dict") or {}).get("_dynamo_static_input_type")]
    return Recorded(fx.GraphModule(recorder.constants, recorder.graph), tuple(held.values()), (*held, *constant))


def recorded(module: fx.GraphModule, examples: Any, table: dict[Any, Callable[..., Any]]) -> Recorded | None:
    """dynamo's graph as operations that have rows; None: AOTAutograd has to take it.

    table: what operations without a row are made of."""
    try:
        return _recorded(module, examples, table)
    except _Left as e:
        _log.debug("a graph goes through AOTAutograd: %s", e)
    except Exception as e:  # of torch's operations on tensors without elements, too: AOTAutograd meets it again, and tells
        _log.warning("a graph goes through AOTAutograd, which takes longer to compile: %s: %s", type(e).__name__, e)
    return None
