#!/usr/bin/env python3
"""Random shapes of all classes of work against the best of PyTorch and JAX.

    shapes.py [--build build] [--count N] [--seed N] [--threads N] [--only CLASS] [--first N] [--worst N] [--peers LIST] [--clock CLOCK] [--level LEVEL] [--show]

Graphs of one operation, or of the few that belong together (storing/shapes.py), each timed in turn with the same operations
in PyTorch (oneDNN and MKL where it uses them) and in JAX (compiled by XLA), and compared with the faster one; --peers torch
leaves JAX out. --level caps all of them to a level of x86-64 (storing/levels.py). --clock processor counts processor time, of one thread, where others use the machine. What is below 0.8 is
measured again with 31 turns. Prints the geometric mean of the best peer's time / viewfold's by class, how many are below 0.8
and the --worst. A run of less than 5 us is taken to be 5 us: the call weighs as much. Results are compared with
PyTorch's. Run it pinned to as many processors as threads. Exit status 1 when one is below 0.8 or a result differs.
"""
import argparse
import atexit
import math
import os
import shutil
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "conform")]

LEAST_MS, LOW, ROUNDS, TURNS, MOST_MS = 0.005, 0.8, 5, 31, 3000.0
TOLERANCE = {"f16": 2e-2, "bf16": 1e-1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--count", type=int, default=160)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", help="a class")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--peers", default="torch,jax", help="what to compare with, of torch and jax")
    parser.add_argument("--clock", default="wall", choices=["wall", "processor"], help="what time is: wall, or processor")
    parser.add_argument("--level", choices=["x86-64-v2", "x86-64-v3", "x86-64-v4"], help="instructions and registers for all")
    parser.add_argument("--show", action="store_true", help="print the graphs; measure nothing")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    if options.threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

    from binding import Context, Refused
    from storing import levels, shapes
    if options.level:
        levels.cap(options.level)
    from storing.eager import Eager, Lacking
    from storing.jaxed import Jaxed
    from storing.measure import CLOCKS, Timed

    Timed.clock = CLOCKS[options.clock]
    eager, jaxed = Eager(options.threads), Jaxed() if "jax" in options.peers.split(",") else None
    cache = tempfile.mkdtemp(prefix="viewfold-shapes-")
    atexit.register(shutil.rmtree, cache, ignore_errors=True)
    context = Context(options.build, threads=options.threads, cache=cache,
                      target=levels.target(options.level, options.build) if options.level else None)
    found, lacking = [], 0
    for number in range(options.first, options.first + options.count):
        kind, graph = shapes.drawn(number, options.seed)
        if options.only and kind != options.only:
            continue
        if options.show:
            print(graph.text(), end="")
            continue
        try:
            told = measured(context, graph, eager, jaxed)
        except (Refused, Lacking) as why:
            lacking += 1
            print(f"{number} {kind}: {str(why).splitlines()[0][:150]}", flush=True)
            continue
        found.append({**told, "number": number, "kind": kind, "what": what(graph)})
        if told["ratio"] < LOW or told["differs"]:
            print(line(found[-1]), flush=True)
    return report(found, lacking, options.worst) if found else 0


def what(graph):
    return f"{' '.join(graph.params.values())}: {'; '.join(s.right for s in graph.statements)}"


def line(f):
    differs = f"  DIFFERS {f['differs']}" if f["differs"] else ""
    return f"{f['number']:5} {f['ratio']:6.2f} {f['ms']:9.4f} ms, {f['peer']:5} {f['peer_ms']:9.4f}  {f['kind']}: {f['what']}{differs}"


def mean(ratios):
    return math.exp(statistics.fmean(math.log(r) for r in ratios))


def report(found, lacking, worst):
    print(f"{'class':22} count   mean  least  below {LOW}")
    for kind in dict.fromkeys(f["kind"] for f in found):
        ratios = [f["ratio"] for f in found if f["kind"] == kind]
        print(f"{kind:22} {len(ratios):5} {mean(ratios):6.2f} {min(ratios):6.2f}  {sum(r < LOW for r in ratios)}")
    low = sum(f["ratio"] < LOW for f in found)
    print(f"{len(found)} shapes, {lacking} not measured; geometric mean {mean([f['ratio'] for f in found]):.2f}, {low} below {LOW}, "
          f"{sum(bool(f['differs']) for f in found)} differ")
    for f in sorted(found, key=lambda f: f["ratio"])[:worst]:
        print(line(f))
    return 1 if low or any(f["differs"] for f in found) else 0


def measured(context, graph, eager, jaxed):
    """The ratio of the fastest peer's time to viewfold's, and how results differ from PyTorch's."""
    from storing.case import Peer
    from storing.eager import Lacking
    from storing.measure import Program, difference, draw, time_in_turn

    types = graph.types(context)
    inputs = [draw(n, *types[n], seed) for seed, n in enumerate(graph.params)]
    own = Program(context, graph.text(), types, graph.outputs, inputs)
    try:
        run, values = eager.program(graph, types, inputs, kept=True)

        def in_order():
            """Results have their elements in the order of their axes, as viewfold's have; PyTorch leaves them as they fall."""
            run()
            for name in graph.outputs:
                values[name] = values[name].contiguous()

        peers = {"torch": Peer(in_order)}
        first = max(own.run(), peers["torch"].run())
        own.run()
        dtype = types[graph.outputs[0]][0]
        got = own.results()[0]
        want = eager.array(values[graph.outputs[0]])
        differs = difference(got, want.astype(got.dtype), TOLERANCE.get(dtype, 1e-3)) if got.shape == want.shape else f"shapes {got.shape} {want.shape}"
        if jaxed:
            try:
                peers["jax"] = Peer(jaxed.program(graph, types, inputs))
                first = max(first, peers["jax"].run())
            except Lacking:
                pass
        told = {}
        for rounds in (ROUNDS, TURNS):
            timed = [own, *peers.values()]
            for program in timed:
                program.ms = []
            time_in_turn(timed, max(1, min(rounds, int(MOST_MS / first))))
            ratios = {name: ratio(peer, own) for name, peer in peers.items()}
            best = min(ratios, key=ratios.get)
            told = {"ratio": ratios[best], "ms": statistics.median(own.ms), "peer": best, "peer_ms": statistics.median(peers[best].ms), "differs": differs}
            if told["ratio"] >= LOW:
                break
            peers = {name: peer for name, peer in peers.items() if ratios[name] < LOW}
        return told
    finally:
        own.close()


def ratio(peer, own):
    """By medians or by the least times, whichever says more."""
    return max(max(LEAST_MS, f(peer.ms)) / max(LEAST_MS, f(own.ms)) for f in (min, statistics.median))


if __name__ == "__main__":
    sys.exit(main())
