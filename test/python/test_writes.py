"""Functions that write to their arguments: NumPy on copies is the oracle."""

import numpy as np
from common import Case, vf

X = np.arange(1, 7, dtype="float32").reshape(2, 3)


def double(v):
    v[0] *= 2
    return v


def add_one(v):
    v[0] += 1
    return v


def put(v):
    v[0] = 5
    return v


def clear(v):
    v[v > 3] = 0
    return v


WRITERS = (double, add_one, put, clear)


def both(function, *args):
    """What the function gives as it is, and compiled."""
    return function(*args), vf.jit(function)(*args)


class Arguments(Case):
    """A function that writes to its arguments changes what it has of them, and nothing else."""

    def test_results_and_operands(self):
        for write in WRITERS:
            once, four = write(X.copy()), X.copy()
            for _ in range(4):
                write(four)
            uses = (
                (lambda y: vf.cond(y[0, 0] > 0, write, lambda u: u, y), once),
                (lambda y: vf.cond(y[0, 0] > 0, lambda u: u, write, y), X),
                (lambda y: vf.cond(y[0, 0] < 0, write, lambda u: u, y), X),
                (lambda y: vf.cond(y[0, 0] < 0, lambda u: u, write, y), once),
                (lambda y: vf.fori_loop(0, 4, lambda k, c: write(c), y), four),
                (lambda y: vf.fori_loop(0, 4, lambda k, c: {"a": write(c["a"])}, {"a": y})["a"], four),
                (lambda y: vf.scan(lambda c, u: (write(c), None), y, length=4)[0], four),
                (lambda y: vf.scan(lambda c, u: (c, write(u)), 0, vf.stack([y, y]))[1][1], once),
                (lambda y: vf.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, write(c[1])), (0, y))[1], four),
                (lambda y: vf.vmap(write)(vf.stack([y, y]))[1], once),
                (lambda y: vf.vmap(lambda k, u: write(u), (0, None))(vf.arange(2), y)[1], once),
                (lambda y: vf.checkpoint(write)(y), once),
                (lambda y: vf.jit(write)(y), once),
                (lambda y: vf.jit(lambda d: write(d["w"][0]))({"w": [y]}), once),
            )
            for number, (use, want) in enumerate(uses):
                with self.subTest(write=write.__name__, use=number):

                    def kept(v):
                        y = v * 1
                        z = use(y)
                        return y, z

                    for y, z in both(kept, vf.array(X)):
                        self.same(y, X)
                        self.same(z, want)

    def test_conditions_that_write(self):
        def below(c):
            c[0] += 1
            return c[0] < 4

        for z in both(lambda v: vf.while_loop(below, lambda c: c + 2, v), vf.zeros(1)):
            self.same(z, np.array([4], "float32"))

    def test_derivatives(self):
        """By what the arguments were before they were written to."""
        slopes = {double: [[2] * 3, [1] * 3], add_one: np.ones((2, 3)), put: [[0] * 3, [1] * 3], clear: [[1] * 3, [0] * 3]}
        for write, slope in slopes.items():
            slope, value = np.float32(slope), write(X.copy())
            total = lambda v: write(v).sum()
            ones = np.ones_like(X)
            uses = (
                (vf.grad(total), slope),
                (vf.grad(vf.checkpoint(total)), slope),
                (lambda v: vf.grad(lambda p: total(p["w"]))({"w": v})["w"], slope),
                (lambda v: vf.value_and_grad(total)(v)[0], value.sum()),
                (lambda v: vf.value_and_grad(total)(v)[1], slope),
                (lambda v: vf.vjp(write, (v,), ones)[0], value),
                (lambda v: vf.vjp(write, (v,), ones)[1][0], slope),
                (lambda v: vf.jvp(write, (v,), (ones,))[0], value),
                (lambda v: vf.jvp(write, (v,), (ones,))[1], slope),
                (lambda v: vf.vmap(vf.grad(total))(v[None])[0], slope),
                (vf.grad(lambda v: vf.fori_loop(0, 2, lambda k, c: write(c), v).sum()), slope**2 if write is not clear else slope),
            )
            for number, (use, want) in enumerate(uses):
                with self.subTest(write=write.__name__, use=number):

                    def kept(v):
                        y = v * 1
                        z = use(y)
                        return y, z

                    for y, z in both(kept, vf.array(X)):
                        self.same(y, X)
                        self.same(z, np.float32(want))

    def test_others(self):
        """Arguments that derivatives are not taken by, keywords, and arrays of NumPy stay as well."""
        mask = np.ones(3, "float32")

        def weigh(v, m, *, k):
            m[0] = k[0] = 0
            return (v * m * k).sum()

        def use(v):
            w, k = v * 1, v * 2
            return vf.grad(weigh)(v, w, k=k), vf.grad(weigh)(v, mask, k=k), w, k

        a, b, w, k = vf.jit(use)(X[0])
        self.same(a, np.float32([0, 8, 18]))
        self.same(b, np.float32([0, 4, 6]))
        self.same(w, X[0])
        self.same(k, X[0] * 2)
        self.same(mask, np.ones(3, "float32"))

    def test_surroundings_are_constant(self):
        """Derivatives are by the arguments, and not by what the surroundings have computed of the same arrays."""
        x, product = X[0], lambda u, w: (u * w).sum()
        for z in (
            vf.jit(lambda v: vf.grad(product)(v, v * 2))(x),
            vf.jit(lambda v: vf.grad(product)(v, v))(x) * 2,
            vf.jit(lambda v: vf.vjp(lambda u: u * v * 2, (v,), vf.ones(3))[1][0])(x),
            vf.jit(lambda v: vf.jvp(lambda u: u * v * 2, (v,), (vf.ones(3),))[1])(x),
        ):
            self.same(z, x * 2)
        deep = vf.ones((1,) * 15 + (3,))
        self.same(vf.jit(lambda v: vf.grad(product)(v, v * 2))(deep), np.full(deep.shape, 2, "float32"))

    def test_no_iterations(self):
        start = vf.array(X)
        end = vf.fori_loop(0, 0, lambda k, c: c, start)
        end[0] = 9
        self.same(start, X)

    def test_surroundings(self):
        """What a function has from its surroundings it reads; it says what to do instead of writing to it."""

        def use(how):
            def function(v):
                acc = vf.zeros(3)

                def body(u):
                    acc[0] += 1
                    return u

                how(body, v)
                return acc

            return function

        hows = (
            lambda f, v: vf.cond(v[0] > 0, f, lambda u: u, v),
            lambda f, v: vf.cond(v[0] > 0, lambda u: u, f, v),
            lambda f, v: vf.fori_loop(0, 4, lambda k, c: f(c), v),
            lambda f, v: vf.while_loop(lambda c: c[0] < 3, lambda c: f(c) + 1, v),
            lambda f, v: vf.scan(lambda c, u: (c, f(u)), 0, v),
            lambda f, v: vf.vmap(f)(v),
            lambda f, v: vf.checkpoint(f)(v),
        )
        for number, how in enumerate(hows):
            for compiled in (False, True):
                with self.subTest(how=number, compiled=compiled), self.assertRaisesRegex(TypeError, "make it one, and return it"):
                    (vf.jit(use(how)) if compiled else use(how))(vf.array(X[0]))
        total = vf.zeros(1)
        with self.assertRaisesRegex(TypeError, "make it one, and return it"):
            vf.jit(lambda v: add_one(total))(X)
        self.same(add_one(total), np.ones(1, "float32"))

    def test_left_behind(self):
        """Arrays that a function makes leave it as results, and not by names of the surroundings."""
        hows = (
            lambda f, v: vf.cond(v[0] < 0, f, lambda u: u, v),
            lambda f, v: vf.fori_loop(0, 4, lambda k, c: f(c), v),
            lambda f, v: vf.while_loop(lambda c: c[0] < 3, lambda c: f(c) + 1, v),
            lambda f, v: vf.vmap(f)(v),
            lambda f, v: vf.checkpoint(f)(v),
        )
        for number, how in enumerate(hows):
            for use in (lambda s: s, lambda s: s + 1, lambda s: s.reshape(1)):

                def function(v):
                    kept = [v.sum()]

                    def body(u):
                        kept[0] = kept[0] + 1
                        return u

                    how(body, v)
                    return use(kept[0])

                with self.subTest(how=number), self.assertRaisesRegex(TypeError, "return it, and use the result"):
                    vf.jit(function)(X[0])

    def test_own_arrays(self):
        """Arrays that a function makes are its own, at any depth."""

        def body(k, c):
            acc = vf.zeros(3)
            acc[0] += k + 1

            def inner(u):
                mine = vf.ones(3)
                mine[1] = u[1] + 4
                return mine

            acc += vf.cond(k > 1, inner, lambda u: u, c)
            acc[2] = 1
            return acc

        want = np.zeros(3, "float32")
        for k in range(4):
            acc = np.float32([1, want[1] + 4, 1]) if k > 1 else want.copy()
            acc[0] += k + 1
            acc[2] = 1
            want = acc
        for z in both(lambda v: vf.fori_loop(0, 4, body, v), vf.zeros(3)):
            self.same(z, want)
