"""C programs of many objects. A model has: name; path, of its graph; sizes, {variable: number}; arrays, the bytes of each
input in order; outputs, [(dtype, bytes)]: what each result has to hold; status, what the function has to return;
unfused(target), [(dtype, bytes)]: what results have to hold where there is no fused multiply-add."""
import os
import re
import subprocess

import numpy as np

MAIN = """#include <stdio.h>
#include <stdlib.h>
%(includes)s
static void *get(size_t bytes, FILE *from) {
  void *made = calloc(1, bytes + 1);
  if (!made || (from && fread(made, 1, bytes, from) != bytes)) exit(99);
  return made;
}
%(functions)s
static int (*const models[])(FILE *, FILE *) = {%(names)s};
static const char *const files[] = {%(files)s};
/* Arguments: numbers of models. Prints the status of each. */
int main(int argc, char **argv) {
  char path[4096];
  for (int k = 1; k < argc; k++) {
    int i = atoi(argv[k]);
    snprintf(path, sizeof path, "%%s.in", files[i]);
    FILE *from = fopen(path, "rb");
    snprintf(path, sizeof path, "%%s.out", files[i]);
    FILE *to = fopen(path, "wb");
    if (!from || !to) return 98;
    int status = models[i](from, to);
    if (fclose(to) || fclose(from)) return 97;
    printf("%%d\\n", status);
    fflush(stdout);
  }
  return 0;
}
"""
# The functions of an object as kernels are loaded: by the library's own linker, at run time.
LOADER = """#include "runtime/image/image.h"
static void *loaded(const char *path, const char *name) {
  static unsigned char object[1 << 24];
  FILE *file = fopen(path, "rb");
  size_t size = file ? fread(object, 1, sizeof object, file) : 0;
  ir_error error = {0};
  rt_flat flat;
  rt_code code;
  if (file) fclose(file);
  if (rt_image_link(object, size, (rt_terms){0}, &ir_mem_libc, &flat, &error) ||
      rt_image_map(flat.bytes, flat.size, &code, &error)) {
    fprintf(stderr, "%s\\n", error.text);
    exit(96);
  }
  return rt_code_find(&code, name);
}
"""
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
LOADER_SOURCES = [os.path.join(ROOT, path) for path in (
    "runtime/image/image.c", "runtime/image/elf.c", "runtime/image/relocate.c", "runtime/image/reloc.c", "runtime/image/reloc_x86_64.c",
    "runtime/image/reloc_aarch64.c", "runtime/image/reloc_riscv64.c", "runtime/system/files.c", "ir/base.c")]
FLOATS = {"f16": (np.uint16, 0x7c00, 0x7fff), "bf16": (np.uint16, 0x7f80, 0x7fff),
          "f32": (np.uint32, 0x7f800000, 0x7fffffff), "f64": (np.uint64, 0x7ff << 52, (1 << 63) - 1)}


def command(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[:4])} ...: {done.stderr.strip()[-400:]}")
    return done.stdout


def members(header):
    """Of the arrays: name, is it an output, dtype, sizes."""
    return [(name, what == "output", dtype, sizes) for name, what, dtype, sizes in re.findall(
        r"(\w+); /\* (input and output|input|output) (\w+)\[([^\]]*)\]", header)]


def _function(model, header):
    """Reads the inputs, runs the model, and writes the outputs."""
    name, lines, arrays, writes = model.name, [], [], []
    given, results = list(model.arrays), list(model.outputs)
    for member, is_output, _, _ in members(header):
        count = len(results.pop(0)[1]) if is_output else len(given.pop(0))
        lines.append(f"  void *{member}_ = get({count}, {'NULL' if is_output else 'from'});")
        arrays.append(member + "_")
        if is_output:
            writes.append(f"  if (!status) fwrite({member}_, 1, {count}, to);")
    sized = re.search(rf"typedef struct {name}_sizes {{(.*?)}}", header, re.S)
    if sized:
        values = [str(model.sizes.get(v, 0)) for v in re.findall(r"int64_t (\w+);", sized.group(1))]
        lines.append(f"  {name}_sizes sizes = {{{', '.join(values)}}};")
    arena = f"(size_t){name}_arena_bytes(&sizes)" if sized else f"{name}_ARENA_BYTES"
    return "\n".join([f"static int run_{name}(FILE *from, FILE *to) {{", *lines,
                      f"  {name}_arrays arrays = {{{', '.join(arrays)}}};", f"  void *arena = get({arena}, NULL);",
                      f"  int status = {name}_run(&arrays, {'&sizes, ' if sized else ''}arena);",
                      *writes, *(f"  free({a});" for a in [*arrays, "arena"]), "  return status;", "}", ""])


