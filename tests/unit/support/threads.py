"""The threads of a recording in the making, and the time they spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from perfdiag.recording import schema

from unit.support.amounts import Sum, Time, account_name, bucket_of, nanoseconds, spread, sum_of
from unit.support.books import account_sums, close

START_NS = 1_000_000_000_000


class Threads:
    """The part of a builder that knows threads; every method returns the builder."""

    def __init__(self, window_ns: int, pid: int) -> None:
        self.window_ns = window_ns
        self.pid = pid
        self._threads: list[dict[str, Any]] = []
        self._details: list[schema.Detail] = []
        self._exited: list[schema.Exited] = []

    @property
    def _end_ns(self) -> int:
        return START_NS + self.window_ns

    def thread(
        self,
        comm: str = "app",
        *,
        pid: int | None = None,
        tid: int | None = None,
        namespace_tid: int | None = None,
        wall: Time | None = None,
        user: Time | None = None,
        kernel: Time | None = None,
        rest: str = "wait.events",
        exited: bool = False,
        open_books: bool = False,
        open: tuple[str, str, Time] | None = None,
        requests: tuple[int | None, int] = (0, 0),
        **accounts: Sum,
    ) -> Self:
        """Add a thread.  `wall` defaults to the window; `user` and `kernel` are its ticks (default: cpu.* as given,
        cpu_user and cpu_kernel together being written as the recorder does).  `open`: (account, object, since when
        before the end).  `requests`: as in reads().
        """
        pid = self.pid if pid is None else pid
        taken = {thread["tid"] for thread in self._threads}
        if tid is None:
            tid = pid if pid not in taken else max(taken) + 1
        sums = {account_name(key): sum_of(value) for key, value in accounts.items()}
        user_ns, kernel_ns = (sums.get(name, (0, 0, 0))[0] for name in ("cpu.user", "cpu.kernel"))
        on_cpu = [sums.pop(name) for name in ("cpu.user", "cpu.kernel") if name in sums]
        if on_cpu:
            ns, count = sum(s[0] for s in on_cpu), max(s[1] for s in on_cpu)
            sums["cpu.user"] = (ns, count, max(*(s[2] for s in on_cpu), -(-ns // max(1, count))))
        self._threads.append(
            {
                "pid": pid,
                "tid": tid,
                "namespace_tid": tid if namespace_tid is None else namespace_tid,
                "comm": comm,
                "wall_ns": self.window_ns if wall is None else nanoseconds(wall),
                "sums": sums,
                "rest": account_name(rest),
                "user_ns": user_ns if user is None else nanoseconds(user),
                "kernel_ns": kernel_ns if kernel is None else nanoseconds(kernel),
                "state": "exited" if exited else "alive",
                "open_books": open_books,
                "open": open,
                "futexes": [],
                "requests_read": requests[0],
                "requests_turned": requests[1],
                "helped": 0,
            }
        )
        return self

    def reads(self, requests: int | None, turned: int = 0) -> Self:
        """Let the last thread read so many requests; for so many of these it turned from another connection.  None: as
        in recordings made before that was recorded."""
        self._threads[-1] |= {"requests_read": requests, "requests_turned": turned}
        return self

    def helps(self, times: int) -> Self:
        """Let the last thread wake a loop of its process that serves requests so often."""
        self._threads[-1]["helped"] = times
        return self

    def row(
        self,
        account: str,
        object: str,
        time: Time | None = None,
        *,
        count: int | None = None,
        maximum: Time | None = None,
        durations: Mapping[str, int] | None = None,
        waker_tid: int = 0,
        waker_count: int = 0,
        waker_comm: str = "",
        waker_pid: int = 0,
    ) -> Self:
        """Add time of the last thread with an object: a total with count and longest, or `durations` {"4 ms": 12}."""
        thread, account = self._threads[-1], account_name(account)
        buckets: dict[int, int] = {}
        if durations is not None:
            each = [(nanoseconds(text), number) for text, number in durations.items()]
            sum_ns = sum(ns * number for ns, number in each) if time is None else nanoseconds(time)
            count, max_ns = sum(number for _, number in each), max(ns for ns, _ in each)
            for ns, number in each:
                buckets[bucket_of(ns)] = buckets.get(bucket_of(ns), 0) + number
        else:
            if time is None:
                raise ValueError("a row needs a time or durations")
            sum_ns, count, max_ns = sum_of((time, 1 if count is None else count))
            max_ns = max_ns if maximum is None else nanoseconds(maximum)
            buckets = dict(spread(sum_ns, count, max_ns))
        had = thread["sums"].get(account, (0, 0, 0))
        thread["sums"][account] = (had[0] + sum_ns, had[1] + count, max(had[2], max_ns))
        if account == "wait.parked" and object:
            thread["futexes"].append(schema.FutexSum(object, sum_ns, count, waker_tid))
        self._details.append(
            schema.Detail(
                pid=thread["pid"],
                account=account,
                object=object,
                sum_ns=sum_ns,
                count=count,
                max_ns=max_ns,
                buckets=sorted(buckets.items()),
                waker_tid=waker_tid,
                waker_count=waker_count,
                waker_comm=waker_comm,
                waker_pid=waker_pid,
            )
        )
        return self

    def exited(
        self,
        comm: str = "child",
        *,
        threads: int = 1,
        processes: int = 1,
        wall: Time = "100 ms",
        rest: str = "cpu.user",
        **accounts: Sum,
    ) -> Self:
        """Add threads that ended in the window, folded by the comm of their process."""
        sums = {account_name(key): sum_of(value) for key, value in accounts.items()}
        close(sums, nanoseconds(wall), account_name(rest), open_books=False)
        self._exited.append(
            schema.Exited(
                at_ns=self._end_ns,
                comm=comm,
                threads=threads,
                processes=processes,
                wall_ns=nanoseconds(wall),
                user_ns=0,
                kernel_ns=0,
                accounts=account_sums(sums),
            )
        )
        return self

    def _thread_line(self, serial: int, thread: dict[str, Any]) -> schema.Thread:
        sums = dict(thread["sums"])
        close(sums, thread["wall_ns"], thread["rest"], open_books=thread["open_books"])
        waiting = None
        if thread["open"]:
            account, object, since = thread["open"]
            waiting = schema.OpenWait(account=account, object=object, since_ns=self._end_ns - nanoseconds(since))
        return schema.Thread(
            at_ns=self._end_ns,
            serial=serial,
            start_ns=self._end_ns - thread["wall_ns"],
            open=waiting,
            accounts=account_sums(sums),
            **{
                key: thread[key]
                for key in (
                    "pid",
                    "tid",
                    "namespace_tid",
                    "comm",
                    "state",
                    "wall_ns",
                    "user_ns",
                    "kernel_ns",
                    "futexes",
                    "requests_read",
                    "requests_turned",
                    "helped",
                )
            },
        )


__all__ = ["START_NS", "Threads"]
