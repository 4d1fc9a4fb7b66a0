#!/usr/bin/env python3
"""Shapes that nobody tuned for, compared with round shapes of nearly the same size.

    cliffs.py [--viewfold CMD] [--threads N] [--count N] [--worst N] [--only KIND] [--json FILE]

A cliff is a shape whose time per unit of work is far above that of a round shape of nearly the same size.
Each kind of graph is timed at odd shapes (primes, 1, 17, 1023, 4097, skinny, deep, odd strides, unaligned
bases) and at the neighbouring shape with every size rounded to a multiple of 64 or a power of two, in turn in
one process; times are medians. Prints the worst ratios of time / work to the neighbour's; exit status 1 when
one is over the limit of 2. Work is elements moved, or multiply-adds; times under 3 us are taken to be 3 us,
since a launch and the clock weigh as much.

Kinds with two texts have views that transpose or reverse rows: they are compared with the same size where the
view is copied explicitly (`stored`).
"""
import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

LIMIT, LEAST_MS = 2.0, 0.003

TRANSPOSE, FLIP = "%{to} = permute %{of} order=[1,0]", "%{to} = flip %{of} axes=[1]"


def with_copy(view, operation):
    """An operation of %p, a view of %x; and the same operation of a copy of the view."""
    first = view.replace("{of}", "x")
    return first.replace("{to}", "p") + "\n  " + operation, first.replace("{to}", "t") + "\n  %p = stored %t\n  " + operation


def before(operation, view):
    """An operation of %x whose result %p is read through a view; and through the same view of a copy."""
    last = view.replace("{to}", "y")
    return operation + "\n  " + last.replace("{of}", "p"), operation + "\n  %s = stored %p\n  " + last.replace("{of}", "s")


