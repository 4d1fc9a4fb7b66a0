"""Models built for each machine that there is here, run, and compared with what they have to hold."""
import os
import shutil

from .machines import MACHINES
from .program import build, check


def missing():
    """Why no object can be linked and run here, or None."""
    if not shutil.which("cc") or os.uname().machine != "x86_64":
        return "a C compiler for x86-64 is needed"
    return None


class Comparison:
    """Counts results, and prints those that are wrong."""

    def __init__(self, viewfold, loads=False):
        """loads: programs for other machines also load the objects, by the library's own linker, as kernels are."""
        self.viewfold, self.loads, self.passed, self.failed = viewfold, loads, 0, 0
        self.machines = [m for m in MACHINES if not m.lacks()]
        self.left_out = [m.target for m in MACHINES if m.lacks()]

    def run(self, models, folder, takes_long=lambda model, machine: False):
        """Links all models into one program for each machine. takes_long: which ones are left out there."""
        for machine in self.machines:
            self.left_out += [f"{m.name} on {machine.target}" for m in models if takes_long(m, machine)]
            try:
                for way, program in build(models, self.viewfold, folder, machine, self.loads and machine.runs):
                    for number, model in enumerate(models):
                        if not takes_long(model, machine):
                            self.count(f"{machine.target}, {way}: {model.name}", check(model, number, program, machine, folder),
                                       getattr(model, "text", ""))
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
