"""Chains of views that models are made of, with random sizes: windows of convolutions and pools, heads of attention, rolls,
rotations, cumulative sums, layouts."""
import math
import random


class Chain:
    """A chain under construction: each view is appended as the corpus writes it."""

    def __init__(self, *base):
        self.base, self.shape, self.ops = list(base), list(base), []

    def _add(self, op, arg, shape):
        self.ops.append([op, arg])
        self.shape = shape
        return self

    def reshape(self, *shape):
        return self._add("reshape", list(shape), list(shape))

    def permute(self, *order):
        return self._add("permute", list(order), [self.shape[i] for i in order])

    def expand(self, *shape):
        return self._add("expand", list(shape), list(shape))

    def pad(self, *pairs):
        return self._add("pad", [list(p) for p in pairs], [n + lo + hi for n, (lo, hi) in zip(self.shape, pairs)])

    def shrink(self, *pairs):
        return self._add("shrink", [list(p) for p in pairs], [hi - lo for lo, hi in pairs])

    def flip(self, *axes):
        return self._add("flip", list(axes), self.shape)

    def stride(self, *steps):
        return self._add("stride", list(steps), [-(-n // abs(k)) for n, k in zip(self.shape, steps)])

    def keep(self, axis, lo, hi):
        return self.shrink(*[(lo, hi) if i == axis else (0, n) for i, n in enumerate(self.shape)])

    def windows(self, kernel, step, dilation):
        """The last len(kernel) axes become window positions and then positions inside: repeat, shift by reshaping, cut."""
        rest, size = self.shape[: -len(kernel)], self.shape[-len(kernel):]
        out = [-(-(n - d * (k - 1)) // s) for n, k, s, d in zip(size, kernel, step, dilation)]
        times = [-(-(k * (n + d)) // n) for n, k, d in zip(size, kernel, dilation)]
        whole = [(0, n) for n in rest]
        self.reshape(*rest, *[x for n in size for x in (1, n)])
        self.expand(*rest, *[x for t, n in zip(times, size) for x in (t, n)])
        self.reshape(*rest, *[t * n for t, n in zip(times, size)])
        self.shrink(*whole, *[(0, k * (n + d)) for n, k, d in zip(size, kernel, dilation)])
        self.reshape(*rest, *[x for n, k, d in zip(size, kernel, dilation) for x in (k, n + d)])
        if any(o * s > n + d for o, s, n, d in zip(out, step, size, dilation)):
            return None
        self.shrink(*whole, *[x for k, o, s in zip(kernel, out, step) for x in ((0, k), (0, o * s))])
        self.reshape(*rest, *[x for k, o, s in zip(kernel, out, step) for x in (k, o, s)])
        self.shrink(*whole, *[x for k, o in zip(kernel, out) for x in ((0, k), (0, o), (0, 1))])
        self.reshape(*rest, *[x for k, o in zip(kernel, out) for x in (k, o)])
        r = len(rest)
        return self.permute(*range(r), *[r + 2 * i + 1 for i in range(len(kernel))], *[r + 2 * i for i in range(len(kernel))])


def convolution(r):
    axes = r.randint(1, 2)
    c = Chain(1, r.randint(1, 3), *[r.randint(5, 9) for _ in range(axes)])
    k, pad = [r.randint(2, 3)] * axes, r.randint(0, 2)
    if pad:
        c.pad((0, 0), (0, 0), *[(pad, r.choice((pad, 0)))] * axes)
    c = c.windows(k, [r.randint(1, 2)] * axes, [r.randint(1, 2)] * axes)
    if c and r.random() < 0.4:  # as a matrix
        positions = math.prod(c.shape[2: 2 + axes])
        c.permute(0, *range(2, 2 + axes), 1, *range(2 + axes, 2 + 2 * axes)).reshape(positions, math.prod(c.base[:2] + k))
    return c


def transposed(r):
    n, s = r.randint(3, 4), r.randint(2, 3)
    channels = r.randint(1, 2)
    c = Chain(1, channels, n)
    c.reshape(1, channels, n, 1).pad((0, 0), (0, 0), (0, 0), (0, s - 1)).reshape(1, channels, n * s).keep(2, 0, n * s - s + 1)
    k = r.randint(2, 3)
    return c.pad((0, 0), (0, 0), (k - 1, k - 1)).windows([k], [1], [1])


def pool(r):
    k, h, w = r.randint(2, 3), r.randint(2, 4), r.randint(2, 4)
    c = Chain(r.randint(1, 2), r.randint(1, 3), h * k, w * k)
    return c.reshape(*c.base[:2], h, k, w, k).permute(0, 1, 2, 4, 3, 5)


def shuffle(r):
    n, ch, k, h, w = 1, r.randint(1, 3), r.randint(2, 3), r.randint(2, 4), r.randint(2, 5)
    if r.random() < 0.5:
        return Chain(n, ch * k * k, h, w).reshape(n, ch, k, k, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, ch, h * k, w * k)
    return Chain(n, ch, h * k, w * k).reshape(n, ch, h, k, w, k).permute(0, 1, 3, 5, 2, 4).reshape(n, ch * k * k, h, w)


def heads(r):
    t, h, d = r.randint(3, 6), r.randint(2, 4), r.randint(3, 5)
    which = r.randint(0, 4)
    if which == 0:
        return Chain(1, t, h * d).reshape(1, t, h, d).permute(0, 2, 1, 3)
    if which == 1:
        return Chain(1, h, t, d).permute(0, 2, 1, 3).reshape(1, t, h * d)
    if which == 2:
        part = r.randint(0, 2)
        return Chain(1, t, 3 * h * d).keep(2, part * h * d, (part + 1) * h * d).reshape(1, t, h, d).permute(0, 2, 1, 3)
    if which == 3:
        times = r.randint(2, 4)
        return Chain(1, h, t, d).reshape(1, h, 1, t, d).expand(1, h, times, t, d).reshape(1, h * times, t, d)
    c = Chain(1, t, 2 * t - 1).pad((0, 0), (0, 0), (1, 0)).reshape(1, 2 * t, t).keep(1, 1, 2 * t)
    return c.reshape(1, t, 2 * t - 1).keep(2, 0, t)


def repeated(r):
    a, b, k, m = r.randint(3, 6), r.randint(3, 6), r.randint(2, 4), r.randint(2, 3)
    which = r.randint(0, 2)
    if which == 0:
        return Chain(a, b).reshape(a, 1, b, 1).expand(a, k, b, m).reshape(a * k, b * m)
    if which == 1:
        return Chain(a, b).reshape(1, a, 1, b).expand(k, a, m, b).reshape(k * a, m * b)
    return Chain(a).reshape(a, 1).expand(a, k).reshape(a * k)


def rolled(r):
    a, b = r.randint(4, 9), r.randint(4, 9)
    i, j = r.randint(0, a - 1), r.randint(1, b - 1)
    c = Chain(a, b).reshape(1, a, 1, b).expand(2, a, 2, b).reshape(2 * a, 2 * b).shrink((i, i + a), (j, j + b))
    if r.random() < 0.4 and a % 2 == 0 and b % 3 == 0:
        c.reshape(a // 2, 2, b // 3, 3).permute(0, 2, 1, 3).reshape(a * b // 6, 6)
    return c


def diagonals(r):
    n, m = r.randint(3, 6), r.randint(4, 7)
    which = r.randint(0, 2)
    if which == 0:
        return Chain(n).reshape(n, 1).pad((0, 0), (0, n)).reshape(n * (n + 1)).shrink((0, n * n)).reshape(n, n)
    if which == 1:
        return Chain(n, n).reshape(n * n).pad((0, n)).reshape(n, n + 1).keep(1, 0, 1).reshape(n)
    return Chain(n, m).pad((0, 0), (0, n)).reshape(n * (m + n)).shrink((0, n * (m + n - 1))).reshape(n, m + n - 1)


def tiles(r):
    a, b, k, m, c = r.randint(2, 3), r.randint(2, 4), r.randint(2, 4), r.randint(2, 4), r.randint(1, 3)
    x = Chain(1, a * k, b * m, c).reshape(1, a, k, b, m, c)
    if r.random() < 0.6:
        return x.permute(0, 1, 3, 2, 4, 5).reshape(a * b, k * m, c)
    return x.permute(2, 4, 0, 1, 3, 5).reshape(k * m, a, b, c)


def rotary(r):
    t, h, d = r.randint(2, 5), r.randint(1, 3), r.randint(2, 4)
    which = r.randint(0, 3)
    if which == 0:
        i = r.randint(0, 1)
        return Chain(1, t, h, 2 * d).reshape(1, t, h, d, 2).shrink((0, 1), (0, t), (0, h), (0, d), (i, i + 1)).reshape(1, t, h, d)
    if which == 1:
        return Chain(t, 2 * d).reshape(t, d, 2).permute(0, 2, 1).reshape(t, 2 * d)
    lo = r.choice((0, d))  # one half, where the other one comes
    c = Chain(1, t, h, 2 * d).keep(3, lo, lo + d).pad((0, 0), (0, 0), (0, 0), (d - lo, lo))
    return c if which == 2 else c.reshape(1, t, h * 2 * d).reshape(1, t * h, 2, d).permute(0, 2, 1, 3)


def layouts(r):
    c, h, w, g = r.choice((4, 6, 8)), r.randint(2, 4), r.randint(3, 5), 2
    which = r.randint(0, 4)
    if which == 0:
        return Chain(1, c, h, w).permute(0, 2, 3, 1).reshape(h * w * c)
    if which == 1:
        return Chain(1, c, h, w).reshape(1, g, c // g, h, w).permute(0, 2, 1, 3, 4).reshape(1, c, h, w)
    if which == 2:
        return Chain(2 * h, 2 * w).reshape(h, 2, w, 2).permute(0, 2, 1, 3).reshape(4 * h * w)
    if which == 3:
        return Chain(h * w).reshape(h, w).permute(1, 0).reshape(h * w)
    return Chain(h, w).permute(1, 0).reshape(1, w, h).expand(3, w, h)


def sums(r):
    n, m = r.randint(3, 6), r.randint(1, 4)
    return Chain(n, m).permute(1, 0).pad((0, 0), (n - 1, 0)).windows([n], [1], [1])


def slices(r):
    a, b = r.randint(4, 10), r.randint(4, 10)
    which = r.randint(0, 3)
    if which == 0:
        return Chain(a, b).stride(r.choice((2, 3, -1, -2)), r.choice((1, 2, -1)))
    if which == 1:
        k = r.randint(2, 4)
        return Chain(a * k, b).reshape(a, k, b).keep(1, 1, 2).reshape(a, b)
    if which == 2:
        return Chain(a, b).keep(1, 1, 4).flip(1).pad((0, 0), (0, b))
    lo, hi = r.randint(0, 2), r.randint(0, 2)  # a window, and what was cut from it is padding
    c = Chain(a, b).shrink((lo, a), (0, b - hi)).pad((lo, 0), (0, hi))
    return c.reshape(a * b) if r.random() < 0.5 else c


def joined(r):
    a, b, lo, hi = r.randint(2, 5), r.randint(2, 5), r.randint(0, 4), r.randint(1, 4)
    c = Chain(a, b).pad((lo, hi), (0, 0))
    return c.reshape((a + lo + hi) * b) if r.random() < 0.6 else c.permute(1, 0).reshape((a + lo + hi) * b)


FAMILIES = (convolution, convolution, transposed, pool, shuffle, heads, repeated, rolled, diagonals, tiles, rotary, layouts, sums, slices, joined)


def model_chains(seed, count, elements):
    draw, out = random.Random(seed), []
    while len(out) < count:
        c = draw.choice(FAMILIES)(draw)
        if c and math.prod(c.shape) <= elements and len(c.shape) <= 8:
            out.append({"name": f"model_{seed}_{len(out)}", "base": c.base, "ops": c.ops})
    return out
