"""viewfold as a back end of torch.compile, where torch is installed: values and gradients against torch's own."""

import copy
import pathlib
import re
import unittest

from common import Case

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    torch = None


def _tensors(*shapes, dtype=None):
    return [torch.randn(s, dtype=dtype) for s in shapes]


def _calls():
    """Functions of a few tensors, by what they try: together they call each family of rows."""
    t = torch
    one = {
        "arithmetic": lambda a, b: (a + 2 * b - a / (b.abs() + 1), t.add(a, b, alpha=3), 1 - a, a**2, a**3, (a * a) ** 0.5),
        "integers": lambda a, b: _integers((a * 10).to(t.int64), (b * 10).to(t.int64)),
        "comparisons": lambda a, b: (a < b, a >= 0, t.where(a > b, a, 0.0), a.clamp(-0.5, 0.5), t.maximum(a, b), a.isnan()),
        "functions": lambda a, b: (a.exp(), a.abs().log1p(), a.sin(), b.tanh(), t.erf(a), a.sigmoid(), a.floor(), a.sign()),
        "activations": lambda a, b: (F.gelu(a), F.gelu(a, approximate="tanh"), F.silu(a), F.relu(a), F.elu(a),
                                     F.leaky_relu(a, 0.2), F.hardtanh(a), F.hardswish(a), F.softplus(a), F.mish(a)),
        "views": lambda a, b: (a.t(), a[1:, ::2], a[:, 2], a.flip(0), a.unsqueeze(1).expand(-1, 3, -1), a.reshape(-1),
                               t.cat([a, b], 1), t.stack([a, b]), a.roll(1, 0), F.pad(a, (1, 2, 0, 1), value=3.0),
                               a.repeat(2, 3), t.diagonal(a), *a.split(2, 1), *a.unbind(0), a.as_strided((2, 2), (6, 2), 1)),
        "reductions": lambda a, b: (a.sum(), a.sum(0), a.mean(1, keepdim=True), a.amax(1), a.min(), *a.max(1), a.argmin(0),
                                    a.var(1), a.std(0, correction=0), a.norm(), a.logsumexp(1), a.cumsum(1), (a > 0).any(1),
                                    a.prod(0), a.softmax(1), a.log_softmax(0), (a * 10).to(t.int32).sum()),
        "orders": lambda a, b: (*a.sort(1, descending=True), *a.topk(2, 1)),
        "places": lambda a, b: _places((a * 1.3).round(decimals=0), b),
        "scatters": lambda a, b: _scatters(a, b),
        "distances": lambda a, b: (t.cdist(a, b), t.cdist(a, b, p=1), F.pdist(a, 3), t.hypot(a, b), t.copysign(a, -b)),
        "products": lambda a, b: (a @ b.t(), t.addmm(a[:, :5], a, b.t(), beta=2, alpha=0.5), t.bmm(a[None], b.t()[None])),
        "indices": lambda a, b: _indices(a, b),
        "writes": lambda a, b: _writes(a.clone(), b),
        "constants": lambda a, b: (a + t.arange(6), a * t.full((6,), 2.0), t.zeros_like(a), t.eye(5), a.to(t.float16)),
    }
    return one


