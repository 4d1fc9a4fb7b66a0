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

    def test_arguments_that_require_gradients(self):
        """They are refused by the first call of a signature and by later ones, as no gradient would reach them."""
        f, x, p = vf.jit(lambda a, b: a + b), torch.ones(3), torch.nn.Parameter(torch.ones(3))
        for g in (f, vf.jit(lambda a, b: a + b)):
            if g is f:
                f(x, x)
            for t in (p, torch.ones(3, requires_grad=True)):
                with self.assertRaisesRegex(BufferError, "t.detach"):
                    g(x, t)
                for _ in range(2):
                    self.assertEqual(g(t.detach(), x).tolist(), [2, 2, 2])
                    with torch.no_grad():
                        self.assertEqual(g(t, x).tolist(), [2, 2, 2])
                with torch.no_grad():
                    self.assertEqual(vf.asarray(t).tolist(), [1, 1, 1])

    def test_negated(self):
        """A tensor that stands for the negated elements of its memory is not read as they lie there."""
        f = vf.jit(lambda a: a * 1)
        for z in (torch.tensor([1 + 2j, 3 + 4j]), torch.tensor([1 + 2j]), torch.tensor(1 + 2j)):
            t = z.conj().imag
            f(t.resolve_neg())
            f(torch.view_as_real(z)[..., 1])
            for read in (f, vf.asarray, vf.from_dlpack):
                with self.assertRaisesRegex(BufferError, "resolve_neg"):
                    read(t)
            self.assertEqual(vf.array(t).tolist(), t.tolist())
            with self.assertRaises(ValueError):
                f(t.resolve_neg(), out=t)

    def test_kinds_of_tensors(self):
        """What is read of tensors is what torch says of them: dtypes, views, classes derived, in calls of one signature."""

        class Derived(torch.Tensor):
            pass

        f = vf.jit(lambda a: a + a)
        base = torch.arange(24)
        names = "uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float64"
        tensors = [base.to(getattr(torch, n)) for n in names.split()]
        base = base.float()
        tensors += [base, base[5:], base[3], base[:0], base.reshape(4, 6).T, base.reshape(2, 3, 4)[:, 1:, ::2], base[5].expand(3, 2),
                    base.reshape(4, 6).as_subclass(Derived), base.as_strided((2, 3), (1, 2), 7)]
        for t in tensors * 2:
            self.assertEqual(f(t).tolist(), (t.double() * 2).tolist())
        n = vf.jit(lambda a: ~a)
        self.assertEqual(n(torch.tensor([True, False])).tolist(), [False, True])
        t = torch.ones(4)
        for _ in range(2):  # the memory of a tensor may change
            self.assertEqual(f(t).tolist(), [2] * t.numel())
            t.data = torch.full((3,), 1.0)
            t.resize_(2)
        for none in (torch.ones(3, device="meta"), torch.eye(3).to_sparse()):
            with self.assertRaises((BufferError, TypeError, RuntimeError)):
                f(none)

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

    def test_operands(self):
        a = jax.numpy.ones(3)
        for call in (lambda: vf.ones(3) + a, lambda: a + vf.ones(3), lambda: jax.jit(lambda x: vf.ones(3) + x)(a)):
            with self.assertRaisesRegex(TypeError, "vf.from_dlpack.*viewfold.jax.call"):
                call()
        b = a.astype("bfloat16")
        for given in (b, np.asarray(b)):  # one of JAX, and one of NumPy whose dtype is of ml_dtypes
            made = vf.jit(lambda x: x * 2)(given)
            self.assertEqual((made.dtype, made.tolist()), (vf.bfloat16, [2, 2, 2]))

    def test_gradients(self):
        """The same function in both."""

        def loss(np_, w):
            return (np_.tanh(w) ** 2).sum()

        w = np.linspace(-2, 2, 7, dtype="float32")
        self.close(vf.grad(lambda v: loss(vf, v))(w), jax.grad(lambda v: loss(jax.numpy, v))(w))
