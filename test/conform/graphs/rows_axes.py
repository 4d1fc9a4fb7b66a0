"""Axes by letters: rearrange. The oracle takes each element of the result by its coordinates, and knows no reshape."""
import numpy as np

from graphs.maker import ALL
from graphs.reference import Ref
from graphs.sizes import number, product

LETTERS = "bhwcdftuvxyz"


class Axis:
    """text: as `from` has it; size: a Size; known: its size is written down."""

    def __init__(self, text, size):
        self.text, self.size = text, size


def _split(g, letters, size):
    """The axes of one axis of the array, at most one of which has no size written."""
    factors = [d for d in (2, 3, 4, 5) if size.divides(d) and size.terms]
    if not factors or g.chance(0.6):
        return [Axis(letters.pop(), size)]
    d = g.one(factors)
    parts = [(Axis(letters.pop(), size.over(d)), ""), (Axis(letters.pop(), number(d)), f"={d}")]
    if g.chance(0.5):
        parts.reverse()
    for axis, given in parts:
        axis.written = axis.text + given
    return [axis for axis, _ in parts]


def _pattern(g, groups):
    words = []
    for group in groups:
        inside = g.one(["", " "]).join(group)
        words.append(inside if len(group) == 1 and g.chance(0.9) else f"({inside})")
    return '"' + g.one(["", " "]).join(words) + '"'


def _grouped(g, axes):
    groups = []
    for axis in axes:
        if groups and g.chance(0.3):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _taken(a, source, target, env):
    """a, whose axes are groups of axes `source`, as an array whose axes are groups `target`, element by element."""
    at = {}
    shape = tuple(int(np.prod([axis.size.at(env) for axis in group], dtype=int)) for group in target)
    places = np.indices(shape) if shape else np.zeros((0,), int)
    for group, place in zip(target, places):
        for axis in reversed(group):
            size = axis.size.at(env)
            at[axis.text] = place % size if size else place
            place = place // size if size else place
    index = []
    for group in source:
        place = np.zeros(shape, int)
        for axis in group:
            place = place * axis.size.at(env) + at[axis.text]
        index.append(place)
    return a[tuple(index)] if index else np.broadcast_to(a, shape)


def rearrange(g):
    x = g.operand(ALL, most=4)
    letters = list(LETTERS)
    g.random.shuffle(letters)
    source = [_split(g, letters, size) for size in x.shape]
    axes = [axis for group in source for axis in group]
    order = list(axes)
    g.random.shuffle(order)
    if g.chance(0.3) and len(order) < 6:
        d = g.integer(1, 3)
        repeat = Axis(letters.pop(), number(d))
        repeat.written = f"{repeat.text}={d}" if g.chance(0.7) else f"{d}"
        order.insert(g.integer(0, len(order)), repeat)
    target = _grouped(g, order)
    shape = tuple(product(axis.size for axis in group) for group in target)
    g.room(shape)
    named = [[getattr(a, "written", a.text) for a in group] for group in source]
    wanted = [[a.text if a in axes else a.written for a in group] for group in target]

    def made(env, r):
        error = None if r.e is None else _taken(np.broadcast_to(r.e, r.a.shape), source, target, env)
        return Ref(_taken(r.a, source, target, env), error)

    g.emit("rearrange", [x], {"from": _pattern(g, named), "to": _pattern(g, wanted)}, made, (x.dtype, shape))


ROWS = [(3, rearrange)]
