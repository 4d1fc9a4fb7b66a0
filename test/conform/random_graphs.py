#!/usr/bin/env python3
"""Random graphs of 2 to 25 operations against NumPy.

graphs/ draws them: sizes are numbers, or, of symbolic ones, expressions of variables with bounds up to 2^40
and divisors, legal for every value within the bounds. Each graph is written as text, read, compiled once and
run: a symbolic one for the least sizes, the next, and odd sizes. NumPy computes every operation, with a bound
of the error of each element. A refused graph is a failure, unless graphs/refusals.py says why the missing
fact cannot be known.

  random_graphs.py --build DIR [--seed N] [--count N] [--static | --symbolic] [--jobs N] [--threads N] [--device NAME]
  random_graphs.py --build DIR --case N [--symbolic] [--show]

Without --static and --symbolic, fixed sizes are tried, and half as many symbolic graphs. Cases run in
processes of their own: a crash, or a hang (by processor time), is a failure. A failing graph is reduced, and
shown with its number for --case. Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import collections
import os
import sys
import time

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

import binding
from arguments import arguments
from graphs import judge
from graphs.build import build
from graphs.refusals import admitted
from graphs.shrink import attempt, kind_of, shrunk
from graphs.workers import run

MOST_SHOWN = 4        # failures that are reduced and shown
PROGRAMS = 200        # graphs of one context
SEEDS = 1 << 26       # cases of one seed
FULL = 4              # in `make test`, of so many graphs one is compiled as everything is by default, the others by QUICK:
QUICK = "quick=1"     # a target's setting, which makes the same loops of the same operations in a third of the time


class Judge:
    """Tries one graph after another, with a fresh context now and then."""

    def __init__(self, options, target=None):
        self.options, self.context, self.asked = options, None, 0
        self.target = None if options.device else target  # a device describes itself

    def __call__(self, graph):
        if self.context is None or self.asked % PROGRAMS == 0:
            if self.context:
                self.context.c.vf_context_destroy(self.context.raw)
            self.context = binding.Context(self.options.build, self.options.threads, self.options.device,
                                           target=self.target)
            judge.declare(self.context)
        self.asked += 1
        return judge.ask(graph, self.context)

    def evaluated(self, graph):
        self(graph)
        return judge.ask(graph, self.context, evaluated=True)


def target_of(case):
    sampled = os.environ.get("TEST_LEVEL") == "test" and not os.environ.get("VIEWFOLD_DEVICE")
    return QUICK if sampled and case % FULL else None


def work(options, symbolic):
    """The report of one case: operations, elements claimed and in all, and the description of a failure."""
    judges = {target: Judge(options, target) for target in (None, QUICK)}

    def one(case):
        graph = build(case, symbolic)
        verdict = judges[target_of(case)](graph)
        told = {"nodes": len(graph.nodes), "runs": len(graph.envs), "claimed": judge.claimed(graph)}
        if verdict:
            told["admitted"] = verdict.kind == "refused" and admitted(verdict.story)
            told["story"] = verdict.story
        return told
    return one


class Tally:
    def __init__(self, name, total):
        self.name, self.total, self.done, self.nodes, self.runs = name, total, 0, 0, 0
        self.sure = self.elements = self.refused = 0
        self.failures, self.classes = [], collections.Counter()
        self.begun = time.monotonic()

    def told(self, case, told):
        self.done += 1
        self.nodes += told.get("nodes", 0)
        self.runs += told.get("runs", 0)
        sure, elements = told.get("claimed", (0, 0))
        self.sure, self.elements = self.sure + sure, self.elements + elements
        if told.get("admitted"):
            self.refused += 1
        elif "story" in told:
            kind = kind_of(told["story"])
            self.classes[kind] += 1
            self.failures.append((case, kind, told["story"]))
        if sys.stderr.isatty():
            print(f"\r{self.name}: {self.done} of {self.total}, {len(self.failures)} failed ", end="", file=sys.stderr,
                  flush=True)

    def line(self):
        seconds = max(time.monotonic() - self.begun, 1e-3)
        text = f"{self.done} {self.name} graphs of {self.nodes} operations, {self.runs} runs, " \
               f"{100 * self.sure / max(self.elements, 1):.1f} % of {self.elements} elements claimed"
        if self.refused:
            text += f", {self.refused} refused as listed"
        return text + f", {self.done / seconds:.0f} a second"


def show(options, case, symbolic, smaller=True):
    """Shows a failing case, reduced, and the reference evaluator's result of it."""
    ask = Judge(options, target_of(case))
    how = "--symbolic" if symbolic else "--static"
    graph, story = shrunk(lambda: build(case, symbolic), ask) if smaller else \
        (build(case, symbolic), attempt(ask, build(case, symbolic)))
    print(f"{how} --case {case}: {story or 'passes'}\n{graph.text()}", end="")
    for number, env in enumerate(graph.envs):
        few = [v for v in graph.inputs if v.refs[number].a.size <= 24]
        where = ", ".join(f"{v.text}={env[v]}" for v in graph.variables)
        if len(graph.envs) <= 2 and few:
            print("".join(f"  {where}%{v.name} = {v.refs[number].a.tolist()}\n" for v in few), end="")
    if story and not story.startswith(("compile:", "parse:")):
        print(f"  the reference evaluator: {attempt(ask.evaluated, graph) or 'as NumPy'}")
    return story


def tried(options, symbolic, count):
    name = "symbolic" if symbolic else "static"
    tally = Tally(name, count)
    run(options.seed * SEEDS, count, options.jobs, work(options, symbolic), tally.told, time.monotonic)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    shown = set()
    for case, kind, story in tally.failures:
        if kind in shown or len(shown) >= options.most:
            continue
        shown.add(kind)
        show(options, case, symbolic)
        print(f"  ({tally.classes[kind]} of this kind)")
    for case, kind, story in tally.failures[:options.list]:
        print(f"--case {case}: {story[:200]}")
    print(tally.line())
    return tally


def main():
    # case, show: one case, whole rather than made smaller; most: kinds of failures shown; list: failures in a line each
    options = arguments(seed=1, count=300, static=False, symbolic=False, jobs=1, threads=1, device=str, case=int, show=False,
                        most=MOST_SHOWN, list=0)
    np.seterr(all="ignore")
    if not os.path.exists(os.path.join(options.build, "libviewfold.so.0")):
        print(f"skip: {options.build} has no libviewfold.so.0")
        return 77
    if options.case is not None:
        return 1 if show(options, options.case, options.symbolic, not options.show) else 0
    tallies = []
    if not options.symbolic:
        tallies.append(tried(options, False, options.count))
    if not options.static:
        tallies.append(tried(options, True, options.count if options.symbolic else (options.count + 1) // 2))
    failed = sum(len(t.failures) for t in tallies)
    print(f"random_graphs: {sum(t.done for t in tallies) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
