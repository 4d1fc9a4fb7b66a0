"""Derivatives, maps, loops and conditions, against differences, loops of Python and NumPy."""

from common import Case, np, vf


class Transforms(Case):
    def test_grad(self):
        def loss(w, x):
            return (vf.tanh(x @ w) ** 2).mean()

        w, x = np.linspace(-1, 1, 6).reshape(3, 2), np.linspace(0, 2, 12).reshape(4, 3)
        gradient = np.asarray(vf.grad(loss)(vf.array(w), vf.array(x)))
        for i in range(3):
            for k in range(2):
                step = np.zeros_like(w)
                step[i, k] = 1e-6
                both = [float(loss(vf.array(w + s), vf.array(x))) for s in (step, -step)]
                self.assertAlmostEqual(gradient[i, k], (both[0] - both[1]) / 2e-6, places=6)
        value, (dw, dx) = vf.value_and_grad(loss, argnums=(0, 1))(vf.array(w), vf.array(x))
        self.close(dw, gradient)
        self.assertEqual(dx.shape, (4, 3))
        self.close(value, loss(vf.array(w), vf.array(x)))

    def test_grad_trees(self):
        params = {"w": vf.array([2.0, 3.0]), "b": vf.array(1.0)}
        made, aux = vf.grad(lambda p: ((p["w"] * p["b"]).sum(), p["w"] + 1), has_aux=True)(params)
        self.same(made["w"], np.array([1, 1], "float32"))
        self.same(made["b"], np.float32(5))
        self.same(aux, np.array([3, 4], "float32"))
        second = vf.grad(lambda x: vf.grad(lambda y: y**3)(x) * 2)(vf.array(2.0))
        self.close(second, 24)
        stepped = vf.jit(lambda w: w - 0.5 * vf.grad(lambda v: (v * v).sum())(w))(vf.array([2.0]))
        self.same(stepped, np.array([0], "float32"))

    def test_vjp_jvp(self):
        x = vf.array([1.0, 2.0])
        result, (pulled,) = vf.vjp(lambda v: v * v, (x,), vf.array([1.0, 10.0]))
        self.same(result, np.array([1, 4], "float32"))
        self.same(pulled, np.array([2, 40], "float32"))
        result, varied = vf.jvp(lambda v: v * v, (x,), (vf.array([1.0, 10.0]),))
        self.same(varied, np.array([2, 40], "float32"))

    def test_refused(self):
        with self.assertRaisesRegex(TypeError, "derivatives are by floats"):
            vf.grad(lambda x: x.sum())(vf.array([1, 2]))
        with self.assertRaisesRegex(TypeError, "a gradient is of one number"):
            vf.grad(lambda x: x * 2)(vf.array([1.0, 2.0]))

    def test_vmap(self):
        a, b = np.arange(12.0).reshape(3, 4), np.arange(4.0)
        f = lambda u, v: (u @ v, u * 2)  # noqa: E731
        first, second = vf.vmap(f, in_axes=(0, None))(vf.array(a), vf.array(b))
        self.close(first, a @ b)
        self.close(second, a * 2)
        self.close(vf.vmap(lambda u: u.sum(), in_axes=1)(vf.array(a)), a.sum(0))
        self.close(vf.vmap(vf.grad(lambda u: (u**2).sum()))(vf.array(a)), 2 * a)
        self.close(vf.vmap(lambda u: u + 1, out_axes=1)(vf.array(a)), (a + 1).T)

    def test_scan(self):
        xs = np.arange(5.0)
        total, steps = vf.scan(lambda c, x: (c + x, {"before": c}), vf.array(0.0, dtype="float64"), vf.array(xs))
        self.close(total, 10)
        self.close(steps["before"], np.cumsum(xs) - xs)
        self.close(vf.fori_loop(0, 5, lambda i, s: s * 2, vf.array(1.0)), 32)
        slope = vf.grad(lambda w: vf.scan(lambda c, x: (c * w + x, None), vf.array(0.0), vf.ones(4))[0])(vf.array(2.0))
        self.close(slope, 17)  # of w^3 + w^2 + w + 1
        with self.assertRaisesRegex(TypeError, "returns a pair"):
            vf.scan(lambda c, x: c, vf.array(0.0), vf.ones(2))
        with self.assertRaisesRegex(TypeError, "after it"):
            vf.scan(lambda c, x: (c.astype("float64"), None), vf.array(0.0), vf.ones(2))

    def test_cond(self):
        f = vf.jit(lambda p, x: vf.cond(p, lambda v: v + 1, lambda v: v * 10, x))
        self.assertEqual([f(vf.array(p), vf.array(2.0)).tolist() for p in (True, False)], [3, 20])
        made = vf.while_loop(lambda s: s["n"] < 100, lambda s: {"n": s["n"] * 2}, {"n": vf.array(3)})
        self.assertEqual(made["n"].tolist(), 192)
        self.close(vf.grad(lambda x: vf.checkpoint(lambda v: vf.sin(v) * v)(x))(vf.array(1.0)), np.sin(1) + np.cos(1))
        with self.assertRaises(ZeroDivisionError):  # exceptions of the functions come through
            vf.cond(vf.array(True), lambda v: v, lambda v: 1 / 0, vf.array(1.0))
        self.assertIsNone(vf._native.tracing())


