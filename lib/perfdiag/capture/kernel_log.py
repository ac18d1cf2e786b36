"""The records of the kernel's own log buffer; reading it needs root."""

import errno
import os

from perfdiag.common.errors import PerfdiagError, PermissionDenied
from perfdiag.facts.oom_log import KMSG

RECORD_BYTES = 16384  # the kernel refuses a smaller buffer than its longest record, escaped
MOST_RECORDS = 1_000_000


def read_kernel_log(path: str = KMSG) -> tuple[list[str], bool]:
    """Return the records of the kernel's own buffer, and whether some were overwritten meanwhile; never waits. Raises
    PermissionDenied if the host does not allow it, PerfdiagError if there is no buffer."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if isinstance(error, PermissionError):
            hint = "run it as root: sudo perfdiag host --since TIME; or read a saved log: --log FILE"
            raise PermissionDenied(f"cannot read the kernel log: {error.strerror}", hint) from error
        hint = "in a container: give it /dev/kmsg, or run perfdiag on its host; or read a saved log: --log FILE"
        raise PerfdiagError(f"cannot read the kernel log: {error.strerror}", hint) from error
    records: list[str] = []
    overwritten = False
    try:
        while len(records) < MOST_RECORDS:
            try:
                record = os.read(fd, RECORD_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.EPIPE:  # what is older than this has been overwritten: on with what there is
                    raise PerfdiagError(
                        f"cannot read the kernel log: {error.strerror}", "read a saved log: --log FILE"
                    ) from error
                overwritten = True
                continue
            if not record:
                break
            records.append(record.decode("utf-8", "backslashreplace"))
    finally:
        os.close(fd)
    return records, overwritten
