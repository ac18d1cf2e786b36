"""What a kernel stack says of a wait, by marker functions: the second witness against which accounts are checked.

Law 3 of the ledger: the books must be right, not only closed.  The recorder's classification never looks at stacks
where it can avoid it, so that agreement between the two is worth something.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.recording import schema
from perfdiag.recording.accounts import OF_CPUS

_DISK = ("disk.read", "disk.write")
_NFS = ("nfs.read", "nfs.write", "nfs.commit", "nfs.metadata", "nfs.lock")
# A poll on one descriptor is booked to what that descriptor is.
_POLL = (
    "wait.events", "net.accept", "net.request", "net.connect", "net.receive", "net.send", "ipc.pipe", "ipc.unix",
    "wait.child", "wait.parked", "lock.database",
)  # fmt: skip


@dataclass(frozen=True)
class Marker:
    """A class of waits: functions that only such a wait has on its stack, and the accounts it may be booked to."""

    name: str
    accounts: tuple[str, ...]
    functions: frozenset[str]


def _marker(name: str, functions: str, *also: str) -> Marker:
    return Marker(name, (name, *also), frozenset(functions.split()))


# The first marker of this list that any frame of a stack carries decides: from states that hide all others, through
# what can happen inside any call (memory, faults), to the calls themselves.
MARKERS: tuple[Marker, ...] = (
    # Whoever writes to a terminal waits for its reader, or for another writer's lock.
    _marker("kernel.other", "file_tty_write do_tty_write"),
    _marker("kernel.other", "__break_lease", "lock.file"),
    # An NFS server asked to try later; the NFS client recovers in there, too, which is a wait for calls.
    _marker("kernel.other", "nfs4_handle_exception", "nfs.metadata"),
    _marker("wait.stopped", "do_signal_stop ptrace_stop do_freezer_trap do_jobctl_trap __refrigerator"),
    _marker(
        "memory.cgroup",
        """
        mem_cgroup_handle_over_high __mem_cgroup_handle_over_high try_to_free_mem_cgroup_pages
        mem_cgroup_out_of_memory mem_cgroup_oom mem_cgroup_oom_synchronize mem_cgroup_throttle_swaprate
        reclaim_high""",
        "memory.reclaim",
    ),
    _marker("vm.halt", "kvm_vcpu_block kvm_vcpu_halt", "memory.major_fault"),
    _marker("memory.compaction", "try_to_compact_pages __alloc_pages_direct_compact compact_zone compact_zone_order"),
    _marker(
        "memory.reclaim",
        """
        try_to_free_pages __alloc_pages_direct_reclaim do_try_to_free_pages shrink_node throttle_direct_reclaim
        reclaim_throttle node_reclaim""",
    ),
    _marker("memory.dirty_throttle", "balance_dirty_pages balance_dirty_pages_ratelimited_flags io_schedule_dirty"),
    _marker("kernel.other", "handle_userfault"),
    _marker("memory.swap_in", "do_swap_page swapin_readahead swap_cluster_readahead swap_read_folio swap_readpage"),
    _marker(
        "memory.major_fault",
        """
        filemap_fault xfs_filemap_fault ext4_filemap_fault do_fault __do_fault handle_mm_fault faultin_page""",
        "lock.kernel",
        "remote.fs",
        "memory.swap_in",
        # The first write to a mapped page waits for its write-back, or for room in the journal.
        "disk.write",
        "disk.flush",
    ),
    # Flushing comes first: it happens inside closing, unlocking and looking at attributes.
    _marker(
        "nfs.commit",
        """
        nfs_wb_all nfs_wb_folio nfs_wb_page nfs_file_flush nfs4_file_flush nfs_file_fsync nfs_commit_inode
        nfs_initiate_commit""",
        "nfs.write",
        "nfs.read",
        "nfs.metadata",
        "remote.fs",
    ),
    _marker("nfs.lock", "nfs4_proc_lock nfs4_proc_setlk nfs_lock nfs_flock nlmclnt_proc", "lock.file", "remote.fs"),
    _marker(
        "nfs.metadata",
        """
        nfs4_do_open nfs4_do_close nfs4_do_setattr nfs_setattr nfs_getattr nfs_lookup nfs_create nfs_unlink nfs_rename
        nfs_mkdir nfs_rmdir nfs_link nfs_symlink nfs_readdir nfs_atomic_open nfs_permission nfs_do_access""",
        "remote.fs",
    ),
    _marker(
        "remote.fs",
        """
        request_wait_answer __fuse_request_send fuse_simple_request __fuse_simple_request p9_client_rpc
        p9_client_zc_rpc cifs_send_recv wait_for_response ceph_mdsc_do_request ceph_mdsc_wait_request
        virtio_fs_enqueue_req rpc_wait_bit_killable __rpc_wait_for_completion_task rpc_execute nfs_wait_on_request
        nfs_wait_bit_killable afs_wait_for_call_to_complete""",
        *_NFS,
    ),
    _marker(
        "lock.file",
        """
        posix_lock_inode_wait locks_lock_inode_wait flock_lock_inode_wait fcntl_setlk do_lock_file_wait""",
        "wait.work",
    ),
    _marker(
        "disk.flush",
        """
        do_fsync vfs_fsync_range vfs_fsync __x64_sys_fsync __x64_sys_fdatasync __x64_sys_sync __x64_sys_syncfs
        __x64_sys_sync_file_range __x64_sys_msync ksys_sync_file_range ksys_sync sync_filesystem
        jbd2_log_wait_commit jbd2_complete_transaction xfs_log_force xfs_log_force_seq xfs_file_fsync
        blkdev_issue_flush btrfs_sync_log btrfs_sync_file btrfs_commit_transaction wait_current_trans
        generic_write_sync zil_commit""",
    ),
    _marker(
        "disk.write",
        """
        jbd2_journal_get_write_access jbd2_log_do_checkpoint wait_transaction_locked add_transaction_credits
        __jbd2_log_wait_for_space start_this_handle xlog_grant_head_wait""",
        "disk.flush",
    ),
    _marker(
        "lock.kernel",
        """
        rwsem_down_read_slowpath rwsem_down_write_slowpath __mutex_lock __mutex_lock_slowpath mutex_lock_killable
        __mutex_lock_killable_slowpath __mutex_lock_interruptible_slowpath __down __down_read __down_common
        __down_interruptible __down_killable __down_timeout down_write down_read rt_mutex_slowlock
        percpu_rwsem_wait pipe_lock_slow __pipe_lock_slow __wait_on_freeing_inode __ww_mutex_lock rtnl_lock
        lock_sock_nested __lock_sock d_wait_lookup d_alloc_parallel""",
        "ipc.pipe",
        "net.receive",
        "net.send",
    ),
    _marker(
        "lock.futex",
        """
        futex_wait_queue futex_wait_queue_me futex_wait_multiple futex_unqueue_multiple __futex_wait futex_wait
        do_futex futex_lock_pi futex_wait_requeue_pi __x64_sys_futex __x64_sys_futex_wait __x64_sys_futex_waitv""",
        "wait.parked",
        "wait.work",
        "wait.timer",
        "lock.database",
        "runtime.safepoint",
    ),
    _marker("net.accept", "inet_csk_accept inet_csk_wait_for_connect unix_accept vsock_accept", "ipc.unix"),
    _marker("net.connect", "inet_wait_for_connect __inet_stream_connect inet_stream_connect tcp_v4_connect"),
    _marker(
        "ipc.unix",
        """
        unix_stream_read_generic unix_stream_recvmsg unix_stream_data_wait unix_wait_for_peer unix_stream_sendmsg
        unix_dgram_sendmsg unix_dgram_recvmsg __unix_dgram_recvmsg unix_seqpacket_recvmsg unix_stream_connect
        sock_alloc_send_pskb""",
        "net.request",
        "wait.parked",
        "wait.work",
    ),
    _marker(
        "net.send",
        """
        sk_stream_wait_memory sk_stream_wait_connect tcp_sendmsg tcp_sendmsg_locked udp_sendmsg sock_wait_for_wmem
        do_tcp_sendpages""",
    ),
    _marker(
        "net.receive",
        """
        sk_wait_data tcp_recvmsg tcp_recvmsg_locked tcp_splice_read inet_recvmsg udp_recvmsg
        __skb_wait_for_more_packets raw_recvmsg netlink_recvmsg packet_recvmsg inet6_recvmsg udpv6_recvmsg
        sctp_recvmsg tls_rx_rec_wait""",
        "ipc.unix",
        "net.request",
        "kernel.other",
        "wait.parked",
        "wait.work",
    ),
    _marker(
        "ipc.pipe",
        """
        pipe_read pipe_write anon_pipe_read anon_pipe_write fifo_pipe_read fifo_pipe_write wait_for_partner
        fifo_open pipe_wait_readable pipe_wait_writable splice_from_pipe_next wait_for_space ipipe_prep opipe_prep""",
        "wait.parked",
    ),
    _marker(
        "wait.io_uring",
        """
        io_cqring_wait io_cqring_wait_schedule __io_cqring_wait_schedule io_sq_thread read_events do_io_getevents
        aio_read_events_ring __x64_sys_io_getevents""",
        "wait.events",
    ),
    # Without descriptors poll() and select() are a sleep (apr_sleep): how many there were the account knows alone.
    _marker(
        "wait.events",
        "do_sys_poll do_poll poll_schedule_timeout do_select core_sys_select",
        "wait.timer",
        *_POLL,
    ),
    _marker(
        "wait.events",
        "ep_poll do_epoll_wait schedule_hrtimeout_range_poll inotify_read fanotify_read",
        *_POLL,
    ),
    _marker(
        "kernel.other",
        """
        eventfd_read eventfd_write signalfd_read signalfd_dequeue timerfd_read n_tty_read n_tty_write
        tty_wait_until_sent do_mq_timedreceive wq_sleep synchronize_rcu_expedited wait_rcu_gp __wait_rcu_gp
        userfaultfd_read do_msgrcv do_msgsnd do_semtimedop __do_semtimedop drm_syncobj_array_wait_timeout
        membarrier_global_expedited coredump_wait exit_mm do_exit de_thread""",
        "wait.timer",
        "wait.signal",
        "wait.events",
        "wait.parked",
        "lock.kernel",
        "lock.database",
    ),
    _marker("wait.child", "do_wait __do_wait kernel_wait4 kernel_waitid wait_for_vfork_done __do_sys_vfork"),
    _marker("wait.signal", "do_sigtimedwait sigsuspend __x64_sys_pause __x64_sys_rt_sigsuspend do_rt_sigtimedwait"),
    _marker("wait.timer", "do_nanosleep hrtimer_nanosleep common_nsleep alarm_timer_nsleep", "lock.database"),
    # Who waits for a page that is read ahead over the network waits for a page, as of a disk.
    _marker("nfs.read", "nfs_file_read nfs_file_splice_read", "nfs.metadata"),
    _marker(
        "disk.write",
        """
        generic_perform_write iomap_file_buffered_write ext4_buffered_write_iter xfs_file_buffered_write
        writeback_single_inode __filemap_fdatawait_range write_inode_now ext4_file_write_iter xfs_file_write_iter
        btrfs_file_write_iter btrfs_do_write_iter blkdev_write_iter __writeback_single_inode ext4_dio_write_iter
        xfs_file_dio_write""",
        "disk.flush",
        "disk.read",
        "remote.fs",
    ),
    _marker(
        "disk.read",
        """
        filemap_read filemap_get_pages filemap_update_page filemap_splice_read generic_file_read_iter
        ext4_file_read_iter xfs_file_read_iter btrfs_file_read_iter blkdev_read_iter __bread_gfp bdev_getblk
        ext4_bread ext4_read_bh ext4_lookup ext4_find_entry __wait_on_buffer ext4_dx_find_entry xfs_buf_iowait
        xfs_buf_read_map read_extent_buffer_pages page_cache_ra_unbounded page_cache_sync_ra""",
        "disk.write",
    ),
    _marker(
        "disk.read",
        """
        io_schedule io_schedule_timeout blk_io_schedule submit_bio_wait __iomap_dio_rw iomap_dio_complete
        blk_mq_get_tag rq_qos_wait __blkdev_direct_IO folio_wait_bit_common folio_wait_bit wait_on_page_bit_common
        bit_wait_io""",
        *_DISK,
        "disk.flush",
    ),
)

_RANK: Mapping[str, int] = {
    function: rank for rank, marker in reversed(list(enumerate(MARKERS))) for function in marker.functions
}
_SUFFIX = re.compile(r"\.(constprop|isra|part|cold|llvm)\b.*")


@dataclass(frozen=True)
class Agreement:
    """Account against kernel stack, by time."""

    share: float | None  # None: no stack could be compared
    samples: int
    disagreements: Mapping[tuple[str, str], int]  # (account, class of the stack) -> ns


def class_of(kernel: Sequence[str]) -> Marker | None:
    """Return the class of a kernel stack; None when no frame is a marker."""
    ranks = [_RANK[name] for name in (_SUFFIX.sub("", frame.partition(" ")[0]) for frame in kernel) if name in _RANK]
    return MARKERS[min(ranks)] if ranks else None


def agreement(stacks: Iterable[schema.Stack]) -> Agreement:
    """Compare the account of every sampled wait with the class of its kernel stack.

    Stacks without a marker say nothing and are left out; run-queue time has no stack of its own.
    """
    agreeing = samples = 0
    disagreements: defaultdict[tuple[str, str], int] = defaultdict(int)
    for stack in stacks:
        if stack.kind != "wait" or stack.account.startswith(OF_CPUS):
            continue
        marker = class_of(stack.kernel)
        if marker is None or (stack.account == "vm.halt" and marker.name != "vm.halt"):
            continue  # the emulator's own way to wait for the end of a halt may be any
        samples += stack.count
        if stack.account in marker.accounts:
            agreeing += stack.weight_ns
        elif stack.weight_ns:  # or it would stand beside an agreement of 100 %
            disagreements[stack.account, marker.name] += stack.weight_ns
    compared = agreeing + sum(disagreements.values())
    return Agreement(agreeing / compared if compared else None, samples, dict(disagreements))
