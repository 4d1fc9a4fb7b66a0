"""Looking at compiled functions: pages, profiles, the command."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

from common import Case, np, vf


@vf.jit
def layer(x, w):
    return vf.nn.softmax(vf.tanh(x @ w))


class Pages(Case):
    def test_page(self):
        """What a notebook shows is the page of `viewfold show`, with the times of this function's kernels."""
        seen = vf.explain(layer)(np.ones((8, 16), "f")[:, ::-2], np.ones((8, 4), "f"))
        page = seen.page()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertIn("<title>layer.vf", page)
        times = json.loads(seen._times("json"))
        self.assertEqual((times["graph"], times["runs"]), ("layer", 5))
        self.assertRegex(seen._repr_html_(), r"(?s)^<iframe srcdoc=\"&lt;!DOCTYPE html&gt;[^\"<>]*\" style=")

    def test_page_without_command(self):
        seen = vf.explain(layer)(np.ones((8, 16), "f"), np.ones((16, 4), "f"))
        with mock.patch("subprocess.run", side_effect=OSError):
            page = seen.page()
        for part in ("<summary>time</summary>", "<summary>kernels</summary>", "softmax" if "softmax" in seen.graph else "matmul"):
            self.assertIn(part, page)

    def test_function(self):
        f = vf.jit(lambda a: a + 1)
        self.assertRegex(repr(f), r"^<compiled function\(a\), called with 0 signatures")
        self.assertIsNone(f._repr_html_())
        f(vf.ones(3))
        self.assertIn("called with 1 signatures", repr(f))
        self.assertIn("iframe", f._repr_html_())

    def test_prints_once(self):
        """Runs that are measured for a page print nothing."""
        told = []
        f = vf.jit(lambda x: vf.tap(x, lambda v: told.append(v.tolist())) * 2)
        vf.explain(f)(vf.ones(2)).page()
        self.assertEqual(told, [])

    def test_sizes_that_vary(self):
        n = vf.Dim("n", 1, 64)

        def f(x: vf.Array[n, 3]):
            return x * 2

        f.__annotations__["x"] = vf.Array[n, 3]
        seen = vf.explain(f)(np.ones((4, 3), "f"))
        self.assertIsNone(seen._times("json"))
        self.assertIn("<!DOCTYPE html>", seen.page())

    def test_profile_of_strides(self):
        """The program reads the elements where they lie."""
        x = np.arange(4096, dtype="f").reshape(64, 64)
        for part in (x[:, ::2], x[::-1], x.T):
            text = vf.profile(lambda v: v + 1, runs=2)(part)
            self.assertRegex(text, r"2 runs of .* ms")


class Command(Case):
    def test_command(self):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))

        def run(*words):
            return subprocess.run([sys.executable, "-m", "viewfold", *words], env=environment, capture_output=True, text=True)

        self.assertEqual(run("index", "f32[3,2].permute(1,0)").stdout, "(ridx0+(ridx1*2))\n")
        self.assertEqual(run("unheard").returncode, 2)
        with tempfile.TemporaryDirectory() as folder:
            vf.export(lambda x: x * 2, vf.ones(3)).save(f"{folder}/f.vf")
            self.assertRegex(run("run", f"{folder}/f.vf", "--in", "x=[1,2,3]").stdout, re.escape("[2.0, 4.0, 6.0]"))


class Threads(Case):
    def test_loops_let_others_run(self):
        """No cost tells how long a loop runs: other threads of Python run meanwhile."""
        f = vf.jit(lambda x: vf.fori_loop(0, 2000, lambda i, c: c * 0.5 + 1, x))
        x, seen, go = np.ones(4, "f"), [], threading.Lock()
        f(x)
        before = sys.getswitchinterval()
        go.acquire()
        other = threading.Thread(target=lambda: (go.acquire(), seen.append(1)))
        other.start()
        sys.setswitchinterval(1000)  # from now on threads change where one lets the others run
        try:
            go.release()
            for _ in range(1000):
                f(x)
                if seen:
                    break
            ran = bool(seen)
        finally:
            sys.setswitchinterval(before)
            other.join()
        self.assertTrue(ran)


if __name__ == "__main__":
    unittest.main()
