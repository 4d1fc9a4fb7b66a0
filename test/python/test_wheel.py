"""The wheel: what is in it, and that its record is right."""

import base64
import csv
import hashlib
import io
import pathlib
import sys
import tempfile
import unittest.mock
import zipfile

from common import Case, vf

ROOT = pathlib.Path(__file__).parents[2]


class Wheel(Case):
    def test_wheel(self):
        sys.path.insert(0, str(ROOT / "frontend" / "python"))
        import build_backend

        if pathlib.Path(vf.__file__).parent != ROOT / "build" / "package" / "viewfold":
            self.skipTest("the package is not the one in build/package")
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(build_backend, "make", lambda: None):
            name = build_backend.build_wheel(folder, {"llvm": "no"})
            path = pathlib.Path(folder) / name
            self.assertRegex(name, r"^viewfold-[0-9.]+-cp311-abi3-linux_\w+\.whl$")
            self.assertLess(path.stat().st_size, 3 << 20)
            with zipfile.ZipFile(path) as wheel:
                files = set(wheel.namelist())
                self.assertIn(b"viewfold = viewfold.__main__:main", wheel.read(next(f for f in files if f.endswith("entry_points.txt"))))
                record = next(f for f in files if f.endswith("RECORD"))
                rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
                for file, digest, size in rows:
                    if digest:
                        data = wheel.read(file)
                        made = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                        self.assertEqual((digest, int(size)), ("sha256=" + made, len(data)))
        self.assertEqual({r[0] for r in rows}, files)
        for file in ("__init__.py", "__main__.py", "py.typed", "_native.pyi", "_native.abi3.so", "libviewfold.so.0"):
            self.assertIn(f"viewfold/{file}", files)
        self.assertFalse([f for f in files if "llvm" in f])
