"""Random programs of views, reads and writes of one or two arrays, recorded and computed by NumPy at once."""
import numpy as np

import binding
from aliased import windows
from aliased.views import View, combine, same, update

DTYPES = ["f32", "f32", "f64", "f16", "i32", "i64", "i8", "i16", "u8", "u16", "u32", "u64", "bool"]
NARROWER = {"f64": "f32", "f32": "f16", "i64": "i32", "i32": "i8", "i16": "i8", "u16": "u8", "u32": "u16"}  # promote to it
ORDINARY = ["set", "set", "add", "sub", "min", "max", "mul"]
VIEWS = ["permute", "reshape", "shrink", "shrink", "pair", "stride", "flip", "unsqueeze", "squeeze", "point", "pad", "gather",
         "create_view"]
MOST_RANK, MOST_ELEMENTS = 5, 400
LITERAL = 64  # elements of a constant that stands in the text, which any context reads


def factored(random, size):
    """A shape of so many elements."""
    shape = []
    while size > 1 and len(shape) < MOST_RANK - 1:
        parts = [k for k in range(1, size + 1) if size % k == 0]
        shape.append(int(random.choice(parts)))
        size //= shape[-1]
    return tuple(shape + [size])


class Array:
    """An array, the versions that there have been of it (elements in row-major order, value), and views of it."""

    def __init__(self, graph, first, dtype):
        self.now = first.copy()
        self.shape = first.shape
        self.versions = [(first.reshape(-1).copy(), graph.input(binding.Typed(first, dtype)))]
        self.positions = graph.apply("address", self.versions[0][1])
        self.views = [View(np.arange(first.size).reshape(first.shape), self.now)]
        self.pairs = []  # views of one shape, of which each may be written with what the other one reads
        self.named = np.zeros(first.size, bool)  # positions that some write names

    def name(self, at):
        self.named[at[at >= 0]] = True


