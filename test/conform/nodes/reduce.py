"""Reductions, products, normalisations and losses."""
import numpy as np

from nodes.node import Uncovered
from nodes.elementwise import choose, full_like
from nodes.shapes import gather_elements, reshape


def over(name):
    """A reduction over axes that are an attribute or an input."""
    def translate(n, x=None):
        x = n[0] if x is None else x
        axes, keep = n.ints("axes", 1), bool(n.get("keepdims", 1))
        if axes is not None and not axes:
            axes = None
        if axes is None and n.get("noop_with_empty_axes", 0):
            return x
        return n.like(n.do(name, x, axes=axes, keepdims=keep), x.dtype)
    return translate


def square(n, x):
    return n.do("mul", x, x)


def arg(name):
    def translate(n):
        axis, keep = n.axis(0), bool(n.get("keepdims", 1))
        if not n.get("select_last_index", 0):
            return n.do(name, n[0], axis=axis, keepdims=keep)
        at = n.do(name, n.do("flip", n[0], axes=[axis]), axis=axis, keepdims=keep)
        return n.do("sub", n[0].shape[axis] - 1, at)
    return translate


def along(name):
    """Softmax and similar operators: along one axis, or over all axes from that one on before operator set
    13."""
    def translate(n):
        if n.opset >= 13:
            return n.do(name, n[0], axis=n.axis(-1))
        axis, shape = n.axis(1), n[0].shape
        flat = reshape(n, n[0], [int(np.prod(shape[:axis], dtype=np.int64)), -1])
        return reshape(n, n.do(name, flat, axis=1), shape)
    return translate


def hardmax(n):
    axis = n.axis(-1)
    first = n.do("argmax", n[0], axis=axis, keepdims=True)
    at = n.do("iota", shape=n[0].shape, axis=axis, dtype="i64")
    return n.like(n.do("eq", at, n.do("expand", first, shape=n[0].shape)), n[0].dtype)


def gemm(n):
    a = n.do("swap_axes", n[0], axis1=0, axis2=1) if n.get("transA", 0) else n[0]
    b = n.do("swap_axes", n[1], axis1=0, axis2=1) if n.get("transB", 0) else n[1]
    y = n.do("mul", n.do("matmul", a, b), n.get("alpha", 1.0))
    return y if n[2] is None else n.do("add", y, n.do("mul", n[2], n.get("beta", 1.0)))


def einsum(n):
    return n.do("einsum", *n.inputs, equation='"' + n.get("equation").replace(" ", "") + '"')


def per_channel(n, value, rank):
    return value if value.rank == 0 else reshape(n, value, [-1] + [1] * (rank - 2))


def batch_normalization(n):
    x, rank = n[0], n[0].rank
    running_mean, running_var, results = n[3], n[4], []
    if n.get("training_mode", 0):
        axes, momentum = [k for k in range(rank) if k != 1], n.get("momentum", 0.9)
        mean, var = n.do("mean", x, axes=axes), n.do("var", x, axes=axes)
        results = [n.do("add", n.do("mul", old, momentum), n.do("mul", new, 1 - momentum))
                   for old, new in ((running_mean, mean), (running_var, var))]
    else:
        mean, var = running_mean, running_var
    scale, bias, mean, var = (per_channel(n, v, rank) for v in (n[1], n[2], mean, var))
    root = n.do("sqrt", n.do("add", var, n.get("epsilon", 1e-5)))
    y = n.do("add", n.do("mul", n.do("div", n.do("sub", x, mean), root), scale), bias)
    return [y] + results


def instance_normalization(n):
    axes = list(range(2, n[0].rank))
    normal = n.do("layer_norm", n[0], axis=2, eps=n.get("epsilon", 1e-5)) if axes else n[0]
    scale, bias = (per_channel(n, v, n[0].rank) for v in (n[1], n[2]))
    return n.do("add", n.do("mul", normal, scale), bias)


def layer_normalization(n):
    axis, eps = n.axis(-1), n.get("epsilon", 1e-5)
    y = n.do("layer_norm", *[v for v in n.inputs if v is not None], axis=axis, eps=eps)
    axes = list(range(axis, n[0].rank))
    var = n.do("var", n[0], axes=axes, keepdims=True)
    return [y, n.do("mean", n[0], axes=axes, keepdims=True), n.do("rsqrt", n.do("add", var, eps))]


