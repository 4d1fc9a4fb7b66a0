"""Functions of viewfold in programs of JAX, where JAX is installed."""

import unittest

from common import Case, np, vf

try:
    import jax
    from jax import numpy as jnp
except ImportError:
    jax = None


def layer(x, w):
    return vf.tanh(x @ w)


def several(tree, n):
    return {"sum": tree["a"] + tree["b"] * n, "parts": [vf.sum(tree["a"]), n + 1]}


@unittest.skipUnless(jax, "JAX is not installed")
class InJax(Case):
    def setUp(self):
        from viewfold.jax import call

        self.call = call
        rng = np.random.default_rng(0)
        self.x, self.w = (rng.standard_normal(s).astype("f") for s in ((4, 3), (3, 5)))

    def theirs(self, x, w):
        return jnp.tanh(x @ w)

    def test_calls(self):
        """Outside and inside of jit, between operations of JAX."""
        self.close(self.call(layer, self.x, self.w), self.theirs(self.x, self.w))
        f = jax.jit(lambda x, w: self.call(layer, x * 2, w).sum(0) + 1)
        self.close(f(self.x, self.w), self.theirs(self.x * 2, self.w).sum(0) + 1)
        self.close(self.call(vf.jit(layer), self.x[:2], self.w), self.theirs(self.x[:2], self.w))

    def test_trees(self):
        """Dictionaries and lists, and integers beside floats."""
        tree = {"a": jnp.ones(3), "b": jnp.arange(3.0)}
        made = jax.jit(lambda t, n: self.call(several, t, n))(tree, jnp.int32(2))
        self.close(made["sum"], [1, 3, 5])
        self.close(made["parts"][0], 3)
        self.assertEqual((int(made["parts"][1]), made["parts"][1].dtype), (3, jnp.int32))

    def test_gradients(self):
        """By the program's own reverse, twice, and through integers."""
        ours = lambda x, w: (self.call(layer, x, w) ** 2).sum()  # noqa: E731
        theirs = lambda x, w: (self.theirs(x, w) ** 2).sum()  # noqa: E731
        for a, b in zip(jax.jit(jax.grad(ours, (0, 1)))(self.x, self.w), jax.grad(theirs, (0, 1))(self.x, self.w)):
            self.close(a, b)
        twice = [jax.grad(lambda w, f=f: jax.grad(f)(jnp.asarray(self.x), w).sum())(jnp.asarray(self.w)) for f in (ours, theirs)]
        self.close(twice[0], twice[1], 1e-4)
        tree = {"a": jnp.ones(3), "b": jnp.arange(3.0)}
        g = jax.grad(lambda t: self.call(several, t, jnp.int32(2))["sum"].sum())(tree)
        self.close(g["b"], [2, 2, 2])

    def test_vmap(self):
        """By the program's own vmap, of gradients too; an argument may be shared."""
        xs = np.stack([self.x, self.x + 1, -self.x])
        mapped = jax.vmap(lambda x: self.call(layer, x, self.w))
        self.close(jax.jit(mapped)(xs), jax.vmap(lambda x: self.theirs(x, self.w))(xs))
        each = jax.vmap(jax.grad(lambda w, x: self.call(layer, x, w).sum()), (None, 0))(jnp.asarray(self.w), xs)
        self.close(each, jax.vmap(jax.grad(lambda w, x: self.theirs(x, w).sum()), (None, 0))(jnp.asarray(self.w), xs))

    def test_errors(self):
        """What is wrong with shapes is said where the function is recorded."""
        with self.assertRaisesRegex(ValueError, "matmul"):
            self.call(layer, self.x, self.x)
