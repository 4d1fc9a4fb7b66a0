"""References: what is read before it is written, given twice, written by threads, and refused."""

import threading

import numpy as np
from common import Case, vf

X = np.arange(6, dtype="float32").reshape(2, 3)
CARRY = "make its value a carry"


class Stores(Case):
    """`r[key] = value`, where the value is a part of the same reference."""

    def check(self, write, start=X):
        """write does to a reference, also of a compiled function, what it does to NumPy's array."""
        want = start.copy()
        write(want)
        eager, compiled = vf.Ref(start), vf.Ref(start)
        write(eager)
        vf.jit(write)(compiled)
        for have in (eager, compiled):
            self.same(have[...], want)

    def test_parts(self):
        def row(r):
            r[0] = r[1]

        def flipped(r):
            r[:] = r[::-1]

        def shifted(r):
            r[:, 1:] = r[:, :-1]

        def rows(r):
            r[0], r[1] = r[1], r[0]

        def columns(r):
            r[:, 0], r[:, 2] = r[:, 2] + 0, r[:, 0] + 0

        def through_name(r):
            part = r[0]
            part[...] = r[1]
            part += r[1]
            part[1:] *= 3

        def same_key(r):
            part = r[1]
            part += 1
            r[0] = part
            r[1] = part

        def sums(r):
            r[0] += r[1]
            r[0:2] -= r[1]
            r[:, 0:2] += r[:, 1:3]

        def operators(r):
            r //= 2
            r[0] **= 2
            r **= 3
            r[1] %= 3
            r[:, 1] //= 2

        for write in (operators, row, flipped, shifted, rows, columns, through_name, same_key, sums):
            with self.subTest(write=write.__name__):
                self.check(write)

    def test_views(self):
        """Transposes and other shapes are references to the same memory, outside and inside of compiled functions."""

        def writes(r, u, view=lambda x: x):
            r.T[...] += u[:, None]
            r.T[0] = 5
            r[1].reshape(3, 1)[1:] *= 10
            r.transpose(1, 0)[2] -= 1
            r.swapaxes(0, 1)[1, 0] = 7
            return r[...].sum()

        want = np.zeros((2, 3), "float32") + np.float32([1, 2, 3])
        want[:, 0] = 5
        want[1, 1:] *= 10
        want[:, 2] -= 1
        want[0, 1] = 7
        for function in (writes, vf.jit(writes)):
            r = vf.Ref(np.zeros((2, 3), "float32"))
            self.assertEqual(float(function(r, vf.array([1.0, 2.0, 3.0]))), want.sum())
            self.same(r[...], want)
        r = vf.Ref(vf.zeros((2,)))
        r += 1
        self.assertEqual(str(r), "Ref([1., 1.])")

    def test_elements(self):
        """An element is a number, which stays what it is; a swap is one."""

        def swap(r):
            r[0], r[2] = r[2], r[0]
            r[1] += 5
            before = r[0]
            r[0] = 7
            r[3] = before

        def sort(r):
            for n in range(4):
                for k in range(3):
                    low, high = np.minimum(r[k], r[k + 1]), np.maximum(r[k], r[k + 1])
                    r[k], r[k + 1] = low, high

        for write in (swap, sort):
            with self.subTest(write=write.__name__):
                self.check(write, np.float32([3, 1, 4, 0]))
        r = vf.Ref(X)
        self.assertIsInstance(r[1, -1], vf.Array)
        self.assertIsInstance(r[1], vf.Ref)
        self.assertEqual(float(r[np.int64(1), 2]), 5)

    def test_masks(self):
        def clear(r):
            r[r[...] > 2] = 0
            r[0 < r] = 7

        self.check(clear)

    def test_in_place(self):
        """Operators in place write, where the name is bound to the reference elsewhere, too."""
        a = np.arange(1, 5)
        for name, by in (("floordiv", 2), ("mod", 3), ("pow", 2), ("lshift", 1), ("rshift", 1), ("xor", 3), ("and", 2), ("or", 4)):
            r, want = vf.Ref(a), a.copy()
            getattr(want, f"__i{name}__")(by)
            self.assertIs(getattr(r, f"__i{name}__")(by), r)
            self.same(r[...], want)
        r = vf.Ref(vf.ones((2, 2)))
        r @= vf.array([[1.0, 2.0], [3.0, 4.0]])
        self.same(r[...], np.float32([[4, 6], [4, 6]]))
        with self.assertRaisesRegex(TypeError, "the elements stay int64"):
            vf.Ref(a).__ifloordiv__(2.5)
        self.same(vf.Ref(a) == vf.Ref(a), a == a)
        self.same(~vf.Ref(a), ~a)

    def test_made_inside(self):
        """A reference that a function makes is its own, also in a loop."""

        def body(k, c):
            r = vf.Ref(c)
            r[0] += k
            r[1:] *= 2
            return r[...]

        want = X.copy()
        for k in range(4):
            want[0] += k
            want[1:] *= 2
        for have in (vf.fori_loop(0, 4, body, X), vf.jit(lambda v: vf.fori_loop(0, 4, body, v))(X)):
            self.same(have, want)


