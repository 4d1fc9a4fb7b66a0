"""Cases in separate processes, which may crash or hang: either is a failure of the case in progress."""
import json
import os
import resource
import select
import signal
import sys

MOST_SECONDS = 120  # of processor time for one case
STILL_SECONDS = 180  # without any processor time and asleep: a deadlock
MOST_BYTES = 6 << 30  # of address space: graphs have a few MiB, LLVM and threads' stacks take less than 1 GiB


def limit_memory():
    """Limits memory, so that an allocation of a size's upper bound fails rather than taking all memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _Worker:
    def __init__(self, first, step, end, work):
        self.next, self.step, self.end = first, step, end
        receive, send = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(receive)
            _work(range(first, end, step), work, send)
        os.close(send)
        self.pipe, self.read, self.case = receive, b"", None
        self.begun = self.seen = (0.0, 0.0)

    def lines(self):
        """The child's output, None at its end."""
        part = os.read(self.pipe, 65536)
        self.read += part
        *whole, self.read = self.read.split(b"\n")
        return [json.loads(line) for line in whole], not part

    def used(self):
        """(processor seconds, whether it sleeps)"""
        try:
            with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] in "SD"
        except OSError:
            return 0.0, False

    def stuck(self, now):
        """Why the case in progress is stopped, or None."""
        seconds, sleeps = self.used()
        if self.case is None:
            return None
        if self.begun is None:
            self.begun, self.seen = seconds, (seconds, now)
        if seconds - self.begun > MOST_SECONDS:
            return f"hang: more than {MOST_SECONDS} seconds of processor time"
        if seconds != self.seen[0] or not sleeps:
            self.seen = (seconds, now)
        elif now - self.seen[1] > STILL_SECONDS:
            return f"hang: asleep for {STILL_SECONDS} seconds"
        return None

    def end_now(self):
        os.kill(self.pid, signal.SIGKILL)

    def status(self):
        os.close(self.pipe)
        return os.waitpid(self.pid, 0)[1]


def _work(cases, work, send):
    """In the child: sends a line when a case begins, and a line with its result."""
    code = 1
    limit_memory()
    try:
        with os.fdopen(send, "wb", 0) as out:
            for case in cases:
                out.write(json.dumps({"begin": case}).encode() + b"\n")
                out.write(json.dumps({"end": case, "told": work(case)}).encode() + b"\n")
        code = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def run(first, count, jobs, work, told, clock):
    """Calls work(case) in a child for each case; told(case, its result, or the description of a crash)."""
    workers = [_Worker(first + k, jobs, first + count, work) for k in range(min(jobs, count))]
    while workers:
        ready, _, _ = select.select([w.pipe for w in workers], [], [], 5.0)
        for worker in list(workers):
            if worker.pipe in ready:
                lines, ended = worker.lines()
                for line in lines:
                    if "begin" in line:
                        worker.case, worker.begun, worker.next = line["begin"], None, line["begin"] + worker.step
                    else:
                        worker.case = None
                        told(line["end"], line["told"])
                if not ended:
                    continue
                status = worker.status()
                story = f"crash: {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else \
                    f"exit status {os.WEXITSTATUS(status)}"
            else:
                story = worker.stuck(clock())
                if not story:
                    continue
                worker.end_now()
                status = worker.status()
            workers.remove(worker)
            if status == 0:
                continue
            told(worker.next - worker.step if worker.case is None else worker.case, {"story": story})
            if worker.next < first + count:
                workers.append(_Worker(worker.next, worker.step, first + count, work))
