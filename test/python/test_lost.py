"""What would be lost without a word is refused: writes to what has no name, to parts of arrays, results that are dropped; and
imports of what there is not say what there is."""

import importlib.util
import unittest
import weakref

from common import Case, vf
from viewfold import _forgotten


def _run(*lines):
    exec(compile("\n".join(lines), "user.py", "exec"), {"vf": vf, "a": vf.zeros((2, 3))})


class Nameless(Case):
    @unittest.skipUnless(_forgotten._FORGOTTEN, "this Python counts no references of what has no name")
    def test_writes(self):
        for line in ("a[0][0] = 9", "a.T[0] = 9", "a.reshape(-1)[0:1] = 9"):
            with self.subTest(line), self.assertRaisesRegex(
                    TypeError, r"what is written here is lost: .*; write to the array itself, as x\[0, 0\] = y in place of x\[0\]\[0\] = y"):
                _run(line)


class Parts(Case):
    def test_refused(self):
        """NumPy's are views, whose writes the array has, too."""
        for line in ("b = a[0]", "b = a[:, 1:]", "b = a.T", "b = a.reshape(-1)", "b = a.ravel()", "b = vf.flip(a)", "b = a[0][1:]",
                     "b = vf.squeeze(a[:1])", "b = a[..., None]"):
            with self.subTest(line), self.assertRaisesRegex(
                    TypeError, r"what is written here stays in this array, .* of shape \(2, 3\), that is still there: .*b = a\[0\]\.copy\(\)"):
                _run(line, "b[0] = 1")
        with self.assertRaisesRegex(TypeError, "stays in this array"):
            _run("for row in a: row[0] = 1")
        with self.assertRaisesRegex(TypeError, "stays in this array"):
            _run("def f(x):", "  row = x[0]", "  row[0] = 5", "  return row", "vf.jit(f)(a)")

    def test_taken(self):
        """Copies, what is left of an array alone, and the parts that a statement reads and writes."""
        for lines in (("b = a[0].copy()", "b[0] = 1"), ("a = a[0]", "a[0] = 1"), ("b = a.flatten()", "b[0] = 1"),
                      ("b = a[vf.array([0, 1])]", "b[0] = 1"), ("b = a + 0", "b[0] = 1"), ("b = vf.array(a[0])", "b[0] = 1"),
                      ("a[0] += 1", "a[0, 1] *= 2", "assert a.tolist() == [[1, 2, 1], [0, 0, 0]]"),
                      ("a = a.T", "a[0] = 1", "b = a", "b[1] = 2")):
            with self.subTest(lines[0]):
                _run(*lines)

    def test_ended(self):
        x = vf.zeros(3)
        seen, part = weakref.ref(x), x[1:]
        self.assertIs(part._whole, x)
        del x
        self.assertIsNone(seen())
        part[0] = 1
        self.assertEqual(part.tolist(), [1, 0])


class Dropped(Case):
    @unittest.skipUnless(_forgotten._SEES_DROPS, "this Python's code is another one")
    def test_at(self):
        for how in ("set", "add"):
            with self.assertRaisesRegex(TypeError, rf"x\.at\[i\]\.{how}\(y\) leaves x as it is .*; x = x\.at\[i\]\.{how}\(y\)"):
                _run(f"a.at[0].{how}(1.0)")
        _run("b = a.at[0].set(1.0)", "assert b.sum() == 3", "(lambda: a.at[0].set(1.0))()", "[a.at[0].set(1.0)]")


IMPORTS = (
    ("import viewfold.numpy as vnp", r"there is no module viewfold\.numpy; functions have NumPy's names, in viewfold itself.*import viewfold as vf"),
    ("from viewfold import numpy", "viewfold has no numpy; functions have NumPy's names"),
    ("from viewfold import relu", r"viewfold has no relu; it is viewfold\.nn\.relu"),
    ("from viewfold.nn import Linear", r"viewfold\.nn has no Linear; layers are functions of arrays"),
    ("import viewfold.nn.functional as F", r"there is no module viewfold\.nn\.functional; functions are in viewfold\.nn itself"),
    ("import viewfold.linlag", r"there is no module viewfold\.linlag; near to it: viewfold\.linalg"),
    ("import viewfold.matmul", "matmul is no module: from viewfold import matmul"),
    ("import viewfold.optim", r"no module viewfold\.optim; optimisers are functions of yours.*its modules are viewfold\.nn"),
    ("from viewfold import mat_mul", r"it is viewfold\.matmul"),
)


class Imports(Case):
    def test_messages(self):
        for line, message in IMPORTS:
            with self.subTest(line), self.assertRaisesRegex(ImportError, message):
                exec(line, {})

    def test_questions(self):
        self.assertIsNone(importlib.util.find_spec("viewfold.numpy"))
        self.assertFalse(hasattr(vf, "numpy"))
        self.assertEqual(importlib.util.find_spec("viewfold.nn").name, "viewfold.nn")


if __name__ == "__main__":
    unittest.main()
