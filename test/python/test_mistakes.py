"""Mistakes of people who have not read the manual: what is wrong, and what would do, is in the message."""

import math
import pickle
import tempfile
import unittest

from common import Case, np, vf

def _sized(x: vf.Dim("n", 1, 8)):
    return x


# what is written, the exception, a part of its message
X = vf.array(np.ones((2, 3), "float32"))

def _raise(error):
    raise error


def _set(name, value, x=X):
    return lambda: setattr(x, name, value)


ROWS = (
    (lambda: X.size(), TypeError, r"x\.size is the number of elements, without parentheses; x\.shape is the sizes of the axes"),
    (_set("shape", (3, 2)), AttributeError, r"the shape of an array stays; x\.reshape\(shape\) is another array"),
    (_set("dtype", "int32"), AttributeError, r"the dtype of an array stays; x\.astype\(dtype\) is another array"),
    (_set("T", X), AttributeError, r"the T of an array stays; y\.T is another array"),
    (_set("ndim", 3), AttributeError, "the ndim of an array stays: it is computed"),
    (_set("requires_grad", True), AttributeError, r"arrays have no requires_grad that can be set; derivatives are of functions"),
    (_set("label", 1), AttributeError, "arrays have no label that can be set; what belongs to an array is kept beside it"),
    (_set("shape", (3, 2), vf.Ref(X)), AttributeError, r"the shape of a Ref stays; r\.reshape\(shape\) is a view of its memory"),
    (_set("dtype", "i32", vf.Ref(X)), AttributeError, "the dtype of a Ref stays; "),
    (lambda: X.flatten(1), TypeError, r"flatten makes one axis of all, and takes nothing; x\.reshape\(x\.shape\[0\], -1\) keeps the first"),
    (lambda: X.flatten(start_dim=1), TypeError, "flatten makes one axis of all"),
    (lambda: vf.transpose(X, 0, 1), TypeError, r"as one tuple, as in transpose\(x, \(0, 1\)\); two axes are exchanged by vf\.swapaxes\(x, a, b\)"),
    (lambda: vf.maximum.reduce(X), TypeError, r"maximum has no reduce; vf\.max\(x, axis=0\)"),
    (lambda: vf.divide.reduce(X), TypeError, r"divide has no reduce; vf\.scan goes through an axis"),
    (lambda: vf.add.accumulate(X), TypeError, r"add has no accumulate; vf\.cumulative_sum\(x, axis=0\)"),
    (lambda: vf.power.accumulate(X), TypeError, r"power has no accumulate; vf\.scan goes through an axis"),
    (lambda: vf.multiply.outer(X, X), TypeError, r"multiply has no outer; vf\.multiply\(x\[:, None\], y\)"),
    (lambda: vf.add.at(X, 0, 1), TypeError, r"add\.at writes into its argument, and arrays do not change; x = x\.at\[i\]\.add\(y\)"),
    (lambda: vf.power.at(X, 0, 1), TypeError, r"x = x\.at\[i\]\.set\(y\), with the elements computed before"),
    (lambda: X.reshape(2.5), TypeError, r"reshape: the shape is 2\.5; takes integers"),
    (lambda: vf.cond(vf.array(True), lambda x: x, lambda x: -x), TypeError, r"then takes 1 argument, and is called with 0: the operands, "
     r"which stand behind the functions, as in vf\.cond\(p, f, g, x\)"),
    (lambda: vf.while_loop(lambda a, b: a < b, lambda a, b: (a, b), (1, 2)), TypeError, "condition takes 2 arguments, and is called with 1: the state"),
    (lambda: vf.scan(lambda c: c, 1, vf.ones(3)), TypeError, "body takes 1 argument, and is called with 2: the carry, and an element of xs"),
    (lambda: vf.fori_loop(0, 3, lambda s: s, 1), TypeError, "called with 2: the number of the iteration, and the state"),
    (lambda: vf.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 1.5), (0, vf.ones(2, dtype="int32"))), TypeError,
     r"state\[1\] is int32\[2\] before an iteration, and float32\[2\] after it; both must be the same"),
    (lambda: vf.scan(lambda c, x: ({"a": c["a"] * 1.5}, x), {"a": 1}, vf.ones(3)), TypeError, r"carry\['a'\] is int32\[\] before"),
    (lambda: vf.Mesh(np.array([0, 1]), ("x",)), TypeError, r"sizes of named axes, as in Mesh\(x=2, y=4\)"),
    (lambda: vf.jit(_sized), TypeError, r"the annotation of x is the size Dim\('n', 1, 8, 1\); annotate .* as in x: vf\.Array\[n, 3\]"),
    (lambda: vf.ones(3) == [1, 1, 1], TypeError, "an operand is a list; lists become arrays by vf.array"),
    (lambda: vf.var(vf.ones(3), ddof=1), TypeError, r"var: ddof is called correction here, as in var\(x, correction=...\)"),
    (lambda: vf.nn.softmax(vf.ones(3), dim=0), TypeError, "softmax: dim is called axis here"),
    (lambda: vf.sort(vf.ones(3), reverse=True), TypeError, "sort: reverse is called descending here"),
    (lambda: vf.ones(3).max(keepdim=True), TypeError, "max: keepdim is called keepdims here"),
    (lambda: vf.nn.max_pool(vf.ones((1, 1, 4, 4)), kernel_size=2), TypeError, "max_pool: kernel_size is called kernel here"),
    (lambda: vf.random.normal(1, size=(2,)), TypeError, "normal: size is called shape here"),
    (lambda: vf.nn.softmax(vf.ones(3), temperature=2), TypeError, "softmax has no option temperature; its options are x, axis"),
    (lambda: vf.collectives.psum(vf.ones(3), "x"), AttributeError, r"viewfold\.collectives has no psum; vf\.collectives\.all_reduce\(x, over='x'\)"),
    (lambda: vf.tensor([1, 2]), AttributeError, r"viewfold has no tensor; vf\.array\(\[1\.0, 2\.0\]\)"),
    (lambda: vf.jit(lambda x: vf.callback(np.sin, x))(vf.ones(3)), TypeError, r"vf\.callback\(np\.sin, x, x\); there are no arrays"),
    (lambda: vf.callback(vf.ones(3), np.sin, vf.ones(3)), TypeError, "the function is Array"),
    (lambda: vf.jit(lambda x: vf.callback(lambda v: v.sum(), x, x))(vf.ones(3)), RuntimeError,
     r"has raised ValueError: callback: <lambda> gives shape \(\), and like, the second argument, has shape \(3,\); both must be the same"),
    (lambda: vf.concat(vf.ones((2, 3)), vf.ones((2, 3))), TypeError, r"concat\(\[a, b\], axis=0\)"),
    (lambda: vf.stack(vf.ones((2, 3)), vf.ones((2, 3))), TypeError, r"stack\(\[a, b\], axis=0\)"),
    (lambda: vf.conv2d(vf.ones((1, 3, 8, 8)), vf.ones((4, 3, 3, 3))), AttributeError, r"vf\.nn\.conv\(x, weight"),
    (lambda: vf.random.seed(0), AttributeError, "random functions take a seed"),
    (lambda: vf.apply("softmax", vf.ones(3)), TypeError, r"operands are a tuple: apply\('softmax', \(x,\)\)"),
    (lambda: vf.apply("cummax", (vf.ones(3),), axis=0), TypeError, "'axis=0'"),
    (lambda: vf.random.normal((3, 3)), TypeError, r"normal: the seed, an integer, is the first argument, and the shape the second"),
    (lambda: vf.tap(vf.ones(3), "name"), TypeError, r"tap takes an array and a function .* got Array and str"),
    (lambda: vf.array([300], dtype="int8"), OverflowError, r"out of the range of int8, -128 to 127"),
    (lambda: vf.nn.cross_entropy(1, 2), AttributeError, r"viewfold\.nn has no cross_entropy; -vf\.take_along_axis"),
    (lambda: vf.ones(3).masked_fill(1), AttributeError, r"arrays have no masked_fill; vf\.where\(mask, value, x\)"),
    (lambda: vf.config, AttributeError, "viewfold has no config; there are no switches"),
    (lambda: vf.full((2,), "a"), TypeError, "'a': str is no array; arrays are made of numbers"),
    (lambda: vf.max(vf.ones(3), vf.ones(3)), TypeError, r"the max of each two elements is vf\.maximum\(x, y\)"),
    (lambda: vf.sort(vf.ones((2, 3)), axis=None), TypeError, r"got None; all elements are one axis of x\.reshape\(-1\)"),
    (lambda: vf.arange(10, step="a"), TypeError, "arange: step is 'a', of type str"),
    (lambda: vf.grad(lambda x: 3.0)(vf.ones(3)), TypeError, "gives 3.0, which is not computed from its arguments"),
    (lambda: vf.fori_loop(0, vf.ones(2), lambda i, c: c, 0.0), TypeError, r"a bound is an array of shape \(2,\)"),
    (lambda: vf.save("x.txt", vf.ones(3)), TypeError, "x.txt has no name of a file of arrays"),
    (lambda: vf.save("x.npy", {"w": vf.ones(3)}), TypeError, "x.npy holds one array, without a name"),
    (lambda: vf.part(vf.ones(3), 0), ValueError, r"vf\.set_mesh\(vf\.Mesh\(x=2, y=4\)\) gives it one"),
    (lambda: vf.rearrange(vf.ones((2, 3)), "b c", "c b"), TypeError, r"it is rearrange\(x, pattern, \*\*sizes\)"),
    (lambda: vf.sum(vf.ones(3), out=3), TypeError, "sum has no option out; the result is a new array"),
    (lambda: vf.split(), TypeError, r"it is split\(x, parts, axis=0\)"),
    (lambda: vf.grad(vf.ones(3)), TypeError, "grad takes a function"),
    (lambda: vf.jit(3), TypeError, "jit takes a function"),
    (lambda: vf.checkpoint(vf.ones(3)), TypeError, "checkpoint takes a function"),
    (lambda: vf.profile(vf.ones(3)), TypeError, "profile takes a function"),
    (lambda: vf.grad(lambda x, y: (x * y).sum(), argnums=2)(vf.ones(3), vf.ones(3)), IndexError, "argnums has 2"),
    (lambda: vf.jit(lambda x, mode: x)(vf.ones(3), "fast"), TypeError, "static_argnames"),
    (lambda: vf.vmap(lambda x: x.sum())(vf.array(3.0)), ValueError, r"axis 0 of array 0 .* shape \(\)"),
    (lambda: vf.Dim("n", 5, 2), ValueError, "n from 5 to 2"),
    (lambda: vf.Dim(3), TypeError, "the name is 3"),
    (lambda: np.arange(vf.Dim("n", 1, 8)), TypeError, r"Dim\('n', 1, 8, 1\) is a range of sizes"),
    (lambda: range(vf.Dim("n", 1, 8)), TypeError, r"vf\.arange\(x\.shape\[0\]\)"),
    (lambda: vf.cat([vf.ones(3)]), AttributeError, "viewfold has no cat; it is viewfold.concat"),
    (lambda: vf.mm(vf.ones((2, 2)), vf.ones((2, 2))), AttributeError, "it is viewfold.matmul"),
    (lambda: vf.relu6(vf.ones(3)), AttributeError, r"vf\.clip\(x, 0, 6\)"),
    (lambda: vf.addmm(vf.ones(3)), AttributeError, "as operations of viewfold.apply it is %m = matmul"),
    (lambda: vf.save({"w": vf.ones(3)}, "w.npz"), TypeError, "the path first"),
    (lambda: vf.callback(lambda x: x, vf.ones(2), vf.ones(3)).tolist(), ValueError, r"gives shape \(3,\)"),
    (lambda: vf.print("x is {} {}", vf.ones(3)), TypeError, "at most one {}"),
    (lambda: vf.eye(-1), ValueError, "-1 rows"),
    (lambda: vf.ones((2, 3)).argmax(axis=(0, 1)), TypeError, "an axis is an integer"),
    (lambda: vf.roll(vf.ones(3), 1, axis=2), IndexError, "roll: axis 2"),
    (lambda: vf.moveaxis(vf.ones((2, 3)), 0, 5), IndexError, "moveaxis: axis 5"),
    (lambda: vf.split(vf.ones(4), 0), ValueError, "split: 0 parts"),
    (lambda: vf.repeat(vf.ones(3), -1), ValueError, "repeat: -1 times"),
    (lambda: vf.searchsorted(vf.ones((2, 3)), vf.ones(3)), ValueError, "one axis"),
    (lambda: vf.grad(lambda x: x.sum(), argnums="x")(vf.ones(3)), TypeError, "positions of arguments"),
    (lambda: vf.value_and_grad(lambda x: (x.sum(), x))(vf.ones(3)), TypeError, "has_aux=True"),
    (lambda: vf.jvp(lambda x: x * 2, vf.ones(3), vf.ones(3)), TypeError, "primals are a tuple"),
    (lambda: vf.export(lambda x: x * 2, vf.ones(3))(x=vf.ones(3), y=1), TypeError, "there is no y"),
    (lambda: np.linalg.svd(vf.ones((2, 2))), TypeError, r"no numpy\.linalg\.svd"),
    (lambda: vf.einsum(vf.ones((2, 3)), "ij->ji"), TypeError, r"einsum\('ij,jk->ik', a, b\)"),
    (lambda: vf.jit(lambda x: np.nonzero(x))(vf.ones(3)), TypeError, r"nonzero: how many .* vf\.where"),
    (lambda: vf.jit(lambda x: vf.unique_values(x))(vf.ones(3)), TypeError, r"unique: how many .* vf\.where"),
    (lambda: vf.array(np.array(["a", "b"])), TypeError, "strings: give numbers"),
    (lambda: vf.ones(2) + np.array([1, None]), TypeError, r"a\.astype\('float32'\)"),
    (lambda: vf.array(np.ones(2, ">f4")), TypeError, "newbyteorder"),
    (lambda: vf.array(np.ones(2, "complex64")), TypeError, r"a\.real"),
    (lambda: vf.array(np.ones(2, [("x", "f4"), ("y", "f4")])), TypeError, r"a\['name'\]"),
    (lambda: vf.ones(3) + np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), TypeError, r"a\.filled\(0\)"),
    (lambda: vf.ones(2) * np.matrix([[1.0, 2.0]]), TypeError, r"numpy\.asarray\(a\)"),
    (lambda: vf.jit(lambda x: np.add(x, 1, where=x > 0))(vf.ones(3)), TypeError, r"no where; use vf\.where"),
    (lambda: vf.jit(lambda x: np.sum(x, initial=5))(vf.ones(3)), TypeError, "no initial; combine"),
    (lambda: vf.jit(lambda x: np.where(x > 0))(vf.ones(3)), TypeError, r"nonzero: how many .* vf\.where"),
    (lambda: vf.where(vf.ones(3) > 0, 1), TypeError, r"vf\.where\(x > 0, x, 0\)"),
    (lambda: vf.jit(lambda x, i: x[i:i + 2])(vf.ones(3), np.int32(1)), TypeError, r"x\[i \+ vf\.arange\(n\)\]"),
    (lambda: vf.jit(lambda i: np.ones(3)[i])(np.int32(1)), TypeError, r"vf\.asarray\(a\)\[x\]"),
    (lambda: vf.jit(_measured)(vf.ones(3)), TypeError, r"x\.shape\[0\] computes"),
    (lambda: vf.jit(_made)(vf.ones(3)), NotImplementedError, r"vf\.zeros\(x\.shape\[0\]\)"),
    (lambda: vf.ones(3).real, AttributeError, "no complex numbers"),
    (lambda: vf.ones(3).sort(), AttributeError, r"vf\.sort\(x\)"),
    (lambda: vf.ones(3).searchsorted(1), AttributeError, r"vf\.searchsorted\(x\)"),
    (lambda: setattr(vf.ones(4), "shape", (2, 2)), AttributeError, r"x\.reshape\(shape\)"),
    (lambda: vf.take(vf.ones(3), [0], mode="fill"), ValueError, "'clip' or 'wrap'"),
    (lambda: vf.array([1.0, 2.0])[vf.array([5]) + 0].tolist(), IndexError,
     r"gather .*test_mistakes\.py:\d+.*\[0\] is 5, but axis 0 .* has 2 elements.* -2 to 1"),
    (lambda: vf.zeros(2, 3), TypeError, r"zeros\(\(2, 3\)\)"),
    (lambda: vf.ones(2.5), TypeError, "an integer or a tuple"),
    (lambda: vf.arange(0, 1, 0), ValueError, "the step from 0 to 1 is 0"),
    (lambda: vf.asarray(np.array(["2020-01-01"], dtype="datetime64[D]")), TypeError, "datetime64"),
    (lambda: vf.asarray(np.ones(2, complex)), TypeError, "complex|'Zd'"),
    (lambda: vf.from_dlpack([1, 2]), TypeError, "vf.array"),
    (lambda: vf.ones(3) + [1, 2, 3], TypeError, "vf.array"),
    (lambda: [1, 2, 3] * vf.ones(3), TypeError, "vf.array"),
    (lambda: bool(vf.ones(3) == vf.ones(3)), TypeError, r"\.all\(\)"),
    (lambda: vf.ones(3).backward(), AttributeError, "vf.grad"),
    (lambda: vf.ones(3).add_(1), AttributeError, "vf.Ref"),
    (lambda: vf.ones(3).view(-1), AttributeError, "reshape"),
    (lambda: vf.ones(3).cuda(), AttributeError, "VIEWFOLD_DEVICE"),
    (lambda: vf.ones(3).unheard, AttributeError, "no unheard"),
    (lambda: vf.ones((2, 3)).sum(dim=1), TypeError, "axis=..."),
    (lambda: vf.jit(lambda x, axis: x.sum(axis))(vf.ones((2, 3)), 1), TypeError, "static_argnames='axis'"),
    (lambda: vf.jit(lambda x: "a")(vf.ones(3)), TypeError, "returns 'a'"),
    (lambda: vf.jit(lambda x: None)(vf.ones(3)), ValueError, "what is computed is returned"),
    (lambda: _Net()(vf.ones(3)), TypeError, "static_argnums=0"),
    (lambda: vf.jit(lambda x: x * 2)(np.ones(3, "f"), out=np.zeros(4, "f")), ValueError, r"shape \(3,\) and dtype .*float32"),
    (lambda: vf.jit(lambda x: x if x.sum() > 0 else -x)(vf.ones(3)), TypeError, "vf.where, vf.cond"),
    (lambda: vf.jit(lambda x: np.asarray(x) + 1)(vf.ones(3)), TypeError, "is being traced"),
    (lambda: vf.jit(lambda x: x[x > 0])(vf.ones(3)), IndexError, r"vf.where\(mask, x, other\)"),
    (lambda: _leaked() + 1, TypeError, "return it"),
    (lambda: _leaked().tolist(), TypeError, "return it"),
    (lambda: vf.linalg.inv(vf.ones((2, 2))), AttributeError, "numpy.linalg.inv"),
    (lambda: vf.nn.Linear(2, 3), AttributeError, "x @ w"),
    (lambda: vf.lax.scan, AttributeError, "vf.scan"),
    (lambda: f"{vf.ones(3):.2f}", TypeError, r"format x\[i\]"),
    (lambda: vf.fori_loop(0, 3.5, lambda i, c: c, vf.ones(3)), TypeError, "bounds are integers"),
    (lambda: vf.vmap(lambda a: a, in_axes="x")(vf.ones(3)), TypeError, "in_axes is 'x'"),
    (lambda: vf.tree.map(lambda a, b: a + b, {"a": 1}, {"b": 1}), ValueError, r"keys \['a'\] and \['b'\]"),
    (lambda: pickle.dumps(vf.jit(lambda x: x)), TypeError, "pickled by its name"),
    (lambda: vf.ones(3).__delitem__(0), TypeError, "vf.concat"),
    (lambda: vf.ones(3).at.__setitem__(0, 1), TypeError, r"x.at\[i\].set"),
    (lambda: vf.ones(3).at[0](1), TypeError, r"x.at\[i\].set"),
    (lambda: vf.grad(lambda p: p["w"].sum())({"w": vf.ones(3), "name": "relu"}), TypeError, "'relu'.*surroundings"),
    (lambda: _compares(np.ones((3, 2), "f")), TypeError, "how it compares"),
    (lambda: vf.linalg.svdd, AttributeError, "it has matmul"),
    (lambda: _annotated(np.ones(3, "f")), ValueError, r"x has shape \(3,\); its annotation says \[n from 1 to 8, 2\], 2 axes"),
    (lambda: _annotated(np.ones((9, 2), "f")), ValueError, r"shape \(9, 2\); its annotation says \[n from 1 to 8, 2\]"),
    (lambda: _annotated(x=np.ones((4, 3), "f")), ValueError, r"shape \(4, 3\); its annotation"),
    (lambda: vf.clip(vf.ones(3), a_min=0), TypeError, "min=0, max=1"),
    (lambda: np.add.at(vf.ones(3), [0], 1), TypeError, r"x.at\[i\].add\(y\)"),
    (lambda: np.add.accumulate(vf.ones(3)), TypeError, "outside of traced functions"),
    (lambda: vf.save("f.npz", doubled), TypeError, "vf.export"),
    (lambda: vf.save("f.npz", {"f": doubled}), TypeError, "'?f'? is a function.*vf.export"),
    (lambda: vf.save("f.npz", vf.ones(2)), TypeError, "arrays by name"),
    (lambda: vf.save("f.npz", {"a": {"b": vf.ones(2)}}), TypeError, "'layer.w'"),
    (lambda: vf.export(doubled), TypeError, r"takes x; .* vf.export\(doubled"),
    (lambda: _endless(vf.ones(3)), RecursionError, "vf.while_loop"),
    (lambda: vf.jit(lambda x: (f"{x:.2f}", x)[1])(vf.ones(())), TypeError, "vf.print"),
    (lambda: vf.jit(lambda x, y: max(x, y))(vf.ones(()), vf.ones(())), TypeError, "vf.maximum"),
    (lambda: vf.jit(sorted)(vf.ones(3)), TypeError, "vf.sort"),
    (lambda: vf.jit(lambda x: (pickle.dumps(x), x)[1])(vf.ones(3)), TypeError, "cannot be pickled"),
    (lambda: vf.jit(lambda x: float(x))(vf.ones(())), TypeError, "in place of float"),
    (lambda: vf.jit(lambda x: [x for _ in range(x)])(vf.array(3)), TypeError, "vf.fori_loop"),
    (lambda: vf.scan(lambda c, x: (c, None), vf.ones(()), (vf.ones(3), vf.ones(4))), ValueError, r"xs\[0\] has 3 .* xs\[1\] has 4"),
    (lambda: vf.scan(lambda c, x: (c, None), vf.ones(()), {"a": vf.ones(3)}, length=4), ValueError, r"xs\['a'\] has 3"),
    (lambda: vf.scan(lambda c, x: (c, None), vf.ones(()), vf.ones(())), ValueError, "no axes"),
    (lambda: vf.scan(lambda c, x: (c, None), vf.ones(())), ValueError, "length=n"),
    (lambda: vf.asarray(np.ma.array([1.0, 2.0], mask=[0, 1])), TypeError, "filled"),
    (lambda: vf.ones(3, device="cuda"), ValueError, "VIEWFOLD_DEVICE"),
    (lambda: vf.arange(3, device="cuda"), ValueError, "VIEWFOLD_DEVICE"),
    (lambda: vf.jit(lambda x, n: x, static_argnums=1)(vf.ones(3), np.ones(3)), TypeError, "is hashable.*not static"),
    (lambda: vf.jit(lambda x: x, static_argnames="n"), ValueError, "no argument 'n'.*takes x"),
    (lambda: vf.jit(lambda x: x, static_argnums=3), ValueError, "no argument 3"),
    (lambda: vf.jit(lambda x: np.array([x[0], 1.0]))(vf.ones(3)), TypeError, "vf.stack"),
    (lambda: vf.jit(lambda x: x.item())(vf.ones(())), TypeError, "use it as it is"),
    (lambda: np.linalg.norm(vf.ones((2, 2)), 1), TypeError, "matrix_norm"),
    (lambda: vf.grad(lambda x: x.sum(), has_aux=True)(vf.ones(3)), TypeError, "returns a pair"),
    (lambda: vf.scan(vf.ones(3), lambda c, x: (c, x), vf.ones(3)), TypeError, r"scan\(body, init, xs\)"),
    (lambda: vf.cond(True, vf.ones(3), vf.ones(3)), TypeError, r"cond\(predicate, then, otherwise"),
    (lambda: vf.while_loop(vf.ones(3), lambda s: s, lambda s: s), TypeError, r"while_loop\(condition, body, init\)"),
    (lambda: vf.fori_loop(0, 3, vf.ones(3), lambda i, c: c), TypeError, r"fori_loop\(lower, upper, body, init\)"),
    (lambda: vf.fori_loop(0, 3, lambda i, c: c * 1.5, vf.array([1])), TypeError, r"astype"),
    (lambda: vf.cond(True, lambda x: x, lambda x: None, vf.ones(3)), ValueError, "functions of a condition return equally many"),
    (lambda: X.mean(1, True), TypeError, "mean: the axis alone stands without a name, as in x.mean\\(1, keepdims=True\\), and got 1, True"),
    (lambda: vf.vmap(lambda a, b: a, in_axes=(0,))(X, X), ValueError, "vmap: in_axes has 1 entries, and the function is called with 2"),
    (lambda: vf.save("x.npy"), TypeError, "it is save\\(path, arrays\\)"),
    (lambda: vf.tile(X), TypeError, "it is tile\\(x, repetitions\\)"),
    (lambda: vf.load_onnx("m.onnx"), AttributeError, "viewfold has no load_onnx; vf.load_program\\('model.onnx'\\) reads a model"),
    (lambda: vf.compile(lambda a: a), TypeError, "compile takes the text of a graph; a Python function is compiled by vf.jit\\(f\\)"),
    (lambda: vf.compile(3), TypeError, "compile takes the text of a graph, and got int"),
    (lambda: list(vf.array(1)), TypeError, "nothing to iterate over; float\\(x\\), int\\(x\\) or x.item\\(\\)"),
    (lambda: vf.zeros_like((2, 2)), TypeError, "zeros_like takes an array, .* vf.zeros\\(shape\\) takes a shape"),
    (lambda: vf.fori_loop(0, X.sum(), lambda i, c: c, X), TypeError, "fori_loop: a bound is an array of float32; bounds are integers"),
    (lambda: vf.cond(lambda: True, lambda a: a, lambda a: a, X), TypeError, "the predicate is a truth value, as x.sum\\(\\) > 0, and got a function"),
    (lambda: vf.nn.layer_norm(X, (3,)), TypeError, "the weight is an array, and got \\(3,\\)"),
    (lambda: X.at[0].plus(1), AttributeError, "x.at\\[i\\] has no plus; it has get\\(\\), and set\\(y\\), add\\(y\\)"),
    (lambda: X[:, :, 0], IndexError, r"an index of 3 axes for an array of 2 axes, of shape \(2, 3\)"),
    (lambda: vf.fori_loop(0, 3, lambda state, i: state[0] + i, X), IndexError,
     r"an array of 0 axes, of shape \(\); fori_loop calls body\(i, state\), i the number of the iteration"),
    (lambda: vf.scan(lambda x, carry: (carry, x[0]), vf.zeros(()), X[0]), IndexError, r"scan calls body\(carry, x\), x an element of xs"),
    (lambda: vf.while_loop(lambda s: s[0] > 0, lambda s: s, vf.zeros(())), IndexError, r"while_loop calls condition\(state\), of the form of init"),
    (lambda: vf.cond(True, lambda a: a[0], lambda a: a, vf.zeros(())), IndexError, r"cond calls then\(\*operands\), in their order"),
    (lambda: vf.concatenate(vf.ones(2), vf.ones(2)), TypeError, r"concatenate takes a list of arrays and an axis, as in concatenate\(\[a, b\], axis=0\)"),
    (lambda: vf.jit(lambda x, k: x, static_argnums=1)(X, [0, 2]), TypeError, "k is of type list; give a tuple: a static argument is hashable"),
    (lambda: X[0][0][0], IndexError, "an index of 1 axis for an array of 0 axes, of shape \\(\\)"),
    (lambda: vf.compile("graph @f(%x: f32[2]) {\n  return %x\n}\n").run(X), AttributeError, "a Program has no run; it is called"),
    (lambda: vf.arange(X), TypeError, "arange: stop is an array of shape"),
    (lambda: vf.array(range(3)), TypeError, "range is no array: .*; vf.array\\(list\\(x\\)\\) takes its elements"),
    (lambda: X.reshape("3,2"), TypeError, "reshape: the shape is the text '3,2'; takes sizes"),
    (lambda: vf.load("f.vf"), ValueError, "load reads arrays, and f.vf is a graph, which vf.load_program reads"),
    (lambda: vf.apply("topk", (X,), "k=2"), ValueError, "vf.apply\\('topk', operands, attributes, 2\\) gives them all"),
    (lambda: vf.show(X), AttributeError, "`viewfold show` writes pages of files"),
    (lambda: vf.vmap(lambda x: x, out_axes="x")(vf.ones((2, 3))), TypeError, "out_axes is 'x'"),
    (lambda: vf.random.permutation(1, 3), AttributeError, "argsort"),
    (lambda: vf.hessian, AttributeError, "vf.grad"),
    (lambda: vf.switch, AttributeError, "vf.cond"),
    (lambda: vf.profile(doubled, form="html")(vf.ones(3)), ValueError, "no form 'html'"),
    (lambda: vf.nn.gelu(X, approximate="tan"), ValueError, "gelu: approximate is 'tan'; takes True or 'tanh', False or 'none'"),
    (lambda: vf.repeat(vf.array([1, 2, 3]), [1, 2]), ValueError, "repeat: 2 repetitions for the 3 elements of axis 0; takes one for each"),
    (lambda: np.repeat(X, [1, 2, 3], axis=0), ValueError, "repeat: 3 repetitions for the 2 elements of axis 0"),
    (lambda: np.searchsorted(X[0], 2.0, side="middle"), ValueError, "searchsorted: side is 'middle'; takes 'left' or 'right'"),
    (lambda: np.moveaxis(X, [0, 1], [1, 1]), ValueError, "moveaxis: the destination has axis 1 twice; takes each axis once"),
    (lambda: vf.moveaxis(X, [0, 1], [1]), ValueError, "moveaxis: 2 sources and 1 destinations; takes as many of both"),
    (lambda: vf.eye(2.5), TypeError, "eye: the rows are 2.5; takes an integer"),
    (lambda: vf.eye((2, 3)), TypeError, r"eye: the rows are \(2, 3\); takes an integer, as in eye\(2, 3\)"),
    (lambda: vf.linspace(X[0], X[1], 3), TypeError, r"linspace: start is an array of shape \(3,\); start and stop are numbers"),
    (lambda: vf.nn.rms_norm(X, 1e-5), TypeError, "rms_norm.*the weight is an array, and got 1e-05; it is eps=1e-05"),
    (lambda: vf.nn.rms_norm(X, (3,)), TypeError, r"rms_norm.*the weight is an array, and got \(3,\)"),
    (lambda: vf.nn.layer_norm(X, vf.ones(3), 1e-5), TypeError, "layer_norm.*the bias is an array, and got 1e-05; it is eps=1e-05"),
    (lambda: vf.export(lambda x: x, (2, 3)), TypeError, r"export: argument 0 is \(2, 3\), numbers and not an array; .* as of vf.ones\(\(2, 3\)\)"),
    (lambda: vf.jit(lambda n: vf.fori_loop(0, n, lambda i, c: c + i, 0))(vf.array(3)), TypeError, "fori_loop: a bound is an array that is computed .* vf.while_loop"),
    (lambda: vf.jit(lambda a, p: a @ p["w"], mesh=vf.Mesh(x=2), in_specs=(None, {"v": vf.P("x")}))(X, {"w": vf.ones((3, 2))}), ValueError,
     r"in_specs\[1\] has the key 'v', which the argument lacks; it has 'w'"),
    (lambda: vf.jit(lambda x: x, mesh=vf.Mesh(x=2), in_specs=("x",))(vf.ones(4)), TypeError, r"got 'x'; an axis of the mesh is vf\.P\('x'\)"),
    (lambda: vf.jit(lambda x: x, mesh=vf.Mesh(x=2), out_specs=1), TypeError, r"jit has no option out_specs; vf\.shard\(y, vf\.P\('x'\)\)"),
    (lambda: vf.Mesh(x=2.5), TypeError, "Mesh: x is 2.5; the size of an axis is an integer"),
    (lambda: vf.Mesh(x=2, devices=["cpu"]), TypeError, r"devices are named in a text, as in vf\.Mesh\('\[x=2\] devices="),
    (lambda: vf.Mesh(x=2).__enter__(), TypeError, r"a mesh is no context: vf\.set_mesh\(mesh\)"),
    (lambda: vf.processes("a"), TypeError, "processes: 'a' is no number of seconds"),
    (lambda: vf.split(vf.ones(5), 2), ValueError, r"parts must be equal: numpy\.array_split\(x, n\) takes any number"),
    (lambda: vf.chunk(X, 2), AttributeError, r"np\.array_split\(x, parts, axis=0\), and vf\.split\(x, parts, axis=0\) for equal ones"),
    (lambda: vf.float("a"), AttributeError, r"viewfold has no float; vf\.float32, as in x\.astype\(vf\.float32\)"),
    (lambda: vf.int, AttributeError, r"viewfold has no int; vf\.int32, as in x\.astype\(vf\.int32\)"),
    (lambda: vf.PartitionSpec("x"), AttributeError, r"viewfold has no PartitionSpec; vf\.P\('x', None\)"),
    (lambda: vf.NamedSharding(1), AttributeError, r"viewfold has no NamedSharding; vf\.jit\(f, mesh="),
    (lambda: vf.ShapeDtypeStruct, AttributeError, r"an example is an array: vf\.zeros\(shape"),
    (lambda: vf.make_jaxpr, AttributeError, r"print\(vf\.explain\(f\)\(\*arrays\)\.graph\)"),
    (lambda: vf.quantile(X, 0.5), AttributeError, r"np\.quantile\(x, 0\.5\), which takes these arrays"),
    (lambda: vf.tree.leaves(X), AttributeError, r"flatten\(tree\)\[0\] are the leaves"),
    (lambda: X.fill_(0), AttributeError, r"arrays do not change: vf\.full_like\(x, value\), or r\[\.\.\.\] = value of a vf\.Ref"),
    (lambda: X.zero_(), AttributeError, r"arrays do not change: vf\.zeros_like\(x\), or r"),
    (lambda: X.scatter_(0, X, X), AttributeError, r"arrays do not change: x\.at\[i\]\.set\(y\), or r"),
    (lambda: X.abs_(), AttributeError, r"arrays do not change: x = vf\.abs\(x, \.\.\.\), or r"),
    (lambda: X.unheard_(), AttributeError, "arrays do not change: operations give new ones, or r"),
    (lambda: X.t(), AttributeError, r"arrays have no t; x\.T"),
    (lambda: X.cast("int32"), AttributeError, r"arrays have no cast; x\.astype\(dtype\)"),
    (lambda: X.max(1).values, AttributeError, r"max, min and sort give the array itself, and vf\.argmax"),
    (lambda: X.set(0), AttributeError, r"arrays have no set; x\.at\[i\]\.set\(y\), or x\[i\] = y"),
    (lambda: np.copyto(X, 1), TypeError, r"numpy\.copyto writes into its argument, .*: x = vf\.full_like\(x, value\), or x = y"),
    (lambda: np.put(X, [0], 9), TypeError, r"numpy\.put writes into its argument, .*: x = x\.at\[i\]\.set\(y\), or x\[i\] = y"),
    (lambda: np.fill_diagonal(X, 0), TypeError, r"x = vf\.where\(vf\.eye\(n, dtype='bool'\), value, x\)"),
    (lambda: np.pad(X, 1, constant_values=7), TypeError, r"has no constant_values; use vf\.pad\(x, \.\.\., value=\.\.\.\)"),
    (lambda: np.average(X, weights=[1, 2, 3], axis=0), ValueError, "average: 3 weights for the 2 elements along axis 0"),
    (lambda: np.bincount(X), TypeError, r"bincount: the array is float32; takes integers"),
    (lambda: vf.vmap(lambda x: x, axis_name="i")(X), TypeError, r"vmap has no option axis_name; .*: vf\.vmap\(f\)\(x\)\.sum\(axis=0\)"),
    (lambda: vf.fori_loop(3, lambda i, c: c, 0.0), TypeError, r"it is fori_loop\(lower, upper, body, init\)"),
    (lambda: vf.vjp(lambda x: x, X), TypeError, r"it is vjp\(function, primals, cotangents\)"),
    (lambda: vf.array(2**70), OverflowError, "; a float holds it rounded"),
    (lambda: vf.array([-1], dtype="uint8"), OverflowError, "0 to 255; a wider or a signed one holds it"),
    (lambda: (X > 0) + (X > 0), ValueError, r"no arithmetic on bool; .* or use & \| ~ \^"),
    (lambda: (X > 0) or X, TypeError, r"with & \| ~ in place of and, or, not and of a < x < b, and vf\.maximum and vf\.minimum of max and min"),
    (lambda: vf.jit(lambda x: [x for _ in range(x.sum())])(X), TypeError, r"in place of range\(n\) use vf\.while_loop, or vf\.fori_loop where n is known"),
    (lambda: vf.jit(lambda x: x.tolist())(X), TypeError, r"return it, or vf\.print\('x is \{\}', x\) and vf\.tap\(x, function\)"),
    (lambda: vf.jit(lambda x: math.exp(x))(vf.ones(())), TypeError, r"in place of math\.exp\(x\) vf\.exp\(x\)"),
    (lambda: vf.name_axes(X, ("a", "b")), TypeError, r"name_axes: the letters are \('a', 'b'\); takes one text"),
    (lambda: vf.einsum("ij,jk->ik", [X, X]), TypeError, "einsum takes operands one by one"),
    (lambda: vf.compile("net.vf"), ValueError, r"'net\.vf' is the name of a file, which vf\.load_program reads"),
    (lambda: vf.collectives.ppermute(X, "x", [(0, 1)]), TypeError, r"it is ppermute\(x, over, axis, pairs"),
    (lambda: X[[0, 1], [0, 1, 2]], IndexError, r"index arrays of the shapes \(2,\), \(3,\) do not broadcast; sizes must be equal or 1"),
    (lambda: vf.grad(lambda p: p["w"].sum())({"w": X, "n": 3}), TypeError, r"by \['n'\], which is int32; .* argument that argnums does not name"),
    (lambda: vf.matmul(X, X.T, out=X), TypeError, "matmul has no option out; the result is a new array"),
    (lambda: vf.exp(X, axis=0), TypeError, "exp has no option axis; it is elementwise"),
    (lambda: vf.add(X, X, foo=0), TypeError, "add has no option foo; it has none"),
    (lambda: vf.jit(lambda x, mode: x)(X, "sum"), TypeError, "^function: an argument is 'sum': str is no array"),
    (lambda: vf.grad(lambda x: x.sum())(vf.array([1])), TypeError, "function: a derivative by array 0 of its arguments, which is int32"),
    (lambda: _raise(vf._hints.missing("viewfold", "jax")), AttributeError, "import viewfold.jax"),
)