# kind: (text of the graph, or its text and the one to compare with; input shapes; work), all functions of the
# sizes
KINDS = {
    "copy": ("%y = add %x, 1.0", lambda n: [[n]], lambda n: n),
    "chain": ("%a = mul %x, %x1\n  %b = add %a, %x\n  %c = max %b, 0.0\n  %y = sub %c, %x1", lambda n: [[n], [n]], lambda n: n),
    "exp": ("%y = exp %x", lambda n: [[n]], lambda n: n),
    "unaligned": ("%s = shrink %x bounds=[[1,{n1}]]\n  %y = mul %s, 2.0", lambda n: [[n + 1]], lambda n: n),
    "every third": ("%s = stride %x steps=[3]\n  %y = mul %s, 2.0", lambda n: [[3 * n]], lambda n: n),
    "sum": ("%y = sum %x axes=[0]", lambda n: [[n]], lambda n: n),
    "bias": ("%y = add %x, %x1", lambda m, n: [[m, n], [n]], lambda m, n: m * n),
    "transpose": ("%y = permute %x order=[1,0]", lambda m, n: [[m, n]], lambda m, n: m * n),
    "flip": ("%y = flip %x axes=[1]", lambda m, n: [[m, n]], lambda m, n: m * n),
    "pad": ("%y = pad %x pads=[[1,1],[1,1]]", lambda m, n: [[m, n]], lambda m, n: (m + 2) * (n + 2)),
    "window": ("%s = shrink %x bounds=[[0,{m}],[1,{n1}]]\n  %y = mul %s, 2.0", lambda m, n: [[m, n + 2]], lambda m, n: m * n),
    "join": ("%y = concat %x, %x1 axis=1", lambda m, n: [[m, n], [m, n]], lambda m, n: 2 * m * n),
    "row sum": ("%y = sum %x axes=[1]", lambda m, n: [[m, n]], lambda m, n: m * n),
    "column sum": ("%y = sum %x axes=[0]", lambda m, n: [[m, n]], lambda m, n: m * n),
    "row max": ("%y = max %x axes=[1]", lambda m, n: [[m, n]], lambda m, n: m * n),
    "argmax": ("%i = argmax %x axis=1\n  %y = cast %i dtype=f32", lambda m, n: [[m, n]], lambda m, n: m * n),
    "softmax": ("%y = softmax %x axis=-1", lambda m, n: [[m, n]], lambda m, n: m * n),
    "layer norm": ("%y = layer_norm %x axis=-1", lambda m, n: [[m, n]], lambda m, n: m * n),
    "cumsum": ("%y = cumsum %x axis=1", lambda m, n: [[m, n]], lambda m, n: m * n),
    "product": ("%y = matmul %x, %x1", lambda m, k, n: [[m, k], [k, n]], lambda m, k, n: m * k * n),
    "product with a transpose": ("%t = permute %x1 order=[1,0]\n  %y = matmul %x, %t", lambda m, k, n: [[m, k], [n, k]], lambda m, k, n: m * k * n),
    "batch of products": ("%y = matmul %x, %x1", lambda b, m, n: [[b, m, n], [b, n, m]], lambda b, m, n: b * m * m * n),
    "channels last": ("%y = permute %x order=[0,2,1]", lambda b, m, n: [[b, m, n]], lambda b, m, n: b * m * n),
    "sum of a permute": (("%p = permute %x order=[0,2,1]\n  %y = sum %p axes=[0]",
                          "%s = sum %x axes=[0]\n  %p = stored %s\n  %y = permute %p order=[1,0]"),
                         lambda b, m, n: [[b, m, n]], lambda b, m, n: b * m * n),
    "argmax of a permute": (("%p = permute %x order=[0,2,1]\n  %i = argmax %p axis=0\n  %y = cast %i dtype=f32",
                             "%t = permute %x order=[0,2,1]\n  %p = stored %t\n  %i = argmax %p axis=0\n  %y = cast %i dtype=f32"),
                            lambda b, m, n: [[b, m, n]], lambda b, m, n: b * m * n),
    "row sum of a permute": (with_copy(TRANSPOSE, "%y = sum %p axes=[1]"), lambda m, n: [[m, n]], lambda m, n: m * n),
    "softmax of a permute": (with_copy(TRANSPOSE, "%y = softmax %p axis=-1"), lambda m, n: [[m, n]], lambda m, n: m * n),
    "layer norm of a permute": (with_copy(TRANSPOSE, "%y = layer_norm %p axis=-1"), lambda m, n: [[m, n]], lambda m, n: m * n),
    "cumsum of a permute": (with_copy(TRANSPOSE, "%y = cumsum %p axis=1"), lambda m, n: [[m, n]], lambda m, n: m * n),
    "cumsum, permuted": (before("%p = cumsum %x axis=1", TRANSPOSE), lambda m, n: [[m, n]], lambda m, n: m * n),
    "cumsum, flipped": (before("%p = cumsum %x axis=1", FLIP), lambda m, n: [[m, n]], lambda m, n: m * n),
    "cumsum in reverse": (("%y = cumsum %x axis=1 reverse=true", "%y = cumsum %x axis=1"), lambda m, n: [[m, n]], lambda m, n: m * n),
    "cummax, permuted": (before("%p = cummax %x axis=1", TRANSPOSE), lambda m, n: [[m, n]], lambda m, n: m * n),
    "convolution": ("%y = conv %x, %x1 padding=[1,1]", lambda c, o, n: [[2, c, n, n], [o, c, 3, 3]], lambda c, o, n: 2 * c * o * n * n * 9),
}
ODD = {
    1: [[1], [17], [1023], [4097], [65537], [100003], [1000003], [16777213]],
    2: [[1, 65537], [65537, 1], [17, 4097], [4097, 17], [1023, 1023], [3, 100003], [100003, 3], [509, 2053], [4099, 997], [31, 31]],
    3: {
        "product": [[1, 1023, 1023], [1023, 1023, 1], [17, 1023, 1023], [1023, 17, 1023], [1023, 1023, 17], [127, 509, 251], [513, 513, 513],
                    [1021, 127, 61], [7, 4097, 65], [300, 300, 300]],
        "product with a transpose": [[1, 1023, 1023], [17, 509, 1023], [1023, 1023, 17], [127, 509, 251], [513, 513, 513]],
        "batch of products": [[63, 31, 31], [101, 17, 65], [7, 129, 127], [12, 197, 64], [1000, 5, 7]],
        "channels last": [[3, 1023, 17], [17, 17, 1023], [7, 57 * 57, 3], [5, 509, 509], [64, 49, 63]],
        "sum of a permute": [[64, 512, 512], [32, 3136, 64], [333, 7, 61], [64, 500, 500], [4, 1000, 1000]],
        "argmax of a permute": [[64, 512, 512], [32, 3136, 64], [333, 7, 61]],
        "convolution": [[3, 64, 57], [17, 31, 29], [64, 65, 13], [1, 17, 129], [63, 63, 7]],
    },
}

