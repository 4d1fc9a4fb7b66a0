"""Wheels of the Python package, for pip: `make python`, and what it makes in an archive (PEP 517).

The wheel has the library, and the compiler module where there is LLVM; `pip install . --config-settings llvm=no` leaves that out, and
`mpi=yes` takes in the modules for MPI that were built, which need the MPI of the machine. It is for
every Python from 3.11 on; one that a free-threaded Python builds is for that version alone.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
VERSION = f"cp{sys.version_info.major}{sys.version_info.minor}"
ABI = f"{VERSION}-{VERSION}t" if FREE_THREADED else "cp311-abi3"
TAG = f"{ABI}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
MODULE = "_native.abi3.so"  # as make calls it
MODULE_NAMES = {MODULE: "_native" + sysconfig.get_config_var("EXT_SUFFIX")} if FREE_THREADED else {}
LIBRARIES = ["libviewfold.so.0", "viewfold-llvm.so", "viewfold-compile"]
MPI_MODULES = ["viewfold-mpi-openmpi.so", "viewfold-mpi-mpich.so"]


def _version() -> str:
    return re.search(r"^VERSION := (.*)$", (ROOT / "Makefile").read_text(), re.M).group(1)


def _metadata() -> str:
    return (f"Metadata-Version: 2.1\nName: viewfold\nVersion: {_version()}\n"
            "Summary: A tracing JIT compiler for tensor programs\nRequires-Python: >=3.11\n"
            "Description-Content-Type: text/markdown\n\n" + (ROOT / "docs" / "python.md").read_text())


def _strip(source: pathlib.Path, to: pathlib.Path) -> None:
    """Without symbols for debugging, which are most of it."""
    if subprocess.run(["strip", "-o", to, source], check=False).returncode:
        shutil.copy(source, to)


def _files(work: pathlib.Path, with_llvm: bool, with_mpi: bool) -> dict:
    """What goes into the package, by name there."""
    package = ROOT / "build" / "package" / "viewfold"
    made = {f"viewfold/{p.relative_to(package)}": p for p in sorted(package.rglob("*"))
            if p.suffix in (".py", ".pyi", ".typed") or p.name == "py.typed"}
    for name in [MODULE] + (LIBRARIES if with_llvm else LIBRARIES[:1]) + (MPI_MODULES if with_mpi else []):
        if (package / name).exists():
            _strip((package / name).resolve(), work / name)
            made[f"viewfold/{MODULE_NAMES.get(name, name)}"] = work / name
    made["viewfold/LICENSE"] = ROOT / "LICENSE"
    return made


def make() -> None:
    headers = {"PYTHON": sys.executable} if FREE_THREADED else {}
    subprocess.run(["make", "-C", str(ROOT), "python"], env=os.environ | headers, check=True)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    make()
    version = _version()
    info = f"viewfold-{version}.dist-info"
    work = pathlib.Path(wheel_directory) / "stripped"
    work.mkdir(exist_ok=True)
    settings = config_settings or {}
    files = _files(work, settings.get("llvm") != "no", settings.get("mpi") == "yes")
    contents = {name: path.read_bytes() for name, path in files.items()}
    contents[f"{info}/METADATA"] = _metadata().encode()
    contents[f"{info}/entry_points.txt"] = (b"[console_scripts]\nviewfold = viewfold.__main__:main\n"
                                                  b"[torch_dynamo_backends]\nviewfold = viewfold.torch:backend\n")
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: viewfold\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    record = []
    for name, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    contents[f"{info}/RECORD"] = ("".join(record) + f"{info}/RECORD,,\n").encode()
    wheel = f"viewfold-{version}-{TAG}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name)
            runs = name.endswith(("viewfold-compile", ".so")) or ".so." in name
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    shutil.rmtree(work)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    name = f"viewfold-{_version()}"
    path = os.path.join(sdist_directory, f"{name}.tar.gz")
    subprocess.run(["git", "-C", str(ROOT), "archive", f"--prefix={name}/", "-o", path, "HEAD"], check=True)
    return f"{name}.tar.gz"
