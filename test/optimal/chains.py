"""Chains of views: random ones, and their element maps by NumPy."""
import math
import random

import numpy as np

SIZES = (1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10)
# which views each kind of chain is made of: Reshape, Permute, Expand, Shrink, paD, Flip, sTride
KINDS = {"general": "rpesdft", "masks": "dddsrpt", "orders": "rrpp", "flips": "fftrs", "ones": "erdps", "long": "rpesdft"}


def element_map(chain):
    """Which element of the base each element of the result is; -1: padding."""
    a = np.arange(math.prod(chain["base"]), dtype=np.int64).reshape(chain["base"])
    for op, arg in chain["ops"]:
        if op == "reshape":
            a = a.reshape(arg)
        elif op == "permute":
            a = a.transpose(arg)
        elif op == "expand":
            a = np.broadcast_to(a, arg)
        elif op == "pad":
            a = np.pad(a, [tuple(p) for p in arg], constant_values=-1)
        elif op == "shrink":
            a = a[tuple(slice(lo, hi) for lo, hi in arg)]
        elif op == "flip":
            a = np.flip(a, tuple(arg)) if arg else a
        else:
            a = a[tuple(slice(None, None, s) for s in arg)]
    return np.ascontiguousarray(a).reshape(a.shape)


def _factors(draw, count):
    primes, left, p = [], count, 2
    while left > 1:
        while left % p == 0:
            primes.append(p)
            left //= p
        p += 1
    sizes = [1] * draw.randint(1, 4)
    for p in primes:
        sizes[draw.randrange(len(sizes))] *= p
    return [s for s in sizes if s > 1] or [1] if draw.random() < 0.6 else sizes


def _interval(draw, size):
    if size == 1 or draw.random() < 0.4:
        return [0, size]
    lo = draw.randint(0, size - 1)
    hi = draw.randint(lo + 1, size)
    side = draw.random()
    return [0, hi] if side < 0.4 else [lo, size] if side < 0.6 else [lo, hi]


def _view(draw, kind, shape):
    """A view as the corpus writes it, and the shape of its result."""
    if kind == "r":
        arg = _factors(draw, math.prod(shape))
        return ["reshape", arg], arg
    if kind == "p":
        arg = draw.sample(range(len(shape)), len(shape))
        return ["permute", arg], [shape[i] for i in arg]
    if kind == "e":
        if 1 not in shape:
            at = draw.randint(0, len(shape))
            arg = shape[:at] + [1] + shape[at:]
            return ["reshape", arg], arg
        arg = [draw.choice((2, 3, 4, 5)) if s == 1 and draw.random() < 0.7 else s for s in shape]
        return ["expand", arg], arg
    if kind == "s":
        arg = [_interval(draw, s) for s in shape]
        return ["shrink", arg], [hi - lo for lo, hi in arg]
    if kind == "d":
        arg = [[draw.choice((0, 0, 1, 2, 3)), draw.choice((0, 0, 1, 2, 3))] if draw.random() < 0.6 else [0, 0] for _ in shape]
        return ["pad", arg], [s + lo + hi for s, (lo, hi) in zip(shape, arg)]
    if kind == "f":
        return ["flip", [i for i in range(len(shape)) if draw.random() < 0.5]], shape
    arg = [draw.choice((1, 1, 1, 2, 2, 3, -1, -1, -2, -3)) for _ in shape]
    return ["stride", arg], [-(-s // abs(k)) for s, k in zip(shape, arg)]


def _random_chain(draw, elements):
    while True:
        shape = base = [draw.choice(SIZES) for _ in range(draw.randint(1, 4))]
        kind = draw.choice(list(KINDS))
        ops = []
        for _ in range(draw.randint(5, 8) if kind == "long" else draw.randint(2, 5)):
            op, shape = _view(draw, draw.choice(KINDS[kind]), list(shape))
            ops.append(op)
            if math.prod(shape) > elements or len(shape) > 6:
                break
        if math.prod(base) <= elements and math.prod(shape) <= elements and len(shape) <= 6:
            return {"base": base, "ops": ops}


def random_chains(seed, count, elements):
    draw = random.Random(seed)
    return [{"name": f"random_{seed}_{k}", **_random_chain(draw, elements)} for k in range(count)]
