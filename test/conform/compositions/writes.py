"""Steps that write through views: assign of a value to a chain of views, against `.at[]` at the positions of the chain."""
import math

import jax.numpy as jnp
import numpy as np

from .row import MOST_ELEMENTS, Row, broadcast, picked, positive, positive_of

ONCE = ["set", "add", "sub", "mul", "div", "min", "max"]  # through a gather: the first three
COMBINED = {"mul": jnp.multiply, "div": lambda old, u: old / positive(u), "min": jnp.minimum, "max": jnp.maximum}


def permuted(d, shape):
    order = d.random.sample(range(len(shape)), len(shape))
    return "permute", None, dict(order=order), lambda a: a.transpose(order)


def reshaped(d, shape):
    count = math.prod(shape)
    to = d.one([(count,), (1, count)] + [(k, count // k) for k in (2, 3) if count and count % k == 0])
    return "reshape", None, dict(shape=to), lambda a: a.reshape(to)


def shrunk(d, shape):
    bounds = [tuple(sorted(d.random.sample(range(n + 1), 2))) for n in shape]
    return "shrink", None, dict(bounds=bounds), lambda a: a[tuple(slice(*b) for b in bounds)]


def strided(d, shape):
    steps = [d.one([1, 2, -1, -2]) for _ in shape]
    return "stride", None, dict(steps=steps), lambda a: a[tuple(slice(None, None, s) for s in steps)]


def flipped(d, shape):
    axis = d.integer(0, len(shape) - 1)
    return "flip", None, dict(axes=[axis]), lambda a: np.flip(a, axis)


def padded(d, shape):
    pads = [(d.integer(0, 1), d.integer(0, 2)) for _ in shape]
    return "pad", None, dict(pads=pads), lambda a: np.pad(a, pads, constant_values=-1)


def pointed(d, shape):
    axis = d.integer(0, len(shape) - 1)
    index = d.integer(0, shape[axis] - 1)
    return "point", None, dict(axis=axis, index=index), lambda a: a.take(index, axis)


def gathered(d, shape):
    axis = d.integer(0, len(shape) - 1)
    indices = np.array([d.integer(-shape[axis], shape[axis] - 1) for _ in range(d.integer(1, 4))], np.int64)
    return "gather", indices, dict(axis=axis), lambda a: a.take(indices, axis)


VIEWS = [permuted, reshaped, shrunk, strided, flipped, padded, pointed, gathered]


def assign(d):
    x = d.ranked(1, 3)
    at = np.arange(math.prod(d.shape(x))).reshape(d.shape(x))
    steps = []
    for _ in range(d.integer(1, 3)):
        if at.ndim == 0 or at.size == 0:
            break
        name, indices, attributes, change = d.one(VIEWS)(d, at.shape)
        made = change(at)
        if made.size <= MOST_ELEMENTS and made.ndim <= 4:
            at = made
            steps.append((name, indices, attributes))
    gathers = any(indices is not None for _, indices, _ in steps)
    u = d.pick(lambda s: broadcast(s, at.shape) == at.shape)
    return picked(x, u, at=at, steps=steps, op=d.one(ONCE[:3] if gathers else ONCE))


def last_of_each(at):
    """Of positions, in row-major order, those that no later one repeats; padding is nowhere."""
    kept = {int(p): k for k, p in enumerate(at) if p >= 0}
    return np.array(sorted(kept.values()), np.int64)


def read_at(flat, at):
    return jnp.where(at < 0, 0, flat[np.maximum(at, 0)])


def written(x, a):
    flat, at, u = x[0].reshape(-1), a["at"].reshape(-1), jnp.broadcast_to(x[1], a["at"].shape).reshape(-1)
    if a["op"] in ("add", "sub"):
        kept = np.flatnonzero(at >= 0)
        flat = flat.at[at[kept]].add(u[kept] if a["op"] == "add" else -u[kept])
    else:
        kept = last_of_each(at)
        new = COMBINED[a["op"]](flat[at[kept]], u[kept]) if a["op"] in COMBINED else u[kept]
        flat = flat.at[at[kept]].set(new)
    return [flat.reshape(x[0].shape), read_at(flat, a["at"])]


def view_of(g, value, steps):
    for name, indices, attributes in steps:
        value = g(name, value, *([] if indices is None else [g.operand(indices)]), **attributes)
    return value


def written_of(g, x, a):
    u = positive_of(g, x[1]) if a["op"] == "div" else x[1]
    made = g("assign", x[0], view_of(g, g("address", x[0]), a["steps"]), u, op=a["op"])
    return [made, view_of(g, made, a["steps"])]


ROWS = {"assign": Row(assign, written, written_of)}
