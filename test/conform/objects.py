#!/usr/bin/env python3
"""Objects of `viewfold build` against programs: every workload of `viewfold bench`, an encoder layer among them, and a
network for digits with its weights in the object.

  objects.py --build DIR [--seed N] [--count N]

For each processor below, the graphs are built as objects, linked into one program that has no other library than the C
library, and run on the same arrays as `viewfold run`: each result must have the same bits. Processors of other
architectures run in qemu-user, by the cross compilers of the distribution; one that is not here is left out, and said.
--count: of the workloads, so many, those with the fewest operations; 0: all. Exit status: 0, 1 after a failure, 77 when
there is no C compiler.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

from arguments import arguments

# target, C compiler, what runs a program, floating-point operations that it does in a second at least
MACHINES = [
    ("x86-64-v3", ["cc"], [], 1e10),
    ("x86-64-v4", ["cc"], [], 1e10),
    ("aarch64", ["aarch64-linux-gnu-gcc"], ["qemu-aarch64"], 1e8),
    ("riscv64", ["riscv64-linux-gnu-gcc"], ["qemu-riscv64"], 2e7),
]
LONGEST = 120          # seconds of one workload on one machine: longer ones are left out there
INDICES = 1000         # indices are below: every workload's axis has more, or 10 of classes

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
SIZES = {"digits": {"n": 17}}


class Model:
    """A graph, the struct of its header, arrays for it, and what `viewfold run` computes of them."""

    def __init__(self, path, name):
        self.path, self.name = path, name
        self.inputs, self.outputs, self.flops = {}, [], 0


def command(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[:4])} ...: {done.stderr.strip()[-400:]}")
    return done.stdout


def members(header):
    """Of the arrays: name, is it an output, dtype, sizes."""
    found = []
    for name, what, dtype, sizes in re.findall(
            r"(\w+); /\* (input and output|input|output) (\w+)\[([^\]]*)\]", header):
        found.append((name, what == "output", dtype, sizes))
    return found


def shape_of(model, sizes):
    return [int(s) if s.isdigit() else SIZES[model.name][s.split("=")[0]] for s in sizes.split(",") if s]


DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "bool": np.bool_,
          "f16": np.float16}


def elements(model, rng, name, dtype, shape):
    if dtype in ("i32", "i64"):
        return rng.integers(0, 10 if name == "label" else INDICES, shape).astype(DTYPES[dtype])
    return (rng.random(shape) - 0.4).astype(DTYPES[dtype])


def prepare(model, viewfold, folder, rng):
    """Arrays, and results of a run in this process's machine."""
    header = os.path.join(folder, model.name + ".h")
    command([viewfold, "build", model.path, "-o", os.path.join(folder, "x.o"), "--header", header, "--name", model.name])
    words = [viewfold, "run", model.path, "--threads", "1", "--time"]
    with open(header) as file:
        model.members = members(file.read())
    with open(os.path.join(folder, model.name + ".in"), "wb") as packed:
        for name, is_output, dtype, sizes in model.members:
            path = os.path.join(folder, f"{model.name}.{name}.npy")
            if is_output:
                words += ["--out", f"{name}={path}"]
                model.outputs.append((path, dtype))
                continue
            array = elements(model, rng, name, dtype, shape_of(model, sizes))
            np.save(path, array)
            packed.write(array.tobytes())
            words += ["--in", f"{name}={path}"]
    said = command(words)
    model.flops = json.loads(said.splitlines()[-1])["flops"]
    model.want = b"".join(np.load(path).tobytes() for path, _ in model.outputs)


MAIN = """#include <stdio.h>
#include <stdlib.h>
%(includes)s
static void *get(size_t bytes, FILE *from) {
  void *made = calloc(1, bytes + 1);
  if (!made || (from && fread(made, 1, bytes, from) != bytes)) exit(9);
  return made;
}
%(functions)s
int main(int argc, char **argv) {
  FILE *from = fopen(argv[2], "rb"), *to = fopen(argv[3], "wb");
  int status = -1;
  if (argc != 4 || !from || !to) return 8;
  switch (atoi(argv[1])) {
%(cases)s
  }
  return fclose(to) ? 7 : status;
}
"""


