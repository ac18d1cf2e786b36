"""CPU-KERNEL-HEAVY: what kernel time is for, and the remedy of each kind, only where samples prove it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from perfdiag.diagnosis.evidence.cpu.kernel_work_kinds import FILTERS, KINDS

from unit.support import Builder
from unit.support.judging import finding, knowing

GENERAL = "make fewer, larger system calls, and reuse memory"

KERNEL = "CPU-KERNEL-HEAVY"


def working(**functions: int) -> Builder:
    """So many samples in each kernel function, of a target that is mostly in the kernel."""
    builder = Builder().thread("worker", cpu_user="1 s", cpu_kernel="7 s", wait_events=("1 s", 5000))
    for function, count in functions.items():
        builder.stack("cpu", "cpu.kernel", kernel=["copy", function, "do_syscall_64"], count=count)
    return builder


def advice(builder: Builder) -> list[str]:
    return [remedy.text for remedy in finding(builder.model(), KERNEL).remedies]


@pytest.mark.parametrize(
    ("function", "word"),
    [
        ("__x64_sys_munmap", "mmap_threshold"),
        ("exc_page_fault", "MADV_HUGEPAGE"),
        ("filemap_fault", "MADV_WILLNEED"),
        ("kernel_clone", "posix_spawn"),
        ("do_futex", "wake one thread"),
        ("do_epoll_ctl", "EPOLLET"),
        ("do_sys_openat2", "search paths"),
        ("netlink_dump", "address"),
        ("net_rx_action", "ethtool -k"),
        ("tcp_sendmsg", "sendmmsg"),
        ("io_sq_thread", "sq_thread_idle"),
        ("ima_calc_file_hash", "ima/policy"),
        ("console_emit_next_record", "dmesg -w"),
        ("kvm_get_dirty_log_protect", "migration"),
        ("apparmor_file_open", "security/lsm"),
        ("__x64_sys_close", "ulimit -n"),
        ("function_trace_call", "current_tracer"),
        ("ovl_copy_up_flags", "metacopy=on"),
        ("fanotify_handle_event", "fanotify"),
        ("ovl_lookup_single", "fewer layers"),
        ("fsnotify_set_children_dentry_flags", "dentry-state"),
        ("crypt_convert", "cryptsetup benchmark"),
        ("btrfs_qgroup_account_extents", "btrfs quota disable"),
        ("squashfs_read_data", "lz4"),
        ("task_numa_work", "numactl"),
        ("copy_net_ns", "reuse them"),
        ("do_coredump", "coredumpctl"),
        ("nft_do_chain", "nft list ruleset"),
        ("__audit_syscall_entry", "auditctl -l"),
        (FILTERS, "grep Seccomp"),
        ("do_sys_poll", "epoll"),
        ("do_sched_yield", "sched_yield"),
        ("pipe_write", "64 KiB"),
        ("proc_reg_read", "/proc"),
    ],
)
def test_each_kind_of_work_has_its_remedy(function: str, word: str) -> None:
    (said,) = advice(working(**{function: 300}))
    assert word in said
    assert advice(working(**{function: 40})) == [GENERAL]  # too few samples prove nothing
    assert advice(working(**{function: 100, "get_random_bytes": 300})) == [GENERAL]  # nor does a quarter of them


@pytest.mark.parametrize(("comm", "names"), [("nginx", "open_file_cache"), ("php-fpm8.2", "opcache"), ("events", "")])
def test_settings_are_named_where_their_program_is_the_target(comm: str, names: str) -> None:
    """A program in C++ was told of nginx's open_file_cache, and of PHP."""
    builder = Builder().thread(comm, cpu_user="1 s", cpu_kernel="7 s")
    (said,) = advice(builder.stack("cpu", "cpu.kernel", kernel=["do_sys_openat2"], count=300))
    assert [each for each in ("open_file_cache", "opcache") if each in said] == ([names] if names else [])


@pytest.mark.parametrize(
    ("kernel", "caller", "says", "general"),
    [
        ("vfs_fstatat", "tzset_internal (libc.so.6)", "set TZ for the process", "search paths"),
        ("sock_sendmsg", "__check_pf (libc.so.6)", "resolve names less often", "sendmmsg"),
        ("netlink_dump", "__check_pf (libc.so.6)", "resolve names less often", "keep the answer"),
    ],
)
def test_calls_that_the_c_library_makes_unasked_are_told(kernel: str, caller: str, says: str, general: str) -> None:
    def told(inside: int, outside: int) -> list[str]:
        builder = Builder().thread("app", cpu_user="1 s", cpu_kernel="7 s")
        builder.stack("cpu", "cpu.kernel", kernel=[kernel], user=["call (libc.so.6)", caller], count=inside)
        return advice(builder.stack("cpu", "cpu.kernel", kernel=[kernel], user=["own (app)"], count=outside))

    assert says in told(300, 100)[0] and general not in told(300, 100)[0]
    assert general in told(100, 300)[0]