def by_command(viewfold):
    """Builds objects by the command."""
    def make(model, target, made, header):
        command([viewfold, "build", model.path, "-o", made, "--header", header, "--name", model.name, "--target", target])
    return make


def build_objects(models, make, folder, machine):
    """The objects, in the folder, and the functions that run them."""
    objects, functions = [], []
    for model in models:
        objects.append(os.path.join(folder, f"{model.name}.o"))
        header = os.path.join(folder, model.name + ".h")
        make(model, machine.target, objects[-1], header)
        with open(header) as file:
            functions.append(_function(model, file.read()))
        with open(os.path.join(folder, model.name + ".in"), "wb") as packed:
            packed.write(b"".join(model.arrays))
    left = [line.strip() for line in command(["nm", "-u", *objects]).splitlines() if line.startswith(" ")]
    if left:
        raise RuntimeError("undefined: " + ", ".join(left))
    return objects, "".join(functions)


def _program(models, folder, machine, words, before, functions):
    files = ", ".join(f'"{os.path.join(folder, m.name)}"' for m in models)
    source = MAIN % {"includes": "\n".join([*(f'#include "{m.name}.h"' for m in models), *before]), "functions": functions,
                     "names": ", ".join(f"run_{m.name}" for m in models), "files": files}
    with open(os.path.join(folder, "main.c"), "w") as file:
        file.write(source)
    program = os.path.join(folder, "program")
    command([*machine.compiler, "-O0", "-static", "main.c", *words, "-o", program], cwd=folder)
    return program


def build(models, make, folder, machine, loads):
    """Yields what it is called and what is run: one program of all objects, where a symbol that is there twice is a failure,
    and so is one that is not defined; and, where asked for, a program that loads them."""
    objects, functions = build_objects(models, make, folder, machine)
    yield "linked", _program(models, folder, machine, objects, [], functions)
    if loads:
        names = [(m.name, f"{m.name}_{what}") for m in models for what in ("run", "arena_bytes")]
        found = [f'#define {f} ((__typeof__(&{f}))loaded("{os.path.join(folder, name)}.o", "{f}"))' for name, f in names]
        yield "loaded", _program(models, folder, machine, ["-I", ROOT, "-D_GNU_SOURCE", *LOADER_SOURCES], [LOADER, *found],
                                 functions)


def as_class(dtype, data):
    """The elements, with all NaNs as one."""
    if dtype not in FLOATS:
        return np.frombuffer(data, np.uint8)
    kind, infinity, mask = FLOATS[dtype]
    bits = np.frombuffer(data, kind)
    return np.where((bits & kind(mask)) > kind(infinity), kind(mask), bits)


def run(program, machine, numbers):
    """Yields (number, status, what was said) of each of these models. One that ends the program has that status, and the
    others are run by another."""
    while numbers:
        done = subprocess.run([*machine.runs, program, *map(str, numbers)], capture_output=True, text=True)
        statuses = [int(line) for line in done.stdout.split()]
        if len(statuses) < len(numbers):
            statuses.append(done.returncode)
        yield from ((number, status, done.stderr.strip()) for number, status in zip(numbers, statuses))
        numbers = numbers[len(statuses):]


def difference(status, said, model, outputs, folder):
    """None, or what is wrong with the outputs that a program has written."""
    if status != model.status:
        return f"status {status}, expected {model.status} {said}"
    with open(os.path.join(folder, model.name + ".out"), "rb") as file:
        got = file.read()
    for k, (dtype, want) in enumerate(outputs if not model.status else []):
        mine, got = got[:len(want)], got[len(want):]
        if len(mine) != len(want):
            return f"result {k} has {len(mine)} bytes, expected {len(want)}"
        differ = np.flatnonzero(as_class(dtype, mine) != as_class(dtype, want))
        if differ.size:
            return f"element {differ[0]} of result {k} differs, and {differ.size - 1} others"
    return None
