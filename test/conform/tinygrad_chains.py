#!/usr/bin/python3
"""Is an index that `viewfold index` prints dearer than tinygrad's for the same chain?

  tinygrad_chains.py --build DIR --seed S --count N [--views FOLDER] [--corpus FILE] [--most PERCENT] [--list]

Draws chains, half of them of the families that models are made of (test/optimal/families.py), half of any views
(test/optimal/chains.py), and asks for their index and validity viewfold and two versions of tinygrad: one that folds views
into ranges (that of this Python), and the last that had ShapeTracker (0.10, --views: where its wheel was unpacked; left out
where that is not given). Each is asked after its own simplification of the load, before it becomes machine operations. What
they say is evaluated on each lane against NumPy, and priced as make optimal prices it: operations of both expressions together,
a division or remainder as five. The reference of a chain is the cheaper of those that are right.

--corpus prices the chains of a corpus instead, beside the counts that are recorded there: so far as these are the same, it is
asked here as it was there. Exit status 1 where viewfold is wrong, or dearer on one chain, or above --most percent in sum.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "optimal"))
BINARY = {"ADD": "+", "SUB": "-", "MUL": "*", "IDIV": "//", "FLOORDIV": "//", "CDIV": "//", "MOD": "%", "FLOORMOD": "%", "CMOD": "%", "CMPLT": "<",
          "CMPNE": "!=", "CMPEQ": "==", "AND": "&", "OR": "|"}


def ordered(root):
    """The nodes below root, operands first."""
    out, seen = [], set()

    def visit(u):
        if u not in seen:
            seen.add(u)
            for s in u.src:
                visit(s)
            out.append(u)

    visit(root)
    return out


def text_of(root, variables):
    """The expression over ridx0, ridx1, ...; variables: text of each range."""
    memo = {}
    for u in ordered(root):
        a = [memo[s] for s in u.src if s in memo]
        name = u.op.name
        if u in variables:
            memo[u] = variables[u]
        elif name == "CONST":
            value = u.arg if isinstance(u.arg, (bool, int)) else u.val
            memo[u] = str(value) if isinstance(value, bool) else str(int(value)) if int(value) >= 0 else f"({int(value)})"
        elif name == "CAST":
            memo[u] = a[0]
        elif name == "CMPNE" and a[1] in ("True", "False"):
            memo[u] = f"(not {a[0]})" if a[1] == "True" else a[0]
        elif name == "MUL" and str(u.dtype).endswith("bool"):
            memo[u] = f"({a[0]}&{a[1]})"
        elif name in BINARY:
            memo[u] = f"({a[0]}{BINARY[name]}{a[1]})"
        elif name == "WHERE":
            memo[u] = f"({a[1]} if {a[0]} else {a[2]})"
        elif name == "MAX":
            memo[u] = f"max({a[0]},{a[1]})"
        elif name == "NEG":
            memo[u] = f"(-{a[0]})"
        elif u is root:
            raise ValueError(name)
    return memo[root]


def shapes_of(chain):
    """The shape before each view, and after the last."""
    shapes = [list(chain["base"])]
    for op, arg in chain["ops"]:
        s = shapes[-1]
        shapes.append({
            "reshape": lambda: list(arg), "expand": lambda: list(arg), "permute": lambda: [s[i] for i in arg],
            "pad": lambda: [n + lo + hi for n, (lo, hi) in zip(s, arg)], "shrink": lambda: [hi - lo for lo, hi in arg],
            "flip": lambda: s, "stride": lambda: [-(-n // abs(k)) for n, k in zip(s, arg)]}[op]())
    return shapes


def by_ranges(chain):
    """Current tinygrad: views act on ranges, the load has an index that is invalid outside."""
    from tinygrad.codegen.late.coalesce import indexing_simplify
    from tinygrad.dtype import dtypes
    from tinygrad.schedule.indexing import apply_movement_op
    from tinygrad.uop.ops import Ops, UOp, graph_rewrite
    from tinygrad.uop.symbolic import pm_move_where_on_load, sym

    shapes = shapes_of(chain)
    ranges = tuple(UOp.range(n, i) if n > 1 else UOp.const(0) for i, n in enumerate(shapes[-1]))
    variables = {r: f"ridx{i}" for i, r in enumerate(ranges) if r.op is Ops.RANGE}
    inside = []  # a pad is a choice around what it pads, too, since views of that may not need the range
    def move(what, before, given, ranges):
        ranges = apply_movement_op(getattr(Ops, what), tuple(before), given, ranges)
        inside.extend(r.get_valid() for r in ranges if what == "PAD" and r.op is Ops.WHERE)
        return ranges

    for (op, arg), before in reversed(list(zip(chain["ops"], shapes))):
        if op == "stride":  # as Tensor.__getitem__: flip, pad to a multiple, reshape, take the first
            for what, given, shape in reversed(_stride_steps(arg, before)):
                ranges = move(what, shape, given, ranges)
        elif op == "expand":
            ranges = tuple(UOp.const(0) if n == 1 != m else r for r, n, m in zip(ranges, before, arg))
        else:
            given = {"reshape": lambda: tuple(arg), "permute": lambda: tuple(arg),
                     "pad": lambda: tuple((lo, n + lo + hi) for n, (lo, hi) in zip(before, arg)),
                     "shrink": lambda: tuple((lo, hi - lo) for lo, hi in arg),
                     "flip": lambda: tuple(i in arg for i in range(len(before)))}[op]()
            ranges = move(op.upper(), before, given, ranges)
    flat, stride = UOp.const(0), 1
    for r, n in reversed(list(zip(ranges, shapes[0]))):
        flat, stride = flat + r * stride, stride * n
    buffer = UOp.new_buffer("CPU", max(1, stride), dtypes.float) if hasattr(UOp, "new_buffer") else UOp.placeholder((stride,), dtypes.float, 0)
    load = buffer.index(flat)
    for valid in inside:
        load = valid.where(load, load.const_like(0))
    sink = graph_rewrite(UOp.sink(load), sym)
    sink = graph_rewrite(sink, sym + pm_move_where_on_load)
    sink = graph_rewrite(sink, sym + indexing_simplify)
    root, held = sink.src[0], []
    while root.op is Ops.WHERE:  # what depends on ranges that the index has not stays around the load
        swapped = root.src[1].op is Ops.CONST
        held.append(root.src[0].logical_not() if swapped else root.src[0])
        root = root.src[2 if swapped else 1]
    if root.op is not Ops.INDEX:
        return "0", "False"
    index = root.src[1]
    valid = [text_of(v, variables) for v in held + [index.get_valid()]]
    return text_of(index.get_idx(), variables), "(" + "&".join(valid) + ")"


def _stride_steps(steps, shape):
    """[(view, argument, shape before)] for the slice [::step] of each axis."""
    out = []
    if any(k < 0 for k in steps):
        out.append(("FLIP", tuple(k < 0 for k in steps), shape))
    k = [abs(k) for k in steps]
    if any(i > 1 for i in k):
        up = [-(-n // i) * i for n, i in zip(shape, k)]
        out.append(("PAD", tuple((0, m) for m in up), shape))
        pairs = [x for m, i in zip(up, k) for x in (m // i, i)]
        out.append(("RESHAPE", tuple(pairs), up))
        out.append(("SHRINK", tuple((0, n if j % 2 == 0 else 1) for j, n in enumerate(pairs)), pairs))
        out.append(("RESHAPE", tuple(pairs[::2]), [n if j % 2 == 0 else 1 for j, n in enumerate(pairs)]))
    return out


def by_views(chain):
    """tinygrad 0.10: ShapeTracker, whose views become an index and a validity."""
    from tinygrad.codegen.uopgraph import load_store_indexing, sym
    from tinygrad.dtype import PtrDType, dtypes
    from tinygrad.ops import Ops, UOp, graph_rewrite
    from tinygrad.shape.shapetracker import ShapeTracker

    shapes = shapes_of(chain)
    st = ShapeTracker.from_shape(tuple(shapes[0]))
    for (op, arg), before in zip(chain["ops"], shapes):
        if op == "flip":
            st = st.stride(tuple(-1 if i in arg else 1 for i in range(len(before))))
        else:
            st = getattr(st, op)(tuple(tuple(p) if isinstance(p, list) else p for p in arg))
    st = st.simplify()
    ranges = [UOp.range(dtypes.int, 0, n, i) if n > 1 else UOp.const(dtypes.int, 0) for i, n in enumerate(shapes[-1])]
    index, valid = st.to_indexed_uops(ranges)
    buffer = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr() if hasattr(dtypes.float, "ptr") else PtrDType(dtypes.float), (), 0)
    always = valid.op is Ops.CONST and valid.arg is True
    load = UOp(Ops.LOAD, dtypes.float, (buffer.index(index, None if always else valid),))
    sink = graph_rewrite(UOp.sink(load), sym)
    sink = graph_rewrite(sink, sym + load_store_indexing)
    variables = {r: f"ridx{i}" for i, r in enumerate(ranges) if r.op is Ops.RANGE}
    at = [u for u in ordered(sink) if u.op is Ops.INDEX]
    if not at:
        return "0", "False"
    return text_of(at[0].src[1], variables), text_of(at[0].src[2], variables) if len(at[0].src) > 2 else "True"


def answer():
    """What a reference does: chains on standard input, answers on standard output."""
    fold = {"ranges": by_ranges, "views": by_views}[sys.argv[2]]
    sys.setrecursionlimit(100000)
    for line in sys.stdin:
        try:
            index, valid = fold(json.loads(line))
            print(json.dumps({"index": index, "valid": valid}), flush=True)
        except Exception as e:  # reported, and counted as no answer
            print(json.dumps({"error": f"{type(e).__name__}: {e}"[:300]}), flush=True)


def ask(command, lines, **env):
    done = subprocess.run(command, input="".join(lines), stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **env})
    return [json.loads(line) for line in done.stdout.splitlines()]


def price(chain, said):
    """The cost of an answer; None where there is none, or it is not right."""
    import chains
    import expression

    if "index" not in said:
        return None
    try:
        index, valid = expression.parse(said["index"]), expression.parse(said["valid"])
    except (ValueError, KeyError, AttributeError):  # an operation that is not counted
        return None
    element = chains.element_map(chain)
    lanes = np.indices(element.shape).reshape(element.ndim, -1) if element.ndim else np.zeros((0, 1), dtype=np.int64)
    held, at, element = expression.values(valid, lanes), expression.values(index, lanes), element.ravel()
    right = np.array_equal(held, element >= 0) and np.array_equal(at[held], element[held])
    return expression.cost(index, valid) if right else None


def recorded(chain, name):
    c = (chain.get("counts") or {}).get({"ranges": "tinygrad-a9069c1", "views": "tinygrad-a2a4ff3"}[name])
    return c and c["total_ops"] + 4 * (c["div"] + c["mod"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--elements", type=int, default=1500)
    parser.add_argument("--corpus")
    parser.add_argument("--views")
    parser.add_argument("--most", type=float, default=100)
    parser.add_argument("--list", action="store_true")
    a = parser.parse_args()
    if subprocess.run([sys.executable, "-c", "import tinygrad"], stderr=subprocess.DEVNULL).returncode:
        print("skip: this Python has no tinygrad (pip install tinygrad)")
        return 77
    import chains
    import families

    if a.corpus:
        drawn = [c for c in map(json.loads, open(a.corpus)) if 0 not in sum(shapes_of(c), [])]
    else:
        drawn = families.model_chains(a.seed, a.count - a.count // 2, a.elements) + chains.random_chains(a.seed, a.count // 2, a.elements)
    lines = [json.dumps({k: c[k] for k in ("name", "base", "ops")}) + "\n" for c in drawn]
    own = [sys.executable, "-B", os.path.abspath(__file__), "--answer"]
    said = {"viewfold": ask([os.path.join(a.build, "viewfold"), "index", "--json"], lines), "ranges": ask(own + ["ranges"], lines)}
    if a.views:
        said["views"] = ask(own + ["views"], lines, PYTHONPATH=a.views)
    ours = theirs = compared = failed = 0
    unknown, same = dict.fromkeys(said, 0), dict.fromkeys(said, 0)
    for k, chain in enumerate(drawn):
        costs = {name: price(chain, answers[k]) for name, answers in said.items()}
        for name, cost in costs.items():
            unknown[name] += cost is None
            same[name] += name != "viewfold" and cost is not None and cost == recorded(chain, name)
        mine, others = costs.pop("viewfold"), [c for c in costs.values() if c is not None]
        dearer = mine is None or (others and mine > min(others))
        failed += bool(dearer)
        if dearer or (a.list and None in costs.values()):
            print(f"{'dearer or wrong' if dearer else 'no answer'}: {json.dumps(chain['base'])} {json.dumps(chain['ops'])}")
            for name, answers in said.items():
                print(f"  {name:8} {mine if name == 'viewfold' else costs[name]}  {answers[k]}")
        if mine is not None and others:
            compared, ours, theirs = compared + 1, ours + mine, theirs + min(others)
    share = 100 * ours / max(1, theirs)
    if a.corpus:
        print("as recorded in the corpus: " + ", ".join(f"{name} {same[name]} of {len(drawn)}" for name in same if name != "viewfold"))
    print(f"cost {ours} of {theirs} = {share:.1f} % on {compared} chains; no answer or a wrong one: "
          + ", ".join(f"{name} {n}" for name, n in unknown.items()) + f", seed {a.seed}")
    failed += share > a.most or not compared
    print(f"tinygrad_chains: {len(drawn) - failed} passed, {failed} failed, seed {a.seed}")
    return failed != 0


if __name__ == "__main__":
    answer() if len(sys.argv) == 3 and sys.argv[1] == "--answer" else sys.exit(main())