@vf.jit
def _annotated(x: vf.Array[vf.Dim("n", 1, 8), 2]):
    return x


@vf.jit
def _compares(x: vf.Array[vf.Dim("n", 1, 8), 2]):
    return x if x.shape[0] > 2 else -x


def _measured(x: vf.Array[vf.Dim("n", 1, 8)]):
    return x / len(x)


def _made(x: vf.Array[vf.Dim("n", 1, 8)]):
    return x + np.zeros(x.shape[0])


@vf.jit
def _endless(x):
    return _endless(x)


class _Net:
    @vf.jit
    def __call__(self, x):
        return x


def _leaked():
    kept = []
    vf.jit(lambda x: (kept.append(x), x)[1])(vf.ones(3))
    return kept[0]


class Mistakes(Case):
    def test_messages(self):
        for number, (call, kind, message) in enumerate(ROWS):
            with self.subTest(number=number), self.assertRaisesRegex(kind, message):
                call()


class Values(Case):
    def test_taken(self):
        """What other libraries write is taken where it is no mistake."""
        x = vf.array([-1.0, 0.5, 2.0])
        self.assertEqual(vf.nn.gelu(x, approximate="none").tolist(), vf.nn.gelu(x).tolist())
        self.assertEqual(vf.nn.gelu(x, approximate="tanh").tolist(), vf.nn.gelu(x, approximate=True).tolist())
        self.assertNotEqual(vf.nn.gelu(x, approximate="tanh").tolist(), vf.nn.gelu(x).tolist())
        self.assertEqual(int(vf.fori_loop(0, vf.array(4), lambda i, c: c + i, 0)), 6)
        self.assertEqual(vf.repeat(vf.array([1, 2, 3]), [1, 0, 2]).tolist(), [1, 3, 3])


