"""Workload and Recorder of the live tests once more, for processes that run in a guest."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any, Self

from lab.support.guest import Guest
from live.support.recording import Recording
from unit.support.waiting import until

numbers = itertools.count(1)

# Run in a session of its own, its end is noted in a file.  $1 is the folder of the process.
START = """
mkdir -p $1 && cd $1
mkfifo in over
cat >start <<'end of start'
{prepare}
exec {command}
end of start
cat >watch <<'end of watch'
sh start <>in >out 2>err &
echo $! >pid
wait $!
echo $? >status
echo >over # waits until somebody asks
end of watch
setsid sh watch </dev/null >/dev/null 2>&1 &
echo $! >session
"""


class Process:
    """A program that runs in a guest in a folder of its own."""

    def __init__(self, guest: Guest, command: Sequence[object], prepare: str, until_ready: str) -> None:
        self.guest = guest
        self.folder = f"/run/process-{next(numbers)}"
        words = shlex.join(map(str, command))
        script = START.replace("$1", self.folder).format(prepare=prepare, command=words)
        script += f"until {until_ready} || [ -e status ]; do sleep 0.1; done\n"
        script += "[ ! -e status ] || { echo ended early with $(cat status); head -c 2000 out err; exit 1; }\ncat pid"
        try:
            self.process_pid = int(guest.run(script))
        except BaseException:
            self.close()
            raise

    def here(self, script: str) -> str:
        """Run a script in the folder of the process."""
        return self.guest.run(f"cd {self.folder}\n{script}")

    def end(self) -> int:
        """Wait for its end and return its status."""
        return int(self.here(f"{self.ended}; cat status"))

    @property
    def ended(self) -> str:
        """The command that waits for its end; a shell that looks for it again and again would be in the way."""
        return f"[ -s {self.folder}/status ] || read -r nothing <{self.folder}/over"

    def close(self) -> None:
        """Kill what is left of it."""
        self.guest.tidy(f"kill -s KILL -- -$(cat {self.folder}/session)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class GuestWorkload(Process):
    """A workload that is prepared and waits for its start."""

    def __init__(
        self,
        guest: Guest,
        name: str,
        *arguments: object,
        prepare: str | Callable[[], None] | None = None,
        directory: object = "",
    ) -> None:
        assert prepare is None or isinstance(prepare, str), "in a guest a script prepares"
        self.name = name
        command = [f"/run/bin/{name}", "--wait", *arguments]
        into = f"cd {shlex.quote(str(directory))}\n" if directory else ""
        super().__init__(guest, command, into, "[ -s out ]")
        self.ready = json.loads(self.here("head -n 1 out"))
        self.pid = int(self.ready["pid"])
        if prepare:  # now: to start takes a while under a quota, which the kernel would count too
            guest.run(f"pid={self.pid}\n{prepare}")

    def status(self, field: str) -> str:
        """Return what the kernel says of it now: the first word of a field of /proc/PID/status."""
        return self.guest.run(f"sed -n 's/^{field}:[[:space:]]*//p' /proc/{self.pid}/status").split()[0]

    def states(self) -> dict[str, str]:
        """Return the state of each of its threads now, by name."""
        stats = self.guest.run(f"cat /proc/{self.pid}/task/*/stat").splitlines()
        return {stat[stat.index("(") + 1 : stat.rindex(")")]: stat[stat.rindex(")") + 2] for stat in stats}

    def await_threads(self, number: int) -> None:
        """Wait until it has made so many threads, the first one counted."""
        until(lambda: int(self.status("Threads")) >= number, f"{self.name} has {number} threads")

    def start(self) -> None:
        """Let it go."""
        self.here("printf g >in")

    def await_truth(self) -> None:
        """Wait until it has said the truth, of one that goes on afterwards."""
        self.here("until [ $(wc -l <out) = 2 ] || [ -e status ]; do sleep 0.1; done; [ ! -e status ]")

    def truth(self) -> dict[str, int]:
        """Wait for its end and return what it says of itself."""
        assert self.end() == 0, self.here("cat err")
        found = json.loads(self.here("sed -n 2p out"))
        assert isinstance(found, dict)
        return found

    def run(self) -> dict[str, int]:
        """Let it go and return its truth."""
        self.start()
        return self.truth()


class GuestRecorder(Process):
    """A recorder that has attached by the time it is constructed."""

    def __init__(
        self,
        guest: Guest,
        pids: Sequence[int],
        name: str,
        *,
        host: bool = False,
        only: bool = False,
        stacks: bool = False,
        duration_ns: int = 0,
        slo_ns: int = 0,
        interval_ms: int = 0,
        patience_ms: int = 0,
        engine: str = "",
    ) -> None:
        self.name = name
        command: list[Any] = ["/run/bin/perfdiag-recorder", "--duration", duration_ns / 1e9]
        command += [word for pid in pids for word in ("--pid", pid)]
        command += ["--host"] * host + ["--only"] * only + ["--stacks"] * stacks
        command += ["--slo", slo_ns] if slo_ns else []
        command += ["--interval", interval_ms] if interval_ms else []
        command += ["--patience", patience_ms] if patience_ms else []
        command += ["--engine", engine, "--scripts", "/lab"] if engine else []
        super().__init__(guest, command, "", "grep -qs attached, err")

    def resident_bytes(self) -> int:
        """Return VmRSS of the recorder now."""
        return int(self.here("sed -n 's/^VmRSS:[[:space:]]*\\([0-9]*\\) kB/\\1/p' /proc/$(cat pid)/status")) * 1024

    def stop(self) -> Recording:
        """Tell it to stop, and return its recording."""
        self.here("kill -s TERM $(cat pid)")
        return self.wait()

    def wait(self, reason: str | None = None) -> Recording:
        """Wait until it has ended by itself with status 0, and return its recording."""
        status = self.end()
        said = self.here(f"cat err; cp out /lab/{self.name}")
        assert status == 0, said
        recording = Recording(self.guest.folder / self.name)
        assert reason in (None, recording.footer.reason), f"it ended because of {recording.footer.reason!r}: {said}"
        return recording


__all__ = ["GuestRecorder", "GuestWorkload", "Process"]
