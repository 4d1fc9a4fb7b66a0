"""Compiling graphs as text, and timing several in turn in one process."""
import ctypes
import math
import re
import statistics
import time

import numpy as np

from binding import NUMPY, Typed, pointers, to_dtype
from oracle.rules import FLOATS

CLOCKS = {"wall": time.perf_counter_ns, "processor": time.process_time_ns}  # the second: where others use the machine
ROUND_MS, MOST_RUNS = 2.0, 200  # each program runs so long, and at most so often, before it is the next one's turn


def draw(name, dtype, shape, seed):
    """Elements of a parameter. That of a name wN_... is a weight, and drawn with a deviation of 1/sqrt(N): sums of N terms
    stay as large as their terms."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype not in FLOATS:
        return random.integers(0, 64, shape).astype(NUMPY[dtype])
    weight = re.match(r"%w(\d+)_", name)
    x = random.random(shape, np.float32) * 2 - 1
    return to_dtype(x * math.sqrt(3 / int(weight[1])) if weight else x, dtype).array


class Timed:
    """What is timed: run() says the milliseconds of a run, by the clock of all."""

    clock = CLOCKS["wall"]


class Program(Timed):
    def __init__(self, context, text, types, outputs, inputs):
        self.context, self.types = context, [types[n] for n in outputs]
        self.graph, self.program = context.parse(text), None
        self.program = context.must(context.c.vf_compile, self.graph)
        self.arrays = [np.zeros(shape, NUMPY[dtype]) for dtype, shape in self.types]
        self.inputs, self.given = inputs, (pointers(inputs), pointers(self.arrays))
        self.error = ctypes.create_string_buffer(2048)
        self.ms = []

    def run(self):
        """Milliseconds of a run."""
        run, given, made = self.context.c.vf_program_run, *self.given
        clock = Timed.clock
        before = clock()
        status = run(self.program, given, made, None, self.error)
        took = clock() - before
        if status:
            self.context.must(run, self.program, given, made, None)
        return took * 1e-6

    def results(self):
        return [Typed(a, dtype).wide() for a, (dtype, _) in zip(self.arrays, self.types)]

    def close(self):
        if self.program:
            self.context.c.vf_program_destroy(self.program)
        self.context.c.vf_graph_destroy(self.graph)


def time_in_turn(programs, rounds):
    """Appends to each program's ms, `rounds` times each in turn, the median of some runs; the first run of each turn, which
    finds the caches as another left them, is not counted unless it is the only one."""
    first = [p.run() for p in programs]
    for k in range(rounds):
        order = list(zip(programs, first))
        for p, once in order if k % 2 else order[::-1]:
            count = max(1, min(MOST_RUNS, int(ROUND_MS / max(once, 1e-4))))
            runs = [p.run() for _ in range(count + 1)]
            p.ms.append(statistics.median(runs[1:]))


def ratio_of(a, b):
    """How much slower a is than b, by medians or by the least times, whichever says less: what other processes add to some
    turns is not held against it."""
    return min(statistics.median(a.ms) / statistics.median(b.ms), min(a.ms) / min(b.ms))


LEAST_SIZE = 0.01  # sums of terms of about 1 that cancel are as far off as ones of this size


def difference(got, want, tolerance):
    """None, or how two results differ."""
    if math.isinf(tolerance) or not got.size:
        return None
    if got.dtype.kind != "f":
        wrong = got != want
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        finite = np.isfinite(b)
        most = np.max(np.abs(b), where=finite, initial=LEAST_SIZE)
        with np.errstate(invalid="ignore"):
            wrong = ~((np.abs(a - b) <= tolerance * most) | (a == b) | (np.isnan(a) & np.isnan(b)))
    if not wrong.any():
        return None
    at = tuple(int(k) for k in np.argwhere(wrong)[0])
    return f"at {list(at)} {got[at]!r} and {want[at]!r}, in {np.count_nonzero(wrong)} of {got.size} places"
