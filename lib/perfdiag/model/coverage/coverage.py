"""How far a recording can be believed, and what it does not know."""

from collections.abc import Iterable, Mapping, Sequence

from perfdiag.common.units import plural
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.kernel_log import KERNEL_LOG
from perfdiag.model.coverage import budget, databases, network_namespaces, recorder_gaps, sql_sent, unresolved_symbols
from perfdiag.model.model import Coverage, NotMeasured
from perfdiag.model.stacks import kernel_stacks
from perfdiag.model.thread_accounts import AccountTotal, ThreadLedger, ns_of
from perfdiag.recording import schema
from perfdiag.recording.laws import contradictions
from perfdiag.recording.recording import Recording
from perfdiag.recording.schema.limits import RECORDER

OBSERVED_LONG_NS = 1_000_000_000  # shorter threads cannot be held to 1 %

# Feature of Probe.feature: what it would have told, and where else that can be learnt.
FEATURES: Mapping[str, tuple[str, str]] = {
    "ledger": ("where the threads' time went", "needs BTF and tp_btf: see perfdiag check"),
    "idle_state": ("the idle state that wake-ups had to leave", "in a guest, run perfdiag on its host"),
    "clock": ("the clock that CPUs were told to run at", "by hand: cpupower frequency-info; turbostat"),
    "clock_counters": ("the clock the CPUs had while the target ran", "by hand: turbostat --show Busy%,Bzy_MHz"),
    "irq": ("CPU time taken by interrupts", "a kernel with the irq tracepoints; by hand: mpstat -I SUM 1"),
    "block": ("queue and service time of disks", "a kernel with block tracepoints; by hand: iostat -x 1"),
    "reclaim": ("time in direct reclaim", "a kernel with vmscan tracepoints; by hand: /proc/pressure/memory"),
    "compaction": ("time in compaction", "a kernel with its tracepoints; by hand: compact_stall in /proc/vmstat"),
    "compaction_order": ("how large a piece compaction is for", "a kernel with its tracepoints"),
    "disk_users": ("who uses which disk", "a kernel with block tracepoints; by hand: iotop -obP"),
    "dirty_throttle": ("pauses for dirty pages", "a kernel with its tracepoints; by hand: Dirty in /proc/meminfo"),
    "fault_file": ("the files that page faults read", "Linux 6.11 or later; by hand: perf trace -F maj -p PID"),
    "page_cache": ("which files had to be read", "a kernel with its tracepoints; by hand: read_bytes in /proc/PID/io"),
    "stacks": ("functions behind CPU time and waits", "needs CAP_SYSLOG to read /proc/kallsyms: see perfdiag check"),
    "operations": (
        "time per operation, refused descriptors",
        "perfdiag latency --slo 250ms; by hand: strace -c -w -p PID",
    ),
    "failed_calls": ("which system calls fail before threads sleep", "by hand: strace -f -Z -p PID"),
    "group": ("processes that join the control group", "a kernel with the cgroup tracepoints; or --pid for them"),
    "peers": ("what processes of this host did that the target waited for", "run perfdiag latency for them, too"),
    "chains": ("for what threads waited that waited for others", "see perfdiag check"),
    "host": ("threads from their first moment on a CPU", "Linux 6.4 or later"),
    "requests": ("requests served and calls made, and how long they took", "see perfdiag check; a newer kernel"),
    "statements": ("SQL statements of the target's servers", "see perfdiag check; by hand: pg_stat_statements"),
    "packet_drops": (
        "why this host drops packets",
        "Linux 5.17 or later; by hand: dropwatch, or perf trace -e skb:kfree_skb",
    ),
    "tcp": ("retransmissions and windows per connection", "see perfdiag check; by hand: ss -ti"),
    "steal": ("CPU time stolen by the hypervisor", "a kernel with steal time; on its host: perf sched timehist"),
    "throttle": ("time throttled by a CPU quota", "by hand: cpu.stat of its cgroup"),
    "oom": ("OOM kills", "by hand: the kernel log"),
    "nfs": ("NFS calls and flushes: queue, wire and server", "record again while NFS is in use; by hand: nfsiostat 1"),
    "nfsd": ("what this host's own NFS server took", "modprobe nfsd, if this host serves NFS; by hand: nfsstat -s"),
    "vm": (
        "guest time and exits of virtual CPUs",
        "a kernel with KVM and BTF of its modules; by hand: perf kvm stat live",
    ),
    "vm_device": ("the devices that virtual CPUs leave their guests for", "by hand: perf kvm stat live --event=ioport"),
}
# In a guest: what only its host knows, and the command to run there.
_KVM_HOST = (
    "VM exits, scheduling",
    "on that host, at the same time: perfdiag record -o HOST.rec --pid PID_OF_QEMU; then perfdiag report HOST.rec"
    " THIS.rec",
)
_ASK_HOST: Mapping[str, tuple[str, str]] = {
    "kvm": _KVM_HOST,
    "qemu": _KVM_HOST,
    "vmware": (
        "ready time, co-stop, balloon",
        "on its host: esxtop (%RDY, %CSTP, MCTLSZ); here: vmware-toolbox-cmd stat",
    ),
    "xen": ("its domain's scheduling and balloon", "on its host: xentop; xl vcpu-list"),
    "hyperv": (
        "its host's scheduling and dynamic memory",
        "on its host: counters of Hyper-V Hypervisor Virtual Processor (CPU Wait Time Per Dispatch)",
    ),
    "nitro": ("the provider's scheduling and credits", "the provider's metrics: CPUCreditBalance, EBS balances"),
    "google": ("the provider's scheduling", "the provider's metrics: scheduler wait of the instance"),
}
HOST_SIDE = "host_side"  # feature: what another recording, made on the host, tells
TIMEOUT = "timeout"  # the error of a fact that the recorder did not wait for any longer
FOR_PEOPLE = "/proc/interrupts"  # recorded for who reads a recording; no rule does, and many CPUs make it long
STUCK = "free who is stuck, then record again; that shows them: grep -l 'disk sleep' /proc/[0-9]*/status"
_NFS = NotMeasured("NFS by operation", "the recorder knew no NFS", "record again; by hand: nfsiostat 1", "nfs")
# Programs that run virtual machines; what only these can miss is not told to others.
EMULATORS = ("qemu", "kvm", "firecracker", "cloud-hyperviso", "crosvm", "lkvm")
_OF_GUESTS = ("vm", "vm_device")
_UNNAMED = NotMeasured("requests by name", "--no-request-names", "without that option names are kept", "request_names")
_JVM = "counters of the Java virtual machine"


