"""What rules ask about the target itself: its CPUs, its control groups, the command that measures it again."""

import re
import shlex
from pathlib import PurePosixPath

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.config import DEFAULT_MAX_COST_PPM
from perfdiag.common.text import LONGEST_TYPED, named, printable
from perfdiag.common.units import short
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import attempt, plain
from perfdiag.facts.cpu_sets import Cpus, cpu_list
from perfdiag.facts.host_facts import CpuGroup
from perfdiag.facts.process import IDLE_POLICY
from perfdiag.model.coverage.budget import budget_text
from perfdiag.model.ledger.thread_totals import UNLISTED
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording import schema

CPU = ("cpu.user", "cpu.kernel")
RUNNING = (*CPU, "vm.guest", "vm.exit")  # of virtual CPUs, too
LACKING_CPU = ("runq.busy", "runq.throttled", "cpu.stolen")  # the less, the less it computes


def is_most_but_for_lack(part: float, lacking: float) -> bool:
    """Return whether computing is a good part of some time, and most of what is left of that without the part in which
    the target lacked a CPU: there is the less of that the less it computes."""
    return part >= max(cpu_policy.bound_in_one_share, cpu_policy.bound_share * (1 - lacking))


def subject(model: Model, *, begin: bool = False) -> str:
    """Return what sentences are about, "the target" or "this host"; with a capital letter where it begins one."""
    name = "the target" if model.host is None else "this host"
    return name.capitalize() if begin else name


def who_computes(model: Model, *, begin: bool = True) -> str:
    """Return the command that has most of the CPU time: of a script that starts programs, the one that works; "the
    target" where several do, with a capital letter where it begins a sentence."""
    if model.host is not None:
        return subject(model, begin=begin)
    if sum(thread.processes for thread in model.threads) <= 1 and len(model.header.targets) == 1:
        return plain(named(model.header.targets[0].comm, model.header.targets[0].pid))
    by_name = sums_by_key((thread.comm, thread.ns(*CPU)) for thread in model.threads)
    name, ns = by_name.most_common(1)[0] if by_name else ("", 0)
    most = ns >= cpu_policy.one_command_share * sum(by_name.values()) > 0
    return plain(name) if most and name != UNLISTED else subject(model, begin=begin)


def again(model: Model, *more: str) -> str:
    """Return the command that measures the same target once more, fit for a shell; with `more` options, if any."""
    options = model.header.options
    unnamed = ["--no-request-names"] * options.no_request_names + ["--no-apps"] * options.no_apps
    if model.host:
        return " ".join(["perfdiag host", *unnamed, *more])
    target = _asked(model)
    given = ["--only"] * (not options.descendants)
    given += unnamed
    given += _budget(options)
    given += [f"--slo {short(options.slo_ns)}"] if options.slo_ns else []
    given += [f"--slo {shlex.quote(f'{printable(each.name)}={short(each.limit_ns)}')}" for each in options.slo_names]
    given += more
    words = [*given, target] if target.startswith("-- ") else [target, *given]  # behind the dashes all is the COMMAND's
    return " ".join(["perfdiag latency", *filter(None, words)])


def _budget(options: schema.Options) -> list[str]:
    if options.max_cost_ppm is None or options.max_cost_ppm == DEFAULT_MAX_COST_PPM:
        return []
    return [f"--max-cost {budget_text(options.max_cost_ppm)}"]


def _asked(model: Model) -> str:
    """Return the options that select the target. A pid that is gone selects nothing: then its name does."""
    targets = model.header.targets
    asked = _quoted(model.header.options.asked)
    names = {target.comm for target in targets}
    if model.coverage.reason == "targets gone" and len(names) == 1 and re.fullmatch(r"(--pid [0-9]+ ?)*", asked):
        name = re.sub(r"([][\\^$.|?*+(){}])", r"\\\1", printable(names.pop()))
        return f"--name {shlex.quote(f'^{name}$')}"
    return asked or " ".join(f"--pid {target.pid}" for target in targets[:4])


def _quoted(typed: str) -> str:
    """Return what stands in a recording as words that a shell takes for nothing else; "" if it is no words."""
    try:
        words = shlex.split(typed)
    except ValueError:
        return ""
    return printable(" ".join(shlex.quote(printable(word)) for word in words), LONGEST_TYPED)


def cpu_ns(thread: ThreadLedger) -> int:
    """Return how long a thread ran, in user space and in the kernel."""
    return thread.ns(*CPU)


def allowed_cpus(model: Model) -> Cpus | None:
    """Return the CPUs that the target's processes may use (of their first threads); None when not recorded."""
    sets = [cpu_list(process.cpus_allowed) for process in model.facts.processes.values()]
    known = [cpus for cpus in sets if cpus]
    return Cpus.together(known) if known else None


