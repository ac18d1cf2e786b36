"""A recording at every limit of the recorder at once: all tables full, all lists as long as they get.

`share` is the part of each list that is filled: of a distribution that many buckets, of a thread that many accounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import msgspec
from perfdiag.recording import accounts, schema
from perfdiag.recording.schema.requests import LATENCY_BUCKETS

from unit.support import Builder
from unit.support.threads import START_NS

S = 1_000_000_000
WINDOW_NS = 3600 * S
END_NS = START_NS + WINDOW_NS
ACCOUNTS = [account.name for account in accounts.ACCOUNTS]
BUSY = [name for name in ACCOUNTS if accounts.kind_of(name) is accounts.Kind.LATENCY]


class Full:
    """Yields the lines, as the recorder would write them."""

    def __init__(self, share: float = 1.0, name_bytes: int = 60) -> None:
        self.share = share
        self.name_bytes = name_bytes

    def part(self, whole: int) -> int:
        return max(1, round(whole * self.share))

    def sums(self, factor: int = 1) -> list[list[Any]]:
        return [[name, 12_345_678 * factor, 1234 * factor, 7_654_321] for name in ACCOUNTS[: self.part(len(ACCOUNTS))]]

    def buckets(self) -> list[list[int]]:
        return [[index, 1000 + index] for index in range(self.part(32))]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield all lines but the header and the footer."""
        yield from self.threads()
        yield from self.details()
        yield from self.stacks()
        yield from self.exchanges()
        yield from self.storage()
        yield from self.statements()
        yield from self.sql_calls()
        yield from self.named_calls()
        yield from self.answers()
        yield from self.peers()
        yield from self.failed_calls()
        yield from self.given_up()
        yield from self.others()
        yield from self.facts()

    def threads(self) -> Iterator[dict[str, Any]]:
        for serial in range(1, 11_001):
            sums = self.sums()
            wall = sum(ns for _, ns, _, _ in sums)
            futexes = [[f"futex:{0x7f0012345678 + 64 * (serial % 97 + 100 * each):#x}", S // 1000, 17, 4000 + each]
                       for each in range(self.part(14))]  # fmt: skip
            yield {
                "type": "thread", "at_ns": END_NS, "serial": serial, "pid": 100 + serial % 64, "tid": 1000 + serial,
                "namespace_tid": 1000 + serial, "comm": f"worker-{serial}", "state": "alive", "start_ns": START_NS,
                "wall_ns": wall, "user_ns": S // 10, "kernel_ns": S // 20, "accounts": sums,
                "open": {"account": "wait.parked", "object": futexes[0][0], "since_ns": END_NS - S}, "futexes": futexes,
                "requests_read": 1_234_567, "requests_turned": 1_234_567, "helped": 1_234_567,
            }  # fmt: skip
        for number in range(1000):
            sums = self.sums()
            yield {
                "type": "exited", "at_ns": END_NS, "comm": f"child-{number}", "threads": 3, "processes": 1,
                "wall_ns": sum(ns for _, ns, _, _ in sums), "user_ns": 0, "kernel_ns": 0, "accounts": sums,
            }  # fmt: skip
        for number in range(3600):
            yield {"type": "interval", "at_ns": START_NS + number * S, "threads": 10_000, "wall_ns": number * S,
                   "accounts": self.sums()}  # fmt: skip

    def details(self) -> Iterator[dict[str, Any]]:
        objects = ("futex:{:#x}", "device:8:{}", "peer:10.0.0.1:{}", "task:{}:neighbour", "file:8:1:{}:some-file.txt")
        for number in range(65_536):
            sum_ns = 1_000_000 + number
            yield {
                "type": "detail", "pid": 100 + number % 64, "account": BUSY[number % len(BUSY)],
                "object": objects[number % 5].format(number), "sum_ns": sum_ns, "count": 1234, "max_ns": sum_ns // 2,
                "buckets": self.buckets(), "waker_tid": 1000 + number % 10_000, "waker_count": 30,
                "waker_comm": f"waker-{number % 1000}",
            }  # fmt: skip
        for number in range(8192):
            yield {
                "type": "because", "pid": 100 + number % 64, "account": "wait.parked",
                "object": f"futex:{0x7f0012345678 + 64 * number:#x}", "steps": ["lock.futex"] * 3, "cut": True,
                "root": BUSY[number % len(BUSY)], "root_object": f"peer:10.0.0.1:{number}",
                "root_tid": 1000 + number, "root_tid_ns": 5000, "sum_ns": 10_000 + number, "count": 7, "inside": True,
            }  # fmt: skip

    def stacks(self) -> Iterator[dict[str, Any]]:
        def name(number: int) -> str:
            return f"function_{number}_".ljust(self.name_bytes, "x") + " (library.so.6)"

        for number in range(4096 - 1024):  # those of peers take their room
            wait = number % 2
            yield {
                "type": "stack", "kind": "wait" if wait else "cpu", "pid": 100 + number % 64, "tid": 1000 + number,
                "account": "wait.parked" if wait else "cpu.user",
                "object": f"futex:{0x7f0012345678 + 64 * number:#x}" if wait else "", "count": 5, "weight_ns": 1000,
                "long_turn_count": 5,
                "kernel": [f"kernel_function_{number % 9}_{each}" for each in range(self.part(48))],
                "user": [name(number * 7 + each * 31) for each in range(self.part(48))],
                "scan": [name(number * 5 + each * 37) for each in range(self.part(48))],
            }  # fmt: skip

    def exchanges(self) -> Iterator[dict[str, Any]]:
        texts = {"object", "name", "direction", "accounts", "over_slo_accounts", "most", "levels"}
        numbers = {field.name for field in msgspec.structs.fields(schema.Exchange)} - texts
        parts = [[name, 12_345_678] for name in ACCOUNTS[: self.part(len(ACCOUNTS))]]
        yield {"type": "requests_inside", "most": 127, "unseen": 3, "accompanied_ns": S, "alone_ns": S,
               "unasked": S, "unasked_bytes": S, "unasked_connections": 4096,
               "levels": [[level, S] for level in (*range(1, 32), *range(32, 64, 2), *range(64, 128, 4))]}  # fmt: skip
        fine = [[index, 1000 + index] for index in range(self.part(LATENCY_BUCKETS))]
        for number in range(4096):
            key = {"object": f"port:{8000 + number // 384}", "direction": "accepted"}
            key["name"] = f"GET /some/path/{number % 384}/of/a/request/that/is/long/##"[:55]
            sums = dict.fromkeys(numbers, 12_345_678)
            yield {"type": "exchange", **key, **sums, "accounts": parts, "over_slo_accounts": parts}
            for measure in ("whole", "first_byte", "read_delay"):
                yield {"type": "latency", **key, "measure": measure, "count": sum(n for _, n in fine),
                       "sum_ns": 12_345_678, "max_ns": 2_345_678, "buckets": fine}  # fmt: skip
            yield {"type": "request_parked", "pid": 100 + number % 64, "over_slo": False, "count": 5,
                   "object": f"futex:{0x7f0012345678 + 64 * number:#x}", "sum_ns": 5_000_000}  # fmt: skip
            if number < 4096:
                yield {"type": "request_left", "object": f"port:{number // 4}", "earlier": number % 2 > 0,
                       "queued": number % 4 > 1, "count": 5,
                       "sum_ns": 50_000_000, "oldest_ns": 10_000_000,
                       "parts": [["wait.parked", "disk.flush", True, 1_000_000]] * 12}  # fmt: skip
            if number < 2048:
                yield {"type": "silent", "object": f"port:{number}", "direction": "accepted", "pid": 100 + number % 64,
                       "count": 5, "never": 2, "oldest_ns": 3600 * S}  # fmt: skip
            for account in ("disk.flush", "wait.parked"):
                yield {"type": "request_unread", "object": key["object"], "name": key["name"], "over_slo": False,
                       "account": account, "root": "disk.flush", "sum_ns": 5_000_000, "served": True}  # fmt: skip

    def storage(self) -> Iterator[dict[str, Any]]:
        for number in range(1024):
            yield {
                "type": "device", "device": f"8:{number // 5}", "operation": ("read", "write", "flush", "discard",
                "other")[number % 5], "count": 12345, "errors": 0, "bytes": 1 << 30, "queue_ns": S, "service_ns": S,
                "max_ns": S // 100, "queue_buckets": self.buckets(), "service_buckets": self.buckets(),
            }  # fmt: skip
            yield {"type": "nfs_flush", "object": f"mount:0:{number}", "cause": "fsync", "count": 100, "sum_ns": 5000,
                   "max_ns": 500, "buckets": self.buckets(), "commits": 1, "writes": 2, "stable_writes": 1,
                   "bytes": 1 << 20}  # fmt: skip
        for number in range(4096):
            yield {"type": "file_flush", "object": f"file:8:1:{number}:{'n' * 43}", "waits": 5, "sum_ns": 5000}
            yield {"type": "file_read", "object": f"file:8:1:{number}:{'n' * 43}", "bytes": 1 << 20, "waits": 5,
                   "sum_ns": 5000, "size_bytes": 1 << 20}  # fmt: skip
            yield {
                "type": "socket", "object": f"peer:10.0.0.1:{number}", "local": f"10.0.0.2:{number}", "rtt_us": 100,
                "minimum_rtt_us": 90, "congestion_window": 10, "in_flight": 1, "send_window_bytes": 65535,
                "receive_window_bytes": 65535, "retransmits": 1, "retransmits_seen": 1, "waits_congestion": 1,
                "waits_receiver": 1, "waits_buffer": 1, "waits_unasked": 1,
            }  # fmt: skip
            if number < 2048:
                yield {"type": "packet_drop", "object": f"peer:10.0.0.1:{number}", "kind": "firewall", "count": 9}
            yield {
                "type": "rpc", "object": f"mount:0:{number // 64}", "program": "nfs", "version": 4,
                "procedure": f"PROCEDURE{number % 64}", "count": 1000, "errors": 1, "retransmits": 1, "bytes_sent": 9,
                "bytes_received": 9, "queue_ns": S, "wire_ns": S, "reply_ns": S, "max_ns": S // 10,
                "queue_buckets": self.buckets(), "wire_buckets": self.buckets(),
            }  # fmt: skip
            yield {
                "type": "vm_exit", "pid": 100 + number % 64, "vendor": "vmx", "code": number % 70, "user": True,
                "device": f"mmio:{0xfee00000 + number * 4096:#x}", "count": 1000, "sum_ns": 5000, "max_ns": 500,
                "running_ns": 2500, "halted_ns": 0, "polled_ns": 0, "buckets": self.buckets(),
            }  # fmt: skip
        for number in range(2048):
            yield {"type": "dirtier", "device": "8:0", "pid": number, "tid": number, "comm": f"writer-{number}",
                   "rounds": 10, "bytes": 1 << 20}  # fmt: skip
        for number in range(1024):
            yield {"type": "disk_user", "device": "8:0", "pid": number, "comm": f"user-{number}",
                   "kernel_thread": False, "count": 10, "read_bytes": 1 << 20, "written_bytes": 1 << 20}  # fmt: skip
        for number in range(512):
            yield {"type": "nfs_server", "program": "nfs", "version": 4, "procedure": f"OPERATION{number}",
                   "count": 1000, "sum_ns": 5000, "max_ns": 500, "buckets": self.buckets()}  # fmt: skip
            yield {"type": "writeback", "device": f"8:{number}", "cgroup": number, "rounds": 9, "dirty_bytes": 1 << 20,
                   "written_bytes": 1 << 20, "span_ns": S}  # fmt: skip

    def statements(self) -> Iterator[dict[str, Any]]:
        fine = [[index, 1000 + index] for index in range(self.part(LATENCY_BUCKETS))]
        parts = [[name, 12_345_678] for name in ACCOUNTS[: self.part(len(ACCOUNTS))]]
        for number in range(256):
            yield {
                "type": "statement", "server": "postgresql", "kind": "run", "cut": True, "sum_ns": 12_345_678,
                "name": f"SELECT column_{number} FROM ".ljust(240, "x"), "count": sum(n for _, n in fine),
                "accounts": parts, "over_slo": 10, "over_slo_ns": 1_234_567, "over_slo_accounts": parts,
                "max_ns": 2_345_678, "max_begun_ns": START_NS, "max_pid": 100, "max_tid": 100,
                "max_accounts": parts, "buckets": fine,
            }  # fmt: skip

    def sql_calls(self) -> Iterator[dict[str, Any]]:
        fine = [[index, 1000 + index] for index in range(self.part(LATENCY_BUCKETS))]
        for number in range(512):
            yield {
                "type": "sql_call", "server": "mariadb", "kind": "run", "cut": True, "sum_ns": 12_345_678,
                "name": f"SELECT column_{number % 256} FROM ".ljust(240, "x"), "count": sum(n for _, n in fine),
                "object": f"peer:10.0.{number // 256}.1:3306", "request": f"GET /{number:050}", "owned": 1000,
                "repeated": 900, "max_ns": 2_345_678, "buckets": fine,
            }  # fmt: skip

    def peers(self) -> Iterator[dict[str, Any]]:
        for number in range(1088):
            yield {
                "type": "peer_wait", "pid": 100 + number % 64, "account": "net.receive",
                "object": f"peer:10.0.{number // 256}.{number % 256}:80", "peer_pid": 70_000 + number % 32,
                "peer_comm": "peer", "root": ACCOUNTS[number % len(ACCOUNTS)], "root_object": f"device:8:{number}",
                "root_pid": 70_000 + number % 32, "root_comm": "peer", "sum_ns": 1000,
            }  # fmt: skip
        for number, stack in zip(range(1024), self.stacks(), strict=False):
            yield stack | {"type": "peer_stack", "pid": 70_000 + number % 32}

    def failed_calls(self) -> Iterator[dict[str, Any]]:
        for number in range(512):
            yield {
                "type": "failed_call", "comm": f"job-{number}", "pid": 100 + number, "call": "syscall:linkat",
                "error": 1 + number % 130, "sleeps": 1000, "sum_ns": 12_345_678, "max_ns": 2_345_678,
                "file": f"{number:044}",
            }  # fmt: skip

    def given_up(self) -> Iterator[dict[str, Any]]:
        for number in range(32):
            yield {
                "type": "given_up", "at_ns": 10**15, "feature": "requests", "one_of": 2**number, "cost_ns": 12_345_678,
                "of_ns": 123_456_789, "cost_after_ns": 12_345_678, "of_after_ns": 123_456_789,
            }  # fmt: skip

    def named_calls(self) -> Iterator[dict[str, Any]]:
        fine = [[index, 1000 + index] for index in range(self.part(LATENCY_BUCKETS))]
        for number in range(512):
            yield {
                "type": "named_call", "object": f"peer:10.0.{number // 256}.1:80", "name": f"GET /{number % 256:050}",
                "request": f"GET /{number:050}", "count": sum(n for _, n in fine), "sum_ns": 12_345_678,
                "max_ns": 2_345_678, "owned": 1000, "buckets": fine,
            }  # fmt: skip

    def answers(self) -> Iterator[dict[str, Any]]:
        for number in range(512):
            yield {
                "type": "answer", "object": f"peer:10.0.{number // 256}.1:80", "name": f"GET /{number % 256:050}",
                "direction": "connected", "status": str(400 + number % 200), "count": 1000, "sum_ns": 12_345_678,
            }  # fmt: skip

    def others(self) -> Iterator[dict[str, Any]]:
        for number in range(8):
            yield {"type": "application", "pid": 100 + number, "kind": "postgresql", "version": f"15.{number}",
                   "processes": 2048, "reads": "my_wait_event_info", "lack": None}  # fmt: skip
        for number in range(16_384):
            yield {
                "type": "database_wait", "pid": 100 + number // 8, "account": "disk.flush", "sum_ns": 5000,
                "object": f"postgres:10:{number % 8}", "count": 1000, "max_ns": 500, "buckets": self.buckets(),
            }  # fmt: skip
        for number in range(512):
            yield {
                "type": "operation", "name": f"syscall:{number}", "count": 1000, "errors": 1, "sum_ns": 5 * S,
                "max_ns": S // 10, "buckets": self.buckets(), "over_slo": 10, "accounts": self.sums(),
                "over_slo_accounts": self.sums(),
            }  # fmt: skip
        for number in range(8192):
            yield {
                "type": "cpu", "cpu": number, "ran_ns": S, "clock_ns": S, "clock_cycles": 2 * S, "clock_changes": 100,
                "idle": [[state, 12345, S] for state in range(self.part(10))], "clock_ticks": 250,
                "delivered_cycles": 2 * S, "rated_cycles": 2 * S,
            }  # fmt: skip
        for number in range(32_768):
            yield {"type": "event", "at_ns": START_NS + number * 1_000_000, "name": "exec", "pid": 5000 + number,
                   "tid": 5000 + number, "text": f"program-{number % 100}"}  # fmt: skip

    def facts(self) -> Iterator[dict[str, Any]]:
        def fact(phase: str, at_ns: int, path: str, text: str) -> dict[str, Any]:
            return {"type": "fact", "phase": phase, "at_ns": at_ns, "path": path, "text": text}

        stat = "cpu  1 2 3 4 5 6 7 8 9 0\n" + "".join(f"cpu{cpu} 1 2 3 4 5 6 7 8 9 0\n" for cpu in range(512))
        for second in range(5, 3600, 5):
            at_ns = START_NS + second * S
            yield fact("series", at_ns, "/proc/stat", stat)
            for pid in range(100, 164):
                yield fact("series", at_ns, f"/proc/{pid}/fd", f"{pid + second} inode 123456")
            yield fact("series", at_ns, "/proc/100/net/snmp", "Tcp: InSegs\nTcp: 1234\n" * 20)
            for policy in range(32):
                path = f"/sys/devices/system/cpu/cpufreq/policy{policy}/scaling_cur_freq"
                yield fact("series", at_ns, path, str(1_000_000 + second))
        mounts = "".join(f"{n} 1 8:{n} / /mnt/{n} rw,relatime - ext4 /dev/sd{n} rw\n" for n in range(700))
        for phase, at_ns in (("begin", START_NS), ("end", END_NS)):
            for pid in range(100, 164):
                for name in ("stat", "status", "schedstat", "io", "limits", "oom_score_adj", "wchan", "autogroup"):
                    yield fact(phase, at_ns, f"/proc/{pid}/{name}", f"Name:\t{name}\nVmRSS:\t1 kB\n" * 40)
                yield fact(phase, at_ns, f"/proc/{pid}/cgroup", f"0::/some.slice/unit-{pid}.service\n")
                yield fact(phase, at_ns, f"/proc/{pid}/mountinfo", mounts)
                group = f"/sys/fs/cgroup/some.slice/unit-{pid}.service"
                for name in ("cpu.max", "cpu.stat", "memory.max", "memory.current", "memory.events", "memory.stat",
                             "io.max", "io.stat", "pids.max"):  # fmt: skip
                    yield fact(phase, at_ns, f"{group}/{name}", "anon 1234567890\nfile 1234567890\n" * 60)
            text = "26 1 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
            yield fact(phase, at_ns, "/proc/self/mountinfo", text)
            yield fact(phase, at_ns, "/dev/kmsg", "".join(
                f"3,{n},{n}000,-;I/O error, dev sda, sector {n}\n" for n in range(1400)))  # fmt: skip

    def write(self, file: IO[bytes]) -> None:
        """Write the recording as it would stand in a file."""
        header, *_, footer = Builder(window=WINDOW_NS).thread("app").bytes().splitlines(keepends=True)
        file.write(header)
        file.writelines(msgspec.json.encode(line) + b"\n" for line in self.lines())
        file.write(footer)


__all__ = ["Full"]
