"""Arrays of other libraries without copies, and lifetimes; errors with the user's line."""

import gc
import sys
import tempfile
import weakref

from common import Case, np, vf


def address(x):
    return np.asarray(x).__array_interface__["data"][0]


class Exchange(Case):
    def test_numpy(self):
        a = np.arange(6, dtype="float32").reshape(2, 3)
        self.assertEqual(address(vf.asarray(a)), address(a))
        self.assertNotEqual(address(vf.array(a)), address(a))
        self.same(vf.asarray(a.T), a.T)  # not dense: a copy
        x = vf.array(a) + 0
        b, c = np.asarray(x), np.asarray(x)
        self.assertEqual(address(b), address(c))
        with self.assertRaises(ValueError):
            b[0] = 1
        self.assertEqual(memoryview(x.realise()).format, "f")
        with self.assertRaises(BufferError):
            memoryview(vf.array([1.0], dtype="bfloat16"))

    def test_lifetimes(self):
        class Owner(np.ndarray):
            pass

        a = np.ones(1000, "float32").view(Owner)
        gone = weakref.ref(a)
        x = vf.asarray(a)
        y = x * 2
        del a, x
        gc.collect()
        self.assertEqual(float(y.sum()), 2000)
        del y
        vf._native.collect()
        gc.collect()
        self.assertIsNone(gone())
        z = np.asarray(vf.ones(100) * 3)
        gc.collect()
        self.assertEqual(z.sum(), 300)

    def test_dlpack(self):
        a = np.arange(6, dtype="int64").reshape(2, 3)
        x = vf.from_dlpack(a)
        self.assertEqual(address(x), address(a))
        self.same(x, a)
        self.same(vf.from_dlpack(a[:, ::2]) + 0, a[:, ::2])
        b = np.from_dlpack(vf.array(a) + 1)
        self.same(vf.array(b), a + 1)
        y = vf.array(a).realise()
        self.assertEqual(y.__dlpack_device__(), (1, 0))
        for version in (None, (1, 0)):
            capsule = y.__dlpack__(max_version=version)
            self.assertEqual("versioned" in repr(capsule), version is not None)
            self.same(vf._native.from_dlpack(capsule), a)
            with self.assertRaises(ValueError):
                vf._native.from_dlpack(capsule)  # it is used up
        y.__dlpack__()  # dropped unused
        with self.assertRaises(BufferError):
            y.__dlpack__(dl_device=(2, 0))

    def test_references_of_objects(self):
        """Calls take no uses of their arguments."""
        f = vf.jit(lambda x, y: x + y)
        a, b = np.ones(4, "float32"), vf.ones(4).realise()
        f(a, b)
        before = sys.getrefcount(a), sys.getrefcount(b)
        for _ in range(100):
            f(a, b)
        self.assertEqual((sys.getrefcount(a), sys.getrefcount(b)), before)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            arrays = {"w": vf.array([[1.0, 2.0]]), "n": vf.array([3], dtype="bfloat16")}
            for name in ("a.safetensors", "a.npz"):
                given = arrays if name.endswith("tensors") else {"w": arrays["w"]}
                vf.save(f"{folder}/{name}", given)
                made = vf.load(f"{folder}/{name}")
                self.assertEqual({k: v.tolist() for k, v in made.items()}, {k: v.tolist() for k, v in given.items()})
            vf.save(f"{folder}/a.npy", arrays["w"])
            self.same(vf.load(f"{folder}/a.npy"), np.load(f"{folder}/a.npy"))
            program = vf.export(lambda x, y: x @ y + 1, vf.ones((2, 3)), vf.ones((3, 2)))
            program.save(f"{folder}/f.vf")
            made = vf.load_program(f"{folder}/f.vf")
            self.assertEqual(made.inputs, ("x", "y"))
            self.assertEqual(made(vf.ones((2, 3)), y=np.ones((3, 2), "float32")).tolist(), [[4, 4], [4, 4]])
            with self.assertRaisesRegex(ValueError, r"input x is float32\[2\]; the program takes float32\[2, 3\]"):
                made(vf.ones(2), vf.ones((3, 2)))
            with self.assertRaises(vf.FileError):
                vf.load(f"{folder}/none.npy")


class Errors(Case):
    """Each typical mistake has one line that says what to do."""

    def raises(self, kind, text, function):
        with self.assertRaises(kind) as caught:
            function()
        self.assertIn(text, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_shapes(self):
        message = self.raises(vf.InvalidError, "do not broadcast", lambda: vf.ones(3) + vf.ones(4))
        self.assertIn("test_exchange.py:", message)
        self.raises(ValueError, "contracted sizes", lambda: vf.ones((2, 3)) @ vf.ones((2, 3)))
        self.raises(ValueError, "reshape", lambda: vf.ones(6).reshape(4, 2))

    def test_dtypes(self):
        self.raises(TypeError, "is no dtype of viewfold", lambda: vf.zeros(3, dtype="complex64"))
        self.raises(TypeError, "takes arrays and numbers", lambda: vf.add([1], 2))
        self.raises(TypeError, "format", lambda: vf.asarray(np.ones(2, "complex64")))
        self.raises(ValueError, "bool", lambda: vf.array([True]) + vf.array([False]))
        self.raises(ValueError, "u64", lambda: vf.array([1], dtype="uint64") + vf.array([1], dtype="int8"))

    def test_programs(self):
        self.raises(vf.InvalidError, "error", lambda: vf.compile("graph @f(%x: f32[2]) {\n return %y\n}"))
        self.assertIs(type(vf.ones(2)), vf.Array)
        self.raises(TypeError, "made by vf.array", vf.Array)

    def test_goes_on(self):
        """A mistake leaves nothing broken."""
        x = vf.ones(3)
        for _ in range(3):
            self.raises(ValueError, "broadcast", lambda: x + vf.ones(4))
            self.assertEqual(x.sum().tolist(), 3)
