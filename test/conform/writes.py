#!/usr/bin/env python3
"""Random programs of views, reads and writes of one array against NumPy.

    writes.py --build DIR [--seed N] [--count N] [--device NAME] [--case N]

A program has 2 to 12 views of an array and 2 to 8 reads and writes through them; values that are written are inputs, numbers,
and what other views read, of this version of the array or an earlier one. NumPy writes into the memory that views share,
where it has such a view. Elsewhere (padding, gathers, reshapes that copy) a table of positions says which element each index
names, and it is checked against NumPy's views where there are both. Elements are small integers, so that results are exact.
Each program is evaluated, and compiled, on one thread and on two in turn; as it is, and with the array as a reference, which
holds the newest version afterwards; and as the body of a scan whose state is the array, where the evaluator judges. Exit status: 0, 1 after a failure, 77 when it
cannot run.
"""
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import argparse
import gc

import binding

DTYPES = ["f32", "f32", "f64", "f16", "i32", "i64", "i8", "u8", "u16", "bool"]
ORDINARY = ["set", "set", "add", "sub", "min", "max", "mul"]
PROGRAMS = 100  # programs of one context
MOST_RANK, MOST_ELEMENTS = 5, 400


class View:
    """A chain of views: steps that viewfold records, the positions that they name, NumPy's view where it has one."""

    def __init__(self, positions, alias, steps=(), gathers=False):
        self.at, self.alias, self.steps, self.gathers = positions, alias, steps, gathers

    def then(self, operation, change, alias=True, chosen=None, **attributes):
        seen = change(self.alias) if self.alias is not None and alias else None
        if seen is not None and not np.shares_memory(seen, self.alias) and seen.size:
            seen = None
        return View(change(self.at), seen, self.steps + ((operation, chosen, attributes),),
                    self.gathers or operation == "gather")

    def of(self, graph, value):
        for operation, chosen, attributes in self.steps:
            value = graph.apply(operation, value, *([] if chosen is None else [chosen]), **attributes)
        return value

    def read(self, flat):
        seen = flat[np.maximum(self.at, 0)]
        return np.where(self.at < 0, flat.dtype.type(0), seen)


def factored(random, size):
    """A shape of so many elements."""
    shape = []
    while size > 1 and len(shape) < MOST_RANK - 1:
        parts = [k for k in range(1, size + 1) if size % k == 0]
        shape.append(int(random.choice(parts)))
        size //= shape[-1]
    return tuple(shape + [size])


