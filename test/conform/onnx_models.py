#!/usr/bin/env python3
"""Models of torchvision and transformers, exported here with random weights, through the library's importer:
results are compared with ONNX Runtime's.

  onnx_models.py --build DIR [--only TEXT] [--keep DIR] [--dynamo]

Models are exported with a symbolic batch, and a symbolic length where they have one, at small sizes; they are
compiled once, and run at two batches, or ten lengths. all-MiniLM-L6-v2 has its own weights and sizes, where
`make demo-minilm` has put it into DIR/demo/. --dynamo: by torch's exporter of that name, which makes other
graphs, in the place of the one that records TorchScript. Exit status: 0, 1 after a failure, 77 where torch,
onnxruntime or a package of models is missing.
"""
import argparse
import contextlib
import ctypes
import functools
import io
import os
import sys
import tempfile
import time
import warnings

try:
    import numpy as np
    import onnx
    import onnxruntime
    import torch
    import torchvision
    import transformers
except ImportError as missing:
    print(f"skip: {missing} (pip install torch torchvision transformers onnx onnxscript onnxruntime)")
    sys.exit(77)

import binding
from onnx_import import FUNCTIONS, import_asking, run

WITHIN = 1e-4  # of the largest magnitude of a result


def image(size=64, channels=3):
    return lambda n: {"x": np.random.default_rng(n).standard_normal((n, channels, size, size)).astype(np.float32)}


def tokens(length=12, words=90, mask=True):
    def draw(n):
        rng = np.random.default_rng(n)
        ids = rng.integers(0, words, (n, length + n)).astype(np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids)} if mask else {"input_ids": ids}
    return draw


def sequence(width=8, length=7, grows=True):
    return lambda n: {"x": np.random.default_rng(n).standard_normal((n, length + n * grows, width)).astype(np.float32)}


def vision(name, size=64, **options):
    return lambda: getattr(torchvision.models, name)(weights=None, **options), image(size), {0: "batch"}


class First(torch.nn.Module):
    """The first result of a model of transformers."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]


SMALL = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
             max_position_embeddings=64)


def language(config, model, **options):
    def make():
        settings = getattr(transformers, config)(**{**SMALL, **options})
        settings._attn_implementation = "eager"
        settings.use_cache = False
        return First(getattr(transformers, model)(settings))
    return make, tokens(), {0: "batch", 1: "length"}


class Recurrent(torch.nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.inner = getattr(torch.nn, kind)(8, 6, batch_first=True, **options)

    def forward(self, x):
        return self.inner(x)[0]


class UNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        def block(a, b):
            return torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.BatchNorm2d(b), torch.nn.ReLU())
        self.down = torch.nn.ModuleList([block(3, 8), block(8, 16), block(16, 32)])
        self.up = torch.nn.ModuleList([block(48, 16), block(24, 8)])
        self.last = torch.nn.Conv2d(8, 2, 1)

    def forward(self, x):
        kept = []
        for number, block in enumerate(self.down):
            x = block(x)
            if number < 2:
                kept.append(x)
                x = torch.nn.functional.max_pool2d(x, 2)
        for block in self.up:
            x = torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
            x = block(torch.cat([x, kept.pop()], 1))
        return self.last(x)


class Sampler(torch.nn.Module):
    """A picture turned by angles that it decides itself, its regions, and its patches put together again."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.angles = torch.nn.Linear(3, 6)

    def forward(self, x):
        if self.kind == "turned":
            theta = self.angles(x.mean((2, 3))).reshape(-1, 2, 3)
            grid = torch.nn.functional.affine_grid(theta, x.shape, align_corners=False)
            return torch.nn.functional.grid_sample(x, grid, align_corners=False)
        if self.kind == "regions":
            boxes = torch.tensor([[0, 1., 2., 20., 13.], [1, 5.5, 0., 31., 30.]])
            return torchvision.ops.roi_align(x, boxes, (5, 4), 0.5, 2, aligned=True)
        patches = torch.nn.functional.unfold(x, (4, 4), stride=(2, 2))
        return torch.nn.functional.fold((patches * patches).reshape(-1, 48, 225), (32, 32), (4, 4), stride=(2, 2))


def module(make, draw, axes):
    return make, draw, axes


def sampler(kind):
    return module(lambda: Sampler(kind), image(32), {0: "batch"})


