#!/usr/bin/env python3
"""torch.compile with viewfold against torch's own back end, inductor, and eager calls: time of a call and of compiling.

    python test/bench/torch_compile.py --package build/package [--threads 1] [--rounds 15] [--only resnet18,gpt2] [--train]
                                       [--set small|large] [--minilm DIR] [--no-inductor] [--cpu] [--seed 0] [--log FILE]
                                       [--no-float64]

`small` are the models of torch_models.py, `large` those of the size that people run, and an addition of 16 numbers, which is
what a call costs; --minilm: the folder with all-MiniLM-L6-v2 (docs/examples/minilm/), whose weights are else random. Each
model is compiled by each back end in a process of its own, since the first one to trace a model reads sources and loads modules
that the next one would find; there an addition has been compiled before, whose files alone are in the caches. Calls are timed in
another process, which finds what those two have cached. Turns alternate, of as many calls as take 20 ms, the first two of which
do not count; the least of turns in ms, as others use the machine, too, and at the end the geometric mean of what the others take
of viewfold's time. --cpu: times are of the processor, medians of turns, for one thread and a busy machine; those of compiling
count the compilers that inductor starts, one after the other. Inference: inductor has `freezing`, as viewfold takes weights for
constants. --train: forwards and backwards in training mode, without dropout, with gradients compared with those of float64. Needs
torch, torchvision and transformers.

Compiling is the first call: what dynamo and AOTAutograd trace, then what the back end makes of it; of viewfold, the second
number is its own part. Gradients are compared with those of float64, relative to the largest. Where viewfold's are further
than 1e-4, as where an input of a ReLU is within rounding of 0 and its slope the other one, it is said how far eager ones are;
those of float64 but for convolutions and linear layers, which torch computes in float32; those of float64 whose layers' results
are rounded to float32, once each, as sums without error would be; how far viewfold's are from float64's with SiLU in place of
ReLU and means in place of maxima, whose slopes do not jump; and viewfold's in float64.
--seed: of weights and arguments. --no-float64: gradients are compared with eager ones alone. --log: rows are added to the
file, too, each when it is known; a model whose process fails, or takes longer than 15 minutes, has none.
"""

import argparse
import contextlib
import copy
import gc
import json
import math
import os
import resource
import select
import shutil
import signal
import statistics
import sys
import tempfile
import time
import traceback

import torch
import torchvision
import transformers as hf
from torch import nn
from torch.nn.utils.stateless import _reparametrize_module

PRODUCTS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d)
TURN_SECONDS, GROUP_SECONDS, FAR = 0.02, 0.0005, 1e-4
ROUNDS_SECONDS, LEAST_ROUNDS = 12, 5  # all turns of a model, where those of large ones would take minutes
LIMIT_SECONDS = 900  # a process of one model


class CachedGpt(nn.Module):
    """A step of GPT-2: a token whose cache holds 256 before it."""

    def __init__(self):
        super().__init__()
        self.model = hf.GPT2LMHeadModel(hf.GPT2Config())

    def forward(self, token, keys, values):
        cache = hf.DynamicCache()
        for n, (k, v) in enumerate(zip(keys, values)):
            cache.update(k, v, n)
        made = self.model(token, past_key_values=cache, use_cache=True)
        return made.logits, *[x for layer in made.past_key_values.layers for x in (layer.keys, layer.values)]


def cached_gpt():
    keys = torch.randn(12, 1, 12, 256, 64)
    return CachedGpt(), (torch.randint(0, 1000, (1, 1)), keys, torch.randn_like(keys))


def minilm(folder):
    config = hf.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    model = hf.BertModel.from_pretrained(folder) if folder else hf.BertModel(config)
    return model, (torch.randint(1000, 30000, (1, 128)), torch.ones(1, 128, dtype=torch.int64))


class Addition(nn.Module):
    def forward(self, x):
        return x + 1


