#!/usr/bin/env python3
"""Random sequences of calls on views of data (viewfold_data.h) against an oracle in NumPy, viewed/oracle.py.

    data_views.py --build DIR [--seed N] [--count N] [--case N]

A sequence has one to three views of random classes and a list or two of them, and 8 to 29 calls: put, get, forward, backward,
index, sub, replace, flush, clone, type and the others, with axes, dtypes and shapes that fit, and some that do not. The oracle
says what each gives, or why it is refused: the message has to name the letter, the class and what would do. Values are of a
graph, which the reference evaluator runs and, of every eighth sequence, the compiler; or of the session, where something is
realised now and then. Before that, conversions between all pairs of axes of each class, of arrays of three ranks, forwards and
backwards. Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import gc

import binding
from arguments import arguments
from viewed import calls, pairs, sequences

SEQUENCES = 200  # of one context


def context_of(options):
    context = binding.Context(options.build)
    calls.prepare(context)
    return context


def close(context):
    gc.collect()  # graphs of the context
    context.c.vf_context_destroy(context.raw)


def main():
    options = arguments(others=True, seed=1, count=200, case=int)
    first = options.seed * 1000000
    seeds = [options.case] if options.case is not None else range(first, first + options.count)
    passed = failed = 0
    context = context_of(options)
    for name, why in pairs.failures(context) if options.case is None else []:
        passed, failed = passed + (why is None), failed + (why is not None)
        if why:
            print(f"{name}: {why}\n")
    for k, seed in enumerate(seeds):
        if k % SEQUENCES == SEQUENCES - 1:
            close(context)
            context = context_of(options)
        why = sequences.attempt(context, seed, seed % 8 == 0)
        passed, failed = passed + (why is None), failed + (why is not None)
        if why and failed <= 3:
            print(f"case {seed} (data_views.py --build {options.build} --case {seed}):\n{why}\n")
    close(context)
    print(f"data_views: {passed} passed, {failed} failed (seed {options.seed})")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
