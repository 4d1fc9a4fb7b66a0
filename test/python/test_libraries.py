"""torch and JAX, where they are installed: DLPack both ways without copies, and calls."""

import gc
import unittest

from common import Case, np, vf

try:
    import torch
except ImportError:
    torch = None
try:
    import jax
except ImportError:
    jax = None


@unittest.skipUnless(torch, "torch is not installed")
class Torch(Case):
    def test_round_trip(self):
        t = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        x = vf.from_dlpack(t)
        self.assertEqual(np.asarray(x).__array_interface__["data"][0], t.data_ptr())
        back = torch.from_dlpack(x)
        self.assertEqual(back.data_ptr(), t.data_ptr())
        made = torch.from_dlpack(vf.array([1.5, 2.5], dtype="bfloat16"))
        self.assertEqual((made.dtype, made.tolist()), (torch.bfloat16, [1.5, 2.5]))
        del t, x
        gc.collect()
        self.assertEqual(back.sum().item(), 15)

    def test_both_forms(self):
        """Capsules of DLPack's old form and of the versioned one, both ways, in each order of release."""
        for version in (None, (1, 0)):
            for theirs_first in (False, True):
                x, t = vf.array(np.arange(500.0)) + 1, torch.arange(500.0)
                there = torch.utils.dlpack.from_dlpack(x.__dlpack__(max_version=version))
                here = vf._native.from_dlpack(t.__dlpack__(max_version=version) if version else torch.utils.dlpack.to_dlpack(t))
                self.assertEqual(there.data_ptr(), np.asarray(x).__array_interface__["data"][0])
                self.assertEqual(np.asarray(here).__array_interface__["data"][0], t.data_ptr())
                if theirs_first:
                    del t
                    self.close((here * 2).sum(), 249500)
                    del there
                    self.close(x.sum(), 125250)
                else:
                    del x
                    self.assertEqual(there.sum().item(), 125250)
                    del here
                    self.assertEqual(t.sum().item(), 124750)
                gc.collect()

    def test_calls(self):
        f = vf.jit(lambda a, b: a @ b)
        t = torch.arange(6, dtype=torch.float64).reshape(2, 3)
        out = torch.zeros(2, 2, dtype=torch.float64)
        for _ in range(2):
            self.close(f(t, t.T), (t @ t.T).numpy())
            self.close(f(t[:, ::2], t[:, ::2].T), (t[:, ::2] @ t[:, ::2].T).numpy())
            f(t, t.T, out=out)
            self.close(out.numpy(), (t @ t.T).numpy())
            out.zero_()

    def test_gradients_of_theirs(self):
        """torch writes into what requires a gradient inside of no_grad alone; so does a call, the first and later ones."""
        f, x = vf.jit(lambda a: a * 2), torch.ones(3)
        f(x, out=torch.zeros(3))
        for out in (torch.zeros(3, requires_grad=True), torch.nn.Parameter(torch.zeros(3))):
            for _ in range(2):
                with self.assertRaisesRegex(ValueError, "requires a gradient.*detach"):
                    f(x, out=out)
            self.assertEqual(out.tolist(), [0, 0, 0])
            with torch.no_grad():
                f(x, out=out)
            self.assertEqual(out.tolist(), [2, 2, 2])

    def test_advice(self):
        complex_ = torch.ones(3, dtype=torch.complex64)
        for t, advice in ((torch.ones(3, requires_grad=True), "detach"), (complex_.conj(), "resolve_conj"),
                          (torch.eye(2).to_sparse(), "to_dense"), (torch.ones(3, device="meta"), "no elements")):
            with self.assertRaisesRegex(BufferError, advice):
                vf.asarray(t)


@unittest.skipUnless(jax, "jax is not installed")
class Jax(Case):
    def test_round_trip(self):
        a = jax.numpy.arange(6.0).reshape(2, 3)
        x = vf.from_dlpack(a)
        self.same(x, np.asarray(a))
        self.assertEqual(np.asarray(x).__array_interface__["data"][0], a.unsafe_buffer_pointer())
        back = jax.dlpack.from_dlpack(vf.array([1.0, 2.0]) + 1)
        self.assertEqual(back.tolist(), [2, 3])
        self.close(vf.jit(lambda v: v.sum())(a), 15)

    def test_gradients(self):
        """The same function in both."""

        def loss(np_, w):
            return (np_.tanh(w) ** 2).sum()

        w = np.linspace(-2, 2, 7, dtype="float32")
        self.close(vf.grad(lambda v: loss(vf, v))(w), jax.grad(lambda v: loss(jax.numpy, v))(w))
