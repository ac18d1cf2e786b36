"""Kernel stacks as the second witness of the accounts.  Stacks without a comment were recorded on Linux 6.18."""

from __future__ import annotations

import re

import pytest
from perfdiag.model.stacks import kernel_stacks
from perfdiag.recording.accounts import BY_NAME

from conftest import ROOT
from unit.support import Builder

VFORK = "schedule schedule_timeout __wait_for_common wait_for_completion_state kernel_clone __do_sys_vfork"
WAITPID = "schedule do_wait kernel_wait4 do_syscall_64 entry_SYSCALL_64_after_hwframe"
DISCARD = (
    "schedule schedule_timeout io_schedule_timeout wait_for_completion_io_timeout submit_bio_wait blkdev_issue_discard"
    " ext4_free_blocks ext4_ext_remove_space ext4_ext_truncate ext4_truncate ext4_setattr notify_change do_truncate"
    " path_openat do_filp_open do_sys_openat2 __x64_sys_openat do_syscall_64"
)
DSYNC = (
    "schedule schedule_timeout io_schedule_timeout wait_for_completion_io_timeout submit_bio_wait blkdev_issue_flush"
    " ext4_sync_file ext4_buffered_write_iter vfs_write ksys_write do_syscall_64"
)
DSYNC_WRITE_BACK = (
    "schedule io_schedule folio_wait_bit folio_wait_writeback __filemap_fdatawait_range file_write_and_wait_range"
    " generic_buffers_fsync_noflush ext4_fsync_nojournal ext4_sync_file ext4_buffered_write_iter vfs_write ksys_write"
)
SLEEP = "schedule do_nanosleep hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep do_syscall_64"
FAULT = (
    "schedule io_schedule folio_wait_bit_common filemap_fault __do_fault do_fault __handle_mm_fault handle_mm_fault"
    " exc_page_fault asm_exc_page_fault"
)
FUTEX = "schedule futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex do_syscall_64"
# From sources: a journaled fsync, one that must free memory first, a read on a FUSE mount, mmap_lock in a fault.
JOURNAL = "schedule jbd2_log_wait_commit jbd2_complete_transaction ext4_sync_file do_fsync __x64_sys_fsync"
RECLAIM = f"schedule shrink_node do_try_to_free_pages try_to_free_pages __alloc_pages_slowpath {JOURNAL}"
FUSE = "schedule request_wait_answer fuse_simple_request fuse_read_folio filemap_read_folio filemap_read vfs_read"
NFS_AHEAD = "schedule io_schedule folio_wait_bit_common filemap_get_pages filemap_read nfs_file_read vfs_read ksys_read"
PAGE_MKWRITE = "schedule io_schedule folio_wait_bit folio_wait_writeback ext4_page_mkwrite do_page_mkwrite do_fault"
MMAP_LOCK = "schedule rwsem_down_read_slowpath down_read_killable lock_mm_and_find_vma do_user_addr_fault"
RECEIVE = "schedule schedule_timeout wait_woken sk_wait_data tcp_recvmsg_locked tcp_recvmsg inet_recvmsg sock_recvmsg"
EPOLL = "schedule schedule_hrtimeout_range ep_poll.constprop.0 do_epoll_wait __x64_sys_epoll_wait"


# select() without descriptors, as apr_sleep() of Apache's modules has it.
SELECT = "schedule schedule_hrtimeout_range do_select core_sys_select kern_select __x64_sys_select do_syscall_64"
POLL = "schedule schedule_hrtimeout_range do_poll do_sys_poll __x64_sys_poll do_syscall_64"


@pytest.mark.parametrize(("kernel", "agrees"), [(SELECT, 1.0), (POLL, 1.0), (EPOLL, 0.0)])
def test_a_set_without_descriptors_is_a_timer_but_to_one_of_epoll_others_can_be_added(
    kernel: str, agrees: float
) -> None:
    model = Builder().thread("httpd", rest="wait.timer").stack("wait", "wait.timer", kernel=kernel.split()).model()
    assert model.coverage.stack_agreement == agrees


