#!/usr/bin/env python3
"""Predicted against measured time of a step on two processes of a mesh.

    mesh_predicted.py [--build build] [--mpi openmpi|mpich] [--rounds N] [--list] [GRAPH ...]

Calibrates the mesh x=2 on two processes of MPI, each round. For each of twelve graphs it adds up what the kernels of process 0 take alone
(`viewfold explain`), what `viewfold explain --mesh` expects of its exchanges, copies of a process's own part at the bandwidth of
messages, and the start of a run, which is that of a graph that computes nothing; then runs the graph on the processes,
some rounds of all graphs one after the other, and takes the fastest: other work on the machine only adds. The same with what
`explain` expects of the kernels is shown beside it. Exit status 1 where one is off by more than 25 %.
"""
import argparse
import math
import os
import re
import subprocess
import sys
import tempfile

OFF, RUNS = 0.25, 40

GRAPHS = {
    "rows": """graph @rows(%h: f32[1024,1024] @m[x,-], %w: f32[1024,1024]) {
  %s = matmul %h, %w
  %a = relu %s
  return %a
}""",
    "columns": """graph @columns(%h: f32[512,1024] @m[-,x], %w: f32[1024,1024] @m[x,-]) {
  %s = matmul %h, %w
  %r = all_reduce %s
  %a = relu %r
  return %a
}""",
    "two_layers": """graph @two_layers(%h: f32[256,1024], %w: f32[1024,2048] @m[-,x], %v: f32[2048,1024] @m[x,-]) {
  %s = matmul %h, %w
  %a = relu %s
  %p = matmul %a, %v
  %q = all_reduce %p
  return %q
}""",
    "gradient": """graph @gradient(%h: f32[1024,512] @m[x,-], %d: f32[1024,512] @m[x,-], %w: f32[512,512]) {
  %t = permute %h order=[1,0]
  %g = matmul %t, %d
  %r = all_reduce %g
  %c = full shape=[512,512] value=0.01 dtype=f32
  %s = mul %r, %c
  %n = sub %w, %s
  return %n
}""",
    "mean": """graph @mean(%a: f32[2048,2048] @m[x,-]) {
  %e = exp %a
  %s = sum %e axes=[0]
  %r = all_reduce %s
  return %r
}""",
    "softmax": """graph @softmax(%a: f32[2048,1024] @m[x,-]) {
  %b = softmax %a axis=1
  return %b
}""",
    "across": """graph @across(%a: f32[1024,2048] @m[-,x]) {
  %b = softmax %a axis=1
  return %b
}""",
    "transpose": """graph @transpose(%a: f32[2048,2048] @m[x,-]) {
  %t = permute %a order=[1,0]
  %s = shard %t to=[x,-]
  %e = tanh %s
  return %e
}""",
    "gather": """graph @gather(%a: f32[512,1024] @m[x,-], %w: f32[1024,512]) {
  %b = tanh %a
  %g = shard %b to=[-,-]
  %t = permute %g order=[1,0]
  %p = matmul %t, %g
  return %p
}""",
    "heat": """graph @heat(%a: f32[2050,2048] @m[x,-]) {
  %u = shrink %a bounds=[[0,2048],[0,2048]]
  %m = shrink %a bounds=[[1,2049],[0,2048]]
  %d = shrink %a bounds=[[2,2050],[0,2048]]
  %s = add %u, %d
  %r = add %s, %m
  %f = full shape=[2048,2048] value=0.3333 dtype=f32
  %n = mul %r, %f
  return %n
}""",
    "norm": """graph @norm(%a: f32[2048,1024] @m[x,-], %w: f32[1024,256]) {
  %s = mul %a, %a
  %m = sum %s axes=[1] keepdims=true
  %e = expand %m shape=[2048,1024]
  %r = sqrt %e
  %n = div %a, %r
  %p = matmul %n, %w
  %c = sum %p axes=[0]
  %q = all_reduce %c
  return %q
}""",
    "attention": """graph @attention(%q: f32[8,512,64] @m[x,-,-], %k: f32[8,512,64] @m[x,-,-], %v: f32[8,512,64] @m[x,-,-]) {
  %t = permute %k order=[0,2,1]
  %s = matmul %q, %t
  %p = softmax %s axis=2
  %o = matmul %p, %v
  %r = sum %o axes=[0]
  %a = all_reduce %r
  return %a
}""",
}
START = """graph @start(%a: f32[2] @m[x]) {
  return %a
}"""


class Machine:
    def __init__(self, given, folder):
        self.command = os.path.join(given.build, "viewfold")
        self.folder = folder
        self.environment = dict(os.environ, VIEWFOLD_CACHE_DIR=os.path.join(folder, "cache"), UCX_LOG_LEVEL="fatal",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        openmpi = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if given.mpi == "openmpi" else []
        self.through = [given.through] if given.through else []
        self.launch = [f"mpirun.{given.mpi}", *openmpi, "-n", "2", *self.through]
        self.build(given)

    def start(self, words):
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=self.environment, stdin=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def say(self, *words, processes=False):
        return self.start([*(self.launch if processes else self.through), self.command, *words])

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def build(self, given):
        self.step = os.path.join(given.build, "bench", "mesh_step")
        os.makedirs(os.path.dirname(self.step), exist_ok=True)
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Ifrontend", "test/bench/mesh_step.c", f"{given.build}/libviewfold.so.0",
                        f"-Wl,-rpath,{os.path.abspath(given.build)}", "-o", self.step], check=True)

    def measure(self, path):
        """Milliseconds, the fastest of the runs"""
        return float(self.start([*self.launch, self.step, str(RUNS), path]).split()[1])


