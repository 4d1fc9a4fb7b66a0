"""Steps that move elements, concatenate and split, and reduce."""
import math

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from .row import MOST_ELEMENTS, Row, broadcast, picked, same

SOME = 1  # the least rank with an axis


def axis_of(d, **more):
    x = d.ranked(SOME)
    return picked(x, axis=d.axis(len(d.shape(x))), **more)


def permute(d):
    x = d.ranked(SOME)
    return picked(x, order=d.random.sample(range(len(d.shape(x))), len(d.shape(x))))


def reshape(d):
    x = d.ranked(0)
    count = math.prod(d.shape(x))
    shapes = [(count,), (1, count), (count, 1), (-1,)] + [(k, -1) for k in (2, 3, 4) if count % k == 0]
    shapes += [(2, -1, 3)] if count % 6 == 0 else []
    return picked(x, shape=d.one(shapes))


def broadcast_to(d):
    x = d.pick(lambda s: math.prod(s) * 6 <= MOST_ELEMENTS and len(s) < 4)
    grown = tuple(d.integer(2, 3) if n == 1 else n for n in d.shape(x))
    return picked(x, shape=d.one([(), (2,), (1,), (3, 1)]) + grown)


def pads(d, least, most):
    x = d.ranked(SOME)
    return picked(x, pads=[(d.integer(least, most), d.integer(least, most)) for _ in d.shape(x)])


def bounds(d):
    x = d.ranked(SOME)
    return picked(
        x, bounds=[tuple(sorted(d.random.sample(range(n + 1), 2))) for n in d.shape(x)])


def steps(d):
    x = d.ranked(SOME)
    return picked(x, steps=[d.one([1, 1, 2, -1, -2]) for _ in d.shape(x)])


def point(d):
    x = d.ranked(SOME)
    axis = d.axis(len(d.shape(x)))
    return picked(x, axis=axis, index=d.integer(0, d.shape(x)[axis] - 1))


def update(d):
    x = d.ranked(SOME)
    start = [d.integer(0, n - 1) for n in d.shape(x)]
    size = [d.integer(1, n - at) for n, at in zip(d.shape(x), start)]
    return picked(x, d.pick(lambda s: broadcast(s, tuple(size)) == tuple(size)), start=start, size=size)


def updated(x, a):
    window = tuple(slice(b, b + n) for b, n in zip(a["start"], a["size"]))
    return x[0].at[window].set(jnp.broadcast_to(x[1], a["size"]))


def joined(d, most):
    x = d.ranked(SOME, most)
    axis = d.axis(len(d.shape(x)))

    def fits(s):
        rest = list(s), list(d.shape(x))
        return len(s) == len(d.shape(x)) and all(k.pop(axis) or True for k in rest) and rest[0] == rest[1]

    return picked(x, *[d.pick(fits) for _ in range(d.integer(0, 2))], axis=axis)


def stacked(d):
    x = d.pick(lambda s: len(s) < 4)
    return picked(x, *[d.pick(lambda s: s == d.shape(x)) for _ in range(d.integer(0, 2))],
                  axis=d.axis(len(d.shape(x)) + 1))


def split(d):
    x = d.ranked(SOME)
    axis = d.axis(len(d.shape(x)))
    return picked(x, axis=axis, parts=d.one([k for k in (1, 2, 3) if d.shape(x)[axis] % k == 0]))


def triangle(d):
    x = d.ranked(2)
    return picked(x, diagonal=d.integer(-1, 1))


def swap(d):
    x = d.ranked(2)
    return picked(x, axis1=d.axis(len(d.shape(x))), axis2=d.axis(len(d.shape(x))))


def row(name, draw, function):
    """function(x, **attributes) of the first operand."""
    return Row(draw, lambda x, a: function(x[0], **a), same(name))


