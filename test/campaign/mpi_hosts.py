#!/usr/bin/env python3
"""A command on processes of hosts that are really apart: network namespaces, which share files and nothing else.

usage: mpi_hosts.py VIEWFOLD COMMAND...

Two hosts, two processes on each, by each MPI that is here; `viewfold devices` must name both hosts, and COMMAND succeed.
"""
import os
import subprocess
import sys

import mpi_launch


def main():
    viewfold, command, failed = os.path.abspath(sys.argv[1]), sys.argv[2:], 0
    try:
        with mpi_launch.Hosts(2, slots=2) as hosts:
            for name in mpi_launch.found(viewfold):
                module = os.path.join(os.path.dirname(viewfold), f"viewfold-mpi-{name}.so")
                words = [f"VIEWFOLD_MPI={module}"] + [f"{k}={v}" for k, v in os.environ.items() if k.startswith("VIEWFOLD_")]
                start = mpi_launch.command(name, 4, hosts) + ["env"] + words

                def run(what, **more):
                    return subprocess.run(start + what, env=mpi_launch.environment(), stdin=subprocess.DEVNULL, timeout=1800, **more)
                listed = run([viewfold, "devices"], capture_output=True, text=True).stdout.splitlines()[:4]
                expected = [f"process {i} of 4 on {hosts.names[i // 2]}, cpu" for i in range(4)]
                if not all(a.startswith(b) for a, b in zip(listed, expected)) or len(listed) != 4:
                    print(f"FAIL: {name} lists {listed}")
                    failed += 1
                if run(command).returncode:
                    print(f"FAIL: {name}, on hosts")
                    failed += 1
    except OSError as why:
        print(f"skip: no hosts: {why}")
        return 0
    print(f"hosts that are apart: {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