def mean_variance(n):
    axes = list(n.get("axes", [0, 2, 3]))
    mean, std = n.do("mean", n[0], axes=axes, keepdims=True), n.do("std", n[0], axes=axes, keepdims=True)
    return n.do("div", n.do("sub", n[0], mean), n.do("add", std, 1e-9))


def local_response(n):
    """Each channel divided by a power of the mean of squares of the neighbouring channels."""
    size, channels = n.get("size"), n[0].shape[1]
    before = (size - 1) // 2
    pads = [[before, size - 1 - before] if k == 1 else [0, 0] for k in range(n[0].rank)]
    padded = n.do("pad", square(n, n[0]), pads=pads)
    total = None
    for k in range(size):
        bounds = [[k, k + channels] if a == 1 else [0, s] for a, s in enumerate(n[0].shape)]
        part = n.do("shrink", padded, bounds=bounds)
        total = part if total is None else n.do("add", total, part)
    inner = n.do("add", n.do("mul", total, n.get("alpha", 1e-4) / size), n.get("bias", 1.0))
    return n.do("div", n[0], n.do("pow", inner, n.get("beta", 0.75)))


def likelihood_loss(n, logs, target, weight):
    """Minus the logarithm at the target's class, weighted, unless the target is to be ignored."""
    ignore, reduction = n.get("ignore_index"), n.get("reduction", "mean")
    target = n.like(target, "i64")
    used = None if ignore is None else n.do("ne", target, ignore)
    safe = target if used is None else choose(n, used, target, full_like(n, target, 0))
    n.inputs, n.attributes = [logs, n.do("unsqueeze", safe, axis=1)], {"axis": 1}
    loss = n.do("neg", n.do("squeeze", gather_elements(n), axis=1))
    weights = full_like(n, loss, 1) if weight is None else n.do("gather", weight, safe, axis=0)
    if used is not None:
        weights = choose(n, used, weights, full_like(n, weights, 0))
    loss = n.do("mul", loss, weights)
    if reduction == "none":
        return loss
    total = n.do("sum", loss)
    return total if reduction == "sum" else n.do("div", total, n.do("sum", weights))


def cross_entropy(n):
    target, weight, with_logs = n[1], n[2], n.wants(1)
    logs = n.do("log_softmax", n[0], axis=1)
    loss = likelihood_loss(n, logs, target, weight)
    return [loss, logs] if with_logs else loss


def determinant(n):
    if n[0].shape[-2:] != (2, 2):
        raise Uncovered("determinants of more than 2 by 2")
    a, b, c, d = (n.do("point", n.do("point", n[0], index=i, axis=-2), index=j, axis=-1)
                  for i in (0, 1) for j in (0, 1))
    return n.do("sub", n.do("mul", a, d), n.do("mul", b, c))


TABLE = {
    "ReduceSum": over("sum"), "ReduceProd": over("prod"), "ReduceMax": over("max"), "ReduceMin": over("min"),
    "ReduceMean": over("mean"), "ReduceLogSumExp": over("logsumexp"),
    "ReduceL1": lambda n: over("sum")(n, n.do("abs", n[0])),
    "ReduceL2": lambda n: n.do("sqrt", over("sum")(n, square(n, n[0]))),
    "ReduceSumSquare": lambda n: over("sum")(n, square(n, n[0])),
    "ReduceLogSum": lambda n: n.do("log", over("sum")(n)),
    "ArgMax": arg("argmax"), "ArgMin": arg("argmin"),
    "Softmax": along("softmax"), "LogSoftmax": along("log_softmax"), "Hardmax": hardmax,
    "MatMul": lambda n: n.do("matmul", n[0], n[1]), "Gemm": gemm, "Einsum": einsum, "Det": determinant,
    "BatchNormalization": batch_normalization, "InstanceNormalization": instance_normalization,
    "LayerNormalization": layer_normalization, "MeanVarianceNormalization": mean_variance,
    "LRN": local_response,
    "NegativeLogLikelihoodLoss": lambda n: likelihood_loss(n, n[0], n[1], n[2]),
    "SoftmaxCrossEntropyLoss": cross_entropy,
}
