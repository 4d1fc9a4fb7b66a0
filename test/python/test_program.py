"""Programs that are saved, loaded and pickled: with the arrays that a function takes from its surroundings, and with sizes
that vary."""

import os
import pickle
import subprocess
import sys
import tempfile
import unittest

from common import Case, np, vf

n, m = vf.Dim("n", 1, 64), vf.Dim("m", 4, 64, 4)
WEIGHTS, SHIFT = np.arange(64 * 64, dtype="f").reshape(64, 64), np.arange(600, dtype="d")


def product(x: vf.Array[n, 3], y: vf.Array[m, n]):
    return y @ x


def with_weights(x):
    return x @ vf.asarray(WEIGHTS) + vf.asarray(WEIGHTS)[:2] + SHIFT.astype("f")[:64]


class Programs(Case):
    def test_weights(self):
        x = np.ones((2, 64), "f")
        program, want = vf.export(with_weights, x), np.asarray(vf.jit(with_weights)(x))
        with tempfile.TemporaryDirectory() as folder:
            program.save(f"{folder}/net.vf")
            self.assertEqual(sorted(os.listdir(folder)), ["net.safetensors", "net.vf"])
            self.assertLess(os.path.getsize(f"{folder}/net.safetensors"), 64 * 64 * 4 + 600 * 8 + 1000)  # each array once
            loaded = vf.load_program(f"{folder}/net.vf")
            loaded.save(f"{folder}/again.vf")
            with open(f"{folder}/net.pickle", "wb") as file:
                pickle.dump(loaded, file)
            for made in (loaded, vf.load_program(f"{folder}/again.vf"), pickle.loads(pickle.dumps(program))):
                self.same(made(x), want)
            child = subprocess.run(
                [sys.executable, "-c", "import pickle, sys, viewfold as vf\n"
                 "program = pickle.load(open(sys.argv[1], 'rb'))\nprogram.save(sys.argv[2])\n"
                 "vf.save(sys.argv[3], program(vf.ones((2, 64))))", f"{folder}/net.pickle", f"{folder}/third.vf", f"{folder}/y.npy"],
                env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)), check=False)
            self.assertEqual(child.returncode, 0)
            self.same(vf.load(f"{folder}/y.npy"), want)
            self.same(vf.load_program(f"{folder}/third.vf")(x), want)

    def test_sizes(self):
        program = vf.export(product, np.ones((4, 3), "f"), np.ones((8, 4), "f"))
        with tempfile.TemporaryDirectory() as folder:
            program.save(f"{folder}/f.vf")
            for made in (program, vf.load_program(f"{folder}/f.vf"), pickle.loads(pickle.dumps(program))):
                self.same(made(np.ones((5, 3), "f"), np.ones((12, 5), "f")), np.full((12, 3), 5, "f"))
        for x, y, message in (((5, 3), (12, 6), r"input y is float32\[12, 6\].*m from 4 to 64 in multiples of 4, n\], where n is 5$"),
                              ((5, 3), (13, 5), "input y"), ((65, 3), (12, 65), "input x.*n from 1 to 64, 3"), ((3,), (4, 3), "input x")):
            with self.assertRaisesRegex(ValueError, message):
                program(np.ones(x, "f"), np.ones(y, "f"))

    def test_arguments(self):
        tree = vf.export(lambda p, k: p["w"][0] * k + p["b"], {"w": [vf.ones(3)], "b": vf.ones(3)}, k=vf.ones(3))
        self.assertEqual(tree.inputs, ("p_b", "p_w_0", "k"))
        self.assertEqual(vf.export(vf.jit(lambda x, k: x * k, static_argnames="k"), vf.ones(3), k=2)(vf.ones(3)).tolist(), [2, 2, 2])
        part = np.arange(12, dtype="f").reshape(3, 4)[:, ::2]
        self.same(vf.export(lambda x: x * 2, part)(part), part * 2)  # an argument lies as it likes

    def test_references(self):
        self.assertEqual(pickle.loads(pickle.dumps(vf.Ref(np.ones(3, "f"))))[...].tolist(), [1, 1, 1])


if __name__ == "__main__":
    unittest.main()
