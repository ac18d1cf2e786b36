"""The file whose pages threads wait for, and how much each of these reads brings."""

from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.significance import brief, size
from perfdiag.model.model import Model


def read_file(model: Model, device: str) -> str:
    """Return " of table.sst (4.00 KiB each)" of most reads of a device ("254:0"), "" where several files share them."""
    found = [each for each in model.files_read if each.device == device and each.waits]
    whole_ns = sum(each.waited_ns for each in found)
    largest = max(found, key=lambda each: each.waited_ns, default=None)
    if largest is None or not largest.name_alone or largest.waited_ns < memory_policy.main_file_share * whole_ns:
        return ""
    each = f" ({size(largest.read_bytes / largest.waits)} each)" if largest.read_bytes else ""  # 0: past the page cache
    return f" of {brief(largest.name_alone)}{each}"
