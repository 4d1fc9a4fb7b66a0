#!/usr/bin/env python3
"""The time from a recorded graph to one that can run, without caches, in a process that has compiled before:
viewfold and others.

    test/bench/compile_peers.py [--bench build/bench/bench_compile] [--graphs E1,R4,T1,T2] [--threads 1] [--repetitions 3]
                                [--python PEER=PYTHON]...

Prints a table of milliseconds: of each graph the fastest of the repetitions, and how many times longer the
peer took than viewfold. A peer that is not installed is left out, and a line says so; --python names another
interpreter for one.

Every figure of a peer is from a process of its own, which first compiles a small product and an elementwise
graph, so that nothing is measured that happens once in a process. Caches on disk are off.

    jax        jax.jit(f).lower(...).compile(): tracing, and XLA for the processor
    tinygrad   the first call of a TinyJit (nothing replayed), less the time of one that replays
    inductor   the first call of torch.compile(f), less the time of one that is compiled
    viewfold   bench_compile: the text read, passes, code, linked
"""
import argparse
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = ("jax", "tinygrad", "inductor")
GRAPHS = {"E1": "chain of 8 operations", "R4": "softmax of rows", "T1": "transformer layer", "T2": "training step"}
NOT_INSTALLED = 3
REPEATS = {"jax": 3, "tinygrad": 1, "inductor": 1}  # in one process, if the peer can forget what it compiled
LIMIT = 900  # seconds for one figure

# Shapes of the inputs, as in frontend/workloads/ID.vf; an int is a vector of labels below 10.
SHAPES = {
    "warm": [(64, 64), (64, 64)],
    "E1": [(1 << 24,), (1 << 24,)],
    "R4": [(8192, 1024)],
    "T1": [(8, 128, 384), (1152, 384), (1152,), (384, 384), (384,), (384,), (384,), (1536, 384), (1536,), (384, 1536),
           (384,), (384,), (384,)],
    "T2": [(128, 784), 128, (784, 512), (512,), (512, 256), (256,), (256, 10), (10,)],
}


def arrays(graph):
    import numpy as np

    draw = np.random.default_rng(0)
    return [
        draw.integers(0, 10, s).astype(np.int32) if isinstance(s, int) else draw.random(s, np.float32) * 0.05
        for s in SHAPES[graph]
    ]


def in_jax():
    import jax
    import jax.numpy as jnp

    def norm(x, g, c):
        m = x.mean(-1, keepdims=True)
        d = x - m
        return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g + c

    def layer(x, wi, bi, wo, bo, g1, c1, w1, b1, w2, b2, g2, c2):
        q, k, v = (x @ wi.T + bi).reshape(8, 128, 3, 12, 32).transpose(2, 0, 3, 1, 4)
        p = jax.nn.softmax(q @ k.swapaxes(-1, -2) / 32**0.5, -1)
        a = (p @ v).transpose(0, 2, 1, 3).reshape(8, 128, 384)
        h = norm(x + a @ wo.T + bo, g1, c1)
        return norm(h + jax.nn.relu(h @ w1.T + b1) @ w2.T + b2, g2, c2)

    def loss(given, x, label):
        w1, b1, w2, b2, w3, b3 = given
        h = jax.nn.relu(jax.nn.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3
        return -jnp.take_along_axis(jax.nn.log_softmax(h), label[:, None], 1).mean()

    def step(x, label, *given):
        return [p - 0.1 * s for p, s in zip(given, jax.grad(loss)(given, x, label))]

    graphs = {
        "warm": lambda x, y: jnp.tanh(x @ y) + 1,
        "E1": lambda x, y: jnp.sqrt(abs(jnp.maximum(x * y + x, 0) * 0.5 - y)) + 1,
        "R4": lambda x: jax.nn.softmax(x, -1),
        "T1": layer,
        "T2": step,
    }

    def cold(graph):
        given = [jnp.asarray(a) for a in arrays(graph)]
        jax.clear_caches()
        start = time.perf_counter()
        jax.jit(graphs[graph]).lower(*given).compile()
        return time.perf_counter() - start

    return cold


def in_tinygrad():
    from tinygrad import Tensor, TinyJit

    def norm(x, g, c):
        return x.layernorm(eps=1e-5) * g + c

    def layer(x, wi, bi, wo, bo, g1, c1, w1, b1, w2, b2, g2, c2):
        s = (x @ wi.T + bi).reshape(8, 128, 3, 12, 32).permute(2, 0, 3, 1, 4)
        q, k, v = s[0], s[1], s[2]
        p = (q @ k.transpose(-1, -2) / 32**0.5).softmax(-1)
        a = (p @ v).permute(0, 2, 1, 3).reshape(8, 128, 384)
        h = norm(x + a @ wo.T + bo, g1, c1)
        return norm(h + (h @ w1.T + b1).relu() @ w2.T + b2, g2, c2)

    def step(x, label, *given):
        for p in given:
            p.requires_grad, p.grad = True, None
        w1, b1, w2, b2, w3, b3 = given
        h = ((x @ w1 + b1).relu() @ w2 + b2).relu() @ w3 + b3
        h.sparse_categorical_crossentropy(label).backward()
        return [p.detach() - 0.1 * p.grad for p in given]

    graphs = {
        "warm": lambda x, y: (x @ y).tanh() + 1,
        "E1": lambda x, y: ((x * y + x).maximum(0) * 0.5 - y).abs().sqrt() + 1,
        "R4": lambda x: x.softmax(-1),
        "T1": layer,
        "T2": step,
    }

    def realized(out):
        Tensor.realize(*(out if isinstance(out, list) else [out]))
        return out

    def cold(graph):
        given = [Tensor(a).contiguous().realize() for a in arrays(graph)]
        return less_running(TinyJit(lambda *x: realized(graphs[graph](*x))), given)

    return cold


def in_inductor():
    cache = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, cache, ignore_errors=True)
    os.environ.update(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", TORCHINDUCTOR_CACHE_DIR=cache)
    if THREADS == 1:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    import torch
    import torch.nn.functional as F

    if not hasattr(torch, "compile"):
        raise ImportError("it is older than torch.compile")
    torch.set_num_threads(THREADS)

    def layer(x, wi, bi, wo, bo, g1, c1, w1, b1, w2, b2, g2, c2):
        q, k, v = F.linear(x, wi, bi).reshape(8, 128, 3, 12, 32).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3).reshape(8, 128, 384)
        h = F.layer_norm(x + F.linear(a, wo, bo), (384,), g1, c1)
        return F.layer_norm(h + F.linear(F.relu(F.linear(h, w1, b1)), w2, b2), (384,), g2, c2)

    def step(x, label, *given):
        def loss(given):
            w1, b1, w2, b2, w3, b3 = given
            h = torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3
            return F.cross_entropy(h, label.long())

        return [p - 0.1 * s for p, s in zip(given, torch.func.grad(loss)(given))]

    graphs = {
        "warm": lambda x, y: torch.tanh(x @ y) + 1,
        "E1": lambda x, y: torch.sqrt(torch.abs(torch.relu(x * y + x) * 0.5 - y)) + 1,
        "R4": lambda x: torch.softmax(x, -1),
        "T1": layer,
        "T2": step,
    }

    def cold(graph):
        with torch.no_grad():
            given = [torch.from_numpy(a) for a in arrays(graph)]
            return less_running(torch.compile(graphs[graph], dynamic=False), given)

    return cold