def minilm(axes, length=12):
    def make():
        if not os.path.exists(os.path.join(MINILM, "model.safetensors")):
            raise FileNotFoundError(f"no {MINILM}/model.safetensors; make demo-minilm fetches it")
        return First(transformers.BertModel.from_pretrained(MINILM, attn_implementation="sdpa"))
    def draw(n):
        rng = np.random.default_rng(n)
        rows, columns = (n, length + 7 * n) if axes else (1, length)
        ids = rng.integers(0, 30522, (rows, columns))
        mask = np.ones_like(ids)
        mask[1:, columns // 2:] = 0
        return {"input_ids": ids, "attention_mask": mask}
    return make, draw, axes


MINILM = "build/demo/all-MiniLM-L6-v2"  # DIR/demo/ of --build
BATCH, LENGTH = {0: "batch"}, {0: "batch", 1: "length"}
MODELS = {
    "alexnet": vision("alexnet", 224), "vgg11": vision("vgg11", 224), "resnet18": vision("resnet18"),
    "resnet50": vision("resnet50"), "wide_resnet50": vision("wide_resnet50_2", 32),
    "resnext50": vision("resnext50_32x4d", 32), "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3": vision("mobilenet_v3_small"), "squeezenet": vision("squeezenet1_1"),
    "densenet121": vision("densenet121"), "googlenet": vision("googlenet", aux_logits=False, init_weights=False),
    "shufflenet": vision("shufflenet_v2_x0_5"), "mnasnet": vision("mnasnet0_5"),
    "efficientnet": vision("efficientnet_b0"), "regnet": vision("regnet_y_400mf"),
    "convnext": vision("convnext_tiny"), "vit": vision("vit_b_32", 64, image_size=64),
    "swin": vision("swin_t"), "inception": vision("inception_v3", 96, aux_logits=False, init_weights=False),
    "unet": module(UNet, image(32), BATCH),
    "bert": language("BertConfig", "BertModel"), "distilbert": language("DistilBertConfig", "DistilBertModel", dim=32,
                                                                        n_heads=4, n_layers=2, hidden_dim=64),
    "roberta": language("RobertaConfig", "RobertaModel"), "electra": language("ElectraConfig", "ElectraModel"),
    "albert": language("AlbertConfig", "AlbertModel", embedding_size=16), "mpnet": language("MPNetConfig", "MPNetModel"),
    "camembert": language("CamembertConfig", "CamembertModel"), "xlm_roberta": language("XLMRobertaConfig", "XLMRobertaModel"),
    "ernie": language("ErnieConfig", "ErnieModel"), "layoutlm": language("LayoutLMConfig", "LayoutLMModel"),
    "gpt2": language("GPT2Config", "GPT2Model", n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "gpt_neox": language("GPTNeoXConfig", "GPTNeoXModel"), "opt": language("OPTConfig", "OPTModel", ffn_dim=64,
                                                                         word_embed_proj_dim=32),
    "llama": language("LlamaConfig", "LlamaModel", num_key_value_heads=2),
    "mistral": language("MistralConfig", "MistralModel", num_key_value_heads=2),
    "qwen2": language("Qwen2Config", "Qwen2Model", num_key_value_heads=2),
    "gemma": language("GemmaConfig", "GemmaModel", num_key_value_heads=2, head_dim=8),
    "phi": language("PhiConfig", "PhiModel"), "bloom": language("BloomConfig", "BloomModel", n_layer=2, n_head=4),
    "deberta": language("DebertaV2Config", "DebertaV2Model"),
    "t5_encoder": language("T5Config", "T5EncoderModel", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
    "nystromformer": language("NystromformerConfig", "NystromformerModel", segment_means_seq_len=64, num_landmarks=64),
    "turned": sampler("turned"), "regions": sampler("regions"), "folded": sampler("folded"),
    "lstm": module(lambda: Recurrent("LSTM", num_layers=2, bidirectional=True), sequence(), LENGTH),
    "gru": module(lambda: Recurrent("GRU"), sequence(), LENGTH),
    "rnn": module(lambda: Recurrent("RNN"), sequence(), LENGTH),
    "minilm": minilm(LENGTH), "minilm_of_16": minilm({}, 16),
    "transformer": module(lambda: torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False), sequence(grows=False), BATCH),
}


def by_torchscript(model, inputs, axes, path):
    version = 20 if isinstance(model, Sampler) else 17
    torch.onnx.export(model, inputs, path, dynamo=False, opset_version=version, output_names=["y"],
                      input_names=list(axes), dynamic_axes=axes)


def by_dynamo(model, inputs, axes, path):
    def export_as(dim):
        shapes = tuple({axis: dim(name) for axis, name in named.items()} for named in axes.values())
        torch.onnx.export(model, inputs, path, dynamo=True, verbose=False, output_names=["y"], input_names=list(axes),
                          dynamic_shapes=shapes if any(shapes) else None)
    try:
        export_as(functools.cache(torch.export.Dim))  # the same name for the same size
    except Exception:  # torch wants bounds of that size, or what it may not be
        export_as(lambda name: torch.export.Dim.DYNAMIC)


def export(make, draw, axes, path, exporter):
    torch.manual_seed(0)
    model = make().eval()
    for parameter in model.parameters():
        if not parameter.any():  # biases and last layers, which would hide mistakes
            torch.nn.init.normal_(parameter, std=0.02)
    inputs = draw(2)
    torch.backends.mha.set_fastpath_enabled(False)  # which is one operator that ONNX lacks
    with torch.no_grad(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        exporter(model, tuple(torch.from_numpy(a) for a in inputs.values()), {name: axes for name in inputs}, path)


class Statistics(ctypes.Structure):
    """A vf_cache_stats."""
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_int64) for name in (
        "memory_hits", "disk_hits", "misses", "invalidations", "programs", "kernels")]


def compilations(context):
    found = Statistics(ctypes.sizeof(Statistics))
    context.c.vf_cache_statistics(ctypes.c_void_p(context.raw), ctypes.byref(found))
    return found.misses


def agree(context, path, draw, numbers):
    """None, or what differs."""
    model = onnx.load(path, load_external_data=False)
    runtime = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    start = time.time()
    graph, _ = import_asking(context, path, {})
    imported = time.time() - start
    compiled = -compilations(context)
    nodes, worst = len(model.graph.node), 0
    try:
        for n in numbers:
            inputs = draw(n)
            names = [i.name for i in runtime.get_inputs()]
            want = runtime.run(None, {k: inputs[k] for k in names})[0]
            got = run(context, graph, model, {k: binding.typed(v) for k, v in inputs.items()}, True)
            got = next(iter(got.values())).array
            if got.shape != want.shape:
                return f"shape {got.shape}, ONNX Runtime has {want.shape}"
            worst = max(worst, float(np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)))
    finally:
        context.c.vf_graph_destroy(graph)
    compiled += compilations(context)
    if compiled > 1:  # 0: another model was the same program
        return f"compiled {compiled} times"
    print(f"  {nodes} nodes, imported in {imported * 1e3:.0f} ms, compiled and run in "
          f"{time.time() - start - imported:.1f} s, differs by {worst:.1e}", flush=True)
    return None if worst <= WITHIN else f"differs by {worst:.1e} of the largest magnitude"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("--only", default="")
    options.add_argument("--keep")
    options.add_argument("--dynamo", action="store_true")
    options, _ = options.parse_known_args()
    global MINILM
    MINILM = os.path.join(options.build, "demo", "all-MiniLM-L6-v2")
    context = binding.Context(options.build)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(context.c, name)
        function.restype, function.argtypes = result, arguments
    passed, failed, left_out = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, draw, axes) in MODELS.items():
            if options.only not in name:
                continue
            path = os.path.join(options.keep or folder, name + ".onnx")
            print(name, flush=True)
            try:
                if not os.path.exists(path):
                    export(make, draw, axes, path, by_dynamo if options.dynamo else by_torchscript)
            except Exception as why:  # a model that this exporter cannot export says nothing of the importer
                print(f"  not exported: {type(why).__name__}: {str(why)[:160]!r}")
                left_out.append(name)
                continue
            try:
                wrong = agree(context, path, draw, range(1, 11) if 1 in axes else (2, 3))
            except binding.Refused as why:
                wrong = f"refused: {why}"
            except Exception as why:
                wrong = f"{type(why).__name__}: {why}"
            (failed if wrong else passed).append(name)
            if wrong:
                print(f"  {name}: {wrong}")
            if not options.keep and os.path.exists(path):
                os.remove(path)
    print(f"onnx_models: {len(passed)} passed, {len(failed)} failed, {len(left_out)} not exported")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
