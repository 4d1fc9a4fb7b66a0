#!/usr/bin/env python3
"""Random sequences of operations on values whose axes have letters: which letters results have, and what is refused.

    letters.py --build DIR [--seed N] [--count N] [--case N]

Each operation of OPERATIONS says, in terms of strings, what becomes of the letters; a call that lets different letters meet has to
be refused by a message that names both, and the values stay usable. The text of each graph has to read back and print the same,
and its results have to be, bit by bit, those of the same graph whose letters were taken away. Exit status: 0, 1 after a failure, 77
when it cannot run.
"""
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import ctypes
import re

import binding
from arguments import arguments

SIZES = [2, 3, 5, 7]  # so that axes of equal size are rare
ALPHABET = "bcdfhwXY"


class Meets(Exception):
    """Letters that differ meet."""


class Wrong(Exception):
    pass


def meet(a, b):
    if "_" not in (a, b) and a != b:
        raise Meets(a, b)
    return b if a == "_" else a


def aligned(x, y):
    """The letters of two operands that are broadcast."""
    n = max(len(x), len(y))
    return "".join(meet(a, b) for a, b in zip(x.rjust(n, "_"), y.rjust(n, "_")))


def once(letters):
    """Of two axes with one letter the second has none."""
    return "".join("_" if a in letters[:i] else a for i, a in enumerate(letters))


class Sequence:
    """A graph, and its values with the letters that they should have."""

    def __init__(self, context, seed):
        self.draw = np.random.default_rng(seed)
        self.graph = binding.Graph(context)
        self.values = []
        for _ in range(3):
            rank = int(self.draw.integers(0, 5))
            shape = [self.pick(SIZES + [1]) for _ in range(rank)]
            value = self.graph.input(self.draw.integers(-9, 9, shape).astype("f4"))
            self.rename(value, "_" * rank)  # an input that nothing has used has the letters itself
            self.graph.apply("neg", value)

    def pick(self, items):
        return items[self.draw.integers(len(items))]

    def some(self, least=0):
        fitting = [v for v in self.values if v[0].rank >= least]
        return self.pick(fitting) if fitting else None

    def keep(self, value, letters):
        room = ctypes.create_string_buffer(20)
        self.graph.c.vf_value_letters(value.raw, room)
        if room.value.decode() != once(letters):
            raise Wrong(f"letters are {room.value.decode()!r}, not {once(letters)!r}")
        self.values.append((value, once(letters)))

    def call(self, letters, operation, *operands, **attributes):
        """letters: those of the result, or what finds them."""
        try:
            wanted = letters() if callable(letters) else letters
        except Meets as different:
            try:
                self.graph.apply(operation, *operands, **attributes)
            except binding.Refused as refused:
                a, b = different.args
                if not re.search(rf"axis '({a}|{b})' meets axis '({a}|{b})'", str(refused)):
                    raise Wrong(f"refused by: {refused}; '{a}' meets '{b}'") from None
                return
            raise Wrong(f"{operation} goes through; '{different.args[0]}' meets '{different.args[1]}'") from None
        self.keep(self.graph.apply(operation, *operands, **attributes), wanted)

    def step(self):
        name = self.pick(OPERATIONS)
        value, letters = self.some() or self.values[0]
        try:
            getattr(self, name)(value, letters)
        except (Wrong, binding.Refused) as wrong:
            raise Wrong(f"{name} of {value.shape} {letters!r}: {wrong}") from None

    # operations

    def rename(self, x, _):
        letters = "".join(self.draw.permutation(list(ALPHABET))[:x.rank])
        letters = "".join("_" if self.draw.random() < 0.2 else a for a in letters)
        raw = self.graph.c.vf_name_axes(x.raw, letters.encode())
        if not self.graph.c.vf_ok(raw):
            raise self.graph.refused()
        self.keep(binding.Value(self.graph, raw), letters)

    def permute(self, x, l):
        order = [int(i) for i in self.draw.permutation(x.rank)]
        wanted = "".join(l[i] for i in order)
        named = "_" not in l and x.rank and self.draw.random() < 0.5
        self.call(wanted, "permute", x, order=f'"{wanted}"' if named else order)

    def reduce(self, x, l):
        axes = [i for i in range(x.rank) if self.draw.random() < 0.4]
        keep = self.draw.random() < 0.3
        wanted = l if keep else "".join(a for i, a in enumerate(l) if i not in axes)
        named = axes and all(l[i] != "_" for i in axes)
        by = '"' + "".join(l[i] for i in axes) + '"' if named else axes
        self.call(wanted, self.pick(["sum", "max", "mean", "any"]), x, axes=by, keepdims=keep)

    def along(self, x, l):
        if x.rank:
            axis = int(self.draw.integers(x.rank))
            by = f'"{l[axis]}"' if l[axis] != "_" else axis
            name = self.pick(["softmax", "sort", "cumsum", "argmax", "flip"])
            drops = name == "argmax"
            self.call(l[:axis] + l[axis + 1:] if drops else l, name, x, **{"axes" if name == "flip" else "axis": by})

    def unsqueeze(self, x, l):
        axis = int(self.draw.integers(x.rank + 1))
        if x.rank < 6:
            self.call(l[:axis] + "_" + l[axis:], "unsqueeze", x, axis=axis)

    def squeeze(self, x, l):
        ones = [i for i, n in enumerate(x.shape) if n == 1]
        if ones:
            axis = self.pick(ones)
            self.call(l[:axis] + l[axis + 1:], "squeeze", x, axis=axis)

    def expand(self, x, l):
        shape = [self.pick(SIZES) if n == 1 else n for n in x.shape]
        if np.prod(shape) < 2000:
            self.call("_" + l, "expand", x, shape=[2] + shape)

    def window(self, x, l):
        if x.rank:
            name = self.pick(["shrink", "pad", "stride"])
            by = {"shrink": dict(bounds=[[0, max(n - 1, 1)] for n in x.shape]), "pad": dict(pads=[[0, 1]] * x.rank),
                  "stride": dict(steps=[2] * x.rank)}[name]
            if name != "pad" or np.prod(x.shape) < 500:
                self.call(l, name, x, **by)

    def point(self, x, l):
        if x.rank:
            axis = int(self.draw.integers(x.rank))
            self.call(l[:axis] + l[axis + 1:], "point", x, index=0, axis=axis)

    def join_axes(self, x, l):
        """Neighbouring axes become one, the others stay."""
        if x.rank >= 2 and 1 not in x.shape and len(set(x.shape)) == x.rank:
            at = int(self.draw.integers(x.rank - 1))
            shape = list(x.shape[:at]) + [x.shape[at] * x.shape[at + 1]] + list(x.shape[at + 2:])
            if len(set(shape) | set(x.shape)) == x.rank + 1:
                self.call(l[:at] + "_" + l[at + 2:], "reshape", x, shape=shape)

    def elementwise(self, x, l):
        y, other = self.pick(self.values)
        n = max(x.rank, y.rank)
        pairs = zip((1,) * (n - x.rank) + tuple(x.shape), (1,) * (n - y.rank) + tuple(y.shape))
        if all(a == b or 1 in (a, b) for a, b in pairs) and n < 6:
            arithmetic = [] if x.dtype == y.dtype == "bool" else ["add", "mul"]
            self.call(lambda: aligned(l, other), self.pick(["lt", "max"] + arithmetic), x, y)

    def product(self, x, l):
        fitting = [(y, m) for y, m in self.values if x.rank and y.rank == 2 and y.shape[0] == x.shape[-1]]
        if fitting:
            y, other = self.pick(fitting)

            def letters():
                meet(l[-1], other[0])
                return l[:-1] + other[1]
            self.call(letters, "matmul", x, y)

    def join(self, x, l):
        fitting = [(y, m) for y, m in self.values if y.shape == x.shape and y.dtype == x.dtype]
        y, other = self.pick(fitting)
        axis = int(self.draw.integers(max(x.rank, 1)))
        if x.rank and self.draw.random() < 0.5 and np.prod(x.shape) < 500:
            self.call(lambda: aligned(l, other), "concat", x, y, axis=axis)
        elif x.rank < 6 and np.prod(x.shape) < 500:
            self.call(lambda: (lambda m: m[:axis] + "_" + m[axis:])(aligned(l, other)), "stack", x, y, axis=axis)

    def gather(self, x, l):
        if x.rank and x.rank < 6:
            axis = int(self.draw.integers(x.rank))
            shape = [2, 3][:int(self.draw.integers(1, 3))]
            at = self.graph.input(np.zeros(shape, "i4"))
            kept = l[axis] if len(shape) == 1 else "_" * len(shape)
            self.call(l[:axis] + kept + l[axis + 1:], "gather", x, at, axis=axis)


