"""Read-ahead that was turned off, or nearly: files are read page by page then, with a request for each."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.disk_waits import READ, Case, Kind
from perfdiag.diagnosis.evidence.target import setting
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import plain, size
from perfdiag.model.model import Model

USUAL_KIB = 128  # of the kernel (VM_READAHEAD_PAGES), unless it is told otherwise


@dataclass(frozen=True)
class ReadAhead:
    """What a file system on this device reads ahead at most, which is less than usual."""

    whole: str  # "sda"
    bytes: int
    request_bytes: float  # mean of a request to read

    @property
    def words(self) -> str:
        """Return it for a headline: "with read-ahead off"."""
        return f"with read-ahead {f'of {size(self.bytes)}' if self.bytes else 'off'}"

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        text = f"requests to read of {size(self.request_bytes)} on average; read_ahead_kb of {plain(self.whole)} is"
        path = f"/sys/block/{plain(self.whole)}/queue/read_ahead_kb"
        return Evidence(f"{text} {self.bytes // 1024}", float(self.bytes), "bytes", path)

    @property
    def remedy(self) -> Remedy:
        """Return the trial of what is usual."""
        return setting(f"/sys/block/{self.whole}/queue/read_ahead_kb", str(USUAL_KIB), str(self.bytes // 1024))


def small_read_ahead(model: Model, kind: Kind, case: Case) -> ReadAhead | None:
    """Return it for reads of whole files in small requests from a device that hardly reads ahead; None where it does,
    where nobody knows, and where files are read here and there: nobody knows then what comes next.

    The device that the file system is on decides: of a volume that is the volume.
    """
    disk, reads = model.facts.disks.get(case.where.device), case.where.requests(model, "read")
    if kind is not READ or disk is None or disk.read_ahead_bytes is None or not reads.count:
        return None
    each = reads.bytes / reads.count
    small = disk.read_ahead_bytes < disk_policy.least_read_ahead_bytes and each < disk_policy.least_read_ahead_bytes
    return ReadAhead(disk.whole, disk.read_ahead_bytes, each) if small and _scans(model) else None


def _scans(model: Model) -> bool:
    whole = [file for file in model.files_read if file.read_bytes >= disk_policy.scanned_share * file.size_bytes > 0]
    return 2 * sum(file.waited_ns for file in whole) > sum(file.waited_ns for file in model.files_read)
