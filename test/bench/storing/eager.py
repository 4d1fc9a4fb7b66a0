"""Graphs in PyTorch, an operation at a time, as someone would write them who does not compile."""
import re

import numpy as np

from storing.text import NAME

DTYPES = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64",
          "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


class Lacking(Exception):
    """PyTorch lacks an operation or a dtype of the graph, or it is not translated."""


def attributes(right):
    """{name: value} of a statement; lists and numbers are Python's, words text."""
    found = {}
    for name, value in re.findall(r"(\w+)=(\[.*?\](?=\s|$)|\S+)", NAME.sub("", right)):
        try:
            found[name] = eval(value, {"__builtins__": {}}, {"true": True, "false": False, "inf": float("inf")})  # a literal that we wrote
        except (NameError, SyntaxError):
            found[name] = value
    return found


def operands(statement):
    """Names, and numbers, in order."""
    text = re.sub(r"\s\w+=.*$", "", statement.right[len(statement.op):], flags=re.S).strip()

    def number(x):
        return x == "true" if x in ("true", "false") else float(x) if re.search(r"[.en]", x) else int(x)

    return [x if x.startswith("%") else number(x) for x in (part.strip() for part in text.split(",")) if x]


def table(torch):
    F = torch.nn.functional
    axes = lambda a, x: tuple(a.get("axes") or ([a["axis"]] if "axis" in a else range(x.ndim)))
    keep = lambda a: bool(a.get("keepdims"))
    each = lambda v, n: v if isinstance(v, list) else [v] * n

    def conv(x, w, b=None, **a):
        n = x.ndim - 2
        function = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
        return function(x, w, b, each(a.get("stride", 1), n), each(a.get("padding", 0), n), each(a.get("dilation", 1), n), a.get("groups", 1))

    def gather(x, i, **a):
        k, mode = a.get("axis", 0), a.get("mode")
        i = i.long().clamp(-x.shape[k], x.shape[k] - 1)
        i = torch.where(i < 0, i + x.shape[k], i) if mode else i
        return x.index_select(k, i.reshape(-1)).reshape(x.shape[:k] + i.shape + x.shape[k + 1:])

    def scatter(x, i, u, add, **a):
        i = i.long().clamp(0, x.shape[0] - 1)
        return x.index_add(0, i, u) if add else x.index_copy(0, i, u)

    def reduced(f):
        return lambda x, **a: f(x, dim=axes(a, x), keepdim=keep(a))

    def prod(x, **a):
        for k in sorted(axes(a, x), reverse=True):
            x = x.prod(k, keepdim=keep(a))
        return x

    def extreme(binary, reduction):
        return lambda x, y=None, **a: reduction(x, axes(a, x), keep(a)) if y is None else binary(x, torch.as_tensor(y, dtype=x.dtype))

    def pool(f):
        return lambda x, **a: f(x, a["kernel"], a.get("stride"), a.get("padding", 0))

    def padded(x, **a):
        pads = [n for pair in reversed(a["pads"]) for n in pair]
        mode = a.get("mode", "constant")
        if mode == "constant":
            return F.pad(x, pads)
        for k, (low, high) in enumerate(a["pads"]):
            n = x.shape[k]
            at = np.pad(np.arange(n), (low, high), mode=mode)
            x = x.index_select(k, torch.from_numpy(at)) if low or high else x
        return x

    def patched(x, u, **a):
        y = x.clone()
        y[tuple(slice(s, s + n) for s, n in zip(a["start"], u.shape))] = u
        return y

    def iota(**a):
        n, k = a["shape"], a["axis"]
        return torch.arange(n[k], dtype=getattr(torch, DTYPES[a["dtype"]])).reshape([-1 if i == k else 1 for i in range(len(n))]).expand(n)

    def attention(q, k, v, mask=None, **a):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=bool(a.get("causal")))

    def shrunk(x, **a):
        return x[tuple(slice(low, high) for low, high in a["bounds"])]

    def stepped(x, **a):
        for k, s in enumerate(a["steps"]):
            x = x.flip(k) if s < 0 else x
        return x[tuple(slice(None, None, abs(s)) for s in a["steps"])]

    def ordered(f):
        return lambda x, **a: f(x.flip(a["axis"]), a["axis"]).flip(a["axis"]) if a.get("reverse") else f(x, a["axis"])

    plain = "neg abs sqrt rsqrt exp exp2 log log2 sin cos tanh erf sigmoid expm1 log1p tan asin acos atan sinh cosh floor ceil trunc round square \
sub mul add eq ne lt le gt ge matmul sign".split()
    found = {name: (lambda f: lambda *x, **a: f(*x))(getattr(torch, name)) for name in plain}
    found.update({
        "div": lambda x, y: torch.true_divide(x, y), "relu": lambda x: F.relu(x), "silu": lambda x: F.silu(x), "softplus": lambda x: F.softplus(x),
        "gelu": lambda x, **a: F.gelu(x), "gelu_erf": lambda x: F.gelu(x), "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "leaky_relu": lambda x, **a: F.leaky_relu(x), "elu": lambda x, **a: F.elu(x), "and": torch.bitwise_and, "or": torch.bitwise_or,
        "xor": torch.bitwise_xor, "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift,
        "where": lambda c, x, y: torch.where(c, x, y), "clip": lambda x, **a: x.clamp(a.get("low"), a.get("high")),
        "cast": lambda x, **a: x.to(getattr(torch, DTYPES[a["dtype"]])), "max": extreme(torch.maximum, torch.amax),
        "min": extreme(torch.minimum, torch.amin), "sum": reduced(torch.sum), "mean": reduced(torch.mean), "logsumexp": reduced(torch.logsumexp),
        "var": lambda x, **a: torch.var(x, dim=axes(a, x), keepdim=keep(a), correction=0), "prod": prod,
        "argmax": lambda x, **a: x.argmax(a["axis"], keepdim=keep(a)), "argmin": lambda x, **a: x.argmin(a["axis"], keepdim=keep(a)),
        "softmax": lambda x, **a: x.softmax(a.get("axis", -1)), "log_softmax": lambda x, **a: x.log_softmax(a.get("axis", -1)),
        "layer_norm": lambda x, w=None, b=None, **a: F.layer_norm(x, x.shape[a.get("axis", -1):], w, b),
        "rms_norm": lambda x, w=None, **a: F.rms_norm(x, x.shape[a.get("axis", -1):], w, a.get("eps", 1e-5)),
        "permute": lambda x, **a: x.permute(a["order"]), "reshape": lambda x, **a: x.reshape(a["shape"]),
        "expand": lambda x, **a: x.expand(a["shape"]), "flip": lambda x, **a: x.flip(a["axes"]), "shrink": shrunk, "stride": stepped, "pad": padded,
        "concat": lambda *x, **a: torch.cat(x, a["axis"]), "split": lambda x, **a: x.chunk(a["parts"], a.get("axis", 0)),
        "swap_axes": lambda x, **a: x.transpose(a["axis1"], a["axis2"]), "conv": conv, "gather": gather, "iota": iota, "attention": attention,
        "scatter": lambda *x, **a: scatter(*x, False), "scatter_add": lambda *x, **a: scatter(*x, True), "slice_update": patched,
        "take_along_axis": lambda x, i, **a: x.gather(a["axis"], i), "tril": lambda x, **a: x.tril(),
        "cumsum": ordered(torch.cumsum), "cummax": ordered(lambda x, k: x.cummax(k)[0]), "cummin": ordered(lambda x, k: x.cummin(k)[0]),
        "sort": lambda x, **a: x.sort(dim=a["axis"], stable=True)[0], "argsort": lambda x, **a: x.argsort(dim=a["axis"], stable=True),
        "topk": lambda x, **a: x.topk(a["k"], a["axis"]), "max_pool": pool(F.max_pool2d), "avg_pool": pool(F.avg_pool2d),
        "stored": lambda x: x.contiguous(),
    })
    return found


