"""Reductions, cumulative operations, sorting, products, windows."""
import numpy as np

from sizes.row import row

F64 = np.float64


def softmax(x, axis=-1):
    e = np.exp(x.astype(F64) - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def attention(q, k, v):
    return softmax(q.astype(F64) @ k.T.astype(F64) / np.sqrt(q.shape[1])) @ v


def windows(x, kernel, stride=1):
    return np.stack([x[..., i * stride : i * stride + kernel] for i in range((x.shape[-1] - kernel) // stride + 1)], -2)


def conv(x, w, stride=1, padding=0):
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(padding, padding)])
    return np.einsum("bcpk,ock->bop", windows(x, w.shape[2], stride), w)


def pool2(x, kernel, stride, function):
    rows, columns = ((s - kernel) // stride + 1 for s in x.shape[2:])

    def at(i, j):
        i, j = i * stride, j * stride
        return function(x[:, :, i : i + kernel, j : j + kernel], (2, 3))

    return np.stack([np.stack([at(i, j) for j in range(columns)], -1) for i in range(rows)], -2)


def sum_of(x, axis):
    wide = {"u1": np.uint32, "f2": np.float64}.get(x.dtype.str[1:], x.dtype)
    return x.sum(axis, dtype=wide)


def layer_norm(x):
    x = x.astype(F64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def arg_reduction(x, axis, function):
    return function(x, axis).astype(np.int64)


def order(x, axis=-1):
    return np.argsort(x, axis, kind="stable").astype(np.int64)


SHAPES = [("", "n", "[0]", 0), ("_rows", "m,n", "[1]", 1), ("_columns", "n,m", "[0]", 0),
          ("_all", "n,m,3", "[0,1,2]", (0, 1, 2)), ("_middle", "m,n,k", "[1]", 1),
          ("_three", "n,m,k", "[0,1,2]", (0, 1, 2))]
SINGLE = [s for s in SHAPES if isinstance(s[3], int)]

ROWS = []
for suffix, shape, axes, axis in SHAPES:
    for dtype in ("f32", "f64", "i64", "u8", "f16"):
        ROWS += [
            row(f"sum{suffix}_{dtype}", f"x:{dtype}[{shape}]", f"sum %x axes={axes}",
                lambda x, a=axis: sum_of(x, a), least=0),
            row(f"max{suffix}_{dtype}", f"x:{dtype}[{shape}]", f"max %x axes={axes}", lambda x, a=axis: x.max(a)),
        ]
    ROWS += [
        row(f"min{suffix}", f"x:f32[{shape}]", f"min %x axes={axes} keepdims=true",
            lambda x, a=axis: x.min(a, keepdims=True)),
        row(f"prod{suffix}", f"x:i64[{shape}]", f"prod %x axes={axes}", lambda x, a=axis: x.prod(a), least=0),
        row(f"mean{suffix}", f"x:f32[{shape}]", f"mean %x axes={axes}",
            lambda x, a=axis: x.astype(F64).mean(a), close=1e-6),
        row(f"any{suffix}", f"x:bool[{shape}]", f"any %x axes={axes}", lambda x, a=axis: x.any(a), least=0),
        row(f"all{suffix}", f"x:bool[{shape}]", f"all %x axes={axes}", lambda x, a=axis: x.all(a), least=0),
        row(f"var{suffix}", f"x:f32[{shape}]", f"var %x axes={axes}",
            lambda x, a=axis: x.astype(F64).var(a), close=1e-4),
        row(f"std{suffix}", f"x:f64[{shape}]", f"std %x axes={axes}", lambda x, a=axis: x.std(a), close=1e-9),
        row(f"logsumexp{suffix}", f"x:f32[{shape}]", f"logsumexp %x axes={axes}",
            lambda x, a=axis: np.log(np.exp(x.astype(F64)).sum(a)), close=1e-5),
        row(f"minmax{suffix}", f"x:i32[{shape}]", f"%a, %b = minmax %x axes={axes}\nreturn %a, %b",
            lambda x, a=axis: (x.min(a), x.max(a))),
        row(f"sum_of_squares{suffix}", f"x:f32[{shape}] y:f32[{shape}]", f"%a = mul %x, %y\nsum %a axes={axes}",
            lambda x, y, a=axis: (x * y).sum(a, dtype=F64), least=0),
    ]
for suffix, shape, _, axis in SINGLE:
    for dtype in ("f32", "f64", "i64", "u8"):
        ROWS += [
            row(f"argmax{suffix}_{dtype}", f"x:{dtype}[{shape}]", f"argmax %x axis={axis}",
                lambda x, a=axis: arg_reduction(x, a, np.argmax)),
            row(f"argmin{suffix}_{dtype}", f"x:{dtype}[{shape}]", f"argmin %x axis={axis}",
                lambda x, a=axis: arg_reduction(x, a, np.argmin)),
            row(f"cumsum{suffix}_{dtype}", f"x:{dtype}[{shape}]", f"cumsum %x axis={axis}",
                lambda x, a=axis: x.cumsum(a, dtype=np.uint32 if x.dtype == np.uint8 else x.dtype), least=0),
            row(f"sort{suffix}_{dtype}", f"x:{dtype}[{shape}]", f"sort %x axis={axis}",
                lambda x, a=axis: np.sort(x, a), least=0),
        ]
    ROWS += [
        row(f"softmax{suffix}", f"x:f32[{shape}]", f"softmax %x axis={axis}",
            lambda x, a=axis: softmax(x, a), close=1e-5),
        row(f"log_softmax{suffix}", f"x:f32[{shape}]", f"log_softmax %x axis={axis}",
            lambda x, a=axis: np.log(softmax(x, a)), close=1e-5),
        row(f"cumprod{suffix}", f"x:i64[{shape}]", f"cumprod %x axis={axis}", lambda x, a=axis: x.cumprod(a), least=0),
        row(f"cummax{suffix}", f"x:f32[{shape}]", f"cummax %x axis={axis}",
            lambda x, a=axis: np.maximum.accumulate(x, a), least=0),
        row(f"cummin{suffix}", f"x:u8[{shape}]", f"cummin %x axis={axis}",
            lambda x, a=axis: np.minimum.accumulate(x, a), least=0),
        row(f"cumsum_reverse{suffix}", f"x:i32[{shape}]", f"cumsum %x axis={axis} reverse=true exclusive=true",
            lambda x, a=axis: np.flip(np.flip(x, a).cumsum(a, dtype=np.int32), a) - x, least=0),
        row(f"argsort{suffix}", f"x:f32[{shape}]", f"argsort %x axis={axis}", lambda x, a=axis: order(x, a), least=0),
        row(f"sort_descending{suffix}", f"x:f16[{shape}]", f"sort %x axis={axis} descending=true",
            lambda x, a=axis: np.flip(np.sort(x, a), a), least=0),
        row(f"topk{suffix}", f"x:i32[{shape}]", f"%v, %i = topk %x k=3 axis={axis} largest=false\nreturn %v, %i",
            lambda x, a=axis: (np.take(np.sort(x, a), range(3), a), np.take(order(x, a), range(3), a)), least=3),
    ]

FLAT = "%f = reshape %x shape=[n*m]\n"
ROWS += [
    row("sum_flat", "x:f32[n,m]", f"{FLAT}sum %f", lambda x: x.sum(dtype=F64), least=0),
    row("argmax_flat", "x:f64[n,m]", f"{FLAT}argmax %f axis=0", lambda x: arg_reduction(x.reshape(-1), 0, np.argmax)),
    row("softmax_flat", "x:f32[n,m]", f"{FLAT}softmax %f", lambda x: softmax(x.reshape(-1)), close=1e-5),
    row("cumsum_flat", "x:i64[n,m]", f"{FLAT}cumsum %f axis=0", lambda x: x.cumsum(), least=0),
    row("cumsum_turned", "x:i64[n,m]",
        "%t = permute %x order=[1,0]\n%f = reshape %t shape=[m*n]\n%c = cumsum %f axis=0\nargmax %c axis=0",
        lambda x: arg_reduction(x.T.reshape(-1).cumsum(), 0, np.argmax)),
    row("cumsum_of_long", "x:f32[100,n,m,k]", "cumsum %x axis=0", lambda x: x.cumsum(0, dtype=np.float32)),
    row("matmul", "x:f32[n,m] y:f32[m,k]", "matmul %x, %y", lambda x, y: x @ y),
    row("matmul_k", "x:f32[7,n] y:f32[n,5]", "matmul %x, %y", lambda x, y: x @ y),
    row("matmul_rows", "x:f32[n,16] y:f32[16,24]", "matmul %x, %y", lambda x, y: x @ y),
    row("matmul_batch", "x:f64[k,n,m] y:f64[k,m,n]", "matmul %x, %y", lambda x, y: x @ y),
    row("matmul_u8", "x:u8[n,m] y:u8[m,k]", "matmul %x, %y", lambda x, y: x.astype(np.uint32) @ y.astype(np.uint32)),
    row("matmul_f16", "x:f16[n,8] y:f16[8,m]", "matmul %x, %y",
        lambda x, y: (x.astype(np.float32) @ y.astype(np.float32)).astype(np.float16)),
    row("gram", "x:f32[n,m]", "%t = permute %x order=[1,0]\nmatmul %t, %x", lambda x: x.T @ x),
    row("matmul_bias", "x:f32[n,m] y:f32[m,k] b:f32[k]", "%z = matmul %x, %y\n%a = add %z, %b\nrelu %a",
        lambda x, y, b: np.maximum(x @ y + b, 0)),
    row("einsum_outer", "x:i64[n] y:i64[m]", 'einsum %x, %y equation="i,j->ij"', np.outer),
    row("einsum_trace", "x:i64[n,n]", 'einsum %x equation="ii->"', np.trace),
    row("einsum_diagonal", "x:i64[n,n]", 'einsum %x equation="ii->i"', np.diag),
    row("einsum_three", "x:f32[n,m,3] y:f32[3,m,k]", 'einsum %x, %y equation="abc,cbd->ad"',
        lambda x, y: np.einsum("abc,cbd->ad", x, y)),
    row("conv", "x:f32[n,3,m] w:f32[4,3,3]", "conv %x, %w padding=1", lambda x, w: conv(x, w, 1, 1)),
    row("conv_stride", "x:f32[2,3,n] w:f32[4,3,5]", "conv %x, %w stride=2", lambda x, w: conv(x, w, 2), least=5),
    row("conv_channels", "x:f32[2,n,9] w:f32[m,n,3]", "conv %x, %w", conv),
    row("conv_2d", "x:f32[1,2,n,m] w:f32[3,2,1,1]", "conv %x, %w",
        lambda x, w: np.einsum("bchw,oc->bohw", x, w[:, :, 0, 0])),
    row("max_pool", "x:f32[n,m,8,8]", "max_pool %x kernel=2", lambda x: pool2(x, 2, 2, np.max)),
    row("max_pool_sizes", "x:f32[2,3,n,m]", "max_pool %x kernel=[3,3] stride=[1,1]",
        lambda x: pool2(x, 3, 1, np.max), least=3),
    row("avg_pool", "x:f32[1,k,n,m]", "avg_pool %x kernel=[2,2] stride=[2,2]",
        lambda x: pool2(x, 2, 2, np.mean), least=2),
    row("attention", "q:f32[n,8] k:f32[m,8] v:f32[m,4]", "attention %q, %k, %v", attention, close=1e-5),
    row("layer_norm", "x:f32[n,m]", "layer_norm %x", layer_norm, close=1e-4),
    row("rms_norm", "x:f32[n,m]", "rms_norm %x",
        lambda x: x.astype(F64) / np.sqrt((x.astype(F64) ** 2).mean(-1, keepdims=True) + 1e-5), close=1e-4),
    row("mean_then_max", "x:f32[n,m]", "%a = mean %x axes=[1]\nmax %a axes=[0]",
        lambda x: x.astype(F64).mean(1).max(), close=1e-6),
    row("sum_of_cumsum", "x:i64[n]", "%a = cumsum %x axis=0\nsum %a axes=[0]", lambda x: x.cumsum().sum()),
    row("argmax_of_sum", "x:i64[n,m]", "%a = sum %x axes=[1]\nargmax %a axis=0", lambda x: np.int64(x.sum(1).argmax())),
    row("sort_of_sums", "x:i64[n,m]", "%a = sum %x axes=[1]\nsort %a", lambda x: np.sort(x.sum(1))),
    row("sort_twice", "x:i32[n,m]", "%a = sort %x axis=0\nsort %a axis=1", lambda x: np.sort(np.sort(x, 0), 1)),
]
