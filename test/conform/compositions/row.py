"""The rows of the tables of steps.

A row has three functions. draw(d) picks operands among the values that are known so far and attributes, or
raises Unfit where nothing fits; jax and viewfold compute a result, or a list of them, from operands and
attributes. Rows keep values moderate (an exponential is taken of a tanh), so that steps may follow each other
in any order.
"""
import collections

import jax.numpy as jnp
import numpy as np

Row = collections.namedtuple("Row", "draw jax viewfold")
Known = collections.namedtuple("Known", "shape kind")  # kind: f a float, i an i64

MOST_ELEMENTS = 600
MOST_RANK = 5


class Unfit(Exception):
    """No value fits."""


class Draw:
    """Random choices over the values known so far."""

    def __init__(self, random, known):
        self.random, self.known = random, known

    def one(self, choices):
        return self.random.choice(list(choices))

    def integer(self, low, high):
        return self.random.randint(low, high)

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, fits=lambda shape: True, kind="f"):
        """The number of a value of that kind whose shape fits, the last ones preferred."""
        found = [k for k, v in enumerate(self.known) if v.kind == kind and fits(v.shape)]
        if not found:
            raise Unfit
        return found[-1] if self.chance(0.4) else self.one(found)

    def ranked(self, low, high=MOST_RANK):
        return self.pick(lambda s: low <= len(s) <= high and 0 not in s)

    def shape(self, number):
        return self.known[number].shape

    def like(self, shape):
        """A value that broadcasts with shape; there is always one if shape is that of a value."""
        return self.pick(lambda s: broadcast(shape, s) is not None)

    def axis(self, rank):
        """An axis in 0..rank-1, counted from either end."""
        axis = self.random.randrange(rank)
        return axis - rank if self.chance(0.25) else axis


def broadcast(*shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def picked(*numbers, **attributes):
    """What a draw function returns."""
    return list(numbers), attributes


def same(name):
    """For rows whose attributes have the same names in both systems: records them unchanged."""
    return lambda g, x, a: g(name, *x, **a)


def positive(x):
    return x * x + 0.5


def positive_of(g, x):
    return g("add", g("mul", x, x), 0.5)


def squashed(x):
    return 0.9 * jnp.tanh(x)


def squashed_of(g, x):
    return g("mul", g("tanh", x), 0.9)
