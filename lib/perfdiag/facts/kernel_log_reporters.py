"""Who speaks in a line of the kernel log: what reports trouble of devices, and not a name that a process gave itself.

Many lines hold such a name (15 letters, any at all), at their begin or in their middle, and each version of Linux has
others.  So lines are told by who reports: drivers, block devices, file systems and clocks begin theirs with themselves.
"""

import re

_NAME_LETTERS = 15  # TASK_COMM_LEN - 1

# Of PCI, SCSI and USB; else a name with a number.
_BUS_ADDRESS = r"(?:[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|(?:[0-9]+:){3}[0-9]+|[0-9]+-[0-9.]+|[a-z_]+[0-9]+)"
# What could be a name with more behind it comes first, and with so much of the line that it is longer than one.
_REPORTERS = re.compile(
    " ?(?:"
    + "|".join(
        (
            # the block layer
            r"(?:blk_update_request|print_req_error|end_request): ",
            r"[A-Za-z/ ]{1,40}error, dev [\w!-]+, sector [0-9]",
            r"[Bb]uffer I/O error on dev(?:ice)? [\w!-]+, |lost (?:async )?page write|Aborting journal on device ",
            # file systems
            r"[A-Z0-9]+(?:-fs)? (?:error|warning|critical|info) \(device [\w!-]+\)|JBD2: Error -?[0-9]+ detected ",
            r"EXT[234]-fs\b|JBD2?\b|XFS\b|BTRFS\b(?!: device label)|F2FS\b|(?:ex)?FAT-fs\b|GFS2\b|OCFS2\b|FS-Cache",
            r"[Nn][Ff][Ss]|lockd|[Rr][Pp][Cc]|CIFS|(?:lib)?ceph|9pnet",
            # disks, arrays and links
            r"mmc[0-9]: Timeout waiting for |ata[0-9]|s[drtg] |scsi|SCSI|nvme|mmc|virtio|xen|vbd|nbd|rbd|drbd|loop",
            r"md\b|raid|device-mapper|dm-|bcache|dasd|NETDEV WATCHDOG: ",
            r"session[0-9]+: |connection[0-9:]+: |rport-[0-9:-]+: ",
            r"(?:mpt|mega|aac|hpsa|smartpqi|3w-|qla|lpfc|arcmsr|pm80|isci|hv_)[\w-]*(?: [0-9a-f-]{36})?: ",
            r"(?:igb|ixgbe|i40e|ice|e1000e?|tg3|bnxt?2?|mlx[45]|ena|vmxnet3|r8169)[\w-]*: ",
            # the network, and the kernel's own queues
            r"nf_[a-z0-9_]+: |neighbour: |TCP: |UDP: |IPv[46]: |workqueue: |rcu: |cgroup: ",
            # clocks and the machine
            r"tsc|TSC|x86/tsc|hpet|[Cc]locksource|timekeeping",
            r"EDAC MC[0-9]+: [0-9]+ [CU]E [a-z]+ |EDAC|mce|\{[0-9]+\}|\[?Hardware [Ee]rror|[Mm]achine check",
            # any driver, by the address of its device
            rf"[A-Za-z][\w.-]{{0,31}} \[?{_BUS_ADDRESS}\b[^:]{{0,40}}:(?! Product| Manufacturer| SerialNumber)",
        )
    )
    + ")"
)
# Any driver, by a number of its own.  In a network namespace anybody names interfaces: the name itself tells nothing.
_NUMBERED = re.compile(r"[a-z][\w-]{0,30}[0-9]: (?!renamed from |port [0-9]+\(|\(slave )")
# A name and its id, or one that a device's driver was used with.
_PROCESS = re.compile(
    rf".{{1,{_NAME_LETTERS}}}(?:\[[0-9]{{1,10}}\][: ]| \([0-9]{{1,10}}\): )"
    rf"|.*\b(?:process [0-9]+ \(|program .{{1,{_NAME_LETTERS}}} is using )"
)


def tells_trouble(text: str, trouble: re.Pattern[str], longest: int) -> bool:
    """Return whether a device, file system or clock reports trouble of its own.

    A process can take a name that looks like a reporter, but not one that is as long as reporter and trouble together.
    """
    reporter, begin = _REPORTERS.match(text, 0, longest), 0
    if not reporter:
        reporter = _NUMBERED.match(text, 0, longest)
        begin = reporter.end() if reporter else 0
    said = trouble.search(text, begin, longest) if reporter else None
    if not reporter or not said or _PROCESS.match(text, 0, longest):
        return False
    return max(reporter.end(), said.end()) > _NAME_LETTERS
