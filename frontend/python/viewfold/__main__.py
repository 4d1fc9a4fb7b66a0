"""`python -m viewfold`, and `viewfold` where the package was installed: the command."""

from __future__ import annotations

import ctypes
import os
import pathlib
import signal
import sys


def main() -> int:
    library = ctypes.CDLL(str(pathlib.Path(__file__).parent / "libviewfold.so.0"))
    words = [b"viewfold", *map(os.fsencode, sys.argv[1:])]
    for number in (signal.SIGINT, signal.SIGPIPE):  # as in a program that is not Python's
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    return int(library.vf_command(len(words), (ctypes.c_char_p * (len(words) + 1))(*words)))


if __name__ == "__main__":
    sys.exit(main())
