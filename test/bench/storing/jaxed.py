"""Graphs in JAX: one function of all operations, compiled for the processor by XLA."""
from storing.eager import DTYPES, Lacking, attributes, operands


def table(jax):
    jnp, lax, nn = jax.numpy, jax.lax, jax.nn
    axes = lambda a, x: tuple(a.get("axes") or ([a["axis"]] if "axis" in a else range(x.ndim)))
    keep = lambda a: bool(a.get("keepdims"))
    each = lambda v, n: v if isinstance(v, list) else [v] * n

    def conv(x, w, **a):
        n = x.ndim - 2
        return lax.conv_general_dilated(x, w, each(a.get("stride", 1), n), [(p, p) for p in each(a.get("padding", 0), n)],
                                        rhs_dilation=each(a.get("dilation", 1), n), feature_group_count=a.get("groups", 1))

    def windows(x, start, function, a):
        pads = [(0, 0), (0, 0)] + [(p, p) for p in each(a.get("padding", 0), x.ndim - 2)]
        return lax.reduce_window(x, start, function, (1, 1, *a["kernel"]), (1, 1, *a["stride"]), pads)

    def reduced(f):
        return lambda x, **a: f(x, axis=axes(a, x), keepdims=keep(a))

    def extreme(binary, reduction):
        return lambda x, y=None, **a: reduction(x, axis=axes(a, x), keepdims=keep(a)) if y is None else binary(x, y)

    def norm(x, centre, a):
        k = a.get("axis", -1) % x.ndim
        over = tuple(range(k, x.ndim))
        d = x - x.mean(over, keepdims=True) if centre else x
        return d * lax.rsqrt((d * d).mean(over, keepdims=True) + a.get("eps", 1e-5))

    def attention(q, k, v, **a):
        p = jnp.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
        if a.get("causal"):
            p = jnp.where(jnp.tril(jnp.ones(p.shape[-2:], bool)), p, -jnp.inf)
        return jnp.einsum("...qk,...kd->...qd", nn.softmax(p, -1), v)

    def topk(x, **a):
        value, index = lax.top_k(jnp.moveaxis(x, a["axis"], -1), a["k"])
        return jnp.moveaxis(value, -1, a["axis"]), jnp.moveaxis(index, -1, a["axis"])

    plain = {"sub": jnp.subtract, "mul": jnp.multiply, "add": jnp.add, "neg": jnp.negative, "matmul": jnp.matmul, "erf": lax.erf}
    found = {n: getattr(jnp, n) for n in "abs sqrt exp exp2 tanh sin".split()} | {n: getattr(nn, n) for n in "relu sigmoid silu softplus".split()}
    found = {n: (lambda f: lambda *x, **a: f(*x))(f) for n, f in (found | plain).items()}
    return found | {
        "gelu": lambda x, **a: nn.gelu(x, approximate=False), "gelu_tanh": lambda x, **a: nn.gelu(x, approximate=True),
        "cast": lambda x, **a: x.astype(DTYPES[a["dtype"]]), "max": extreme(jnp.maximum, jnp.max), "min": extreme(jnp.minimum, jnp.min),
        "sum": reduced(jnp.sum), "mean": reduced(jnp.mean), "var": reduced(jnp.var),
        "argmax": lambda x, **a: jnp.argmax(x, a["axis"], keepdims=keep(a)), "argmin": lambda x, **a: jnp.argmin(x, a["axis"], keepdims=keep(a)),
        "softmax": lambda x, **a: nn.softmax(x, a.get("axis", -1)), "log_softmax": lambda x, **a: nn.log_softmax(x, a.get("axis", -1)),
        "layer_norm": lambda x, **a: norm(x, True, a), "rms_norm": lambda x, **a: norm(x, False, a), "attention": attention, "conv": conv,
        "max_pool": lambda x, **a: windows(x, -jnp.inf, lax.max, a),
        "avg_pool": lambda x, **a: windows(x, 0.0, lax.add, a) / (a["kernel"][0] * a["kernel"][1]),
        "permute": lambda x, **a: x.transpose(a["order"]), "reshape": lambda x, **a: x.reshape(a["shape"]),
        "expand": lambda x, **a: jnp.broadcast_to(x, a["shape"]), "flip": lambda x, **a: jnp.flip(x, a["axes"]),
        "shrink": lambda x, **a: x[tuple(slice(low, high) for low, high in a["bounds"])],
        "stride": lambda x, **a: x[tuple(slice(None, None, s) for s in a["steps"])], "pad": lambda x, **a: jnp.pad(x, a["pads"]),
        "concat": lambda *x, **a: jnp.concatenate(x, a["axis"]), "swap_axes": lambda x, **a: x.swapaxes(a["axis1"], a["axis2"]),
        "cumsum": lambda x, **a: jnp.cumsum(x, a["axis"]), "sort": lambda x, **a: jnp.sort(x, a["axis"]),
        "argsort": lambda x, **a: jnp.argsort(x, a["axis"], stable=True), "topk": topk,
        "gather": lambda x, i, **a: jnp.take(x, i, a.get("axis", 0), mode="clip"),
        "scatter_add": lambda x, i, u, **a: x.at[i].add(u, mode="clip"), "stored": lambda x: x,
    }


class Jaxed:
    """Compiles a graph's operations in JAX. Its arrays stay with the device, as a program's results do here."""

    def __init__(self):
        import jax
        jax.config.update("jax_enable_x64", True)
        self.jax, self.table = jax, table(jax)

    def program(self, graph, types, arrays):
        """A function without arguments that computes the graph's results."""
        if any(s.op not in self.table for s in graph.statements):
            raise Lacking("an operation")
        steps = [(self.table[s.op], operands(s), attributes(s.right), s.results) for s in graph.statements]

        def whole(*given):
            values = dict(zip(graph.params, given))
            for function, names, attributes_, results in steps:
                made = function(*[values[x] if isinstance(x, str) else x for x in names], **attributes_)
                values.update(zip(results, made if isinstance(made, (tuple, list)) else [made]))
            return [values[name] for name in graph.outputs]

        held = [self.jax.numpy.asarray(a.view(DTYPES["bf16"]) if types[n][0] == "bf16" else a) for n, a in zip(graph.params, arrays)]
        compiled = self.jax.jit(whole)

        def run():
            return self.jax.block_until_ready(compiled(*held))

        try:
            run()
        except (TypeError, ValueError, KeyError, NotImplementedError, RuntimeError) as why:
            raise Lacking(str(why)) from why
        return run
