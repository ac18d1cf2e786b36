"""DIR-HUGE: directories are too large, and listing or searching them takes the time."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, Part
from perfdiag.diagnosis.evidence.debuggers import shown_pid, with_stacks
from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.system_calls import system_call
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import filesystem_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import duration, fault, fix, little, worth
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import any_begins
from perfdiag.recording import schema

# Functions that walk directory entries; nothing else calls them.
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
# Functions that look names up in the dentry cache: part of every open(), costly only with long chains.
LOOKING_UP = ("d_alloc_parallel", "__d_lookup", "d_lookup", "__lookup_slow", "lookup_slow", "d_hash_and_lookup")
# Path look-ups, the other cost of scanning many directories or searching names.
PATHS = ("path_openat", "filename_lookup", "path_lookupat", "do_unlinkat", "do_mkdirat", "do_renameat2", "lookup_slow")
LISTING = ("iterate_dir",)
OPENING = ("path_openat",)
# stat(): a server that hardly opens anything has the names from the listing.
STATS = ("vfs_statx", "vfs_fstatat", "do_statx", "__do_sys_newfstatat", "__do_sys_statx")
GETDENTS = ("getdents", "getdents64", "readdir")
LAYERS = ("ovl_lookup",)  # asks each layer of an overlay for a name
CPU = ("cpu.user", "cpu.kernel")


@rule(
    "DIR-HUGE",
    title="Directories are too large",
    accounts=("cpu.kernel", "disk.read"),
    meaning=(
        "Kernel time goes to walking directories or looking up names, or threads wait for directory blocks. Hundreds"
        " of thousands of entries cost time at every listing, in some file systems at every creation. A fault only if"
        " single directories are that large; a scan of many small ones is a profile."
    ),
    measured=(
        "CPU samples inside directory functions, times CPU time, and disk reads inside getdents. A directory is huge"
        " if listing takes 20 times the samples of opening and look-up. Where half of the look-ups walk entries, it is"
        " large or many names are looked up in it: samples do not tell. In a server, samples inside stat() count as"
        " part of the listing: they look at the listed files."
    ),
    alternatives=(
        "A small directory listed again and again, a cold dentry cache after a start, or a recursive scan (backup,"
        " find, virus scanner)."
    ),
    remedies="Spread files over subdirectories, list less often, and check dir_index on ext4.",
    verify=(
        "The same work spends less time in directories; ls -ld DIRECTORY shows a size of some KiB, not of megabytes."
    ),
    beats=("CPU-KERNEL-HEAVY", "CPU-BOUND", "DISK-READ-SLOW"),
)
def huge(model: Model) -> Iterable[Outcome]:
    """Judge CPU samples in directory functions, and disk reads of getdents."""
    taken = _taken(model)
    unseen = _unseen(model, taken)
    if unseen or (not taken.samples.count and not taken.reads):
        yield from [unseen] if unseen else []
        return
    norm_ns = filesystem_policy.lookup_share * model.busy_ns if taken.only_lookups else 0
    few = taken.inside.count < filesystem_policy.directory_samples and not taken.reads
    if few or not worth(model, taken.total_ns) or taken.total_ns < norm_ns:
        samples = f", {taken.inside.count:,} of {taken.samples.count:,} CPU samples"
        yield little(model, "DIR-HUGE", "directories", taken.total_ns, samples)
        return
    layered = taken.samples.part(_in_layers)
    if 2 * layered.count >= taken.inside.count > 0:  # CPU-KERNEL-HEAVY names the overlay
        yield Check("DIR-HUGE", f"{layered} of CPU samples look names up in layers of an overlay", 0.0, "share")
        return
    yield _finding(model, taken)


def _in_layers(stack: schema.Stack) -> bool:
    """Return whether a sample looks a name up for an overlay, and walks no directory of a layer for it."""
    looks_up = any_begins(stack.kernel, LAYERS) and any_begins(stack.kernel, LOOKING_UP)
    return looks_up and not any_begins(stack.kernel, WALKING)


@dataclass(frozen=True)
class _Taken:
    """The time in directories."""

    samples: CpuSamples
    walking: Part  # of the CPU samples: walking entries
    inside: Part  # and looking names up besides, or looking at the files listed
    listed: str  # the sign of a single huge directory that is listed, "" if there is none
    stats: Part  # looking at files, where one is listed
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
        return self.walking.count * 2 < self.inside.count and not self.reads and not self.listed


def _taken(model: Model) -> _Taken:
    samples = CpuSamples(model)
    cpu_ns, kernel_ns = model.ns(*CPU), model.ns("cpu.kernel")
    serves = model.request_time is not None
    listed = _lists_one(samples, scans=not serves)
    stats = STATS if listed and serves else ()
    inside = samples.inside(WALKING + LOOKING_UP + stats)
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
        listed=listed,
        stats=samples.inside(stats),
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
        "no CPU stack was sampled to show kernel time in directories",
        "see perfdiag check, feature stacks",
    )


def _evidence(taken: _Taken) -> list[Evidence]:
    evidence = []
    if taken.inside.count:
        evidence.append(
            Evidence(
                f"{duration(taken.walk_ns)} +-{duration(taken.error_ns)}: {taken.inside.count:,} of"
                f" {taken.samples.count:,} CPU samples, {taken.walking.count:,} walk entries",
                float(taken.walk_ns),
                "ns",
                "stack samples",
                error=taken.error_ns,
            )
        )
    if taken.stats.count:
        text = f"{taken.stats} of the CPU samples are in stat()"
        evidence.append(Evidence(text, taken.stats.share, "share", "stack samples", error=taken.stats.error))
    if taken.read_ns:
        text = f"{duration(taken.read_ns)} of disk reads inside getdents"
        evidence.append(Evidence(text, float(taken.read_ns), "ns", "operations"))
    return evidence


def _finding(model: Model, taken: _Taken) -> Finding:
    why, searched = taken.listed, _searches_one(taken.samples)
    claim = f"Walking directories took {duration(taken.total_ns)}{_judged(taken, searched)}"
    walker = shown_pid(model, model.header.targets[0].pid) if model.header.targets else "PID"
    finder = with_stacks(model, "names the listing function")
    return conclude(
        model,
        {claim: ns for claim, ns in (("cpu.kernel", taken.walk_ns), ("disk.read", taken.read_ns)) if ns},
        headline=(
            f"A directory is too large: walking its entries{' and stat()' if taken.stats.count else ''} takes the time"
            if why
            else "Walking directories and looking up names takes the time"
        ),
        claim=claim,
        mechanism=Mechanism.SLOW if why else Mechanism.MANY,
        severity=fault(model, taken.total_ns) if why else Severity.INFO,
        doubts=[
            "CPU time in directories is sampled" if taken.walk_ns else "",
            "stat() of other files is not separated from stat() of listed ones" if taken.stats.count else "",
            "reads of directory blocks were not separated from other reads"
            if worth(model, model.ns("disk.read")) and not model.measured("operations")
            else "",
        ],
        evidence=_evidence(taken),
        remedies=[fix(_remedy(why, searched, walker, finder))],
        alternatives=["a small directory is listed again and again"]
        if why
        else ["a recursive scan (find, backup)", "a directory is too large"],
        verify=less(model, "time in directories", taken.total_ns),
    )


def _judged(taken: _Taken, searched: str) -> str:
    """Return what the claim says after how long walking directories took."""
    if taken.listed:
        return f". A directory is too large: {taken.listed}."
    if searched:
        often = "names in a small one are looked up, made, removed or renamed very often"
        return f": {searched}. A directory is large, or {often}."
    if taken.only_lookups:
        return " for names that were looked up: there are many, or the directories are large."
    return ": a scan, or the same directory again and again."


def _remedy(listed: str, searched: str, walker: str, finder: str) -> str:
    if listed:
        spread = "spread its files over subdirectories (by hash or date), or list it less often"
        return f"{spread}; to find it: strace -f -y -e trace=getdents64,openat -p {walker}"
    if searched:
        how = "see how large the directories are (ls -ld DIRECTORY), and what is done there so often"
        return f"{how}: strace -f -y -e trace=%file -p {walker}"
    return f"scan fewer directories, or list less often; {finder}"


def _lists_one(samples: CpuSamples, *, scans: bool) -> str:
    """Return the sign that a single huge directory is listed, "" if there is none.

    A program that calls stat() for each file of a tree hardly opens its directories either, and samples do not tell
    some hundred files in each from a huge directory.  Such a scan is a program's work, but not that of a server.
    """
    listing = samples.inside(LISTING).count
    opens = PATHS if scans else OPENING
    opening = sum(s.count for s in samples.stacks if any_begins(s.kernel, opens) and not any_begins(s.kernel, LISTING))
    if listing >= filesystem_policy.listing_samples and listing >= filesystem_policy.listing_factor * opening:
        return f"{listing:,} samples list entries, {opening:,} open or look up"
    return ""


def _searches_one(samples: CpuSamples) -> str:
    """Return the sign that names are searched in a single huge directory, "" if there is none."""
    paths = [s for s in samples.stacks if any_begins(s.kernel, PATHS) and not any_begins(s.kernel, LISTING)]
    opening = sum(stack.count for stack in paths)
    searching = sum(stack.count for stack in paths if any_begins(stack.kernel, WALKING))
    if searching >= filesystem_policy.directory_samples and searching >= filesystem_policy.walking_share * opening:
        return f"{searching:,} of {opening:,} look-up samples walk entries"
    return ""