MATRICES = [[1024, 1024], [1000, 1000], [2048, 2048], [300, 3000], [3000, 300], [333, 61]]


def neighbour(size):
    if size < 8:
        return size
    power = 1 << round(math.log2(size))
    return power if abs(power - size) <= size // 16 or size < 64 else (size + 32) // 64 * 64


class Server:
    def __init__(self, command, threads, folder):
        self.folder, self.made = folder, 0
        self.process = subprocess.Popen(shlex.split(command) + ["bench", "--serve", "--threads", str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def setup(self, text, shapes):
        import numpy as np
        self.made += 1
        folder = os.path.join(self.folder, str(self.made))
        os.makedirs(folder)
        names = ["x"] + [f"x{i}" for i in range(1, len(shapes))]
        params = ", ".join(f"%{n}: f32[{','.join(map(str, s))}]" for n, s in zip(names, shapes))
        with open(folder + "/graph.vf", "w") as f:
            f.write(f"graph @g({params}) {{\n  {text}\n  return %y\n}}\n")
        for i, s in enumerate(shapes):
            np.random.default_rng(i).random(math.prod(s), np.float32).tofile(f"{folder}/in{i}.bin")
        with open(folder + "/meta.json", "w") as f:
            json.dump([{"shape": s, "dtype": "float32"} for s in shapes], f)
        answer = self.ask(f"setup g {folder}")
        return answer if answer.startswith("ok") else sys.exit(f"cliffs.py: {text}: {shapes}: {answer}")

    def run(self, times):
        return [float(t) for t in self.ask(f"run {times}").split()[1:]]


def has_two_texts(kind):
    return isinstance(KINDS[kind][0], tuple)


def text_of(kind, sizes, which):
    fields = {"n": sizes[-1], "n1": sizes[-1] + 1, "m": sizes[0]}
    return KINDS[kind][0][which] if has_two_texts(kind) else KINDS[kind][0].format(**fields)


def cases(only):
    for kind, (_, shapes, _) in KINDS.items():
        rank = shapes.__code__.co_argcount
        for sizes in ODD[3][kind] if rank == 3 else MATRICES if has_two_texts(kind) else ODD[rank]:
            if only in kind:
                yield kind, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewfold", default="build/viewfold")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory(prefix="viewfold-cliffs-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        server = Server(options.viewfold, options.threads, folder)
        for kind, sizes in list(cases(options.only))[: options.count]:
            _, shapes, work = KINDS[kind]
            near = sizes if has_two_texts(kind) else [neighbour(s) for s in sizes]
            took = ([], [])
            for _ in range(3):
                for which, at in enumerate((sizes, near)):
                    server.setup(text_of(kind, at, which), shapes(*at))
                    first = server.run(2)[-1]
                    took[which].extend(server.run(max(3, min(200, int(8 / max(first, 1e-4))))))
                    server.ask("drop")
            ms, near_ms = (max(LEAST_MS, statistics.median(t)) for t in took)
            found.append((ms / work(*sizes) / (near_ms / work(*near)), kind, sizes, near, ms, near_ms))
            if sys.stderr.isatty():
                print(f"\r{len(found)} shapes", end="", file=sys.stderr)
        server.ask("quit")
    found.sort(reverse=True)
    print(f"{'ratio':>6}  {'kind':24} {'shape':22} {'ms':>9}  {'neighbour':22} {'ms':>9}")
    for ratio, kind, sizes, near, ms, near_ms in found[: options.worst]:
        print(f"{ratio:6.2f}  {kind:24} {'x'.join(map(str, sizes)):22} {ms:9.4f}  {'x'.join(map(str, near)):22} {near_ms:9.4f}")
    over = sum(f[0] > LIMIT for f in found)
    print(f"{len(found)} shapes, {over} over {LIMIT:g}")
    if options.json:
        with open(options.json, "w") as f:
            json.dump([dict(zip(("ratio", "kind", "shape", "neighbour", "ms", "neighbour_ms"), x)) for x in found], f, indent=1)
    return 1 if over else 0


sys.exit(main())
