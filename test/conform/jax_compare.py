#!/usr/bin/env python3
"""Random compositions of vmap, vjp and jvp over random programs, beside JAX on the CPU.

A program is a list of steps over a few arrays; both systems interpret it. A composition wraps it one to three
times; each wrapped function again takes and returns arrays. Results agree to 1e-10 in f64 and 1e-5 in f32, relative
to the largest element of each result.

    jax_compare.py [--library build/libviewfold.so] [--seed S] [--count N] [--case I] [--show]
"""
import argparse
import random
import sys

import numpy as np

try:
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import erf as jax_erf
except ImportError as missing:
    print(f"jax_compare: skipped: {missing}")
    sys.exit(77)

import viewfold_api

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

TOLERANCE = {"f64": 1e-10, "f32": 1e-5}
BATCH = 3


def text(value):
    return str(value).replace(" ", "").replace("(", "[").replace(")", "]").replace(",]", "]")


# Each row: name -> (what JAX computes, what viewfold records). Both take operands and attributes.
def unary(name, function):
    return lambda x, a: function(x[0]), lambda g, x, a: g.apply(name, x)


def binary(name, function):
    return lambda x, a: function(x[0], x[1]), lambda g, x, a: g.apply(name, x)


def with_attributes(name, function, attributes):
    return lambda x, a: function(x[0], **a), lambda g, x, a: g.apply(name, x, attributes(a))


def positive(g, x):
    return g.apply("add", [g.apply("mul", [x, x]), g.number(0.5)])


def reduction(name, function):
    return with_attributes(name, lambda x, axis: function(x, axis=axis, keepdims=True),
                           lambda a: f"axes=[{a['axis']}] keepdims=true")


UNARY = {
    "neg": unary("neg", jnp.negative), "abs": unary("abs", jnp.abs), "exp": unary("exp", jnp.exp),
    "sin": unary("sin", jnp.sin), "cos": unary("cos", jnp.cos), "tanh": unary("tanh", jnp.tanh),
    "erf": unary("erf", jax_erf), "sigmoid": unary("sigmoid", jax.nn.sigmoid), "relu": unary("relu", jax.nn.relu),
    "sqrt": (lambda x, a: jnp.sqrt(x[0] * x[0] + 0.5), lambda g, x, a: g.apply("sqrt", [positive(g, x[0])])),
    "rsqrt": (lambda x, a: jax.lax.rsqrt(x[0] * x[0] + 0.5), lambda g, x, a: g.apply("rsqrt", [positive(g, x[0])])),
    "log": (lambda x, a: jnp.log(x[0] * x[0] + 0.5), lambda g, x, a: g.apply("log", [positive(g, x[0])])),
}
BINARY = {
    "add": binary("add", jnp.add), "sub": binary("sub", jnp.subtract), "mul": binary("mul", jnp.multiply),
    "max": binary("max", jnp.maximum), "min": binary("min", jnp.minimum),
    "div": (lambda x, a: x[0] / (x[1] * x[1] + 0.5), lambda g, x, a: g.apply("div", [x[0], positive(g, x[1])])),
    "where": (lambda x, a: jnp.where(x[0] < x[1], x[0] * 2.0, x[1]),
              lambda g, x, a: g.apply("where", [g.apply("lt", x), g.apply("mul", [x[0], g.number(2.0)]), x[1]])),
}
REDUCE = {
    "sum": reduction("sum", jnp.sum), "mean": reduction("mean", jnp.mean), "max": reduction("max", jnp.max),
    "min": reduction("min", jnp.min), "prod": reduction("prod", jnp.prod),
    "softmax": with_attributes("softmax", lambda x, axis: jax.nn.softmax(x, axis=axis), lambda a: f"axis={a['axis']}"),
    "logsumexp": reduction("logsumexp", jax.scipy.special.logsumexp),
    "var": reduction("var", jnp.var),
    "cumsum": with_attributes("cumsum", lambda x, axis: jnp.cumsum(x, axis=axis), lambda a: f"axis={a['axis']}"),
    "cumprod": with_attributes("cumprod", lambda x, axis: jnp.cumprod(x, axis=axis), lambda a: f"axis={a['axis']}"),
    "sort": with_attributes("sort", lambda x, axis: jnp.sort(x, axis=axis), lambda a: f"axis={a['axis']}"),
}
VIEW = {
    "permute": with_attributes("permute", lambda x, order: jnp.transpose(x, order), lambda a: f"order={text(a['order'])}"),
    "reshape": with_attributes("reshape", lambda x, shape: jnp.reshape(x, shape), lambda a: f"shape={text(a['shape'])}"),
    "flip": with_attributes("flip", lambda x, axis: jnp.flip(x, axis), lambda a: f"axes=[{a['axis']}]"),
    "pad": with_attributes("pad", lambda x, pads: jnp.pad(x, pads), lambda a: f"pads={text(a['pads'])}"),
    "shrink": with_attributes("shrink", lambda x, bounds: x[tuple(slice(lo, hi) for lo, hi in bounds)],
                              lambda a: f"bounds={text(a['bounds'])}"),
}
JOIN = {
    "concat": (lambda x, a: jnp.concatenate(x, axis=a["axis"]), lambda g, x, a: g.apply("concat", x, f"axis={a['axis']}")),
    "stack": (lambda x, a: jnp.stack(x, axis=a["axis"]), lambda g, x, a: g.apply("stack", x, f"axis={a['axis']}")),
    "matmul": (lambda x, a: jnp.matmul(x[0], x[1]), lambda g, x, a: g.apply("matmul", x)),
}
GATHER = {
    "gather": (lambda x, a: jnp.take(x[0], np.array(a["indices"]), axis=a["axis"]),
               lambda g, x, a: g.apply("gather", [x[0], g.data(np.array(a["indices"], np.int64), "i64")],
                                       f"axis={a['axis']}")),
}
TABLE = {**{f"u_{k}": v for k, v in UNARY.items()}, **{f"b_{k}": v for k, v in BINARY.items()},
         **{f"r_{k}": v for k, v in REDUCE.items()}, **{f"v_{k}": v for k, v in VIEW.items()},
         **{f"j_{k}": v for k, v in JOIN.items()}, **{f"g_{k}": v for k, v in GATHER.items()}}


