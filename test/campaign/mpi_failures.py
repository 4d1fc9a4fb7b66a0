#!/usr/bin/env python3
"""Processes of a mesh that fail, under MPI.

usage: mpi_failures.py VIEWFOLD [--count N] [--launcher openmpi|mpich]... [--kind KIND]... [--seed N] [--seconds S] [--most S]

Four processes run a loop whose rounds all exchange, some bytes, messages that are read from where they lie, or pieces of an array
while they compute, or exchange a large array, and one of them

  kill     is killed, the launcher being told to let the others speak
  default  is killed, and the launcher does what it does by itself: the job ends
  stop     is stopped
  cut      is on a host of its own, a network namespace, whose cable is cut
  memory   has a limit to its memory somewhere below what it needs
  range    finds an index out of range in some round
  graph    runs another graph

at a random moment. All others must end with a status and a message that says which process or which device, leave no file, nor a
part of one, and no process behind: --seconds (VIEWFOLD_MESH_SECONDS) after it, where the machine has time for them. How long it
took is printed; --most makes more than that a failure.
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import mpi_launch

# Iterations without an end in sight; CELL stands for the body of one.
ITERATIONS = """mesh @m [x=4]
graph @cell(%h: f32[64], %x: f32[1]) {
CELL}
graph @g(%h: f32[64] @m[x]) {
  %xs = full shape=[20000000,1] value=1.0 : f32[20000000,1]
  %z = scan %h, %xs do=@cell carries=1 sliced=1
  return %z
}
"""
LOOP = ITERATIONS.replace("CELL", """\
  %s = sum %h axes=[0] keepdims=true
  %b = add %h, %s
  %c = mul %b, 0.01
  %d = add %c, %x
  return %d
""")
# Messages of 512 KiB, which who needs them reads from the memory of who has them.
WIDE = ITERATIONS.replace("CELL", """\
  %i = iota shape=[64,524288] axis=1 dtype=f32 : f32[64,524288]
  %u = unsqueeze %h axis=1
  %e = mul %u, %i
  %s = sum %e axes=[0]
  %r = all_reduce %s
  %m = sum %r axes=[0] keepdims=true
  %b = mul %m, 0.00000000000001
  %c = mul %h, 0.01
  %d = add %c, %b
  %f = add %d, %x
  return %f
""")
# 16 MiB that are gathered in pieces, which the sums of rows wait for one after the other.
PIECES = ITERATIONS.replace("[x=4]", "[x=4] latency=[1e-5] bandwidth=[1e9]").replace("@m[x]", "@m[-]").replace("CELL", """\
  %i = iota shape=[64,65536] axis=1 dtype=f32 : f32[64,65536]
  %u = unsqueeze %h axis=1
  %e = mul %u, %i
  %v = shard %e to=[x,-]
  %g = all_gather %v axis=0
  %m = sum %g axes=[1]
  %b = mul %m, 0.00000000000001
  %c = mul %h, 0.01
  %d = add %c, %b
  %f = add %d, %x
  return %f
""")
# Indices that are data of a run: what a round reads depends on the one before.
INDEX = """mesh @m [x=4]
graph @cell(%h: f32[64], %i: i32[4], %t: f32[8]) {
  %s = sum %h axes=[0] keepdims=true
  %b = add %h, %s
  %c = mul %b, 0.01
  %f = shrink %h bounds=[[0,4]]
  %n = cast %f dtype=i32
  %o = minimum %n, 0
  %j = add %i, %o
  %k = shard %j to=[x]
  %g = gather %t, %k axis=0
  %u = sum %g axes=[0] keepdims=true
  %d = add %c, %u
  return %d
}
graph @g(%h: f32[64] @m[x], %w: i32[1000,4] @m[-,x], %t: f32[8] @m[-]) {
  %z = scan %h, %w, %t do=@cell carries=1 sliced=1
  return %z
}
"""
LARGE = """mesh @m [x=4]
graph @g(%h: f32[64] @m[x]) {
  %i = iota shape=[64,262144] axis=1 dtype=f32 : f32[64,262144]
  %e = unsqueeze %h axis=1
  %a = add %e, %i
  %c = cumsum %a axis=1
  %b = shard %c to=[-,x]
  %d = cumsum %b axis=0
  %z = sum %d axes=[1]
  return %z
}
"""
OTHER = """mesh @m [x=4]
graph @g(%h: f32[64] @m[x]) {
  %b = flip %h axes=[0]
  %c = add %b, %h
  %z = shard %c to=[x]
  return %z
}
"""
PROCESSES = 4
GONE, WRONG = "3", "2"  # the command's exit status where a device fails, and where what it is given is wrong
TEXTS = {
    "loop": LOOP,
    "wide": WIDE,
    "pieces": PIECES,
    "index": INDEX,
    "large": LARGE,
    "other": OTHER
}
GRAPH = {"memory": "large", "range": "index"}
MIB = 1 << 20


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def wait_for(what, seconds):
    end = time.time() + seconds
    while not what():
        if time.time() > end:
            return False
        time.sleep(0.01)
    return True


def alive(pid):
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])


class Trial:
    """One job. Each process writes its number in the system, when it ended, and with what status."""

    def __init__(self, name, viewfold, kind, rng, seconds, hosts):
        self.name, self.kind, self.rng, self.hosts = name, kind, rng, hosts
        self.victim = rng.randrange(PROCESSES)
        self.folder = tempfile.mkdtemp(prefix="viewfold-mpi-")
        self.viewfold, self.seconds = viewfold, seconds
        self.limit = 0
        self.job = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)

    def prepare(self):
        import numpy
        any_graph = ("loop", "wide") if self.kind == "graph" else ("loop", "wide", "pieces")  # whose results are divided alike
        graph = self.graph = GRAPH.get(self.kind) or self.rng.choice(any_graph)
        inputs = "--in h=h.npy"
        numpy.save(self.path("h.npy"), numpy.ones(64, "f"))
        if graph == "index":
            indices = numpy.zeros((1000, PROCESSES), "i4")
            indices[self.rng.randrange(1000), self.victim] = 8 + self.rng.randrange(100)
            numpy.save(self.path("w.npy"), indices)
            numpy.save(self.path("t.npy"), numpy.ones(8, "f"))
            inputs += " --in w=w.npy --in t=t.npy"
        for name, text in TEXTS.items():
            self.write(name + ".vf", text)
        struck = {
            "graph": "graph=other",
            "memory": f"ulimit -v {self.limit >> 10}"
        }.get(self.kind, ":")
        self.write("one.sh", f"""#!/bin/sh
