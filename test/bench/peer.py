#!/usr/bin/env python3
"""NumPy or PyTorch as a worker of `viewfold bench`: the workloads as someone who knows the library would write them.

    viewfold bench --worker 'numpy=python3 test/bench/peer.py numpy {threads}'

A table has a function for each workload, from its inputs to a function without arguments that is timed. Buffers
are made beforehand wherever the library can write into them. Requests and answers: `viewfold bench --help`.
"""
import json
import math
import os
import sys
import time

try:
    import numpy as np
except ImportError:
    sys.exit("NumPy is not installed")

ROOT = math.sqrt(2 / math.pi)


def into(function, *operands, shape=None):
    """A NumPy function that writes into a buffer made for it."""
    out = np.empty(shape if shape is not None else operands[0].shape, np.float32)
    return lambda: function(*operands, out=out)


def copied(view):
    out = np.empty(view.shape, view.dtype)

    def run():
        np.copyto(out, view)
        return out

    return run


def in_numpy():
    f = np.float32

    def chain(x, y):
        t = np.empty_like(x)

        def run():
            np.multiply(x, y, out=t)
            np.add(t, x, out=t)
            np.maximum(t, f(0), out=t)
            np.multiply(t, f(0.5), out=t)
            np.subtract(t, y, out=t)
            np.abs(t, out=t)
            np.sqrt(t, out=t)
            return np.add(t, f(1), out=t)

        return run

    def gelu(x, b):
        v, t = np.empty_like(x), np.empty_like(x)

        def run():
            np.add(x, b, out=v)
            np.multiply(v, v, out=t)
            np.multiply(t, f(0.044715), out=t)
            np.add(t, f(1), out=t)
            np.multiply(t, v, out=t)
            np.multiply(t, f(ROOT), out=t)
            np.tanh(t, out=t)
            np.add(t, f(1), out=t)
            np.multiply(t, v, out=t)
            return np.multiply(t, f(0.5), out=t)

        return run

    def softmax_of(s):
        """In place, along the last axis."""
        np.subtract(s, s.max(-1, keepdims=True), out=s)
        np.exp(s, out=s)
        return np.divide(s, s.sum(-1, keepdims=True), out=s)

    def softmax(x):
        out = np.empty_like(x)

        def run():
            np.copyto(out, x)
            return softmax_of(out)

        return run

    def norm_of(x, weight, bias):
        y = x - x.mean(-1, keepdims=True)
        scale = 1 / np.sqrt(np.square(y).mean(-1, keepdims=True) + f(1e-5))
        np.multiply(y, scale, out=y)
        np.multiply(y, weight, out=y)
        return np.add(y, bias, out=y)

    def padded(x):
        return np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))

    def windows(x):
        return np.lib.stride_tricks.sliding_window_view(padded(x), (3, 3), axis=(2, 3)).transpose(0, 1, 4, 5, 2, 3)

    def im2col(x):
        out = np.empty((8, 64, 3, 3, 56, 56), f)

        def run():
            np.copyto(out, windows(x))
            return out

        return run

    def convolution(x, w):
        columns, matrix = np.empty((8, 64, 3, 3, 56, 56), f), w.reshape(64, 576)

        def run():
            np.copyto(columns, windows(x))
            return matrix @ columns.reshape(8, 576, 3136)

        return run

    def depthwise(x, w):
        out, part = np.empty_like(x), np.empty_like(x)

        def run():
            p = padded(x)
            for k in range(9):
                i, j = divmod(k, 3)
                to = part if k else out
                np.multiply(p[:, :, i:i + 56, j:j + 56], w[:, 0, i, j][:, None, None], out=to)
                if k:
                    np.add(out, part, out=out)
            return out

        return run

    def attention(q, k, v, mask=None):
        def run():
            s = q @ k.transpose(0, 1, 3, 2)
            s *= f(1 / math.sqrt(q.shape[-1]))
            if mask is not None:
                s += mask
            return softmax_of(s) @ v

        return run

    def causal(q, k, v):
        n = q.shape[2]
        return attention(q, k, v, np.triu(np.full((n, n), -np.inf, f), 1))

    def product_relu(a, b, c):
        out = np.empty((a.shape[0], b.shape[1]), f)

        def run():
            np.matmul(a, b, out=out)
            np.add(out, c, out=out)
            return np.maximum(out, 0, out=out)

        return run

    def layer(x, wi, bi, wo, bo, g1, c1, w1, b1, w2, b2, g2, c2):
        def run():
            flat = x.reshape(-1, 384)
            qkv = (flat @ wi.T + bi).reshape(8, 128, 3, 12, 32).transpose(2, 0, 3, 1, 4)
            mixed = attention(*qkv)().transpose(0, 2, 1, 3).reshape(-1, 384)
            h = norm_of(flat + (mixed @ wo.T + bo), g1, c1)
            u = h @ w1.T
            u += b1
            np.maximum(u, 0, out=u)
            return norm_of(h + (u @ w2.T + b2), g2, c2)

        return run

    def training(x, label, *given):
        examples = np.arange(128)

        def run():
            w1, b1, w2, b2, w3, b3 = given
            h1 = np.maximum(x @ w1 + b1, 0)
            h2 = np.maximum(h1 @ w2 + b2, 0)
            d3 = softmax_of(h2 @ w3 + b3)
            d3[examples, label] -= 1
            d3 /= 128
            d2 = (d3 @ w3.T) * (h2 > 0)
            d1 = (d2 @ w2.T) * (h1 > 0)
            steps = (x.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d3, d3.sum(0))
            return [p - f(0.1) * g for p, g in zip(given, steps)]

        return run

    def moments(x):
        return lambda: [x.mean((0, 2, 3)), x.var((0, 2, 3))]

    def gather(table, rows):
        at = rows.astype(np.intp)
        out = np.empty((4096, 768), f)
        return lambda: np.take(table, at, 0, out=out, mode="clip")

    def pad_flip_add(x):
        out = np.empty_like(x)
        return lambda: np.add(np.pad(x, 1)[::-1, ::-1][:4096, :4096], x, out=out)

    def shuffle(x):
        return copied(x.reshape(8, 64, 2, 2, 64, 64).transpose(0, 1, 4, 2, 5, 3))

    product = lambda a, b: into(np.matmul, a, b, shape=(a @ b).shape)
    table = {
        "V1": lambda x: copied(x.T),
        "V2": lambda x: copied(x.transpose(0, 3, 1, 2)),
        "V3": lambda x: copied(x.T),
        "V4": pad_flip_add,
        "V5": lambda *x: lambda: np.concatenate(x, 1),
        "V6": gather,
        "V7": gelu,
        "V8": im2col,
        "V9": lambda x: copied(x[::2, ::-1]),
        "V10": shuffle,
        "V11": lambda x: copied(x.reshape(8, 512, 12, 64).transpose(0, 2, 1, 3)),
        "E1": chain,
        "R1": lambda x: lambda: x.sum(keepdims=True),
        "R2": lambda x: into(lambda a, out: np.sum(a, 1, out=out), x, shape=(8192,)),
        "R3": lambda x: into(lambda a, out: np.sum(a, 0, out=out), x, shape=(8192,)),
        "R4": softmax,
        "R5": lambda x, w, b: lambda: norm_of(x, w, b),
        "R6": lambda x: lambda: x.argmax(1),
        "R7": lambda x: into(lambda a, out: np.cumsum(a, 1, out=out), x),
        "R8": moments,
        "M4": lambda a, b: into(np.matmul, a.T, b),
        "M5": product_relu,
        "C1": convolution,
        "C2": depthwise,
        "A1": attention, "A2": attention, "A1c": causal, "A2c": causal,
        "T1": layer,
        "T2": training,
    }
    table.update({"E2" + name: lambda x, u=getattr(np, name): into(u, x) for name in ("exp", "log", "tanh", "sin")})
    table.update({name: product for name in ("M1_512", "M1_1024", "M1_2048", "M2", "M3")})
    return table, np.asarray


