#!/usr/bin/env python3
"""Objects of `viewfold build` against programs: every workload of `viewfold bench`, an encoder layer among them, and a
network for digits with its weights in the object; and casts of large integers.

  objects.py --build DIR [--seed N] [--count N]

For each of the machines of linked/machines.py, the graphs are built as objects, linked into one program that has no other
library than the C library, and run on the same arrays as `viewfold run`: each result must have the same bits. Without fused
multiply-adds, sums have other bits: there it must have those of `viewfold run --target`, which must be near. Processors of
other architectures run in qemu-user, by the cross compilers of the distribution; one that is not here is left out, and said.
--count: of the workloads, so many, those with the fewest operations; 0: all, those that an emulator is too slow for with
smaller sizes, too. Exit status: 0, 1 after a failure, 77 when there is no C compiler.
"""
import glob
import json
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

from arguments import arguments
from linked.comparison import Comparison, missing
from linked.program import as_class, by_command, command, members

LONGEST = 25           # seconds of one workload on one machine: longer ones are left out there, and SHORT runs instead
# The same graphs with other sizes, for emulators.
SHORT = {"M1_1024": ("1024", "160"), "M1_2048": ("2048", "176"), "M4": ("1024", "160"), "M5": ("1024", "160"),
         "C1": ("8,64,56,56", "1,64,14,14"), "A1": ("512", "64"), "A1c": ("512", "64"), "A2": ("2048", "96"),
         "A2c": ("2048", "96"), "T1": ("8,128", "1,32")}
NEAR = 1e-5            # of the largest element: what results without fused multiply-adds may differ by
INDICES = 1000         # indices are below: every workload's axis has more, or 10 of classes
SMALL = ["L2chain", "L2softmax", "M5", "V11", "T2", "R8", "C2"]

DIGITS = """graph @digits(%x: f32[n=1..64,64]) {
  %w1 = data file="digits.npz" name="w1"
  %b1 = data file="digits.npz" name="b1"
  %w2 = data file="digits.npz" name="w2"
  %b2 = data file="digits.npz" name="b2"
  %m = matmul %x, %w1
  %s = add %m, %b1
  %h = relu %s
  %t = matmul %h, %w2
  %u = add %t, %b2
  %p = softmax %u axis=1
  return %p
}
"""
CASTS = """graph @casts(%wide: i64[512]) {
  %a = cast %wide dtype=f32
  %b = cast %wide dtype=f64
  %c = cast %wide dtype=u64
  %d = cast %c dtype=f32
  %e = cast %wide dtype=f16
  %f = cast %c dtype=bf16
  return %a, %b, %d, %e, %f
}
"""
SIZES = {"digits": {"n": 17}}
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "bool": np.bool_,
          "f16": np.float16}


def elements(rng, name, dtype, shape):
    if name == "wide":  # few bits, so that many are halfway between floats, or next to that
        bits = rng.integers(0, 63, (*shape, 3))
        return np.left_shift(np.int64(1), bits).sum(axis=-1) * rng.choice([-1, 1], shape)
    if dtype in ("i32", "i64"):
        return rng.integers(0, 10 if name == "label" else INDICES, shape).astype(DTYPES[dtype])
    return (rng.random(shape) - 0.4).astype(DTYPES[dtype])


class Model:
    """A workload, arrays for it, and what `viewfold run` computes of them on this machine."""

    def __init__(self, path, viewfold, folder, rng):
        self.path, self.name, self.status = path, os.path.basename(path)[:-3], 0
        self.sizes, self.arrays, self.results = SIZES.get(self.name, {}), [], []
        header = os.path.join(folder, self.name + ".h")
        by_command(viewfold)(self, "native", os.path.join(folder, "x.o"), header)
        self.words = [viewfold, "run", path, "--threads", "1", "--time"]
        with open(header) as file:
            found = members(file.read())
        for name, is_output, dtype, sizes in found:
            at = os.path.join(folder, f"{self.name}.{name}.npy")
            self.words += ["--out" if is_output else "--in", f"{name}={at}"]
            if is_output:
                self.results.append((dtype, at))
                continue
            array = elements(rng, name, dtype, self.shape(sizes))
            np.save(at, array)
            self.arrays.append(array.tobytes())
        self.flops, self.outputs = self.run()

    def run(self, *more):
        """The floating-point operations, and the results, of `viewfold run`."""
        said = json.loads(command([*self.words, *more]).splitlines()[-1])
        return said["flops"], [(dtype, np.load(at).tobytes()) for dtype, at in self.results]

    def unfused(self, target):
        outputs = self.run("--target", target)[1]
        for (dtype, got), (_, want) in zip(outputs, self.outputs):
            if dtype in DTYPES and issubclass(DTYPES[dtype], np.floating):
                got, want = (np.frombuffer(x, DTYPES[dtype]).astype(np.float64) for x in (got, want))
                with np.errstate(invalid="ignore"):
                    far = np.nanmax(np.abs(got - want)) / np.nanmax(np.abs(want))
            else:
                far = np.mean(as_class(dtype, got) != as_class(dtype, want))
            if far > NEAR:
                raise RuntimeError(f"{self.name}: without fused multiply-adds, a result is {far:.3g} away")
        return outputs

    def shape(self, sizes):
        return [int(s) if s.isdigit() else self.sizes[s.split("=")[0]] for s in sizes.split(",") if s]


def workloads(count, folder):
    here = os.path.dirname(os.path.abspath(__file__))
    paths = sorted(glob.glob(os.path.join(here, "../../frontend/workloads/*.vf")))
    if count:
        return [p for p in paths if os.path.basename(p)[:-3] in SMALL[:count]]
    for name, (sizes, instead) in SHORT.items():
        with open(os.path.join(here, f"../../frontend/workloads/{name}.vf")) as file:
            text = file.read()
        head, at, body = text.partition("(")
        paths.append(os.path.join(folder, name + "_short.vf"))
        with open(paths[-1], "w") as file:
            file.write(head + at + body.replace(sizes, instead))
    return paths


def main():
    options = arguments(seed=1, count=6)
    viewfold = os.path.abspath(os.path.join(options.build, "viewfold"))
    if missing():
        print("skip: " + missing())
        return 77
    comparison = Comparison(by_command(viewfold))
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(os.path.join(folder, "digits.npz"), w1=(rng.random((64, 32)) - 0.5).astype(np.float32),
                 b1=rng.random(32).astype(np.float32), w2=(rng.random((32, 10)) - 0.5).astype(np.float32),
                 b2=rng.random(10).astype(np.float32))
        with open(os.path.join(folder, "digits.vf"), "w") as file:
            file.write(DIGITS)
        with open(os.path.join(folder, "casts.vf"), "w") as file:
            file.write(CASTS)
        models = [Model(path, viewfold, folder, rng)
                  for path in [os.path.join(folder, "digits.vf"), os.path.join(folder, "casts.vf"), *workloads(options.count, folder)]]
        comparison.run(models, folder, lambda model, machine: model.flops / machine.speed > LONGEST)
    return comparison.report("objects")


if __name__ == "__main__":
    sys.exit(main())
