"""The CPUs: model, hypervisor, clock source, time taken by the hypervisor."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.facts.texts import Texts, changes, lines_of, number, words_of

TICK_NS = 10_000_000  # of /proc/stat: USER_HZ is 100 on every architecture perfdiag is for
CPU_TIMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")

# How architectures name the model: x86 and arm, loongarch, old arm, mips, powerpc and sparc, s390, riscv.
MODEL_KEYS = ("model name", "Model Name", "Processor", "cpu model", "cpu", "processor 0", "uarch", "isa")

# What every server CPU of ten years has and what costs time when it is hidden from a guest.
COMMON_FEATURES = ("aes", "avx", "avx2", "bmi2", "constant_tsc", "fma", "movbe", "nonstop_tsc", "rdtscp", "sse4_2")
EXPECTED_FEATURES = {
    "GenuineIntel": (*COMMON_FEATURES, "erms", "invpcid", "pcid", "tsc_deadline_timer", "x2apic"),
    "AuthenticAMD": COMMON_FEATURES,
}


@dataclass(frozen=True)
class Processor:
    """The CPU model as the kernel shows it (of the first CPU)."""

    model: str
    vendor: str | None
    flags: frozenset[str]
    masked_features: tuple[str, ...]  # in a guest: what any server CPU of ten years has and this one does not show
    rated_hz: int | None  # clock without turbo: from the model's name, else the TSC's, else base_frequency


@dataclass(frozen=True)
class Clocksource:
    """The clock that clock_gettime(2) reads."""

    current: str
    available: tuple[str, ...]
    marked_unstable: bool | None  # by the kernel; None: the log does not go back far enough or is not readable
    log_line: str | None  # the line that says so


def read_processor(texts: Texts) -> Processor | None:
    """Read /proc/cpuinfo of any architecture that names its model."""
    fields = cpuinfo(texts)
    model = next((fields[key] for key in MODEL_KEYS if fields.get(key)), None)
    if not model and "CPU part" in fields:
        model = f"implementer {fields.get('CPU implementer', '?')} part {fields['CPU part']}"
    if not model:
        return None
    flags = frozenset(words_of(fields.get("flags") or fields.get("Features")))
    expected = EXPECTED_FEATURES.get(fields.get("vendor_id", ""), ()) if "hypervisor" in flags else ()
    return Processor(
        model=model,
        vendor=fields.get("vendor_id"),
        flags=flags,
        masked_features=tuple(feature for feature in expected if feature not in flags),
        rated_hz=_rated_hz(texts, model),
    )


def cpuinfo(texts: Texts) -> dict[str, str]:
    """Return the fields of the first CPU."""
    fields: dict[str, str] = {}
    for line in lines_of(texts.text("/proc/cpuinfo")):
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    return fields


def _rated_hz(texts: Texts, model: str) -> int | None:
    """MPERF counts at the rate of the TSC; base_frequency can be a lower, configured one and is the last resort."""
    match = re.search(r"@ ([0-9])\.([0-9]{2})GHz", model)
    if match:
        return int(match[1] + match[2]) * 10_000_000
    match = re.search(r"tsc: Detected ([0-9]{1,6})\.([0-9]{3}) MHz", texts.text("/dev/kmsg", "begin") or "")
    if match:
        return int(match[1] + match[2]) * 1000
    for policy in texts.names(r"/sys/devices/system/cpu/cpufreq/(policy[0-9]+)/base_frequency"):
        khz = texts.number(f"/sys/devices/system/cpu/cpufreq/{policy}/base_frequency")
        if khz:
            return khz * 1000
    return None


# The whole of what the kernel says: it is longer than a name that a process gave itself, which a line may begin with.
_MARKED_UNSTABLE = re.compile(
    r"(?:clocksource: )?timekeeping watchdog.{0,300}?\bmarking (?:clocksource )?'?[\w-]{1,32}'? (?:as )?unstable|"
    r"(?:tsc: )?Marking TSC unstable|Clocksource \w{1,32} unstable \(",
    re.IGNORECASE,
)


def read_clocksource(texts: Texts) -> Clocksource | None:
    """Read the clock source; the log tells whether the kernel gave up the TSC."""
    directory = "/sys/devices/system/clocksource/clocksource0"
    current = texts.word(f"{directory}/current_clocksource")
    if not current:
        return None
    logs = [text for phase in ("begin", "end") if (text := texts.text("/dev/kmsg", phase)) is not None]
    lines = [line.partition(";")[2] for text in logs for line in lines_of(text)]
    unstable = [line for line in lines if _MARKED_UNSTABLE.match(line)]
    from_boot = any("clocksource: " in line or "Switched to clocksource" in line for line in lines)
    return Clocksource(
        current=current,
        available=tuple(words_of(texts.text(f"{directory}/available_clocksource"))),
        marked_unstable=True if unstable else False if from_boot else None,
        log_line=unstable[0] if unstable else None,
    )


def read_cpu_times(texts: Texts) -> Mapping[str, int]:
    """Return the delta of the first line of /proc/stat in nanoseconds."""
    begin, end = (stat_times(texts.text("/proc/stat", phase)).get("cpu", {}) for phase in ("begin", "end"))
    return {name: ticks * TICK_NS for name, ticks in changes(begin, end).items()}


def stat_times(text: str | None) -> dict[str, dict[str, int]]:
    """Return {"cpu": {"user": ticks ...}, "cpu0": ...} of a /proc/stat."""
    times: dict[str, dict[str, int]] = {}
    for line in lines_of(text):
        name, *values = words_of(line) or [""]
        if re.fullmatch(r"cpu[0-9]*", name):
            pairs = zip(CPU_TIMES, map(number, values), strict=False)
            times[name] = {key: value for key, value in pairs if value is not None}
    return times


def read_thermal_events(texts: Texts) -> int | None:
    """Sum the throttle events of all cores; a package's count is shown by each of its CPUs, so its largest counts."""
    deltas: dict[str, list[int]] = {"core": [], "package": []}
    pattern = r"/sys/devices/system/cpu/cpu[0-9]+/thermal_throttle/(core|package)_throttle_count"
    for path, match in texts.match(pattern):
        delta = texts.delta(path)
        if delta is not None:
            deltas[match[1]].append(delta)
    if not deltas["core"] and not deltas["package"]:
        return None
    return sum(deltas["core"]) + max(deltas["package"], default=0)