def measure(
    recording: Recording,
    threads: Sequence[ThreadLedger],
    accounts: Mapping[str, AccountTotal],
    sampled: Sequence[schema.Stack],
    busy_ns: int,
) -> Coverage:
    """Return how well the books close, what was lost, and how often account and kernel stack agree."""
    wall_ns = sum(thread.wall_ns for thread in threads)
    long = [thread for thread in threads if thread.wall_ns >= OBSERVED_LONG_NS and thread.threads == 1]
    agreement = kernel_stacks.agreement(sampled)
    lost = dict(recording.footer.lost) if recording.footer else {}
    if recording.bad_lines:
        lost["bad_lines"] = recording.bad_lines
    apart_ns = sum(abs(thread.booked_ns - thread.wall_ns) for thread in threads)
    return Coverage(
        closed_error=apart_ns / wall_ns if wall_ns else float(apart_ns > 0),
        worst_thread_error=max((abs(t.booked_ns - t.wall_ns) / t.wall_ns for t in long), default=0.0),
        unexplained_share=ns_of(accounts, "unexplained") / busy_ns if busy_ns else 0.0,
        lost=lost,
        stack_agreement=agreement.share,
        stack_samples=agreement.samples,
        disagreements=agreement.disagreements,
        complete=recording.footer is not None,
        reason=recording.footer.reason if recording.footer else "cut off",
        contradictions=contradictions.find(recording),
    )


def _java(recording: Recording, facts: Facts, comms: set[str]) -> list[NotMeasured]:
    """Return of which virtual machines of Java the counters are not known."""
    by_hand = "by hand: jstat -gcutil PID 1s; -Xlog:gc,safepoint"
    if recording.header.options.no_apps and "java" in comms:
        return [NotMeasured(_JVM, "--no-apps", "without that option they are read", "runtime")]
    unread = {each.unread for each in facts.java_machines.values() if each.unread}
    if not facts.java_machines and "java" in comms:
        unread = {"they are not in the recording"}
    return [NotMeasured(_JVM, why, by_hand, "runtime") for why in sorted(unread)]


def not_measured(recording: Recording, facts: Facts) -> list[NotMeasured]:
    """Return what the recording cannot know, with reason and remedy."""
    missing: dict[str, NotMeasured] = {}
    for probe in recording.header.probes:
        if not probe.attached and probe.feature not in missing and _matters(probe, facts):
            what, fix = FEATURES.get(probe.feature, (probe.feature, "see perfdiag check"))
            missing[probe.feature] = NotMeasured(what, probe.reason or "its probe is not attached", fix, probe.feature)
    comms = {target.comm for target in recording.header.targets}
    others = comms and not any(comm.startswith(EMULATORS) for comm in comms)
    if others or (recording.header.options.host and _without_kvm(recording)):
        missing = {feature: item for feature, item in missing.items() if feature not in _OF_GUESTS}
    found = recorder_gaps.script(
        recording.header, recording.footer, ((key, what) for key, (what, _) in FEATURES.items() if key != "ledger")
    )
    found += missing.values()
    if facts.hypervisor and facts.hypervisor.name in _ASK_HOST:
        what, fix = _ASK_HOST[facts.hypervisor.name]
        found.append(
            NotMeasured(
                f"the host's side ({what})", f"only the host of a {facts.hypervisor.name} guest knows", fix, HOST_SIDE
            )
        )
    if _has_nfs(facts) and not any(probe.feature == "nfs" for probe in recording.header.probes):
        found.append(_NFS)
    found += _java(recording, facts, comms)
    found += databases.not_measured(recording) + sql_sent.not_measured(recording)
    if recording.header.options.no_request_names:
        found.append(_UNNAMED)
    found += recorder_gaps.privileges(recording.header)
    found += network_namespaces.not_measured(facts)
    found += _loaded_late(recording, facts)
    found += _dropped(recording, facts)
    found += _unanswered(recording.facts)
    found += _cut_off(recording.facts)
    found += _nested_groups(facts)
    found += unresolved_symbols.not_measured(recording)
    found += budget.not_measured(recording, FEATURES)
    if recording.problems:
        found.append(
            NotMeasured(
                "the whole recording"
                if recording.footer is None
                else f"{plural(recording.bad_lines, 'line')} of the recording",
                "; ".join(recording.problems[:3]),
                "record again, or copy the recording again",
            )
        )
    return found


