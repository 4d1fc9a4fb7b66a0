#!/usr/bin/env python3
"""Graphs as they are against the same graphs with `stored` behind every operation.

    stored.py --build build [--count N] [--seed N] [--threads N] [--case N [--show]] [--worst N] [--keep FOLDER] [--log FILE]
              [--clock CLOCK]
    stored.py --build build [--vary N] FILE.vf ...
    stored.py --build build --onnx [--size NAME=VALUE] MODEL.onnx ...
    stored.py --build build --shrink [--above 1.5] [FILE.vf ...]

No graph may be slower than with its values in memory. Draws graphs of 20 to 200 operations by seed, of 20 us to 20 ms when
everything is stored, and times each in turn in one process: as it is, and in several forms, with `stored` behind every
operation, every one that is no view, the ends of elementwise chains, or half of all. The fastest form counts. What takes
1.1 times as long is measured again with more rounds; texts of what is then still slower are kept in a folder. Results
are compared as well. Exit status 1 when one is slower or differs. --log appends each graph's figures to a file, a line of
JSON each; what is in it already is taken from there, so that a run that was stopped goes on. --cache keeps kernels in a
folder: most time goes to compiling, which another run, with --check, may do beforehand on another core. --clock processor
counts processor time, of one thread, where others use the machine: a run that takes longer than the share of a core that it
gets at a time, 3 ms, waits for theirs each time, which even the least of many runs then counts.

--vary measures so many variations of each given graph as well: other sizes, another dtype, other orders of axes. --shrink
makes slow graphs smaller as long as they stay slow. A model is compared with the form that has `stored` behind the ends of
elementwise chains, reductions, products and split heads: its norms, activations and head splits.
"""
import argparse
import functools
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "conform")]

from binding import Refused  # noqa: E402
from graphs import workers  # noqa: E402
from storing import case  # noqa: E402
from storing.eager import Eager  # noqa: E402
from storing.maker import draw_graph  # noqa: E402
from storing.measure import CLOCKS, Timed  # noqa: E402
from storing.model import imported  # noqa: E402
from storing.rows import ROWS, STARTS  # noqa: E402
from storing.shrink import shrunk  # noqa: E402
from storing.text import FORMS, parsed  # noqa: E402
from storing.vary import varied  # noqa: E402

KEPT, KEPT_MS = 0.7, 0.3  # of what a graph is slower by, and of the milliseconds that it loses, a smaller one must keep so much


def sources(options, folder):
    """[(name, function of a context that makes the graph)]"""
    if options.onnx:
        command = os.path.join(options.build, "viewfold")
        return [(os.path.basename(f)[:-5], lambda _, f=f: imported(command, f, folder, options.size)) for f in options.files]
    if options.files:
        named = [(os.path.splitext(os.path.basename(f))[0], read_graph(f)) for f in options.files]
        named = [(name, graph) for name, graph in named if not any("=" in t for t in graph.params.values())]
        made = [(name, lambda _, g=g: g) for name, g in named]
        return made + [(f"{name}.{k}", lambda context, g=g, k=k: varied(context, g, k)) for name, g in named
                       for k in range(options.vary)]
    seeds = [options.case] if options.case is not None else range(options.seed, options.seed + options.count)
    return [(f"seed{k}", lambda context, k=k: draw_graph(context, k, ROWS, STARTS)) for k in seeds]


@functools.cache
def torch_with(threads):
    return Eager(threads)


def eager_of(options):
    return torch_with(options.threads) if options.torch else None


def read_graph(path):
    with open(path, encoding="utf-8") as file:
        return parsed(file.read())


