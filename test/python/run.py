"""Runs the tests of the Python package; the last line is `python: N passed, N failed, N skipped`.

    python3 test/python/run.py --package build/package [--only TEXT]
"""

import argparse
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", default="build/package")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    sys.path[:0] = [str(pathlib.Path(options.package).resolve()), str(HERE)]
    suite = unittest.TestSuite()
    for file in sorted(HERE.glob("test_*.py")):
        if options.only in file.name:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromName(file.stem))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"python: {result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return int(failed > 0 or result.testsRun == 0)


if __name__ == "__main__":
    sys.exit(main())