def less_running(function, given):
    """Seconds of the first call minus those of the fastest later one."""
    times = []
    for _ in range(6):
        start = time.perf_counter()
        function(*given)
        times.append(time.perf_counter() - start)
    return times[0] - min(times[3:])


def one(peer, graph):
    """Runs in a process of its own; prints a line of JSON."""
    try:
        cold = {"jax": in_jax, "tinygrad": in_tinygrad, "inductor": in_inductor}[peer]()
    except ImportError as e:
        print(e)
        sys.exit(NOT_INSTALLED)
    cold("warm")
    print(json.dumps({"ms": min(cold(graph) for _ in range(REPEATS[peer])) * 1e3}))


def pinned(command):
    return ["taskset", "-c", "1"] + command if THREADS == 1 else command


def of_viewfold(bench, graph):
    path = os.path.join(ROOT, "frontend", "workloads", graph + ".vf")
    out = subprocess.run(pinned([bench, "-t", str(THREADS), path]), capture_output=True, text=True, timeout=LIMIT)
    if out.returncode:
        sys.exit(f"{bench}: {out.stderr.strip() or out.returncode}\nIt is made by: make build/bench/bench_compile")
    return float(out.stdout.split("kernels")[1].split()[0])


def of_peer(peer, python, graph, repetitions):
    """Milliseconds, or the reason why there are none."""
    best = None
    environment = {**os.environ, "DEV": "CPU", "CACHELEVEL": "0", "CCACHE": "0", "JAX_PLATFORMS": "cpu",
                   "JAX_ENABLE_COMPILATION_CACHE": "false", "NUM_CPU_THREADS": str(THREADS),
                   "OMP_NUM_THREADS": str(THREADS)}
    for _ in range(repetitions):
        command = [python, os.path.abspath(__file__), "--threads", str(THREADS), "--one", peer, graph]
        try:
            out = subprocess.run(pinned(command), capture_output=True, text=True, timeout=LIMIT, env=environment)
        except subprocess.TimeoutExpired:
            return f"more than {LIMIT} s"
        last = (out.stdout.strip() or out.stderr.strip() or "nothing said").splitlines()[-1]
        if out.returncode:
            return f"not installed: {last}" if out.returncode == NOT_INSTALLED else f"failed: {last}"
        ms = json.loads(last)["ms"]
        best = ms if best is None else min(best, ms)
    return best


def main():
    global THREADS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=os.path.join(ROOT, "build", "bench", "bench_compile"))
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--python", action="append", default=[], metavar="PEER=PYTHON")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    THREADS = given.threads
    if given.one:
        one(*given.one)
        return
    pythons = dict(p.split("=", 1) for p in given.python)
    peers = given.peers.split(",")
    print(f"{'graph':6} {'what':24} {'viewfold':>9}" + "".join(f" {p:>10} {'times':>6}" for p in peers) + "   ms", flush=True)
    missing = {}
    for graph in given.graphs.split(","):
        own = of_viewfold(given.bench, graph)
        line = f"{graph:6} {GRAPHS[graph]:24} {own:9.2f}"
        for peer in peers:
            ms = missing.get(peer) or of_peer(peer, pythons.get(peer, sys.executable), graph, given.repetitions)
            if isinstance(ms, str):
                line += f" {'-':>10} {'-':>6}"
                if not missing.get(peer):
                    print(f"{peer} is left out{'' if ms.startswith('not') else ' of ' + graph}: {ms}", file=sys.stderr, flush=True)
                if ms.startswith("not"):
                    missing[peer] = ms
            else:
                line += f" {ms:10.1f} {ms / own:6.1f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
