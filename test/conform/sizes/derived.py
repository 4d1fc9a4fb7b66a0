"""Gradients of scalars."""
import numpy as np

from sizes.row import row


def product(x):
    """The product of all other elements, for each."""
    flat = x.reshape(-1)
    zeros = flat == 0
    if zeros.sum() > 1:
        others = np.zeros_like(flat)
    else:
        rest = flat[~zeros].prod()
        others = np.where(zeros, rest, 0) if zeros.any() else rest / flat
    return flat.prod(), others.reshape(x.shape)


def halves(x):
    value, others = product(x / 2)
    return value, others / 2


def greatest(x):
    ties = x == x.max()
    return x.max(), ties / ties.sum()


def by_place(x):
    """The sum of sorted elements times their ranks: the gradient is each element's rank."""
    order = np.argsort(x, kind="stable")
    place = np.empty(x.size)
    place[order] = np.arange(x.size)
    return (np.sort(x) * np.arange(x.size)).sum(), place


def matrices(x, y):
    return (x @ y).sum(), np.broadcast_to(y.sum(1), x.shape)


PLACES = "%p = iota shape=[n] axis=0 dtype=f64\n"
ROWS = [
    row("gradient_sum", "x:f64[n,m]", "%a = mul %x, %x\nsum %a", lambda x: ((x * x).sum(), 2 * x), gradient=True,
        least=0),
    row("gradient_prod", "x:f64[n]", "%a = mul %x, 0.5\nprod %a", halves, gradient=True, close=1e-9),
    row("gradient_prod_two", "x:f64[n,m]", "%a = mul %x, 0.5\nprod %a", halves, gradient=True, close=1e-9,
        power=25),  # at most 2^52 elements
    row("gradient_max", "x:f64[n,m]", "max %x", greatest, gradient=True),
    row("gradient_cumsum", "x:f64[n]", f"{PLACES}%c = cumsum %x axis=0\n%w = mul %c, %p\nsum %w",
        lambda x: ((x.cumsum() * np.arange(x.size)).sum(), np.arange(x.size)[::-1].cumsum()[::-1]), gradient=True),
    row("gradient_sort", "x:f64[n]", f"{PLACES}%s = sort %x\n%w = mul %s, %p\nsum %w", by_place, gradient=True),
    row("gradient_matmul", "x:f64[n,m] y:f64[m,k]", "%p = matmul %x, %y\nsum %p", matrices, gradient=True),
    row("gradient_pad", "x:f64[n]", "%a = pad %x pads=[[n,1]]\n%b = mul %a, %a\nsum %b",
        lambda x: ((x * x).sum(), 2 * x), gradient=True, least=0),
]