class Lists(Case):
    def test_numbers(self):
        """A list of numbers stays a list, of arrays: the note of the error that this leads to says so."""
        with self.assertRaises(TypeError) as caught:
            vf.jit(lambda x: x + 1)([1.0, 2.0])
        self.assertIn("vf.array(numbers)", caught.exception.__notes__[0])


class Callbacks(Case):
    def test_traceback(self):
        """The exception of the function is the cause of the run's, with the lines where it was raised."""

        def bad(v):
            raise KeyError("boom")

        for _ in range(2):
            with self.assertRaisesRegex(vf.DeviceError, "by vf.callback, has raised KeyError: 'boom'") as caught:
                vf.jit(lambda x: vf.callback(bad, x, x))(vf.ones(3))
            cause = caught.exception.__cause__
            self.assertIsInstance(cause, KeyError)
            last = cause.__traceback__
            while last.tb_next:
                last = last.tb_next
            self.assertEqual(last.tb_frame.f_code.co_name, "bad")


class Masked(Case):
    def test_later_calls(self):
        """They are refused where the program is known, too."""
        f = vf.jit(lambda x: x.sum())
        f(np.ones(3))
        for wrong in (np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), np.matrix([1.0, 2.0, 3.0])):
            f(np.ones(np.shape(wrong)))
            with self.assertRaisesRegex(TypeError, "numpy|NumPy"):
                f(wrong)
        with tempfile.TemporaryFile() as file:
            file.write(np.ones(3).tobytes())
            self.assertEqual(float(f(np.memmap(file, "f8", "r", shape=3))), 3)


