"""The sentence on a target that computes: no fault, but it tells where the time goes."""

from collections.abc import Sequence

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import duration, first_of, plural, share
from perfdiag.diagnosis.evidence.cpu.common_work import common_work, serving_samples
from perfdiag.diagnosis.evidence.cpu.garbage_collection import collection
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, Hot, called_by
from perfdiag.diagnosis.evidence.request_readers import request_readers
from perfdiag.diagnosis.evidence.requests.computed_for import computed_for
from perfdiag.diagnosis.evidence.requests.unasked_sends import mostly_unasked
from perfdiag.diagnosis.evidence.target import CPU, who_computes
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Finding
from perfdiag.diagnosis.significance import plain
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import module_of, symbol_of

MOST = 0.5  # of the time
SHOWN = 2  # functions, or modules whose code has no names
LONGEST_CALLERS = 60  # characters: the problem has three lines
WORTH_NAMING = 0.05  # of all CPU samples
OWN, KERNEL, STATEMENT = "CPU-BOUND", "CPU-KERNEL-HEAVY", "SQL-SLOW-QUERY"


def computes(model: Model, findings: Sequence[Finding], *, callers: bool = True) -> str:
    """Return that the target mostly computes, and in which functions, with who calls them or, where more is to be said
    than has room, without; "" if its first finding says otherwise."""
    first = next(iter(findings), None)
    if first is None or first.id not in (OWN, KERNEL, STATEMENT) or first.share < MOST:
        return ""
    news = mostly_unasked(model)
    listened = f" {news.told}." if news else ""
    if first.id == KERNEL and (both := computes_in_both(model)):
        return f"{both}{listened}"
    whole = "request time" if model.request_time else "busy time"
    samples = serving_samples(model)
    where = _where(samples, kernel=first.id == KERNEL, callers=callers)
    if first.id != OWN:  # its headline names the work, or the statement
        return f"{first.headline} ({share(first.share)} of {whole}{f', {where}' if where else ''}).{listened}"
    garbage = ", much of it garbage collection" if collection(model, CpuSamples(model)) else ""
    code = f"own code{garbage}{f' ({where})' if where else ''}"
    asked = computed_for(model, fewest_names=1)
    who = f"{who_computes(model)} is computing{f' for {asked}' if asked else ''}"
    return f"{who}: {share(first.share)} of {whole} is {code}.{listened}"


def computes_besides(model: Model, findings: Sequence[Finding]) -> str:
    """Return, of a target whose first finding is a fault, that it computes for a good part of its time in one function;
    "" if it does not."""
    own = next((each for each in findings[1:] if each.id == OWN and each.share >= cpu_policy.bound_in_one_share), None)
    spot = serving_samples(model).hot_spot() if own else None
    return f"Besides, {share(own.share)} is own code in {spot.name}." if own and spot else ""


def computes_in_both(model: Model) -> str:
    """Return that the target mostly computes, and below which of its functions, where its own code is not most of the
    time, but together with the kernel's is; "" otherwise, or where no function of its own is below both."""
    work = common_work(model)
    if work is None:
        return ""
    whole = "request time" if model.request_time else "busy time"
    waits = f", and {share(work.waiting)} is waiting for a CPU" if work.waiting else ""
    mostly = f"{share(work.share)} of {whole} is own code and the kernel's, below {work.below}{waits}"
    return f"{who_computes(model)} is computing: {mostly}."


def computes_beside(model: Model, waited_ns: int) -> str:
    """Return that threads which read no request computed for most of a time in which nobody knows what requests waited
    for: they may have done that. "" if they did not."""
    beside = [each for each in model.threads if not each.requests_read and each.ns(*CPU)]
    cpu_ns = sum(each.ns(*CPU) for each in beside)
    if not waited_ns or cpu_ns < MOST * waited_ns:
        return ""
    by_name = sums_by_key((plain(each.comm), each.ns(*CPU)) for each in beside)
    names = first_of([name for name, _ in by_name.most_common()], SHOWN)
    where = _where(CpuSamples(model, tids=_without_readers(model)), kernel=False)
    code = f", mostly {where}" if where else ""
    others = plural(sum(each.threads for each in beside), "other thread")
    return f"Meanwhile {others} ({names}) computed for {duration(cpu_ns)}{code}."


def _without_readers(model: Model) -> set[int]:
    """Return the threads that were sampled and read no request: of many that ended only the samples have a tid."""
    return {stack.tid for stack in model.stacks} - request_readers(model)


def _where(samples: CpuSamples, *, kernel: bool, callers: bool = True) -> str:
    """Return the functions with most samples: "in inflate (zlib) called by load (app)"; of the kernel's only who called
    it, if that is known: that is what the program can change."""
    if kernel and (entrances := samples.entrances()):
        return f"called by {', '.join(entrances)}"
    hottest = samples.hottest(SHOWN, kernel=kernel)
    hot = [each for each in hottest if each.part.share > max(each.part.error, WORTH_NAMING)]
    if hot and hot[0].nameless_of is None and hot[0].part.share >= cpu_policy.hot_spot_share:
        hot = hot[:1]
    if not hot:
        return ""
    called = "" if kernel or not callers else _called(samples, hot)
    ordered = sorted(hot, key=lambda each: each.nameless_of is not None)  # "functions of git and inflate" is read wrong
    return f"in {' and '.join(_named(samples, each) for each in ordered)}{called}"


def _called(samples: CpuSamples, hot: Sequence[Hot]) -> str:
    """Return by what these functions of the program are called; "" of one without a name, which says it itself."""
    if len(hot) > 1:
        return _inside(samples, hot)
    return "" if hot[0].nameless_of else called_by(samples, LONGEST_CALLERS)


def _inside(samples: CpuSamples, hot: Sequence[Hot]) -> str:
    """Return ", inside parse (app)": what the program can change where small functions of libraries are hot; not of a
    module whose code is hot all over, as an interpreter's."""
    told = {leaf.name for leaf in hot} | {leaf.nameless_of for leaf in hot}
    path = [each.name for each in samples.hot_path() if each.name not in told and module_of(each.name) not in told]
    return f", inside {path[0]}" if path and all(samples.is_inside(leaf, path[0]) for leaf in hot) else ""


def _named(samples: CpuSamples, code: Hot) -> str:
    """Return a function by its name, or code without names by its module, and by what was called there."""
    if code.nameless_of == "anonymous":
        return "unnamed code made at run time"
    if not code.nameless_of:
        return code.name
    if ".so" in code.nameless_of:
        below = symbol_of(samples.entered_by(code))
    else:
        below = symbol_of(next((each.name for each in samples.hot_path()), ""))
    return f"unnamed functions of {code.nameless_of}{f' below {below}' if below else ''}"