def function_of(model):
    lines, arrays, writes = [], [], []
    for name, is_output, dtype, sizes in model.members:
        count = int(np.prod(shape_of(model, sizes), dtype=np.int64)) * np.dtype(DTYPES[dtype]).itemsize
        lines.append(f"  void *{name}_ = get({count}, {'NULL' if is_output else 'from'});")
        arrays.append(name + "_")
        if is_output:
            writes.append(f"  fwrite({name}_, 1, {count}, to);")
    sized = SIZES.get(model.name)
    given = ""
    if sized:
        lines.append(f"  {model.name}_sizes sizes = {{{', '.join(map(str, sized.values()))}}};")
        given = "&sizes, "
    bytes_of = f"(size_t){model.name}_arena_bytes(&sizes)" if sized else f"{model.name}_ARENA_BYTES"
    body = "\n".join(lines)
    return (f"static int {model.name}(FILE *from, FILE *to) {{\n{body}\n  {model.name}_arrays arrays = "
            f"{{{', '.join(arrays)}}};\n  int status = {model.name}_run(&arrays, {given}get({bytes_of}, NULL));\n"
            + "\n".join(writes) + "\n  return status;\n}\n")


def build_all(models, viewfold, folder, target, cc):
    """One program of all objects; that a symbol is there twice is a failure, and so is one that is not defined."""
    objects = []
    for model in models:
        objects.append(os.path.join(folder, f"{model.name}.o"))
        command([viewfold, "build", model.path, "-o", objects[-1], "--header", os.path.join(folder, model.name + ".h"),
                 "--name", model.name, "--target", target])
    undefined = command(["nm", "-u", *objects])
    left = [line.strip() for line in undefined.splitlines() if line.startswith(" ")]
    if left:
        raise RuntimeError("undefined: " + ", ".join(left))
    source = MAIN % {"includes": "\n".join(f'#include "{m.name}.h"' for m in models),
                     "functions": "".join(map(function_of, models)),
                     "cases": "\n".join(f"  case {i}: status = {m.name}(from, to); break;" for i, m in enumerate(models))}
    with open(os.path.join(folder, "main.c"), "w") as file:
        file.write(source)
    program = os.path.join(folder, "program")
    command([*cc, "-O1", "-static", "main.c", *objects, "-o", program], cwd=folder)
    return program


def check(model, number, program, runs, folder):
    out = os.path.join(folder, "out")
    done = subprocess.run([*runs, program, str(number), os.path.join(folder, model.name + ".in"), out],
                          capture_output=True, text=True)
    if done.returncode:
        return f"status {done.returncode} {done.stderr.strip()}"
    with open(out, "rb") as file:
        got = file.read()
    if got == model.want:
        return None
    at = next((i for i, (a, b) in enumerate(zip(got, model.want)) if a != b), min(len(got), len(model.want)))
    return f"byte {at} of {len(model.want)} differs"


def runs_here(target):
    if target != "x86-64-v4":
        return True
    with open("/proc/cpuinfo") as file:
        return "avx512vl" in file.read()


def main():
    options = arguments(seed=1, count=6)
    viewfold = os.path.abspath(os.path.join(options.build, "viewfold"))
    if not shutil.which("cc") or os.uname().machine != "x86_64":
        print("skip: a C compiler for x86-64 is needed")
        return 77
    rng = np.random.default_rng(options.seed)
    failed = passed = 0
    left_out = []
    with tempfile.TemporaryDirectory() as folder:
        np.savez(os.path.join(folder, "digits.npz"), w1=(rng.random((64, 32)) - 0.5).astype(np.float32),
                 b1=rng.random(32).astype(np.float32), w2=(rng.random((32, 10)) - 0.5).astype(np.float32),
                 b2=rng.random(10).astype(np.float32))
        with open(os.path.join(folder, "digits.vf"), "w") as file:
            file.write(DIGITS)
        paths = glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../frontend/workloads/*.vf"))
        small = ["L2chain", "L2softmax", "M5", "V11", "T2", "R8", "C2"]
        if options.count:
            paths = [p for p in paths if os.path.basename(p)[:-3] in small[:options.count]]
        models = [Model(os.path.join(folder, "digits.vf"), "digits")]
        models += [Model(path, os.path.basename(path)[:-3]) for path in sorted(paths)]
        for model in models:
            prepare(model, viewfold, folder, rng)
        for target, cc, runs, speed in MACHINES:
            needed = cc + runs
            if not all(shutil.which(word) for word in needed) or not runs_here(target):
                left_out.append(target)
                continue
            try:
                program = build_all(models, viewfold, folder, target, cc)
            except RuntimeError as error:
                print(f"{target}: {error}")
                failed += 1
                continue
            for number, model in enumerate(models):
                if model.flops / speed > LONGEST:
                    left_out.append(f"{model.name} on {target}")
                    continue
                wrong = check(model, number, program, runs, folder)
                failed += wrong is not None
                passed += wrong is None
                if wrong:
                    print(f"{target}: {model.name}: {wrong}")
    if left_out:
        print("left out: " + ", ".join(left_out))
    print(f"objects: {passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
