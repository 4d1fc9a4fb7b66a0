"""Steps that contract: products of matrices, einsum, convolutions, windows, attention."""
import math

import jax
import jax.numpy as jnp

from .row import Row, Unfit, broadcast, picked, same

EQUATIONS = {  # operands whose ranks match are picked among the known values
    "ij,jk->ik": (2, 2), "ij,kj->ki": (2, 2), "ij,ij->j": (2, 2), "bij,bjk->bik": (3, 3), "i,j->ij": (1, 1),
    "ii->i": (2,), "ij->": (2,), "...i,...i->...": (2, 2), "bij,j->bi": (3, 1), "ij,jk,kl->il": (2, 2, 2),
    "abc,cd->dba": (3, 2), "i,i->": (1, 1),
}


def matmul(d):
    x = d.ranked(1, 4)
    left = d.shape(x)

    def fits(right):
        inner = right[-2] if len(right) > 1 else right[0] if right else None
        batch = broadcast(left[:-2], right[:-2])
        return inner == left[-1] and 0 not in right and batch is not None and len(batch) < 3

    return picked(x, d.pick(fits))


def einsum(d):
    equation = d.one(EQUATIONS)
    terms = equation.split("->")[0].replace("...", "E").split(",")
    numbers, sizes = [], {}
    for term in terms:
        def fits(shape, term=term):
            if len(shape) != len(term) or 0 in shape:
                return False
            found = dict(sizes)
            return all(found.setdefault(letter, n) == n for letter, n in zip(term, shape))

        numbers.append(d.pick(fits))
        sizes.update(zip(term, d.shape(numbers[-1])))
    return picked(*numbers, equation=equation)


def quoted(g, x, a):
    return g("einsum", *x, equation=f'"{a["equation"]}"')


def conv(d):
    """x and a weight, made from known values by reshapes: [n, c, length] and [m, c, extent]."""
    x, w = d.pick(lambda s: 4 <= math.prod(s) <= 60 and math.prod(s) % 2 == 0), d.pick(lambda s: 2 <= math.prod(s) <= 24)
    count, taps = math.prod(d.shape(x)), math.prod(d.shape(w))
    channels = d.one(c for c in (1, 2) if taps % c == 0)
    extent = d.one(k for k in (1, 2, 3) if taps // channels % k == 0)
    length = count // channels
    stride, dilation, padding = d.integer(1, 2), d.integer(1, 2), d.integer(0, 2)
    if length + 2 * padding < (extent - 1) * dilation + 1:
        raise Unfit
    return picked(x, w, data=(1, channels, length), weight=(taps // channels // extent, channels, extent),
                  stride=stride, dilation=dilation, padding=padding)


def convolved(x, a):
    return jax.lax.conv_general_dilated(x[0].reshape(a["data"]), x[1].reshape(a["weight"]), (a["stride"],),
                                        [(a["padding"],) * 2], rhs_dilation=(a["dilation"],))


def conv_of(g, x, a):
    return g("conv", g("reshape", x[0], shape=a["data"]), g("reshape", x[1], shape=a["weight"]), stride=a["stride"],
             dilation=a["dilation"], padding=a["padding"])


def plane(d):
    x = d.ranked(2, 4)
    if min(d.shape(x)[-2:]) < 2:
        raise Unfit
    return picked(x, kernel=[2, d.integer(1, 2)], stride=[d.integer(1, 2), 1])


def windows(x, a):
    """The elements of each window along a new first axis, by slices: the maximum of reduce_window has no
    second derivative, and gives the whole cotangent to the first of equal elements."""
    (high, wide), (down, across) = a["kernel"], a["stride"]
    rows, columns = (x.shape[-2] - high) // down + 1, (x.shape[-1] - wide) // across + 1
    return jnp.stack([x[..., i:i + (rows - 1) * down + 1:down, j:j + (columns - 1) * across + 1:across]
                      for i in range(high) for j in range(wide)])


def attention(d):
    q = d.ranked(2, 3)
    shape = d.shape(q)
    k = d.pick(lambda s: len(s) == len(shape) and s[-1] == shape[-1] and s[:-2] == shape[:-2] and 0 not in s)
    v = d.pick(lambda s: len(s) == len(shape) and s[:-1] == d.shape(k)[:-1] and 0 not in s)
    return picked(q, k, v, causal=d.chance(0.4))


def attended(x, a):
    q, k, v = x
    scores = q @ jnp.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if a["causal"]:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jax.nn.softmax(scores, axis=-1) @ v


ROWS = {
    "matmul": Row(matmul, lambda x, a: jnp.matmul(*x), same("matmul")),
    "einsum": Row(einsum, lambda x, a: jnp.einsum(a["equation"], *x), quoted),
    "conv": Row(conv, convolved, conv_of),
    "max_pool": Row(plane, lambda x, a: jnp.max(windows(x[0], a), axis=0), same("max_pool")),
    "avg_pool": Row(plane, lambda x, a: jnp.mean(windows(x[0], a), axis=0), same("avg_pool")),
    "attention": Row(attention, attended, same("attention")),
}