def large(options):
    picture = (torch.randn(1, 3, 224, 224),)
    made = {"addition": lambda: (Addition(), (torch.randn(16),)), "minilm 1x128": lambda: minilm(options.minilm),
            "gpt2 step": cached_gpt}
    for name in ("resnet18", "mobilenet_v2", "convnext_tiny", "efficientnet_b0"):
        made[name] = lambda name=name: (getattr(torchvision.models, name)(weights=None), picture)
    return made


def first(y):
    return y if torch.is_tensor(y) else first(next(iter(y.values())) if hasattr(y, "values") else y[0])


def step(call, model, arguments):
    """A training step without the change of weights: the gradients."""
    for p in model.parameters():
        p.grad = None
    first(call(*arguments)).square().mean().backward()
    return [p.grad for p in model.parameters()]


def float64_step(model, arguments, call=None):
    given = [a.double() if a.is_floating_point() else a for a in arguments]
    return [g if g is None else g.clone() for g in step(model if call is None else call, model, given)]


def rounded(module, given, made):
    """The layer's result as float32 has it, once computed in float64; slopes are its own."""
    if torch.is_tensor(made) and made.is_floating_point():
        return made + (made.detach().float().double() - made.detach())


def in_float32(module, given, made):
    """The layer's result as torch computes it in float32, with its slopes."""
    with _reparametrize_module(module, {name: p.float() for name, p in module.named_parameters()}):
        return module.forward(*(x.float() for x in given)).double()


def hooked(model, kinds, hook):
    """The model, whose layers of these kinds have the hook."""
    for layer in model.modules():
        if isinstance(layer, kinds) and not list(layer.children()):
            layer.register_forward_hook(hook)
    return model


@contextlib.contextmanager
def without_steps(model):
    """A copy of the model with SiLU in place of ReLU, and means in place of maxima of windows: slopes that do not jump."""
    model, relu = copy.deepcopy(model), nn.functional.relu
    for layer in list(model.modules()):
        for name, inner in list(layer.named_children()):
            if isinstance(inner, (nn.ReLU, nn.ReLU6)):
                setattr(layer, name, nn.SiLU())
            elif isinstance(inner, nn.MaxPool2d):
                setattr(layer, name, nn.AvgPool2d(inner.kernel_size, inner.stride, inner.padding, inner.ceil_mode))
    nn.functional.relu = lambda x, inplace=False: nn.functional.silu(x)
    try:
        yield model
    finally:
        nn.functional.relu = relu


def differences(found, eager, compiled, model, arguments):
    """From the gradients of float64. compiled: of a model, a function."""
    wide = copy.deepcopy(model).double()
    exact = float64_step(wide, arguments)
    ours = worst(found, exact)
    if ours <= FAR:
        return f"{ours:.1e}"
    in_float64 = worst(float64_step(wide, arguments, compiled(wide)), exact)
    moved = {name: worst(float64_step(hooked(copy.deepcopy(wide), kinds, hook), arguments), exact) for name, kinds, hook in
             (("products in float32", PRODUCTS, in_float32), ("layers rounded", nn.Module, rounded))}
    with without_steps(model) as gentle:
        exact_there = float64_step(copy.deepcopy(gentle).double(), arguments)
        moved["without steps in slopes"] = worst(step(compiled(gentle), gentle, arguments), exact_there)
    return (f"{ours:.1e} (eager {worst(eager, exact):.1e}, " + ", ".join(f"{name} {far:.1e}" for name, far in moved.items()) +
            f", in float64 {in_float64:.1e})")


def without_dropout(model):
    for m in model.modules():
        if isinstance(m, (nn.Dropout, torchvision.ops.StochasticDepth)):
            m.p = 0.0
        for name, number in vars(m).items():
            if "drop" in name and isinstance(number, float):
                setattr(m, name, 0.0)
    return model


def worst(found, expected):
    """The largest difference, relative to the largest element."""
    pairs = [(f, e) for f, e in zip(found, expected) if f is not None and e is not None]
    largest = max(e.abs().max().item() for _, e in pairs) or 1
    return max((f - e).abs().max().item() for f, e in pairs) / largest


def processor_time():
    """Of this process and of those that it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def wait_for_children(seconds=120):
    """What inductor starts and does not wait for would count as time of what comes next."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        time.sleep(0.05)


