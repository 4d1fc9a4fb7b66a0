#!/usr/bin/python3
"""Is an index that `viewfold index` prints dearer than tinygrad's for the same chain?

  tinygrad_chains.py --seed S --count N [--corpus FOLDER] [--python FILE] [--views FOLDER] [--strict] [--list]

Draws chains, half of them of the families that models are made of (test/optimal/families.py), half of any views
(test/optimal/chains.py), and asks for their index and validity viewfold and two versions of tinygrad: one that
folds views into ranges (the one that --python has installed), and the last that had ShapeTracker (0.10, --views: where its
wheel was unpacked; left out where that is not given). Each is asked after its own simplification of the load, before it
becomes machine operations. What they say is evaluated on each lane against NumPy, and priced as the corpus prices it
(check.py in --corpus): operations of both expressions together, a division or remainder as five. The reference of a chain is the
cheaper of those that are right. --own prices the chains of the corpus instead, beside the counts that are recorded there.
Exit status 1 where viewfold is wrong, or with --strict dearer on one chain, or above --most percent in sum.
"""
import argparse
import importlib.util
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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
        held.append(root.src[0])
        root = root.src[1]
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


def price(check, chain, said):
    """(operations, divisions included as five; is it right?) of an answer; (None, False) where there is none."""
    import numpy as np

    if "error" in said or "index" not in said:
        return None, False
    index, valid = check.parse(said["index"]), check.tobool(check.parse(said["valid"]))
    counted = check.count(index, valid)
    element = check.apply_numpy(chain["base"], chain["ops"])
    for trunc in (False, True):  # C's division agrees where nothing is negative, and is what older versions mean
        held = np.broadcast_to(check.evaluate(valid, element.shape, trunc), element.shape)
        at = np.broadcast_to(check.evaluate(index, element.shape, trunc), element.shape)
        if np.array_equal(held, element >= 0) and np.array_equal(at[held], element[held]):
            return counted["total_ops"] + 4 * (counted["div"] + counted["mod"]), True
    return None, False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--elements", type=int, default=1500)
    parser.add_argument("--corpus", default=os.path.join(ROOT, "..", "shared", "corpus"))
    parser.add_argument("--command", default=os.path.join(ROOT, "build", "viewfold") + " index --json")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--views")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--most", type=float, default=1000)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--list", action="store_true")
    a = parser.parse_args()
    if not os.path.exists(os.path.join(a.corpus, "check.py")):
        return print(f"no check.py in {a.corpus}: skipped") or 77
    if subprocess.run([a.python, "-c", "import tinygrad"], stderr=subprocess.DEVNULL).returncode:
        return print(f"{a.python} has no tinygrad: skipped") or 77
    spec = importlib.util.spec_from_file_location("check", os.path.join(a.corpus, "check.py"))
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    sys.path.insert(0, os.path.join(ROOT, "test", "optimal"))
    import chains
    import families

    if a.own:
        drawn = [json.loads(line) for line in open(os.path.join(a.corpus, "views.jsonl"))]
    else:
        drawn = families.model_chains(a.seed, a.count - a.count // 2, a.elements) + chains.random_chains(a.seed, a.count // 2, a.elements)
    drawn = [c for c in drawn if 0 not in sum(shapes_of(c), [])]
    lines = [json.dumps({k: c[k] for k in ("name", "base", "ops")}) + "\n" for c in drawn]
    own = [a.python, os.path.abspath(__file__), "--answer"]
    said = {"viewfold": ask(shlex.split(a.command), lines), "ranges": ask(own + ["ranges"], lines, CPU="1")}
    if a.views:
        said["views"] = ask(own + ["views"], lines, PYTHONPATH=a.views, CLANG="1")
    ok, ours, theirs, compared, dearer, wrong, none = True, 0, 0, 0, 0, dict.fromkeys(said, 0), 0
    same = dict.fromkeys(said, 0)
    for k, chain in enumerate(drawn):
        costs = {name: price(check, chain, answers[k]) for name, answers in said.items()}
        for name, (_, right) in costs.items():
            wrong[name] += not right
            if not right and (a.list or name == "viewfold"):
                print(f"wrong: {name} {json.dumps(chain['base'])} {json.dumps(chain['ops'])}\n  {said[name][k]}")
        if a.own and chain.get("counts"):
            for name, recorded in (("ranges", "tinygrad-a9069c1"), ("views", "tinygrad-a2a4ff3")):
                c = chain["counts"].get(recorded)
                same[name] = same.get(name, 0) + bool(c and name in costs and costs[name][0] == c["total_ops"] + 4 * (c["div"] + c["mod"]))
        best = min((cost for name, (cost, right) in costs.items() if right and name != "viewfold"), default=None)
        mine = costs["viewfold"][0]
        ok &= costs["viewfold"][1]
        if best is None or mine is None:
            none += 1
            continue
        compared, ours, theirs, dearer = compared + 1, ours + mine, theirs + best, dearer + (mine > best)
        if mine > best:
            print(f"dearer: {mine} > {best}  {json.dumps(chain['base'])} {json.dumps(chain['ops'])}")
            for name in said:
                print(f"  {name:8} {costs[name][0]}  {said[name][k].get('index')}  valid: {said[name][k].get('valid')}")
    share = 100 * ours / max(1, theirs)
    if a.own:
        print("as recorded in the corpus: " + ", ".join(f"{name} {same[name]} of {len(drawn)}" for name in same if name != "viewfold"))
    print(f"tinygrad_chains: {len(drawn)} chains, {compared} compared, cost {ours} of {theirs} = {share:.1f} %, dearer on {dearer}, "
          f"not right: {', '.join(f'{n} {w}' for n, w in wrong.items())}, seed {a.seed}")
    return 0 if ok and compared and share <= a.most and not (a.strict and dearer) else 1


if __name__ == "__main__":
    answer() if len(sys.argv) == 3 and sys.argv[1] == "--answer" else sys.exit(main())
