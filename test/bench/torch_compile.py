#!/usr/bin/env python3
"""torch.compile with viewfold against torch's own back end, inductor, and eager calls: time of a call and of compiling.

    python test/bench/torch_compile.py --package build/package [--threads 1] [--rounds 15] [--only resnet18,gpt2] [--train]
                                       [--set small|large] [--no-inductor] [--first] [--cpu]

`small` are the models of torch_models.py, `large` those of the size that people run. Turns alternate, of as many calls as
take 20 ms, the first of which does not count; medians in ms, and at the end the geometric mean of what the others take of
viewfold's time. --first: turns have priority over all else that the machine does (needs root). --cpu: times are of the
processor, for one thread and a busy machine; those of compiling count the compilers that inductor starts, one after the other.
Inference: inductor has `freezing`, as viewfold takes weights for constants. --train: forwards and
backwards, with gradients compared with those of float64. Caches are empty at the beginning. Needs torch, torchvision and transformers.
"""

import argparse
import contextlib
import copy
import math
import os
import resource
import statistics
import sys
import tempfile
import time

TURN_SECONDS = 0.02


def large():
    import torch
    import torchvision
    import transformers as hf

    bert = hf.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    gpt = hf.GPT2Config(use_cache=False)
    tokens = torch.randint(0, 1000, (1, 128))
    picture = torch.randn(1, 3, 224, 224)
    made = {"minilm 1x128": lambda: (hf.BertModel(bert, add_pooling_layer=False), (tokens,)),
            "gpt2 1x64": lambda: (hf.GPT2LMHeadModel(gpt), (tokens[:, :64],))}
    for name in ("resnet18", "mobilenet_v2", "convnext_tiny", "efficientnet_b0"):
        made[name] = lambda name=name: (getattr(torchvision.models, name)(weights=None), (picture,))
    return made


def first(y):
    import torch

    return y if torch.is_tensor(y) else first(next(iter(y.values())) if hasattr(y, "values") else y[0])


def step(call, model, arguments):
    """A training step without the change of weights: the gradients."""
    for p in model.parameters():
        p.grad = None
    first(call(*arguments)).square().mean().backward()
    return [p.grad for p in model.parameters()]


def gradients_of_doubles(model, arguments):
    wide = copy.deepcopy(model).double()
    return step(wide, wide, [a.double() if a.is_floating_point() else a for a in arguments])


def worst(found, expected):
    """The largest difference, relative to the largest element."""
    pairs = [(f, e) for f, e in zip(found, expected) if f is not None and e is not None]
    largest = max(e.abs().max().item() for _, e in pairs) or 1
    return max((f - e).abs().max().item() for f, e in pairs) / largest


def processor_time():
    """Of this process and of those that it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def turn(call, clock, seconds=TURN_SECONDS):
    """Milliseconds of a call: the median of a turn's, without the first."""
    times, end = [], None
    while end is None or times[-1:] and clock() < end or len(times) < 3:
        begin = clock()
        call()
        times.append(1e3 * (clock() - begin))
        end = end or begin + seconds
    return statistics.median(times[1:])


@contextlib.contextmanager
def before_others(wanted):
    """The process's threads have real-time priority meanwhile."""
    threads = [int(t) for t in os.listdir("/proc/self/task")] if wanted else []
    for t in threads:
        os.sched_setscheduler(t, os.SCHED_RR, os.sched_param(50))
    try:
        yield
    finally:
        for t in threads:
            os.sched_setscheduler(t, os.SCHED_OTHER, os.sched_param(0))


def geometric(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else float("nan")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", default="build/package")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--set", default="small", choices=("small", "large"))
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    clock, compile_clock = (time.process_time, processor_time) if options.cpu else (time.perf_counter, time.perf_counter)
    os.environ["VIEWFOLD_THREADS"] = str(options.threads)
    caches = tempfile.TemporaryDirectory()
    os.environ.update({"VIEWFOLD_CACHE_DIR": caches.name + "/viewfold", "TORCHINDUCTOR_CACHE_DIR": caches.name + "/inductor"})
    sys.path.insert(0, os.path.abspath(options.package))
    import torch
    import viewfold.torch as vt

    torch.set_num_threads(options.threads)
    torch._inductor.config.freezing = not options.train
    if options.cpu:
        torch._inductor.config.compile_threads = 1
    if options.set == "large":
        models = large()
    else:
        from torch_models import MODELS as models
    print(f"{'model':26}{'eager':>9}{'inductor':>9}{'viewfold':>9}   compiling: inductor, viewfold (s)   difference   in torch")
    ratios = {"eager": [], "inductor": [], "compiling": []}
    for name, make in models.items():
        if not any(o in name for o in options.only.split(",")):
            continue
        torch._dynamo.reset()
        torch.manual_seed(0)
        vt.forget()
        model, arguments = make()
        model.eval()  # no dropout: results are compared
        calls = {"eager": model, "viewfold": torch.compile(model, backend=vt.backend)}
        if not options.no_inductor:
            calls["inductor"] = torch.compile(model)
        if options.train:
            runs = {k: lambda c=c: step(c, model, arguments) for k, c in calls.items()}
        else:
            runs = {k: lambda c=c: c(*arguments) for k, c in calls.items()}
        compiling, times, results = {}, {k: [] for k in calls}, {}
        with torch.set_grad_enabled(options.train):
            for k, run in runs.items():
                begin = compile_clock()
                made = run()
                compiling[k] = compile_clock() - begin
                results[k] = made if options.train else [first(made)]
            expected = gradients_of_doubles(model, arguments) if options.train else results["eager"]
            for _ in range(options.rounds):
                with before_others(options.first):
                    for k, run in runs.items():
                        times[k].append(turn(run, clock))
        ms = {k: statistics.median(v) for k, v in times.items()}
        for k in ms:
            if k != "viewfold":
                ratios[k].append(statistics.median(a / b for a, b in zip(times[k], times["viewfold"])))
        if "inductor" in compiling:
            ratios["compiling"].append(compiling["inductor"] / compiling["viewfold"])
        print(f"{name:26}{ms['eager']:9.3f}{ms.get('inductor', 0):9.3f}{ms['viewfold']:9.3f}   "
              f"{compiling.get('inductor', 0):9.1f} {compiling['viewfold']:9.1f}   {worst(results['viewfold'], expected):.1e}   "
              f"{sorted({e[0].removesuffix('.default') for r in vt.explain() for e in r.eager}) or ''}", flush=True)
        if "inductor" in compiling:
            print(f"    inductor / viewfold {ratios['inductor'][-1]:.2f}, compiling {ratios['compiling'][-1]:.1f}", flush=True)
    print("geometric means of what others take of viewfold's time: " +
          ", ".join(f"{k} {geometric(v):.2f}" for k, v in ratios.items() if v))


if __name__ == "__main__":
    main()