def turn(call, clock, seconds=TURN_SECONDS):
    """Milliseconds of a call: the median over a turn's, or over groups of those that take less than a group does."""
    call()
    begin = clock()
    call()
    many = max(1, int(GROUP_SECONDS / max(clock() - begin, 1e-6)))
    times, begin = [], clock()
    while len(times) < 2 or clock() < begin + seconds:
        start = clock()
        for _ in range(many):
            call()
        times.append(1e3 * (clock() - start) / many)
    return statistics.median(times)


def geometric(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else float("nan")


def set_up(options, caches):
    """The package, with settings for a process of one model."""
    os.environ["VIEWFOLD_THREADS"] = str(options.threads)
    os.environ.update({"VIEWFOLD_CACHE_DIR": caches + "/viewfold", "TORCHINDUCTOR_CACHE_DIR": caches + "/inductor"})
    sys.path.insert(0, os.path.abspath(options.package))
    import viewfold.torch as vt
    from viewfold.torch.program import Program

    torch.set_num_threads(options.threads)
    torch._inductor.config.freezing = not options.train
    if options.cpu:
        torch._inductor.config.compile_threads = 1
    return vt, Program


def timed(function, clock, seconds):
    """The function, whose time is added to seconds[0]."""
    def call(*arguments, **named):
        begin = clock()
        try:
            return function(*arguments, **named)
        finally:
            seconds[0] += clock() - begin

    return call


def ready(options, caches, names):
    """The back ends of these names, each of which has compiled an addition; the class of viewfold's programs; its module."""
    vt, program = set_up(options, caches)
    made = {"eager": lambda m: m, "viewfold": lambda m: torch.compile(m, backend=vt.backend), "inductor": torch.compile}
    made = {name: made[name] for name in names}
    for compiled in made.values():
        x = torch.randn(16, requires_grad=options.train)
        y = compiled(Addition())(x)
        if options.train:
            y.sum().backward()
    if options.cpu and "inductor" in names:
        wait_for_children()
    torch._dynamo.reset()
    vt.forget()
    return made, program, vt


def made_again(options, make):
    """The model and its arguments, the same each time."""
    torch.manual_seed(options.seed)
    model, arguments = make()
    return without_dropout(model).train(options.train), arguments  # results are compared


def compiling(options, back_end, make, caches):
    """Seconds of the first call, and of viewfold's own part of it."""
    clock, own = processor_time if options.cpu else time.perf_counter, [0.0]
    with torch.set_grad_enabled(options.train):
        back_ends, program, _ = ready(options, caches, [back_end])
        model, arguments = made_again(options, make)
        program.__init__ = timed(program.__init__, clock, own)
        program.compile = timed(program.compile, clock, own)
        call = back_ends[back_end](model)
        gc.collect()  # what came before is no garbage of this one
        begin = clock()
        step(call, model, arguments) if options.train else call(*arguments)
        return clock() - begin, own[0]


def measure(options, name, make, caches, seconds):
    """The calls of one model: its row, and what the means need. seconds: of `compiling`, by back end."""
    clock = time.process_time if options.cpu else time.perf_counter
    with torch.set_grad_enabled(options.train):
        back_ends, _, vt = ready(options, caches, ["eager", *seconds])
        model, arguments = made_again(options, make)
        calls = {k: compiled(model) for k, compiled in back_ends.items()}
        if options.train:
            runs = {k: lambda c=c: step(c, model, arguments) for k, c in calls.items()}
        else:
            runs = {k: lambda c=c: c(*arguments) for k, c in calls.items()}
        times, results = {k: [] for k in calls}, {}
        for k, run in runs.items():
            made = run()
            results[k] = [g if g is None else g.clone() for g in made] if options.train else [first(made)]
        end = time.monotonic() + ROUNDS_SECONDS
        for n in range(options.rounds):
            if n < LEAST_ROUNDS or time.monotonic() < end:
                for k, run in runs.items():
                    times[k].append(turn(run, clock))
        difference = f"{worst(results['viewfold'], results['eager']):.1e}"
        if options.train and not options.no_float64:
            difference = differences(results["viewfold"], results["eager"], back_ends["viewfold"], model, arguments)
    of_turns = statistics.median if options.cpu else min
    ms = {k: of_turns(v) for k, v in times.items()}
    ratios = {k: ms[k] / ms["viewfold"] for k in times if k != "viewfold"}
    (first_call, own), (others, _) = seconds["viewfold"], seconds.get("inductor", (0, 0))
    if others:
        ratios["compiling"] = others / first_call
    eager = sorted({e[0].removesuffix(".default") for r in vt.explain() for e in r.eager})
    row = (f"{name:26}{ms['eager']:9.4f}{ms.get('inductor', 0):9.4f}{ms['viewfold']:9.4f}{ratios.get('inductor', 0):6.2f}"
           f"{others:9.1f}{first_call:7.2f}{own:7.2f}{ratios.get('compiling', 0):6.1f}   {difference}   {eager or ''}")
    return row, ratios


def in_a_process(function, seconds=None):
    """What the function returns, in a process of its own; None where that ends otherwise, or takes longer than seconds."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.write(write, json.dumps(function()).encode())
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(0)
    os.close(write)
    end, made = time.monotonic() + (seconds or math.inf), b""
    try:
        with os.fdopen(read, "rb", 0) as pipe:
            while select.select([pipe], [], [], min(max(end - time.monotonic(), 0), 1e6))[0] and (part := pipe.read(4096)):
                made += part
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # and the compilers that it has started
        os.waitpid(child, 0)
    return json.loads(made) if made else None


def say(options, text):
    """On standard output and in the log."""
    print(text, flush=True)
    if options.log:
        with open(options.log, "a") as f:
            f.write(text + "\n")


def means(found):
    return "geometric means of what others take of viewfold's time: " + ", ".join(
        f"{k} {geometric(v):.2f} (least {min(v):.2f} of {len(v)})" for k, v in found.items())


def run(options, models, names, caches):
    """Of each model a row, and the means at the end, or where a signal ends the run."""
    def add():
        with torch.set_grad_enabled(options.train):
            ready(options, caches + "/now", names)

    in_a_process(add)
    shutil.copytree(caches + "/now", caches + "/first")
    found, begin, failed = {}, time.monotonic(), []
    try:
        for name, make in models.items():
            if not any(o in name for o in options.only.split(",")):
                continue
            shutil.rmtree(caches + "/now")
            shutil.copytree(caches + "/first", caches + "/now")
            seconds = {k: in_a_process(lambda k=k: compiling(options, k, make, caches + "/now"), LIMIT_SECONDS) for k in names}
            made = in_a_process(lambda: measure(options, name, make, caches + "/now", seconds),
                                LIMIT_SECONDS) if all(seconds.values()) else None
            say(options, made[0] if made else f"{name:26} failed" + "".join(f", {k}" for k, v in seconds.items() if not v))
            if not made:
                failed.append(name)
            for k, r in (made[1] if made else {}).items():
                found.setdefault(k, []).append(r)
    finally:
        say(options, f"{means(found)}; failed: {', '.join(failed) or 'none'}; {time.monotonic() - begin:.0f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", default="build/package")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", default="small", choices=("small", "large"))
    parser.add_argument("--minilm", default="")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--log", default="")
    parser.add_argument("--no-float64", action="store_true")
    options = parser.parse_args()
    if options.set == "large":
        models = large(options)
    else:
        from torch_models import MODELS as models
    import torch._inductor.compile_fx  # noqa: F401
    say(options, f"{options.set}, {'training' if options.train else 'inference'}, {options.threads} threads, "
        f"{'processor time, medians' if options.cpu else 'least'} of {options.rounds} turns, torch {torch.__version__}\n"
        "                                  time of a call, ms      inductor     compiling, s   viewfold's    inductor   difference,\n"
        "model                         eager inductor viewfold / viewfold  inductor viewfold  part / viewfold   in torch")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as caches:
        run(options, models, ["viewfold"] + ["inductor"] * (not options.no_inductor), caches)


if __name__ == "__main__":
    main()
