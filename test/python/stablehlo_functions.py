"""Functions of JAX that test_stablehlo.py takes through StableHLO: name -> (function, arguments)."""

import jax
import numpy as np
from jax import lax, nn
from jax import numpy as jnp

rng = np.random.default_rng(5)


def f32(*shape):
    return rng.standard_normal(shape).astype("float32")


def positive(*shape):
    return rng.uniform(0.1, 2, shape).astype("float32")


def i32(low, high, *shape):
    return rng.integers(low, high, shape).astype("int32")


def mlp(params, x):
    for w, b in params[:-1]:
        x = nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss(params, x, y):
    return -(nn.log_softmax(mlp(params, x)) * nn.one_hot(y, 3)).sum(1).mean()


def step(params, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value


PARAMS = [(f32(4, 8), f32(8)), (f32(8, 3), f32(3))]


def attention(x, w):
    q, k, v = jnp.split((x @ w).reshape(2, 5, 2, 12), 3, -1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2
    scores = jnp.where(jnp.tril(jnp.ones((5, 5), bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v).reshape(2, 5, 8)


def conv_net(x, w, v):
    x = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = lax.reduce_window(nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(2, -1) @ v


def lstm(x, w, u):
    def cell(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u, 4, -1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(cell, (jnp.zeros((2, 4)), jnp.zeros((2, 4))), x)[1]


def layer_norm(x, w):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * w


def batch_of_steps(params, x, y):
    def body(p, xy):
        return step(p, *xy)

    return lax.scan(body, params, (x, y))


def newton(a):
    return lax.while_loop(lambda s: jnp.abs(s * s - a).max() > 1e-4, lambda s: (s + a / s) / 2, a)


def power_series(x):
    return lax.fori_loop(0, 6, lambda k, c: c * x + k, jnp.ones_like(x))


def dilated(x, w):
    return lax.conv_general_dilated(x, w, (2, 1), [(1, 2), (0, 1)], lhs_dilation=(1, 2), rhs_dilation=(2, 1))


def scanned_windows(x):
    return lax.scan(lambda c, k: (c + lax.dynamic_slice(x, (k, 1), (2, 2)).sum(), c), 0.0, jnp.arange(3))


X, Y = f32(3, 4), f32(3, 4)
P = positive(3, 4)
N, M = i32(-20, 20, 3, 4), i32(1, 7, 3, 4)
IMAGE, PLAIN = f32(2, 6, 6, 3), f32(2, 3, 7, 8)

FUNCTIONS = {
    "arithmetic": (lambda x, y: x * y - x / (y + 3) + 2, (X, Y)),
    "integers": (lambda a, b: (a // b, a % b, a * b, -a, abs(a)), (N, M)),
    "divisions": (lambda a, b: (lax.div(a, b), lax.rem(a, b)), (N, M)),
    "bits": (lambda a, b: (a & b, a | b, a ^ b, ~a, a << 2, a >> 1, lax.shift_right_logical(a, b)), (N, M)),
    "counted bits": (lambda a: (lax.population_count(a), lax.clz(a)), (N,)),
    "float remainders": (lambda x, y: (x % y, lax.rem(x, y), jnp.floor_divide(x, y)), (X, Y)),
    "powers": (lambda x, y: (x**y, x**2, x**-1.5, jnp.cbrt(x), jnp.hypot(x, y)), (P, Y)),
    "exponentials": (lambda x: (jnp.exp(x), jnp.expm1(x), jnp.exp2(x), jnp.log(x), jnp.log1p(x), jnp.log2(x)), (P,)),
    "trigonometry": (lambda x, y: (jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.arctan2(x, y), jnp.arctan(x)), (X, Y)),
    "inverses": (lambda x: (jnp.arcsin(x), jnp.arccos(x), jnp.arctanh(x), jnp.arcsinh(x), jnp.arccosh(x + 2)), (np.tanh(X),)),
    "hyperbolic": (lambda x: (jnp.sinh(x), jnp.cosh(x), jnp.tanh(x)), (X,)),
    "roundings": (lambda x: (jnp.round(x), jnp.floor(x), jnp.ceil(x), jnp.trunc(x), lax.round(x), jnp.sign(x)), (X * 3,)),
    "comparisons": (lambda x, y: (x < y, x >= y, x == y, x != y, jnp.isnan(x), jnp.isinf(y), jnp.isfinite(x)), (X, Y)),
    "logic": (lambda x, y: jnp.where((x > 0) & ~(y > 0) | (x > y), x, y), (X, Y)),
    "clipping": (lambda x: (jnp.clip(x, -0.5, 0.5), jnp.maximum(x, 0.1), jnp.minimum(x, 0.1)), (X,)),
    "conversions": (lambda x: (x.astype(jnp.int32), x.astype(jnp.float16), x.astype(bool), x.astype(jnp.uint8)), (P * 9,)),
    "halves": (lambda x: (jnp.round(x * 8).astype(jnp.bfloat16) * 3).astype(jnp.float32), (X,)),
    "bit casts": (lambda x: lax.bitcast_convert_type(x, jnp.uint32), (X,)),
    "error function": (lambda x: (lax.erf(x), lax.erfc(x), lax.erf_inv(jnp.tanh(x))), (X,)),
    "gamma": (lambda x: (lax.lgamma(x), lax.digamma(x)), (P,)),
    "activations": (lambda x: (nn.relu(x), nn.gelu(x), nn.gelu(x, approximate=False), nn.silu(x), nn.elu(x), nn.softplus(x)), (X,)),
    "more activations": (lambda x: (nn.sigmoid(x), nn.leaky_relu(x), nn.hard_tanh(x), nn.relu6(x), nn.selu(x), nn.mish(x)), (X,)),
    "softmax": (lambda x: (nn.softmax(x), nn.log_softmax(x, 0), nn.logsumexp(x, 1)), (X,)),
    "normalisation": (layer_norm, (X, f32(4))),
    "reductions": (lambda x: (x.sum(), x.sum(0), x.prod(1), x.max(), x.min(0), x.mean((0, 1)), x.var(1), x.std(0)), (X,)),
    "integer sums": (lambda a: (a.sum(0), a.prod(1), a.max(1), a.min()), (M,)),
    "truth": (lambda x: ((x > 0).any(1), (x > -1).all(), (x > 0).sum(0)), (X,)),
    "extrema": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x)), (X,)),
    "cumulative": (lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cummin(x, 0), lax.cumsum(x, 1, reverse=True)),
                   (X,)),
    "shapes": (lambda x: (x.reshape(2, 6), x.T, x[None, :, None], jnp.squeeze(x[:1]), jnp.ravel(x)), (X,)),
    "slices": (lambda x: (x[1:, ::2], x[::-1], x[:, -1], x[..., 1:3]), (X,)),
    "joined": (lambda x, y: (jnp.concatenate([x, y], 1), jnp.stack([x, y]), jnp.tile(x, (2, 2)), jnp.repeat(x, 2, 0)), (X, Y)),
    "padded": (lambda x: (jnp.pad(x, ((1, 2), (0, 1))), jnp.pad(x, 1, mode="edge"), jnp.pad(x, 1, mode="reflect")), (X,)),
    "padded between": (lambda x, v: (lax.pad(x, 1.5, ((1, -1, 2), (0, 1, 1))), lax.pad(x, v, ((1, 0, 0), (0, 1, 1)))),
                       (X, np.float32(0.5))),
    "rolled": (lambda x: (jnp.roll(x, 1, 0), jnp.flip(x, 1), jnp.rot90(x), jnp.diff(x)), (X,)),
    "counting": (lambda x: (x + jnp.arange(4), jnp.linspace(0, 1, 5) * x[0, 0], jnp.eye(3) @ x, jnp.tri(3) @ x), (X,)),
    "constants": (lambda x: x + np.arange(12, dtype="float32").reshape(3, 4) / 7, (X,)),
    "truth constants": (lambda x: jnp.where(np.arange(40).reshape(4, 10) % 3 == 0, x, 0), (f32(4, 10),)),
    "products": (lambda a, b: (a @ b, a @ b[:, 0], jnp.dot(a[0], b[:, 1]), jnp.outer(a[0], b[0])), (X, f32(4, 5))),
    "einsum": (lambda a, b: (jnp.einsum("bij,bjk->bik", a, b), jnp.einsum("bij,bkj->ik", a, jnp.swapaxes(b, 1, 2)),
                             jnp.tensordot(a, b, ((0, 2), (0, 1)))), (f32(2, 3, 4), f32(2, 4, 5))),
    "convolution": (lambda x, w: lax.conv_general_dilated(x, w, (1, 2), "SAME"), (PLAIN, f32(4, 3, 3, 3))),
    "dilated convolution": (dilated, (PLAIN, f32(4, 3, 2, 3))),
    "grouped convolution": (lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "VALID", feature_group_count=3), (PLAIN, f32(6, 1, 3, 3))),
    "gradient of a convolution": (jax.grad(lambda w, x: (lax.conv_general_dilated(
        x, w, (2, 2), "SAME", feature_group_count=3) ** 2).sum(), (0, 1)), (f32(6, 1, 3, 3), PLAIN)),
    "pools": (lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 2), "SAME"),
                         lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 1, 2), "VALID")), (PLAIN,)),
    "gradient of a pool": (jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 2), "SAME") ** 2).sum()),
                           (PLAIN,)),
    "taken": (lambda x, i: (x[i], x[:, i[:2]], jnp.take(x, i, 1), x[i, i], x.ravel()[i]), (f32(5, 5), i32(0, 5, 4))),
    "taken out of range": (lambda x, i: (x[i], jnp.take(x, i, 0, mode="clip"), x.at[i].get(mode="fill", fill_value=7)),
                           (f32(5, 2), np.array([-1, 7, 2, -9], "int32"))),
    "taken along": (lambda x, i: jnp.take_along_axis(x, i, 1), (X, i32(0, 4, 3, 2))),
    "windows taken": (lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (k, 0), (2, 3)))(i), (f32(6, 4), i32(-2, 8, 5))),
    "written": (lambda x, i, y: (x.at[i].set(y), x.at[i].add(y), x.at[1:3].set(0), x.at[:, 2].mul(2), x.at[2].set(7),
                                x.at[i].multiply(y)),
                (f32(5, 4), np.array([3, 0, 3], "int32"), Y)),
    "written extrema": (lambda x, i, y: (x.at[i].max(y), x.at[i, i].min(y[:, 0])), (f32(5, 4), np.array([3, 0, 3], "int32"), Y)),
    "written out of range": (lambda x, i: (x.at[i].add(1.0), x.at[i, 0].set(5.0)), (f32(4, 3), np.array([-1, 9, 1, -8], "int32"))),
    "counts": (lambda i: (jnp.bincount(i, length=6), jnp.zeros((6, 6), jnp.int32).at[i, i[::-1]].add(1)), (i32(0, 6, 9),)),
    "segments": (lambda x, i: (jax.ops.segment_sum(x, i, 4), jax.ops.segment_max(x, i, 4)), (f32(9, 2), i32(0, 4, 9))),
    "gradient of taking": (jax.grad(lambda x, i: (x[i] ** 2).sum()), (f32(5, 4), i32(0, 5, 7))),
    "dynamic slices": (lambda x, i: (lax.dynamic_slice(x, (i, 1), (2, 2)), lax.dynamic_update_slice(x, x[:2] * 2, (i, 0)),
                                     lax.dynamic_index_in_dim(x, i, 1)), (f32(5, 4), np.int32(3))),
    "sorted": (lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0), jnp.sort(x, 1, descending=True), jnp.median(x, 1)), (X,)),
    "sorted pairs": (lambda a, b, x: (lax.sort((a, x)), jnp.lexsort((a, b)), lax.sort((a, b, x), num_keys=2)),
                     (i32(0, 3, 9), i32(0, 3, 9), f32(9))),
    "greatest": (lambda x: lax.top_k(x, 3), (X,)),
    "searched": (lambda x, y: (jnp.searchsorted(x, y), jnp.digitize(y, x), jnp.interp(y, x, x * 2)), (np.sort(f32(9)), f32(5))),
    "quantiles": (lambda x: (jnp.quantile(x, 0.3), jnp.percentile(x, 70.0, axis=0)), (X,)),
    "unrolled loop": (power_series, (X,)),
    "newton": (newton, (P,)),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), (X,)),
    "switch": (lambda k, x: lax.switch(k, [lambda v: v, lambda v: -v, lambda v: v * v], x), (np.int32(5), X)),
    "scan": (lambda x: lax.scan(lambda c, v: (jnp.sin(c) + v, c * v), jnp.zeros(4), x), (X,)),
    "reverse scan": (lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.zeros(4), x, reverse=True), (X,)),
    "scan of windows": (scanned_windows, (f32(5, 4),)),
    "nested scans": (lambda x: lax.scan(lambda c, row: (lax.scan(lambda d, v: (d * v + 1, None), c, row)[0], c), 1.0, x), (X,)),
    "gradient of a scan": (jax.grad(lambda x: lax.scan(lambda c, v: (jnp.sin(c) * v, c), jnp.ones(4), x)[0].sum()), (X,)),
    "mapped": (lambda x: lax.map(lambda v: jnp.sort(v) + v.sum(), x), (X,)),
    "associative scan": (lambda x: lax.associative_scan(lambda a, b: a * b + a, x), (f32(7, 2),)),
    "random numbers": (lambda k: (jax.random.normal(k, (3, 5)), jax.random.uniform(k, (4,)), jax.random.split(k)),
                       (np.array([3, 5], "uint32"),)),
    "random integers": (lambda k: (jax.random.randint(k, (6,), 0, 9), jax.random.permutation(k, 8), jax.random.bernoulli(k, 0.3, (9,))),
                        (np.array([3, 5], "uint32"),)),
    "multi-layer perceptron": (mlp, (PARAMS, f32(6, 4))),
    "training step": (step, (PARAMS, f32(6, 4), i32(0, 3, 6))),
    "training loop": (batch_of_steps, (PARAMS, f32(3, 6, 4), i32(0, 3, 3, 6))),
    "attention": (attention, (f32(2, 5, 8), f32(8, 24))),
    "gradient of attention": (jax.grad(lambda x, w: (attention(x, w) ** 2).sum(), (0, 1)), (f32(2, 5, 8), f32(8, 24))),
    "convolutional net": (conv_net, (IMAGE, f32(3, 3, 3, 4), f32(36, 5))),
    "step of a convolutional net": (jax.grad(lambda w, v, x: (conv_net(x, w, v) ** 2).mean(), (0, 1)),
                                    (f32(3, 3, 3, 4), f32(36, 5), IMAGE)),
    "lstm": (lstm, (f32(5, 2, 3), f32(3, 16), f32(4, 16))),
    "gradient of an lstm": (jax.grad(lambda w, u, x: lstm(x, w, u).sum(), (0, 1)), (f32(3, 16), f32(4, 16), f32(5, 2, 3))),
    "image resized": (lambda x: jax.image.resize(x, (2, 9, 4, 3), "bilinear"), (IMAGE,)),
    "one-hot": (lambda i: nn.one_hot(i, 5), (i32(0, 5, 7),)),
    "histogram": (lambda x: jnp.histogram(x, bins=4, range=(-2.0, 2.0))[0], (f32(20),)),
    "unique of a size": (lambda i: jnp.unique(i, size=4, fill_value=-1), (i32(0, 5, 9),)),
    "nonzero of a size": (lambda x: jnp.nonzero(x > 0, size=5, fill_value=0), (X,)),
    "where of rows": (lambda x, i: jnp.where((i > 2)[:, None], x, -x), (X, i32(0, 5, 3))),
    "polynomials": (lambda x: (jnp.polyval(jnp.array([1.0, -2.0, 0.5]), x), jnp.convolve(x[0], x[1]), jnp.cross(x[:, :3], x[:, 1:])), (X,)),
    "norms": (lambda x: (jnp.linalg.norm(x), jnp.linalg.norm(x, axis=1), jnp.cov(x), jnp.trace(x[:, :3])), (X,)),
}
