"""The path of calls that most CPU samples share."""

from hypothesis import given
from hypothesis import strategies as st
from perfdiag.diagnosis.evidence.cpu.call_path import SHOWN, code_evidence, cpu_path, path_words
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.policy import cpu_policy

from unit.support import Builder


def sampled(*stacks: tuple[str, int]) -> CpuSamples:
    """Return the samples of stacks like "main > work > malloc", outermost first."""
    builder = Builder(comm="app").thread("app", cpu_user="3 s")
    for stack, count in stacks:
        builder.stack("cpu", user=[name.strip() for name in reversed(stack.split(">"))], count=count)
    return CpuSamples(builder.model())


def words(*stacks: tuple[str, int]) -> str:
    return path_words(cpu_path(sampled(*stacks)))


COPIES = "main (slapd) > modify (back.so) > dup (slapd)"


def test_the_caller_of_an_allocator_is_told() -> None:
    """A server copied a large group at each change; the report named malloc, and the function that was asked to."""
    told = words(
        (f"{COPIES} > malloc (libc.so.6)", 30),
        (f"{COPIES} > memcpy (libc.so.6)", 25),
        ("main (slapd) > modify (back.so) > free (libc.so.6)", 30),
        ("main (slapd) > read (libc.so.6)", 15),
    )
    assert told == "main (slapd) 100 % > modify (back.so) 85 % > dup (slapd) 55 % > malloc (libc.so.6) 30 %"


def test_a_module_is_told_once_while_the_path_stays_in_it() -> None:
    assert words(("main (app) > load (app) > inflate (libz.so)", 60)) == "main (app) > load > inflate (libz.so) 100 %"


def test_what_starts_threads_and_interprets_scripts_is_left_out() -> None:
    stack = "start_thread (libc.so.6) > __libc_start_main (libc.so.6) > main (app) > work (app)"
    assert words((stack, 60)) == "main (app) > work 100 %"


def test_a_path_ends_where_it_is_narrow() -> None:
    least = round(100 * cpu_policy.call_path_share)
    narrow = [(f"main (app) > f{number} (app)", least - 1) for number in range(5)]
    assert words(*narrow, ("main (app)", 5)) == "main (app) 100 %"
    assert words(("main (app) > work (app)", least), ("main (app)", 100 - least)).endswith(f"work {least} %")


def test_a_caller_that_a_walk_lost_is_no_step_of_its_own() -> None:
    assert len(cpu_path(sampled(("main (app) > work (app)", 95), ("work (app)", 5)))) == 1


def test_too_few_samples_have_no_path() -> None:
    assert cpu_path(sampled(("main (app) > work (app)", cpu_policy.samples_for_function - 1))) == []


def test_recursion_ends() -> None:
    assert words((" > ".join(["walk (app)", "visit (app)"] * 20), 60)) == "walk (app) > visit 100 %"


def test_what_a_script_calls_in_libraries_is_on_the_path() -> None:
    """Python looked up localhost, and the C library asked for 8,000 addresses: the path ended in the script."""
    builder = Builder(comm="app").thread("app", cpu_user="3 s")
    language = "/usr/lib/python3.11/socket.py"
    script = [f"getaddrinfo ({language}:9)", f"connect ({language}:8)", "page (/srv/app.py:9)", "serve (/srv/app.py:2)"]
    user = ["recvmsg (libc.so.6)", "getaddrinfo (libc.so.6)", "0x67a371 (python3)"]
    builder.stack("cpu", user=user, scan=["__check_pf (libc.so.6)"], script=script, count=100)
    samples = CpuSamples(builder.model())
    told = path_words(cpu_path(samples))
    assert told.endswith("getaddrinfo (libc.so.6) > __check_pf > recvmsg 100 %"), told


def test_what_an_earlier_call_left_beyond_the_interpreter_is_not_on_the_path() -> None:
    """A file was closed once, at the start, and its function stood in each scan behind the interpreter's."""
    builder = Builder(comm="app").thread("app", cpu_user="3 s").interpreter("libpython3.11.so.1.0")
    user = ["clock_gettime ([vdso])", "clock_gettime (libc.so.6)", "0x7f2b3ba5b000"]
    scan = ["time_thread_time (libpython3.11.so.1.0)", "_IO_file_close_it (libc.so.6)"]
    builder.stack("cpu", user=user, scan=scan, script=["work (/srv/pc.py:3)"], count=100)
    told = path_words(cpu_path(CpuSamples(builder.model())))
    assert told == "work (pc.py:3) > clock_gettime (libc.so.6) > clock_gettime ([vdso]) 100 %", told


def test_a_path_that_is_the_c_librarys_alone_is_none() -> None:
    samples = sampled(("poll (libc.so.6) > __poll (libc.so.6)", 60))
    assert not [each for each in code_evidence(samples, []) if "calls" in each.text]


def test_the_path_is_no_evidence_where_the_hottest_function_is_all_of_it() -> None:
    samples = sampled(("work (app)", 60))
    assert [each.text for each in code_evidence(samples, samples.hottest())] == ["work (app) 100 % +-5 %"]


def test_a_long_path_keeps_its_end() -> None:
    deep = [(" > ".join(f"f{level} (app)" for level in range(depth)), 10) for depth in (4, 8, 12, 16, 20, 24)]
    told = words(*deep)
    assert told.count(" > ") + 1 == SHOWN
    assert told.endswith("f19 33 %"), told


@given(
    stacks=st.lists(
        st.tuples(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), st.integers(1, 50)), min_size=1
    )
)
def test_a_path_only_narrows(stacks: list[tuple[list[str], int]]) -> None:
    """Whatever is sampled: each step is at most as wide as the one before it, and no function is told twice."""
    steps = cpu_path(sampled(*((" > ".join(f"{name} (app)" for name in names), count) for names, count in stacks)))
    shares = [step.share for step in steps]
    assert shares == sorted(shares, reverse=True)
    names = [name for step in steps for name in step.names]
    assert len(names) == len(set(names))
    assert all(cpu_policy.call_path_share <= share <= 1 for share in shares)
