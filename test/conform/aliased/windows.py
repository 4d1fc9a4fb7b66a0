"""Bounds of windows and steps of lattices, drawn at random: lists with one number for each axis of a shape."""
import numpy as np

FEW = 4  # elements along an axis of lattices, where the shape is small


def drawn(random, shape):
    """(begin, end) of a window, which is empty now and then."""
    begin = [int(random.integers(0, n + 1)) if random.random() < 0.1 else int(random.integers(0, max(n, 1))) for n in shape]
    return begin, [int(random.integers(min(b + 1, n), n + 1)) for b, n in zip(begin, shape)]


def moved(random, shape, begin, end):
    """(begin, end) of a window of the same size a little further."""
    by = [int(np.clip(random.integers(-2, 3), -b, n - e)) for b, e, n in zip(begin, end, shape)]
    return [b + m for b, m in zip(begin, by)], [e + m for e, m in zip(end, by)]


def stretched(random, shape, begin, end):
    """(begin, end, steps) of as many elements along each axis, somewhere, of which every second one along some."""
    lengths = [e - b for b, e in zip(begin, end)]
    steps = [2 if 2 * k - 1 <= n and random.random() < 0.5 else 1 for k, n in zip(lengths, shape)]
    spans = [(k - 1) * s + 1 for k, s in zip(lengths, steps)]
    begin = [int(random.integers(0, n - k + 1)) for k, n in zip(spans, shape)]
    return begin, [b + k for b, k in zip(begin, spans)], steps


def alike(random, shape, count):
    """Lattices (begin, end, steps) of one shape, which begin within two elements of each other where there is room. Often they have
    one step along the first axis, so that all rows move alike, and each its own along the others."""
    lattices = [([], [], []) for _ in range(count)]
    in_rows = random.random() < 0.6
    for axis, size in enumerate(shape):
        steps = random.choice([1, 1, 1, 2, 3], count)
        if in_rows:
            steps = 1 + random.permutation(3 if size < 20 else 6)[:count] if axis else [1] * count
        steps = [int(k) for k in steps]
        most = (size - 1) // max(steps) + 1
        length = int(random.integers(min(most, FEW if size < 20 else most // 2 + 1), most + 1))
        first = int(random.integers(0, size - (length - 1) * steps[0]))
        for k, (lattice, step) in enumerate(zip(lattices, steps)):
            span = (length - 1) * step + 1
            begin = int(np.clip(first + (random.choice([-2, -1, -1, 0, 1, 1, 2]) if k else 0), 0, size - span))
            for numbers, number in zip(lattice, (begin, begin + span, step)):
                numbers.append(number)
    return lattices


def touching(random, shape):
    """Three lattices as of alike: windows, of which each has one element in common with the one before it, the last of one of
    them and the first of the other; where there is no room for three, two are the same."""
    lengths = [int(random.integers(1, (n + 1) // 2 + 1)) for n in shape]
    begins = [int(random.integers(0, n - 2 * k + 2)) for n, k in zip(shape, lengths)]
    third = 2 if all(b + 3 * k - 2 <= n for b, k, n in zip(begins, lengths, shape)) else 0
    return [([b + m * (k - 1) for b, k in zip(begins, lengths)], [b + m * (k - 1) + k for b, k in zip(begins, lengths)],
             [1] * len(shape)) for m in (0, 1, third)]
