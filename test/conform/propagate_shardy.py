"""Propagated specs against Shardy's: of each value of models that both can say, and the bytes that a device receives against
those of XLA's program.

    propagate_shardy.py --build build [--show] [--count N] [--seed N]
                                                   compares with the list, or about N models of it; needs no JAX
    propagate_shardy.py --build build --update     writes the list again, by JAX on 8 virtual devices (`pip install jax`)"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from arguments import arguments
from reshard_xla import received
from shardy_text import Translator, Unknown

LIST = os.path.join(os.path.dirname(__file__), "propagate_shardy.list")


def models(jax, jnp, P):
    """(name, mesh, function, [(shape, dtype, spec or None)])"""
    f32, i32 = jnp.float32, jnp.int32

    def mlp(h, w, v):
        return jax.nn.relu(h @ w) @ v

    def mlp_bias(h, w, b, v, c):
        return jnp.tanh(h @ w + b) @ v + c

    def train(h, t, w, b, v):
        def loss(p):
            return jnp.mean((jnp.tanh(h @ p[0] + p[1]) @ p[2] - t) ** 2)
        g = jax.grad(loss)((w, b, v))
        return tuple(p - 0.1 * d for p, d in zip((w, b, v), g))

    def norm(x, s, b):
        m = x.mean(-1, keepdims=True)
        d = x - m
        return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * s + b

    def rms(x, s):
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s

    def softmax(x):
        e = jnp.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def attention(x, q, k, v, o):
        heads = [jnp.einsum("bsd,dhe->bshe", x, w) for w in (q, k, v)]
        weights = softmax(jnp.einsum("bqhe,bkhe->bhqk", heads[0], heads[1]))
        return jnp.einsum("bqhe,hed->bqd", jnp.einsum("bhqk,bkhe->bqhe", weights, heads[2]), o)

    def attention_flat(x, q, k, v, o):
        def split(w):
            y = x @ w
            return y.reshape(y.shape[0], y.shape[1], 8, -1).transpose(0, 2, 1, 3)
        a, b, c = split(q), split(k), split(v)
        y = softmax(a @ b.transpose(0, 1, 3, 2)) @ c
        return y.transpose(0, 2, 1, 3).reshape(x.shape) @ o

    def block(x, s, b, q, k, v, o, t, c, w, u):
        x = x + attention(norm(x, s, b), q, k, v, o)
        return x + jax.nn.relu(norm(x, t, c) @ w) @ u

    def conv(x, w, v):
        def step(a, b):
            return jax.lax.conv_general_dilated(a, b, (1, 1), ((1, 1), (1, 1)))
        return step(jax.nn.relu(step(x, w)), v)

    def conv_head(x, w, d):
        y = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (2, 2), ((1, 1), (1, 1))))
        return y.mean((2, 3)) @ d

    def embed(i, e, w):
        return jnp.tanh(e.at[i].get(mode="clip")) @ w

    def block_train(x, s, b, q, k, v, o, t, c, w, u):
        def loss(p):
            return jnp.mean(block(x, *p) ** 2)
        p = (s, b, q, k, v, o, t, c, w, u)
        return tuple(a - 0.1 * d for a, d in zip(p, jax.grad(loss)(p)))

    def moves(x, w):
        y = jnp.flip(jnp.pad(x, ((2, 2), (0, 0))), 0)[2:18]
        return jnp.concatenate([y, x], 1) @ w

    def gated(x, a, b, c):
        return (jax.nn.sigmoid(x @ a) * (x @ b)) @ c

    def two_products(a, b, c, d):
        return a @ b + c @ d

    def rotary(x, q, k, c, s):
        def turn(y):
            half = y.shape[-1] // 2
            other = jnp.concatenate([-y[..., half:], y[..., :half]], -1)
            return y * c[None, :, None, :] + other * s[None, :, None, :]
        a, b = (turn(jnp.einsum("bsd,dhe->bshe", x, w)) for w in (q, k))
        scores = jnp.einsum("bqhe,bkhe->bhqk", a, b)
        causal = jnp.arange(x.shape[1])[:, None] >= jnp.arange(x.shape[1])[None, :]
        return softmax(jnp.where(causal, scores, -1e9))

    def grouped(x, q, k, v):
        a = (x @ q).reshape(*x.shape[:2], 4, 2, 8)
        b, c = ((x @ w).reshape(*x.shape[:2], 4, 8) for w in (k, v))
        weights = softmax(jnp.einsum("bqgre,bkge->bgrqk", a, b))
        return jnp.einsum("bgrqk,bkge->bqgre", weights, c).reshape(*x.shape[:2], 64)

    def cross_entropy(x, w, t):
        y = x @ w
        y = y - y.max(-1, keepdims=True)
        y = y - jnp.log(jnp.exp(y).sum(-1, keepdims=True))
        hit = (t[:, None] == jnp.arange(w.shape[1])[None, :]).astype(f32)
        return -(hit * y).sum() / x.shape[0]

    def cross_entropy_train(x, w, t):
        return w - 0.1 * jax.grad(lambda p: cross_entropy(x, p, t))(w)

    def group_norm(x, s):
        y = x.reshape(x.shape[0], 4, 2, *x.shape[2:])
        d = y - y.mean((2, 3, 4), keepdims=True)
        y = d * jax.lax.rsqrt((d * d).mean((2, 3, 4), keepdims=True) + 1e-5)
        return y.reshape(x.shape) * s[None, :, None, None]

    def patches(x, w):
        n, c, r, q = x.shape
        y = x.reshape(n, c, r // 4, 4, q // 4, 4).transpose(0, 2, 4, 1, 3, 5)
        return y.reshape(n, (r // 4) * (q // 4), c * 16) @ w

    def dilated(x, w):
        return jnp.tanh(jax.lax.conv_general_dilated(x, w, (1, 1), ((2, 2), (2, 2)), rhs_dilation=(2, 2)))

    def sliced(x, w):
        return jax.nn.relu(x[:, ::2] @ w)[1:9] + 1

    def normed_train(x, s, w):
        return tuple(p - 0.1 * d for p, d in zip((s, w), jax.grad(lambda p: jnp.mean((rms(x, p[0]) @ p[1]) ** 2))((s, w))))

    def adam(x, t, a, b, c, m, v):
        def loss(p):
            return jnp.mean(((jax.nn.sigmoid(x @ p[0]) * (x @ p[0]) * (x @ p[1])) @ p[2] - t) ** 2)
        g = jax.grad(loss)((a, b, c))
        m, v = 0.9 * m + 0.1 * g[0], 0.99 * v + 0.01 * g[0] * g[0]
        return a - 0.1 * m / (jnp.sqrt(v) + 1e-6), b - 0.1 * g[1], c - 0.1 * g[2], m, v

    def experts(x, g, a, b):
        return jnp.einsum("te,etd->td", softmax(x @ g), jnp.einsum("etf,efd->etd", jnp.tanh(jnp.einsum("td,edf->etf", x, a)), b))

    def experts_train(x, *p):
        return tuple(w - 0.1 * d for w, d in zip(p, jax.grad(lambda p: jnp.mean(experts(x, *p) ** 2))(p)))

    def distances(a, b):
        return (a * a).sum(-1)[:, None] + (b * b).sum(-1)[None, :] - 2 * a @ b.T

    def decode(q, k, v):
        return jnp.einsum("bhk,bhke->bhe", softmax(jnp.einsum("bhe,bhke->bhk", q, k)), v)

    def linear_attention(x, q, k, v):
        a, b = (jax.nn.relu(jnp.einsum("bsd,dhe->bshe", x, w)) for w in (q, k))
        c = jnp.einsum("bhef,bshe->bshf", jnp.einsum("bshe,bshf->bhef", b, jnp.einsum("bsd,dhe->bshe", x, v)), a)
        return c / (jnp.einsum("bshe,bhe->bsh", a, b.sum(1))[..., None] + 1e-3)

    h, w, v = (64, 32), (32, 128), (128, 32)
    for name, specs in ("data", [None] * 5), ("model", (P(None, "y"), P(None, "y"), P("y"), P(None, "y"), P(None, "y"))):
        yield "adam_" + name, adam, [(s, f32, p) for s, p in zip((h, h, w, w, v, w, w), (P("x"), P("x"), *specs))]
    for name, specs in ("data", [None] * 3), ("experts", (None, P("y"), P("y"))), ("model", (None, P(None, None, "y"), P(None, "y"))):
        for function in experts, experts_train:
            yield f"{function.__name__}_{name}", function, \
                [(s, f32, p) for s, p in zip((h, (32, 8), (8, 32, 64), (8, 64, 32)), (P("x"), *specs))]
    for name, specs in ("rows", (P("x"), P("y"))), ("features", (P(None, "y"), P(None, "y"))):
        yield "distances_" + name, distances, [(h, f32, p) for p in specs]
    cache = (4, 8, 16, 4)
    for name, p, q in ("heads", P("x", "y"), P("x", "y")), ("keys", P("x"), P("x", None, "y")):
        yield "decode_" + name, decode, [((4, 8, 4), f32, p), (cache, f32, q), (cache, f32, q)]
    for name, p, q in ("batch", P("x"), None), ("heads", P("x"), P(None, "y")), ("positions", P(None, "y"), None):
        yield "linear_attention_" + name, linear_attention, [((4, 16, 32), f32, p)] + [((32, 8, 4), f32, q)] * 3
    for name, specs in ("model", (P("x"), P(None, "y"), P(None, "y"), P("y"))), ("one", (P("x"), P(None, "y"), None, None)), \
                       ("parameters", (P("x"), P("y", None), P("y", None), None)):
        yield "gated_" + name, gated, [(s, f32, p) for s, p in zip((h, w, w, v), specs)]
    for name, specs in ("both", (P(None, "x"), P("x"), P(None, "x"), P("x"))), ("apart", (P(None, "x"), P("x"), P(None, "y"), P("y"))), \
                       ("one", (P(None, "x"), P("x"), P("y"), None)):
        yield "two_products_" + name, two_products, [(s, f32, p) for s, p in zip((h, w, h, w), specs)]
    for name, specs in ("heads", (P("x"), P(None, "y"), P(None, "y"), None, None)), ("batch", (P("x"), None, None, None, None)), \
                       ("positions", (P("x"), None, None, P("y"), P("y"))):
        yield "rotary_" + name, rotary, [(s, f32, p) for s, p in zip(((4, 16, 32), (32, 8, 4), (32, 8, 4), (16, 4), (16, 4)), specs)]
    for name, specs in ("heads", (P("x"), P(None, "y"), P(None, "y"), P(None, "y"))), ("batch", (P("x", "y"), None, None, None)):
        yield "grouped_" + name, grouped, [(s, f32, p) for s, p in zip(((4, 16, 32), (32, 64), (32, 32), (32, 32)), specs)]
    for name, specs in ("data", (P("x"), None, P("x"))), ("classes", (P("x"), P(None, "y"), P("x"))), ("features", (P(None, "y"), P("y"), None)):
        for function in cross_entropy, cross_entropy_train:
            yield f"{function.__name__}_{name}", function, [(s, t, p) for s, t, p in zip((h, w, (64,)), (f32, f32, i32), specs)]
    for name, p in ("batch", P("x")), ("channels", P("x", "y")), ("rows", P("x", None, "y")):
        yield "group_norm_" + name, group_norm, [((8, 8, 16, 16), f32, p), ((8,), f32, None)]
    for name, p in ("batch", P("x")), ("rows", P(None, None, "y")), ("channels", P(None, "x")):
        yield "patches_" + name, patches, [((8, 4, 16, 16), f32, p), ((64, 32), f32, None)]
        yield "dilated_" + name, dilated, [((8, 4, 16, 16), f32, p), ((8, 4, 3, 3), f32, None)]
    yield "sliced", sliced, [((64, 64), f32, P("x", None)), ((32, 32), f32, P(None, "y"))]
    yield "sliced_features", sliced, [((64, 64), f32, P(None, "y")), ((32, 32), f32, None)]
    for name, specs in ("batch", (P("x"), None, None)), ("features", (P(None, None, "y"), None, None)), ("model", (P("x"), None, P(None, "y"))):
        yield "normed_train_" + name, normed_train, [(s, f32, p) for s, p in zip(((4, 16, 32), (32,), (32, 64)), specs)]
    yield "mlp", mlp, [(h, f32, P("x")), (w, f32, P(None, "y")), (v, f32, None)]
    yield "mlp_data", mlp, [(h, f32, P("x")), (w, f32, None), (v, f32, None)]
    yield "mlp_backwards", mlp, [(h, f32, None), (w, f32, None), (v, f32, P(None, "y"))]
    yield "mlp_rows", mlp, [(h, f32, P("x", "y")), (w, f32, None), (v, f32, P("y", None))]
    yield "mlp_bias", mlp_bias, [(h, f32, P("x")), (w, f32, P(None, "y")), ((128,), f32, None), (v, f32, None), ((32,), f32, None)]
    for name, specs in (("data", (P("x"), P("x"), None, None, None)), ("model", (P(), P(), P(None, "y"), P("y"), P("y", None))),
                        ("both", (P("x"), P("x"), P(None, "y"), P("y"), P("y", None))),
                        ("parameters", (P("x"), P("x"), P("x", None), P("x"), P("x", None)))):
        yield "train_" + name, train, [(s, f32, p) for s, p in zip((h, h, w, (128,), v), specs)]
    x = (4, 16, 32)
    for name, p in ("batch", P("x")), ("sequence", P("x", "y")), ("features", P(None, None, "y")):
        yield "norm_" + name, norm, [(x, f32, p), ((32,), f32, None), ((32,), f32, None)]
        yield "rms_" + name, rms, [(x, f32, p), ((32,), f32, None)]
        yield "softmax_" + name, softmax, [(x, f32, p)]
    heads, out = (32, 8, 4), (8, 4, 32)
    for name, specs in (("batch", (P("x"), None, None, None, None)), ("heads", (P("x"), P(None, "y"), P(None, "y"), P(None, "y"), P("y"))),
                        ("only_q", (P("x"), P(None, "y"), None, None, None)), ("keys", (P("x", "y"), None, None, None, None))):
        yield "attention_" + name, attention, [(s, f32, p) for s, p in zip((x, heads, heads, heads, out), specs)]
    flat = (32, 32)
    for name, specs in (("batch", (P("x"),) + (None,) * 4), ("heads", (P("x"),) + (P(None, "y"),) * 3 + (P("y", None),))):
        yield "attention_flat_" + name, attention_flat, [(s, f32, p) for s, p in zip((x,) + (flat,) * 4, specs)]
    sizes = (x, (32,), (32,), heads, heads, heads, out, (32,), (32,), (32, 128), (128, 32))
    tensor = (P("x"), None, None) + (P(None, "y"),) * 3 + (P("y"), None, None, P(None, "y"), P("y", None))
    for name, specs in ("data", (P("x"),) + (None,) * 10), ("tensor", tensor):
        yield "block_" + name, block, [(s, f32, p) for s, p in zip(sizes, specs)]
        yield "block_train_" + name, block_train, [(s, f32, p) for s, p in zip(sizes, specs)]
    image, kernel, second = (8, 4, 16, 16), (8, 4, 3, 3), (8, 8, 3, 3)
    for name, p in ("batch", P("x")), ("rows", P(None, None, "y")), ("channels", P(None, "x")), ("both", P("x", None, "y")):
        yield "conv_" + name, conv, [(image, f32, p), (kernel, f32, None), (second, f32, None)]
        yield "conv_head_" + name, conv_head, [(image, f32, p), (kernel, f32, None), ((8, 32), f32, None)]
    yield "conv_out", conv, [(image, f32, None), (kernel, f32, P("y")), (second, f32, None)]
    for name, specs in ("batch", (P("x"), None, None)), ("features", (P("x"), P(None, "y"), None)), ("rows", (P("x"), P("y"), None)):
        yield "embed_" + name, embed, [((8, 16), i32, specs[0]), ((64, 32), f32, specs[1]), ((32, 32), f32, specs[2])]
    yield "moves", moves, [((16, 32), f32, P("x")), ((64, 32), f32, P(None, "y"))]


def update():
    dump = tempfile.mkdtemp()
    os.environ["XLA_FLAGS"] = ("--xla_force_host_platform_device_count=8 --xla_dump_to=" + dump +
                               " --xla_dump_hlo_pipeline_re=.* --xla_dump_hlo_pass_re=.*")
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    rows = []
    for name, function, args in models(jax, jnp, PartitionSpec):
        def named(*x, function=function):
            return function(*x)
        named.__name__ = "g_" + name
        given = [jax.ShapeDtypeStruct(s, t, sharding=NamedSharding(mesh, PartitionSpec(*p, *(None,) * (len(s) - len(p)))))
                 if p is not None else jax.ShapeDtypeStruct(s, t) for s, t, p in args]
        compiled = jax.jit(named).lower(*given).compile()
        folder = [os.path.join(at, f) for at, _, files in os.walk(dump) for f in files if at.endswith(f"g_{name}")]
        read = {os.path.basename(f)[:2]: open(f).read() for f in folder if "shardy" in f}
        try:
            translator = Translator(read["01"], read["02"])
            text, specs = translator.translate()
        except Unknown as unknown:
            print(f"{name}: not translated: {unknown}")
            continue
        rows.append({"name": name, "text": text, "specs": specs, "results": translator.results, "bytes": received(compiled.as_text(), 8)})
    with open(LIST, "w") as out:
        print(f"# Specs that Shardy of JAX {jax.__version__} gives to each value of a graph, and bytes that a device receives in\n"
              "# XLA's program of it for 8 virtual devices. Written by propagate_shardy.py --update.", file=out)
        for row in rows:
            print(json.dumps(row), file=out)


def axes_of(text):
    """`[x.y,-]+z` as lists of axes of the dimensions."""
    inner = text[text.index("[") + 1:text.index("]")]
    return [[] if dim in "-?" else dim.rstrip("?").split(".") for dim in inner.split(",")] if inner else []


def run(build, *args):
    done = subprocess.run([f"{build}/viewfold", *args], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def merged(dims):
    """Digits that are neighbours as one."""
    out = []
    for dim in dims:
        axes = []
        for axis in dim:
            name, pre, size = re.match(r"(\w+)(?::\((\d+)\)(\d+))?", axis).groups()
            pre, size = int(pre or 1), int(size or {"x": 2, "y": 4}[name])
            if axes and axes[-1][0] == name and axes[-1][1] * axes[-1][2] == pre:
                axes[-1] = (name, axes[-1][1], axes[-1][2] * size)
            else:
                axes.append((name, pre, size))
        out.append(axes)
    return out


def main():
    options = arguments(others=True, update=False, show=False, seed=1, count=0)
    if options.update:
        update()
    equal = different = above = 0
    with open(LIST) as rows:
        rows = [json.loads(row) for row in rows if not row.startswith("#")]
    if options.count:
        step = -(-len(rows) // options.count)
        rows = rows[options.seed % step::step]
    for row in rows:
        with tempfile.NamedTemporaryFile("w", suffix=".vf") as file:
            file.write(row["text"])
            file.flush()
            shown = run(options.build, "dump", "--stage=spmd", file.name)
            first = row["text"][:row["text"].rindex("  return")]
        with tempfile.NamedTemporaryFile("w", suffix=".vf") as file:
            file.write(first + f"  return {', '.join('%' + n for n in row['results'])}\n}}\n")
            file.flush()
            total = re.search(r"all of them (\d+)", run(options.build, "explain", "--mesh", file.name))[1]
            ours = int(total) / 8  # in the mean, as rings are counted
        have = {name: axes_of(spec) for name, spec in re.findall(r"^# (?:result )?%(\w+): part (\S+) of", shown, re.M)}
        for name, spec in row["specs"].items():
            if merged(have[name]) == merged(spec):
                equal += 1
            else:
                different += 1
                if options.show:
                    line = re.search(rf"%{name}(:| =).*", row["text"])[0][:110]
                    print(f"{row['name']}: {line}\n   Shardy {spec}\n   here   {have[name]}")
        worse = ours > row["bytes"] + 1e-6
        above += worse
        if worse or options.show:
            print(f"{row['name']}: receives {ours:.0f}, XLA {row['bytes']:.0f}{' ABOVE' if worse else ''}")
    share = 100 * equal / (equal + different)
    print(f"{equal} of {equal + different} specs equal ({share:.1f} %), {above} graphs receive more than XLA's")
    failed = above + (share < 95)
    print(f"propagate_shardy: {len(rows) - above} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