class References(Case):
    def test_updates(self):
        a = np.zeros((4, 6), "float32")
        r = vf.Ref(a)
        before = r.get()
        r[1:, ::2] += vf.array([1.0, 2.0, 3.0])
        a[1:, ::2] += [1, 2, 3]
        r[0] = 7
        a[0] = 7
        part = r[:, 1]
        part[2:] -= 5
        a[2:, 1] -= 5
        r[[0, 0, 3]] += 1
        np.add.at(a, [0, 0, 3], 1)
        self.same(r[...], a)
        self.same(part.get(), a[:, 1])
        self.same(before, np.zeros((4, 6), "float32"))
        self.same(r + 1, a + 1)
        self.assertEqual(r.shape, (4, 6))
        r[...] = 0
        self.same(r.get(), np.zeros_like(a))

    def test_traced(self):
        """Compiled functions read and write references that they are given."""

        @vf.jit
        def step(state, x):
            total, seen = state["total"], state["seen"]
            total[1:] += x
            part = seen[0, ::2]
            part[...] = part.get() * 2 + 1
            return total[...].sum()

        state = {"total": vf.Ref(np.zeros(3, "float32")), "seen": vf.Ref(np.ones((2, 4), "float32"))}
        self.assertEqual([float(step(state, np.float32([1, 2]))) for _ in range(3)], [3, 6, 9])
        self.same(state["total"].get(), np.array([0, 3, 6], "float32"))
        self.same(state["seen"].get(), np.array([[15, 1, 15, 1], [1, 1, 1, 1]], "float32"))
        self.assertEqual(step._jit.traces, 1)

    def test_steps(self):
        """A loop changes one array."""
        r = vf.Ref(vf.zeros((3,)))
        for n in range(5):
            r += n
        self.same(r.get(), np.full(3, 10, "float32"))


class Looking(Case):
    def test_explain(self):
        f = vf.jit(lambda x: vf.exp(x).sum())
        made = vf.explain(f)(np.ones(8, "float32"))
        self.assertIn("exp", made.graph)
        self.assertIn("kernel 0", made.kernels)
        self.assertIn("<iframe", made._repr_html_())
        self.assertGreater(made.cost["flops"], 0)
        self.assertIn("kernel", vf.profile(f, runs=2)(np.ones(8, "float32")))

    def test_print(self):
        seen = []

        @vf.jit
        def f(x):
            vf.tap(x * 2, lambda a: seen.append(a.tolist()), "doubled")
            return vf.cond(x.sum() > 0, lambda v: vf.tap(v, lambda a: seen.append(a.tolist()), "inside"), lambda v: v, x)

        f(vf.array([1.0, 2.0])).realise()
        self.assertEqual(sorted(seen), [[1.0, 2.0], [2.0, 4.0]])

    def test_callback(self):
        """Functions of Python inside of compiled ones, also in loops and in other threads' runs."""
        calls = []

        def sorted_rows(a, b):
            calls.append(a.shape)
            return np.sort(a + b, axis=1)

        f = vf.jit(lambda x, y: vf.callback(sorted_rows, x, x, y * 2) + 1)
        a, b = np.float32([[3, 1], [2, 5]]), np.float32([1, -4])
        for _ in range(2):
            self.same(f(a, b), np.sort(a + 2 * b, axis=1) + np.float32(1))
        self.assertEqual(calls, [(2, 2)] * 2)
        g = vf.jit(lambda x: vf.scan(lambda c, v: (vf.callback(lambda p, q: p + q, c, c, v), None), x[0] * 0, x)[0])
        self.same(g(a), a.sum(0))
        with self.assertRaisesRegex(vf.DeviceError, "ZeroDivisionError"):
            vf.jit(lambda x: vf.callback(lambda v: 1 / 0, x, x))(a)
        with self.assertRaisesRegex(vf.DeviceError, r"gives shape \(2,\)"):
            vf.jit(lambda x: vf.callback(lambda v: v[0], x, x))(a)
        self.same(vf.callback(lambda v: v * 2, vf.ones(2), vf.ones(2)), np.full(2, 2, "float32"))

    def test_gradient_of_callback(self):
        def sine(x):
            return vf.callback(np.sin, x, x, gradient=lambda x, y, c: c * vf.cos(x))

        def product(x, y):
            return vf.callback(np.multiply, x, x, y, gradient=lambda x, y, z, c: (c * y, c * x))

        x, y = np.float32([0.5, -2]), np.float32([3, 4])
        self.close(vf.jit(vf.grad(lambda v: (sine(v) ** 2).sum()))(x), 2 * np.sin(x) * np.cos(x))
        self.close(vf.grad(lambda u: vf.grad(lambda v: sine(v).sum())(u).sum())(x), -np.sin(x))
        for made, want in zip(vf.grad(lambda a, b: product(a, b).sum(), argnums=(0, 1))(x, y), (y, x)):
            self.close(made, want)
        with self.assertRaisesRegex(ValueError, "gives 1 arrays; it gives one for each of 2 operands"):
            vf.grad(lambda v: vf.callback(np.multiply, v, v, v, gradient=lambda a, b, z, c: c).sum())(x)
        with self.assertRaises(ZeroDivisionError):
            vf.grad(lambda v: vf.callback(np.sin, v, v, gradient=lambda *_: 1 / 0).sum())(x)

    def test_debug_nans(self):
        with vf.debug_nans():
            f = vf.jit(lambda x: vf.log(x) + 1)
            self.close(f(np.ones(2, "float32")), [1, 1])
            with self.assertRaisesRegex(FloatingPointError, "log"):
                f(np.array([1, -1], "float32"))
            for dtype in ("float16", "bfloat16", "float32", "float64"):
                x = vf.array([1, 2, 0], dtype=dtype)
                self.assertEqual((x * 2).tolist(), [2, 4, 0])
                with self.assertRaisesRegex(FloatingPointError, "element 2 .* `%.* = div"):
                    (x / x).realise()
                self.assertEqual((1 / x).tolist()[2], float("inf"))
                with vf.debug_nans(infinities=True), self.assertRaisesRegex(FloatingPointError, "element 2"):
                    (1 / vf.array([1, 2, 0], dtype=dtype)).realise()
