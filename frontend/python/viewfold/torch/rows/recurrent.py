"""Recurrent layers: a scan over the steps, and its derivative."""

from __future__ import annotations

from typing import Any

from ... import _native
from ..._array import Array, apply
from ..._sizes import text_list
from .call import Call, array, broadcast
from .views import bounds


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


def _loop(kind: str, p: Array, q: Array | None, h: Array, c: Array, wh: Array, bh: Any, reverse: bool) -> tuple[Array, Array, Array]:
    """p: what inputs give to the gates in each step; q: what is added to what the state gives; None: nothing."""
    states = [h, c] if kind == "lstm" else [h]
    inputs = [p] if q is None else [p, q]

    def step(*given: Array) -> list[Array]:
        h, c, p = given[0], given[len(states) - 1], given[len(states)]
        linear = _linear(h, wh, bh)
        made = _next(kind, p, linear if q is None else apply("add", (linear, given[-1])), h, c)
        return [*made[:len(states)], made[0]]

    made = _native.scan(step, states, inputs, 1, -1, reverse)
    return made[-1], made[0], made[1] if kind == "lstm" else c


def recurrent(call: Call, kind: str, x: Array, h: Array, c: Array, wi: Array, wh: Array, bi: Any, bh: Any,
              reverse: bool) -> tuple[Array, Array, Array]:
    """The products with the inputs are one, before the loop."""
    return _loop(kind, _linear(x, wi, bi), None, h, c, wh, bh, reverse)


def _rows(x: Array) -> Array:
    """Steps and rows as one axis."""
    return apply("reshape", (x,), "shape=" + text_list([x.shape[0] * x.shape[1], x.shape[2]]))


def _of_weights(d: Array, x: Array) -> tuple[Array, Array]:
    """The gradients of weight and bias, of those of the results and of what the products were with, in all steps at once."""
    d = _rows(d)
    return apply("matmul", (apply("permute", (d,), "order=[1,0]"), _rows(x))), apply("sum", (d,), "axes=[0]")


def backward(call: Call, kind: str, dy: Array, dh: Array, dc: Array, x: Array, h: Array, c: Array, wi: Array, wh: Array, bi: Any,
             bh: Any, reverse: bool) -> list[Array]:
    """The loop gives the gradients of what the gates are given; those of weights are products behind it, not sums in it."""
    p = _linear(x, wi, bi)
    q = broadcast(array(0, p.dtype), list(p.shape)) if kind == "gru" else None  # others add both, whose gradients are one
    made = _loop(kind, p, q, h, c, wh, bh, reverse)
    dp, dh, dc, *more = _native.vjp(list(made), [dy, dh, dc], [p, h, c] + ([] if q is None else [q]))
    dq, y, steps = more[0] if more else dp, made[0], x.shape[0]
    first = apply("reshape", (h,), "shape=" + text_list([1, *h.shape]))
    if steps != 1:  # the states before each step
        parts = (bounds(y, 0, 1, steps), first) if reverse else (first, bounds(y, 0, 0, steps - 1))
        first = apply("concat", parts, "axis=0")
    (dwi, dbi), (dwh, dbh) = _of_weights(dp, x), _of_weights(dq, first)
    return [apply("matmul", (dp, wi)), dh, dc, dwi, dwh] + [d for b, d in ((bi, dbi), (bh, dbh)) if b is not None]