class Given(Case):
    def test_twice(self):
        def write(p, q):
            p[0] = 7

        def copy(p, q):
            p[...] = q[...]

        r = vf.Ref(X)
        for function, p, q, which in (
            (write, r, r, "p"), (lambda p, q: write(q, p), r, r, "q"), (write, r, r[1:], "p"), (write, r[:, 0], r[1], "p"),
            (copy, r[0:1], r[0:1], "p"), (copy, r[0][1:], r[:, 1:2][0], "p"),
        ):
            with self.assertRaisesRegex(ValueError, f": p and q are one Ref, or parts of one that overlap, and {which} is written"):
                vf.jit(function)(p, q)
        with self.assertRaisesRegex(ValueError, "d_a and d_b are one Ref"):
            vf.jit(lambda d: write(d["a"], 0))({"a": r, "b": r})
        self.same(r[...], X)
        vf.jit(copy)(r[0], r[1])
        want = X.copy()
        want[0] = want[1]
        self.same(r[...], want)
        self.same(vf.jit(lambda p, q: p + q)(r, r), want * 2)

    def test_only_read(self):
        """What is not written is not stored, and no obstacle for out."""
        r, z = vf.Ref(X), np.empty_like(X)
        double = vf.jit(lambda q: q * 2)
        self.assertIs(double(r, out=z), z)
        self.same(vf.asarray(z), X * 2)
        self.assertIsNone(vf.jit(lambda q: None)(r))

    def test_out(self):
        """out is for one result, at the first call as at the second."""
        r, z = vf.Ref(X), np.full_like(X, -1)

        def writes(v, q):
            q[0] = 1
            return v * 3

        for function, args in (
            (lambda v: (v, v + 1), (X,)), (lambda v: {"a": v, "b": v}, (X,)), (writes, (X, r)),
        ):
            compiled = vf.jit(function)
            for _ in range(2):
                with self.assertRaisesRegex(ValueError, "out is for functions with one result"):
                    compiled(*args, out=z)
        self.same(vf.asarray(z), np.full_like(X, -1))
        self.same(r[...], X)

    def test_threads(self):
        """No update of a thread is lost, of the whole, of parts, and of those outside of compiled functions."""
        r, count, threads = vf.Ref(np.zeros((2, 4), "int32")), 60, 3

        @vf.jit
        def step(q):
            q += 1

        def work():
            for n in range(count):
                step(r if n % 2 else r[n % 4 // 2])
                if n % 3 == 0:
                    r.update(1, "add")

        running = [threading.Thread(target=work) for _ in range(threads)]
        for t in running:
            t.start()
        for t in running:
            t.join()
        self.same(r[...], np.full((2, 4), threads * (count // 2 + count // 4 + count // 3), "int32"))


class Refused(Case):
    def test_control_flow(self):
        def write(q, how):
            def body(u):
                q[0] += 1.0
                return u

            return how(body)

        hows = (
            lambda f: vf.cond(vf.array(True), f, lambda u: u, 0.0),
            lambda f: vf.cond(vf.array(True), lambda u: u, f, 0.0),
            lambda f: vf.fori_loop(0, 4, lambda k, c: f(c), 0.0),
            lambda f: vf.while_loop(lambda c: c < 3, lambda c: f(c) + 1, 0.0),
            lambda f: vf.scan(lambda c, u: (f(c), u), 0.0, X),
            lambda f: vf.vmap(f)(X),
            lambda f: vf.checkpoint(f)(X),
        )
        for number, how in enumerate(hows):
            with self.subTest(how=number):
                r = vf.Ref(X)
                with self.assertRaisesRegex(TypeError, CARRY):
                    vf.jit(lambda q: write(q, how))(r)
                with self.assertRaisesRegex(TypeError, CARRY):
                    vf.jit(lambda q: write(q[1], how))(r)
                with self.assertRaisesRegex(TypeError, "make it an argument"):
                    write(r, how)
                self.same(r[...], X)

    def test_what_it_says(self):
        """The carry that the message says."""

        @vf.jit
        def f(r):
            def body(k, c):
                c[0] += 1
                return c

            r[...] = vf.fori_loop(0, 4, body, r[...])

        r = vf.Ref(X)
        f(r)
        self.same(r[...], X + np.float32([[4], [0]]))

    def test_surroundings(self):
        r = vf.Ref(X)

        def writes(u):
            r[0] = 5.0
            return u.sum()

        for function in (vf.jit(writes), vf.grad(writes), vf.jit(vf.grad(writes))):
            with self.assertRaisesRegex(TypeError, "make it an argument"):
                function(X)
        self.same(r[...], X)
        self.same(vf.jit(lambda u: u + r[...] + r[1])(X), X * 2 + X[1])

    def test_floats_into_integers(self):
        """NumPy refuses these in place, and truncates what is assigned."""
        for value, name in ((2.7, "iadd"), (np.float32([1.5] * 3), "imul"), (vf.array(2.0), "isub"), (2, "itruediv")):
            r, a = vf.Ref(np.arange(3)), np.arange(3)
            with self.assertRaises(TypeError):
                getattr(a, f"__{name}__")(np.asarray(value))
            with self.assertRaisesRegex(TypeError, "the elements stay int64"):
                getattr(r, f"__{name}__")(value)
            self.same(r[...], a)
        r, a = vf.Ref(np.arange(3)), np.arange(3)
        r[1:] = a[1:] = 2.7
        r += a
        a += a
        self.same(r[...], a)
        v = vf.array([1, 2, 3])
        v[:] = r[:] = w = np.arange(3) * 2
        w[:] = 9  # what was given stays
        self.same(r[...], np.arange(3) * 2)
        self.same(v, np.arange(3, dtype="int32") * 2)
        with self.assertRaisesRegex(TypeError, "the elements stay int32"):
            vf.arange(3).at[0].add(2.7)

    def test_uses(self):
        r = vf.Ref(X)
        for use, kind, says in (
            (lambda: bool(r), TypeError, "one truth value"),
            (lambda: r.sum(), AttributeError, "r\\[...\\].sum"),
            (lambda: r.std(), AttributeError, "r\\[...\\].std"),
            (lambda: r.at, AttributeError, "r\\[i\\] = x and r\\[i\\] \\+= x write a part"),
            (lambda: r.set(2), AttributeError, "a Ref has no set; r\\[...\\] = x writes it"),
            (lambda: r.add_(2), AttributeError, "a Ref has no add_; r\\[...\\] \\+= x"),
            (lambda: setattr(r, "T", 2), AttributeError, "a Ref's T is not replaced; r.T\\[...\\] = x writes its elements"),
            (lambda: vf.sum(r), TypeError, "r\\[...\\]"),
            (lambda: vf.sin(r), TypeError, "r\\[...\\]"),
            (lambda: vf.vmap(vf.sin)(r), TypeError, "r\\[...\\]"),
            (lambda: vf.Ref(r), TypeError, "r\\[...\\]"),
            (lambda: r.__delitem__(0), TypeError, "cannot be deleted"),
        ):
            with self.assertRaisesRegex(kind, says):
                use()
        self.assertTrue(bool(vf.Ref(vf.array(2.0))))