def _has_nfs(facts: Facts) -> bool:
    """Whether an NFS was mounted when the window began, or when it ended."""
    return any(mount.is_nfs for mount in facts.mounts) or bool(facts.nfs_mounts)


def _matters(probe: schema.Probe, facts: Facts) -> bool:
    """Whether what a probe would tell may have happened: without its module nothing did, unless that came later."""
    known = "/proc/self/mountinfo" in facts.texts
    if probe.feature not in ("nfs", "nfsd") or not known or not (probe.reason or "").endswith("is not loaded"):
        return True
    return probe.feature == "nfs" and _has_nfs(facts)


def _without_kvm(recording: Recording) -> bool:
    """Whether the programs that follow guests are left out because the kernel has no KVM: then no guest ran.

    In a container there may be no /dev/kvm though the kernel has it: there nothing follows from that.
    """
    left_out = [probe for probe in recording.header.probes if probe.feature == "vm" and not probe.attached]
    asked = [fact for fact in recording.facts if fact.path == "/sys/module/kvm" and fact.phase == "begin"]
    return bool(left_out and asked) and all(fact.text is None and fact.error != TIMEOUT for fact in asked)


def _loaded_late(recording: Recording, facts: Facts) -> list[NotMeasured]:
    """Say that KVM came when the programs that follow it had been left out."""
    late = facts.texts.text("/sys/module/kvm", "begin") is None and facts.texts.text("/sys/module/kvm", "end")
    left_out = not any(probe.attached for probe in recording.header.probes if probe.feature == "vm")
    if not (late and left_out):
        return []
    what, _ = FEATURES["vm"]
    return [NotMeasured(what, "the module kvm was loaded after the recording began", "record again", "vm")]


def _dropped(recording: Recording, facts: Facts) -> list[NotMeasured]:
    """Say that datagrams were lost in full receive buffers, perhaps in the target's: the kernel adds them all up."""
    dropped = facts.network_delta("Udp.RcvbufErrors") or 0
    receives = any(line.direction == "datagram_port" for line in recording.exchanges)
    if facts.udp_drops is not None or not dropped or not receives:
        return []
    what = f"whose {plural(dropped, 'datagram')} were dropped because a receive buffer was full"
    return [
        NotMeasured(what, "the kernel counts them for all sockets", "ss -uampn shows each socket's (the d of skmem)")
    ]


def _unanswered(facts: Iterable[schema.Fact]) -> list[NotMeasured]:
    """Say in one line which host facts the recorder gave up waiting for."""
    paths = list(dict.fromkeys(fact.path for fact in facts if fact.error == TIMEOUT))
    if not paths:
        return []
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return [NotMeasured(f"{paths[0]}{more}", "not read in time: who asks for it hangs", STUCK, "facts")]


def _nested_groups(facts: Facts) -> list[NotMeasured]:
    """Say that control groups in the middle of a deep nest were left out, and with them their limits."""
    near, top = RECORDER["NEAREST_GROUPS"], RECORDER["TOPMOST_GROUPS"]
    if facts.group_depth is None or facts.group_depth < near + top:
        return []
    what = f"limits of control groups in the middle of {facts.group_depth} levels"
    by_hand = "by hand, in each directory from the target's group up: grep . cpu.max memory.max"
    return [NotMeasured(what, f"only the {near} nearest and the {top} topmost are read", by_hand, "facts")]


def _cut_off(facts: Iterable[schema.Fact]) -> list[NotMeasured]:
    """Say in one line which files were longer than a recording keeps of them, and in one that the kernel log was."""
    paths = list(dict.fromkeys(fact.path for fact in facts if fact.truncated))
    others = [path for path in paths if path not in (KERNEL_LOG, FOR_PEOPLE)]
    found = []
    if others:
        more = f" and of {len(others) - 1} more" if len(others) > 1 else ""
        found.append(NotMeasured(f"the end of {others[0]}{more}", "longer than is kept", "read it by hand", "facts"))
    if KERNEL_LOG in paths:
        reason = "more of it means trouble than is kept"
        found.append(NotMeasured("older lines of the kernel log", reason, "by hand: dmesg", "facts"))
    return found
