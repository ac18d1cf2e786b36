"""The value checks of the live tests on stock kernels: what the recorder says is what the workload measured.

Left out are those that ask how fast a program is: an emulated one computes some ten times as long as it should.
"""

from __future__ import annotations

from live.support.fixtures import Record, Start
from live.support.truth import assert_waited
from live.test_completions import (  # noqa: F401
    test_a_ring_that_waits_for_work,
    test_libaio_reads_and_then_waits_for_nothing,
    test_more_requests_than_are_looked_at,
    test_reads_in_flight,
    test_submitting_waits_itself,
    test_what_nobody_takes_is_in_flight,
)
from live.test_cpu import (  # noqa: F401
    test_a_quota_of_20_percent,
    test_a_spinner_in_system_calls_is_kernel_time,
    test_an_alive_thread_is_closed_too,
    test_four_spinners_share_one_cpu,
)
from live.test_disk import (  # noqa: F401
    test_a_flush_is_an_operation,
    test_a_slow_disk,
    test_completions_are_awaited,
    test_other_ways_to_read,
)
from live.test_failed_calls import test_every_try_is_counted  # noqa: F401
from live.test_lives import (  # noqa: F401
    test_a_leader_that_ends_first,
    test_exec_by_a_thread,
    test_sleepers_are_shown_and_closed,
    test_threads_that_come_and_go,
)
from live.test_locks import (  # noqa: F401
    test_a_file_lock,
    test_a_lock_held_20_of_21_ms,
    test_an_idle_pool_waits_for_no_lock,
    test_the_lock_of_an_address_space,
)
from live.test_peers import (  # noqa: F401
    test_32_bit_system_calls,
    test_a_connection_that_takes_a_second,
    test_a_local_process_that_thinks,
    test_a_peer_awaited_in_poll,
    test_a_peer_that_answers_after_50_ms,
    test_a_receiver_with_a_small_window,
    test_every_switch_of_a_fast_ping_pong_is_booked,
)
from live.test_sets import (  # noqa: F401
    test_a_client_that_waits_for_one_answer,
    test_an_answer_at_a_unix_socket,
    test_who_may_wait_for_work,
)


def test_a_slow_child_is_awaited(start: Start, record: Record) -> None:
    recording, truth = record(start("slow_child"))
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["wait_ns"], "wait.child", waits=7, blocks=truth["blocks"])
