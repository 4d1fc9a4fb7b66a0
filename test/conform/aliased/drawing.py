"""Random views of an array: chains of all kinds, and groups of views that overlap."""
import numpy as np

import binding
from aliased import windows
from aliased.views import Source, View

VIEWS = ["permute", "reshape", "shrink", "group", "group", "group", "stride", "flip", "unsqueeze", "squeeze", "point", "pad",
         "gather", "create_view"]
MOST_RANK, MOST_ELEMENTS = 5, 400
MANY = 33  # indices of a gather
MOST_SIZE = {1: 40, 2: 30, 3: 9}  # of an axis, by the rank of the array


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
        self.groups = []  # (targets, sources) of views, of which each target may be written with what sources read
        self.named = np.zeros(first.size, bool)  # positions that some write names

    def name(self, at):
        self.named[at[at >= 0]] = True


class Drawing:
    """Draws views of arrays with self.random, and records in self.graph what they need; self.dtype is that of all elements.
    indices: the numbers of the inputs that gathers take as indices, with the size of the axis."""

    def chance(self, share):
        return self.random.random() < share

    def drawn_shape(self):
        random = self.random
        if not self.chance(0.16):
            rank = int(random.choice([1, 2, 2, 3]))
            shape = [int(k) for k in random.integers(1, MOST_SIZE[rank], rank)]
            if self.chance(0.3):
                shape[int(random.integers(len(shape)))] = int(random.integers(8, 45))
            return tuple(shape)
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

    def make_view(self, array, base=None):
        """A view of this view, or of one of the views, of a kind that applies to it."""
        base, random = base or self.one(array.views), self.random
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
        elif kind == "group" and rank and base.at.size:
            self.make_group(array, array.views[0] if self.chance(0.5) else base)
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
            self.add_view(array, self.row_of(base, axis, int(random.integers(shape[axis]))))
        elif kind == "pad" and rank:
            pads = [[int(k) for k in random.choice([0, 0, 1, 2], 2)] for _ in shape]
            self.add_view(array, self.padded(base, pads))
        elif kind == "gather" and rank and shape[axis]:
            repeats = self.chance(0.3)
            view = self.gathered(self.repeatable(base, axis) if repeats else base, axis)
            self.add_view(array, view)
            twice = np.unique(view.at).size < view.at.size
            if view.at.ndim <= MOST_RANK and self.chance(0.95 if twice else 0.5):  # written as gathers are not
                self.make_view(array, view)
            if repeats and 0 < view.at.size <= self.most:
                self.make_group(array, view)
        elif kind == "create_view" and rank and base.at.size:
            self.make_descriptors(array, base)

    def gathered(self, base, axis):
        index, made = self.make_index(base.at.shape[axis])
        return base.then("gather", lambda a: np.take(a, index, axis), made, alias=False, axis=axis)

    def repeatable(self, base, axis):
        """The view with a new axis, of one element and often one of padding behind it: a gather repeats what there is."""
        base = base.then("unsqueeze", lambda a: np.expand_dims(a, axis), axis=axis)
        return base if self.chance(0.3) else self.padded(base, [[0, int(k == axis)] for k in range(base.at.ndim)])

    def padded(self, base, pads):
        return base.then("pad", lambda a: np.pad(a, pads, constant_values=-1), alias=False, pads=pads)

    def make_windows(self, array, base):
        """A window, and often others of its size: a little further, or with steps."""
        random, shape = self.random, base.at.shape
        begin, end = windows.drawn(random, shape)
        self.add_view(array, self.window_of(base, begin, end))
        if self.chance(0.5):
            self.add_view(array, self.window_of(base, *windows.moved(random, shape, begin, end)))
        if self.chance(0.3) and all(b < e for b, e in zip(begin, end)):
            self.add_view(array, self.lattice_of(base, *windows.stretched(random, shape, begin, end)))

    def make_group(self, array, base):
        """Three lattices of one shape that begin near each other, axes in one order: what an iteration reads of one, others
        before or after it replace. Or windows that have one element in common. Or one row of each, and all rows, of which the
        greatest elements are read."""
        shape, order = base.at.shape, [int(k) for k in self.random.permutation(base.at.ndim)]
        lattices = windows.touching(self.random, shape) if self.chance(0.2) else windows.alike(self.random, shape, 3)
        targets = [self.lattice_of(base, *lattice).then("permute", lambda a: a.transpose(order), order=order)
                   for lattice in lattices]
        sources = [Source(view) for view in targets]
        if len(shape) > 1 and self.chance(0.3):
            axis = int(self.random.integers(len(shape)))
            sources = [Source(view, axis) for view in targets]
            targets = [self.row_of(view, axis, int(self.random.integers(view.at.shape[axis]))) for view in targets]
        for view in targets:
            self.add_view(array, view)
        array.groups.append((targets, sources))

    def row_of(self, base, axis, index):
        cut = (slice(None),) * axis + (index, Ellipsis)
        return base.then("point", lambda a: a[cut], index=index, axis=axis)

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
        """(indices, value): positions along an axis, an input, or computed of elements or of their numbers."""
        for _ in range(6 if self.dtype in ("i32", "i64") and self.chance(0.9) else 0):
            elements, value = self.read()
            if 0 < elements.size <= 9 and elements.ndim <= 2:
                value = self.graph.apply("min", self.graph.apply("max", value, 0), size - 1)
                return np.clip(elements, 0, size - 1), value
        if self.chance(0.2):
            return self.make_regular_index(size)
        many = MANY if self.chance(0.35) else 4  # as many as lanes of a vector, or few
        shape = tuple(int(k) for k in self.random.integers(1, many, self.random.integers(1, 3 if many == 4 else 2)))
        near = min(size, 3) if self.chance(0.5) else size  # of few positions some are named twice
        index = self.random.integers(size - near + 1) + self.random.integers(0, near, shape)
        index -= size * self.random.integers(0, 2, shape)
        self.indices.append((len(self.graph.inputs), size))
        return index, self.graph.input(index.astype(np.int64))

    def make_regular_index(self, size):
        """Positions with a step, which is 0 now and then."""
        count, step = int(self.random.integers(1, 4)), int(self.random.choice([0, 0, 1, -1, 2]))
        count = count if (count - 1) * abs(step) < size else 1
        low = int(self.random.integers(size - (count - 1) * abs(step)))
        first = low if step >= 0 else low - (count - 1) * step
        numbers = self.graph.apply("iota", shape=[count], axis=0, dtype="i64")
        return first + step * np.arange(count), self.graph.apply("add", self.graph.apply("mul", numbers, step), first)
