#!/usr/bin/env python3
"""Random programs of views, reads and writes of one or two arrays against NumPy.

    writes.py --build DIR [--seed N] [--count N] [--device NAME] [--case N] [--forms N] [--stop]

A program has 2 to 12 views of its arrays and 2 to 8 reads and writes through them, by assign, scatter, scatter_add and
slice_update, each of the newest version of an array or of an older one; values that are written are inputs, numbers, and what
other views read, of this version or an earlier one, of this array or the other one. NumPy writes into the memory that views
share, where it has such a view. Elsewhere (padding, gathers, reshapes that copy) a table of positions says which element each
index names, and it is checked against NumPy's views where there are both. Elements are small integers, so that results are
exact. Each program is evaluated, and compiled for one thread and for two, which have to give the same bits, in --forms of three forms
(one, which the seed chooses; three in the soak): as it is; with the arrays as references, which hold the newest versions
afterwards; and as the body of a scan or a while loop whose state are the arrays, or as a branch of a condition, where the
evaluator judges. No run changes an input that is no reference, nor bytes beside one, nor, where an index is out of range,
elements that no write names.

A program is a dozen kernels, which are compiled once: both contexts have one cache, in memory where the system has files there
and TMPDIR names no other place. Of each two thousand programs a hundred are compiled as everything is by default, the others
with the target's setting `quick`, which makes the same loops of the same operations in a third of the time. --stop: after the
first failure. Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import argparse
import gc
import os
import shutil
import tempfile

import binding
from aliased import forms
from aliased.programs import Program
from aliased.views import same

PROGRAMS = 100  # programs of one context
SHOWN = 64  # elements of a wrong result
SLOW = 20  # of so many contexts one compiles for speed, the others quickly
MEMORY = "/dev/shm"  # a folder of files in memory, where it is one
HOW = {True: "compiled", False: "evaluated"}


def differing(program, form, wanted, contexts):
    """Why the form does not give what is wanted, or, where that is None, what the evaluator gives."""
    for compiled, context in [(False, contexts[0])] + [(True, c) for c in contexts]:
        got = forms.run(context, form, compiled)
        wanted = wanted or got
        for k, (want, have) in enumerate(zip(wanted, got)):
            if not same(np.asarray(want), have):
                return (f"{form[0]}\nresult {k} {HOW[compiled]}, {1 + contexts.index(context)} thread(s): "
                        f"{difference(np.asarray(want), have)}")
    return None


def difference(want, have):
    """What is different, as text; of large arrays some elements."""
    if want.size <= SHOWN or want.shape != have.shape:
        return f"{have.tolist()}\nwanted: {want.tolist()}"
    where = np.argwhere((want != have) & ~((want != want) & (have != have)))
    shown = "".join(f"\n  {place.tolist()}: {have[tuple(place)]}, wanted: {want[tuple(place)]}" for place in where[:SHOWN])
    return f"{len(where)} elements of {want.size} differ{shown}"


class Contexts:
    """Contexts of one thread and of two, of the first alone on a device, which keep compiled kernels in one folder."""

    def __init__(self, build, device, quick):
        in_memory = not os.environ.get("TMPDIR") and os.access(MEMORY, os.W_OK)
        self.cache = tempfile.mkdtemp(prefix="writes", dir=MEMORY if in_memory else None)
        self.all = [binding.Context(build, threads, device, self.cache, "quick=1" if quick and not device else None)
                    for threads in ([1] if device else [1, 2])]

    def close(self):
        gc.collect()  # graphs of the contexts
        for context in self.all:
            context.c.vf_context_destroy(context.raw)
        shutil.rmtree(self.cache)


def attempt(contexts, seed, forms_tried=3):
    """Why the program fails; None where it does not."""
    text = None
    try:
        program = Program(contexts[0], seed)
        text = program.graph.text()
        inside = [forms.in_scan, forms.in_scan, forms.in_while, forms.in_cond][int(program.random.integers(4))]
        if program.indices and program.chance(0.1) and len(contexts) > 1:
            wrong = forms.astray(program, forms.in_place(program, text))
            why = forms.stray(contexts[1], wrong, program.arrays)
            if why:
                return f"{wrong[0]}\n{why}"
        tried = [(forms.as_is, program.wanted), (forms.in_place, program.wanted), (inside, None)]
        for k in program.random.permutation(3)[:forms_tried]:
            form, wanted = tried[int(k)]
            why = differing(program, form(program, text), wanted, contexts)
            if why:
                return why
        return None
    except binding.Refused as failure:
        return f"{text}\n{failure}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--device")
    parser.add_argument("--case", type=int)
    parser.add_argument("--forms", type=int, default=1)
    parser.add_argument("--stop", action="store_true")
    options = parser.parse_args()
    seeds = range(options.seed * 1000000, options.seed * 1000000 + options.count)
    if options.case is not None:
        seeds = [options.case]
    np.seterr(all="ignore")  # integers wrap
    tried, failed, contexts = 0, 0, None
    for seed in seeds:
        if tried % PROGRAMS == 0:
            if contexts:
                contexts.close()
            contexts = Contexts(options.build, options.device, tried // PROGRAMS % SLOW)
        why = attempt(contexts.all, seed, options.forms)
        tried += 1
        if why is None:
            continue
        failed += 1
        if failed <= 3:
            print(f"case {seed} (writes.py --build {options.build} --forms {options.forms} --case {seed}):\n{why}\n")
        if options.stop:
            break
    if contexts:
        contexts.close()
    print(f"writes: {tried - failed} passed, {failed} failed (seed {options.seed})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