class Program:
    """One program. wanted: what NumPy has for the outputs y0, y1, …, of which the last are the arrays' last versions.
    indices: the numbers of the inputs that gathers take as indices, with the size of the axis."""

    def __init__(self, context, seed):
        self.random = np.random.default_rng([seed, 11])
        self.graph = binding.Graph(context, "writes")
        self.dtype = str(self.random.choice(DTYPES))
        self.wanted, self.indices = [], []
        self.arrays = [Array(self.graph, self.elements(self.drawn_shape()), self.dtype)
                       for _ in range(1 + (self.random.random() < 0.25))]
        self.most = max(MOST_ELEMENTS, 2 * max(a.now.size for a in self.arrays))
        self.record()

    def chance(self, share):
        return self.random.random() < share

    def drawn_shape(self):
        random = self.random
        if not self.chance(0.16):
            return tuple(int(k) for k in random.integers(1, 8, random.integers(1, 4)))
        high = 400 if self.chance(0.1) else 70  # rows of vectors, and rarely enough for threads
        return tuple(int(k) for k in random.integers(20, high, 2))

    def elements(self, shape, dtype=None):
        dtype = dtype or self.dtype
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        return self.random.integers(0 if dtype[0] == "u" else -8, 9, shape).astype(binding.NUMPY[dtype])

    def one(self, things):
        return things[int(self.random.integers(len(things)))]

    def add_view(self, array, view):
        if view.at.ndim <= MOST_RANK and view.at.size <= self.most:
            array.views.append(view)

    def make_view(self, array):
        """A view of one of the views, of a kind that applies to it."""
        base, random = self.one(array.views), self.random
        rank, shape = base.at.ndim, base.at.shape
        kind = self.one(VIEWS)
        axis = int(random.integers(rank)) if rank else 0
        if kind == "permute" and rank:
            order = [int(k) for k in random.permutation(rank)]
            self.add_view(array, base.then(kind, lambda a: a.transpose(order), order=order))
        elif kind == "reshape" and base.at.size:
            to = factored(random, base.at.size)
            self.add_view(array, base.then(kind, lambda a: a.reshape(to), shape=list(to)))
        elif kind == "shrink" and rank:
            self.make_windows(array, base)
        elif kind == "pair" and rank and base.at.size:
            self.make_pair(array, base)
        elif kind == "stride" and rank:
            steps = [int(random.choice([1, 1, 2, 3, -1, -2])) for _ in shape]
            cut = tuple(slice(None, None, s) for s in steps)
            self.add_view(array, base.then(kind, lambda a: a[cut], steps=steps))
        elif kind == "flip" and rank:
            self.add_view(array, base.then(kind, lambda a: np.flip(a, axis), axes=[axis]))
        elif kind == "unsqueeze":
            self.add_view(array, base.then(kind, lambda a: np.expand_dims(a, axis), axis=axis))
        elif kind == "squeeze" and rank and shape[axis] == 1:
            self.add_view(array, base.then(kind, lambda a: np.squeeze(a, axis), axis=axis))
        elif kind == "point" and rank and shape[axis]:
            index = int(random.integers(shape[axis]))
            cut = (slice(None),) * axis + (index,)
            self.add_view(array, base.then(kind, lambda a: a[cut + (Ellipsis,)], index=index, axis=axis))
        elif kind == "pad" and rank:
            pads = [[int(k) for k in random.choice([0, 0, 1, 2], 2)] for _ in shape]
            self.add_view(array, base.then(kind, lambda a: np.pad(a, pads, constant_values=-1), alias=False, pads=pads))
        elif kind == "gather" and rank and shape[axis]:
            index, made = self.make_index(shape[axis])
            self.add_view(array, base.then(kind, lambda a: np.take(a, index, axis), made, alias=False, axis=axis))
        elif kind == "create_view" and rank and base.at.size:
            self.make_descriptors(array, base)

    def make_windows(self, array, base):
        """A window, and often others of its size: a little further, or with steps."""
        random, shape = self.random, base.at.shape
        begin, end = windows.drawn(random, shape)
        self.add_view(array, self.window_of(base, begin, end))
        if self.chance(0.5):
            self.add_view(array, self.window_of(base, *windows.moved(random, shape, begin, end)))
        if self.chance(0.3) and all(b < e for b, e in zip(begin, end)):
            self.add_view(array, self.lattice_of(base, *windows.stretched(random, shape, begin, end)))

    def make_pair(self, array, base):
        """Two lattices of one shape that begin near each other, axes in one order: what an iteration reads, one before or
        after it replaces. A write may be through one with elements that the other one reads."""
        order = [int(k) for k in self.random.permutation(base.at.ndim)]
        pair = [self.lattice_of(base, *lattice).then("permute", lambda a: a.transpose(order), order=order)
                for lattice in windows.pair(self.random, base.at.shape)]
        for view in pair:
            self.add_view(array, view)
        array.pairs.append(pair)

    def window_of(self, base, begin, end):
        cut = tuple(slice(b, e) for b, e in zip(begin, end))
        return base.then("shrink", lambda a: a[cut], bounds=[list(p) for p in zip(begin, end)])

    def lattice_of(self, base, begin, end, steps):
        every = tuple(slice(None, None, s) for s in steps)
        return self.window_of(base, begin, end).then("stride", lambda a: a[every], steps=steps)

    def make_descriptors(self, array, base):
        """A view by descriptors of some axes, and new axes between them: positions are known, inputs, or inputs and 1."""
        cut, descriptors = [], []
        for size in base.at.shape[:int(self.random.integers(1, base.at.ndim + 1))]:
            if self.chance(0.15):
                cut.append(None)
                descriptors.append(self.graph.apply("index_new_axis"))
            taken, descriptor = self.make_descriptor(size)
            cut.append(taken)
            descriptors.append(descriptor)
        self.add_view(array, base.then("create_view", lambda a: a[tuple(cut) + (Ellipsis,)], *descriptors))

    def make_descriptor(self, size):
        """(NumPy's index, descriptor) of an axis."""
        graph, random = self.graph, self.random
        kind = self.one(["point", "window", "window", "interval", "all"])
        if kind == "all":
            return slice(None), graph.apply("index_all")
        if kind == "point":
            at = int(random.integers(-size, size))
            return at, graph.apply("index_point", self.make_position(at))
        stride = int(random.choice([1, 1, 1, 2, -1]))
        length = int(random.integers(1, (size - 1) // abs(stride) + 2))
        first = int(random.integers(0, size - (length - 1) * abs(stride)))
        start = first if stride > 0 else first + (length - 1) * abs(stride)
        taken = np.arange(first, first + (length - 1) * abs(stride) + 1, abs(stride))
        taken = slice(int(taken[0]), int(taken[-1]) + 1, stride) if stride > 0 else \
            slice(start, first - 1 if first else None, stride)
        if kind == "window":
            return taken, graph.apply("index_window", self.make_position(start), length=length, stride=stride)
        return taken, graph.apply("index_interval", start, start + (length - 1) * stride, stride, True)

    def make_position(self, at):
        """A position that is known, an input, or computed of one."""
        if self.chance(0.3):
            return at
        if self.chance(0.5):
            return self.graph.input(binding.Typed(np.array(at, np.int64)))
        return self.graph.apply("add", self.graph.input(binding.Typed(np.array(at - 1, np.int64))), 1)

    def make_index(self, size):
        """(indices, value): positions along an axis, an input or computed of elements."""
        for _ in range(3 if self.dtype in ("i32", "i64") and self.chance(0.5) else 0):
            elements, value = self.read()
            if 0 < elements.size <= 9 and elements.ndim <= 2:
                value = self.graph.apply("min", self.graph.apply("max", value, 0), size - 1)
                return np.clip(elements, 0, size - 1), value
        index = self.random.integers(-size, size, tuple(int(k) for k in self.random.integers(1, 4, self.random.integers(1, 3))))
        self.indices.append((len(self.graph.inputs), size))
        return index, self.graph.input(index.astype(np.int64))

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
        found = self.fitting(shape)
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

    def write(self):
        """The next version of an array, of the newest one or now and then of an older."""
        array = self.one(self.arrays)
        before, value = array.versions[-1] if self.chance(0.8) else self.one(array.versions)
        array.now[...] = before.reshape(array.shape)
        flat = before.copy()
        kind = self.one(["assign"] * 7 + ["scatter", "scatter_add", "slice_update"])
        if kind == "slice_update":
            made = self.update_slice(array, flat, value)
        elif kind == "assign" or (kind == "scatter_add" and self.dtype == "bool"):
            made = self.assign(array, flat, value)
        else:
            made = self.scatter(array, flat, value, kind)
        array.now[...] = flat.reshape(array.shape)
        array.versions.append((flat, made))

    def assign(self, array, flat, value):
        view, source = self.one(array.views), None
        if array.pairs and self.chance(0.4):
            pair = self.one(array.pairs)
            view, source = (pair[k] for k in self.random.permutation(2))
        operations = ["set", "and", "or", "xor"] if self.dtype == "bool" else ORDINARY
        if self.dtype[0] in "iu":
            operations = operations + ["and", "or", "xor"]
        operation = self.one([k for k in operations if k in ("set", "add", "sub")] if view.gathers else operations)
        elements, stored = (source.read(flat), source.of(self.graph, value)) if source else self.value_for(view.at.shape)
        update(flat, view.at, elements, operation)
        array.name(view.at)
        if view.alias is not None:  # NumPy's own write: into the memory of the array
            combine(view.alias, elements.copy(), operation)
            if not same(array.now.reshape(-1), flat):
                raise AssertionError("the table of positions is not what NumPy's view names")
        return self.graph.apply("assign", value, view.of(self.graph, array.positions), stored, op=operation)

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

    def record(self):
        for _ in range(int(self.random.integers(2, 13))):
            self.make_view(self.one(self.arrays))
        for _ in range(int(self.random.integers(2, 9))):
            if self.chance(0.3):
                self.keep(*self.read())
            else:
                self.write()
        for array in self.arrays:
            for flat, value in [v for v in array.versions[:-1] if self.chance(0.2)]:
                self.keep(flat.reshape(array.shape), value)
        for array in self.arrays:
            self.keep(array.versions[-1][0].reshape(array.shape), array.versions[-1][1])

    def keep(self, elements, value):
        self.wanted.append(elements)
        self.graph.output(value)
