"""The machines that objects are built for, and what runs their programs here."""
import shutil


class Machine:
    """target: as --target takes it. compiler, runs: words. speed: floating-point operations that it does in a second at
    least, under its emulator. fused: has it fused multiply-adds? Otherwise sums of floats have other bits. each: of many
    models, every so many-th is enough."""

    def __init__(self, target, compiler, runs, speed, needs="", fused=True, each=1):
        self.target, self.compiler, self.runs, self.speed, self.needs = target, compiler, runs, speed, needs
        self.fused, self.each = fused, each

    def lacks(self):
        """What is missing to run its programs here, or None."""
        for word in self.compiler + self.runs:
            if not shutil.which(word):
                return word
        with open("/proc/cpuinfo") as file:
            return self.needs if self.needs not in file.read() else None


MACHINES = [
    Machine("x86-64-v2", ["cc"], [], 1e10, "sse4_2", fused=False),
    Machine("x86-64-v3", ["cc"], [], 1e10, "avx2"),
    Machine("x86-64-v4", ["cc"], [], 1e10, "avx512vl"),
    Machine("x86-64-v2,x86-64-v3,x86-64-v4", ["cc"], [], 1e10, "avx2", each=5),  # three times the code
    Machine("aarch64", ["aarch64-linux-gnu-gcc"], ["qemu-aarch64"], 1e8),
    Machine("riscv64", ["riscv64-linux-gnu-gcc"], ["qemu-riscv64"], 2e7),
]
