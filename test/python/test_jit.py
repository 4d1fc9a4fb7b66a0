"""Compiled functions: signatures, arguments where they lie, trees, dynamic sizes, results in memory of others."""

import threading

from common import Case, np, vf


class Jit(Case):
    def test_signatures(self):
        traces = []

        @vf.jit
        def f(x, y):
            traces.append(x.shape)
            return x * 2 + y

        a = np.arange(6, dtype="float32").reshape(2, 3)
        for _ in range(3):
            self.same(f(a, a), a * 3)
        self.same(f(vf.array(a), a), a * 3)
        self.assertEqual(len(traces), 1)
        self.same(f(a[0], a[0]), a[0] * 3)
        self.same(f(a.astype("float64"), a), a.astype("float64") * 3)
        self.assertEqual(len(traces), 3)
        self.assertEqual(f.__name__, "f")

    def test_strides(self):
        """Arrays that are not dense are read where they are."""

        @vf.jit
        def f(x):
            return x + 1

        a = np.arange(24, dtype="float32").reshape(4, 6)
        for view in (a, a.T, a[::-1], a[1:, ::2], a[:, 3:0:-1], np.broadcast_to(a[0], (3, 6)),
                     np.lib.stride_tricks.sliding_window_view(a[0], 3)):
            for _ in range(2):
                self.same(f(view), view + np.float32(1))

    def test_out(self):
        @vf.jit
        def f(x, y):
            return x + y

        a, out = np.ones(5, "float32"), np.zeros(5, "float32")
        for _ in range(2):
            self.assertIs(f(a, a, out=out), out)
            self.assertEqual(out.tolist(), [2] * 5)
            out[:] = 0
        for bad in (np.zeros(4, "float32"), np.zeros(5), np.zeros(10, "float32")[::2]):
            with self.assertRaisesRegex(ValueError, "out must be a dense"):
                f(a, a, out=bad)
        with self.assertRaisesRegex(TypeError, "does not change"):
            f(a, a, out=vf.array(a))
        locked = np.zeros(5, "float32")
        locked.flags.writeable = False
        with self.assertRaises(ValueError):
            f(a, a, out=locked)
        with self.assertRaisesRegex(ValueError, "overlap"):
            wide = np.zeros(8, "float32")
            f(wide[:5], a, out=wide[1:6])

    def test_trees(self):
        @vf.jit
        def f(params, batch=(), *, scale):
            return {"a": params["w"] * scale, "b": [batch[0] + 1, None]}

        made = f({"w": vf.array([1.0])}, (2.0,), scale=3)
        self.assertEqual(made["a"].tolist(), [3.0])
        self.assertEqual(made["b"][0].tolist(), 3.0)
        self.assertIsNone(made["b"][1])

    def test_static(self):
        @vf.jit(static_argnames="power")
        def f(x, power):
            return x if power == 1 else x * f(x, power - 1)

        self.assertEqual(f(vf.array(3.0), 3).tolist(), 27)
        self.assertEqual(f(vf.array(3.0), power=2).tolist(), 9)
        with self.assertRaisesRegex(TypeError, "hashable"):
            f(vf.array(3.0), power=[2])

    def test_static_kinds(self):
        """Equal numbers of different kinds are different programs."""
        f, x = vf.jit(lambda a, k: a * (k if not isinstance(k, tuple) else k[0]), static_argnums=1), np.array([1], "int32")
        for wrap in (lambda k: k, lambda k: (k, 2)):
            self.assertEqual([f(x, wrap(k)).dtype for k in (1, 1.0)], [vf.int32, vf.float32])
            self.assertEqual([str(f(np.ones(1), wrap(k))) for k in (0.0, -0.0)], ["[0.]", "[-0.]"])
        g = vf.jit(lambda a, k: a + (1 if k is True else 2), static_argnames="k")
        self.assertEqual([g(x, k=k).tolist() for k in (1, True)], [[3], [2]])
        before = f._jit.traces
        for _ in range(2):
            f(x, float("nan"))
        self.assertEqual(f._jit.traces, before + 1)

    def test_sizes_as_numbers(self):
        """Sizes that are known in runs alone, in arithmetic: in the dtype of the array that they meet."""

        @vf.jit
        def f(a: vf.Array[vf.Dim("n"), 2]):
            n = a.shape[0]
            return a - a.sum(0) / n, n * a, a * (n - 1) // 1, 0.5 * n, 1 / n, np.trace(a @ a.T)

        for dtype in ("float64", "int8"):
            for n in (1, 4):
                a = np.arange(2 * n).reshape(n, 2).astype(dtype)
                wanted = a - a.sum(0) / n, n * a, a * (n - 1) // 1, 0.5 * n, 1 / n, np.trace(a @ a.T)
                for made, want in zip(f(a), wanted):
                    self.close(made, want)
                self.assertEqual(f(a)[1].dtype.name, dtype)
        self.close(vf.jit(vf.grad(lambda a: (f(a)[0] ** 2).sum()))(np.ones((4, 2))), np.zeros((4, 2)))

    def test_dynamic(self):
        n = vf.Dim("n", 1, 64)

        @vf.jit
        def f(x: vf.Array[n, 3], y: vf.Array[n]):
            return x.sum(1) + y, x.reshape(-1)[: x.shape[0]]

        for size in (1, 5, 64):
            a, b = np.ones((size, 3), "float32"), np.arange(size, dtype="float32")
            first, second = f(a, b)
            self.same(first, a.sum(1) + b)
            self.same(second, a.reshape(-1)[:size])
        self.assertEqual(f._jit.traces, 1)

        @vf.jit
        def g(x: vf.Array[vf.Dim("m", 2, 64)]):
            return x - x.mean(), x[::2], x[-1], x[1:], x[::-1], x[-2:], x.reshape(-1, 1) * x

        for size in (5, 64):
            a = np.arange(size, dtype="float32")
            for have, want in zip(g(a), (a - a.mean(), a[::2], a[-1], a[1:], a[::-1], a[-2:], a[:, None] * a)):
                self.same(have, want)
        with self.assertRaisesRegex(ValueError, r"has shape \(65, 3\); its annotation says"):
            f(np.ones((65, 3), "float32"), np.zeros(65, "float32"))
        self.assertEqual(f._jit.traces, 1)
        with self.assertRaisesRegex(ValueError, "n is 5, and 6"):
            f(np.ones((5, 3), "float32"), np.ones(6, "float32"))

    def test_dynamic_strides(self):
        """A program for all sizes reads dense memory; what lies otherwise is copied, by the first call and by later ones."""
        n = vf.Dim("n", 1, 64)

        @vf.jit
        def f(x: vf.Array[3, n]):
            return x + 1

        a = np.arange(36.0).reshape(3, 12)
        for x in (a[:, :5], a[:, ::-2], a, np.asfortranarray(a), a[:, 3:4]):
            for _ in range(2):
                self.same(f(x), x + 1)
        self.assertEqual(f._jit.traces, 1)

    def test_constants(self):
        """Arrays of the surroundings are constants of the program."""
        table, small = vf.array(np.arange(1000, dtype="float32")), vf.array(2.0)

        @vf.jit
        def f(i):
            return table[i] * small

        self.assertEqual(f(vf.array([7, 999])).tolist(), [14, 1998])

    def test_traced_alone(self):
        kept = []

        @vf.jit
        def f(x):
            kept.append(x)
            return x + 1

        f(vf.array(1.0))
        with self.assertRaisesRegex(TypeError, "outside of that function"):
            kept[0] + 1
        with self.assertRaisesRegex(TypeError, "vf.where, vf.cond"):
            vf.jit(lambda x: 1.0 if x > 0 else x)(vf.array(1.0))
        self.assertIsNone(vf._native.tracing())

    def test_methods(self):
        class Model:
            w = vf.array([2.0])

            @vf.jit(static_argnums=0)
            def apply(self, x):
                return self.w * x

        self.assertEqual(Model().apply(vf.array([3.0])).tolist(), [6.0])

    def test_many(self):
        """More signatures than are kept, and many arguments."""
        f = vf.jit(lambda x: x.sum())
        for n in range(1, 70, 7):
            self.assertEqual(float(f(np.ones(n, "float32"))), n)
        g = vf.jit(lambda *xs: sum(xs[1:], xs[0]))
        self.assertEqual(float(g(*[vf.array(1.0)] * 40)), 40)

    def test_traces_of_threads(self):
        """While one thread traces a function, another one computes."""
        inside, go_on = threading.Event(), threading.Event()

        @vf.jit
        def f(x):
            inside.set()
            go_on.wait(60)
            return x + 1

        results = []
        thread = threading.Thread(target=lambda: results.append(f(np.ones(2, "float32")).tolist()))
        thread.start()
        inside.wait(60)
        try:
            self.assertEqual((vf.ones(3) * 2).tolist(), [2, 2, 2])
            self.assertFalse(vf.tracing())
        finally:
            go_on.set()
            thread.join()
        self.assertEqual(results, [[2, 2]])

    def test_threads(self):
        f = vf.jit(lambda x: (x @ x).sum())
        a = np.ones((300, 300), "float32")
        results = []

        def work():
            for _ in range(4):
                results.append(float(f(a)))
                results.append(float((vf.array(a) * 300).sum()))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(set(results), {300.0**3})
