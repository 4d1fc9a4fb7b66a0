"""Builds the library with a mistake in what orders writes, one at a time, and lets random programs find it.

   python3 write_mutants.py --build DIR [--seed N] [--programs N] [--only TEXT] [--mutants N]

write_mutants.list has the mutants. Of each the changed source alone is compiled and linked with the objects of the
build; then test/conform/writes.py runs until its first failure, --programs of them at most. Fails where one finds no
failure, where its text is not in the file once, or where it cannot be built. --mutants: so many, beginning at one that
the seed chooses; all are checked for their text.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SECONDS = 3600  # for one mutant, which may loop for ever


class Mutant:
    """A name, what it gets wrong, the file, the text that it replaces, by which text."""

    def __init__(self, name, lines):
        self.name, self.wrong, self.file = name, lines[0], lines[1]
        self.old = "\n".join(x[1:] for x in lines[2:] if x[0] != "+")
        self.new = "\n".join(x[1:] for x in lines[2:] if x[0] == "+")

    def apply(self):
        """The changed source; None where the text is not in it once."""
        with open(os.path.join(ROOT, self.file), encoding="utf-8") as f:
            source = f.read()
        return source.replace(self.old, self.new) if source.count(self.old) == 1 else None


def read_mutants(path):
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"^#.*\n", "", f.read(), flags=re.M)
    blocks = re.split(r"^\[(\w+)\]\n", text, flags=re.M)[1:]
    return [Mutant(name, body.rstrip("\n").split("\n")) for name, body in zip(blocks[::2], blocks[1::2])]


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read().split("\n")


def build(mutant, source, build_dir, to):
    """Links a library of the mutant in the folder `to`. Returns what went wrong, or None."""
    flags = lines_of(os.path.join(build_dir, "flags"))[0].split()
    compiler, options = flags[0], [x.replace("'", "") for x in flags if x.startswith(("-f", "-p", "-I", "-std"))]
    libraries = next(x for x in lines_of("Makefile") if x.startswith("LIB_LIBS := "))[len("LIB_LIBS := "):].split()
    changed, compiled = os.path.join(to, os.path.basename(mutant.file)), os.path.join(to, "changed.o")
    with open(changed, "w", encoding="utf-8") as f:
        f.write(source)
    command = [compiler, *options, "-w", "-O1", f"-I{os.path.dirname(mutant.file)}", f"-I{build_dir}/gen", "-DVIEWFOLD_VERSION=\"0\"",
               "-c", changed, "-o", compiled]
    here = f"{build_dir}/obj/{mutant.file[:-2]}.o"
    objects = [x for x in lines_of(os.path.join(build_dir, "list")) if x]
    objects = [os.path.join(build_dir, os.path.relpath(x, "build")) for x in objects]
    if here not in objects:
        return f"{here} is not in {build_dir}/list"
    objects[objects.index(here)] = compiled
    library = "libviewfold.so.0"
    link = [compiler, "-pthread", "-shared", "-Wl,--version-script=libviewfold.map", f"-Wl,-soname,{library}", *objects, *libraries,
            "-o", os.path.join(to, library)]
    for step in command, link:
        made = subprocess.run(step, capture_output=True, text=True)
        if made.returncode:
            return made.stderr
    for name in "viewfold-llvm.so", "viewfold-compile":
        os.symlink(os.path.abspath(os.path.join(build_dir, name)), os.path.join(to, name))
    return None


def hunt(mutant, options, folder):
    """(was it found?, what is to be said)"""
    source = mutant.apply()
    if source is None:
        return False, f"its text is not once in {mutant.file}:\n{mutant.old}"
    why = build(mutant, source, options.build, folder)
    if why:
        return False, why
    environment = dict(os.environ, VIEWFOLD_CACHE_DIR=os.path.join(folder, "cache"))
    ran = try_programs(folder, environment, "--seed", str(options.seed), "--count", str(options.programs), "--stop")
    if ran is None:
        return True, "never ends"
    last = re.search(r"^writes: (\d+) passed, (\d+) failed", ran.stdout, re.M)
    if ran.returncode == 77:
        sys.exit(77)
    if not last:
        return ran.returncode < 0, "crashed" if ran.returncode < 0 else f"status {ran.returncode}: {ran.stderr[-2000:]}"
    if last[2] == "0":
        return False, f"not found by {last[1]} programs"
    case = re.search(r"^case (\d+)", ran.stdout, re.M)[1]
    right = try_programs(options.build, dict(os.environ), "--case", case)
    if right is None or right.returncode:
        return False, f"program {case} fails without the mistake, too"
    return True, f"found by program {int(last[1]) + 1}"


def try_programs(build_dir, environment, *arguments):
    """What writes.py has printed; None where it did not end."""
    command = [sys.executable, "-B", "test/conform/writes.py", "--build", build_dir, "--forms", "3", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--mutants", type=int)
    options = parser.parse_args()
    os.chdir(ROOT)
    mutants = [m for m in read_mutants(os.path.join(HERE, "write_mutants.list")) if options.only in m.name]
    failed = [m.name for m in mutants if m.apply() is None]
    for name in failed:
        print(f"FAIL {name}: what it replaces is not once in its file")
    first = options.seed % max(len(mutants), 1)
    tried = (mutants[first:] + mutants[:first])[:options.mutants]
    for mutant in tried:
        if mutant.name in failed:
            continue
        folder = tempfile.mkdtemp()
        try:
            found, said = hunt(mutant, options, folder)
        finally:
            shutil.rmtree(folder)
        print(f"{'ok' if found else 'FAIL'} {mutant.name}: {said}", flush=True)
        if not found:
            failed.append(mutant.name)
    print(f"{len(tried)} of {len(mutants)} mutants of what orders writes, of which {len(failed)} were not found")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
