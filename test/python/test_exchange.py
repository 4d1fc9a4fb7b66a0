"""Arrays of other libraries without copies, and lifetimes; errors with the user's line."""

import ctypes
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

    def test_writes_after(self):
        """What others got of an array stays, whatever the array comes to stand for."""
        x = vf.array(np.ones(1000, "float32"))
        seen, view = np.asarray(x), memoryview(x)
        f = vf.jit(lambda y: y + x)
        f(np.zeros(1000, "float32"))
        for _ in range(3):
            x[:] = 2
            x.realise()
            vf._native.collect()
        self.assertEqual((seen.sum(), view[7], float(x.sum())), (1000, 1, 2000))
        self.assertEqual(np.asarray(f(np.zeros(1000, "float32"))).sum(), 1000)  # as it was traced

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

    def test_given_back(self):
        """Memory of others is given back while nothing is computed by the session."""

        class Owner(np.ndarray):
            pass

        for use in (vf.from_dlpack, lambda a: vf.asarray(a).__dlpack__()):
            gone = []
            for _ in range(300):
                a = np.ones(10, "float32").view(Owner)
                gone.append(weakref.ref(a))
                use(a)
                del a
            gc.collect()
            self.assertLess(sum(g() is not None for g in gone), 150)

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
        self.assertFalse(np.from_dlpack(y).flags.writeable)
        if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1):  # which have copy=
            copied = np.from_dlpack(y, copy=True)
            copied[...] = 0
            self.same(y, a)
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

class Table(Case):
    """The table of DLPack, called as a library in C does."""

    class Described(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                    ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]

    def setUp(self):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        at = pointer(vf.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        self.versions = tuple((ctypes.c_uint32 * 2).from_address(at))
        self.functions = tuple((ctypes.c_void_p * 5).from_address(at + 16))

    def managed(self, at):
        """(version, flags, description) of a managed tensor."""
        return (tuple((ctypes.c_uint32 * 2).from_address(at)), ctypes.c_uint64.from_address(at + 24).value,
                self.Described.from_address(at + 32))

    def drop(self, at):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(at + 16).value)(at)

    def test_describe(self):
        describe = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(self.functions[3])
        self.assertEqual(self.versions[0], 1)
        for dtype, code in (("bool", 6), ("int16", 0), ("uint64", 1), ("float16", 2), ("bfloat16", 4), ("float64", 2)):
            x, out = vf.zeros((2, 1, 3), dtype=dtype), self.Described()
            self.assertEqual(describe(x, ctypes.addressof(out)), 0)
            self.assertEqual((out.code, out.bits, out.lanes, out.offset), (code, 8 * len(x.tobytes()) // 6, 1, 0))
            self.assertEqual((tuple(out.device), out.shape[: out.rank], out.strides[: out.rank]), ((1, 0), [2, 1, 3], [3, 3, 1]))
        y = vf.ones(4)
        describe(y, ctypes.addressof(out))
        self.assertEqual(out.data, np.asarray(y).__array_interface__["data"][0])
        with self.assertRaisesRegex(TypeError, "viewfold.Array"):
            describe([1], ctypes.addressof(out))

    def test_lend(self):
        lend = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))(self.functions[1])
        take = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))(self.functions[2])
        for x in (vf.array([[1.0, 2.0], [3.0, 4.0]]), (vf.ones((2, 2)) * 3).realise()):
            out, back, want = ctypes.c_void_p(), ctypes.py_object(), x.tolist()
            self.assertEqual(lend(x, out), 0)
            version, flags, described = self.managed(out.value)
            self.assertEqual((version[0], flags, described.data), (1, 1, np.asarray(x).__array_interface__["data"][0]))
            del x
            self.assertEqual(take(out, back), 0)  # the memory is still there
            self.assertEqual(back.value.tolist(), want)
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(back.value))

    def test_allocate(self):
        report = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
        allocate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, report)(self.functions[0])
        told, out = [], ctypes.c_void_p()
        note = report(lambda _, kind, message: told.append(kind))
        like = self.Described(device=(1, 0), rank=2, code=2, bits=32, lanes=1, shape=(ctypes.c_int64 * 2)(2, 3))
        self.assertEqual(allocate(ctypes.addressof(like), out, None, note), 0)
        _, flags, described = self.managed(out.value)
        self.assertEqual((flags, described.data % 64, described.strides[:2]), (0, 0, [3, 1]))
        ctypes.memset(described.data, 7, 24)
        self.drop(out.value)
        like.code = 5  # complex
        self.assertEqual(allocate(ctypes.addressof(like), out, None, note), -1)
        like.code, like.shape[0] = 2, 1 << 61
        self.assertEqual(allocate(ctypes.addressof(like), out, None, note), -1)
        self.assertEqual(told, [b"ValueError", b"MemoryError"])