cd {self.folder}
r=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} graph={graph}
[ $r != {self.victim} ] || {struck}
if [ $# = 0 ] && [ {self.kind} != default ]; then # in a session of its own: launchers end groups
  setsid "$0" 1 &
  wait $!
  exit
fi
{self.viewfold} run $graph.vf --mesh x=4 {inputs} --out z=z.npy >out.$r 2>err.$r &
echo $! >pid.$r.new; mv pid.$r.new pid.$r
wait $!; s=$?
echo $s $(date +%s.%N) >rc.$r.new; mv rc.$r.new rc.$r
""")
        os.chmod(self.path("one.sh"), 0o755)

    def start(self):
        command = mpi_launch.command(self.name, PROCESSES, self.hosts, recover=self.kind != "default")
        cache = os.environ.get("VIEWFOLD_CACHE_DIR")
        env = mpi_launch.environment(VIEWFOLD_MESH_SECONDS=str(self.seconds),
                                     **({"VIEWFOLD_CACHE_DIR": cache} if cache else {}))
        if self.hosts:  # which the launcher's agent does not hand on
            command += ["-x", "VIEWFOLD_MESH_SECONDS"] if self.name == "openmpi" else []
        self.job = subprocess.Popen(command + [self.path("one.sh")], cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def pid(self, i):
        return int(read(self.path(f"pid.{i}")) or 0)

    def started(self):
        return all(self.pid(i) for i in range(PROCESSES))

    def running(self):
        """Have all opened the file of the result? That is what they do before they run."""
        return all(self.ended(i) or self.writes(i) for i in range(PROCESSES))

    def writes(self, i):
        try:
            links = [os.readlink(f"/proc/{self.pid(i)}/fd/{f}") for f in os.listdir(f"/proc/{self.pid(i)}/fd")]
        except OSError:
            return False
        return any(link.startswith(self.folder) and ("/#" in link or ".viewfold-" in link) for link in links)

    def ended(self, i):
        """Exit status and time."""
        words = read(self.path(f"rc.{i}")).split()
        return (words[0], float(words[1])) if len(words) == 2 else None

    def strike(self):
        """Returns when; of what fails by itself that is when the first has ended."""
        if self.kind in ("kill", "default", "stop", "cut"):
            time.sleep(0.1 + self.rng.random())
        struck = time.time()
        if self.kind in ("kill", "default"):
            os.kill(self.pid(self.victim), signal.SIGKILL)
        elif self.kind == "stop":
            os.kill(self.pid(self.victim), signal.SIGSTOP)
        elif self.kind == "cut":
            self.hosts.cut(self.victim)
        return struck

    def others(self):
        return [i for i in range(PROCESSES) if i != self.victim or self.kind in ("cut", "range", "memory", "graph")]

    def is_enough(self):
        return all(self.ended(i) and self.ended(i)[0] == "0" for i in range(PROCESSES))

    def check(self, i):
        """What is wrong with how a process ended."""
        status, error = self.ended(i)[0], read(self.path(f"err.{i}")).strip()
        if self.kind == "range":
            good = status == WRONG and re.search(r"gather .* axis 0 of .* has 8 elements \(index.vf:11\)", error)
        elif self.kind == "graph":
            good = status == WRONG and re.search(r"process \d+ runs another program", error)
        elif self.kind == "memory":
            good = status == GONE and re.search(r"memory|process %d\b" % self.victim, error)
        elif i == self.victim:  # cut off: whom it misses first
            good = status == GONE and re.search(r"process \d+, which has device", error)
        else:
            good = status == GONE and re.search(r"process %d\b" % self.victim, error)
        return [] if good else [f"process {i}: status {status}, {error!r}"]

    def left(self):
        """Files of results, and processes."""
        files = [f for f in os.listdir(self.folder) if f.startswith("z.") or f.endswith(".tmp")]
        return ([f"left: {files}"] if files else []) + [
            f"process {i} is left" for i in self.others() if alive(self.pid(i))
        ]

    def run(self, most):
        self.prepare()
        self.start()
        if not wait_for(self.started, 120) or not wait_for(self.running, 120):
            return ["the processes did not start"]
        struck = self.strike()
        if self.kind == "default":
            good = wait_for(lambda: self.job.poll() is not None, 60)
            took = time.time() - struck
            wait_for(lambda: not any(alive(self.pid(i)) for i in range(PROCESSES)), 5)
            wrong = [] if good else ["the job did not end"]
        else:
            good = wait_for(lambda: all(map(self.ended, self.others())), 60)
            wrong = [] if good else [f"did not end: {[i for i in self.others() if not self.ended(i)]}"]
            ends = [self.ended(i)[1] for i in self.others() if self.ended(i)]
            took = max(ends, default=0) - (min(ends, default=0) if self.kind in ("range", "memory", "graph") else struck)
            for i in self.others() if good else ():
                wrong += self.check(i)
        self.took = took
        if took > most:
            wrong.append(f"the others ended after {took:.2f} s")
        wrong += self.left()
        if not wrong:
            print(f"{self.name} {self.kind}: {self.graph}, process {self.victim}, the others ended after {took:.2f} s", flush=True)
        return wrong

    def peak(self, i):
        lines = [line.split() for line in read(f"/proc/{self.pid(i)}/status").splitlines()]
        return max((int(line[1]) << 10 for line in lines if line[:1] == ["VmPeak:"]), default=0)

    def measure(self):
        """How much memory each process has at most that nothing happens to."""
        self.kind, most = "measured", [0] * PROCESSES
        GRAPH["measured"] = "large"
        self.prepare()
        self.start()
        wait_for(self.started, 120)
        while self.job.poll() is None:
            most = [max(most[i], self.peak(i)) for i in range(PROCESSES)]
            time.sleep(0.002)
        return most

    def end(self):
        if self.kind == "cut":
            self.hosts.mend(self.victim)
        for i in range(PROCESSES):
            if self.pid(i) and alive(self.pid(i)):
                os.kill(self.pid(i), signal.SIGKILL)
        if self.job:
            try:
                os.killpg(self.job.pid, signal.SIGKILL)
            except OSError:
                pass
            self.job.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def kinds_of(name, asked, hosts):
    """MPICH's launcher waits for a process that is stopped, and ends the others where one is killed."""
    kinds = ["kill", "default", "stop", "cut", "memory", "range", "graph"]
    if not hosts:
        kinds.remove("cut")
    return [k for k in kinds if not asked or k in asked]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("viewfold")
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--most", type=float, default=60)
    parser.add_argument("--launcher", action="append", choices=("openmpi", "mpich"))
    parser.add_argument("--kind", action="append")
    args = parser.parse_args()
    viewfold = os.path.abspath(args.viewfold)
    counts = {}
    try:
        with mpi_launch.Hosts(PROCESSES) as hosts:
            failed = trials(args, viewfold, hosts, counts)
    except OSError as why:
        print(f"skip: no cables to cut: {why}")
        failed = trials(args, viewfold, None, counts)
    for (name, kind), times in counts.items():
        print(f"{name} {kind}: {len(times)}, the longest {max(times, default=0):.2f} s")
    print(f"{sum(map(len, counts.values()))} passed, {failed} failed")
    return failed != 0


def trials(args, viewfold, hosts, counts):
    rng = random.Random(args.seed)
    failed = 0
    for name in args.launcher or mpi_launch.found(viewfold):
        kinds = kinds_of(name, args.kind, hosts)
        peak = [0] * PROCESSES
        for kind in kinds * args.count + ["memory"] * (args.count if "memory" in kinds else 0):
            if kind == "memory" and len(counts.get((name, kind), [])) == args.count:
                continue
            trial = Trial(name, viewfold, kind, rng, args.seconds, hosts if kind == "cut" else None)
            try:
                for _ in range(2 if kind == "memory" and not peak[0] else 0):  # the first one compiles
                    measured = Trial(name, viewfold, kind, rng, args.seconds, None)
                    peak = measured.measure()
                    measured.end()
                trial.limit = peak[trial.victim] - rng.randrange(8, 48) * MIB
                wrong = trial.run(args.most)
                if kind == "memory" and trial.is_enough():  # which processes have at most varies
                    continue
                counts.setdefault((name, kind), [])
                if not wrong:
                    counts[name, kind].append(trial.took)
                failed += bool(wrong)
                for w in wrong:
                    print(f"FAIL {name} {kind}: {w}", flush=True)
            finally:
                trial.end()
    return failed


if __name__ == "__main__":
    sys.exit(main())
