#!/usr/bin/env python3
"""The node tests of the package onnx of the Python index, through the importer: onnx_import.py on what
onnx_generate.py writes. What is refused must be what onnx_refusals.list says. Then onnx_versions.py, beside ONNX
Runtime, whether it has a row for each version of an operator, and onnx_narrow.py beside ml_dtypes.

  onnx_newest.py --build DIR [--count N] [--only TEXT] [--update]

The packages have the versions that the list names, in a virtual environment of its own, DIR/onnx_newest. --update
writes the list again. Exit status: 0, 1 after a failure, 77 when the package cannot be had.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

import onnx_refusals

HERE = os.path.dirname(os.path.abspath(__file__))


def environment(folder, requirements):
    """A Python that has the packages; None, after a message, without them."""
    python = os.path.join(folder, "bin", "python")
    have = f"from importlib.metadata import version as v; assert all(v(p) == n for p, n in {requirements!r})"
    if os.path.exists(python) and subprocess.run([python, "-c", have], stderr=subprocess.DEVNULL).returncode == 0:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    names = ["==".join(r) for r in requirements]
    for command in ([sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *names]):
        try:
            made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"skip: {error}")
            return None
        if made.returncode:
            print(f"skip: cannot install {' '.join(names)}: {made.stdout.strip().splitlines()[-1:]}")
            return None
    return python


def counted(command):
    """Runs it, with its output; the numbers of the last line: passed, failed, and whether it succeeded."""
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    print(made.stdout, end="", flush=True)
    found = re.search(r"(\d+) passed, (\d+) failed[^\n]*\s*$", made.stdout)
    passed, failed = (int(found[1]), int(found[2])) if found else (0, 0)
    return passed, failed or (1 if made.returncode else 0)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("--count", type=int, default=0)
    options.add_argument("--only", default="")
    options.add_argument("--update", action="store_true")
    options, _ = options.parse_known_args()
    requirements = onnx_refusals.packages()
    folder = os.path.join(options.build, "onnx_newest")
    python = environment(os.path.join(folder, "venv"), requirements)
    if not python:
        return 77
    data = os.path.join(folder, "-".join(requirements[0]))
    if not os.path.isdir(data):
        shutil.rmtree(data + ".part", ignore_errors=True)
        if subprocess.run([python, "-W", "ignore", os.path.join(HERE, "onnx_generate.py"), data + ".part"]).returncode:
            return 1
        os.rename(data + ".part", data)
    runs = [["onnx_import.py", "--data", data, "--count", str(options.count), "--only", options.only,
             "--update" if options.update else "--expect"],
            ["onnx_versions.py"], ["onnx_versions.py", "--schemas"], ["onnx_narrow.py"]]
    runs = runs[:1] if options.only else runs
    passed, failed = map(sum, zip(*(counted([python, "-B", os.path.join(HERE, script), "--build", options.build, *more])
                                    for script, *more in runs)))
    print(f"onnx_newest: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