def count(dims):
    return math.prod(int(n) for n in dims.split(",") if n)


def without_exchanges(text):
    """The program of a process, where what exchanges bring are parameters, and what they send are results; and bytes that
    each copies from its own part: none of an intermediate that lies in what it brings as it is there."""
    brought, sent, lines, copied = [], [], [], 0
    shapes = dict(re.findall(r"%(\w+): f32\[([\d,]*)\]", text.split("{")[0]))
    given = set(shapes)
    for line in text.splitlines():
        made = re.match(r"  %(\w+) = .* : f32\[([\d,]*)\]$", line)
        if made:
            shapes[made[1]] = made[2]
        found = re.match(r"  %(\w+) = exchange %(\w+) shape=.* start=\[(.*?)\] at=\[(.*?)\]", line)
        if not found:
            lines.append(line)
            continue
        brought.append(found[1])
        sent.append(found[2])
        sizes = [[int(n) for n in shapes[name].split(",") if n] for name in (found[1], found[2])]
        starts = [[int(n) for n in found[k].split(",") if n] for k in (3, 4)]
        box = [(max(a, b), min(a + m, b + n)) for a, b, m, n in zip(*starts, *sizes)]
        own = math.prod(max(hi - lo, 0) for lo, hi in box)
        wide = [d for d, n in enumerate(sizes[1]) if n != sizes[0][d]] or [0]
        lies_within = found[2] not in given and own == count(shapes[found[2]]) and math.prod(sizes[1][: wide[-1]]) == 1
        copied += 0 if lies_within else 4 * own
    text = "\n".join(lines)
    head, rest = text.split(") {", 1)
    more = "".join(f", %{name}: f32[{shapes[name]}]" for name in brought)
    results = [name for name in dict.fromkeys(sent) if name not in given]
    return f"{head}{more}) {{{rest}".replace("  return ", "  return " + "".join(f"%{name}, " for name in results)), copied


class Mesh:
    """What messages cost, as calibrated when they were fastest"""

    def __init__(self):
        self.latency, self.bandwidth = math.inf, 0.0

    def calibrate(self, machine):
        found = re.search(r"latency=\[(.*?)\] bandwidth=\[(.*?)\]", machine.say("mesh", "calibrate", "x=2", processes=True))
        self.latency, self.bandwidth = min(self.latency, float(found[1])), max(self.bandwidth, float(found[2]))

    def __str__(self):
        return f"mesh @m [x=2] latency=[{self.latency!r}] bandwidth=[{self.bandwidth!r}]"


class Step:
    def __init__(self, machine, name, mesh, text):
        self.machine, self.name, self.text = machine, name, text
        self.path = machine.file(f"{name}.vf", f"{mesh}\n{text}\n")
        self.took, self.kernels, self.model = math.inf, math.inf, math.inf
        alone, self.copied = without_exchanges(machine.say("dump", "--stage=rank:0", self.path))
        self.alone = machine.file(f"{name}.part.vf", alone)

    def measure(self):
        self.took = min(self.took, self.machine.measure(self.path))

    def exchanges(self, mesh):
        rows = self.machine.say("explain", "--mesh", self.machine.file(f"{self.name}.moves.vf", f"{mesh}\n{self.text}\n"))
        return sum(float(us) for us in re.findall(r"^  (?!next best)\S.* ([\d.e+-]+) us$", rows, re.M)) * 1e-3

    def explain(self):
        """What the kernels of process 0 take alone, and what the model expects of them"""
        details = self.machine.say("explain", self.alone, "--threads", "1", "--kernel", "all")
        took, model = (sum(float(ms) for ms in re.findall(rf"^  {key} +([\d.e+-]+) ms", details, re.M)) for key in ("took", "expects"))
        self.kernels, self.model = min(self.kernels, took), min(self.model, model)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--through", help="a program that starts each process")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("graphs", nargs="*", metavar="GRAPH")
    given = parser.parse_args()
    names = given.graphs or list(GRAPHS)
    if given.list:
        return print("\n".join(names))
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(given, folder)
        mesh = Mesh()
        mesh.calibrate(machine)
        steps = {name: Step(machine, name, mesh, GRAPHS[name]) for name in names}
        start = Step(machine, "start", mesh, START)
        for _ in range(given.rounds):
            for step in (start, *steps.values()):
                step.measure()
            for step in steps.values():
                step.explain()
            mesh.calibrate(machine)
        print(f"{mesh}\nstart of a run: {start.took:.4f} ms")
        print(f"{'graph':12}   model  kernels exchanges  copies  predicted  measured  ratio, by the model")
        off = 0
        for name, step in steps.items():
            exchanges, copies = step.exchanges(mesh), step.copied / mesh.bandwidth * 1e3
            rest = exchanges + copies + start.took
            off += abs((step.kernels + rest) / step.took - 1) > OFF
            print(f"{name:12} {step.model:7.3f}  {step.kernels:7.3f}   {exchanges:7.3f} {copies:7.3f}    {step.kernels + rest:7.3f}   "
                  f"{step.took:7.3f}   {(step.kernels + rest) / step.took:4.2f}   {(step.model + rest) / step.took:4.2f}")
        print(f"{len(names) - off} of {len(names)} within {OFF:.0%}")
        return off > 0


if __name__ == "__main__":
    sys.exit(main())
