#!/usr/bin/env python3
"""Objects of random graphs against programs, on the machines of linked/machines.py.

  objects_random.py --build DIR [--seed N] [--count N]

A third of the graphs has sizes that are variables, a third control flow (the graphs that prop_object writes down), the
others fixed sizes (graphs/). What an object has to compute is what vf_program_run does on this machine: each result the
same bits, NaNs as a class, or the same status. Without fused multiply-adds, it is what vf_program_run does for that target,
and that must be right within the bounds of sums. EACH objects are linked into one program, whose symbols must not meet.
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
from binding import DTYPES, NUMPY, Refused, Typed
from graphs import judge
from graphs.build import build as random_graph
from linked.comparison import Comparison, missing

EACH = 25          # objects of one program
RANGE = 7          # the status of a run with an index out of range, of the library and of objects


class Model:
    """A graph as text, arrays for it, and what a program computes of them."""

    def __init__(self, text, name, contexts, draw, sizes=None, values=()):
        """draw(dtype, shape): the next input. values: the outputs of a graph of graphs/, which say how near results have to be."""
        self.text, self.name, self.contexts, self.sizes, self.values = text, name, contexts, sizes or {}, values
        self.status, made = self.run(contexts[None], draw)
        self.arrays = [a.tobytes() for a in self.inputs]
        self.outputs = [(dtype, array.tobytes()) for dtype, array in made]

    def unfused(self, target):
        if target not in self.contexts:
            self.contexts[target] = binding.Context(self.contexts[None].build, target=target)
        status, made = self.run(self.contexts[target])
        wrong = [judge.difference(value, value.refs[0], Typed(array, value.dtype))
                 for value, (_, array) in zip(self.values, made)] if not status else []
        if status != self.status or any(wrong):
            raise RuntimeError(f"{self.name} by vf_program_run: status {status}, {wrong}\n{self.text}")
        return [(dtype, array.tobytes()) for dtype, array in made]

    def run(self, context, draw=None):
        """The status and the outputs of a program. Without draw, the inputs are those of before."""
        c = context.c
        graph = context.parse(self.text)
        program = context.must(c.vf_compile, graph)
        names = [c.vf_variable_name(program, k).decode() for k in range(c.vf_variable_count(program))]
        variables = binding.sizes([self.sizes[n] for n in names])

        def ports(output):
            shape = (ctypes.c_int64 * 17)()
            for k in range(c.vf_port_count(program, output)):
                c.vf_port_shape(program, output, k, variables, shape, None)
                yield DTYPES[c.vf_port_dtype(program, output, k)], tuple(shape[:c.vf_port_rank(program, output, k)])

        if draw:
            self.inputs = [draw(*port) for port in ports(0)]
        made = [(dtype, np.zeros(shape, NUMPY[dtype])) for dtype, shape in ports(1)]
        failure = binding._Error()
        status = c.vf_program_run(program, binding.pointers(self.inputs), binding.pointers([a for _, a in made]), variables,
                                  ctypes.byref(failure))
        c.vf_program_destroy(program)
        c.vf_graph_destroy(graph)
        return status, made

def of_graph(seed, name, contexts):
    graph = random_graph(seed, seed % 3 == 1)
    stored = iter(graph.inputs)
    return Model(graph.text(), name, contexts, lambda dtype, shape: graph.stored(next(stored), 0),
                 {v.text: graph.envs[0][v] for v in graph.variables}, graph.outputs)


def of_control(seed, name, contexts, writer):
    text = subprocess.run([writer, "--text", str(seed)], capture_output=True, text=True, check=True).stdout
    if not text:
        raise Refused("a function that is not recorded")
    rng = np.random.default_rng(seed)
    return Model(text, name, contexts, lambda dtype, shape: np.asarray(
        rng.integers(0, 4, shape) if dtype == "i32" else rng.random(shape) * 3 - 1.5, NUMPY[dtype]))


def draw(count, start, contexts, writer):
    models, refused = [], 0
    for k in range(count):
        seed = start + k
        try:
            model = of_control(seed, f"g{k}", contexts, writer) if seed % 3 == 2 else of_graph(seed, f"g{k}", contexts)
        except Refused:
            refused += 1
            continue
        if model.status in (0, RANGE):
            models.append(model)
    return models, refused


def by_library(context):
    """Builds objects by vf_build."""
    c = context.c

    def make(model, target, made, header):
        graph = context.parse(model.text)
        options = binding.BuildOptions(size=ctypes.sizeof(binding.BuildOptions), name=model.name.encode(), target=target.encode())
        built = context.must(c.vf_build, graph, ctypes.byref(options))
        size = ctypes.c_size_t()
        data = c.vf_object_bytes(built, ctypes.byref(size))
        with open(made, "wb") as file:
            file.write(ctypes.string_at(data, size.value))
        with open(header, "wb") as file:
            file.write(c.vf_object_header(built))
        c.vf_object_destroy(built)
        c.vf_graph_destroy(graph)
    return make


def main():
    options = arguments(seed=1, count=12)
    writer = os.path.abspath(os.path.join(options.build, "check", "property", "prop_object"))
    lacks = missing() or (None if os.path.exists(writer) else "prop_object is needed (make CHECK=1 tests)")
    if lacks:
        print("skip: " + lacks)
        return 77
    contexts = {None: binding.Context(options.build)}
    judge.declare(contexts[None])
    comparison, refused = Comparison(by_library(contexts[None]), loads=True, samples=True), 0
    for first in range(0, options.count, EACH):
        with tempfile.TemporaryDirectory() as folder:
            models, no = draw(min(EACH, options.count - first), options.seed * 1000003 + first, contexts, writer)
            refused += no
            comparison.run(models, folder)
    return comparison.report("objects_random", f"; {options.count} graphs, {refused} refused")


if __name__ == "__main__":
    sys.exit(main())
