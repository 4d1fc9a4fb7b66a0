"""Random programs of views, reads and writes of one or two arrays, recorded and computed by NumPy at once."""
import numpy as np

import binding
from aliased.drawing import MOST_ELEMENTS, Array, Drawing
from aliased.views import combine, same, update

DTYPES = ["f32", "f32", "f64", "f16", "i32", "i32", "i64", "i64", "i8", "i16", "u8", "u16", "u32", "u64", "bool"]
NARROWER = {"f64": "f32", "f32": "f16", "i64": "i32", "i32": "i8", "i16": "i8", "u16": "u8", "u32": "u16"}  # promote to it
ORDINARY = ["set", "set", "add", "sub", "min", "max", "mul"]
LITERAL = 64  # elements of a constant that stands in the text, which any context reads


class Program(Drawing):
    """One program. wanted: what NumPy has for the outputs y0, y1, …, of which the last are the arrays' last versions."""

    def __init__(self, context, seed):
        self.random = np.random.default_rng([seed, 11])
        self.graph = binding.Graph(context, "writes")
        self.dtype = str(self.random.choice(DTYPES))
        self.wanted, self.indices = [], []
        self.late = []  # results behind all others but the newest versions
        self.apart = False  # does what is written read no array?
        self.arrays = [Array(self.graph, self.elements(self.drawn_shape()), self.dtype)
                       for _ in range(1 + (self.random.random() < 0.25))]
        self.most = max(MOST_ELEMENTS, 2 * max(a.now.size for a in self.arrays))
        self.record()

    def read(self):
        """(elements, value) of a view of some version: mostly of the newest."""
        array = self.one(self.arrays)
        flat, value = array.versions[-1] if self.chance(0.7) else self.one(array.versions)
        view = self.one(array.views)
        read = view.read(flat), view.of(self.graph, value)
        return self.less_most(*read) if self.chance(0.15) else read

    def less_most(self, elements, value):
        """Each row less its greatest element: two kernels, or one over rows that computes both."""
        if self.dtype == "bool" or not elements.ndim or not elements.size:
            return elements, value
        most = self.graph.apply("max", value, axes=[elements.ndim - 1], keepdims=True)
        return elements - elements.max(-1, keepdims=True), self.graph.apply("sub", value, most)

    def fitting(self, shape):
        """(elements, value): what a view reads that has this shape or broadcasts to it, or None. Of this version, it may
        overlap the target."""
        alike = [(array, view) for array in self.arrays for view in array.views if view.at.shape == shape]
        if alike and self.chance(0.5):
            array, view = self.one(alike)
            flat, value = array.versions[-1] if self.chance(0.9) else self.one(array.versions)
            return view.read(flat), view.of(self.graph, value)
        own = tuple(n if self.chance(0.8) else 1 for n in shape)
        own = own[int(self.random.integers(len(own) + 1)):] if self.chance(0.2) else own
        for _ in range(6):
            elements, value = self.read()
            if elements.shape == shape or (elements.shape == own and self.chance(0.5)):
                return elements, value
            if elements.size == np.prod(own, dtype=int) and self.chance(0.5):
                return elements.reshape(own), self.graph.apply("reshape", value, shape=list(own))
            if elements.ndim == len(shape) + 1 and elements.shape[1:] == shape and elements.shape[0]:
                return elements.max(0), self.graph.apply("max", value, axes=[0])
        return None

    def value_for(self, shape):
        """(elements, value) that broadcast to the shape."""
        found = None if self.apart else self.fitting(shape)
        if found and self.chance(0.3):
            found = self.combined(found, self.fitting(found[0].shape))
        if not found:
            own = tuple(n if self.chance(0.8) else 1 for n in shape)
            narrow = NARROWER.get(self.dtype) if self.chance(0.2) else None
            elements = self.elements(own, narrow)
            given = self.graph.constant if elements.size <= LITERAL and self.chance(0.2) else self.graph.input
            found = elements.astype(binding.NUMPY[self.dtype]), given(binding.Typed(elements, narrow or self.dtype))
        if self.chance(0.3) and self.dtype[0] in "if":
            found = (-found[0]).astype(binding.NUMPY[self.dtype]), self.graph.apply("neg", found[1])
        return found

    def combined(self, a, b):
        """The greater of two values, or their sum: exact, whatever the order."""
        if b is None or self.dtype == "bool":
            return a
        if self.chance(0.5):
            return np.maximum(a[0], b[0]), self.graph.apply("max", a[1], b[1])
        return (a[0] + b[0]).astype(binding.NUMPY[self.dtype]), self.graph.apply("add", a[1], b[1])

    def overlapping(self, sources, flat, value):
        """(elements, value) of the first of the sources, or of all."""
        read = sources[0].read(self.graph, flat, value)
        return self.combined(read, sources[1].read(self.graph, flat, value)) if self.chance(0.5) else read

    def write(self):
        """The next version of an array, of the newest one or now and then of an older; or a version beside the newest."""
        array = self.one(self.arrays)
        newest = array.versions[-1]
        before, value = newest if self.chance(0.7) else array.versions[0] if self.chance(0.5) else self.one(array.versions)
        beside = value is not newest[1] and self.chance(0.7)
        self.apart = beside and self.chance(0.7)
        array.now[...] = before.reshape(array.shape)
        flat = before.copy()
        kind = self.one(["assign"] * 7 + ["scatter", "scatter_add", "slice_update", "rearrange"])
        if kind == "rearrange":
            flat, made = self.rearrange(array, before, value)
        elif kind == "slice_update":
            made = self.update_slice(array, flat, value)
        elif kind == "assign" or (kind == "scatter_add" and self.dtype == "bool"):
            made = self.assign(array, flat, value)
        else:
            made = self.scatter(array, flat, value, kind)
        array.now[...] = (newest[0] if beside else flat).reshape(array.shape)
        array.versions.insert(len(array.versions) - beside, (flat, made))
        if beside:
            self.late.append((flat.reshape(array.shape), made))

    def assign(self, array, flat, value):
        view, sources = self.one(self.repeating(array) if self.chance(0.35) else array.views), None
        if array.groups and not self.apart and self.chance(0.5):
            targets, sources = self.one(array.groups)
            view, *sources = (x[int(k)] for x, k in zip([targets, sources, sources], self.random.permutation(len(targets))))
        operations = ["set", "and", "or", "xor"] if self.dtype == "bool" else ORDINARY
        if self.dtype[0] in "iu":
            operations = operations + ["and", "or", "xor"]
        operation = self.one([k for k in operations if k in ("set", "add", "sub")] if view.gathers else operations)
        elements, stored = self.overlapping(sources, flat, value) if sources else self.value_for(view.at.shape)
        update(flat, view.at, elements, operation)
        array.name(view.at)
        if view.alias is not None:  # NumPy's own write: into the memory of the array
            combine(view.alias, elements.copy(), operation)
            if not same(array.now.reshape(-1), flat):
                raise AssertionError("the table of positions is not what NumPy's view names")
        return self.graph.apply("assign", value, view.of(self.graph, array.positions), stored, op=operation)

    @staticmethod
    def repeating(array):
        """The views that name an element twice; of these, where there are some, the views of gathers. Else all views."""
        repeats = [v for v in array.views if v.gathers and np.unique(v.at).size < v.at.size]
        return [v for v in repeats if v.steps[-1][0] != "gather"] or repeats or array.views

    def scatter(self, array, flat, value, kind):
        axis = int(self.random.integers(len(array.shape)))
        index, chosen = self.make_index(array.shape[axis])
        at = np.take(array.views[0].at, index, axis)
        elements, stored = self.value_for(at.shape)
        update(flat, at, elements, "add" if kind == "scatter_add" else "set")
        array.name(at)
        return self.graph.apply(kind, value, chosen, stored, axis=axis)

    def update_slice(self, array, flat, value):
        size = [int(self.random.integers(1, n + 1)) for n in array.shape]
        start = [int(self.random.integers(0, n - s + 1)) for n, s in zip(array.shape, size)]
        at = array.views[0].at[tuple(slice(b, b + s) for b, s in zip(start, size))]
        elements, stored = self.value_for(at.shape)
        update(flat, at, elements, "set")
        array.name(at)
        return self.graph.apply("slice_update", value, stored, start=start, size=size)

    def rearrange(self, array, before, value):
        """All elements in another order: of the older version each is read elsewhere."""
        axis, order = int(self.random.integers(len(array.shape))), [int(k) for k in self.random.permutation(len(array.shape))]
        array.named[...] = True
        elements = np.flip(before.reshape(array.shape), axis).transpose(order).reshape(-1)
        moved = self.graph.apply("permute", self.graph.apply("flip", value, axes=[axis]), order=order)
        return elements.copy(), self.graph.apply("reshape", moved, shape=list(array.shape))

    def keep_late(self, array):
        """Results of an older version, and one that is computed of the first of them."""
        flat, value = self.one(array.versions[:-1])
        for k in range(2):
            view = self.one(array.views)
            elements, read = view.read(flat), view.of(self.graph, value)
            self.keep(*(self.less_most(elements, read) if self.chance(0.5) else (elements, read)))
            if k == 0 and elements.ndim:
                self.keep(np.flip(self.wanted[-1], 0), self.graph.apply("flip", self.graph.outputs[-1], axes=[0]))

    def record(self):
        for _ in range(int(self.random.integers(2, 13))):
            self.make_view(self.one(self.arrays))
        for _ in range(int(self.random.integers(2, 9))):
            older = [array for array in self.arrays if len(array.versions) > 1]
            if older and self.chance(0.12):
                self.keep_late(self.one(older))
            elif self.chance(0.3):
                self.keep(*self.read())
            else:
                self.write()
        for elements, value in self.late:
            self.keep(elements, value)
        for array in self.arrays:
            for flat, value in [v for v in array.versions[:-1] if self.chance(0.2)]:
                self.keep(flat.reshape(array.shape), value)
        for array in self.arrays:
            self.keep(array.versions[-1][0].reshape(array.shape), array.versions[-1][1])

    def keep(self, elements, value):
        self.wanted.append(elements)
        self.graph.output(value)
