"""Meshes: what functions and arrays on them give is what they give on one device, and NumPy."""

import glob
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import unittest

from common import Case, np, vf

PACKAGE = pathlib.Path(vf.__file__).parent

MESHES = (vf.Mesh(x=2), vf.Mesh(x=2, y=2), vf.Mesh("x=3"), vf.Mesh("x=3:1"))


class Meshes(Case):
    def test_mesh(self):
        mesh = vf.Mesh("x=2,y=3")
        self.assertEqual((mesh.shape, mesh.axis_names, mesh.size), ({"x": 2, "y": 3}, ("x", "y"), 6))
        self.assertEqual([mesh.coordinates(d) for d in (0, 4)], [{"x": 0, "y": 0}, {"x": 1, "y": 1}])
        whole = np.arange(35).reshape(5, 7)
        seen = np.zeros((5, 7), int)
        for device in range(6):
            part = mesh.part(vf.P("x", "y"), (5, 7), device)
            seen[part] += 1
            self.assertEqual(part, mesh.part("[x,y]", (5, 7), device))
        self.assertTrue((seen == 1).all())
        self.assertEqual(whole[mesh.part(vf.P(None, ("x", "y")), (5, 7), 0)].shape, (5, 2))

    def test_specs(self):
        self.assertEqual(vf.P("x", None).text(3), "[x,-,-]")
        self.assertEqual(vf.P(("x", "y"), "z?", replicated="v", pending="w").text(2), "[x.y,z?]!v+w")
        self.assertEqual({vf.P("x"): 1}[vf.P("x")], 1)
        self.assertNotEqual(vf.P("x"), vf.P("x", pending="y"))

    def test_functions(self):
        """A layer, divided by examples, by features, and along both."""
        h, w = np.arange(48.0).reshape(6, 8) % 7, np.arange(32.0).reshape(8, 4) % 5
        want = np.maximum(h @ w - 40, 0).sum(1)
        for mesh in MESHES:
            for specs in (None, (vf.P("x"), None), (vf.P(None, "x"), vf.P("x")), (None, vf.P(None, "x"))):
                f = vf.jit(lambda a, b: vf.nn.relu(a @ b - 40).sum(1), mesh=mesh, in_specs=specs)
                self.same(f(h, w), want)
                self.same(f(np.asfortranarray(h), w), want)
        explained = vf.explain(f)(h, w)
        self.assertIn("@m[-,x]", explained.dump("shard").replace("@mesh", "@m"))
        self.assertGreaterEqual(explained.received[1], explained.received[0])

    def test_training(self):
        """Trees of specs, gradients, and a constraint inside."""
        mesh = vf.Mesh(x=2, y=2)

        def step(params, x):
            def loss(p):
                return ((vf.shard(x @ p["w"], vf.P("x", "y")) + p["b"]) ** 2).mean() if on_mesh else (
                    (x @ p["w"] + p["b"]) ** 2).mean()

            value, gradients = vf.value_and_grad(loss)(params)
            return vf.tree.map(lambda a, g: a - 0.5 * g, params, gradients), value

        results = []
        for on_mesh in (False, True):
            specs = ({"w": vf.P(None, "y")}, vf.P("x"))
            f = vf.jit(step, mesh=mesh, in_specs=specs) if on_mesh else vf.jit(step)
            params = {"w": vf.ones((4, 6)), "b": vf.zeros(6)}
            for _ in range(4):
                params, value = f(params, np.linspace(-1, 1, 32).reshape(8, 4).astype("float32"))
            results.append((params["w"], params["b"], value))
        for have, want in zip(*results):
            self.close(have, want)

    def test_inside(self):
        """A function on a mesh inside of others: of a gradient, of a function on the same mesh, and on another."""
        mesh = vf.Mesh(x=2)
        f = vf.jit(lambda a: (a * a).sum(), mesh=mesh, in_specs=(vf.P("x"),))
        a = np.arange(5.0)
        self.close(vf.grad(f)(vf.array(a)), 2 * a)
        self.close(vf.jit(lambda b: f(b + 1), mesh=mesh)(a), ((a + 1) ** 2).sum())
        with self.assertRaisesRegex(ValueError, "same vf.Mesh"):
            vf.jit(lambda b: f(b), mesh=vf.Mesh(x=2))(a)

    def test_maps(self):
        mesh = vf.Mesh(x=3)
        a = np.arange(12.0).reshape(6, 2)
        f = vf.jit(lambda m: vf.vmap(lambda row: row - row.mean(), over="x")(m), mesh=mesh)
        self.close(f(a), a - a.mean(1, keepdims=True))
        self.assertIn("x", vf.explain(f)(a).dump("shard").split("return")[0].split("@function")[1])

    def test_sizes(self):
        n = vf.Dim("n", 0, 64)

        @vf.jit(mesh=vf.Mesh(x=3), in_specs=(vf.P("x"),))
        def total(x: vf.Array[n, 2]):
            return (x * 2).sum(0)

        for size in (0, 1, 3, 7, 64):
            self.same(total(np.ones((size, 2), "float32")), np.full(2, 2 * size, "float32"))
        self.assertEqual(total._jit.traces, 1)

    def test_collectives(self):
        mesh = vf.Mesh(x=2, y=2)
        a = np.arange(16.0).reshape(4, 4)

        @vf.jit(mesh=mesh)
        def f(m):
            c = vf.collectives
            moved = c.all_to_all(vf.shard(m, vf.P(None, "x")), 0, 1)
            return (c.ppermute(m, "x", 0, [(0, 1)]), c.axis_index(("x", "y")),
                    c.all_gather(vf.shard(m, vf.P("x")), 0) + c.reduce_scatter(moved, 0))

        shifted, numbers, double = f(a)
        largest = vf.jit(lambda m: vf.collectives.all_reduce(m, "y", axis=1, reduce="max"), mesh=mesh)(a)
        self.same(shifted, np.concatenate([a[:2] * 0, a[:2]]))
        self.same(largest, np.maximum(a[:, :2], a[:, 2:]))
        self.same(numbers, np.arange(4, dtype="int32"))
        self.same(double, 2 * a)

    def test_print(self):
        """Functions of Python are called by the threads of the devices, while this one waits."""
        seen = []
        f = vf.jit(lambda x: vf.tap(x.sum(), lambda v: seen.append((threading.get_ident(), v.tolist()))), mesh=vf.Mesh(x=2))
        self.close(f(vf.ones(4)), 4)
        self.assertEqual([v for _, v in seen], [4.0] * len(seen))
        self.assertTrue(seen)

    def test_references(self):
        r = vf.Ref(np.zeros(6, "float32"))

        @vf.jit(mesh=vf.Mesh(x=2), in_specs=(None, vf.P("x")))
        def add(state, x):
            state += x
            return state[...].sum()

        self.assertEqual([float(add(r, np.ones(6, "float32"))) for _ in range(2)], [6, 12])
        with self.assertRaisesRegex(TypeError, "vf.Ref, which is divided"):
            vf.jit(lambda s: s[...], mesh=MESHES[0], in_specs=(vf.P("x"),))(r)

    def test_session(self):
        """Arrays outside of functions. The mesh of the process stays, so this is the last one that sets it."""
        a = np.arange(20.0).reshape(4, 5)
        self.assertEqual(vf.part(vf.array(a), 0), (slice(0, 4), slice(0, 5)))
        with self.assertRaisesRegex(ValueError, "vf.set_mesh"):
            vf.shard(vf.array(a), vf.P("x"))
        vf.set_mesh(vf.Mesh(x=3))
        vf.set_mesh(vf.Mesh(x=2, y=2))
        x = vf.shard(vf.array(a), vf.P("x", "y"))
        y = vf.sin(x) * 2
        self.same(y.astype("float64"), np.asarray(vf.sin(vf.array(a)) * 2))
        self.assertEqual(vf.part(y, 3), (slice(2, 4), slice(3, 5)))
        with self.assertRaisesRegex(vf.InvalidError, "divided over its mesh"):
            vf.set_mesh(vf.Mesh(x=2))
        with vf.debug_nans():  # another context
            with self.assertRaisesRegex(ValueError, "vf.set_mesh"):
                vf.shard(vf.ones(2), vf.P("x"))

    def test_processes(self):
        self.assertEqual(vf.processes(), (1, 0))

    @unittest.skipUnless(shutil.which("mpirun.openmpi") and glob.glob(f"{PACKAGE}/viewfold-mpi-openmpi.so"), "no Open MPI here")
    def test_joined(self):
        """Two processes with two devices each, which also end as they should."""
        program = ("import numpy as np, viewfold as vf\n"
                   "count, number = vf.processes(10)\n"
                   "f = vf.jit(lambda a, b: (a @ b).sum(0), mesh=vf.Mesh(x=4), in_specs=(vf.P('x'), None))\n"
                   "a, b = np.arange(24.0).reshape(8, 3), np.ones((3, 5))\n"
                   "assert count == 2 and np.array_equal(np.asarray(f(a, b)), (a @ b).sum(0)), (count, f(a, b))\n")
        run = subprocess.run(["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n",
                              "2", sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "VIEWFOLD_THREADS": "1"})
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_mistakes(self):
        mesh = vf.Mesh(x=2)
        for call, kind, message in (
            (lambda: vf.Mesh({"x": 2}), TypeError, r"Mesh\(x=2, y=4\)"),
            (lambda: vf.Mesh("x"), vf.InvalidError, "mesh:1"),
            (lambda: vf.P(3), TypeError, r"P\('x', None\)"),
            (lambda: vf.jit(lambda x: vf.shard(x, ("x", None)), mesh=mesh)(vf.ones((2, 2))), TypeError, "how an array is divided"),
            (lambda: vf.jit(lambda x: vf.shard(x, vf.P("z")), mesh=mesh)(vf.ones(2)), vf.InvalidError, "'z', expected one of x"),
            (lambda: vf.jit(lambda x: x, mesh=mesh, in_specs=(vf.P("x", "y"),))(vf.ones(2)), ValueError, "2 entries"),
            (lambda: vf.jit(lambda x: x, in_specs=(vf.P("x"),)), TypeError, "mesh=vf.Mesh"),
            (lambda: vf.jit(lambda x: x, mesh="x=2"), TypeError, "got str"),
            (lambda: vf.jit(lambda x: x, mesh=mesh, in_specs=vf.P("x")), TypeError, "in_specs is a tuple"),
            (lambda: vf.jit(lambda x: x, mesh=mesh, in_specs=(None, None))(vf.ones(2)), ValueError, "2 specs for 1"),
            (lambda: vf.jit(lambda x, y: x, mesh=mesh, in_specs=(None,))(vf.ones(2), vf.ones(2)), ValueError, "None leaves one to"),
            (lambda: vf.jit(lambda x: x["a"], mesh=mesh, in_specs=((None, None),))({"a": vf.ones(2)}), TypeError, "for dict"),
            (lambda: mesh.coordinates(2), IndexError, "no device 2"),
            (lambda: vf.all_reduce, AttributeError, "viewfold.collectives.all_reduce"),
        ):
            with self.assertRaisesRegex(kind, message):
                call()