@vf.jit
def doubled(x):
    return x * 2


class Files(Case):
    def test_no_program(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("w.npz", "w.safetensors"):
                vf.save(f"{folder}/{name}", {"w": vf.array([1.7])})
                with self.assertRaisesRegex(ValueError, r"vf\.load"):
                    vf.load_program(f"{folder}/{name}")


class Pickles(Case):
    def test_function(self):
        self.assertIs(pickle.loads(pickle.dumps(doubled)), doubled)


class Copies(Case):
    def test_copies(self):
        """A copy stands for its own elements, whatever the array comes to stand for."""
        for copy in (lambda x: x.copy(), lambda x: +x, lambda x: x[...], lambda x: x[:], np.copy, lambda x: vf.asarray(x, copy=True)):
            x = vf.ones(3)
            y = copy(x)
            y[0] = 5
            self.same(x, np.ones(3, "float32"))
            self.same(y, np.array([5, 1, 1], "float32"))

    def test_names(self):
        """What has a name is written to, wherever it is kept."""
        def inside(x):
            x[0] = 5
            x[1] += 1
            return x

        kept = {"x": vf.ones(3)}
        kept["x"][0] = 5
        kept["x"][1] += 1
        for made in (kept["x"], inside(vf.ones(3)), vf.jit(inside)(vf.ones(3))):
            self.same(made, np.array([5, 2, 1], "float32"))

    def test_size(self):
        size = X.size
        self.assertEqual((size, size + 1, pickle.loads(pickle.dumps(size)), range(size)), (6, 7, 6, range(6)))
        self.same(X.transpose(axes=(1, 0)), np.ones((3, 2), "float32"))


class Places(Case):
    def test_files(self):
        """A statement is of the file that recorded it, also where the path of another one had the same memory."""
        for number in range(20):
            scope = {"vf": vf}
            text = "def f():\n    return (vf.array([1.0, 2.0])[vf.array([5]) + 0]).tolist()\n"
            exec(compile(text, f"/folder/file{number:02}.py", "exec"), scope)  # noqa: S102
            with self.assertRaisesRegex(IndexError, f"of file{number:02}.py:2"):
                scope["f"]()


if __name__ == "__main__":
    unittest.main()
