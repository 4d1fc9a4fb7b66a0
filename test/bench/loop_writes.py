#!/usr/bin/env python3
"""Loops that change one element of an array in each round, and a cache of keys that each run adds a position to.

    loop_writes.py [--build build] [--rounds N]

One thread; medians. For arrays of 2^10 to 2^20 elements, nanoseconds of one of as many rounds: `scan` and `while` write an element
of their state; `stack` is a scan that returns it as a stacked result; `reverse` has the gradients of a scan that replaces each
element by a function of it. Then microseconds of a run that writes one position, an input, of 32 layers of 1,024 channels. Exit
status 1 where rounds differ by half from array to array, or take more than twice as long as with a stacked result, or where runs
differ by more than a tenth.
"""
import argparse
import ctypes
import statistics
import sys
import tempfile

import numpy as np

from writes import Programs, aligned, binding, compile_loops

STATE = "graph @body(%a: f32[N], %i: i32[]STEP) {\n  %p = address %a\n  %d = index_point %i\n  %t = create_view %p, %d\n"
NEXT = "  %b = assign %a, %t, %x\n  %j = add %i, 1\n  return %b, %j\n}\n"
SCAN = ("graph @loop(%a: f32[N], %xs: f32[N]) {\n  %y, %n = scan %a, 0, %xs do=@body carries=2 sliced=1 length=N\n"
        "  return %y\n}\n")
WRITE = STATE.replace("STEP", ", %x: f32[]") + NEXT + SCAN
STACK = ("graph @body(%i: i32[], %x: f32[]) {\n  %j = add %i, 1\n  return %j, %x\n}\ngraph @loop(%a: f32[N], %xs: f32[N]) {\n"
         "  %n, %y = scan 0, %xs do=@body carries=1 sliced=1 length=N\n  return %y\n}\n")
WHILE = ("graph @more(%a: f32[N], %i: i32[]) {\n  %c = lt %i, N\n  return %c\n}\n" + STATE.replace("STEP", "")
         + "  %x = cast %i dtype=f32\n" + NEXT + "graph @loop(%a: f32[N], %xs: f32[N]) {\n"
         "  %y, %n = while_loop %a, 0 while=@more do=@body carries=2\n  return %y\n}\n")
CHANGE = (STATE.replace("STEP", ", %f: f32[]") + "  %o = create_view %a, %d\n  %w = mul %o, %f\n  %x = sin %w\n" + NEXT + SCAN)
CACHE = ("graph @step(%cache: ref f32[32,N,1024], %k: f32[32,1024], %at: i32[]) {\n  %p = address %cache\n  %all = index_all\n"
         "  %d = index_point %at\n  %rows = create_view %p, %all, %d\n  %cache = assign %cache, %rows, %k\n  return\n}\n")


class Timer:
    def __init__(self, options, folder):
        self.loops, self.rounds = compile_loops(folder), options.rounds
        self.programs = Programs(options.build, self.loops)
        self.c = self.programs.context.c

    def seconds(self, program, inputs, outputs):
        def run(calls):
            return self.loops.seconds_of_program(self.c.vf_program_run, ctypes.c_void_p(program), binding.pointers(inputs),
                                                 binding.pointers(outputs), calls)

        if run(1) < 0:
            sys.exit("a run failed")
        calls = max(1, min(1000, int(2e-3 / run(1))))
        return statistics.median(run(calls) for _ in range(self.rounds))

    def gradients(self, text):
        """The program of the gradients of @loop's sum by both of its inputs, and they are its results."""
        graph, context = self.programs.context.parse(text, "loop"), self.programs.context
        y, inputs = self.value(graph, "y"), (binding.Raw * 2)(self.value(graph, "a"), self.value(graph, "xs"))
        made, one = (binding.Raw * 2)(), self.c.vf_input(graph, b"dy", binding.DTYPES.index("f32"), 1, binding.sizes(
            binding.Value(context, y).shape))
        self.c.vf_vjp(1, (binding.Raw * 1)(y), (binding.Raw * 1)(one), 2, inputs, made)
        for k in range(2):
            self.c.vf_output(graph, b"g%d" % k, binding.copied(made[k]))
        return context.must(self.c.vf_compile, graph)

    def value(self, graph, name):
        return self.c.vf_graph_find(graph, name.encode())


def measure_loops(timer):
    bad, rows = False, []
    print(f"{'elements':>9} {'scan':>8} {'stack':>8} {'while':>8} {'reverse':>8}   ns of a round")
    for power in range(10, 21, 2):
        n = 1 << power
        arrays = [aligned((n,)) for _ in range(6)]
        arrays[1][...] = 1
        row = [timer.seconds(timer.programs.compile(text.replace("N", str(n)), "loop"), arrays[:2], arrays[3:4]) / n * 1e9
               for text in (WRITE, STACK, WHILE)]
        row.append(timer.seconds(timer.gradients(CHANGE.replace("N", str(n))), arrays[:3], arrays[3:]) / n * 1e9)
        rows.append(row)
        bad |= row[0] > 2 * row[1]
        print(f"{n:9} " + " ".join(f"{t:8.1f}" for t in row), flush=True)
    return bad or any(max(column) > 1.5 * min(column) for column in zip(*rows))


def measure_cache(timer):
    times = []
    print(f"{'positions':>9} {'first':>8} {'middle':>8} {'last':>8}   us of a run")
    for positions in (1024, 2048, 4096, 8192):
        cache, keys = aligned((32, positions, 1024)), aligned((32, 1024))
        cache[...] = 1  # every page is there
        program = timer.programs.compile(CACHE.replace("N", str(positions)))
        row = [timer.seconds(program, [cache, keys, np.array(at, np.int32)], []) * 1e6 for at in (0, positions // 2, positions - 1)]
        timer.c.vf_program_destroy(program)
        times += row
        print(f"{positions:9} " + " ".join(f"{t:8.2f}" for t in row), flush=True)
    return max(times) > 1.1 * min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timer = Timer(options, folder)
    slow = measure_loops(timer)
    sys.exit(measure_cache(timer) or slow)


if __name__ == "__main__":
    main()