@pytest.mark.parametrize(
    ("kernel", "account"),
    [
        (VFORK, "wait.child"),
        (WAITPID, "wait.child"),
        (DISCARD, "disk.read"),
        (DSYNC, "disk.flush"),
        (DSYNC_WRITE_BACK, "disk.write"),
        (SLEEP, "wait.timer"),
        (FAULT, "memory.major_fault"),
        (FUTEX, "lock.futex"),
        (JOURNAL, "disk.flush"),
        (RECLAIM, "memory.reclaim"),
        (FUSE, "remote.fs"),
        (NFS_AHEAD, "nfs.read"),
        (MMAP_LOCK, "lock.kernel"),
        (RECEIVE, "net.receive"),
        (EPOLL, "wait.events"),
    ],
)
def test_class_of_a_stack(kernel: str, account: str) -> None:
    marker = kernel_stacks.class_of(kernel.split())
    assert marker is not None and marker.name == account and account in marker.accounts


def test_a_stack_without_a_marker_has_no_class() -> None:
    assert kernel_stacks.class_of([]) is None
    assert kernel_stacks.class_of(["schedule", "my_module_wait", "do_syscall_64"]) is None


def test_markers_name_accounts_that_exist_and_functions_that_can_win() -> None:
    for rank, marker in enumerate(kernel_stacks.MARKERS):
        assert set(marker.accounts) <= set(BY_NAME), marker.name
        earlier = {name for other in kernel_stacks.MARKERS[:rank] for name in other.functions}
        assert not marker.functions & earlier, f"{marker.name}: {marker.functions & earlier} never decide"


def test_every_account_that_waits_can_be_witnessed() -> None:
    without_a_stack = {"cpu.", "runq.", "vm.", "request.", "runtime.", "unexplained"}
    witnessed = {account for marker in kernel_stacks.MARKERS for account in marker.accounts}
    missing = {name for name in BY_NAME if not name.startswith(tuple(without_a_stack))} - witnessed
    assert not missing


def test_agreement_is_by_time() -> None:
    model = (
        Builder()
        .thread("a", disk_flush="1 s", disk_read="1 s", wait_parked="1 s")
        .stack("wait", "disk.flush", kernel=JOURNAL.split(), count=30, weight="970 ms")
        .stack("wait", "wait.parked", kernel=FUTEX.split(), count=5, weight="20 ms")
        .stack("wait", "disk.read", kernel=RECEIVE.split(), count=1, weight="10 ms")
        .stack("wait", "disk.read", kernel=["schedule"], count=100, weight="9 s")  # says nothing
        .stack("cpu", kernel=SLEEP.split(), count=100, weight="9 s")  # no wait
        .stack("wait", "runq.busy", kernel=SLEEP.split(), count=100, weight="9 s")  # where it was preempted
        .model()
    )
    assert model.coverage.stack_agreement == pytest.approx(0.99)
    assert model.coverage.stack_samples == 36
    assert model.coverage.disagreements == {("disk.read", "net.receive"): 10_000_000}


def test_without_stacks_agreement_is_unknown_not_perfect() -> None:
    assert Builder().thread("a", disk_read="1 s").model().coverage.stack_agreement is None


def test_the_recorders_own_markers_never_contradict_the_witness() -> None:
    """What the recorder books by a marker, where it must ask the stack, the second witness must accept."""
    source = (ROOT / "lib/recorder/program/markers.c").read_text()
    booked = re.findall(r"\{ \"(\w+)\", ACCOUNT_(\w+) \}", source)
    assert len(booked) == source.count(", ACCOUNT_") > 50
    by_constant = {name.replace(".", "_").upper(): name for name in BY_NAME}
    compared = 0
    for function, constant in booked:
        if (marker := kernel_stacks.class_of([function])) is not None:
            compared += 1
            assert by_constant[constant] in marker.accounts, function
    assert compared > len(booked) / 2


@pytest.mark.parametrize("account", ["disk.write", "memory.major_fault"])
def test_a_first_write_to_a_mapped_page_may_be_booked_either_way(account: str) -> None:
    model = Builder().thread("a").stack("wait", account, kernel=PAGE_MKWRITE.split(), weight="1 s").model()
    assert model.coverage.stack_agreement == 1
