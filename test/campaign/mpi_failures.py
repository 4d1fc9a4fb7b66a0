#!/usr/bin/env python3
"""Processes of a mesh that fail, under MPI: killed, or stopped.

usage: mpi_failures.py VIEWFOLD [--count N] [--launcher openmpi|mpich]... [--seed N] [--seconds S]

Four processes run a loop whose rounds all exchange; one of them is struck at a random moment. All others must end
with a status and a message that names the process, and leave no file half written: after --seconds
(VIEWFOLD_MESH_SECONDS), where the machine has time for them; how long it took is printed. Launchers may end the others by
themselves: Open MPI is told not to; where MPICH does, all of the job must end.
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

GRAPH = """mesh @m [x=4]
graph @cell(%h: f32[64], %x: f32[1]) {
  %s = sum %h axes=[0] keepdims=true
  %b = add %h, %s
  %c = mul %b, 0.01
  %d = add %c, %x
  return %d
}
graph @g(%h: f32[64] @m[x]) {
  %xs = full shape=[20000000,1] value=1.0 : f32[20000000,1]
  %z = scan %h, %xs do=@cell carries=1 sliced=1
  return %z
}
"""
PROCESSES = 4


def launcher(name, seconds):
    env = dict(os.environ, VIEWFOLD_MESH_SECONDS=str(seconds), OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if name == "openmpi":
        return ["mpirun.openmpi", "--oversubscribe", "--enable-recovery", "--mca", "orte_abort_on_non_zero_status",
                "0", "--mca", "mpi_yield_when_idle", "1", "-n", str(PROCESSES)], env
    return ["mpirun.mpich", "-disable-auto-cleanup", "-n", str(PROCESSES)], env


def start(name, viewfold, folder, seconds):
    """Each process writes its number in the system, and what became of it."""
    script = os.path.join(folder, "one.sh")
    with open(script, "w") as f:
        f.write("#!/bin/sh\n"
                "r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n"
                f"{viewfold} run graph.vf --mesh x=4 --in h=h.npy --out z=z.npy >out.$r 2>err.$r & "
                "echo $! >pid.$r.new; mv pid.$r.new pid.$r; wait $!; echo $? >rc.$r\n")
    os.chmod(script, 0o755)
    command, env = launcher(name, seconds)
    return subprocess.Popen(command + [script], cwd=folder, env=env, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


def wait_for(what, seconds):
    end = time.time() + seconds
    while not what():
        if time.time() > end:
            return False
        time.sleep(0.01)
    return True


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def trial(name, viewfold, kind, rng, seconds):
    folder = tempfile.mkdtemp(prefix="viewfold-mpi-")
    job, wrong = None, []
    victim = rng.randrange(PROCESSES)
    try:
        import numpy
        numpy.save(os.path.join(folder, "h.npy"), numpy.ones(64, "f"))
        with open(os.path.join(folder, "graph.vf"), "w") as f:
            f.write(GRAPH)
        job = start(name, viewfold, folder, seconds)
        pids = [os.path.join(folder, f"pid.{i}") for i in range(PROCESSES)]
        if not wait_for(lambda: all(map(os.path.exists, pids)), 300):
            return ["the processes did not start"]
        pid = [int(read(p)) for p in pids]
        time.sleep(1 + 2 * rng.random())
        struck = time.time()
        if kind == "kill":
            os.kill(pid[victim], signal.SIGKILL)
        elif kind == "stop":
            os.kill(pid[victim], signal.SIGSTOP)
        others = [i for i in range(PROCESSES) if i != victim]
        speak = name == "openmpi"
        if speak:
            ended = wait_for(lambda: all(os.path.exists(os.path.join(folder, f"rc.{i}")) for i in others), 120)
        else:
            ended = wait_for(lambda: job.poll() is not None and not any(alive(pid[i]) for i in others), 120)
        took = time.time() - struck
        if not ended:
            wrong.append("a process did not end: " + ", ".join(str(i) for i in others if alive(pid[i])))
        for i in others if speak and ended else ():
            rc, err = read(os.path.join(folder, f"rc.{i}")).strip(), read(os.path.join(folder, f"err.{i}"))
            if rc != "3" or not re.search(r"process %d\b" % victim, err):
                wrong.append(f"process {i}: status {rc}, {err.strip()!r}")
        if os.path.exists(os.path.join(folder, "z.npy")):
            wrong.append("there is a result")
        if not wrong:
            print(f"{name} {kind}: process {victim} struck, the others ended after {took:.2f} s", flush=True)
        return wrong
    finally:
        if job:
            for p in (os.path.join(folder, f"pid.{i}") for i in range(PROCESSES)):
                if read(p) and alive(int(read(p))):
                    os.kill(int(read(p)), signal.SIGKILL)
            try:
                os.killpg(job.pid, signal.SIGKILL)
            except OSError:
                pass
            job.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("viewfold")
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--launcher", action="append", choices=("openmpi", "mpich"))
    args = parser.parse_args()
    rng = random.Random(args.seed)
    passed = failed = 0
    viewfold = os.path.abspath(args.viewfold)
    for name in args.launcher or ("openmpi", "mpich"):
        module = os.path.join(os.path.dirname(viewfold), f"viewfold-mpi-{name}.so")
        if not shutil.which("mpirun." + name) or not os.path.exists(module):
            print(f"skip: no mpirun.{name}, or no {os.path.basename(module)}")
            continue
        for _ in range(args.count):
            # MPICH's launcher waits for a process that is stopped.
            for kind in ("kill", "stop") if name == "openmpi" else ("kill",):
                wrong = trial(name, viewfold, kind, rng, args.seconds)
                passed, failed = passed + (not wrong), failed + bool(wrong)
                for w in wrong:
                    print(f"FAIL {name} {kind}: {w}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
