"""Arrays against NumPy: operators, functions, parts, writes, shapes."""

import copy
import itertools
import pickle

from common import Case, np, vf


def numbers(shape, dtype="float32", seed=0):
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(-5 if dtype[0] == "i" else 0, 10, shape).astype(dtype)


KEYS = [
    (), (0,), (-1,), (slice(1, None),), (slice(None, None, -1),), (slice(None), slice(None, None, 2)),
    (Ellipsis, 1), (None, 0), (slice(3, 0, -2), 1), (slice(1, 1),), (0, Ellipsis, None, slice(-2, None)),
    (slice(None, None, -2), None, slice(5, None, -3)), ([2, 0, 0],), (slice(None), [1, -1]), ([0, 1], [2, 2]),
    ([[0, 1], [2, 3]], slice(1, 3)), (slice(None), slice(None), [0]), ([1, 0], slice(None), [0, 1]), (1, [0, 2], 1),
]


class Arrays(Case):
    def test_masks_of_other_shapes(self):
        x = np.arange(6, dtype="f").reshape(2, 3)
        for shape in ((3,), (2, 2), (1,), (2, 3, 1), (1, 3)):
            mask = np.ones(shape, bool)
            for use in (lambda: vf.array(x)[vf.array(mask)], lambda: vf.array(x).at[vf.array(mask)].set(0)):
                with self.assertRaises(IndexError):
                    use()
        self.assertEqual(vf.array(x)[vf.zeros((0,), dtype="bool")].shape, (0, 3))
        self.assertEqual(vf.array(x)[:, vf.zeros((0,), dtype="bool")].shape, (2, 0))
        self.same(vf.array(x)[:, vf.array([True, False, True])], x[:, [0, 2]])

    def test_builtins(self):
        """Functions of Python, and dtypes and norms of others, give arrays; also where a function is traced."""
        import math

        x = vf.array(-1.26)
        for function in (round, math.floor, math.ceil, math.trunc):
            self.assertEqual(vf.jit(function)(x).tolist(), function(-1.26))
        self.close(round(x, 1), -1.3)
        a = np.arange(6, dtype="f").reshape(2, 3)
        for options in ({}, {"axis": 1}, {"axis": 1, "keepdims": True}, {"axis": 0, "ord": 1}):
            self.close(vf.jit(lambda v: np.linalg.norm(v, **options))(a), np.linalg.norm(a, **options))
        self.same(np.clip(vf.array(a), a_min=1, a_max=4), np.clip(a, 1, 4))

    def test_made(self):
        self.same(vf.array([[1.5, 2], [3, 4]]), np.array([[1.5, 2], [3, 4]], "float32"))
        self.same(vf.array([True, False]), np.array([True, False]))
        self.same(vf.array([1, 2]), np.array([1, 2], "int32"))
        self.same(vf.array([1 << 40]), np.array([1 << 40]))
        self.same(vf.array([], dtype="int8"), np.array([], "int8"))
        self.same(vf.array([0.1], dtype="float16"), np.array([0.1], "float16"))
        for dtype in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                      "float32", "float64"):
            x = numbers((2, 3), dtype)
            self.same(vf.array(x), x)
            self.assertEqual(vf.array(x).tolist(), x.tolist())
        self.same(vf.arange(7, 1, -2), np.arange(7, 1, -2, dtype="int32"))
        self.close(vf.arange(0.0, 1.0, 0.3), np.arange(0.0, 1.0, 0.3))
        self.close(vf.linspace(0, 1, 5), np.linspace(0, 1, 5))
        for n in (1, 2, 126, 127):  # equal to the last bit
            self.same(vf.linspace(0, 1, n, dtype="float64", endpoint=False), vf.linspace(0, 1, n + 1, dtype="float64")[:n])
        self.same(vf.eye(3, 4, k=1, dtype="int64"), np.eye(3, 4, k=1, dtype="int64"))
        self.same(vf.full((2, 1), 7, dtype="uint8"), np.full((2, 1), 7, "uint8"))
        for value, dtype in ((np.pi, "float64"), (1e300, "float64"), (16777217.0, "int64"), (2.5, "int32")):
            self.same(vf.full((2,), value, dtype=dtype), np.full((2,), value, dtype))
        self.assertEqual(vf.array([1.0, -2.5], dtype="bfloat16").tolist(), [1.0, -2.5])
        with self.assertRaises(OverflowError):
            vf.array([300], dtype="uint8")
        with self.assertRaisesRegex(ValueError, "different lengths"):
            vf.array([[1, 2], [3]])

    def test_operators(self):
        a, b = numbers((3, 4)), numbers((4,), seed=1)
        x, y = vf.array(a), vf.array(b)
        self.close(x + y * 2 - 1 / (y * y + 1), a + b * 2 - 1 / (b * b + 1))
        self.same(-x, -a)
        self.same(abs(x), abs(a))
        self.same(x > 0.5, a > 0.5)
        self.same((x > 0) & ~(y > 0), (a > 0) & ~(b > 0))
        self.close(x @ vf.array(a).T, a @ a.T)
        self.same(a + x, a + a)  # NumPy leaves it to us
        n, m = numbers((5,), "int32"), numbers((5,), "int32", 1)
        p, q = vf.array(n), vf.array(abs(m) + 1)
        self.same(p // q, n // (abs(m) + 1))
        self.same(p % q, n % (abs(m) + 1))
        self.same(p << 2, n << 2)
        self.same(p ** 2, n ** 2)
        self.same(2 - p, 2 - n)
        c = x
        x += 1
        self.same(x, a + 1)
        self.same(c, a)
        with self.assertRaises(TypeError):
            x + "text"

    def test_functions(self):
        a = numbers((3, 5))
        x = vf.array(a)
        for name in ("exp", "sin", "tanh", "floor", "square", "sign", "expm1", "arctan"):
            self.close(getattr(vf, name)(x), getattr(np, name)(a))
        self.close(vf.log(abs(x)), np.log(abs(a)))
        self.same(vf.where(x > 0, x, 0.0), np.where(a > 0, a, np.float32(0)))
        self.same(vf.clip(x, -0.5, 0.5), np.clip(a, np.float32(-0.5), np.float32(0.5)))
        self.same(vf.maximum(x, 0), np.maximum(a, np.float32(0)))
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 2, -3], "float32")
        pairs = np.array(list(itertools.product(special, special)), "float32")
        u, v = vf.array(pairs[:, 0]), vf.array(pairs[:, 1])
        self.close(vf.atan2(u, v), np.arctan2(pairs[:, 0], pairs[:, 1]))
        self.same(vf.copysign(u, v), np.copysign(pairs[:, 0], pairs[:, 1]))
        self.same(vf.isfinite(u), np.isfinite(pairs[:, 0]))
        self.same(vf.signbit(u), np.signbit(pairs[:, 0]))
        self.same(vf.hypot(vf.array([3.0, 0.0]), vf.array([4.0, 0.0])), np.array([5, 0], "float32"))
        self.same(vf.nextafter(u, v), np.nextafter(pairs[:, 0], pairs[:, 1]))

    def test_reductions(self):
        a = numbers((3, 4, 2))
        x = vf.array(a)
        for axis in (None, 0, (0, 2), -1):
            for name in ("sum", "mean", "max", "min", "prod", "std", "var"):
                self.close(getattr(x, name)(axis), getattr(a, name)(axis))
                self.close(getattr(vf, name)(x, axis=axis, keepdims=True), getattr(a, name)(axis, keepdims=True))
        self.same(x.argmax(1), a.argmax(1))
        self.same(x.argmin(), a.argmin())
        self.same((x > 1).any(0), (a > 1).any(0))
        self.close(x.cumsum(1), a.cumsum(1))
        self.same(vf.sort(x, axis=0), np.sort(a, 0))
        self.same(vf.argsort(x, axis=1), np.argsort(a, 1, kind="stable"))
        self.same(vf.sum(vf.array([200, 100], dtype="uint8")), np.uint32(300))
        self.same(vf.diff(x, axis=1), np.diff(a, axis=1))
        values, places = vf.topk(x, 2, axis=1)
        self.same(values, -np.sort(-a, 1)[:, :2])
        self.same(vf.take_along_axis(x, places, axis=1), -np.sort(-a, 1)[:, :2])

    def test_parts(self):
        a = numbers((4, 3, 5))
        x = vf.array(a)
        for key in KEYS:
            with self.subTest(key=key):
                self.same(x[key], a[key])
        mask = a > 0
        self.same(x[vf.array(mask)], a[mask])
        self.same(x[vf.array(mask[:, 0, 0])], a[mask[:, 0, 0]])
        for bad in ((4,), (0, 0, 0, 0), (Ellipsis, Ellipsis), (0, -4)):
            with self.subTest(key=bad), self.assertRaises(IndexError):
                x[bad]
        with self.assertRaises(IndexError):
            x[vf.array([9])].realise()
        for bad in (0.5, "a"):
            with self.assertRaisesRegex(IndexError, "an index is an integer"):
                x[bad]

    def test_writes(self):
        for key in KEYS:
            with self.subTest(key=key):
                a = numbers((4, 3, 5))
                x = vf.array(a)
                before = x + 0
                value = numbers(a[key].shape, seed=2)
                kept = a.copy()
                a[key] = value
                x[key] = vf.array(value)
                self.same(x, a)
                self.same(before, kept)
        a = np.zeros((4, 6), "float32")
        x = vf.array(a)
        x[1:, ::2] += 2
        a[1:, ::2] += 2
        x[x > 1] = -1
        a[a > 1] = -1
        self.same(x, a)
        self.same(x.at[[0, 0]].add(1.0), np.vstack([a[:1] + 2, a[1:]]))
        n = vf.array([1, 2, 3])
        n[1] = 2.9
        self.same(n, np.array([1, 2, 3], "int32"))

    def test_shapes(self):
        a = numbers((2, 3, 4))
        x = vf.array(a)
        self.same(x.reshape(4, -1), a.reshape(4, -1))
        self.same(x.T, a.T)
        self.same(vf.moveaxis(x, 0, -1), np.moveaxis(a, 0, -1))
        self.same(vf.swapaxes(x, 0, 2), a.swapaxes(0, 2))
        self.same(vf.expand_dims(x, (0, -1)), np.expand_dims(a, (0, -1)))
        self.same(vf.squeeze(x[:, :1], 1), a[:, :1].squeeze(1))
        self.same(vf.concat([x, x], axis=1), np.concatenate([a, a], 1))
        self.same(vf.stack([x, x], axis=-1), np.stack([a, a], -1))
        self.same(vf.roll(x, (1, -2), axis=(0, 2)), np.roll(a, (1, -2), (0, 2)))
        self.same(vf.flip(x, axis=1), np.flip(a, 1))
        self.same(vf.tile(x, (2, 1, 2)), np.tile(a, (2, 1, 2)))
        self.same(vf.repeat(x, 2, axis=1), np.repeat(a, 2, 1))
        self.same(vf.pad(x, ((0, 0), (1, 2), (0, 1))), np.pad(a, ((0, 0), (1, 2), (0, 1))))
        self.same(vf.pad(x, 1, mode="edge"), np.pad(a, 1, mode="edge"))
        self.same(vf.broadcast_to(x[0], (5, 3, 4)), np.broadcast_to(a[0], (5, 3, 4)))
        self.same(vf.rearrange(x, "a b c -> (a c) b"), a.transpose(0, 2, 1).reshape(8, 3))
        first, second = vf.split(x, 2, axis=2)
        self.same(second, a[:, :, 2:])
        for have, want in zip(vf.meshgrid(x[0, 0], x[0, :, 0]), np.meshgrid(a[0, 0], a[0, :, 0])):
            self.same(have, want)

    def test_products(self):
        a, b = numbers((2, 3, 4)), numbers((4, 5), seed=1)
        x, y = vf.array(a), vf.array(b)
        self.close(x @ y, a @ b)
        self.close(vf.einsum("bij,jk->bki", x, y), np.einsum("bij,jk->bki", a, b))
        self.close(vf.tensordot(x, y, axes=1), np.tensordot(a, b, 1))
        self.close(vf.outer(x[0, 0], y[0]), np.outer(a[0, 0], b[0]))
        self.close(vf.vecdot(x, x), (a * a).sum(-1))
        self.close(vf.linalg.trace(x), np.trace(a, axis1=1, axis2=2))
        self.close(vf.linalg.cross(x[0, :, :3], x[1, :, :3]), np.cross(a[0, :, :3], a[1, :, :3]))
        self.close(vf.linalg.vector_norm(y, axis=0, ord=3), np.linalg.norm(b, 3, 0))

    def test_copies(self):
        """They do not change with the array, nor it with them."""
        a = vf.array([1.0, 2.0])
        for made in (copy.copy(a), copy.deepcopy(a), copy.deepcopy({"w": a})["w"]):
            made[0] = 5
            self.assertEqual((a.tolist(), made.tolist()), ([1, 2], [5, 2]))

    def test_options_of_numpy(self):
        x = np.array([[0.25, -1.45, 2.5], [17.0, 1e-3, 3.5]])
        v = vf.array(x)
        for decimals in (0, 1, -1):
            self.same(np.round(v, decimals), np.round(x, decimals))
        self.same(np.round(vf.array([14, 26]), -1), np.array([10, 30], "int32"))
        self.same(round(v, 1), np.round(x, 1))
        for mode in ("clip", "wrap"):
            at = np.array([0, 2, 5, -1, -9])
            self.same(np.take(v, at, axis=1, mode=mode), np.take(x, at, axis=1, mode=mode))
        self.assertEqual([a.tolist() for a in vf.where(v > 2)], [a.tolist() for a in np.where(x > 2)])
        self.assertEqual((v.item(1, 0), v.item(4)), (x.item(1, 0), x.item(4)))
        for a, b in ((7, vf.array([2.0, -3.0])), (vf.array([7, -7]), 3)):
            self.assertEqual([p.tolist() for p in divmod(a, b)], [p.tolist() for p in divmod(np.asarray(a), np.asarray(b))])

    def test_positions_of_numpy(self):
        x = np.arange(12.0).reshape(3, 4)
        for call in (lambda a: np.triu(a, 1), lambda a: np.tril(a, -1), lambda a: np.cumsum(a, 1), lambda a: np.sort(a, 0),
                     lambda a: np.sum(a, 0), lambda a: np.roll(a, 1, 0), lambda a: np.trace(a, 1), lambda a: np.flip(a, 1)):
            self.same(call(vf.array(x)), call(x))

    def test_sets(self):
        a = np.array([[3, 1, 3], [2, 1, 1]])
        made = vf.unique_all(vf.array(a))
        values, indices, inverse, counts = np.unique(a, True, True, True)
        self.same(made.values, values)
        self.same(made.indices, indices)
        self.same(made.inverse_indices, inverse.reshape(a.shape))
        self.same(made.counts, counts)
        self.same(vf.searchsorted(vf.array([1.0, 2.0, 4.0]), vf.array([2.0, 5.0])), np.array([1, 3]))
        for have, want in zip(vf.nonzero(vf.array(a) > 1), np.nonzero(a > 1)):
            self.same(have, want)

    def test_numbers(self):
        x = vf.array([[2.5]])
        self.assertEqual((x.item(), float(x[0, 0]), int(x[0, 0]), bool(x[0, 0])), (2.5, 2.5, 2, True))
        self.assertEqual([10, 20, 30][vf.array(1)], 20)
        with self.assertRaisesRegex(TypeError, "shape"):
            float(x)
        with self.assertRaises(ValueError):
            vf.array([1, 2]).item()
        self.assertEqual(len(vf.zeros((3, 2))), 3)
        self.assertEqual([r.tolist() for r in vf.array([[1], [2]])], [[1], [2]])
        self.assertEqual(pickle.loads(pickle.dumps(vf.array([1, 2]))).tolist(), [1, 2])

    def test_text(self):
        x = vf.array([1.0, 2.0])
        self.assertEqual(repr(x), "Array([1., 2.], dtype=float32)")
        y = x * 2
        self.assertRegex(repr(y), r"^<recorded float32\[2\]: .*mul.*>$")
        self.assertEqual(f"{y[0]:.1f}", "2.0")
        self.assertEqual(str(y), "[2., 4.]")

    def test_numpy_functions(self):
        """Functions that are written with NumPy take our arrays, also traced."""

        def network(np, x, w):
            h = np.tanh(np.dot(x, w)) + np.maximum(x[:, :1], 0)
            return np.sum(h, axis=1), np.mean(h), np.concatenate([h, h], 1), np.where(h > 0, h, 0.0), np.var(h, ddof=1)

        a, b = numbers((3, 4)), numbers((4, 2), seed=1)
        for have, again, want in zip(network(np, vf.array(a), vf.array(b)), vf.jit(lambda x, w: network(np, x, w))(a, b),
                                     network(np, a, b)):
            self.assertIs(type(have), vf.Array)
            self.close(have, want)
            self.close(again, want)
        self.close(vf.grad(lambda x: np.sum(np.exp(x)))(vf.array(a)), np.exp(a))
        self.same(np.add.reduce(vf.array(a) > 0), np.add.reduce(a > 0).astype("int32"))
        with self.assertRaisesRegex(TypeError, "no numpy.lexsort"):
            np.lexsort(vf.ones(3), vf.ones(2))
        with self.assertRaisesRegex(AttributeError, "viewfold.nn.softmax"):
            vf.softmax

    def test_random(self):
        a = vf.random.normal(3, (1000,))
        self.same(vf.random.normal(3, (1000,)), a)
        self.assertLess(abs(float(a.mean())), 0.2)
        u = vf.random.uniform(vf.random.split(7)[0], (1000,), low=2, high=3)
        self.assertTrue(2 <= float(u.min()) and float(u.max()) < 3)

    def test_letters(self):
        """Axes by letters, which operations pass on."""
        a = np.arange(24.0).reshape(2, 3, 4)
        x = vf.name_axes(vf.array(a), "bhw")
        self.assertEqual((x.axes, (x * 2).axes, x.sum("h").axes, vf.array(a).axes), ("bhw", "bhw", "bw", None))
        self.assertEqual(x.realise().axes, "bhw")
        self.close(x.sum("hw"), a.sum((1, 2)))
        self.close(x.mean(("b", "w"), keepdims=True), a.mean((0, 2), keepdims=True))
        self.same(x.argmax("w"), a.argmax(2))
        self.close(x.cumsum("h"), a.cumsum(1))
        self.close(vf.cumulative_sum(x, axis="w", include_initial=True)[..., 1:], a.cumsum(2))
        self.same(vf.sort(x, axis="b", descending=True), a[::-1])
        self.same(vf.flip(x, axis="hw"), a[:, ::-1, ::-1])
        self.same(vf.permute_dims(x, "wbh"), a.transpose(2, 0, 1))
        self.close(vf.nn.softmax(x, axis="h").sum("h"), np.ones((2, 4)))

        @vf.jit
        def f(image: vf.Array["b", "h", vf.Dim("w", 1, 9)], row: vf.Array["b"]):
            return image.sum("h") + row[:, None]

        self.close(f(a, np.ones(2)), a.sum(1) + 1)
        self.close(f(a[:, :, :3], np.ones(2)), a[:, :, :3].sum(1) + 1)
        self.assertEqual(f._jit.traces, 1)
        with self.assertRaisesRegex(vf.InvalidError, "no axis 'c'"):
            x.sum("c")
        with self.assertRaisesRegex(vf.InvalidError, "'h'|letter"):
            vf.name_axes(vf.array(a), "wbh") + x
        with self.assertRaisesRegex(TypeError, "a letter of vf.name_axes"):
            x.sum(1.5)


class Copies(Case):
    def test_assignment_leaves_copies(self):
        for make in (lambda: vf.array([1.0, 2.0]), lambda: vf.ones(2) * vf.array([1.0, 2.0])):
            for copy in (vf.array, lambda x: vf.asarray(x, copy=True), lambda x: x.astype(x.dtype)):
                x = make()
                y = copy(x)
                x[0] = 9
                self.assertEqual((x.tolist(), y.tolist()), ([9.0, 2.0], [1.0, 2.0]))

    def test_traced(self):
        def f(x):
            y = vf.array(x)
            x[0] = 9
            return x, y

        self.assertEqual([a.tolist() for a in vf.jit(f)(vf.array([1.0, 2.0]))], [[9.0, 2.0], [1.0, 2.0]])
