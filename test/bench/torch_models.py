"""Thirty small models of torch, of the classes that people bring: name -> function that makes (model, arguments).

Weights are random and nothing is downloaded. Needs torch, torchvision and transformers.
"""

import torch
import torchvision
import transformers as hf
from torch import nn
from torch.nn import functional as F

TOKENS = 500


def vision(name, size=96, **options):
    return lambda: (getattr(torchvision.models, name)(weights=None, **options), (torch.randn(2, 3, size, size),))


def tokens(rows, length):
    return torch.randint(0, TOKENS, (rows, length))


def language(model, config, shape=(2, 64), **options):
    def make():
        small = {"vocab_size": TOKENS, **options}
        return getattr(hf, model)(getattr(hf, config)(**small)), (tokens(*shape),)

    return make


class CachedStep(nn.Module):
    """One token of a decoder whose cache holds those before it."""

    LAYERS, HEADS, WIDTH = 4, 4, 32

    def __init__(self):
        super().__init__()
        width = self.HEADS * self.WIDTH
        self.embed, self.out = nn.Embedding(TOKENS, width), nn.Linear(width, TOKENS)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(self.LAYERS))
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(self.LAYERS))
        self.norm = nn.ModuleList(nn.RMSNorm(width) for _ in range(self.LAYERS))

    def forward(self, token, keys, values, at):
        x, new = self.embed(token), []
        for layer in range(self.LAYERS):
            q, k, v = self.qkv[layer](self.norm[layer](x)).view(len(x), 1, 3, self.HEADS, self.WIDTH).permute(2, 0, 3, 1, 4)
            key, value = keys[layer].index_copy(2, at, k), values[layer].index_copy(2, at, v)
            seen = torch.arange(key.shape[2]) <= at
            y = F.scaled_dot_product_attention(q, key, value, attn_mask=seen[None, None, None])
            x = x + self.mix[layer](y.transpose(1, 2).flatten(2))
            new += [key, value]
        return self.out(x), *new


def cached_step():
    m = CachedStep()
    cache = torch.randn(m.LAYERS, 2, m.HEADS, 128, m.WIDTH)
    return m, (tokens(2, 1), cache, cache.clone(), torch.tensor([60]))


class Recurrent(nn.Module):
    """A layer of torch's own, which torch.compile leaves to torch, or cells in a loop, which it traces."""

    def __init__(self, layer, cell=False):
        super().__init__()
        self.embed, self.rnn, self.out, self.cell = nn.Embedding(TOKENS, 64), layer, nn.Linear(128, TOKENS), cell

    def forward(self, t):
        x = self.embed(t)
        if not self.cell:
            return self.out(self.rnn(x)[0])
        h, c = x.new_zeros(len(x), 128), x.new_zeros(len(x), 128)
        steps = []
        for n in range(x.shape[1]):
            h, c = self.rnn(x[:, n], (h, c))
            steps.append(h)
        return self.out(torch.stack(steps, 1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                                 nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())

        self.down = nn.ModuleList([block(3, 16), block(16, 32), block(32, 64)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)])
        self.join = nn.ModuleList([block(64, 32), block(32, 16)])
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        c = self.down[2](F.max_pool2d(b, 2))
        b = self.join[0](torch.cat([self.up[0](c), b], 1))
        return self.out(self.join[1](torch.cat([self.up[1](b), a], 1)))


def generator():
    m = nn.Sequential(nn.ConvTranspose2d(32, 64, 4), nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1),
                      nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
                      nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())
    return m, (torch.randn(8, 32, 1, 1),)


def discriminator():
    m = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.InstanceNorm2d(64),
                      nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.InstanceNorm2d(128), nn.LeakyReLU(0.2),
                      nn.Flatten(), nn.Linear(128 * 16, 1))
    return m, (torch.randn(8, 3, 32, 32),)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(784, 256), nn.ELU(), nn.Linear(256, 40))
        self.decode = nn.Sequential(nn.Linear(20, 256), nn.ELU(), nn.Linear(256, 784))

    def forward(self, x, noise):
        mean, spread = self.encode(x).chunk(2, -1)
        return torch.sigmoid(self.decode(mean + noise * torch.exp(0.5 * spread)))


