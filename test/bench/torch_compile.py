#!/usr/bin/env python3
"""torch.compile with viewfold against torch's own back end, inductor, and eager calls: time of a call and of compiling.

    python test/bench/torch_compile.py --package build/package [--threads 1] [--rounds 15] [--only resnet18] [--no-inductor]

Models have random weights; turns alternate, and medians are printed in ms. Inductor has `freezing` for inference, as
viewfold takes weights for constants. Needs torch, torchvision and transformers.
"""

import argparse
import os
import statistics
import sys
import time


def models():
    import torch
    import torchvision
    import transformers as hf

    torch.manual_seed(0)
    bert = hf.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    gpt = hf.GPT2Config(use_cache=False)
    tokens = torch.randint(0, 1000, (1, 128))
    picture = torch.randn(1, 3, 224, 224)
    yield "minilm 1x128", lambda: (hf.BertModel(bert, add_pooling_layer=False).eval(), (tokens,))
    yield "gpt2 1x64", lambda: (hf.GPT2LMHeadModel(gpt).eval(), (tokens[:, :64],))
    for name in ("resnet18", "mobilenet_v2", "convnext_tiny", "efficientnet_b0"):
        yield name, lambda name=name: (getattr(torchvision.models, name)(weights=None).eval(), (picture,))


def first(y):
    import torch

    return y if torch.is_tensor(y) else first(next(iter(y.values())) if hasattr(y, "values") else y[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", default="build/package")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-inductor", action="store_true")
    options = parser.parse_args()
    os.environ["VIEWFOLD_THREADS"] = str(options.threads)
    sys.path.insert(0, os.path.abspath(options.package))
    import torch
    import viewfold.torch as vt

    torch.set_num_threads(options.threads)
    torch._inductor.config.freezing = True
    print(f"{'model':18}{'eager':>9}{'inductor':>9}{'viewfold':>9}   compiling: inductor, viewfold (s)   difference")
    for name, make in models():
        if options.only not in name:
            continue
        torch._dynamo.reset()
        model, arguments = make()
        calls = {"eager": model, "viewfold": torch.compile(model, backend=vt.backend)}
        if not options.no_inductor:
            calls["inductor"] = torch.compile(model)
        compiling, times, results = {}, {k: [] for k in calls}, {}
        with torch.no_grad():
            for k, call in calls.items():
                begin = time.perf_counter()
                results[k] = first(call(*arguments))
                compiling[k] = time.perf_counter() - begin
            for _ in range(options.rounds):
                for k, call in calls.items():
                    begin = time.perf_counter()
                    call(*arguments)
                    times[k].append(1e3 * (time.perf_counter() - begin))
        ms = {k: statistics.median(v) for k, v in times.items()}
        worst = ((results["viewfold"] - results["eager"]).abs().max() / results["eager"].abs().max()).item()
        print(f"{name:18}{ms['eager']:9.2f}{ms.get('inductor', 0):9.2f}{ms['viewfold']:9.2f}   "
              f"{compiling.get('inductor', 0):9.1f} {compiling['viewfold']:9.1f}   {worst:.1e}", flush=True)


if __name__ == "__main__":
    main()