class Eager:
    """Runs a graph's operations in PyTorch, one after the other."""

    def __init__(self, threads):
        import torch
        self.torch, self.table = torch, table(torch)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def tensor(self, array, dtype):
        if dtype not in DTYPES:
            raise Lacking(dtype)
        whole = self.torch.from_numpy(np.ascontiguousarray(array))
        return whole.view(self.torch.bfloat16) if dtype == "bf16" else whole

    def array(self, tensor):
        """Its elements in NumPy; those of bf16 as f32."""
        return (tensor.float() if tensor.dtype == self.torch.bfloat16 else tensor).numpy()

    def program(self, graph, types, arrays, kept=False):
        """A function without arguments that runs all operations in order. kept: and the values by name, as the last run
        left them."""
        values = {n: self.tensor(a, types[n][0]) for n, a in zip(graph.params, arrays)}
        steps = []
        for s in graph.statements:
            if s.op not in self.table:
                raise Lacking(s.op)
            steps.append((self.table[s.op], operands(s), attributes(s.right), s.results))

        def run():
            for function, given, attributes_, results in steps:
                made = function(*[values[x] if isinstance(x, str) else x for x in given], **attributes_)
                values.update(zip(results, made if isinstance(made, (tuple, list)) else [made]))

        try:
            run()
        except (RuntimeError, TypeError, KeyError, ValueError, IndexError, NotImplementedError) as why:
            raise Lacking(str(why)) from why
        return (run, values) if kept else run
