"""jax.lax, where JAX is installed: every function of it has a row here, or a reason why it has no counterpart."""

import unittest

import lax_rows as rows
from common import Case, np, vf

jax, lax = rows.jax, rows.lax


def elements(dtype, shape, low, high, seed):
    made = np.random.default_rng(seed).uniform(low, high, shape)
    if dtype == "bool":
        return made > 0
    return (np.abs(made) if dtype.startswith("uint") else made).astype(dtype)


@unittest.skipUnless(jax, "jax is not installed")
class Lax(Case):
    @classmethod
    def setUpClass(cls):
        cls.before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)

    @classmethod
    def tearDownClass(cls):
        jax.config.update("jax_enable_x64", cls.before)

    def agree(self, name, have, want, exact=False):
        have, want = np.asarray(have), np.asarray(want)
        self.assertEqual((have.shape, have.dtype), (want.shape, want.dtype), name)
        if exact or want.dtype.kind not in "fc":
            np.testing.assert_array_equal(have, want, name)
        else:
            bound = 3e-6 if want.dtype == np.float32 else 1e-13
            np.testing.assert_allclose(have, want, rtol=bound, atol=bound, err_msg=name)

    def test_unary(self):
        for name, (function, dtypes, (low, high)) in rows.UNARY.items():
            for n, dtype in enumerate(dtypes):
                x = elements(dtype, rows.SHAPES[(len(name) + n) % len(rows.SHAPES)], low, high, n)
                self.agree(f"{name} {dtype}", function(vf.array(x)), getattr(lax, name)(x))

    def test_binary(self):
        for name, (function, dtypes) in rows.BINARY.items():
            for n, dtype in enumerate(dtypes):
                shape = rows.SHAPES[(len(name) + n) % len(rows.SHAPES)]
                x, y = (elements(dtype, shape, 1, 9, n + k) for k in (0, 50))
                self.agree(f"{name} {dtype}", function(vf.array(x), vf.array(y)), getattr(lax, name)(x, y))
        for name, function in rows.SHIFTS.items():
            x, y = elements("int32", (9,), -900, 900, 1), elements("int32", (9,), 0, 9, 2)
            self.agree(name, function(vf.array(x), vf.array(y)), getattr(lax, name)(x, y))

    def test_reductions(self):
        for n, dtype in enumerate(("float32", "float64", "int32", "int64")):
            x = elements(dtype, (3, 4, 2), 1, 4, n)
            for name, function in rows.REDUCTIONS.items():
                for axes in ((0,), (0, 2), (0, 1, 2)):
                    self.agree(f"{name} {dtype}", function(vf.array(x), axis=axes), getattr(lax, name)(x, axes))
            for name, operation in rows.CUMULATIVE.items():
                self.agree(f"{name} {dtype}", vf.apply(operation, (vf.array(x),), "axis=1"), getattr(lax, name)(x, axis=1))

    def test_others(self):
        for name, ours, theirs, arrays in rows._others():
            with self.subTest(name):
                here, there = rows._pair(*arrays)
                self.agree(name, ours(*here), theirs(*there))

    def test_nothing_is_left_out(self):
        known = {*rows.UNARY, *rows.BINARY, *rows.SHIFTS, *rows.CUMULATIVE, *rows.REDUCTIONS}
        known |= {row[0] for row in rows._others()} | {n for names in rows.WITHOUT.values() for n in names.split()}
        public = {n for n in dir(lax) if not n.startswith("_") and not n.endswith("_p") and callable(getattr(lax, n))
                  and not isinstance(getattr(lax, n), type)}
        self.assertEqual(sorted(public - known), [])


if __name__ == "__main__":
    unittest.main()
