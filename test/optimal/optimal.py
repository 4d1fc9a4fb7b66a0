#!/usr/bin/python3
"""Are there cheaper expressions than those that `viewfold index` prints?

  optimal.py --seed S --count N [--corpus FILE] [--command 'build/viewfold index --json'] [--list]

For each chain of the corpus and N random ones the index and the validity that are printed are compared with the cheapest
that an exhaustive search finds (search.h), alone and both together. The search shares nothing with
folding: it knows the element map, which NumPy gives, and the constants at hand. Costs count operations, each distinct
subexpression once, a division or remainder as five. An index or a validity that is cheaper alone, but with which both
together cost more than what is printed, is counted apart: of two such aims printing can meet one, and it is the sum that
is computed. Exit status 1 where fewer than the asked share of the searches that finished (--least, in percent) find
nothing cheaper.
"""
import argparse
import collections
import json
import shlex
import subprocess
import sys
import time

import numpy as np

import chains
import expression
import search


def lanes_of(shape):
    return np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.int64)


def constants_of(chain, shape, *roots):
    """What folding can have met: sizes, strides, those numbers that are printed, and sums and differences of these by 1."""
    known = {1, 2} | set(shape) | expression.constants_of(*roots)
    for sizes in [chain["base"]] + [arg for op, arg in chain["ops"] if op == "reshape"]:
        stride = 1
        for size in reversed(sizes):
            known |= {size, stride}
            stride *= size
    known |= {abs(s) for op, arg in chain["ops"] if op == "stride" for s in arg}
    return {int(k) for k in known if 0 < k < 4096}


def judge(find, chain, index, valid):
    """{kind: (printed cost, cheapest cost, cheapest text, finished, cost of both with it)} for index, valid and both"""
    element = chains.element_map(chain).ravel()
    shape = chains.element_map(chain).shape
    at = lanes_of(shape)
    axes = [i for i, size in enumerate(shape) if size > 1]
    held = element >= 0
    constants = constants_of(chain, shape, index, valid)
    price = {"index": expression.cost(index), "valid": expression.cost(valid), "both": expression.cost(index, valid)}
    if not held.any():
        return {k: (p, 0 if p == 0 else p, "", True, p) for k, p in price.items()}
    out, found = {}, {}
    for kind, node, result in (
        ("index", index, find.index(at[:, held], axes, element[held], constants, price["index"])),
        ("valid", valid, find.condition(at, axes, held, constants, price["valid"])),
    ):
        found[kind] = result[0] or node
        together = expression.cost(*[found[kind] if n is node else n for n in (index, valid)])
        out[kind] = (price[kind], expression.cost(found[kind]), expression.show(found[kind]), result[1], together)
    best = (price["both"], index, valid)
    finished = out["index"][3] and out["valid"][3]
    for i in {index, found["index"]}:
        for v in {valid, found["valid"]}:
            best = min(best, (expression.cost(i, v), i, v), key=lambda b: b[0])
        shared = [n for n in expression.nodes_of(i) if n[0] in ("add", "mul", "div", "mod")]
        room = best[0] - expression.cost(i)
        if not held.all() and room > 1:
            v, complete = find.condition(at, axes, held, constants, room, free=tuple(shared))
            finished &= complete
            if v:
                best = min(best, (expression.cost(i, v), i, v), key=lambda b: b[0])
    out["both"] = (price["both"], best[0], expression.show(best[1]) + "  valid: " + expression.show(best[2]), finished, best[0])
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--corpus")
    parser.add_argument("--command", default="build/viewfold index --json")
    parser.add_argument("--compiled", default="build/optimal/libsearch.so")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--elements", type=int, default=1500)
    a = parser.parse_args()
    tried = [json.loads(line) for line in open(a.corpus)] if a.corpus else []
    tried += chains.random_chains(a.seed, a.count, a.elements)
    lines = "".join(json.dumps({k: c[k] for k in ("name", "base", "ops")}) + "\n" for c in tried)
    answers = subprocess.run(shlex.split(a.command), input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    start, find = time.time(), search.Searches(a.compiled)
    counts = {k: collections.Counter() for k in ("index", "valid", "both")}
    wrong, seen = 0, {}
    for chain, line in zip(tried, answers):
        answer = json.loads(line)
        element = chains.element_map(chain)
        if element.size == 0 or element.size > a.elements:
            continue
        index, valid = expression.parse(answer["index"]), expression.parse(answer["valid"])
        key = (answer["index"], answer["valid"], element.shape)
        if key not in seen:
            at = lanes_of(element.shape)
            held = element.ravel() >= 0
            right = np.array_equal(expression.values(valid, at), held)
            right = right and np.array_equal(expression.values(index, at)[held], element.ravel()[held])
            if not right:
                wrong += 1
                print(f"wrong: {json.dumps(chain)}\n  {line}")
                continue
            seen[key] = judge(find, chain, index, valid)
        price = seen[key]["both"][0]
        for kind, (printed, least, text, finished, together) in seen[key].items():
            c = counts[kind]
            c["chains"] += 1
            c["finished"] += finished
            c["printed"] += printed if finished else 0
            c["least"] += least if finished else 0
            c["dearer"] += finished and least < printed and together <= price
            c["apart"] += finished and least < printed and together > price
            c["found"] += not finished and least < printed
            if a.list and least < printed:
                note = " (not finished)" if not finished else f" (both {price} < {together})" if together > price else ""
                print(f"{kind} {printed} > {least}{note}  {json.dumps(chain['base'])} {json.dumps(chain['ops'])}")
                print(f"    {answer['index']}  valid: {answer['valid']}\n    {text}")
    ok = wrong == 0
    for kind, c in counts.items():
        share = 100 * (1 - c["dearer"] / max(1, c["finished"]))
        ok &= share >= a.least
        print(f"{kind}: {c['chains']} chains, {c['finished']} searches finished, {c['finished'] - c['dearer']} find nothing cheaper ({share:.2f} %); "
              f"cost {c['printed']}, cheapest {c['least']}; {c['apart']} are cheaper alone, dearer together; of the others {c['found']} have a cheaper form")
    print(f"optimal: {len(tried)} chains, {wrong} wrong, seed {a.seed}, {time.time() - start:.0f} s")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