def logged(path):
    """{name: what was found} of an earlier run."""
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {f["name"]: f for f in map(json.loads, file)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", default="wall", choices=list(CLOCKS), help="what time is: wall, or processor")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--cache", help="keep kernels there")
    parser.add_argument("--log", help="figures of all graphs, from which a run that was stopped goes on")
    parser.add_argument("--keep", default="build/bench/stored")
    parser.add_argument("--show", action="store_true", help="print the graphs, or the one form of --forms; measure nothing")
    parser.add_argument("--check", action="store_true", help="compare results; measure nothing")
    parser.add_argument("--shrink", action="store_true", help="make the slow graphs smaller")
    parser.add_argument("--above", type=float, help="by what a smaller graph must be slower; otherwise by most of what the graph is")
    parser.add_argument("--vary", type=int, default=0, help="measure so many variations of each file as well")
    parser.add_argument("--forms", help="which ones, of " + ", ".join(FORMS))
    parser.add_argument("--torch", action="store_true", help="and the sum of the operations in PyTorch, where it has all of them")
    parser.add_argument("--onnx", action="store_true", help="the files are models")
    parser.add_argument("--size", action="append", default=[], help="a variable of the models")
    parser.add_argument("files", nargs="*", help="graphs of fixed sizes in place of random ones")
    options = parser.parse_args()
    Timed.clock = CLOCKS[options.clock]
    os.makedirs(options.keep, exist_ok=True)
    scratch = tempfile.TemporaryDirectory(prefix="viewfold-stored-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    contexts = case.Contexts(options.build, options.cache or scratch.name)
    known = logged(options.log)
    given = sources(options, scratch.name)
    found = [known[name] for name, _ in given if name in known]
    given = [(name, make) for name, make in given if name not in known]
    forms = {name: FORMS[name] for name in options.forms.split(",")} if options.forms else {"ends": FORMS["ends"]} if options.onnx else FORMS

    def work(k):
        name, make = given[k]
        context = contexts.of(options.threads)
        try:
            graph = make(context)
            if graph is None:
                return {"story": "no variation of it is a graph"}
            if options.show:
                return {"text": (FORMS[options.forms](graph) if options.forms else graph).text()}
            told = case.compare(context, graph, forms, rounds=0 if options.check else case.ROUNDS, eager=eager_of(options))
        except Refused as why:
            return {"story": f"refused: {why}"}
        if options.check:
            return told
        told.update(name=name, size=len(graph.statements), text=graph.text())
        if options.shrink and case.fails(told) and not told["differs"]:
            above, lost = options.above or max(case.LIMIT, 1 + KEPT * (told["ratio"] - 1)), told["ms"] - told["form_ms"]
            keeps = lambda g: case.is_slow(context, g, above, KEPT_MS * lost)
            least = shrunk(graph, keeps, lambda g: g.types(context))
            told.update(case.compare(context, least), size=len(least.statements), text=least.text(), smaller=True)
        return told

    def told(k, what):
        name = given[k][0]
        if options.show and "text" in what:
            print(what["text"], flush=True)
            return
        story = what.get("story") or options.check and what["differs"]
        if options.log:
            with open(options.log, "a", encoding="utf-8") as file:
                print(json.dumps({"name": name, **what}), file=file)
        if story or options.check:
            found.append({"name": name, "story": story})
            if story:
                print(f"{name}: {story}", flush=True)
            return
        found.append(what)
        bad = case.fails(what) or what.get("smaller")
        if bad or options.files:
            print(line(what), flush=True)
        if bad:
            with open(os.path.join(options.keep, f"{name}.vf"), "w") as file:
                file.write(f"# {line(what)}\n{what['text']}")

    workers.run(0, len(given), 1, work, told, time.monotonic)
    if options.show or options.check:
        wrong = sum(bool(f["story"]) for f in found)
        if options.check:
            print(f"{len(found)} graphs, with their values stored in {len(forms)} ways, {wrong} failed")
        return 1 if wrong else 0
    timed = sorted((f for f in found if "ratio" in f), key=lambda f: -f["ratio"])
    print(f"{'graph':12} {'ratio':>6}  {'ms':>9}  {'stored':>9}")
    for f in timed[:options.worst]:
        print(line(f))
    over = sum(case.fails(f) for f in timed)
    print(f"{len(timed)} graphs, {over} over {case.LIMIT:g}, {sum(bool(f['differs']) for f in timed)} differ, "
          f"{len(found) - len(timed)} not measured")
    return 1 if over or len(found) > len(timed) else 0


def line(f):
    eager = f", eager {f['eager_ms']:.4f}, {f['eager_ratio']:.2f} times" if "eager_ms" in f else \
        f", eager lacks {f['eager_lacks']}" if "eager_lacks" in f else ""
    differs = f"  DIFFERS {f['differs']}" if f["differs"] else ""
    return f"{f['name']:12} {f['ratio']:6.2f}  {f['ms']:9.4f}  {f['form_ms']:9.4f}  stored: {f['form']}, {f['size']} operations{eager}{differs}"


if __name__ == "__main__":
    sys.exit(main())
