"""Masks, indices and counts that do not fit: refused where NumPy refuses them, and never another element."""

import os
import tempfile

import numpy as np
from common import Case, vf

X = np.arange(6, dtype="float32").reshape(2, 3)


class Masks(Case):
    def test_shapes(self):
        masks = (
            [True], [True, False, False], np.ones((3, 3), bool), np.ones((2, 2), bool), np.zeros((1, 3), bool), np.ones((2, 1), bool),
            (slice(None), [True, False]), (Ellipsis, np.ones(2, bool)), (0, [True, False]), (None, np.ones((3, 2), bool)),
        )
        for mask in masks:
            with self.subTest(mask=mask):
                with self.assertRaises(IndexError):
                    X[mask]
                a, r = vf.array(X), vf.Ref(X)
                uses = (
                    lambda: a[mask], lambda: a.__setitem__(mask, 5), lambda: a.at[mask].add(1), lambda: r[mask],
                    lambda: r.__setitem__(mask, 5), lambda: vf.jit(lambda v: v.at[mask].set(0))(X),
                )
                for use in uses:
                    with self.assertRaisesRegex(IndexError, "a mask of shape .* a mask has the shape of the axes"):
                        use()
                self.same(a, X)
                self.same(r[...], X)

    def test_that_fit(self):
        rows, columns = np.array([False, True]), np.array([True, False, True])
        for mask in (X > 2, rows, [False, True], (slice(None), columns), (Ellipsis, columns), (1, columns), (rows, 2), (None, X > 2)):
            with self.subTest(mask=mask):
                self.same(vf.array(X)[mask], X[mask])
                have, want = vf.Ref(X), X.copy()
                have[mask] = want[mask] = 9
                self.same(have[...], want)

    def test_single_values(self):
        for key in ((True, False), (True, 0), (Ellipsis, True), (np.array(True), 1)):
            with self.assertRaisesRegex(IndexError, "one alone is a new axis"):
                vf.array(X)[key]
        for key in (True, False, (True,)):
            self.same(vf.array(X)[key], X[key])


class Range(Case):
    def test_axes_of_several(self):
        """An index that is out of range of its axis is an error, also where it is in range of the elements."""
        a = vf.array(X)
        keys = (([0], [5]), ([0, 1], [0, 3]), ([-3], [0]), ([2], [-3]), ([0], [-4]))
        for key in keys:
            with self.subTest(key=key):
                with self.assertRaises(IndexError):
                    X[key]
                i, j = (np.array(k) for k in key)
                for use in (
                    lambda: a[key].tolist(), lambda: vf.jit(lambda v, i, j: v[i, j])(X, i, j).tolist(),
                    lambda: a[vf.array(i) + 0, vf.array(j) + 0].tolist(),
                    lambda: vf.jit(lambda v, i, j: v.at[i, j].set(1))(X, i, j).tolist(),
                ):
                    with self.assertRaises(IndexError):
                        use()
        for key in (([0, -1], [2, -3]), ([1, 1], [0, -1])):
            i, j = (np.array(k) for k in key)
            self.same(vf.jit(lambda v, i, j: v[i, j])(X, i, j), X[key])

    def test_known(self):
        """Those that are known are refused where they are written."""
        a, r = vf.array(X), vf.Ref(X)
        for use in (
            lambda: a[[0, 2]], lambda: a[:, vf.array([-4])], lambda: r.__setitem__(vf.array([9]), 0), lambda: a.at[[5]].add(1),
            lambda: vf.take(a, vf.array([9]), axis=0), lambda: a.take([[3]], axis=-1), lambda: vf.jit(lambda v: v[[0, 2]])(X),
        ):
            with self.assertRaisesRegex(IndexError, r"index -?\d is out of range for axis \d of \d elements, of shape \(2, 3\)"):
                use()


class Counts(Case):
    def test_roll(self):
        for shift, axis in ((1, None), (-4, None), ((1, 2), (0, 1)), (1, (0, 1)), ((1, 2), 1), (7, 1)):
            self.same(vf.roll(vf.array(X), shift, axis=axis), np.roll(X, shift, axis=axis))
        for shift, axis, kind in (("1", None, TypeError), (1.5, 0, TypeError), ((1, 2), (0, 1, 1), ValueError)):
            with self.assertRaisesRegex(kind, "roll: "):
                vf.roll(vf.array(X), shift, axis=axis)

        def along(v: vf.Array[vf.Dim("n", 1, 8)]):
            return vf.roll(v, 1)

        with self.assertRaisesRegex(TypeError, "known in runs alone"):
            vf.jit(along)(X[0])

    def test_diff(self):
        self.same(vf.diff(vf.array(X), axis=-2), np.diff(X, axis=-2))
        for n, axis, kind in ((-1, -1, ValueError), (1, 2, IndexError), (1.0, 0, TypeError)):
            with self.assertRaises(kind):
                vf.diff(vf.array(X), n=n, axis=axis)

    def test_pads(self):
        for pads in (1, (1, 2), ((1, 2),), ((1, 0), (0, 2))):
            self.same(np.pad(vf.array(X), pads), np.pad(X, pads))
        for pads in ((1, 2, 3), ((1, 2), (1,)), ((1, 2, 3),)):
            with self.assertRaises(ValueError):
                vf.pad(vf.array(X), pads)

    def test_asked(self):
        a = vf.array(X)
        self.assertEqual((np.ndim(a), np.size(a), np.size(a, 1), np.shape(a)), (2, 6, 3, (2, 3)))

    def test_unaligned(self):
        """Elements between others, and at odd addresses, are copied."""
        mixed = np.zeros(3, dtype=[("a", "u1"), ("b", "f4")])
        mixed["b"] = 1, 2, 3
        odd = np.frombuffer(bytes(1) + np.float32([4, 5, 6]).tobytes(), dtype="u1", offset=1).view("f4")
        double = vf.jit(lambda v: v * 2)
        for given in (mixed["b"], odd):
            for _ in range(2):
                self.same(double(given), given * 2)
                self.same(double(memoryview(odd.view("u1")).cast("f")), odd * 2)

    def test_shapes(self):
        """A shape of traced numbers says how they become known."""
        for use in (lambda v, n: vf.zeros(n), lambda v, n: vf.ones((n, 2)), lambda v, n: v.reshape(n, -1), lambda v, n: v.reshape(n),
                    lambda v, n: vf.broadcast_to(v[0, 0], (n, 2))):
            with self.assertRaisesRegex(TypeError, "static_argnames"):
                vf.jit(use)(X, 3)
            self.assertEqual(vf.jit(use, static_argnums=1)(X, 6).ndim, use(vf.array(X), 6).ndim)
        self.assertEqual(vf.zeros(np.int64(3)).shape, (3,))
        with self.assertRaises(TypeError):
            vf.zeros((2, 1.5))

    def test_programs(self):
        program = vf.export(lambda v, w: v * w, X, X)
        self.same(program(X, w=X), X * X)
        for args, named, says in (((X, X, X), {}, "3 are given"), ((X, X), {"w": X}, "w is given twice"), ((X,), {}, "missing: w")):
            with self.assertRaisesRegex(TypeError, says):
                program(*args, **named)
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "text"):
            program.save(os.path.join(folder, "f.onnx"))
