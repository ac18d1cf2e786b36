"""Functions without a name: of user stacks, because the tables of symbols could not be read, and of scripts, because
their interpreter is of an unknown version, or they were gone."""

from collections.abc import Sequence

from perfdiag.common.text import printable
from perfdiag.common.units import first_of
from perfdiag.model.model import NotMeasured
from perfdiag.model.stacks.scripts import is_of
from perfdiag.model.stacks.symbols import is_named, module_of
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording

MOST_FILES_TOLD = 2
_BY_HAND = "by hand: perf record -g -p PID, then perf report"
_GONE = "they were gone, or others lay in their place, before they could be read; or there were too many"
_NO_FRAMES = (
    "no frame of a script was found for them: the interpreter did work of its own, they belong to a subinterpreter, or"
    " there are more than 1,024 threads"
)
MOST_OUTSIDE = 0.25  # of the samples in an interpreter: its start counts, too, before it is recognised
LEAST_SAMPLES = 100
# V8 and the code that it makes: its other threads compile and collect, and run no script as a rule.
_ON_THE_STACK = ("node", "libnode")
_SCRIPTS = "by hand: a profiler of that language, as py-spy, rbspy, phpspy or node --cpu-prof"
# The reason of a line Unnamed: what it means, and what to do.
REASONS = {
    "not opened": ("the file cannot be opened", "is it gone, or is its file system dead? record again as root"),
    "no ELF file": (
        "what is mapped there is no ELF file",
        "of code made at run time: let its runtime write a perf map (/tmp/perf-PID.map)",
    ),
    "perf map refused": (
        "/tmp/perf-PID.map is a link, no ordinary file, or belongs to another user than the process now has",
        "remove it (rm; never chown, which follows links), let the runtime write it again, and record again",
    ),
    "damaged": ("the table of symbols is damaged", "install the file again; readelf --wide --symbols FILE shows it"),
    "too large": ("the table of symbols is larger than is read", _BY_HAND),
    "timeout": ("not read in time", f"record for longer: names are looked up again and again; {_BY_HAND}"),
    "reader ended": ("the process that reads tables of symbols was killed or crashed", f"record again; {_BY_HAND}"),
    "not started": (
        "no process could be started to read them",
        "raise the limit of processes (ulimit -u), or free the file system that two of them hang in",
    ),
}


def not_measured(recording: Recording) -> list[NotMeasured]:
    """Say of each reason how many of the sampled addresses have no name, and in which files; and whose scripts have
    none."""
    of = sum(len(stack.user) for stack in recording.stacks)
    found = []
    for reason in dict.fromkeys(line.reason for line in recording.unnamed):
        lines = sorted((line for line in recording.unnamed if line.reason == reason), key=lambda line: -line.addresses)
        files = [printable(line.file) for line in lines if line.file]
        where = f" (in {first_of(files, MOST_FILES_TOLD)})" if files else ""
        count = sum(line.addresses for line in lines)
        what = f"names of {count:,} of {max(of, count):,} sampled addresses{where}"
        why, fix = REASONS.get(reason, (reason, _BY_HAND))
        found.append(NotMeasured(what, why, fix, "symbols"))
    nameless = sum(stack.count for stack in recording.stacks if stack.script and not is_named(stack.script[0]))
    if nameless:
        of_scripts = sum(stack.count for stack in recording.stacks if stack.script)
        what = f"function names of {nameless:,} of {of_scripts:,} samples of scripts"
        found.append(NotMeasured(what, _GONE, _SCRIPTS, "symbols"))
    found += _outside_of_scripts(recording)
    unknown = [printable(each.file) for each in recording.interpreters if not each.known]
    if unknown:
        what = f"functions of the scripts that {first_of(unknown, MOST_FILES_TOLD)} runs"
        found.append(NotMeasured(what, "it is of a version whose memory perfdiag does not know", _SCRIPTS, "symbols"))
    return found


def _outside_of_scripts(recording: Recording) -> list[NotMeasured]:
    """Say how many samples are in an interpreter and in no function of a script that is known."""
    known = [each.file for each in recording.interpreters if each.known]
    inside = [stack for stack in recording.stacks if stack.kind == "cpu" and _is_inside(stack, known)]
    count = sum(stack.count for stack in inside)
    without = sum(stack.count for stack in inside if not stack.script)
    if without < MOST_OUTSIDE * max(count, LEAST_SAMPLES):
        return []
    files = first_of(known, MOST_FILES_TOLD)
    what = f"names of script functions for {without:,} of {count:,} samples in {files}"
    return [NotMeasured(what, _NO_FRAMES, _SCRIPTS, "symbols")]


def _is_inside(stack: schema.Stack, known: Sequence[str]) -> bool:
    module = module_of(stack.user[0]) if stack.user else ""
    return is_of(module, known) and (stack.tid == stack.pid or not module.startswith(_ON_THE_STACK))