def in_torch(threads):
    try:
        import torch
        import torch.nn.functional as F
    except ImportError:
        sys.exit("PyTorch is not installed")

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    empty = torch.empty

    def copied_to(view):
        out = empty(view.shape)
        return lambda: out.copy_(view)

    def out_of(function, *operands, shape=None):
        out = empty(shape if shape is not None else operands[0].shape)
        return lambda: function(*operands, out=out)

    def chain(x, y):
        t = torch.empty_like(x)

        def run():
            torch.mul(x, y, out=t)
            return t.add_(x).relu_().mul_(0.5).sub_(y).abs_().sqrt_().add_(1)

        return run

    def attention_of(q, k, v, mask=None):
        s = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]))
        return torch.softmax(s if mask is None else s + mask, -1) @ v

    def attention(q, k, v):
        if hasattr(F, "scaled_dot_product_attention"):
            return lambda: F.scaled_dot_product_attention(q, k, v)
        return lambda: attention_of(q, k, v)

    def causal(q, k, v):
        if hasattr(F, "scaled_dot_product_attention"):
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
        mask = torch.full((q.shape[2], q.shape[2]), -math.inf).triu(1)
        return lambda: attention_of(q, k, v, mask)

    def layer(x, *weights):
        module = torch.nn.TransformerEncoderLayer(384, 12, 1536, dropout=0.0, batch_first=True).eval()
        names = ("self_attn.in_proj_weight self_attn.in_proj_bias self_attn.out_proj.weight self_attn.out_proj.bias "
                 "norm1.weight norm1.bias linear1.weight linear1.bias linear2.weight linear2.bias norm2.weight norm2.bias")
        module.load_state_dict(dict(zip(names.split(), weights)))
        return lambda: module(x)

    def training(x, label, *given):
        label = label.long()
        parameters = [p.clone().requires_grad_() for p in given]

        def run():
            with torch.enable_grad():
                w1, b1, w2, b2, w3, b3 = parameters
                h = torch.relu(torch.addmm(b1, x, w1))
                h = torch.relu(torch.addmm(b2, h, w2))
                slopes = torch.autograd.grad(F.cross_entropy(torch.addmm(b3, h, w3), label), parameters)
            return torch._foreach_add([p.detach() for p in parameters], slopes, alpha=-0.1)

        return run

    def gather(table, rows):
        return out_of(lambda t, r, out: torch.index_select(t, 0, r, out=out), table, rows.long(), shape=(4096, 768))

    def concat(*x):
        out = empty(4096, 2048)
        return lambda: torch.cat(x, 1, out=out)

    def product_relu(a, b, c):
        out = torch.empty_like(a)
        return lambda: torch.addmm(c, a, b, out=out).relu_()

    table = {
        "V1": lambda x: copied_to(x.t()),
        "V2": lambda x: copied_to(x.permute(0, 3, 1, 2)),
        "V3": lambda x: copied_to(x.t()),
        "V4": lambda x: lambda: torch.flip(F.pad(x, (1, 1, 1, 1)), (0, 1))[:4096, :4096] + x,
        "V5": concat,
        "V6": gather,
        "V7": lambda x, b: lambda: F.gelu(x + b, approximate="tanh"),
        "V8": lambda x: lambda: F.unfold(x, 3, padding=1),
        "V9": lambda x: lambda: torch.flip(x[::2], (1,)),
        "V10": lambda x: lambda: F.pixel_shuffle(x, 2),
        "V11": lambda x: copied_to(x.view(8, 512, 12, 64).permute(0, 2, 1, 3)),
        "E1": chain,
        "R1": lambda x: lambda: x.sum(),
        "R2": lambda x: lambda: x.sum(1),
        "R3": lambda x: lambda: x.sum(0),
        "R4": lambda x: lambda: torch.softmax(x, -1),
        "R5": lambda x, w, b: lambda: F.layer_norm(x, (768,), w, b),
        "R6": lambda x: lambda: x.argmax(1),
        "R7": lambda x: out_of(lambda t, out: torch.cumsum(t, 1, out=out), x),
        "R8": lambda x: lambda: [*torch.var_mean(x, (0, 2, 3), unbiased=False)][::-1],
        "M2": lambda a, x: out_of(torch.mv, a, x, shape=(4096,)),
        "M3": lambda a, b: out_of(torch.bmm, a, b),
        "M4": lambda a, b: out_of(torch.mm, a.t(), b),
        "M5": product_relu,
        "C1": lambda x, w: lambda: F.conv2d(x, w, padding=1),
        "C2": lambda x, w: lambda: F.conv2d(x, w, padding=1, groups=128),
        "A1": attention, "A2": attention, "A1c": causal, "A2c": causal,
        "T1": layer,
        "T2": training,
    }
    for name in ("exp", "log", "tanh", "sin", "erf"):
        table["E2" + name] = lambda x, u=getattr(torch, name): out_of(u, x)
    table.update({name: lambda a, b: out_of(torch.mm, a, b) for name in ("M1_512", "M1_1024", "M1_2048")})

    # Arrays are passed by buffers, which any PyTorch shares with any NumPy.
    dtypes = {"float32": torch.float32, "int32": torch.int32}

    def shared(x):
        return torch.frombuffer(x, dtype=dtypes[str(x.dtype)]).reshape(x.shape)

    def convert(t):
        out = np.empty(tuple(t.shape) or (1,), np.float32)
        shared(out).copy_(t.detach().reshape(out.shape))
        return out

    return {id: lambda *x, make=make: make(*map(shared, x)) for id, make in table.items()}, convert


