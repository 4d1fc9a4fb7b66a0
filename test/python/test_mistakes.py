"""Mistakes of people who have not read the manual: what is wrong, and what would do, is in the message."""

import unittest

from common import Case, np, vf

# what is written, the exception, a part of its message
ROWS = (
    (lambda: vf.concat(vf.ones((2, 3)), vf.ones((2, 3))), TypeError, r"concat\(\[a, b\], axis=0\)"),
    (lambda: vf.stack(vf.ones((2, 3)), vf.ones((2, 3))), TypeError, r"stack\(\[a, b\], axis=0\)"),
    (lambda: vf.conv2d(vf.ones((1, 3, 8, 8)), vf.ones((4, 3, 3, 3))), AttributeError, "viewfold.nn.conv"),
    (lambda: vf.random.seed(0), AttributeError, "each takes a seed first"),
    (lambda: vf.apply("cummax", (vf.ones(3),), axis=0), TypeError, "'axis=0'"),
    (lambda: vf.grad(vf.ones(3)), TypeError, "grad takes a function"),
    (lambda: vf.jit(3), TypeError, "jit takes a function"),
    (lambda: vf.checkpoint(vf.ones(3)), TypeError, "checkpoint takes a function"),
    (lambda: vf.profile(vf.ones(3)), TypeError, "profile takes a function"),
    (lambda: vf.grad(lambda x, y: (x * y).sum(), argnums=2)(vf.ones(3), vf.ones(3)), IndexError, "argnums has 2"),
    (lambda: vf.jit(lambda x, mode: x)(vf.ones(3), "fast"), TypeError, "static_argnames"),
    (lambda: vf.vmap(lambda x: x.sum())(vf.array(3.0)), ValueError, r"axis 0 of array 0 .* shape \(\)"),
    (lambda: vf.Dim("n", 5, 2), ValueError, "n from 5 to 2"),
    (lambda: vf.Dim(3), TypeError, "the name is 3"),
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
)


class Mistakes(Case):
    def test_messages(self):
        for number, (call, kind, message) in enumerate(ROWS):
            with self.subTest(number=number), self.assertRaisesRegex(kind, message):
                call()


if __name__ == "__main__":
    unittest.main()