class Program:
    def __init__(self, context, seed):
        self.random = np.random.default_rng([seed, 7])
        self.graph = binding.Graph(context, "writes")
        dtype = self.dtype = str(self.random.choice(DTYPES))
        shape = tuple(int(k) for k in self.random.integers(1, 7, self.random.integers(1, 4)))
        if self.random.random() < 0.1:  # rows of vectors, and rarely enough for threads
            shape = tuple(int(k) for k in self.random.integers(20, *((400, 2) if self.random.random() < 0.05 else (70, 2))))
        self.most = max(MOST_ELEMENTS, 2 * int(np.prod(shape)))
        first = self.elements(shape)
        self.array = first.copy()
        self.versions = [(self.array.reshape(-1).copy(), self.graph.input(binding.Typed(first, dtype)))]
        self.positions = self.graph.apply("address", self.versions[0][1])
        self.views = [View(np.arange(first.size).reshape(shape), self.array)]
        self.wanted = []

    def elements(self, shape):
        if self.dtype == "bool":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        low = 0 if self.dtype[0] == "u" else -8
        return self.random.integers(low, 9, shape).astype(binding.NUMPY[self.dtype])

    def one(self, things):
        return things[int(self.random.integers(len(things)))]

    def add_view(self, view):
        if view.at.ndim <= MOST_RANK and view.at.size <= self.most:
            self.views.append(view)

    def make_view(self):
        """A view of one of the views, of a kind that applies to it."""
        base, random = self.one(self.views), self.random
        rank, shape = base.at.ndim, base.at.shape
        kind = self.one(["permute", "reshape", "shrink", "stride", "flip", "unsqueeze", "squeeze", "point", "pad", "gather"])
        axis = int(random.integers(rank)) if rank else 0
        if kind == "permute" and rank:
            order = [int(k) for k in random.permutation(rank)]
            self.add_view(base.then(kind, lambda a: a.transpose(order), order=order))
        elif kind == "reshape" and base.at.size:
            to = factored(random, base.at.size)
            self.add_view(base.then(kind, lambda a: a.reshape(to), shape=list(to)))
        elif kind == "shrink" and rank:
            begin = [int(random.integers(0, n + 1)) if random.random() < 0.1 else int(random.integers(0, max(n, 1))) for n in shape]
            end = [int(random.integers(min(b + 1, n), n + 1)) for b, n in zip(begin, shape)]
            cut = tuple(slice(b, e) for b, e in zip(begin, end))
            self.add_view(base.then(kind, lambda a: a[cut], bounds=[list(p) for p in zip(begin, end)]))
        elif kind == "stride" and rank:
            steps = [int(random.choice([1, 1, 2, 3, -1, -2])) for _ in shape]
            cut = tuple(slice(None, None, s) for s in steps)
            self.add_view(base.then(kind, lambda a: a[cut], steps=steps))
        elif kind == "flip" and rank:
            self.add_view(base.then(kind, lambda a: np.flip(a, axis), axes=[axis]))
        elif kind == "unsqueeze":
            self.add_view(base.then(kind, lambda a: np.expand_dims(a, axis), axis=axis))
        elif kind == "squeeze" and rank and shape[axis] == 1:
            self.add_view(base.then(kind, lambda a: np.squeeze(a, axis), axis=axis))
        elif kind == "point" and rank and shape[axis]:
            index = int(random.integers(shape[axis]))
            cut = (slice(None),) * axis + (index,)
            self.add_view(base.then(kind, lambda a: a[cut + (Ellipsis,)], index=index, axis=axis))
        elif kind == "pad" and rank:
            pads = [[int(k) for k in random.choice([0, 0, 1, 2], 2)] for _ in shape]
            self.add_view(base.then(kind, lambda a: np.pad(a, pads, constant_values=-1), alias=False, pads=pads))
        elif kind == "gather" and rank and shape[axis]:
            wanted = tuple(int(k) for k in random.integers(1, 4, random.integers(1, 3)))
            index = random.integers(-shape[axis], shape[axis], wanted)
            made = self.graph.input(index.astype(np.int64))
            self.add_view(base.then(kind, lambda a: np.take(a, index, axis), alias=False, chosen=made, axis=axis))

    def read(self):
        """(elements, value) of a view of some version: mostly of the newest."""
        flat, value = self.versions[-1] if self.random.random() < 0.75 else self.one(self.versions)
        view = self.one(self.views)
        return view.read(flat), view.of(self.graph, value)

    def value_for(self, shape):
        """(elements, value) that broadcast to the shape."""
        own = tuple(n if self.random.random() < 0.8 else 1 for n in shape)
        own = own[int(self.random.integers(len(own) + 1)):] if self.random.random() < 0.2 else own
        for _ in range(6):  # what a view reads, if one has such a shape; of this version, it may overlap the target
            elements, value = self.read()
            if elements.shape == shape or (elements.shape == own and self.random.random() < 0.5):
                return elements, value
            if elements.size == np.prod(own, dtype=int) and self.random.random() < 0.5:
                return elements.reshape(own), self.graph.apply("reshape", value, shape=list(own))
        elements = self.elements(own)
        return elements, self.graph.input(binding.Typed(elements, self.dtype))

    def write(self):
        view, dtype = self.one(self.views), binding.NUMPY[self.dtype]
        operations = ["set", "and", "or", "xor"] if self.dtype == "bool" else ORDINARY
        if self.dtype[0] in "iu":
            operations = operations + ["and", "or", "xor"]
        operation = self.one([k for k in operations if k in ("set", "add", "sub")] if view.gathers else operations)
        elements, value = self.value_for(view.at.shape)
        if self.random.random() < 0.3 and self.dtype not in ("bool", "u8", "u16"):
            elements, value = (-elements).astype(dtype), self.graph.apply("neg", value)
        target = view.of(self.graph, self.positions)
        made = self.graph.apply("assign", self.versions[-1][1], target, value, op=operation)
        flat = self.versions[-1][0].copy()
        update(flat, view.at, elements, operation)
        if view.alias is not None:  # NumPy's own write: into the memory of the array
            combine(view.alias, elements.copy(), operation)
            if not same(self.array.reshape(-1), flat):
                raise AssertionError("the table of positions is not what NumPy's view names")
        self.array[...] = flat.reshape(self.array.shape)
        self.versions.append((flat, made))

    def record(self):
        for _ in range(int(self.random.integers(2, 13))):
            self.make_view()
        for _ in range(int(self.random.integers(2, 9))):
            if self.random.random() < 0.3:
                elements, value = self.read()
                self.keep(elements, value)
            else:
                self.write()
        for flat, value in [v for v in self.versions[:-1] if self.random.random() < 0.2] + self.versions[-1:]:
            self.keep(flat.reshape(self.array.shape), value)  # the newest one last

    def keep(self, elements, value):
        self.wanted.append(elements)
        self.graph.output(value)