MOVES = {
    "permute": row("permute", permute, lambda x, order: jnp.transpose(x, order)),
    "transpose": row("transpose", swap, jnp.swapaxes),
    "reshape": row("reshape", reshape, jnp.reshape),
    "broadcast_to": row("broadcast_to", broadcast_to, jnp.broadcast_to),
    "flip": row("flip", axis_of, jnp.flip),
    "unsqueeze": row("unsqueeze", lambda d: (lambda x: picked(x, axis=d.axis(len(d.shape(x)) + 1)))(d.pick()),
                     jnp.expand_dims),
    "pad": row("pad", lambda d: pads(d, 0, 1), lambda x, pads: jnp.pad(x, pads)),
    "pad_value": Row(lambda d: pads(d, 0, 2), lambda x, a: jnp.pad(x[0], a["pads"], constant_values=0.5),
                     lambda g, x, a: g("pad", x[0], value=0.5, **a)),
    **{f"pad_{mode}": Row(lambda d: pads(d, 0, 2), lambda x, a, mode=mode: jnp.pad(x[0], a["pads"], mode=mode),
                          lambda g, x, a, mode=mode: g("pad", x[0], mode=mode, **a))
       for mode in ("edge", "reflect", "wrap")},
    "shrink": row("shrink", bounds, lambda x, bounds: x[tuple(slice(*b) for b in bounds)]),
    "stride": row("stride", steps, lambda x, steps: x[tuple(slice(None, None, s) for s in steps)]),
    "point": row("point", point, lambda x, axis, index: jnp.take(x, index, axis=axis)),
    "slice_update": Row(update, updated, same("slice_update")),
    "concat": Row(lambda d: joined(d, 5), lambda x, a: jnp.concatenate(x, axis=a["axis"]), same("concat")),
    "stack": Row(stacked, lambda x, a: jnp.stack(x, axis=a["axis"]), same("stack")),
    "split": Row(split, lambda x, a: jnp.split(x[0], a["parts"], axis=a["axis"]),
                 lambda g, x, a: g.all("split", x[0], **a)),
    "unbind": Row(axis_of, lambda x, a: list(jnp.moveaxis(x[0], a["axis"], 0)),
                  lambda g, x, a: g.all("unbind", x[0], **a)),
    "tril": row("tril", triangle, lambda x, diagonal: jnp.tril(x, diagonal)),
    "triu": row("triu", triangle, lambda x, diagonal: jnp.triu(x, diagonal)),
}


def axes_of(d):
    x = d.ranked(SOME)
    rank = len(d.shape(x))
    return picked(x, axes=sorted(d.random.sample(range(rank), d.integer(1, min(2, rank)))), keepdims=d.chance(0.5))


def reduction(name, function):
    return row(name, axes_of, lambda x, axes, keepdims: function(x, axis=tuple(axes), keepdims=keepdims))


def spread(d):
    """An axis of more than one element: for one element a deviation is zero and has no derivative."""
    x = d.pick(lambda s: len(s) >= 1 and 0 not in s and max(s) > 1)
    return picked(x, axes=[d.one(k for k, n in enumerate(d.shape(x)) if n > 1)], keepdims=d.chance(0.5))


def std(x, a):
    """With an offset from zero, where it has no derivative."""
    return jnp.sqrt(jnp.var(x[0], axis=tuple(a["axes"]), keepdims=a["keepdims"]) + 0.1)


def indices_along(x, a):
    return 3.0 * jax.lax.broadcasted_iota(x.dtype, x.shape, a["axes"][0])


def graph_indices(g, x, a):
    return g("mul", g("iota", shape=g.shape(x), axis=a["axes"][0], dtype=g.dtype), 3.0)


def normed(x, axis, eps):
    axes = tuple(range(axis % x.ndim, x.ndim))
    centred = x - jnp.mean(x, axis=axes, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred * centred, axis=axes, keepdims=True) + eps)


def rms_normed(x, axis, eps):
    axes = tuple(range(axis % x.ndim, x.ndim))
    return x / jnp.sqrt(jnp.mean(x * x, axis=axes, keepdims=True) + eps)


def weighted_norm(d):
    x = d.ranked(SOME)
    last = d.shape(x)[-1:]
    return picked(x, *[d.pick(lambda s: broadcast(s, last) == last)] * 2, axis=-1, eps=0.1)


REDUCTIONS = {
    **{name: reduction(name, function) for name, function in {
        "sum": jnp.sum, "mean": jnp.mean, "prod": jnp.prod, "max": jnp.max, "min": jnp.min,
        "var": jnp.var, "logsumexp": logsumexp}.items()},
    "std": Row(spread, std, lambda g, x, a: g("sqrt", g("add", g("var", x[0], **a), 0.1))),
    "std_apart": Row(spread, lambda x, a: jnp.std(x[0] + indices_along(x[0], a), axis=a["axes"][0], keepdims=a["keepdims"]),
                     lambda g, x, a: g("std", g("add", x[0], graph_indices(g, x[0], a)), **a)),
    "softmax": row("softmax", axis_of, jax.nn.softmax),
    "log_softmax": row("log_softmax", axis_of, jax.nn.log_softmax),
    "layer_norm": row("layer_norm", lambda d: axis_of(d, eps=0.1), normed),
    "layer_norm_weighted": Row(weighted_norm, lambda x, a: normed(x[0], **a) * x[1] + x[2], same("layer_norm")),
    "rms_norm": row("rms_norm", lambda d: axis_of(d, eps=0.1), rms_normed),
}
ROWS = {**MOVES, **REDUCTIONS}
