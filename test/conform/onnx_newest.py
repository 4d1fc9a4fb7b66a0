#!/usr/bin/env python3
"""The node tests of the package onnx of the Python index, through the importer: onnx_import.py on what
onnx_generate.py writes. What is refused must be what onnx_refusals.list says.

  onnx_newest.py --build DIR [--count N] [--only TEXT] [--update]

The package has the version that the list names, in a virtual environment of its own, DIR/onnx_newest. --update
writes the list again. Exit status: 0, 1 after a failure, 77 when the package cannot be had.
"""
import argparse
import os
import shutil
import subprocess
import sys

import onnx_refusals

HERE = os.path.dirname(os.path.abspath(__file__))


def environment(folder, requirement):
    """A Python that has the package; None, after a message, without it."""
    python = os.path.join(folder, "bin", "python")
    check = f"import onnx; assert onnx.__version__ == {requirement.split('==')[1]!r}"
    if os.path.exists(python) and subprocess.run([python, "-c", check], stderr=subprocess.DEVNULL).returncode == 0:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    for command in ([sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]):
        try:
            made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"skip: {error}")
            return None
        if made.returncode:
            print(f"skip: cannot install {requirement}: {made.stdout.strip().splitlines()[-1:]}")
            return None
    return python


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("--count", type=int, default=0)
    options.add_argument("--only", default="")
    options.add_argument("--update", action="store_true")
    options, _ = options.parse_known_args()
    requirement = onnx_refusals.package()
    folder = os.path.join(options.build, "onnx_newest")
    python = environment(os.path.join(folder, "venv"), requirement)
    if not python:
        return 77
    data = os.path.join(folder, requirement)
    if not os.path.isdir(data):
        shutil.rmtree(data + ".part", ignore_errors=True)
        if subprocess.run([python, "-W", "ignore", os.path.join(HERE, "onnx_generate.py"), data + ".part"]).returncode:
            return 1
        os.rename(data + ".part", data)
    return subprocess.run([python, "-B", os.path.join(HERE, "onnx_import.py"), "--build", options.build, "--data",
                           data, "--count", str(options.count), "--only", options.only,
                           "--update" if options.update else "--expect"]).returncode


if __name__ == "__main__":
    sys.exit(main())
