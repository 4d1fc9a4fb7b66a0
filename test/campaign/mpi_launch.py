"""Launchers of MPI, and hosts that are really apart: network namespaces, one for each, on a bridge."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

# What a launcher calls in place of ssh: options, a host, and a command.
AGENT = """#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1
shift
exec ip netns exec "$host" unshare -u sh -c "hostname $host; $*"
"""


def found(viewfold):
    """The launchers whose modules are built; what is missing is said."""
    names = []
    for name in ("openmpi", "mpich"):
        module = os.path.join(os.path.dirname(viewfold), f"viewfold-mpi-{name}.so")
        if shutil.which("mpirun." + name) and os.path.exists(module):
            names.append(name)
        else:
            print(f"skip: no mpirun.{name}, or no {os.path.basename(module)}", flush=True)
    return names


def environment(**more):
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", UCX_LOG_LEVEL="error", **more)


def command(name, processes, hosts=None, recover=False):
    """What starts so many processes. recover: where one dies, the launcher lets the others speak."""
    if name == "openmpi":
        words = ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        if recover:
            words += ["--enable-recovery", "--mca", "orte_abort_on_non_zero_status", "0"]
        if hosts:
            words += ["--mca", "plm_rsh_agent", hosts.agent, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                      "--mca", "btl_tcp_if_include", f"{hosts.net}.0/24", "--mca", "oob_tcp_if_include", f"{hosts.net}.0/24",
                      "--host", ",".join(f"{h}:{hosts.slots}" for h in hosts.names), "-wdir", os.getcwd()]
    else:
        words = ["mpirun.mpich"] + (["-disable-auto-cleanup"] if recover else [])
        if hosts:
            words += ["-launcher", "ssh", "-launcher-exec", hosts.agent, "-hosts",
                      ",".join(f"{h}:{hosts.slots}" for h in hosts.names), "-iface", hosts.bridge,
                      "-genv", "UCX_TLS", "tcp,self"]
    return words + ["-n", str(processes)]


class Hosts:
    """`with Hosts(2) as hosts`: names of hosts, an agent that starts processes there, and cables that can be cut. Raises
    OSError, which says why, where the system has no namespaces."""

    def __init__(self, count, slots=1):
        self.prefix = f"v{os.getpid() % 100000}"
        self.bridge = self.prefix + "br"
        self.net = f"10.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"  # of the bridge; no namespace reaches anything else
        self.names = [f"{self.prefix}h{i}" for i in range(count)]
        self.slots = slots
        self.made = []

    def _ip(self, *words):
        done = subprocess.run(("ip",) + words, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which takes the namespaces away
        if not shutil.which("ip") or os.geteuid():
            raise OSError("network namespaces need the command ip (package iproute2) and root")
        try:
            self._make()
        except OSError:
            self.__exit__()
            raise
        return self

    def _make(self):
        self._ip("link", "add", self.bridge, "type", "bridge")
        self._ip("addr", "add", f"{self.net}.254/24", "dev", self.bridge)
        self._ip("link", "set", self.bridge, "up")
        for i, host in enumerate(self.names):
            self._ip("netns", "add", host)
            self.made.append(host)
            self._ip("link", "add", self.cable(i), "type", "veth", "peer", "name", "e0", "netns", host)
            self._ip("link", "set", self.cable(i), "master", self.bridge, "up")
            self._ip("-n", host, "addr", "add", f"{self.net}.{i + 1}/24", "dev", "e0")
            for link in ("e0", "lo"):
                self._ip("-n", host, "link", "set", link, "up")
        self.folder = tempfile.mkdtemp(prefix="viewfold-hosts-")
        self.agent = os.path.join(self.folder, "agent")
        with open(self.agent, "w") as file:
            file.write(AGENT)
        os.chmod(self.agent, 0o755)

    def cable(self, host):
        return f"{self.prefix}c{host}"

    def cut(self, host):
        self._ip("link", "set", self.cable(host), "down")

    def mend(self, host):
        self._ip("link", "set", self.cable(host), "up")

    def __exit__(self, *_):
        for host in self.made:
            subprocess.run(["ip", "netns", "del", host], capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True)
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)
