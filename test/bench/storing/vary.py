"""Small variations of a graph: other sizes, another dtype, other orders of axes. The library says which are graphs."""
import random
import re

from binding import Refused
from oracle.rules import FLOATS
from storing.text import Graph, Statement

TRIES = 300
USUAL = [1, 2, 3, 4, 7, 8, 12, 14, 16, 17, 24, 28, 31, 32, 48, 56, 60, 64, 77, 80, 96, 100, 112, 128, 144, 160, 192, 197, 200, 256, 320, 333, 384,
         480, 512, 576, 640, 768, 960, 1000, 1024, 1280, 1536, 2048, 3072]
SIZES = re.compile(r"(?<=[\[,])\d+(?=[\],])")  # numbers within brackets that are alone between commas
ORDERS = ("order=", "axes=")  # lists of axes, which are no sizes


def replaced(text, swap):
    """A type or a statement with its sizes swapped."""
    parts = re.split(r"(\w+=\[[^\]]*\])", text)
    return "".join(p if p.startswith(ORDERS) else SIZES.sub(lambda m: str(swap.get(int(m[0]), int(m[0]))), p) for p in parts)


def resized(graph, r):
    """One size becomes another, and some of its multiples with it."""
    sizes = sorted({int(n) for t in list(graph.params.values()) + [s.right for s in graph.statements if "order=" not in s.right]
                    for n in SIZES.findall(t)} - {0, 1, 2})
    old = r.choice(sizes)
    new = r.choice([n for n in USUAL if old / 3 <= n <= old * 2 and n != old])
    swap = {n: n // old * new for n in sizes if n == old or (n % old == 0 and r.random() < 0.6)}
    statements = [Statement(s.results, replaced(s.right, swap)) for s in graph.statements]
    return Graph({n: replaced(t, swap) for n, t in graph.params.items()}, statements, graph.outputs, graph.before)


def retyped(graph, r):
    """Another dtype in place of f32."""
    dtype = r.choice([d for d in FLOATS if d != "f32"] + ["i32"])
    params = {n: re.sub(r"^f32\[", dtype + "[", t) for n, t in graph.params.items()}
    statements = [Statement(s.results, s.right.replace("dtype=f32", f"dtype={dtype}")) for s in graph.statements]
    return Graph(params, statements, graph.outputs, graph.before)


def reordered(graph, r):
    """A parameter whose elements lie in another order, behind a permute."""
    names = [n for n, t in graph.params.items() if t.count(",")]
    name = r.choice(names)
    dtype, sizes = graph.params[name].rstrip("]").split("[")
    sizes = sizes.split(",")
    order = list(range(len(sizes)))
    if r.random() < 0.5:
        order[-1], order[-2] = order[-2], order[-1]
    else:
        r.shuffle(order)
    inner = name[:-1] + ' in memory"' if name[1] == '"' else name + "_memory"
    lies = [""] * len(sizes)
    for k, axis in enumerate(order):
        lies[axis] = sizes[k]
    params = {inner if n == name else n: f"{dtype}[{','.join(lies)}]" if n == name else t for n, t in graph.params.items()}
    first = Statement([name], f"permute {inner} order=[{','.join(map(str, order))}]")
    return Graph(params, [first] + graph.statements, graph.outputs, graph.before)


def transposed(graph, r):
    """A result that is wanted in another order."""
    name = r.choice(graph.outputs)
    s = Statement([name.rstrip('"') + ("_turned" if name[1] != '"' else ' turned"')], f"swap_axes {name} axis1=-1 axis2=-2")
    return Graph(graph.params, graph.statements + [s], [s.results[0] if n == name else n for n in graph.outputs], graph.before)


def varied(context, graph, seed):
    """Up to three changes; what the library refuses is drawn again. None where all tries are refused."""
    r = random.Random(seed)
    for _ in range(TRIES):
        made = graph
        try:
            for _ in range(r.randint(1, 3)):
                made = r.choice([resized, resized, resized, reordered, retyped, transposed])(made, r)
            made.types(context)
            return made
        except (Refused, IndexError):
            continue
    return None
