"""What is true of every script of bpftrace, DTrace or bcc: it stands here once, and on each page."""

from dataclasses import dataclass

from perfdiag.documents.script_header import Pairs


@dataclass(frozen=True)
class Language:
    """What pages of a tracer's scripts have in common."""

    folder: str
    run: tuple[str, ...]
    caveats: tuple[str, ...]
    statuses: Pairs


BPFTRACE = Language(
    "tools",
    run=(
        "Run it as root, by its path or with bpftrace. PID is the number that the host gives a process, inside a"
        " container too; the number of a thread finds nothing. Tables are printed when the script ends, not before.",
    ),
    caveats=(
        "A table has at most 4096 entries, those for its own use included: what does not fit is missing. More fit with"
        " a larger BPFTRACE_MAP_KEYS_MAX in the environment (newer versions: BPFTRACE_MAX_MAP_KEYS).",
        "Names of threads and files are printed raw, control characters too; bpftrace -f json escapes them.",
        "The kernel skips a probe on a CPU that is just inside another BPF program or map, of another tracer perhaps.",
        "bpftrace 0.17 does not hear a Ctrl-C that comes while it prints: press it again.",
        "Newer versions that are started as bpftrace FILE warn of arguments that are left out and returned values that"
        " are discarded, which is harmless; as bpftrace --no-warnings FILE they do not.",
    ),
    statuses=(
        ("0", "SECONDS are over, or Ctrl-C or SIGTERM ended it"),
        (
            "1",
            "It was refused, by one message and before anything was traced: a process that does not exist, a wrong or"
            " superfluous argument, a missing privilege, or a kernel without what it requires; an argument that begins"
            " with a minus sign is bpftrace's own, which prints its usage",
        ),
        (
            "254, 255",
            "Likewise, of bpftrace 0.17, where the process lacks a probe of its program, or the kernel one of several"
            " tracepoints that share a body",
        ),
    ),
)
DTRACE = Language(
    "dtrace",
    run=(
        "Run it as root: dtrace -s, the script, its arguments. PID is the number that the host gives a process, inside"
        " a zone, jail or container too. Tables are printed when the script ends, not before.",
        "A process that does not exist is refused by dtrace -p PID -s, the script, PID; without -p only by scripts that"
        " name probes of the process itself. Others see nothing of it, and do not say so.",
        "On FreeBSD add -L and the folder lib beside the script: it defines what this system lacks.",
    ),
    caveats=(
        "A thread or key for which DTrace has no room is not traced; dtrace tells of such drops on standard error, with"
        " -x dynvarsize=16m there are fewer.",
        "Names of threads and files are printed raw, control characters too.",
        "DTrace for Linux takes 10 to 30 s to start and as long to end: wait for the line that begins with Tracing, or"
        " for the header of a recording.",
    ),
    statuses=(
        ("0", "SECONDS are over, or Ctrl-C or SIGTERM ended it"),
        (
            "1",
            "It was refused, by one message and before anything was traced: an argument that is no number (failed to"
            " resolve), a superfluous one, a missing privilege, or a system without a probe that it names",
        ),
        ("2", "An argument begins with a minus sign"),
    ),
)
BCC = Language(
    "tools",
    run=(
        "Run it as root. PID is the number that the host gives a process, inside a container too. Tables are printed"
        " when the program ends, not before.",
    ),
    caveats=(
        "The kernel skips a probe on a CPU that is just inside another BPF program or map, of another tracer perhaps.",
    ),
    statuses=(
        ("0", "SECONDS are over, Ctrl-C or SIGTERM ended it, or, where a recording is printed, its process has ended"),
        ("1", "bcc is not there, or the kernel or the process lacks what it requires"),
        ("2", "A wrong or superfluous argument"),
        ("3", "A missing privilege"),
        ("4", "A process that does not exist"),
    ),
)
BY_SUFFIX = {"bt": BPFTRACE, "d": DTRACE, "py": BCC}


def of(name: str) -> Language:
    """Return the language of a script by the end of its name."""
    return BY_SUFFIX[name.rpartition(".")[2]]
