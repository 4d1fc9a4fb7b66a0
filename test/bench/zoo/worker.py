#!/usr/bin/env python3
"""One model in one library, as a process that answers requests.

    worker.py LIBRARY NAME FOLDER THREADS [BUILD]

FOLDER holds what export.py writes. Prints `ready MS`: the time to load, compile and run once. Then answers, a line each:
`run N` with `ms T1 ... TN`; `result PATH` with `ok`, the first result is in the file; `memory` with `mib PEAK`.
Or prints `lacks WHY`. LIBRARY: viewfold, stored (viewfold, with `stored` behind norms, activations and head splits),
onnxruntime, eager, inductor (with weights frozen).
"""
import atexit
import os
import resource
import shutil
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "conform")]


def inputs_of(folder, name, names):
    return [np.load(os.path.join(folder, f"{name}.{key}.npy")) for key in names]


def viewfold(name, folder, threads, build, form=None):
    from binding import Context
    from storing.measure import Program
    from storing.model import imported

    cache = tempfile.mkdtemp(prefix="viewfold-models-")
    atexit.register(shutil.rmtree, cache, ignore_errors=True)  # it holds the model's weights
    graph = imported(os.path.join(build, "viewfold"), os.path.join(folder, name + ".onnx"), cache)
    context = Context(build, threads=threads, cache=cache)
    types = graph.types(context)
    given = inputs_of(folder, name, [n.lstrip("%") for n in graph.params])
    given = [np.ascontiguousarray(x) for x in given]
    program = Program(context, (form(graph) if form else graph).text(), types, graph.outputs, given)
    return program.run, lambda: program.results()[0]


def stored(name, folder, threads, build):
    from storing.text import FORMS

    return viewfold(name, folder, threads, build, FORMS["ends"])


def onnxruntime(name, folder, threads, _):
    import onnxruntime as library

    options = library.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = library.InferenceSession(os.path.join(folder, name + ".onnx"), options)
    names = [i.name for i in session.get_inputs()]
    given = dict(zip(names, inputs_of(folder, name, names)))
    return lambda: session.run(None, given), lambda: session.run(None, given)[0]


def eager(name, folder, threads, _, compiled=False):
    import torch

    from zoo.models import made

    torch.set_num_threads(threads)
    module, given = made(name)
    operands = list(given.values())
    if compiled:
        import torch._inductor.config as settings

        settings.freezing = True
        module = torch.compile(module)

    def run():
        with torch.no_grad():
            return module(*operands)

    return run, lambda: run().numpy()


def inductor(name, folder, threads, build):
    return eager(name, folder, threads, build, compiled=True)


LIBRARIES = {f.__name__: f for f in (viewfold, stored, onnxruntime, eager, inductor)}


def timed(run):
    before = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - before) * 1e-6


def main():
    library, name, folder, threads, *rest = sys.argv[1:]
    talk, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    before = time.perf_counter()
    try:
        run, result = LIBRARIES[library](name, folder, int(threads), *(rest or [None]))
        run()
    except Exception as why:  # whatever a library cannot do
        print("lacks", f"{type(why).__name__}: {why}".splitlines()[0][:160], file=talk, flush=True)
        return
    print(f"ready {(time.perf_counter() - before) * 1e3:.1f}", file=talk, flush=True)
    for line in sys.stdin:
        request, *given = line.split()
        if request == "run":
            answer = " ".join(["ms", *(f"{timed(run):.4f}" for _ in range(int(given[0])))])
        elif request == "result":
            np.save(given[0], result())
            answer = "ok"
        else:
            answer = f"mib {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}"
        print(answer, file=talk, flush=True)


if __name__ == "__main__":
    main()
