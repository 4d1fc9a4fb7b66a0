#!/usr/bin/env python3
"""Objects of random graphs against programs, on the machines of linked/machines.py.

  objects_random.py --build DIR [--seed N] [--count N]

A third of the graphs has sizes that are variables, a third control flow (the graphs that prop_object writes down), the
others fixed sizes (graphs/). What an object has to compute is what vf_program_run does on this machine: each result the
same bits, NaNs as a class, or the same status. EACH objects are linked into one program, whose symbols must not meet.
Exit status: 0, 1 after a failure, 77 when there is no C compiler.
"""
import ctypes
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import binding
from arguments import arguments
from binding import DTYPES, NUMPY, Refused
from graphs import judge
from graphs.build import build as random_graph
from linked.comparison import Comparison, missing

EACH = 25          # objects of one program
RANGE = 7          # the status of a run with an index out of range, of the library and of objects


class Model:
    """A graph as text, arrays for it, and what a program computes of them."""

    def __init__(self, text, name, folder, context):
        self.text, self.name, self.path = text, name, os.path.join(folder, name + ".vf")
        self.sizes, self.arrays, self.outputs, self.status = {}, [], [], 0
        with open(self.path, "w") as file:
            file.write(text)
        self.graph = context.parse(text)
        self.program = context.must(context.c.vf_compile, self.graph)
        self.context = context

    def ports(self, output):
        """(dtype, shape) of each, for the sizes."""
        c, found, shape = self.context.c, [], (ctypes.c_int64 * 17)()
        names = [c.vf_variable_name(self.program, k).decode() for k in range(c.vf_variable_count(self.program))]
        self.variables = binding.sizes([self.sizes[n] for n in names])
        for k in range(c.vf_port_count(self.program, output)):
            c.vf_port_shape(self.program, output, k, self.variables, shape, None)
            rank = c.vf_port_rank(self.program, output, k)
            found.append((DTYPES[c.vf_port_dtype(self.program, output, k)], tuple(shape[:rank])))
        return found

    def run(self, inputs):
        """The outputs of the program, or its status."""
        c = self.context.c
        self.arrays = [a.tobytes() for a in inputs]
        made = [(dtype, np.zeros(shape, NUMPY[dtype])) for dtype, shape in self.ports(1)]
        failure = binding._Error()
        self.status = c.vf_program_run(self.program, binding.pointers(inputs), binding.pointers([a for _, a in made]), self.variables,
                                       ctypes.byref(failure))
        self.outputs = [(dtype, array.tobytes()) for dtype, array in made]
        c.vf_program_destroy(self.program)
        c.vf_graph_destroy(self.graph)


def of_graph(seed, name, folder, context):
    graph = random_graph(seed, seed % 3 == 1)
    model = Model(graph.text(), name, folder, context)
    model.sizes = {v.text: graph.envs[0][v] for v in graph.variables}
    model.run([graph.stored(v, 0) for v in graph.inputs])
    return model


def of_control(seed, name, folder, context, writer):
    text = subprocess.run([writer, "--text", str(seed)], capture_output=True, text=True, check=True).stdout
    if not text:
        raise Refused("a function that is not recorded")
    model = Model(text, name, folder, context)
    rng = np.random.default_rng(seed)
    model.run([np.asarray(rng.integers(0, 4, shape) if dtype == "i32" else rng.random(shape) * 3 - 1.5, NUMPY[dtype])
               for dtype, shape in model.ports(0)])
    return model


def draw(count, start, folder, context, writer):
    models, refused = [], 0
    for k in range(count):
        seed = start + k
        try:
            make = of_control(seed, f"g{k}", folder, context, writer) if seed % 3 == 2 else \
                of_graph(seed, f"g{k}", folder, context)
        except Refused:
            refused += 1
            continue
        if make.status in (0, RANGE):
            models.append(make)
    return models, refused


def main():
    options = arguments(seed=1, count=12)
    viewfold = os.path.abspath(os.path.join(options.build, "viewfold"))
    writer = os.path.abspath(os.path.join(options.build, "check", "property", "prop_object"))
    lacks = missing() or (None if os.path.exists(writer) else "prop_object is needed (make CHECK=1 tests)")
    if lacks:
        print("skip: " + lacks)
        return 77
    context = binding.Context(options.build)
    judge.declare(context)
    comparison, refused = Comparison(viewfold, loads=True), 0
    for first in range(0, options.count, EACH):
        with tempfile.TemporaryDirectory() as folder:
            models, no = draw(min(EACH, options.count - first), options.seed * 1000003 + first, folder, context, writer)
            refused += no
            comparison.run(models, folder)
    return comparison.report("objects_random", f"; {options.count} graphs, {refused} refused")


if __name__ == "__main__":
    sys.exit(main())
