"""The lines that belong to the whole window: who was recorded and how, what happened, what it cost and lost."""

from __future__ import annotations

from typing import Annotated

import msgspec

from perfdiag.recording.schema.base import Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import (
    CAPABILITIES,
    COUNTERS,
    PROBES,
    RECORDER,
    SCRIPT_ACCOUNTS,
    Asked,
    Because,
    Comm,
    Digest,
    Reason,
    TargetComm,
    Word,
    at_most,
)

OWN_ENGINE = "libbpf"  # perfdiag's own programs: they book each nanosecond to a row, and see how processes end


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What uname(2) and sysconf(3) say of the recorded host."""

    nodename: Word = ""  # here and below: not known to a script that recorded
    release: Word = ""
    machine: Word = ""
    cpus_online: Count | None = None
    page_size_bytes: Count | None = None
    tick_ns: Nanoseconds | None = None


class Objective(msgspec.Struct, frozen=True, kw_only=True):
    """How long requests, operations or SQL statements of one name may take."""

    name: Digest  # as the lines exchange, operation and statement have it
    limit_ns: Nanoseconds
    statement: bool = False  # of a line statement; of all servers, with ";" behind it and without


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the recorder was asked for."""

    duration_ns: Nanoseconds  # 0: until told to stop
    interval_ns: Nanoseconds
    descendants: bool
    stacks: Word  # "sampled" or "all"
    slo_ns: Nanoseconds | None = None  # of what has no limit of its own
    slo_names: Annotated[list[Objective], at_most(RECORDER["LIMITS"])] = []  # limits of single names
    host: bool = False  # all tasks of the host were followed, kernel threads too
    no_request_names: bool = False  # requests are told by port alone
    no_apps: bool = False  # no counters of programs were read
    max_cost_ppm: Count | None = None  # of the target's CPU time, in parts per million; None: no budget
    asked: Asked = ""  # how the target was chosen, as it is typed in a shell: "--port 5432"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One process the recording was started on."""

    pid: Count
    namespace_pid: Count  # the pid inside the innermost pid namespace
    comm: TargetComm = ""  # "": that of its first thread


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One BPF program, attached or not; `feature` is the part of the ledger that is lost without it."""

    name: Word
    hook: Word
    feature: Word
    attached: bool
    reason: Reason | None = None  # why not attached


class Header(Line, tag="header", kw_only=True):
    """First line of every recording."""

    schema: Count
    perfdiag: Word
    engine: Word  # OWN_ENGINE; "bpftrace" or "dtrace": a script, see SCRIPTS
    realtime_ns: Nanoseconds  # wall-clock time of start_ns
    start_ns: Nanoseconds
    host: Host = Host()
    options: Options
    targets: Annotated[list[Target], at_most(RECORDER["MAX_TARGETS"])]
    probes: Annotated[list[Probe], at_most(PROBES)] = []
    lacks: Annotated[list[Word], at_most(CAPABILITIES)] = []  # that would have told more: "CAP_SYSLOG"
    accounts: Annotated[list[Word], at_most(SCRIPT_ACCOUNTS)] = []  # that a script can tell; empty: all
    because: Because = ""  # why a script records that nobody asked for


class Event(Line, tag="event"):
    """Something rare and worth a line: a process replaced by exec or ended by a signal, an OOM kill, descriptors
    refused."""

    at_ns: Nanoseconds
    name: Word
    pid: Count
    tid: Count
    text: Word
    by_pid: Count = 0  # of an OOM kill: the process that asked for memory; 0: not said
    by_comm: Comm = ""  # its name; of a signal that of the process which it ended
    signal: Count = 0  # that ended the process
    core_dumped: bool = False


class GivenUp(Line, tag="given_up"):
    """A step that the recorder took in the window to keep its programs within the budget (--max-cost)."""

    at_ns: Nanoseconds
    feature: Word  # as in Probe
    one_of: Count  # of so many one is followed from then on; 0: none
    cost_ns: Nanoseconds  # what the programs took in the two intervals before the step
    of_ns: Nanoseconds  # CPU time of the target in these, at least a tenth of a CPU's: what the budget is a part of
    cost_after_ns: Nanoseconds | None = None  # the same of the two intervals after it; None: there were none
    of_after_ns: Nanoseconds | None = None
    per_second: Count | None = None  # requests that were followed, if these were too many, and not their cost


class ProgramCost(msgspec.Struct, frozen=True, kw_only=True):
    """Calibrated cost of one BPF program over the window."""

    name: Word
    runs: Count | None = None  # None, here and below: the kernel did not tell
    ns: Nanoseconds | None = None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What the recording itself took."""

    cpu_ns: Nanoseconds | None = None  # of the recorder's own threads, since the window began
    resident_bytes: Count | None = None
    kept_ns: Nanoseconds | None = None  # what the programs took since the last step; None: no budget, or not measured
    kept_of_ns: Nanoseconds | None = None  # of so much, as of_ns of GivenUp
    programs: Annotated[list[ProgramCost], at_most(PROBES)]  # empty when none was measured


class Footer(Line, tag="footer"):
    """Last line; a recording without it was cut off and says so in its report."""

    at_ns: Nanoseconds
    reason: Word  # "duration", "signal", "command ended", "targets gone", "output closed"
    threads_seen: Count
    # counter name -> records lost or look-ups failed; every known counter stands here
    lost: Annotated[dict[Word, Count], at_most(COUNTERS)]
    cost: Cost
    threads_left_out: Count | None = None  # of a host: they never ran, so they have no books
    # Of a script that the recorder ran: threads of which it saw nothing. Those slept all along, as /proc tells, and the
    # recorder has added their lines; what the others did is not known. None: nobody looked.
    threads_asleep: Count | None = None
    threads_not_seen: Count | None = None
    # The host made so many system calls that their results were read until then only; None: all of the window, or never
    calls_watched_until_ns: Nanoseconds | None = None
    lines: Count | None = None  # before this one; None: an older recorder, or a script


# Counters of the footer that cost names or samples, or time that another clock then told; all others may have taken
# time of the books with them.
NO_TIME_LOST = frozenset(
    {
        "because_full",
        "calls_skipped",
        "connections_full",
        "databases_full",
        "detail_full",
        "details",
        "devices_full",
        "dirtiers_full",
        "disk_users_full",
        "events",
        "exchanges_full",
        "failed_calls_full",
        "files_full",
        "named_calls_full",
        "answers_full",
        "names_full",
        "operations_full",
        "peers_full",
        "rpc_full",
        "stacks",
        "stacks_dropped",
        "stacks_failed",
        "statements_full",
        "statements_torn",
        "statements_unread",
        "switches_missing",
        "vm_exits_full",
        "wakeups_missing",
    }
)
