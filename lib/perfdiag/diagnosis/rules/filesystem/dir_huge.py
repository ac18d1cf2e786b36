"""A rule on directories that have grown too large: paid in kernel CPU time and in reads of directory blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, Part
from perfdiag.diagnosis.evidence.debuggers import with_stacks
from perfdiag.diagnosis.evidence.system_calls import system_call
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import duration, fault, fix, judged, percent, worth
from perfdiag.model.model import Model

# Functions that walk the entries of a directory.  The name alone is proof: nothing else calls them.
WALKING = (
    "iterate_dir",
    "ext4_readdir",
    "ext4_dx_",
    "ext4_htree_",
    "ext4_search_dir",
    "ext4_find_entry",
    "__ext4_find_entry",
    "ext4_find_dest_de",
    "ext4_add_entry",
    "dx_probe",
    "htree_dirblock_to_tree",
    "xfs_readdir",
    "xfs_dir2_",
    "xfs_dir_",
    "btrfs_real_readdir",
    "btrfs_readdir",
    "btrfs_lookup_dir_",
    "dcache_readdir",
    "ovl_iterate",
    "ovl_dir_read",
    "nfs_readdir",
    "fuse_readdir",
    "call_filldir",
    "filldir",
    "verify_dirent_name",
    "tmpfs_readdir",
    "offset_readdir",
)
# Functions that look names up in the dentry cache.  Part of every open(), and costly only when chains have grown long.
LOOKING_UP = ("d_alloc_parallel", "__d_lookup", "d_lookup", "__lookup_slow", "lookup_slow", "d_hash_and_lookup")
# What a scan of many directories, or a search for single names, spends its time on besides: paths, one by one.
PATHS = ("path_openat", "filename_lookup", "path_lookupat", "do_unlinkat", "do_mkdirat", "do_renameat2", "lookup_slow")
LISTING = ("iterate_dir",)
GETDENTS = ("getdents", "getdents64", "readdir")
CPU = ("cpu.user", "cpu.kernel")

# Under 20 samples in directories their share is known to no better than half of itself (95 %).
ENOUGH_SAMPLES = 20
# A directory is huge when opening it is nothing beside listing it (small ones: 1 to 5 samples listing for each one that
# opens), or when most of looking a name up in it is walking its entries.
LISTING_RATIO = 20
WALKING_PART = 0.5
# So many samples allow for no opening at all to be one in twenty (rule of three).
ENOUGH_LISTING = 60
# Path look-ups alone take some percent of any program that opens files: below a tenth they depart from no norm.
LOOKUP_SHARE = 0.10


@rule(
    "DIR-HUGE",
    title="Directories have grown too large",
    accounts=("cpu.kernel", "disk.read"),
    meaning="Kernel time goes to walking directories or to looking names up in them, or threads wait while directory"
    " blocks are read: hundreds of thousands of entries in one directory cost at every listing, and in some file"
    " systems at every creation. A fault only where the samples show that single directories are that large; a scan of"
    " many small ones is work, and profile.",
    measured="Sampled CPU stacks whose kernel part holds a directory function (their share of all CPU samples of the"
    " window times the exact CPU time, with the error of the sample), and disk reads inside getdents calls that"
    " blocked (exact). A directory is huge where listing takes 20 times the samples of opening and looking up, or where"
    " half of looking up is walking entries.",
    alternatives="A program that lists a small directory again and again, a cold dentry cache after a start, a"
    " recursive scan (backup, find, virus scanner) whose work this is.",
    remedies="Spread files over subdirectories; list less often; on ext4 check that dir_index is on.",
    verify="ls -ld DIRECTORY shows the size of the directory itself: from some megabytes on it is huge.",
    beats=("CPU-KERNEL-HEAVY", "CPU-BOUND", "DISK-READ-SLOW"),
)
def huge(model: Model) -> Iterable[Outcome]:
    """Join CPU samples in directory functions with the blocked time of getdents."""
    taken = _taken(model)
    unseen = _unseen(model, taken)
    if unseen or (not taken.samples.count and not taken.reads):
        yield from [unseen] if unseen else []
        return
    norm_ns = LOOKUP_SHARE * model.busy_ns if taken.only_lookups else 0
    few = taken.inside.count < ENOUGH_SAMPLES and not taken.reads
    if few or not worth(model, taken.total_ns) or taken.total_ns < norm_ns:
        part = taken.total_ns / model.busy_ns if model.busy_ns else 0.0
        text = (
            f"directories {percent(part)} of busy time, {taken.inside.count:,} of {taken.samples.count:,} CPU samples"
        )
        yield Check("DIR-HUGE", text, part, "share")
        return
    yield _finding(model, taken)


@dataclass(frozen=True)
class _Taken:
    """What directories took."""

    samples: CpuSamples
    walking: Part  # of the CPU samples: walking entries
    inside: Part  # and looking names up besides
    error_ns: float
    walk_ns: int  # CPU time the samples inside stand for
    read_ns: int
    reads: bool  # whether the reads alone can be felt

    @property
    def total_ns(self) -> int:
        """CPU time and waiting together."""
        return self.walk_ns + self.read_ns

    @property
    def only_lookups(self) -> bool:
        """Whether hardly any entry is walked."""
        return self.walking.count * 2 < self.inside.count and not self.reads


def _taken(model: Model) -> _Taken:
    samples = CpuSamples(model)
    cpu_ns, kernel_ns = model.ns(*CPU), model.ns("cpu.kernel")
    inside = samples.inside(WALKING + LOOKING_UP)
    read_ns = min(
        model.ns("disk.read"),
        sum(
            part.sum_ns
            for operation in model.operations
            if system_call(operation) in GETDENTS
            for part in operation.accounts
            if part.account == "disk.read"
        ),
    )
    return _Taken(
        samples,
        walking=samples.inside(WALKING),
        inside=inside,
        error_ns=inside.error * cpu_ns,
        walk_ns=min(round(inside.share * cpu_ns), kernel_ns) if samples.count else 0,
        read_ns=read_ns,
        reads=worth(model, read_ns),
    )


def _unseen(model: Model, taken: _Taken) -> Silence | None:
    """Return the silence of a recording without CPU stacks, where CPU time could be felt."""
    if taken.samples.count or taken.reads or not worth(model, model.ns(*CPU)):
        return None
    return Silence(
        "DIR-HUGE",
        "no CPU stack was sampled: kernel time in directories cannot be seen",
        "see perfdiag check, feature stacks",
    )


def _evidence(taken: _Taken) -> list[Evidence]:
    evidence = []
    if taken.inside.count:
        evidence.append(
            Evidence(
                f"{taken.inside.count:,} of {taken.samples.count:,} CPU samples stand in directory functions"
                f" ({taken.walking.count:,} of them walking entries):"
                f" {duration(taken.walk_ns)} +-{duration(taken.error_ns)}",
                float(taken.walk_ns),
                "ns",
                "stack samples",
                error=taken.error_ns,
            )
        )
    if taken.read_ns:
        text = f"{duration(taken.read_ns)} waiting for directory blocks inside getdents"
        evidence.append(Evidence(text, float(taken.read_ns), "ns", "operations"))
    return evidence


def _finding(model: Model, taken: _Taken) -> Finding:
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "CPU time in directories is sampled" if taken.walk_ns else "",
            "reads of directory blocks were not told from other reads"
            if worth(model, model.ns("disk.read")) and not model.measured("operations")
            else "",
        ],
    )
    why = _huge(taken.samples)
    if why:
        claim = f"Walking directories takes {duration(taken.total_ns)}: a directory in use has grown too large ({why})."
    elif taken.only_lookups:
        claim = f"Looking names up in directories takes {duration(taken.total_ns)}: by their number, or in large ones."
    else:
        claim = (
            f"Walking directories takes {duration(taken.total_ns)}: many of them (a scan), or the same again and again."
        )
    finder = with_stacks(model, "names the function that lists")
    return Finding(
        "DIR-HUGE",
        fault(model, taken.total_ns) if why else Severity.INFO,
        confidence,
        claim,
        {claim: ns for claim, ns in (("cpu.kernel", taken.walk_ns), ("disk.read", taken.read_ns)) if ns},
        _evidence(taken),
        [
            fix(
                f"find it: {finder}, ls -ld DIRECTORY its size; then spread the files over subdirectories (by"
                " a hash of the name, by date)"
                if why
                else f"walk less: leave out what is not needed, or list less often; {finder}"
            )
        ],
        alternatives=["a small directory that is listed again and again"]
        if why
        else ["a recursive scan (find, a backup) whose work this is", "a directory that has grown too large"],
        limits=limits,
        verify=f"ls -ld on the directories {subject(model)} works in; the size of the directory itself is in column 5",
        headline="A directory has grown too large: walking it takes the time"
        if why
        else "Walking directories and looking names up takes the time",
        mechanism=Mechanism.SLOW if why else Mechanism.MANY,
    )


def _huge(samples: CpuSamples) -> str:
    """Return what shows that single directories are huge, "" where nothing does."""
    listing = samples.inside(LISTING).count
    paths = [s for s in samples.stacks if _holds(s.kernel, PATHS) and not _holds(s.kernel, LISTING)]
    opening = sum(stack.count for stack in paths)
    searching = sum(stack.count for stack in paths if _holds(stack.kernel, WALKING))
    if listing >= ENOUGH_LISTING and listing >= LISTING_RATIO * opening:
        return f"{listing:,} samples list entries, {opening:,} open or look up"
    if searching >= ENOUGH_SAMPLES and searching >= WALKING_PART * opening:
        return f"{searching:,} of {opening:,} samples that look names up walk entries"
    return ""


def _holds(functions: Iterable[str], prefixes: tuple[str, ...]) -> bool:
    return any(function.startswith(prefixes) for function in functions)


__all__ = ["huge"]
