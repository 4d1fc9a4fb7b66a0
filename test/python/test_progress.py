"""Work that takes long: a signal interrupts it, after which all can be used; on a terminal a line says how far it is."""

import contextlib
import inspect
import os
import pty
import signal
import subprocess
import sys
import types
import unittest
from unittest import mock

from common import Case, vf

ENDLESS = """
import os, signal, sys
import viewfold as vf
endless = vf.jit(lambda x: vf.while_loop(lambda s: vf.all(s < 2), lambda s: s * 0.5, x))
double = vf.jit(lambda x: x * 2)
x = vf.ones(16)
if sys.argv[1] == "alarm":
    def stop(*_):
        raise TimeoutError("enough")
    signal.signal(signal.SIGALRM, stop)
try:
    print("ready", flush=True)  # the signal may come at once
    endless(x)
    print("ended")
except (KeyboardInterrupt, TimeoutError) as e:
    print(type(e).__name__, float(double(x)[3]), float((vf.ones(3) + 1)[0]))
"""


class Progress(Case):
    def start(self, how, stderr):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        return subprocess.Popen([sys.executable, "-c", ENDLESS, how], stdout=subprocess.PIPE, stderr=stderr, text=True,
                                env=environment)

    def test_interrupt(self):
        child = self.start("interrupt", None)
        self.assertEqual(child.stdout.readline(), "ready\n")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.stdout.read(), "KeyboardInterrupt 2.0 2.0\n")
        child.stdout.close()
        self.assertEqual(child.wait(), 0)

    def test_interrupted_anywhere(self):
        """A signal raises where a function of Python begins: at each one of tracing, which then has left nothing behind."""

        def traced(x):
            rows = vf.vmap(lambda r: vf.scan(lambda c, v: (c + v, c), vf.zeros(()), r)[0])(x)
            return vf.cond(rows.sum() > 0, lambda: vf.checkpoint(vf.sin)(rows), lambda: -rows)

        begun = 0

        def interrupt(frame, event, given):
            nonlocal begun
            begun -= event == "call" and not frame.f_code.co_flags & inspect.CO_GENERATOR  # their ends swallow it
            if not begun:
                raise KeyboardInterrupt

        x = vf.ones((3, 4)).realise()
        ended, first = False, 0
        while not ended:
            begun = first = first + 1
            try:
                sys.settrace(interrupt)
                vf.jit(vf.value_and_grad(lambda a: traced(a).sum()))(x)
                ended = begun > 0
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(None)
            self.assertEqual((vf._native.tracing(), vf._native.scope(), vf._native.is_silent()), (None, 0, False), first)
        self.assertGreater(first, 100)
        self.assertEqual(float((x + 1)[0, 0]), 2)

    def test_line(self):
        ours, theirs = pty.openpty()
        child = self.start("alarm", theirs)
        os.close(theirs)
        shown = ""
        while "] running" not in shown:
            shown += os.read(ours, 65536).decode()
        child.send_signal(signal.SIGALRM)
        self.assertEqual(child.stdout.read(), "ready\nTimeoutError 2.0 2.0\n")
        child.stdout.close()
        child.wait()
        with contextlib.suppress(OSError):  # how a terminal says that nobody has its other end
            while more := os.read(ours, 65536):
                shown += more.decode()
        os.close(ours)
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)

    def test_notebook(self):
        """A kernel of notebooks has a display that is shown once, changed, and empty at the end."""
        from viewfold import _progress

        shown = []

        class Handle:
            update = shown.append

        shell = types.SimpleNamespace(kernel=object())
        display = types.SimpleNamespace(display=lambda bar, display_id: (shown.append(bar), Handle())[1])
        modules = {"IPython": types.SimpleNamespace(get_ipython=lambda: shell), "IPython.display": display}
        with mock.patch.dict(sys.modules, modules), mock.patch.object(_progress.time, "monotonic") as now:
            line = _progress._Line()
            for now.return_value, told in ((5.0, ("running", 1, 8)), (6.5, ("running", 2, 8)), (7.0, ("running <", 4, 8)), (8.0, ())):
                line(*told)
        self.assertEqual([repr(bar) for bar in shown], ["running: 2 of 8", "running <: 4 of 8", ""])
        self.assertEqual(shown[1]._repr_html_(), "<progress value='4' max='8'></progress> running &lt;: 4 of 8")
        self.assertEqual(shown[2]._repr_html_(), "")


if __name__ == "__main__":
    unittest.main()
