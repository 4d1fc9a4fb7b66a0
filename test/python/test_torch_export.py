"""Models of torch as files that the command runs and builds, where torch is installed."""

import ctypes
import pathlib
import subprocess
import tempfile
import unittest

from common import Case, np, vf

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

COMMAND = pathlib.Path(vf.__file__).parents[2] / "viewfold"


@unittest.skipUnless(torch, "torch is not installed")
class Exported(Case):
    def setUp(self):
        torch.manual_seed(0)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "net.vf"

    def export(self, model, *arguments, **options):
        from viewfold.torch import export

        return export(model, self.path, *arguments, **options)

    def model(self):
        return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5))

    def command(self, *words):
        done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_program(self):
        """Weights are in a file of their own, under their names; the graph is found again beside it."""
        model, x = self.model().eval(), torch.randn(2, 3, 8, 8)
        program = self.export(model, x)
        self.assertEqual((program.inputs, program.outputs), (("input",), ("y",)))
        expected = model(x).detach().numpy()
        self.close(program(x.numpy()), expected)
        self.assertEqual(set(vf.load(self.path.with_suffix(".safetensors"))),
                         {n for n in model.state_dict() if "tracked" not in n})
        self.close(vf.load_program(self.path)(x.numpy()), expected)

    def test_loops(self):
        """The text has the loop's body before the graph that runs it."""
        model, x = nn.GRU(3, 5, batch_first=True), torch.randn(2, 4, 3)
        made = self.export(model, x)(x.numpy())
        for y, expected in zip(made, model(x), strict=True):
            self.close(y, expected.detach().numpy())

    @unittest.skipUnless(COMMAND.exists(), "the command is not built")
    def test_command(self):
        model, x = self.model().eval(), torch.randn(2, 3, 8, 8)
        self.export(torch.export.export(model, (x,)))
        np.save(self.path.with_name("x.npy"), x.numpy())
        self.command("run", "net.vf", "--in", "input=x.npy", "--out", "y=y.npy")
        expected = model(x).detach().numpy()
        self.close(np.load(self.path.with_name("y.npy")), expected)
        self.command("build", "net.vf", "-o", "net.so", "--header", "net.h")
        header = self.path.with_name("net.h").read_text()
        arena = int(header.split("net_ARENA_BYTES")[1].split()[0].strip("()uUlL"))
        built = ctypes.CDLL(str(self.path.with_name("net.so")))
        y, memory = np.zeros((2, 5), "f"), np.zeros(arena + 64, "u1")
        arrays = (ctypes.c_void_p * 2)(x.data_ptr(), y.ctypes.data)
        built.net_run(arrays, ctypes.c_void_p((memory.ctypes.data + 63) // 64 * 64))
        self.close(y, expected)

    def test_sizes(self):
        """Sizes that vary are variables, from the least to the greatest that torch was told."""
        model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
        self.export(model, torch.randn(5, 4), dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=64)},))
        self.assertRegex(self.path.read_text(), r"%input: f32\[\w+=2..64,4\]")

    def test_buffers_change(self):
        """A buffer that the model changes is an input, and what it becomes an output."""
        model, x = nn.BatchNorm1d(3), torch.randn(6, 3)
        program = self.export(model, x)
        self.assertEqual(program.outputs, ("b_running_mean_new", "b_running_var_new", "b_num_batches_tracked_new", "y"))
        made = program(model.running_mean.numpy(), model.running_var.numpy(), model.num_batches_tracked.numpy(), x.numpy())
        y = model(x)
        self.close(made[3], y.detach().numpy())
        self.close(made[1], model.running_var.numpy())
        self.assertEqual(int(made[2]), 1)

    def test_what_is_not_taken(self):
        class Inverse(nn.Module):
            def forward(self, x):
                return torch.linalg.inv(x)

        with self.assertRaisesRegex(Exception, "linalg_inv_ex.default: there is no row for it"):
            self.export(Inverse(), torch.eye(3))
        with self.assertRaisesRegex(ValueError, "ends in .vf, not 'net.onnx'"):
            self.path = self.path.with_suffix(".onnx")
            self.export(self.model(), torch.randn(2, 3, 8, 8))
        self.assertEqual(list(self.path.parent.iterdir()), [])