SCALARS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
           "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def combine(target, elements, operation):
    target[...] = elements if operation == "set" else SCALARS[operation](target, elements)


def update(flat, at, elements, operation):
    """The write, element by element in row-major order; positions below 0 are nowhere."""
    values = np.broadcast_to(elements, at.shape)
    exact = flat.dtype == np.float16  # sums of these are rounded once
    sums = flat.astype(np.float32) if exact else flat
    if np.unique(at).size == at.size and (at.size == 0 or at.min() >= 0):  # in any order
        combine_at(sums, at, values.astype(sums.dtype), operation)
    else:
        one_by_one(sums, at, values, operation)
    if exact:
        flat[...] = sums


def combine_at(sums, at, values, operation):
    sums[at] = values if operation == "set" else SCALARS[operation](sums[at], values)


def one_by_one(sums, at, values, operation):
    for index in np.ndindex(at.shape):
        place = at[index]
        if place >= 0:
            sums[place] = values[index] if operation == "set" else SCALARS[operation](sums[place], sums.dtype.type(values[index]))


def same(a, b):
    """NaNs are one value: products overflow now and then."""
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def run_in_place(program, text, compiled):
    """The results of the program with the array as a reference: outputs, and at the end the array's memory."""
    graph, context, last = program.graph, program.graph.context, len(program.wanted) - 1
    kept = [f"y{k}" for k in range(last)]
    text = text.replace("(%x0: ", "(%x0: ref ", 1)
    body = text[:text.rindex("  return")] + f"  %x0 = %y{last}\n  return {', '.join('%' + k for k in kept)}\n}}\n"
    read = context.parse(body)
    try:
        values = [binding.Value(context, context.c.vf_graph_find(read, name.encode())) for name in kept]
        array = graph.inputs[0].array.copy()
        results = context.run(read, [binding.Typed(array, program.dtype)] + graph.inputs[1:], values, compiled)
        return [r.array for r in results] + [array], body
    finally:
        context.c.vf_graph_destroy(read)


ROUNDS = 3


def run_in_loop(program, text):
    """The program as the body of a scan whose state is the array: evaluated, and compiled."""
    context, last = program.graph.context, len(program.wanted) - 1
    header = text[text.index("("):text.index(" {")]
    names = ", ".join(f"%x{k}" for k in range(len(program.graph.inputs)))
    body = text.replace("graph @writes", "graph @body", 1)
    body = body[:body.rindex("  return")] + f"  return %y{last}\n}}\n"
    loop = f"graph @loop{header} {{\n  %y = scan {names} do=@body carries=1 sliced=0 length={ROUNDS}\n  return %y\n}}\n"
    inputs = program.graph.inputs
    return [context.run_text(body + loop, inputs, ["y"], compiled, "loop")[0].array for compiled in (False, True)], body + loop


def attempt(context, seed):
    """Why the program fails; None where it does not."""
    program = Program(context, seed)
    try:
        program.record()
        text = program.graph.text()
        for how in ("evaluated", "compiled", "evaluated in place", "compiled in place"):
            if "place" in how:
                got, shown = run_in_place(program, text, "compiled" in how)
            else:
                got, shown = [r.array for r in program.graph.run("compiled" in how)], text
            for k, (want, have) in enumerate(zip(program.wanted, got)):
                if not same(np.asarray(want), have):
                    return f"{shown}\nresult {k} {how}: {have.tolist()}\nNumPy: {np.asarray(want).tolist()}"
        if len(program.versions) > 1:
            (want, have), shown = run_in_loop(program, text)
            if not same(want, have):
                return f"{shown}\ncompiled: {have.tolist()}\nevaluated: {want.tolist()}"
    except binding.Refused as failure:
        return f"{program.graph.text()}\n{failure}"
    return None


def close(context):
    gc.collect()  # graphs of the context
    if context:
        context.c.vf_context_destroy(context.raw)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--device")
    parser.add_argument("--case", type=int)
    options = parser.parse_args()
    seeds = range(options.seed * 1000000, options.seed * 1000000 + options.count)
    if options.case is not None:
        seeds = [options.case]
    np.seterr(all="ignore")  # integers wrap
    failed, context = 0, None
    for number, seed in enumerate(seeds):
        if number % PROGRAMS == 0:
            threads = 1 + number // PROGRAMS % 2
            close(context)
            context = binding.Context(options.build, threads, options.device)
        why = attempt(context, seed)
        if why is None:
            continue
        failed += 1
        if failed <= 3:
            print(f"case {seed} (writes.py --build {options.build} --case {seed}):\n{why}\n")
    close(context)
    print(f"writes: {len(seeds) - failed} passed, {failed} failed (seed {options.seed})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
