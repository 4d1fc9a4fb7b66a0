"""Models by name: a function that makes the module with its inputs. Weights are drawn, by a fixed seed: times and relative
errors do not depend on them."""
import random

import torch
import torchvision
import transformers

IMAGE, SMALL_IMAGE = 224, 128
TOKENS = 30000


class First(torch.nn.Module):
    """The first result of a module that returns several; arguments are passed by name."""

    def __init__(self, module, names=()):
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *operands):
        named = dict(zip(self.names, operands))
        found = self.module(**named) if named else self.module(*operands)
        return found if isinstance(found, torch.Tensor) else found[0]


def tokens(rows, columns):
    return torch.randint(0, TOKENS, (rows, columns))


def vision(name, size=IMAGE):
    return lambda: (getattr(torchvision.models, name)(weights=None), {"x": torch.randn(1, 3, size, size)})


def encoder(config, model, rows, columns, **sizes):
    """A transformer that reads tokens and a mask."""
    def make():
        module = getattr(transformers, model)(getattr(transformers, config)(attn_implementation="eager", **sizes))
        given = {"input_ids": tokens(rows, columns), "attention_mask": torch.ones(rows, columns, dtype=torch.int64)}
        return First(module, list(given)), given
    return make


def minilm(rows, columns):
    return encoder("BertConfig", "BertModel", rows, columns, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                   intermediate_size=1536)


def gpt2():
    config = transformers.GPT2Config(attn_implementation="eager", use_cache=False)
    given = {"input_ids": tokens(1, 256), "attention_mask": torch.ones(1, 256, dtype=torch.int64)}
    return First(transformers.GPT2Model(config), list(given)), given  # without a mask it cannot be traced


def vit_tiny():
    config = transformers.ViTConfig(hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768,
                                    attn_implementation="eager")
    return First(transformers.ViTModel(config, add_pooling_layer=False)), {"x": torch.randn(1, 3, IMAGE, IMAGE)}


def t5():
    config = transformers.T5Config(d_model=512, num_layers=6, num_heads=8, d_ff=2048)
    return First(transformers.T5EncoderModel(config), ["input_ids"]), {"input_ids": tokens(1, 64)}


def whisper():
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536,
                                        attn_implementation="eager")
    module = transformers.WhisperModel(config).get_encoder()
    return First(module), {"x": torch.randn(1, config.num_mel_bins, 3000)}


def lstm():
    return First(torch.nn.LSTM(64, 128, batch_first=True)), {"x": torch.randn(1, 64, 64)}


class UNet(torch.nn.Module):
    """Two levels, 32 to 128 channels."""

    def __init__(self):
        super().__init__()
        n = torch.nn

        def block(i, o):
            return n.Sequential(n.Conv2d(i, o, 3, padding=1), n.BatchNorm2d(o), n.ReLU(),
                                n.Conv2d(o, o, 3, padding=1), n.BatchNorm2d(o), n.ReLU())

        self.down = n.ModuleList([block(3, 32), block(32, 64), block(64, 128)])
        self.pool = n.MaxPool2d(2)
        self.widen = n.ModuleList([n.ConvTranspose2d(128, 64, 2, 2), n.ConvTranspose2d(64, 32, 2, 2)])
        self.up = n.ModuleList([block(128, 64), block(64, 32)])
        self.last = n.Conv2d(32, 1, 1)

    def forward(self, x):
        first = self.down[0](x)
        second = self.down[1](self.pool(first))
        y = self.down[2](self.pool(second))
        y = self.up[0](torch.cat([self.widen[0](y), second], 1))
        return self.last(self.up[1](torch.cat([self.widen[1](y), first], 1)))


MODELS = {
    "minilm_1x16": minilm(1, 16), "minilm_1x128": minilm(1, 128), "minilm_8x128": minilm(8, 128),
    "gpt2_256": gpt2, "vit_tiny": vit_tiny,
    "resnet18": vision("resnet18"), "resnet50": vision("resnet50"), "mobilenet_v2": vision("mobilenet_v2"),
    "unet": lambda: (UNet(), {"x": torch.randn(1, 3, SMALL_IMAGE, SMALL_IMAGE)}), "lstm": lstm,
}
# More of the same kinds, for what has not been looked at.
MORE = {
    **{name: vision(name) for name in (
        "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "mnasnet1_0",
        "mobilenet_v3_large", "mobilenet_v3_small", "regnet_x_400mf", "regnet_y_400mf", "resnet34", "resnext50_32x4d",
        "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "vgg11", "wide_resnet50_2")},
    "inception_v3": vision("inception_v3", 299),
    "bert_base_1x64": encoder("BertConfig", "BertModel", 1, 64),
    "distilbert_1x128": encoder("DistilBertConfig", "DistilBertModel", 1, 128),
    "electra_small_1x128": encoder("ElectraConfig", "ElectraModel", 1, 128),
    "albert_1x64": encoder("AlbertConfig", "AlbertModel", 1, 64, hidden_size=768, num_attention_heads=12, intermediate_size=3072),
    "roberta_1x64": encoder("RobertaConfig", "RobertaModel", 1, 64, num_hidden_layers=6),
    "t5_small_1x64": t5, "whisper_tiny": whisper,
}


def drawn(seed, count):
    """Names of so many models of MORE."""
    return random.Random(seed).sample(sorted(MORE), count)


def made(name):
    """(module for inference, {name: input})"""
    torch.manual_seed(0)
    module, given = {**MODELS, **MORE}[name]()
    return module.eval(), given
