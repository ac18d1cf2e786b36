"""Block devices, files that were not in memory, and pages that wait to be written."""

from perfdiag.recording.schema.base import Buckets, Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import Comm, DeviceNumber, Object, Word


class Device(Line, tag="device"):
    """Requests of one block device and operation, whoever asked; queue and service time from the request itself."""

    device: DeviceNumber  # "254:0"
    operation: Word  # read, write, flush, discard, other
    count: Count
    errors: Count
    bytes: Count
    queue_ns: Nanoseconds
    service_ns: Nanoseconds
    max_ns: Nanoseconds
    queue_buckets: Buckets
    service_buckets: Buckets


class DiskUser(Line, tag="disk_user"):
    """A process, of the target or not, or a kernel thread, that asked a block device for something."""

    device: DeviceNumber  # the whole disk, or a volume above disks: what that hands on anew is counted below as well
    pid: Count  # 0: not known, asked for in an interrupt
    comm: Comm
    kernel_thread: bool
    count: Count  # pieces of I/O, before they are merged into requests
    read_bytes: Count
    written_bytes: Count  # by a kernel thread also what others have dirtied
    io_class: Word | None = None  # real-time, best-effort, idle: when it first asked; None: not known


class FileRead(Line, tag="file_read"):
    """A file the target read that was not (all) in memory: by read(2) and the like, or by a fault of a mapping."""

    object: Object  # as in Detail
    bytes: Count  # brought into the page cache by the target's threads, read-ahead included
    waits: Count  # for a read; faults stand in the details of memory.major_fault
    sum_ns: Nanoseconds  # of these waits
    size_bytes: Count  # of the file when it was last brought in; 0: nothing was


class FileFlush(Line, tag="file_flush"):
    """A file whose data the target waited to have safe on disk, by fsync(2) and the like or by writes with O_DSYNC."""

    object: Object  # as in Detail
    waits: Count
    sum_ns: Nanoseconds


class Writeback(Line, tag="writeback"):
    """Dirty pages of one backing device, seen each time a writer to it (anybody's) was held to the limit."""

    device: DeviceNumber  # "254:0"; of a network file system "0:45"
    cgroup: Count  # inode number of the memory cgroup whose pages they are; 0: not told apart
    rounds: Count
    dirty_bytes: Count  # the most at any time, dirty or being written
    written_bytes: Count  # between the first time and the last
    span_ns: Nanoseconds


class Dirtier(Line, tag="dirtier"):
    """A thread, of the target or not, that was held to the limit of dirty pages while writing to a device."""

    device: DeviceNumber
    pid: Count
    tid: Count
    comm: Comm  # of its process
    rounds: Count
    bytes: Count  # dirtied by it, since it was last held to the limit before