class Graph(nn.Module):
    """Layers over the edges of a graph: sums (convolutions), attention, or the greatest of the neighbours."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.layers = nn.ModuleList([nn.Linear(32, 64), nn.Linear(64, 64)])
        self.score = nn.ModuleList([nn.Linear(128, 1), nn.Linear(128, 1)])
        self.out = nn.Linear(64, 7)

    def forward(self, x, edges):
        to, of = edges[1], edges[0]
        for layer, score in zip(self.layers, self.score):
            h = layer(x)
            if self.kind == "sums":
                x = torch.zeros_like(h).index_add(0, to, h[of])
            elif self.kind == "greatest":
                x = h.scatter_reduce(0, to[:, None].expand(-1, h.shape[1]), h[of], "amax")
            else:
                e = F.leaky_relu(score(torch.cat([h[of], h[to]], 1)), 0.2).exp()
                total = h.new_zeros(len(h), 1).index_add(0, to, e)
                x = torch.zeros_like(h).index_add(0, to, h[of] * e / (total[to] + 1e-6))
            x = F.relu(x)
        return self.out(x)


def graph(kind):
    return lambda: (Graph(kind), (torch.randn(200, 32), torch.randint(0, 200, (2, 1000))))


def perceptron():
    layers = [nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10)]
    return nn.Sequential(*layers), (torch.randn(32, 64),)


class Mixer(nn.Module):
    def __init__(self, patches=64, width=96):
        super().__init__()
        self.embed = nn.Conv2d(3, width, 8, 8)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(8))
        self.mix = nn.ModuleList(nn.Sequential(nn.Linear(n, 2 * n), nn.GELU(), nn.Linear(2 * n, n))
                                 for _ in range(4) for n in (patches, width))
        self.out = nn.Linear(width, 10)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        for n in range(0, 8, 2):
            x = x + self.mix[n](self.norms[n](x).transpose(1, 2)).transpose(1, 2)
            x = x + self.mix[n + 1](self.norms[n + 1](x))
        return self.out(x.mean(1))


class Waves(nn.Module):
    """Causal convolutions with gaps, as speech has them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 32, 1)
        self.both = nn.ModuleList(nn.Conv1d(32, 64, 2, dilation=2**n) for n in range(6))
        self.back = nn.ModuleList(nn.Conv1d(32, 32, 1) for _ in range(6))
        self.out = nn.Conv1d(32, 64, 1)

    def forward(self, x):
        x, total = self.first(x), 0
        for n, (both, back) in enumerate(zip(self.both, self.back)):
            y = back(F.glu(both(F.pad(x, (2**n, 0))), 1))
            x, total = x + y, total + y
        return self.out(F.relu(total))


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(1000, 16) for _ in range(6))
        self.below = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.above = nn.Sequential(nn.Linear(16 + 21, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x, ids):
        x = self.below(x)
        every = torch.stack([x] + [t(ids[:, n]) for n, t in enumerate(self.tables)], 1)
        i, j = torch.tril_indices(7, 7, -1)
        return self.above(torch.cat([x, (every @ every.transpose(1, 2))[:, i, j]], 1))


def recommender():
    return Recommender(), (torch.randn(64, 13), torch.randint(0, 1000, (64, 6)))


def encoder():
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), (torch.randn(2, 64, 128),)


_BERT = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
_LLAMA = {**_BERT, "num_key_value_heads": 2, "use_cache": False}

MODELS = {
    "resnet18": vision("resnet18"),
    "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3_small": vision("mobilenet_v3_small"),
    "shufflenet_v2": vision("shufflenet_v2_x0_5"),
    "squeezenet": vision("squeezenet1_1"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "densenet121": vision("densenet121"),
    "mnasnet": vision("mnasnet0_5"),
    "regnet": vision("regnet_y_400mf"),
    "googlenet": vision("googlenet", init_weights=False, aux_logits=False),
    "convnext": vision("convnext_tiny", size=64),
    "vit": lambda: (torchvision.models.VisionTransformer(64, 8, 4, 4, 128, 512), (torch.randn(2, 3, 64, 64),)),
    "perceptron": perceptron,
    "mixer": lambda: (Mixer(), (torch.randn(2, 3, 64, 64),)),
    "encoder": encoder,
    "bert": language("BertModel", "BertConfig", **_BERT),
    "distilbert": language("DistilBertModel", "DistilBertConfig", dim=128, n_layers=3, n_heads=4, hidden_dim=512),
    "t5 encoder": language("T5EncoderModel", "T5Config", d_model=128, d_kv=32, d_ff=512, num_layers=3, num_heads=4),
    "gpt2": language("GPT2LMHeadModel", "GPT2Config", n_embd=128, n_layer=4, n_head=4, use_cache=False),
    "llama": language("LlamaForCausalLM", "LlamaConfig", **_LLAMA),
    "decoder with cache": cached_step,
    "lstm": lambda: (Recurrent(nn.LSTM(64, 128, batch_first=True)), (tokens(4, 32),)),
    "lstm cells": lambda: (Recurrent(nn.LSTMCell(64, 128), cell=True), (tokens(4, 16),)),
    "u-net": lambda: (UNet(), (torch.randn(1, 3, 64, 64),)),
    "gan generator": generator,
    "gan discriminator": discriminator,
    "variational autoencoder": lambda: (Autoencoder(), (torch.rand(32, 784), torch.randn(32, 20))),
    "graph convolution": graph("sums"),
    "graph attention": graph("attention"),
    "graph greatest": graph("greatest"),
    "wavenet": lambda: (Waves(), (torch.randn(2, 1, 512),)),
    "recommender": recommender,
}
