"""Steps that call functions: scan, cond, while_loop, checkpoint. The functions are chains of elementwise
steps over their arguments, which all have one shape, and a captured value."""
import jax
import jax.numpy as jnp

from .elementwise import FLOATS
from .row import Row, picked

BODY = ("sin", "tanh", "sigmoid", "exp", "atan", "add", "sub", "mul", "maximum", "where", "div", "fma", "pow", "sqrt")


class Body:
    """A function with the given numbers of arguments and results: the results are its last values."""

    def __init__(self, d, arguments, results):
        self.results, self.steps = results, []
        for k in range(d.integer(results, results + 2)):
            name = d.one(BODY)
            operands = [arguments + k - 1 if k and j == 0 else d.integer(0, arguments + k - 1) for j in range(2)]
            self.steps.append((name, operands))

    def __repr__(self):
        return f"{self.results} of {self.steps}"

    def jax(self, values):
        known = list(values)
        for name, operands in self.steps:
            known.append(FLOATS[name].jax([known[k] for k in operands], {}))
        return [jnp.tanh(x) for x in known[-self.results:]]

    def viewfold(self, g, values):
        known = list(values)
        for name, operands in self.steps:
            known.append(FLOATS[name].viewfold(g, [known[k] for k in operands], {}))
        return [g("tanh", x) for x in known[-self.results:]]


def scan(d):
    """A scan over the first axis of one value; the state is a slice of it, and another slice is captured."""
    x = d.ranked(1, 4)
    slice_shape = d.shape(x)[1:]
    state, outside = d.pick(lambda s: s == slice_shape), d.pick(lambda s: s == slice_shape)
    return picked(x, state, outside, reverse=d.chance(0.4), body=Body(d, 3, d.integer(1, 3)))


def scanned(x, a):
    def body(state, slice):
        made = a["body"].jax([state, slice, x[2]])
        return made[0], made[1:]

    last, stacks = jax.lax.scan(body, x[1], x[0], reverse=a["reverse"])
    return [last, *stacks]


def scan_of(g, x, a):
    return g.scan(lambda given: a["body"].viewfold(g, [*given, x[2]]), [x[1]], [x[0]], a["body"].results - 1,
                  a["reverse"])


def pair(d):
    """Two values of one shape."""
    x = d.pick()
    return x, d.pick(lambda s: s == d.shape(x))


def cond(d):
    x, y = pair(d)
    results = d.integer(1, 2)
    return picked(x, y, d.pick(), then=Body(d, 2, results), otherwise=Body(d, 2, results))


def chosen(x, a):
    return jax.lax.cond(jnp.sum(x[2]) > 0.0123, lambda *y: a["then"].jax(y), lambda *y: a["otherwise"].jax(y), *x[:2])


def cond_of(g, x, a):
    predicate = g("gt", g("sum", x[2]), 0.0123)
    return g.cond(predicate, x[:2], lambda y: a["then"].viewfold(g, y), lambda y: a["otherwise"].viewfold(g, y),
                  a["then"].results)


def repeat(d):
    x, outside = pair(d)
    bound = d.integer(1, 5)
    return picked(x, outside, body=Body(d, 2, 1), iterations=d.integer(0, bound + 1), bound=bound, limit=d.one([0.7, 2.3, 9.9]))


def repeated(x, a):
    """By a scan of `bound` iterations, as while_loop has no derivative in reverse."""
    def iteration_of(state, _):
        count, y = state
        goes_on = (count < a["iterations"]) & (jnp.sum(y * y) < a["limit"])
        return (jnp.where(goes_on, count + 1, count), jnp.where(goes_on, a["body"].jax([y, x[1]])[0], y)), None

    (count, last), _ = jax.lax.scan(iteration_of, (jnp.int64(0), x[0]), length=a["bound"])
    return [count, last]


def repeat_of(g, x, a):
    def goes_on(state):
        return [g("and", g("lt", state[0], a["iterations"]), g("lt", g("sum", g("mul", state[1], state[1])), a["limit"]))]

    def body(state):
        return [g("add", state[0], 1), a["body"].viewfold(g, [state[1], x[1]])[0]]

    return g.while_loop(goes_on, body, [g("const", value=0, dtype="i64"), x[0]], a["bound"])


def kept(d):
    x, y = pair(d)
    return picked(x, y, body=Body(d, 2, d.integer(1, 2)))


ROWS = {
    "scan": Row(scan, scanned, scan_of),
    "cond": Row(cond, chosen, cond_of),
    "while_loop": Row(repeat, repeated, repeat_of),
    "checkpoint": Row(kept, lambda x, a: jax.checkpoint(lambda *y: a["body"].jax(y))(*x),
                      lambda g, x, a: g.checkpoint(lambda y: a["body"].viewfold(g, y), x, a["body"].results)),
}
