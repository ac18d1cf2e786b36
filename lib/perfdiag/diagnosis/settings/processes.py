"""How the target itself is set: its place in the scheduler, its control groups, what watches its calls."""

from collections.abc import Iterator

from perfdiag.common.units import plural, size
from perfdiag.diagnosis.evidence.disk.backing_disks import layers
from perfdiag.diagnosis.evidence.memory.page_dirtiers import own_pids
from perfdiag.diagnosis.evidence.target import allowed_cpus, idle_class, is_idle_group, niced, subject
from perfdiag.diagnosis.settings.unusual import CPU, DISK, RUN_QUEUE, Unusual, time_at, time_in, waited_for
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.facts.texts import number
from perfdiag.model.model import Model

USUAL_WEIGHT = {1: 1024, 2: 100}  # of a control group, by version
SMALL_WEIGHT = 0.1  # of that: a pod that asks for one CPU of many has two fifths
MANY_FILTERS = 10  # seccomp filters: a container manager and a service manager set some each
NEARLY_FULL = 0.9  # of a memory limit
IO_LIMITS = {1: "blkio.throttle.*", 2: "io.max"}  # files of a control group, by version
# Of these DISK-THROTTLED tells whether the limit is used up: where it does not, the limit explains nothing.
_JUDGED = ("disk.read", "disk.write", "disk.flush")
_FULL_GROUP = ("memory.cgroup", "memory.reclaim", "memory.swap_in", "memory.major_fault", "disk.read")


def processes(model: Model) -> Iterator[Unusual]:
    """Yield what is unusual about them."""
    if model.host:
        return
    yield from _scheduling(model)
    yield from _calls(model)
    yield from _cpu_groups(model)
    yield from _other_groups(model)


def _scheduling(model: Model) -> Iterator[Unusual]:
    ns, who = time_in(model, RUN_QUEUE), subject(model, begin=True)
    for pid, nice in list(niced(model).items())[:1]:
        yield Unusual(f"{who} has nice value {nice} (usually 0)", "others get more of a CPU", f"/proc/{pid}/stat", ns)
    for pid in list(idle_class(model))[:1]:
        yield Unusual(f"{who} is SCHED_IDLE", "it runs when nobody else wants to", f"chrt -p {pid}", ns)
    allowed, online = allowed_cpus(model), model.header.host.cpus_online
    if allowed and online and len(allowed) < online:
        text = f"{who} is allowed on {plural(len(allowed), 'CPU')} of {online} only"
        yield Unusual(text, "it waits there even while other CPUs are idle", "taskset -cp PID", ns)
    own = own_pids(model)
    idle = [line for line in model.disk_users if line.pid in own and line.io_class == "idle"]
    if idle:
        text = f"{who}'s I/O class is idle"
        yield Unusual(text, "its requests come after all others", f"ionice -p {idle[0].pid}", time_in(model, DISK))


def _calls(model: Model) -> Iterator[Unusual]:
    who = subject(model, begin=True)
    for pid, process in list(model.facts.processes.items())[:1]:
        filters = number(process.status.get("Seccomp_filters"))
        if filters and filters >= MANY_FILTERS:
            effect, shown_by = "each system call passes all of them", f"/proc/{pid}/status"
            yield Unusual(f"{who} has {filters} seccomp filters", effect, shown_by, time_in(model, ("cpu.kernel",)))
        bypass = process.status.get("Speculation_Store_Bypass", "")
        if bypass == "thread force mitigated":
            effect, shown_by = "its loads from memory wait for stores before them", f"/proc/{pid}/status"
            yield Unusual(f"{who} runs without speculative store bypass", effect, shown_by, time_in(model, CPU))


def _cpu_groups(model: Model) -> Iterator[Unusual]:
    ns = time_in(model, RUN_QUEUE)
    for group in model.facts.cpu_groups:
        usual, path = USUAL_WEIGHT.get(group.version, 0), plain(group.path)
        file = "cpu.weight" if group.version == 2 else "cpu.shares"
        idle = is_idle_group(model, group)  # its weight is 0 then, whatever it was
        if group.weight is not None and group.weight < SMALL_WEIGHT * usual and group.depth and not idle:
            text = f"{file} of {path} is {group.weight} (usually {usual})"
            yield Unusual(text, "other groups get more of a CPU", f"{path}/{file}", ns)
        if idle:
            yield Unusual(f"cpu.idle of {path} is 1", "it runs when nobody else wants to", f"{path}/cpu.idle", ns)
        clamp = _of_group(model, group.path, "cpu.uclamp.max")
        if clamp not in ("", "max", "100.00"):
            text = f"cpu.uclamp.max of {path} is {plain(clamp)} (usually max)"
            yield Unusual(text, "CPUs are clocked lower for it", f"{path}/cpu.uclamp.max", time_in(model, CPU))


def _other_groups(model: Model) -> Iterator[Unusual]:
    disk_ns, memory_ns = time_in(model, DISK), time_in(model, _FULL_GROUP)
    below = {
        key: frozenset(layers(model, key.removeprefix("device:"))) for key in waited_for(model, DISK, ("device:",))
    }
    for group in model.facts.io_groups:
        path, limited = plain(group.path), {device for device, limits in group.limits.items() if limits}
        if keys := [key for key, devices in below.items() if devices & limited]:
            ns = time_at(model, DISK, keys)
            yield Unusual(
                f"{path} has an I/O limit",
                "requests above it wait",
                f"{path}/{IO_LIMITS.get(group.version, 'io.max')}",
                ns,
                DISK,
                fix(f"raise the I/O limit of its cgroup: {path}/{IO_LIMITS.get(group.version, 'io.max')}"),
                explains=tuple(account for account in DISK if account not in _JUDGED),
                loses_nothing=True,
                told_by=("DISK-THROTTLED",),
            )
        weight = number(_of_group(model, group.path, "io.weight").removeprefix("default").strip().partition("\n")[0])
        if weight is not None and weight < SMALL_WEIGHT * USUAL_WEIGHT[2]:
            text = f"io.weight of {path} is {weight} (usually 100)"
            yield Unusual(text, "requests of others go first", f"{path}/io.weight", disk_ns)
    for each in model.facts.memory_groups:
        limits = [limit for limit in (each.limit_bytes, each.high_bytes) if limit]
        limit = min(limits, default=None)
        if limit and each.usage_bytes is not None and each.usage_bytes >= NEARLY_FULL * limit:
            text = f"{plain(each.path)} has {size(each.usage_bytes)} of its {size(limit)} of memory"
            yield Unusual(
                text,
                "its pages are freed to make room",
                f"{plain(each.path)}/memory.max",
                memory_ns,
                told_by=("MEM-CGROUP-LIMIT", "MEM-HIGH-THROTTLE"),
            )


def _of_group(model: Model, path: str, file: str) -> str:
    return model.facts.texts.word_if_recorded(f"{path}/{file}") or ""
