"""perfdiag beside tools of bcc and libbpf-tools, which answer questions of which the true answer is known.

Everything happens in an emulated guest that has these tools.  First each of them runs alone beside a load that it slows
down, of which instructions are counted: emulated says how, and what that does not see.  Then all run beside a workload
that knows the answer itself.  Start times are those of this slow machine.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench import witness_table
from bench.emulated import Machine, boot
from bench.measure import UNTRACED, Context, Rounds, added, ratio
from bench.table import Row, number
from bench.witness_answers import Answer
from bench.witness_guest import HEADERS, Refused, Tool, peak_mebibytes
from bench.witness_questions import QUESTIONS, Asked, Question
from bench.witness_scenes import Scene
from bench.witness_table import Comparison, Testimony
from lab.support.guest import WITNESS_DISK, Guest, impossible, missing
from lab.support.processes import GuestRecorder, GuestWorkload, Process

SECTION = "12. Witnesses: the same questions to perfdiag and others"
KERNEL = "6.1"
PERFDIAG = "perfdiag"
ANYWHERE = "taskset -apc 0,1 $pid"  # other processes of this guest have one CPU only
SETTLES_SECONDS = 1.5  # tools that print every second have printed
NEVER_MS = 3_600_000  # the recorder measures its programs in its second interval, which has its price


numbers = itertools.count(1)


@dataclass(frozen=True)
class Cost:
    """Of a tool that runs alone."""

    start_s: float
    peak_mebibytes: float


def rows(context: Context) -> Iterator[Row]:
    """Ask every question, or those that the variable WITNESSES names."""
    why = impossible() or missing(KERNEL, WITNESS_DISK)
    if why:
        yield Row(SECTION, "in the lab", None, "", note=f'{why}; make lab-build KERNEL="{KERNEL} witness"')
        return
    for name in os.environ.get("WITNESSES", "").split() or QUESTIONS:
        comparison = ask(context, name)
        witness_table.write(context.output / "witnesses", comparison)
        yield from of_comparison(comparison)


def of_comparison(comparison: Comparison) -> Iterator[Row]:
    """The rows of one question."""
    name, unit = comparison.name, comparison.unit
    yield Row(SECTION, f"{name}: truth", comparison.truth, unit, note=comparison.asks)
    for one in comparison.testimonies:
        if one.answer is None or one.error is None:
            yield Row(SECTION, f"  {one.who}", None, unit, note=one.refused)
            continue
        middle = (one.answer.low + one.answer.high) / 2
        note = "right" if not one.error else f"off by {100 * one.error:.1f} %"
        yield Row(SECTION, f"  {one.who}", middle, unit, one.answer.low, one.answer.high, note=note)
        yield Row(SECTION, "    started until it traces", one.start_s, "s")
        yield Row(SECTION, "    memory, at most", one.peak_mebibytes, "MiB")
        if one.added_instructions is not None:
            note = f"{number(one.ratio or 0)} times as many"
            yield Row(SECTION, f"    added to each {comparison.event}", one.added_instructions, "instr.", note=note)


def ask(context: Context, name: str) -> Comparison:
    """Boot, and ask one question."""
    question = QUESTIONS[name]
    with contextlib.ExitStack() as stack:
        guest = stack.enter_context(boot(KERNEL, WITNESS_DISK))
        guest.run(HEADERS)
        scene = stack.enter_context(question.scene(guest))
        testimonies, truth = Asking(context, guest, question, scene).answered()
        event = scene.load.event if scene.load else ""
        return Comparison(name, question.asks, question.unit, truth, event, guest.release, testimonies)


class Asking:
    """One question in one guest."""

    def __init__(self, context: Context, guest: Guest, question: Question, scene: Scene) -> None:
        self.context, self.guest, self.question, self.scene = context, guest, question, scene
        self.rounds = context.choose(2, 3)
        self.machine = Machine(guest, [scene.load] if scene.load else [])
        self.counts: Rounds = {}
        self.costs: dict[str, Cost] = {}
        self.refused: dict[str, str] = {}

    def answered(self) -> tuple[list[Testimony], float]:
        """Let each run alone, then all beside the workload; return what they said, and the truth."""
        name, *words = self.scene.workload
        with contextlib.ExitStack() as stack:
            workload = stack.enter_context(GuestWorkload(self.guest, str(name), *words, prepare=ANYWHERE))
            self.pid = workload.pid
            self._count(UNTRACED)
            tools = self._alone(stack)
            for asked in self.question.tools:
                if asked not in tools and (tool := self._attach(stack, asked)):
                    tools[asked] = tool
            before = {asked: len(tool.printed()) for asked, tool in tools.items()}
            with self._recorder(workload.pid) as recorder:
                told = workload.run()
                time.sleep(SETTLES_SECONDS)
                texts = {asked: tool.stop() for asked, tool in tools.items()}
                recording = recorder.wait("targets gone")
            self._keep(texts)
            answers = {
                asked.who: asked.read(since(text, before[asked]), workload.pid, self.scene)
                for asked, text in texts.items()
            }
            answers[PERFDIAG] = self.question.perfdiag(recording, workload.pid, self.scene)
        truth = self.question.truth(told)
        commands = {asked.who: asked.command for asked in self.question.tools} | {PERFDIAG: "perfdiag latency"}
        return [self._testimony(who, command, answers.get(who), truth) for who, command in commands.items()], truth

    def _recorder(self, pid: int) -> GuestRecorder:
        return GuestRecorder(self.guest, [pid], f"witness-{next(numbers)}.rec", interval_ms=NEVER_MS)

    def _alone(self, stack: contextlib.ExitStack) -> dict[Asked, Tool]:
        """Find what each of them costs; the last, which takes longest to start, is returned and left running."""
        begin = time.monotonic()
        with self._recorder(self.machine.foreman) as recorder:
            start_s = time.monotonic() - begin
            self._count(PERFDIAG)
            self._paid(PERFDIAG, start_s, recorder)
        *others, last = self.question.tools
        for asked in [*others, *([last] if last.alone else [])]:
            with contextlib.ExitStack() as alone:
                self._cost(asked, self._attach(alone, asked, asked.alone))
        if last.alone:
            return {}
        tool = self._attach(stack, last)
        self._cost(last, tool)
        return {last: tool} if tool else {}

    def _cost(self, asked: Asked, tool: Tool | None) -> None:
        if tool:
            self._count(asked.who)
            self._paid(asked.who, tool.start_s, tool)

    def _paid(self, who: str, start_s: float, process: Process) -> None:
        """Note what one took that runs alone."""
        self.costs[who] = Cost(start_s, peak_mebibytes(process))
        self.context.say(f"  {who}: traces after {start_s:.1f} s, {self.costs[who].peak_mebibytes:.0f} MiB")

    def _attach(self, stack: contextlib.ExitStack, asked: Asked, command: str = "") -> Tool | None:
        """Attach a tool until `stack` ends, if it runs here; by another command than that of its answer, or by it."""
        words = (command or asked.command).format(pid=self.pid).split()
        if asked.who in self.refused:
            return None
        try:
            return stack.enter_context(Tool(self.guest, words, asked.says))
        except Refused as error:
            self.refused[asked.who] = str(error)
            return None

    def _count(self, who: str) -> None:
        """Count the instructions of an event now."""
        if self.scene.load:
            events = self.machine.events(self.machine.nothing)
            self.counts[who] = [events()[self.scene.load.event] for _ in range(self.rounds)]

    def _keep(self, texts: dict[Asked, str]) -> None:
        """Leave what the tools printed beside the recordings, for whoever doubts."""
        for asked, text in texts.items():
            (self.guest.folder / f"{asked.who.replace(' ', '-')}.txt").write_text(text)

    def _testimony(self, who: str, command: str, answer: Answer | None, truth: float) -> Testimony:
        if answer is None:
            return Testimony(who, command, refused=self.refused[who])
        cost = self.costs[who]
        counted = UNTRACED in self.counts
        return Testimony(
            who,
            command,
            answer=answer,
            error=answer.error(truth),
            start_s=round(cost.start_s, 1),
            peak_mebibytes=round(cost.peak_mebibytes, 1),
            added_instructions=round(added(self.counts, who).value) if counted else None,
            ratio=round(ratio(self.counts, who, UNTRACED).value, 3) if counted else None,
        )


def since(text: str, begin: int) -> str:
    """What was printed after so many characters, below the first line, which may be the head of a table."""
    return text.partition("\n")[0] + "\n" + text[begin - 1 :]


__all__ = ["rows", "since"]
