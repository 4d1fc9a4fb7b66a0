"""Steps whose order or place depends on data: indices, sorting, accumulation along an axis."""
import jax
import jax.numpy as jnp
import numpy as np

from .row import Row, broadcast, picked, same
from .shape import axis_of, row


def indices(d, size, shape):
    """Fixed indices, some counted from the end."""
    return np.array([d.integer(-size, size - 1) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)


def gather(d):
    x = d.ranked(1, 3)
    axis = d.axis(len(d.shape(x)))
    shape = d.one([(1,), (3,), (4,), (2, 2), ()])
    return picked(x, axis=axis, indices=indices(d, d.shape(x)[axis], shape))


def gather_computed(d):
    """Indices that the program computes."""
    x, i = d.ranked(1, 3), d.pick(lambda s: len(s) <= 2 and np.prod(s) <= 12, "i")
    return picked(x, i, axis=d.axis(len(d.shape(x))))


def bounded(x, i, axis):
    return i % x.shape[axis]


def bounded_of(g, x, i, axis):
    return g("mod", i, g.shape(x)[axis])


def scatter(d):
    x = d.ranked(1, 3)
    shape = d.shape(x)
    axis = d.integer(0, len(shape) - 1)
    count = d.integer(1, 4)
    made = shape[:axis] + (count,) + shape[axis + 1:]
    return picked(x, d.pick(lambda s: broadcast(s, made) == made), axis=axis, indices=indices(d, shape[axis], (count,)))


def last_of_each(x, u, axis, i):
    """Stores updates in order: where an index repeats, its last update stays. JAX leaves open which one."""
    i = np.asarray(i) % x.shape[axis]
    kept = sorted({int(n): k for k, n in enumerate(i)}.values())
    return jnp.moveaxis(jnp.moveaxis(x, axis, 0).at[i[kept]].set(jnp.moveaxis(u, axis, 0)[np.array(kept)]), 0, axis)


def updates(x, a):
    shape = list(x[0].shape)
    shape[a["axis"]] = len(a["indices"])
    return jnp.broadcast_to(x[1], shape)


def scattered(x, a):
    return last_of_each(x[0], updates(x, a), a["axis"], a["indices"])


def scatter_added(x, a):
    moved, u = jnp.moveaxis(x[0], a["axis"], 0), jnp.moveaxis(updates(x, a), a["axis"], 0)
    return jnp.moveaxis(moved.at[a["indices"]].add(u), 0, a["axis"])


def scatter_computed(d):
    """Adds elements of one vector to elements of another, at indices that the program computes."""
    i = d.pick(lambda s: len(s) == 1 and 0 < s[0] <= 12, "i")
    return picked(d.ranked(1, 1), i, d.pick(lambda s: s == d.shape(i)))


def along(d):
    """Computed indices of the rank of the data."""
    x = d.ranked(1, 3)
    shape = d.shape(x)
    axis = d.axis(len(shape))

    def fits(s):
        return len(s) == len(shape) and all(a == b or k == axis % len(s) for k, (a, b) in enumerate(zip(s, shape)))

    return picked(x, d.pick(fits, "i"), axis=axis)


def added_along(x, a):
    """x with the elements at the indices added to themselves, halved."""
    axis, i = a["axis"] % x[0].ndim, bounded(x[0], x[1], a["axis"])
    u = 0.5 * jnp.take_along_axis(x[0], i, axis)
    places = [jax.lax.broadcasted_iota(i.dtype, i.shape, k) for k in range(i.ndim)]
    places[axis] = i
    return x[0].at[tuple(places)].add(u)


def added_along_of(g, x, a):
    i = bounded_of(g, x[0], x[1], a["axis"])
    return g("scatter_add_along_axis", x[0], i, g("mul", g("take_along_axis", x[0], i, **a), 0.5), **a)


def topk(d):
    x = d.ranked(1)
    axis = d.axis(len(d.shape(x)))
    return picked(x, axis=axis, k=d.integer(1, d.shape(x)[axis]), largest=d.chance(0.6))


def top(x, a):
    n = x[0].shape[a["axis"]]
    order = jnp.argsort(x[0], axis=a["axis"], descending=a["largest"])
    order = jax.lax.slice_in_dim(order, 0, min(a["k"], n), axis=a["axis"] % x[0].ndim)
    return [jnp.take_along_axis(x[0], order, a["axis"]), order]


def one_hot(x, a):
    """A one-hot array with each line's greatest element at its index."""
    hot = jax.nn.one_hot(jnp.argmax(x[0], axis=a["axis"]), x[0].shape[a["axis"]], axis=a["axis"], dtype=x[0].dtype)
    return hot * x[0]


def one_hot_of(g, x, a):
    axis = a["axis"] % len(g.shape(x[0]))
    place = g("unsqueeze", g("argmax", x[0], axis=axis), axis=axis)
    hot = g("eq", g("iota", shape=g.shape(x[0]), axis=axis, dtype="i64"), place)
    return g("mul", g("cast", hot, dtype=g.dtype), x[0])


def accumulation(name, function):
    return row(name, lambda d: axis_of(d, reverse=d.chance(0.3)),
               lambda x, axis, reverse: function(x, axis=axis % x.ndim, reverse=reverse))


def exclusive_sum(x, axis):
    return jnp.cumsum(x, axis=axis) - x


ROWS = {
    "gather": Row(gather, lambda x, a: jnp.take(x[0], a["indices"] % x[0].shape[a["axis"]], axis=a["axis"]),
                  lambda g, x, a: g("gather", x[0], g.operand(a["indices"]), axis=a["axis"])),
    "gather_computed": Row(gather_computed,
                           lambda x, a: jnp.take(x[0], bounded(x[0], x[1], a["axis"]), axis=a["axis"]),
                           lambda g, x, a: g("gather", x[0], bounded_of(g, *x, a["axis"]), **a)),
    "scatter": Row(scatter, scattered, lambda g, x, a: g("scatter", x[0], g.operand(a["indices"]), x[1], axis=a["axis"])),
    "scatter_add": Row(scatter, scatter_added,
                       lambda g, x, a: g("scatter_add", x[0], g.operand(a["indices"]), x[1], axis=a["axis"])),
    "scatter_add_computed": Row(scatter_computed, lambda x, a: x[0].at[bounded(x[0], x[1], 0)].add(x[2]),
                                lambda g, x, a: g("scatter_add", x[0], bounded_of(g, x[0], x[1], 0), x[2], axis=0)),
    "take_along_axis": Row(along, lambda x, a: jnp.take_along_axis(x[0], bounded(*x, a["axis"]), a["axis"]),
                           lambda g, x, a: g("take_along_axis", x[0], bounded_of(g, *x, a["axis"]), **a)),
    "scatter_add_along_axis": Row(along, added_along, added_along_of),
    "argmax": row("argmax", axis_of, jnp.argmax),
    "argmin": row("argmin", axis_of, jnp.argmin),
    "argsort": row("argsort", lambda d: axis_of(d, descending=d.chance(0.4)), jnp.argsort),
    "sort": row("sort", lambda d: axis_of(d, descending=d.chance(0.4)), jnp.sort),
    "topk": Row(topk, top, lambda g, x, a: g.all("topk", x[0], **a)),
    "one_hot": Row(axis_of, one_hot, one_hot_of),
    "cumsum": accumulation("cumsum", jax.lax.cumsum),
    "cumprod": accumulation("cumprod", jax.lax.cumprod),
    "cummax": accumulation("cummax", jax.lax.cummax),
    "cummin": accumulation("cummin", jax.lax.cummin),
    "cumsum_exclusive": Row(axis_of, lambda x, a: exclusive_sum(x[0], a["axis"]),
                            lambda g, x, a: g("cumsum", x[0], exclusive=True, **a)),
}
