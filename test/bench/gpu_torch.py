#!/usr/bin/env python3
"""PyTorch eager on the workloads that test/bench/gpu.py compares with it; TF32 off. One line of JSON:
milliseconds of the best of ten repetitions, by ID.

    python3 test/bench/gpu_torch.py [--device cuda] --product N --softmax-rows N --norm-rows N [--seconds 0.5]
"""
import argparse
import json
import sys
import time

REPETITIONS = 10


def best(torch, cuda, run, seconds):
    """Milliseconds of one run; each sample is as many runs as take a tenth of the seconds."""
    def together(count):
        if cuda:
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            run()
        if cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    together(2)
    count = int(seconds / REPETITIONS / max(together(1), 1e-6)) + 1
    return min(together(count) for _ in range(REPETITIONS)) / count * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--product", type=int, required=True)
    parser.add_argument("--softmax-rows", type=int, required=True)
    parser.add_argument("--norm-rows", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed")
    cuda = options.device == "cuda"
    if cuda and not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    name = torch.cuda.get_device_name() if cuda else "CPU"
    n = options.product
    times = {"what": "%s on %s, TF32 off" % (torch.__version__, name)}

    def timed(run):
        return best(torch, cuda, run, options.seconds)

    with torch.no_grad():
        for dtype in ("float32", "bfloat16"):
            a = torch.rand(n, n, device=options.device, dtype=getattr(torch, dtype)) * 2 - 1
            b = torch.rand(n, n, device=options.device, dtype=getattr(torch, dtype)) * 2 - 1
            c = torch.empty_like(a)
            times["M_f32" if dtype == "float32" else "M_bf16"] = timed(lambda: torch.matmul(a, b, out=c))
        del a, b, c
        x = torch.rand(options.softmax_rows, 1024, device=options.device) * 8 - 4
        times["R4"] = timed(lambda: torch.softmax(x, -1))
        del x
        x = torch.rand(options.norm_rows, 768, device=options.device) * 2 - 1
        w, b = torch.rand(768, device=options.device), torch.rand(768, device=options.device)
        times["R5"] = timed(lambda: torch.nn.functional.layer_norm(x, (768,), w, b, 1e-5))
    print(json.dumps(times))


if __name__ == "__main__":
    main()
