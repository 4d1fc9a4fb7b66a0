#!/usr/bin/env python3
"""Random compositions of vmap, vjp and jvp over random programs, compared with JAX on the CPU.

A program is a list of steps over a few arrays, which both systems compute (compositions/); a composition wraps it
one to --depth times, each wrapped function again a function of arrays. Both dtypes are tried; compositions/judge.py
defines when results are the same. Compositions depend on the seed and their number alone.

  jax_compare.py --build DIR [--seed N] [--count N] [--depth N] [--steps N] [--only ROW] [--case I] [--show]

--only makes every other step one of that row; --case repeats one composition, --show prints it. Exit status:
0, 1 after a failure, 77 when it cannot run: JAX (pip install jax) is no package of the suite.
"""
import collections
import os
import random
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # compiling takes longest by far

try:
    import jax
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (pip install jax)")
    sys.exit(77)

jax.config.update("jax_enable_x64", True)

import binding
import recorder
from arguments import arguments
from compositions import ROWS
from compositions.compose import composition
from compositions.judge import Truth, judged

FORGET = 200  # compositions after which JAX drops what it compiled


class Clock:
    """Time spent, by name."""

    def __init__(self):
        self.spent, self.last = collections.Counter(), time.monotonic()

    def lap(self, name):
        now = time.monotonic()
        self.spent[name] += now - self.last
        self.last = now


def shown(program, f):
    return "\n  ".join([f.name, f"inputs {program.inputs}", *map(str, program.steps), f"results {program.results}"])


def compared(context, f, inputs, clock):
    """(errors, by dtype; how many runs were excused; how many results there are)."""
    with np.errstate(all="ignore"):
        truth = Truth(f.jax, inputs)
        clock.lap("JAX")
        wrong, excused = {}, 0
        for dtype in ("f64", "f32"):
            try:
                mine = recorder.run(context, f.viewfold, inputs, dtype)
            except binding.Refused as why:
                wrong[dtype] = [str(why)]
                continue
            finally:
                clock.lap("viewfold")
            wrong[dtype], ill = judged(mine, truth, dtype)
            excused += ill
            clock.lap("judging")
    return {k: v for k, v in wrong.items() if v}, excused, len(truth.results)


def main():
    o = arguments(seed=1, count=200, depth=3, steps=12, only="", case=int, show=False)
    assert o.only in ("", *ROWS), f"--only: there is no row {o.only}"
    context, clock, used = binding.Context(o.build), Clock(), collections.Counter()
    failed = excused = results = 0
    cases = range(o.count) if o.case is None else [o.case]
    for case in cases:
        program, f = composition(random.Random(f"{o.seed}/{case}"), o.depth, o.steps, o.only)
        clock.lap("drawing")
        values = np.random.default_rng([o.seed, case])
        inputs = [values.uniform(-1, 1, s).astype(np.float32).astype(np.float64) for s in f.shapes]
        if o.show:
            print(case, shown(program, f))
        wrong, ill, count = compared(context, f, inputs, clock)
        used.update({name for name, _, _ in program.steps})
        excused, results, failed = excused + ill, results + count, failed + bool(wrong)
        for dtype, why in wrong.items():
            print(f"--seed {o.seed} --case {case}, {dtype}: {'; '.join(why)}\n  {shown(program, f)}", flush=True)
        if case % FORGET == FORGET - 1:
            jax.clear_caches()
    print(f"seed {o.seed}, jax {jax.__version__}: {len(cases)} compositions of {len(used)} of {len(ROWS)} rows, {results} "
          f"results in f64 and f32, {excused} ill-conditioned; "
          + ", ".join(f"{k} {v / len(cases) * 1000:.0f} ms" for k, v in clock.spent.items()) + " each")
    print(f"jax_compare: {len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