OPERATIONS = ["rename", "permute", "reduce", "along", "unsqueeze", "squeeze", "expand", "window", "point", "join_axes", "elementwise",
              "elementwise", "elementwise", "product", "product", "join", "gather"]


def attempt(context, seed):
    try:
        sequence = Sequence(context, seed)
        for _ in range(int(sequence.draw.integers(5, 25))):
            sequence.step()
    except Wrong as wrong:
        return str(wrong)
    graph = sequence.graph
    for value, _ in sequence.values[-8:]:
        graph.output(value)
    text = graph.text()
    read = context.parse(text)
    again = context.text(read)
    context.c.vf_graph_destroy(read)
    if again != text:
        return f"the text\n{text}\nreads back as\n{again}"
    names = [f"y{k}" for k in range(len(graph.outputs))]
    plain = re.sub(r'name_axes (%\S+) to="[^"]*"', r"\1", re.sub(r"(?<=[\[,|])[a-zA-Z]=", "", text))
    for k, (a, b) in enumerate(zip(context.run_text(text, graph.inputs, names, False),
                                   context.run_text(plain, graph.inputs, names, False))):
        if a.array.tobytes() != b.array.tobytes():
            return f"result {k} differs from that of the graph without letters:\n{text}"
    return None


def main():
    options = arguments(others=True, seed=1, count=100, case=int)
    first = options.seed * 1000000
    context = binding.Context(options.build)
    context.c.vf_name_axes.restype, context.c.vf_name_axes.argtypes = binding.Raw, [binding.Raw, ctypes.c_char_p]
    context.c.vf_value_letters.restype = ctypes.c_int
    context.c.vf_value_letters.argtypes = [binding.Raw, ctypes.c_char_p]
    passed = failed = 0
    for seed in [options.case] if options.case is not None else range(first, first + options.count):
        why = attempt(context, seed)
        passed, failed = passed + (why is None), failed + (why is not None)
        if why and failed <= 3:
            print(f"case {seed} (letters.py --build {options.build} --case {seed}):\n{why}\n")
    print(f"letters: {passed} passed, {failed} failed (seed {options.seed})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
