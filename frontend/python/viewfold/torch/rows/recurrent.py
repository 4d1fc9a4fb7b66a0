"""Recurrent layers: a scan over the steps, and its derivative."""

from __future__ import annotations

from typing import Any

from ... import _native
from ..._array import Array, apply
from .call import Call


def _part(x: Array, number: int, width: Any) -> Array:
    return apply("shrink", (x,), f"bounds=[[0,{x.shape[0]}],[{number}*{width},{number + 1}*{width}]]")


def _sigmoid(x: Array, y: Array) -> Array:
    return apply("sigmoid", (apply("add", (x, y)),))


def _next(kind: str, p: Array, q: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """Of what the input and the state give to the gates, before they are added."""
    width = h.shape[1]
    if kind == "lstm":
        gates = apply("add", (p, q))
        i, f, g, o = (_part(gates, n, width) for n in range(4))
        i, f, o = (apply("sigmoid", (x,)) for x in (i, f, o))
        c = apply("add", (apply("mul", (f, c)), apply("mul", (i, apply("tanh", (g,))))))
        return apply("mul", (o, apply("tanh", (c,)))), c
    if kind == "gru":
        r, z = (_sigmoid(_part(p, n, width), _part(q, n, width)) for n in range(2))
        new = apply("tanh", (apply("add", (_part(p, 2, width), apply("mul", (r, _part(q, 2, width))))),))
        return apply("add", (new, apply("mul", (z, apply("sub", (h, new)))))), c
    return apply("tanh" if kind == "rnn_tanh" else "relu", (apply("add", (p, q)),)), c


def _linear(x: Array, weight: Array, bias: Any) -> Array:
    made = apply("matmul", (x, apply("permute", (weight,), "order=[1,0]")))
    return made if bias is None else apply("add", (made, bias))


def recurrent(call: Call, kind: str, x: Array, h: Array, c: Array, wi: Array, wh: Array, bi: Any, bh: Any,
              reverse: bool) -> tuple[Array, Array, Array]:
    """The products with the inputs are one, before the loop."""
    states = [h, c] if kind == "lstm" else [h]

    def step(*given: Array) -> list[Array]:
        h, c, p = given[0], given[-2], given[-1]
        made = _next(kind, p, _linear(h, wh, bh), h, c)
        return [*made[:len(states)], made[0]]

    made = _native.scan(step, states, [_linear(x, wi, bi)], 1, -1, reverse)
    return made[-1], made[0], made[1] if kind == "lstm" else c


def backward(call: Call, kind: str, dy: Array, dh: Array, dc: Array, *rest: Any) -> list[Array]:
    *given, reverse = rest
    made = recurrent(call, kind, *given, reverse)
    return list(_native.vjp(list(made), [dy, dh, dc], [x for x in given if x is not None]))