def read_softirqs(texts: Texts) -> Mapping[str, int]:
    """Return the delta of each vector over all CPUs."""
    begin, end = (_vector_sums(texts.text("/proc/softirqs", phase)) for phase in ("begin", "end"))
    return changes(begin, end)


def read_timer_interrupts(texts: Texts) -> Sequence[int]:
    """Return the delta of local timer interrupts of each CPU; empty where it is not known."""
    begin, end = (_timer_counts(texts.text("/proc/interrupts", phase)) for phase in ("begin", "end"))
    return [after - before for before, after in zip(begin, end, strict=False) if after >= before]


def read_device_interrupts(texts: Texts) -> Mapping[str, int]:
    """Return the delta over all CPUs of each device's interrupts, by the name at the end of its line: "ttyS0"; nothing
    where lines are missing."""
    if any(texts.is_cut_off("/proc/interrupts", phase) for phase in ("begin", "end")):
        return {}
    begin, end = (_device_counts(texts.text("/proc/interrupts", phase)) for phase in ("begin", "end"))
    return changes(begin, end)


def _device_counts(text: str | None) -> dict[str, int]:
    sums: dict[str, int] = {}
    lines = lines_of(text)
    cpus = len(words_of(lines[0])) if lines else 0
    for line in lines[1:]:
        label, _, rest = line.partition(":")
        words = words_of(rest)
        counts = [value for word in words[:cpus] if (value := number(word)) is not None]
        shared = len(words) > cpus + 1 and words[-2].endswith(",")  # by two devices: whose they were is not known
        if number(label) is not None and len(counts) == cpus < len(words) and not shared:
            sums[words[-1]] = sums.get(words[-1], 0) + sum(counts)
    return sums


def _timer_counts(text: str | None) -> Sequence[int]:
    lines = lines_of(text)
    cpus = len(words_of(lines[0])) if lines else 0
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        if name.strip() == "LOC" or "arch_timer" in rest:
            return [value for word in words_of(rest)[:cpus] if (value := number(word)) is not None]
    return []


def _vector_sums(text: str | None) -> dict[str, int]:
    sums: dict[str, int] = {}
    lines = lines_of(text)
    cpus = len(words_of(lines[0])) if lines else 0
    for line in lines[1:]:
        name, colon, rest = line.partition(":")
        counts = [value for word in words_of(rest)[:cpus] if (value := number(word)) is not None]
        if colon and counts and len(counts) == cpus:
            sums[name.strip()] = sum(counts)
    return sums