class Worker:
    def __init__(self, kind, threads):
        self.table, self.convert = in_numpy() if kind == "numpy" else in_torch(threads)
        self.table["L2chain"], self.table["L2softmax"] = self.table["E1"], self.table["R4"]
        self.run = None

    def setup(self, id, folder):
        self.run = None
        if id not in self.table:
            return "skip there is no " + id
        with open(folder + "/meta.json") as file:
            types = json.load(file)
        inputs = [np.fromfile(f"{folder}/in{i}.bin", t["dtype"]).reshape(t["shape"]) for i, t in enumerate(types)]
        before = time.perf_counter()
        self.run = self.table[id](*inputs)
        self.run()
        return f"ok {(time.perf_counter() - before) * 1e3:.4f}"

    def times(self, count):
        taken = []
        for _ in range(int(count)):
            before = time.perf_counter()
            self.run()
            taken.append((time.perf_counter() - before) * 1e3)
        return " ".join(["ms", *(f"{t:.6f}" for t in taken)])

    def dump(self, path):
        made = self.run()
        parts = made if isinstance(made, (list, tuple)) else [made]
        with open(path, "wb") as file:
            for part in parts:
                np.ascontiguousarray(self.convert(part), np.float32).tofile(file)
        return "ok"

    def answer(self, words):
        request, rest = words[0], words[1:]
        if request in ("drop", "quit"):
            self.run = None
            return "ok"
        if request == "setup":
            return self.setup(*rest)
        if self.run is None:
            return "skip nothing is set up"
        return self.times(*rest) if request == "run" else self.dump(*rest)


def main():
    worker = Worker(sys.argv[1], int(sys.argv[2]))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries on stdout must not mix with the answers
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        try:
            reply = worker.answer(words)
        except Exception as error:
            reply = "skip " + " ".join(str(error).split())[:300]
        print(reply, file=answers, flush=True)
        if words[0] == "quit":
            break


if __name__ == "__main__":
    main()
