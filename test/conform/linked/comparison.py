"""Models built for each machine that there is here, run, and compared with what they have to hold."""
import os
import shutil

from .machines import MACHINES
from .program import build, difference, run


def missing():
    """Why no object can be linked and run here, or None."""
    if not shutil.which("cc") or os.uname().machine != "x86_64":
        return "a C compiler for x86-64 is needed"
    return None


class Comparison:
    """Counts results, and prints those that are wrong."""

    def __init__(self, make, loads=False, samples=False):
        """make(model, target, object, header) builds. loads: programs for other machines also load the objects, by the
        library's own linker, as kernels are. samples: of models, as many as the machine asks for."""
        self.make, self.loads, self.samples, self.passed, self.failed = make, loads, samples, 0, 0
        self.machines = [m for m in MACHINES if not m.lacks()]
        self.left_out = [m.target for m in MACHINES if m.lacks()]

    def run(self, drawn, folder, takes_long=lambda model, machine: False):
        """Links all models into one program for each machine. takes_long: which ones are left out there."""
        for machine in self.machines:
            models = drawn[::machine.each] if self.samples else drawn
            long = [takes_long(m, machine) for m in models]
            self.left_out += [f"{m.name} on {machine.target}" for m, is_long in zip(models, long) if is_long]
            numbers = [k for k, is_long in enumerate(long) if not is_long]
            try:
                wanted = {k: models[k].outputs if machine.fused else models[k].unfused(machine.target) for k in numbers}
                for way, program in build(models, self.make, folder, machine, self.loads and machine.runs):
                    for k, status, said in run(program, machine, numbers):
                        self.count(f"{machine.target}, {way}: {models[k].name}",
                                   difference(status, said, models[k], wanted[k], folder), getattr(models[k], "text", ""))
            except RuntimeError as error:
                self.count(f"{machine.target}: {models[0].name} and others", str(error))

    def count(self, what, wrong, text=""):
        self.failed += wrong is not None
        self.passed += wrong is None
        if wrong:
            print(f"{what}: {wrong}\n{text}", flush=True)

    def report(self, name, more=""):
        """Prints the last line; the exit status."""
        if self.left_out:
            print("left out: " + ", ".join(self.left_out))
        print(f"{name}: {self.passed} passed, {self.failed} failed{more}")
        return self.failed != 0