def usable_cpus(model: Model) -> int:
    """Return how many CPUs the target can run on."""
    online = model.cpus_online
    allowed = allowed_cpus(model)
    return min(online, len(allowed)) if allowed else online


def cpus_of(model: Model, thread: ThreadLedger) -> Cpus | None:
    """Return the CPUs one thread may use; None when not recorded (folds of threads that ended, children)."""
    process = model.facts.processes.get(thread.pid) if thread.tid else None
    return cpu_list((process.thread_cpus or {}).get(thread.tid, process.cpus_allowed)) if process else None


def idle_share(model: Model) -> float | None:
    """Return the share of the host's CPU time in which a CPU was idle; None when not recorded."""
    times = {name: ns for name, ns in model.facts.cpu_times_ns.items() if not name.startswith("guest")}
    total = sum(times.values())
    return (times.get("idle", 0) + times.get("iowait", 0)) / total if total and "idle" in times else None


def write(value: str, path: str) -> str:
    """Return the command that writes a kernel setting, quoted for a root shell."""
    return f"echo {shlex.quote(value)} > {shlex.quote(path)}"


def setting(path: str, value: str, present: str) -> Remedy:
    """Return the trial that writes `value` to a kernel setting, with `present` as its undo."""
    return attempt(write(value, path), write(present, path), f"{PurePosixPath(path).name} {present}")


def sysctl(name: str, value: float | str, present: float | str, enter: str = "") -> Remedy:
    """Return the trial that gives a kernel setting ("vm.swappiness") a value, with `present` as its undo; `enter` is
    the begin of a command that runs where it is set ("nsenter -t 7 -n ")."""
    return attempt(f"{enter}sysctl -w {name}={value}", f"{enter}sysctl -w {name}={present}", f"{name} = {present}")


def niced(model: Model) -> dict[int, int]:
    """Return the processes of the target with a nice value that lets others go first, and that value."""
    found = {pid: process.nice for pid, process in sorted(model.facts.processes.items())}
    return {pid: nice for pid, nice in found.items() if nice and nice > 0}


def yielding(model: Model) -> dict[int, int]:
    """Return those of them that yield to all others: whose value does not count in a group of theirs alone."""
    return {pid: nice for pid, nice in niced(model).items() if not counts_only_in(model, pid)}


def idle_class(model: Model) -> dict[int, str]:
    """Return the processes of the target that run only while nobody else wants to (SCHED_IDLE), and the group within
    which that counts, "" where that is the whole host."""
    found = [pid for pid, process in sorted(model.facts.processes.items()) if process.policy == IDLE_POLICY]
    return {pid: counts_only_in(model, pid) for pid in found}


def idle_group(model: Model) -> str:
    """Return the control group of the target that runs only while no other wants to (cpu.idle), "" if none does."""
    groups = model.facts.cpu_groups
    return next((each.path for each in groups if is_idle_group(model, each) and not is_shared(model, each)), "")


def is_idle_group(model: Model, group: CpuGroup) -> bool:
    """Return whether a control group has cpu.idle."""
    return model.facts.texts.word_if_recorded(f"{group.path}/cpu.idle") == "1"


def counts_only_in(model: Model, pid: int) -> str:
    """Return the group within which the scheduler compares nice values of a process, "" if the target's competitors are
    in it, too, as where that is the whole host.

    Groups share CPUs by their weights, whatever the nice values in them are: control groups, and sessions (setsid)
    where sched_autogroup_enabled makes a group of each.
    """
    if group := weighed_group(model, pid):
        return "" if is_shared(model, group) else f"control group {printable(group.path)}"
    process = model.facts.processes.get(pid)
    if process is None or not is_weighed_by_session(model, pid):
        return ""
    return f"session, of nice {process.session_nice} itself (/proc/{pid}/autogroup)"


def weighed_group(model: Model, pid: int) -> CpuGroup | None:
    """Return the innermost control group that competes by a weight of its own for CPUs, with a process in it."""
    weighed = [group for group in model.facts.cpu_groups if group.depth > 0 and group.weight and pid in group.pids]
    return max(weighed, key=lambda group: group.depth, default=None)


def is_weighed_by_session(model: Model, pid: int) -> bool:
    """Return whether the session of a process competes as a whole for CPUs, by a nice value of its own."""
    process = model.facts.processes.get(pid)
    return (
        model.facts.sysctl("kernel/sched_autogroup_enabled") == "1"
        and process is not None
        and process.session_nice is not None
        and weighed_group(model, pid) is None
    )


def is_shared(model: Model, group: CpuGroup) -> bool | None:
    """Return whether others in the target's group use at least as much CPU time as the target: it competes with these
    by nice values, whatever the weight of the group is. None: not known."""
    if group.usage_ns is None:
        return None
    # A target that hardly ran has competitors there only if these used a tenth of a CPU, or more.
    return group.usage_ns >= 2 * max(sum(map(cpu_ns, model.threads)), model.window_ns // 10)