def _cast(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return a @ b.t(), a + b


def _integers(a, b):
    d = b.where(b != 0, 3)
    return (a // d, a % d, torch.fmod(a, d), torch.div(a, d, rounding_mode="trunc"), a & b, a | 7, a << 1, ~a, a.float() / 3)


def _indices(a, b):
    i = torch.tensor([3, 0, 1])
    return (a[i], a[:, i], a[i, i], a.gather(1, (b.abs() * 2).long() % 6), a.index_select(1, i), F.embedding(i, a),
            a.scatter(1, i[None].expand(5, 3), b[:, :3]), a.scatter_add(0, i[:, None].expand(3, 6), b[:3]),
            a.index_put((i,), b[:3], accumulate=True), a.diagonal_scatter(b[0, :4], 2),
            a[None].diagonal_scatter(b[:1, :4], -1, 1, 2),
            a.masked_fill(a > 0, 0.5))


def _places(a, b):
    """Running extrema and the like; of equal elements and NaN, too. a: whole numbers."""
    edges, nan = torch.tensor([-1.0, -0.5, 0.0, 0.0, 2.0]), a.where(a != 0, torch.nan)
    return (*a.cummax(1), *nan.cummax(0), *nan.cummin(1), *b.median(1), a.median(), nan.nanmedian(1).values, nan.median(0).values,
            *b.kthvalue(2, 0), a.mode(1).values, torch.searchsorted(edges, nan), torch.searchsorted(edges, a, right=True),
            torch.searchsorted(b.sort(1).values, a, out_int32=True), torch.bucketize(nan, edges), a.histc(5, -2, 2), b.histc(4))


def _scatters(a, b):
    i = (b.abs() * 10).long() % 5
    made = [a.scatter_reduce(0, i, b, r, include_self=s) for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)]
    whole = [(a * 9).long().scatter_reduce(0, i[:4], (b * 9).long(), r) for r in ("prod", "mean", "amax", "amin")]
    nan = b.where(b < 1, torch.nan)
    line = i[:, :1].expand(5, 6)  # the same for all columns
    made += [c.scatter_reduce(0, line, d, r, include_self=s) for r in ("amax", "amin") for s in (True, False)
             for c, d in ((a, b), (a, nan), ((a * 9).int(), (b * 9).int()), (a.half(), b.half()))]
    return (*made, *whole, a.scatter_reduce(0, i, nan, "amax"), a.scatter_reduce(0, i, nan, "amin"),
            a.index_reduce(1, i[0, :4], b[:, :4], "amax"), a.scatter(0, i, b, reduce="multiply"), a.masked_scatter(a > 0, b),
            a.put(i[0], b[0], accumulate=True))


def _writes(a, b):
    a[1] = b[0]
    a[:, ::2] += 1
    a[a > 1] = 0
    return a, torch.slice_scatter(a, b[:2], 0, 1, 3), torch.select_scatter(a, b[0], 0, 2)


@unittest.skipUnless(torch, "torch is not installed")
class Compiled(Case):
    def setUp(self):
        import viewfold.torch as vt

        self.vt = vt
        torch._dynamo.reset()
        torch.manual_seed(0)
        vt.forget()

    def compiled(self, f, **options):
        return torch.compile(f, backend=self.vt.backend, **options)

    def same(self, a, b, within=1e-5):
        a, b = ([x] if torch.is_tensor(x) else list(x) for x in (a, b))
        for n, (x, y) in enumerate(zip(a, b, strict=True)):
            self.assertEqual((x.dtype, x.shape), (y.dtype, y.shape), n)
            torch.testing.assert_close(x, y, rtol=within, atol=within, equal_nan=True)

    def nothing_eager(self):
        self.assertEqual([e for r in self.vt.explain() for e in r.eager], [])

    def test_rows(self):
        for name, f in _calls().items():
            with self.subTest(name):
                torch._dynamo.reset()
                self.vt.forget()
                a, b = _tensors((5, 6), (5, 6))
                self.same(self.compiled(f)(a, b), f(a, b))
                self.nothing_eager()

    def test_pools(self):
        x, = _tensors((2, 3, 9, 11))

        def f(x):
            return (F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1),
                    F.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False),
                    *F.adaptive_max_pool2d(x, (4, 5), return_indices=True), F.adaptive_avg_pool2d(x, (3, 4)),
                    F.adaptive_avg_pool2d(x, 1), *F.max_pool2d(x, 3, return_indices=True),
                    *F.max_pool2d(torch.full_like(x, -torch.inf), 3, 2, 1, return_indices=True),
                    *F.max_pool2d(x, 3, 1, 1, dilation=2, return_indices=True))

        self.same(self.compiled(f)(x), f(x))
        self.nothing_eager()

    def gradients(self, model, *arguments, within=1e-5):
        """Values and gradients of a model as torch has them."""
        theirs = copy.deepcopy(model)
        y, expected = self.compiled(model)(*arguments), theirs(*arguments)
        self.same(y, expected, within)
        y.square().mean().backward()
        expected.square().mean().backward()
        for (name, p), q in zip(model.named_parameters(), theirs.parameters()):
            torch.testing.assert_close(p.grad, q.grad, rtol=1e-4, atol=within, msg=lambda m: f"{name}: {m}")
        self.nothing_eager()

    def test_perceptron(self):
        self.gradients(nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3)), *_tensors((4, 6)))

    def test_convolutions(self):
        self.gradients(nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
                                     nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1, groups=2), nn.GroupNorm(2, 4), nn.SiLU(),
                                     nn.ConvTranspose2d(4, 2, 2, 2), nn.AvgPool2d(3, 2, 1)), *_tensors((2, 3, 12, 12)))

    def test_attention(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.e, self.q, self.o = nn.Embedding(11, 8), nn.Linear(8, 24), nn.Linear(8, 11)

            def forward(self, tokens):
                x = self.e(tokens)
                q, k, v = self.q(x).view(*tokens.shape, 3, 2, 4).permute(2, 0, 3, 1, 4)
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                return self.o(x + y.transpose(1, 2).flatten(2))

        self.gradients(Block(), torch.randint(0, 11, (2, 5)))

    def test_values_between(self):
        """grid_sample and padding with edges, backwards, and bags of rows."""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.x, self.at = (nn.Parameter(torch.randn(s)) for s in ((2, 3, 5, 6), (2, 4, 4, 2)))
                self.bag = nn.EmbeddingBag(7, 3, mode="mean", padding_idx=2)

            def forward(self, i, begins):
                y = [F.grid_sample(F.pad(self.x, (1, 0, 2, 1), "replicate"), self.at * 1.3, padding_mode=p, align_corners=a)
                     for p in ("zeros", "reflection", "border") for a in (True, False)]
                return torch.cat([t.flatten() for t in y] + [self.bag(i, begins).flatten()])

        self.gradients(Model(), torch.tensor([1, 2, 6, 6, 0]), torch.tensor([0, 0, 3]))

    def test_encoder_in_inference(self):
        """torch has one operation for a layer, and one for its attention."""
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
        model, (x,) = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), _tensors((2, 5, 16))
        absent = torch.tensor([[0, 0, 0, 0, 1], [0, 0, 1, 1, 1]]).bool()
        attention = nn.MultiheadAttention(16, 2, batch_first=True).eval()
        with torch.no_grad():
            self.same(self.compiled(model)(x, src_key_padding_mask=absent), model(x, src_key_padding_mask=absent))
            self.same(self.compiled(attention)(x, x, x), attention(x, x, x))
        self.nothing_eager()

    def test_writes_and_views_in_inference(self):
        """Without gradients, with writes in place and results that share memory: as torch, with what is written."""
        class Normed(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.weight = nn.BatchNorm1d(6), nn.Parameter(torch.randn(6))

            def forward(self, a, b):
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
                    y = self.norm(a).relu_()
                return y, self.weight[1:], self.weight.t()

        def written(a, b):
            c = a + b
            view = c[1:]
            c.mul_(2)
            view.add_(1)
            d = (a > 0).add_(b > 0)
            return c, view, d, torch.zeros_like(a).index_put_((torch.tensor([0, 2]),), b[:2]).add_(torch.tensor(3.0)).sigmoid_()

        def of_arguments(a, b):
            a.add_(1)
            b[:, 1].zero_()
            return a, b[0], a * b

        calls = {"of its own": lambda a, b: ((a + b).relu_().add_(a).clamp_(max=1), F.relu(a * 2, inplace=True).to(torch.int32).add_(1)),
                 "views": lambda a, b: (a[1:], (a + b)[1:], a.t(), (a * b).t(), b.detach(), a.expand(2, 5, 6)),
                 "twice": lambda a, b: [(a + b)] * 2 + [a, a], "written": written, "arguments": of_arguments,
                 "autocast": lambda a, b: _cast(a, b), "numbers": lambda a, b: (a.sum() + 2, None, 3, torch.full((2,), 1.5))}
        for name, f in {**calls, "statistics": Normed(), "fixed statistics": Normed().eval()}.items():
            torch._dynamo.reset()
            theirs = copy.deepcopy(f)
            step = self.compiled(f)
            for _ in range(2):
                with self.subTest(name), torch.no_grad():
                    mine, other = _tensors((5, 6), (5, 6)), None
                    other = [x.clone() for x in mine]
                    made, expected = step(*mine), theirs(*other)
                    for x, y in zip([*made, *mine], [*expected, *other]):
                        if torch.is_tensor(y):
                            self.same(x, y)
                            self.assertEqual(x.stride(), y.stride())
                        else:
                            self.assertEqual(x, y)
                    for m, x in enumerate([*mine, *made]):
                        for n, y in enumerate([*mine, *made][:m]):
                            if torch.is_tensor(x) and torch.is_tensor(y):
                                u, v = [*other, *expected][m], [*other, *expected][n]
                                self.assertEqual(x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr(),
                                                 u.untyped_storage().data_ptr() == v.untyped_storage().data_ptr(), (m, n))

    def test_one_run_of_an_inference(self):
        """What needs no gradients, and writes to its own results alone, is recorded without AOTAutograd."""
        from viewfold.torch import inference

        left = []
        record = inference._recorded

        def watched(*given):
            try:
                return record(*given)
            except Exception as e:
                left.append(str(e))
                raise

        inference._recorded = watched
        self.addCleanup(setattr, inference, "_recorded", record)
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(16, 3)).eval()
        x, = _tensors((2, 3, 4, 4))
        step = self.compiled(model)
        with torch.no_grad():
            self.same(step(x), model(x))
        self.assertEqual(left, [])
        self.assertEqual(len(self.vt.explain()[-1].programs), 1)
        self.same(step(x), model(x))
        self.assertEqual(left, ["gradients"])

    def test_buffers_change(self):
        """Statistics of batches are written back."""
        model = nn.BatchNorm1d(3)
        theirs = copy.deepcopy(model)
        step = self.compiled(model)
        for x in _tensors((4, 3), (4, 3)):
            self.same(step(x), theirs(x))
        self.same(model.running_var, theirs.running_var)

    def test_weights_change(self):
        """Weights are constants until one is changed."""
        model, (x,) = nn.Linear(4, 3), _tensors((2, 4))
        step = self.compiled(model)
        with torch.no_grad():
            for change in (lambda: None, lambda: None, lambda: model.weight.mul_(2), lambda: model.bias.zero_()):
                change()
                self.same(step(x), model(x))

    def test_sizes_vary(self):
        """One program for all sizes of an axis."""
        i = torch.tensor([0, 2, -1])
        calls = {"products": lambda x: (x @ x.t()).softmax(-1).sum(0), "ends behind the axis": lambda x: x[:100] + x[0:50:1],
                 "indices": lambda x: x[i, i], "pools": lambda x: F.max_pool2d(x[None], 3, 2, 1, return_indices=True)[1],
                 "pools of what is there": lambda x: F.avg_pool2d(x[None], 3, 2, 1, count_include_pad=False),
                 "parts of arguments": lambda x: F.linear(x[:, 1:], x[:2, :3]), "medians": lambda x: x.median(0).values,
                 "roots of sizes": lambda x: x * x.shape[0]**0.5, "sizes as numbers": lambda x: torch.where(x > 0, x.shape[0], x),
                 "places": lambda x: (torch.arange(x.shape[0] * 2) % x.shape[0]).clamp(max=x.shape[0] - 2) + x.shape[0],
                 "groups": lambda x: F.group_norm(x @ torch.ones(4, 4).triu(), 1, torch.ones(4), torch.zeros(4)),
                 "rolled": lambda x: x.roll((-2, 1, 7), (0, 1, 0)) + x.roll(3),
                 "attention": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None], is_causal=True)}
        for name, f in calls.items():
            torch._dynamo.reset()
            self.vt.forget()
            step = self.compiled(f, dynamic=True)
            for n in (5, 6, 17):
                with self.subTest(name, n=n):
                    x, = _tensors((n, 4))
                    self.same(step(x), f(x))
            self.assertEqual(sum(len(r.programs) for r in self.vt.explain()), 1, name)
        step = self.compiled(lambda x: x.unfold(0, 2, 1), dynamic=True)
        for x in _tensors((5,), (7,)):
            self.same(step(x), x.unfold(0, 2, 1))
        self.assertEqual(len(self.vt.explain()[-1].programs), 1)
        step = self.compiled(lambda x: x.t().exp().as_strided((3, 2), (2, 1)), dynamic=True)
        for x in _tensors((5, 7), (7, 6)):
            self.same(step(x), x.t().exp().as_strided((3, 2), (2, 1)))
        report = self.vt.explain()[-1]
        self.assertEqual(len(report.programs), 2)
        self.assertIn("a program for each size, for aten.as_strided.default: as_strided of an array that is not contiguous", str(report))
        step = self.compiled(lambda x: x + 1, dynamic=True)
        for x in _tensors((5,), ((1 << 20) + 3,), (6,)):  # the second is longer than variables are
            self.same(step(x), x + 1)

    def test_arithmetic_on_sizes(self):
        """Sizes in operations, of which some are numbers in a program for each size."""
        t = torch
        calls = {
            "halves": lambda x: (x.view(x.shape[0] // 2, 2, -1).sum(1), x[: x.shape[0] // 2], x.shape[0] * 2 + 1),
            "views that begin inside": lambda x: (*x.chunk(2), x[(x.shape[0] + 1) // 2:], x[2:]),
            "extrema": lambda x: (x.new_ones(max(x.shape[0], 5)), x.diagonal() + 1),
            "fractions": lambda x: x * x.shape[0]**0.5 + int(x.shape[0] / 2),
            "windows": lambda x: (F.max_pool2d(x[None], 2), F.interpolate(x[None, None], scale_factor=2), x.unfold(0, 2, 1)),
            "none": lambda x: (x.softmax(0), x[:0].sum(), t.linalg.inv(x @ x.t() + 9 * t.eye(x.shape[0])).sum()),
        }
        for name, f in calls.items():
            torch._dynamo.reset()
            step = self.compiled(f, dynamic=True)
            for shape in ((4, 6), (6, 4), (2, 7)):
                with self.subTest(name, shape=shape):
                    x, = _tensors(shape)
                    self.tensors_of(step(x), f(x))

    def tensors_of(self, a, b):
        """Tensors as they are, and numbers."""
        a, b = (list(x) if isinstance(x, tuple) else [x] for x in (a, b))
        self.same(*([torch.as_tensor(i) for i in x] for x in (a, b)), within=1e-3)

    def test_attention_of_groups(self):
        """Heads that share keys, rows that the mask hides, and float16's sums in float32."""
        mask = (torch.arange(5)[:, None] > 0).expand(5, 5)
        for name, options, dtype in (("groups", {"enable_gqa": True, "is_causal": True}, torch.float32),
                                     ("mask", {"enable_gqa": True, "attn_mask": mask}, torch.float32),
                                     ("bfloat16", {"enable_gqa": True}, torch.bfloat16)):
            with self.subTest(name):
                torch._dynamo.reset()
                given = [x.requires_grad_() for x in _tensors((2, 4, 5, 8), (2, 2, 5, 8), (2, 2, 5, 8), dtype=dtype)]
                f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options)  # noqa: E731
                y, expected = self.compiled(f)(*given), f(*given)
                within = 1e-5 if dtype == torch.float32 else 3e-2
                self.same(y, expected, within)
                self.same(*(torch.autograd.grad(r.square().sum(), given) for r in (y, expected)), within)
                self.nothing_eager()

    def test_numbers_at_the_edge(self):
        """NaN, infinities, signed zeros, least integers and truth values."""
        t = torch
        x = t.tensor([0.0, -0.0, t.inf, -t.inf, t.nan, 1.5, -2.5])
        i = t.tensor([-128, 127, 3, -7, 0, 100, -100], dtype=t.int8)
        f = lambda x, i, b: (x.sign(), x.signbit(), x.isfinite(), x.isinf(), i.isinf(), b + ~b, b * ~b, b.sign(),  # noqa: E731
                             i + 300, i * 1000, i.to(t.uint8) - 257, t.fmod(i, t.tensor(-3, dtype=t.int8)), t.atan2(x.double(), -x.abs().double()),
                             t.atan2(x.half(), -x.half()), t.atan2(x, -x.flip(0)))
        self.same(self.compiled(f)(x, i, x > 0), f(x, i, x > 0), 1e-3)
        y = t.tensor([1.0, -2.0], dtype=t.float64)
        f = lambda y: (t.atan2(y, -y), t.where(y > 0, t.pi, y), t.full((2,), 1e300, dtype=t.float64) * y,  # noqa: E731
                       t.full((2,), 16777217.0, dtype=t.int64), (y / 0).nan_to_num())
        self.same(self.compiled(f)(y), f(y), 1e-14)
        self.nothing_eager()

    def test_few_elements(self):
        """Reductions and orders of arrays without axes and without elements."""
        f = lambda x, e, b: (x.var(0, correction=0), *torch.var_mean(x, correction=0), x.logsumexp(0), x.softmax(0),  # noqa: E731
                             *x.sort(0), *x.topk(1, 0), torch.linalg.vector_norm(x, 0), x.log_softmax(-1),
                             e.softmax(0), e.logsumexp(0), e.sum(0), e.log_softmax(1), b.any(), b.all(0), b[0].any(0))
        given = torch.tensor(4.0), torch.ones(0, 3), torch.tensor([[0, 2], [0, 0]], dtype=torch.uint8)
        self.same(self.compiled(f)(*given), f(*given))
        self.nothing_eager()

    def test_strides(self):
        """Arguments of any strides; results lie as torch's do."""
        f = lambda x: (x + 1, x.transpose(0, 1) * 2)  # noqa: E731
        for x in (torch.randn(4, 6).t(), torch.randn(4, 6)[:, ::2], torch.randn(3, 4, 5).permute(1, 2, 0),
                  torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)):
            y, expected = self.compiled(f)(x), f(x)
            self.same(y, expected)
            self.assertEqual([a.stride() for a in y], [a.stride() for a in expected])

    def test_parts_of_arrays_that_vary(self):
        """Arguments that are parts of others, of sizes that vary: one program, for other strides of them, too."""
        step = self.compiled(lambda x, y: (x * 2 + y, x[1:]), dynamic=True)
        for n, width in ((5, 7), (6, 7), (9, 11)):
            x, y = torch.randn(n, width)[:, :3], torch.randn(n, 1).expand(n, 3)
            made, expected = step(x, y), (x * 2 + y, x[1:])
            self.same(made, expected)
            self.assertEqual(made[1].data_ptr(), expected[1].data_ptr())
        self.assertEqual(sum(len(r.programs) for r in self.vt.explain()), 1)

    def test_addresses(self):
        """Tensors at addresses that are no multiples of their elements' bytes."""
        odd = torch.frombuffer(bytearray(41), dtype=torch.float32, count=8, offset=1)
        odd.copy_(torch.arange(8.0))
        f = lambda a, b: a * 2 + b  # noqa: E731
        for x in (odd, odd[:3], odd.reshape(2, 4).t()):
            for y in (x, x.clone()):
                self.same(self.compiled(f)(y, x), f(y, x))

    def test_results_share_memory(self):
        """Results that are views of one another do, as torch's; copies do not."""
        def f(x):
            y = x + 1
            return y[1:], y, y.t(), x.t(), y.view(-1), y.clone(), y.detach(), x * 2

        x, = _tensors((3, 4))
        y, expected = self.compiled(f)(x), f(x)
        self.same(y, expected)
        place = lambda t: t.untyped_storage().data_ptr()  # noqa: E731
        for n, (a, b) in enumerate(zip(y, expected)):
            self.assertEqual([place(a) == place(o) for o in (*y, x)], [place(b) == place(o) for o in (*expected, x)], n)
        y[1].zero_()
        expected[1].zero_()
        self.same(y, expected)

    def test_random(self):
        """Seeded by torch's generator; dropout keeps the mean."""
        step = self.compiled(lambda x: F.dropout(x, 0.25))
        x = torch.ones(10000)
        torch.manual_seed(3)
        first, second = step(x), step(x)
        torch.manual_seed(3)
        self.same(step(x), first)
        self.assertFalse(torch.equal(first, second))
        self.assertAlmostEqual(first.mean().item(), 1, delta=0.03)
        self.assertEqual(sorted(set(first.tolist())), [0.0, float(torch.tensor(1 / 0.75))])

    def test_order_of_numbers(self):
        """randperm: each number once, in other orders."""
        step = self.compiled(lambda: torch.randperm(50))
        torch.manual_seed(3)
        first, second = step(), step()
        self.same(first.sort()[0], torch.arange(50))
        self.assertFalse(torch.equal(first, second))
        self.assertEqual(self.vt.explain()[-1].eager, [])

    def test_recurrent_layers(self):
        """A loop for each layer and direction, not a copy of the cell for each step."""
        for layer, shape in ((nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True), (2, 7, 3)), (nn.GRU(3, 5), (7, 2, 3)),
                             (nn.RNN(3, 5, bias=False), (7, 2, 3)), (nn.LSTM(3, 5), (1, 3)), (nn.LSTM(3, 5, proj_size=2), (4, 2, 3))):
            with self.subTest(str(layer)):
                x = torch.randn(shape)
                made = self.compiled(layer)
                gradients = []
                for f in (made, layer):
                    y, state = f(x)
                    total = y.square().sum() + sum(s.sin().sum() for s in (state if isinstance(state, tuple) else [state]))
                    gradients.append((y, *torch.autograd.grad(total, list(layer.parameters()))))
                for have, want in zip(*gradients):
                    self.same(have, want, 1e-4)
                report = self.vt.explain()[-1]
                self.assertEqual(report.eager, [])
                if not getattr(layer, "proj_size", 0):
                    self.assertLess(sum(len(p.module.graph.nodes) for p in report.programs), 150)

    def test_complex_numbers(self):
        """They are in torch; what is before and behind them is in programs."""
        x, = _tensors((8,))

        def f(x):
            return (torch.fft.rfft(x.sin() * 2) * 2).abs().softmax(0) + x.sum()

        self.same(self.compiled(f)(x), f(x))
        report = self.vt.explain()[-1]
        self.assertEqual({name.split(".")[1] for name, _ in report.eager}, {"_fft_r2c", "mul", "abs"})
        self.assertIn("the dtype complex64", [reason for _, reason in report.eager])
        self.assertGreater(len(report.programs), 0)

    def test_branches_and_loops(self):
        """torch.cond and while_loop, whose functions are graphs; in a graph that is cut they run in torch."""
        from torch._higher_order_ops.while_loop import while_loop

        t, w, cond = torch, torch.randn(3), torch.cond
        calls = {
            "one result": (0, lambda x: cond(x.sum() > 0, lambda x: x.sin() * w, lambda x: x.cos(), (x,))),
            "two": (0, lambda x: cond((x > 0).all(), lambda x: (x + w, x.sum()), lambda x: (x * 2, x.max()), (x,))),
            "nested": (0, lambda x: cond(x[0] > 0, lambda x: cond(x[0] > 5, t.sin, t.cos, (x,)), lambda x: x * 3, (x,))),
            "a loop": (0, lambda x: while_loop(lambda n, x: n < 5, lambda n, x: (n + 1, x * 1.1 + w), (t.tensor(0), x))),
            "until": (0, lambda x: while_loop(lambda x: x.norm() > 1, lambda x: (x * 0.7,), (x,))),
            "cut": (2, lambda x: t.linalg.inv(cond(x.sum() > 0, lambda x: t.outer(x, x) + t.eye(3), lambda x: t.eye(3) * 2, (x,)))),
        }
        for name, (eager, f) in calls.items():
            t._dynamo.reset()
            step = self.compiled(f)
            for x in (t.ones(3), -t.ones(3), t.full((3,), 9.0)):
                with self.subTest(name, x=x[0].item()):
                    self.same(step(x), f(x))
            self.assertEqual(len(self.vt.explain()[-1].eager) > 0, eager > 0, name)
        results = []
        for f in (calls["one result"][1], self.compiled(calls["one result"][1])):
            for x in (t.ones(3, requires_grad=True), t.full((3,), -1.0, requires_grad=True)):
                results.append(t.autograd.grad(f(x).square().sum(), x)[0])
        self.same(results[2:], results[:2])
        t._dynamo.reset()

        def f(x):
            return cond(x.sum() > 0, lambda x: x.sin() * 2, lambda x: x.cos(), (x,))

        step = self.compiled(f, dynamic=True)
        for n in (3, 5, 8):
            x, = _tensors((n,))
            self.same(step(x), f(x))

    def test_optimizers(self):
        """Steps of optimizers, which dynamo writes with products and sums in one operation."""
        for make in (torch.optim.Adam, torch.optim.SGD):
            first, made = _tensors((3, 4), (3, 4)), []
            for compiled in (self.compiled, lambda f: f):
                given = [nn.Parameter(p.clone()) for p in first]
                optimizer = make(given, lr=0.1)
                step = compiled(optimizer.step)
                for _ in range(3):
                    sum(p.cos().sum() for p in given).backward()
                    step()
                    optimizer.zero_grad()
                made.append(given)
            for have, want in zip(*made):
                self.same(have, want, 1e-5)
            self.assertEqual([e for r in self.vt.explain() for e in r.eager], [])

    def test_norms(self):
        """With and without their weights, by the statistics of the batch and by given ones, which change."""
        for layer, shape in ((nn.BatchNorm2d(3), (2, 3, 4, 5)), (nn.BatchNorm2d(3, affine=False), (2, 3, 4, 5)),
                             (nn.BatchNorm1d(3, track_running_stats=False), (6, 3)), (nn.LayerNorm((3, 4)), (2, 3, 4)),
                             (nn.LayerNorm(4, bias=False), (4,)), (nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 4))):
            for p in layer.parameters():
                nn.init.normal_(p)
            for train in (False, True):
                with self.subTest(str(layer), train=train):
                    results = []
                    x = torch.randn(shape)
                    for compiled in (False, True):
                        copied, given = copy.deepcopy(layer).train(train), x.clone().requires_grad_()
                        y = (self.compiled(copied) if compiled else copied)(given)
                        results.append((y, *torch.autograd.grad(y.sin().sum(), [given, *copied.parameters()]), *copied.buffers()))
                    for have, want in zip(*results):
                        self.same(have, want, 1e-4)

    def test_core_operations(self):
        """Each operation that torch calls core has a row, is decomposed, or is listed in docs/torch.md."""
        from viewfold.torch.decompose import decompositions
        from viewfold.torch.rows.table import row_of

        page = pathlib.Path(__file__).parents[2] / "docs" / "torch.md"
        listed = set(re.findall(r"`(\w+\.\w+)`", page.read_text().partition("<!-- core -->")[2].partition("<!-- end -->")[0]))
        known, missing = decompositions(), set()
        for name in dir(torch.ops.aten):
            packet = getattr(torch.ops.aten, name)
            for overload in packet.overloads() if hasattr(packet, "overloads") else ():
                operation = getattr(packet, overload)
                if torch.Tag.core in operation.tags and row_of(operation) is None and operation not in known:
                    missing.add(f"{name}.{overload}")
        self.assertLessEqual(missing, listed)

    def test_what_lies_within(self):
        """A result is given back as a view of an argument only where the argument has all of it."""
        from viewfold.torch.layout import lies_within
        t = torch.arange(24)
        self.assertTrue(lies_within(t[4:8], t[2:10]))
        self.assertTrue(lies_within(t.view(4, 6)[1:3, ::2], t[6:18]))
        self.assertFalse(lies_within(t[0:4], t[4:]))
        self.assertFalse(lies_within(t[4:12], t[4:8]))
        self.assertFalse(lies_within(t.view(4, 6)[1:3, ::2], t[6:16]))

    def test_what_is_not_taken(self):
        """It runs in torch, between programs, and is told."""
        f = lambda x: torch.linalg.inv(x @ x.t() + torch.eye(4)).sum(1) * 2  # noqa: E731
        x, = _tensors((4, 4))
        self.same(self.compiled(f)(x), f(x), 1e-3)
        report = self.vt.explain()[-1]
        self.assertIn("linalg_inv", report.eager[0][0])
        self.assertEqual(len(report.programs), 2)
        self.assertIn("run in torch", str(report))

    def test_compiles_beside_torch(self):
        """With one thread and two: the first calls, of several threads, and what turns out not to compile."""
        import threading
        from unittest import mock

        from viewfold.torch.program import Program

        x, = _tensors((4, 6))
        for threads in ("1", "2"):
            with self.subTest(threads=threads), mock.patch.dict("os.environ", VIEWFOLD_THREADS=threads), torch.no_grad():
                torch._dynamo.reset()
                layer = nn.Linear(6, 3)
                step, made = self.compiled(layer), []
                self.assertEqual(step(x).shape, (4, 3))
                beside = self.vt.explain()[-1].programs[0].beside
                self.assertEqual(beside is not None, threads == "2")
                calls = [threading.Thread(target=lambda: made.append(step(x))) for _ in range(4)]
                for c in calls:
                    c.start()
                for c in calls:
                    c.join()
                for y in made:
                    self.same(y, layer(x))
                self.assertEqual(len(self.vt.explain()[-1].programs), 1)
                graph = mock.Mock(compile=mock.Mock(side_effect=ValueError("no code is made for this")))
                begin = Program.begin

                def without_code(self):
                    self.graph = graph
                    return begin(self)

                torch._dynamo.reset()
                with mock.patch.object(Program, "begin", without_code):
                    self.same(self.compiled(lambda x: x * 2)(x), x * 2)
                report = self.vt.explain()[-1]
                self.assertEqual(report.programs, [])
                self.assertIn("no code is made for this", report.eager[0][1])

    def test_options(self):
        with self.assertRaisesRegex(Exception, "no option 'fast'; it takes 'freeze'"):
            self.compiled(lambda x: x + 1, options={"fast": True})(torch.ones(2))