class Program:
    """Steps (row of TABLE, operand numbers, attributes) over `inputs`, and the numbers of the results."""

    def __init__(self, rng):
        shapes = [(3,), (2, 3), (3, 2), (2, 3, 2), ()]
        self.inputs = [rng.choice(shapes) for _ in range(rng.randint(1, 3))]
        self.steps, known = [], list(self.inputs)
        while len(self.steps) < rng.randint(4, 10):
            step = self.draw(rng, known)
            if step:
                self.steps.append(step[:3])
                known.append(step[3])
        used = {i for _, operands, _ in self.steps for i in operands}
        loose = [i for i in range(len(self.inputs), len(known)) if i not in used]
        self.results = sorted(rng.sample(loose, min(2, len(loose))))

    @staticmethod
    def draw(rng, known):
        i = rng.choice([len(known) - 1, rng.randrange(len(known))])
        shape, rank = known[i], len(known[i])
        kind = rng.choice("uuubbbrrvvvjjg")
        axis = rng.randrange(rank) if rank else 0
        if kind == "u":
            return f"u_{rng.choice(list(UNARY))}", [i], {}, shape
        if kind == "b":
            fits = [k for k, s in enumerate(known) if broadcasts(shape, s)]
            k = rng.choice(fits)
            return f"b_{rng.choice(list(BINARY))}", [i, k], {}, np.broadcast_shapes(shape, known[k])
        if rank == 0:
            return None
        if kind == "r":
            name = rng.choice(list(REDUCE))
            kept = name in ("softmax", "cumsum", "cumprod", "sort")
            return f"r_{name}", [i], {"axis": axis}, shape if kept else shape[:axis] + (1,) + shape[axis + 1:]
        if kind == "g":
            indices = [rng.randrange(shape[axis]) for _ in range(rng.randint(1, 4))]
            return "g_gather", [i], {"axis": axis, "indices": indices}, shape[:axis] + (len(indices),) + shape[axis + 1:]
        if kind == "j":
            if rng.random() < 0.4:
                fits = [k for k, s in enumerate(known) if rank == 2 and len(s) == 2 and s[0] == shape[1]]
                if not fits:
                    return None
                k = rng.choice(fits)
                return "j_matmul", [i, k], {}, (shape[0], known[k][1])
            same = [k for k, s in enumerate(known) if s == shape]
            k = rng.choice(same)
            if rng.random() < 0.5 and rank < 3:
                return "j_stack", [i, k], {"axis": axis}, shape[:axis] + (2,) + shape[axis:]
            return "j_concat", [i, k], {"axis": axis}, shape[:axis] + (2 * shape[axis],) + shape[axis + 1:]
        name = rng.choice(list(VIEW))
        if name == "permute":
            order = rng.sample(range(rank), rank)
            return "v_permute", [i], {"order": order}, tuple(shape[k] for k in order)
        if name == "reshape":
            count = int(np.prod(shape))
            made = rng.choice([(count,), (1, count), (count, 1)] + [(d, count // d) for d in (2, 3) if count % d == 0])
            return "v_reshape", [i], {"shape": made}, made
        if name == "flip":
            return "v_flip", [i], {"axis": axis}, shape
        if name == "pad":
            pads = [(rng.randint(0, 1), rng.randint(0, 1)) for _ in shape]
            return "v_pad", [i], {"pads": pads}, tuple(s + lo + hi for s, (lo, hi) in zip(shape, pads))
        bounds = [sorted(rng.sample(range(s + 1), 2)) for s in shape]
        return "v_shrink", [i], {"bounds": [tuple(b) for b in bounds]}, tuple(hi - lo for lo, hi in bounds)

    def jax(self, *inputs):
        known = list(inputs)
        for name, operands, attributes in self.steps:
            known.append(TABLE[name][0]([known[k] for k in operands], attributes))
        return [known[k] for k in self.results]

    def viewfold(self, graph, inputs):
        known = list(inputs)
        for name, operands, attributes in self.steps:
            known.append(TABLE[name][1](graph, [known[k] for k in operands], attributes))
        return [known[k] for k in self.results]


def broadcasts(*shapes):
    try:
        return len(np.broadcast_shapes(*shapes)) <= 5
    except ValueError:
        return False



class Function:
    """The same function in both systems, and the shapes that it takes and gives."""

    def __init__(self, jax_function, viewfold_function, shapes, name):
        self.jax, self.viewfold, self.shapes, self.name = jax_function, viewfold_function, list(shapes), name
        specs = [jax.ShapeDtypeStruct(s, jnp.float64) for s in shapes]
        self.results = [tuple(r.shape) for r in jax.eval_shape(lambda *x: self.jax(*x), *specs)]


def jvp_of(f, rng):
    n = len(f.shapes)

    def in_jax(*x):
        y, t = jax.jvp(lambda *a: tuple(f.jax(*a)), tuple(x[:n]), tuple(x[n:]))
        return list(y) + list(t)

    def in_viewfold(g, x):
        y = f.viewfold(g, x[:n])
        return list(y) + g.jvp(y, x[:n], x[n:])

    return Function(in_jax, in_viewfold, f.shapes * 2, f"jvp({f.name})")


def vjp_of(f, rng):
    n = len(f.shapes)

    def in_jax(*x):
        _, pull = jax.vjp(lambda *a: tuple(f.jax(*a)), *x[:n])
        return list(pull(tuple(x[n:])))

    def in_viewfold(g, x):
        y = f.viewfold(g, x[:n])
        return g.vjp(y, x[n:], x[:n])

    return Function(in_jax, in_viewfold, f.shapes + f.results, f"vjp({f.name})")


def vmap_of(f, rng):
    mapped = [rng.randint(0, len(s)) if rng.random() < 0.7 else None for s in f.shapes]
    if all(m is None for m in mapped):
        k = rng.randrange(len(mapped))
        mapped[k] = rng.randint(0, len(f.shapes[k]))
    out = [rng.randint(0, len(s)) for s in f.results]
    shapes = [s if m is None else s[:m] + (BATCH,) + s[m:] for s, m in zip(f.shapes, mapped)]

    def in_jax(*x):
        return jax.vmap(lambda *a: tuple(f.jax(*a)), in_axes=tuple(mapped), out_axes=tuple(out))(*x)

    def in_viewfold(g, x):
        return g.vmap(lambda a: f.viewfold(g, a), x, mapped, out)

    return Function(in_jax, in_viewfold, shapes, f"vmap({f.name},in={mapped},out={out})")


def composition(rng):
    program = Program(rng)
    while not program.results:
        program = Program(rng)
    f = Function(lambda *x: program.jax(*x), program.viewfold, program.inputs, "f")
    for _ in range(rng.randint(1, 3)):
        f = rng.choice([jvp_of, vjp_of, vmap_of])(f, rng)
    return program, f


def differs(mine, theirs, dtype):
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    if mine.shape != theirs.shape:
        return f"shape {mine.shape} against {theirs.shape}"
    if not np.all(np.isfinite(theirs) == np.isfinite(mine)):
        return "not finite in other places"
    worst = float(np.max(np.abs(np.where(np.isfinite(theirs), mine - theirs, 0)), initial=0.0)) / scale
    return f"{worst:.2e}" if worst > TOLERANCE[dtype] else None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--library", default="build/libviewfold.so")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--case", type=int)
    options.add_argument("--show", action="store_true")
    o = options.parse_args()
    context, failed, done, results = viewfold_api.Context(o.library), 0, 0, 0
    for case in range(o.count) if o.case is None else [o.case]:
        rng = random.Random(f"{o.seed}/{case}")
        program, f = composition(rng)
        values = np.random.default_rng([o.seed, case])
        inputs = [values.uniform(-1, 1, s) for s in f.shapes]
        if o.show:
            print(case, f.name, program.inputs, *program.steps, program.results, sep="\n  ")
        for dtype, real in (("f64", np.float64), ("f32", np.float32)):
            arrays = [np.asarray(x, real) for x in inputs]
            with np.errstate(all="ignore"):
                theirs = [np.asarray(y) for y in f.jax(*[jnp.asarray(a) for a in arrays])]
            try:
                mine = context.run(f.viewfold, arrays, dtype)
                wrong = [w for w in (differs(m, t, dtype) for m, t in zip(mine, theirs)) if w]
            except viewfold_api.Failed as failure:
                wrong = [str(failure)]
            done, results = done + 1, results + len(theirs)
            if wrong:
                failed += 1
                print(f"case {case} {dtype} {f.name}: {'; '.join(wrong)}")
    print(f"jax_compare: {o.count if o.case is None else 1} compositions, {done} runs, {results} results, "
          f"{failed} failed, seed {o.seed}, jax {jax.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
