"""Levels of x86-64, to which viewfold and its peers are capped alike.

A level is a name of runtime/cpu/processors.def. Caches and what was measured of them stay those of the machine, so that
only instructions and registers differ. What libraries read from the environment they read when they are loaded: cap()
comes before their first import. They have no level of their own for each of ours, and take the next one below.
"""
import os
import re
import subprocess

# {level: (ATen, oneDNN, MKL, XLA)}
LEVELS = {
    "x86-64-v2": ("default", "SSE41", "SSE4_2", "SSE4_2"),
    "x86-64-v3": ("avx2", "AVX2", "AVX2", "AVX2"),
    "x86-64-v4": ("avx512", "AVX512_CORE", "AVX512", "AVX512"),
}


def cap(level):
    """Caps the peers in this process, and in those that it starts."""
    aten, dnn, mkl, xla = LEVELS[level]
    os.environ.update(ATEN_CPU_CAPABILITY=aten, ONEDNN_MAX_CPU_ISA=dnn, MKL_ENABLE_INSTRUCTIONS=mkl)
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa={xla}".strip()


def target(level, build):
    """Settings of the level with the caches of this machine."""
    told = subprocess.run([os.path.join(build, "viewfold"), "devices"], capture_output=True, text=True, check=True).stdout
    units = {"KiB": 1 << 10, "MiB": 1 << 20}
    caches = re.findall(r"\bL(\d) (\d+) (\w+)", told)[:3]
    return level + "".join(f" l{k}={int(n) * units[unit]}" for k, n, unit in caches)