def test_unix_sockets_are_no_network() -> None:
    """A ping-pong over a unix socket was told to be "mostly for the network", with sendmmsg as its remedy."""
    local = ["finish_task_switch", "schedule_timeout", "unix_stream_read_generic", "sock_recvmsg", "__sys_recvfrom"]
    builder = Builder().thread("pong", cpu_user="1 s", cpu_kernel="7 s")
    found = finding(builder.stack("cpu", "cpu.kernel", kernel=local, count=300).model(), KERNEL)
    assert "sendmmsg" not in found.remedies[0].text
    remote = ["finish_task_switch", "schedule_timeout", "tcp_recvmsg", "sock_recvmsg", "__sys_recvfrom"]
    builder = Builder().thread("pong", cpu_user="1 s", cpu_kernel="7 s")
    assert "the network" in finding(builder.stack("cpu", "cpu.kernel", kernel=remote, count=300).model(), KERNEL).claim


def test_memory_that_is_unmapped_under_a_fault_counts_for_the_first_kind_only() -> None:
    builder = Builder().thread("worker", cpu_user="1 s", cpu_kernel="7 s")
    builder.stack("cpu", "cpu.kernel", kernel=["handle_mm_fault", "__x64_sys_mmap"], count=300)
    assert "100 %" in finding(builder.model(), KERNEL).evidence[1].text


def calls(number: int, size: int, *user: str) -> list[str]:
    process = SimpleNamespace(
        tracer=0,
        read_calls=number,
        write_calls=0,
        read_characters=number * size,
        written_characters=0,
        status={},
    )
    builder = Builder().thread("worker", cpu_user="1 s", cpu_kernel="7 s")
    builder.stack("cpu", "cpu.kernel", kernel=["vfs_read"], user=user, count=300)
    model = knowing(builder.model(), processes={100: process})
    return [remedy.text for remedy in finding(model, KERNEL).remedies]


def test_many_small_reads_ask_for_larger_buffers() -> None:
    assert "2,000,000" in calls(2000000, 16)[0] and "16 B" in calls(2000000, 16)[0]
    assert calls(2_000_000, 65_536) == [GENERAL]
    assert calls(2_000, 16) == [GENERAL]


@pytest.mark.parametrize(
    ("user", "said"),
    [
        (["read (libc.so.6)", "load (app)"], "read and write more at a time in load (app) (setvbuf, BufferedWriter"),
        (["pread64 (libc.so.6)", "load (app)"], "read and write more at a time in load (app): 2,000,000"),
        (["pread64 (libc.so.6)", "load_pixels (libimage.so.6)"], "what makes load_pixels (libimage.so.6) read and"),
        (["write (libc.so.6)", "_IO_file_write (libc.so.6)"], "read and write more at a time (setvbuf"),
    ],
)
def test_who_makes_small_calls_is_told_what_would_change_them(user: list[str], said: str) -> None:
    assert said in calls(2_000_000, 16, *user)[0]


def test_what_is_not_counted_is_not_small() -> None:
    assert advice(working(vfs_read=300)) == [GENERAL]


def test_no_kind_stands_behind_one_that_takes_all_of_its_functions() -> None:
    earlier: tuple[str, ...] = ()
    for kind in KINDS:
        assert not all(function.startswith(earlier) for function in kind.functions) or not earlier, kind.name
        earlier += kind.functions


def test_a_full_thread_in_the_kernel_is_told_what_the_kernel_does_for_it() -> None:
    builder = Builder(cpus=2).thread("packer", cpu_user="1 s", cpu_kernel="8900 ms").thread("helper", tid=101)
    builder.stack("cpu", "cpu.kernel", kernel=["unmap_vmas", "__x64_sys_munmap"], count=300, pid=100)
    builder.stack("cpu", user=["pack (packer)"], count=40, pid=100)
    full = finding(builder.model(), "CPU-SINGLE-THREAD")
    assert "the only other thread waits or sleeps" in full.claim
    assert "mmap_threshold" in full.remedies[0].text and "take work off" in full.remedies[1].text
    assert "unmap_vmas" in full.evidence[-1].text


def test_huge_pages_are_no_remedy_for_themselves() -> None:
    """Where each fault clears 2 MiB, the advice to ask for huge pages would make it worse."""
    clearing = ["clear_page_erms", "folio_zero_user", "do_huge_pmd_anonymous_page", "handle_mm_fault", "exc_page_fault"]
    builder = Builder().thread(cpu_kernel="8 s")
    builder.stack("cpu", "cpu.kernel", kernel=clearing, user=["fill (app)"], count=500, weight="2 s")
    found = finding(builder.model(), "CPU-KERNEL-HEAVY")
    texts = [remedy.text for remedy in found.remedies]
    assert any("MADV_NOHUGEPAGE" in text for text in texts) and not any("one fault" in text for text in texts), texts


def test_a_call_of_no_known_kind_is_told_with_the_function_that_has_its_time() -> None:
    """inotify_add_watch() alone told nobody that it went through 150,000 names."""
    builder = Builder().thread("worker", cpu_user="1 s", cpu_kernel="7 s", wait_events=("1 s", 5000))
    for function, count in {"walk_all_names": 90, "copy": 10}.items():
        builder.stack("cpu", "cpu.kernel", kernel=[function, "__x64_sys_frobnicate"], count=count)
    assert finding(builder.model(), KERNEL).headline.endswith("in the kernel: frobnicate(), mostly walk_all_names()")
    known = working(ovl_lookup_single=100)
    assert finding(known.model(), KERNEL).headline.endswith("looking names up in each layer of an overlay")
