"""Recurrent layers of torch as loops of a program.

torch would unroll `nn.LSTM`, `nn.GRU` and `nn.RNN`, a copy of the cell for each step. Here each layer and direction is one
operation, `viewfold::recurrent`, whose row is a scan; its derivative is another one, whose row is the derivative of that scan.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Callable, Sequence

import torch
import torch._dynamo
from torch import Tensor, fx, library as operators
from torch.nn import functional as F

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _step(kind: str, p: Tensor, h: Tensor, c: Tensor, w: Tensor, b: Tensor | None) -> tuple[Tensor, Tensor]:
    """The next state of p, what the input gives to the gates."""
    q = F.linear(h, w, b)
    if kind == "lstm":
        i, f, g, o = (p + q).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if kind == "gru":
        (pr, pz, pn), (qr, qz, qn) = p.chunk(3, 1), q.chunk(3, 1)
        z = (pz + qz).sigmoid()
        return (1 - z) * (pn + (pr + qr).sigmoid() * qn).tanh() + z * h, c
    return (p + q).tanh() if kind == "rnn_tanh" else (p + q).relu(), c


def _unrolled(kind: str, x: Tensor, h: Tensor, c: Tensor, wi: Tensor, wh: Tensor, bi: Tensor | None, bh: Tensor | None,
              reverse: bool) -> tuple[Tensor, Tensor, Tensor]:
    p, made = F.linear(x, wi, bi), []
    for t in range(len(x) - 1, -1, -1) if reverse else range(len(x)):
        h, c = _step(kind, p[t], h, c, wh, bh)
        made.append(h)
    return torch.stack(made[::-1] if reverse else made), h.clone(), c.clone()


@operators.custom_op("viewfold::recurrent", mutates_args=())
def recurrent(kind: str, x: Tensor, h: Tensor, c: Tensor, wi: Tensor, wh: Tensor, bi: Tensor | None, bh: Tensor | None,
              reverse: bool) -> tuple[Tensor, Tensor, Tensor]:
    """x [steps, rows, in], h and c [rows, width]: the states h after each step, and the last h and c. In torch, where a graph
    is cut at something else."""
    return _unrolled(kind, x, h, c, wi, wh, bi, bh, reverse)


@recurrent.register_fake
def _(kind: str, x: Tensor, h: Tensor, c: Tensor, wi: Tensor, wh: Tensor, bi: Any, bh: Any, reverse: bool) -> Any:
    return x.new_empty(x.shape[0], *h.shape), torch.empty_like(h), torch.empty_like(c)


@operators.custom_op("viewfold::recurrent_backward", mutates_args=())
def recurrent_backward(kind: str, dy: Tensor, dh: Tensor, dc: Tensor, x: Tensor, h: Tensor, c: Tensor, wi: Tensor, wh: Tensor,
                       bi: Tensor | None, bh: Tensor | None, reverse: bool) -> list[Tensor]:
    """Of x, h, c, both weights, and of the biases where there are any."""
    given = [t.detach().requires_grad_() for t in (x, h, c, wi, wh, bi, bh) if t is not None]
    with torch.enable_grad():
        made = _unrolled(kind, *(given + [None] * (7 - len(given))), reverse)  # type: ignore[misc]
    gradients = torch.autograd.grad(made, given, (dy, dh, dc), allow_unused=True)
    return [torch.zeros_like(t) if g is None else g.contiguous() for t, g in zip(given, gradients)]


@recurrent_backward.register_fake
def _(kind: str, dy: Tensor, dh: Tensor, dc: Tensor, x: Tensor, h: Tensor, c: Tensor, wi: Tensor, wh: Tensor, bi: Any, bh: Any,
      reverse: bool) -> list[Tensor]:
    return [t.new_empty(t.shape) for t in (x, h, c, wi, wh, bi, bh) if t is not None]


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.kind, ctx.reverse = inputs[0], inputs[-1]
    ctx.save_for_backward(*inputs[1:-1])


def _derivative(ctx: Any, dy: Tensor, dh: Tensor, dc: Tensor) -> Any:
    saved = ctx.saved_tensors
    made = recurrent_backward(ctx.kind, dy, dh, dc, *saved, ctx.reverse)
    made = made + [None] * (7 - len(made))
    return None, *made, None


recurrent.register_autograd(_derivative, setup_context=_keep)


def layers(kind: str, x: Tensor, state: Any, weights: Sequence[Tensor], biased: bool, depth: int, dropout: float, train: bool,
           both_ways: bool, rows_first: bool) -> Any:
    """What torch.lstm, torch.gru, torch.rnn_tanh and torch.rnn_relu do."""
    h, c = state if kind == "lstm" else (state, state)
    single = x.dim() == 2  # a sequence without an axis of rows
    if single:
        x, h, c = x.unsqueeze(1), h.unsqueeze(1), c.unsqueeze(1)
    elif rows_first:
        x = x.transpose(0, 1)
    ways, last_h, last_c = 2 if both_ways else 1, [], []
    each = 4 if biased else 2
    for layer in range(depth):
        made = []
        for way in range(ways):
            n = layer * ways + way
            wi, wh, *b = weights[each * n:each * (n + 1)]
            y, hn, cn = recurrent(kind, x, h[n], c[n], wi, wh, *(b or (None, None)), way == 1)
            made.append(y)
            last_h.append(hn)
            last_c.append(cn)
        x = torch.cat(made, 2) if both_ways else made[0]
        if dropout and train and layer < depth - 1:
            x = F.dropout(x, dropout)
    h, c = torch.stack(last_h), torch.stack(last_c)
    if single:
        x, h, c = x.squeeze(1), h.squeeze(1), c.squeeze(1)
    elif rows_first:
        x = x.transpose(0, 1)
    return (x, h, c) if kind == "lstm" else (x, h)


def _function(kind: str) -> Callable[..., Any]:
    def recorded(*arguments: Any) -> Any:
        return layers(kind, *arguments)

    recorded.__name__ = recorded.__qualname__ = f"viewfold_{kind}"
    return recorded


_INSTEAD = {getattr(torch, kind): (kind, _function(kind)) for kind in _GATES}


def of_exported() -> dict[Any, Callable[..., Any]]:
    """The same for the operations in programs of torch.export."""
    return {getattr(torch.ops.aten, kind).input: function for kind, function in _INSTEAD.values()}


_ARGUMENTS = 9  # of a layer of sequences that are tensors: those of packed ones are others


def in_place_of_torch(module: fx.GraphModule) -> fx.GraphModule:
    """The graph as dynamo makes it, with loops for its recurrent layers; one whose states are projected stays."""
    found = False
    for node in module.graph.nodes:
        kind, function = _INSTEAD.get(node.target, ("", None)) if node.op == "call_function" else ("", None)
        if function is None or len(node.args) != _ARGUMENTS or not isinstance(node.args[3], bool):
            continue
        ways = 2 if node.args[7] else 1
        if len(node.args[2]) == (4 if node.args[3] else 2) * ways * node.args[4]:
            node.target, found = function, True
    if found:
        module.recompile()
    return module


def _innermost(compiler: Any) -> Any:
    """The back end that was given to torch.compile, of what dynamo made of it."""
    names = ("_torchdynamo_orig_backend", "compiler_fn", "func")
    while (inner := next((getattr(compiler, n) for n in names if hasattr(compiler, n)), None)) is not None:
        compiler = inner
    return compiler


def allow(backend: Any) -> None:
    """dynamo leaves recurrent layers out of graphs unless told otherwise, before it asks a back end: for this one it takes them."""
    config = torch._dynamo.config
    try:  # a name that torch may move
        builder = importlib.import_module("torch._dynamo.variables.builder").VariableBuilder
    except (ImportError, AttributeError):
        return
    wrap = builder.__dict__.get("wrap_module")
    if wrap is None or not hasattr(config, "allow_rnn"):
        return

    @functools.wraps(wrap)
    def wrap_module(self: Any, module: Any) -> Any:
        if not isinstance(module, torch.nn.RNNBase) or _innermost(self.tx.output.compiler_fn) is not backend:
            return wrap(self, module)
        with config.patch(allow_rnn=True):
            return wrap(self, module)

    builder.wrap_module = wrap_module
