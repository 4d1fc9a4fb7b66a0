"""Views of an array, and writes through them, in NumPy."""
import numpy as np

SCALARS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
           "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


class View:
    """A chain of views: steps that viewfold records, the positions that they name, NumPy's view where it has one."""

    def __init__(self, positions, alias, steps=(), gathers=False):
        self.at, self.alias, self.steps, self.gathers = positions, alias, steps, gathers

    def then(self, operation, change, *operands, alias=True, **attributes):
        seen = change(self.alias) if self.alias is not None and alias else None
        if seen is not None and not np.shares_memory(seen, self.alias) and seen.size:
            seen = None
        return View(change(self.at), seen, self.steps + ((operation, operands, attributes),),
                    self.gathers or operation == "gather")

    def of(self, graph, value):
        for operation, operands, attributes in self.steps:
            value = graph.apply(operation, value, *operands, **attributes)
        return value

    def read(self, flat):
        seen = flat[np.maximum(self.at, 0)]
        return np.where(self.at < 0, flat.dtype.type(0), seen)


class Source:
    """What a view reads, or the greatest elements of that along an axis."""

    def __init__(self, view, axis=None):
        self.view, self.axis = view, axis

    def read(self, graph, flat, value):
        elements, made = self.view.read(flat), self.view.of(graph, value)
        if self.axis is None:
            return elements, made
        return elements.max(self.axis), graph.apply("max", made, axes=[self.axis])


def combine(target, elements, operation):
    target[...] = elements if operation == "set" else SCALARS[operation](target, elements)


def update(flat, at, elements, operation):
    """The write, element by element in row-major order; positions below 0 are nowhere."""
    values = np.broadcast_to(elements, at.shape)
    exact = flat.dtype == np.float16  # sums of these are rounded once
    sums = flat.astype(np.float32) if exact else flat
    if np.unique(at).size == at.size and (at.size == 0 or at.min() >= 0):  # in any order
        values = values.astype(sums.dtype)
        sums[at] = values if operation == "set" else SCALARS[operation](sums[at], values)
    else:
        one_by_one(sums, at, values, operation)
    if exact:
        flat[...] = sums


def one_by_one(sums, at, values, operation):
    for index in np.ndindex(at.shape):
        place = at[index]
        if place >= 0:
            sums[place] = values[index] if operation == "set" else SCALARS[operation](sums[place], sums.dtype.type(values[index]))


def same(a, b):
    """NaNs are one value: products overflow now and then."""
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
