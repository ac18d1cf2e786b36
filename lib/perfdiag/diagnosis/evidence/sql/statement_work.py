"""What a statement computes, by the functions of its server that samples stand below: that decides what to change.

An index helps where rows are read and thrown away, and neither where they are sorted nor where a procedure runs a
statement for each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from perfdiag.diagnosis.evidence.cpu.stack_samples import FUNCTIONS, CpuSamples, Part
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, EvidenceKind
from perfdiag.model.stacks.symbols import any_begins, module_of, readable
from perfdiag.recording import schema

POSTGRESQL, MARIADB, MYSQL = "postgresql", "mariadb", "mysql"


@dataclass(frozen=True)
class StatementWork:
    """One kind of it."""

    words: str  # "sorts rows"
    functions: tuple[str, ...]  # how their names begin, C++ with its scopes
    remedy: str
    unless: tuple[str, ...] = ()  # below these it is over: what a scan of the stack finds is left from before
    modules: tuple[str, ...] = ()  # libraries whose code the sample stands in, instead of functions


_INDEX = "an index on what it filters and joins by: rows that are read and thrown away take the time"
_INDEX_IN_ORDER = "an index in that order, or fewer rows and columns"
_JOIN_INSTEAD = "a join instead, where its plan shows it once for each row; else an index for it"
_TEMPORARY = "temporary files"
# Of MariaDB and MySQL alike.
_FEWER_JOINS = "a lower optimizer_search_depth, or fewer joins"
_PROCEDURE = StatementWork(
    "runs a procedure",
    ("sp_head::execute", "sp_instr_stmt"),
    "look at the statements inside; one statement for all rows beats a loop",
)
_SORTS_IN_FILES = StatementWork(
    f"sorts rows in {_TEMPORARY}",
    ("merge_many_buff", "merge_buffers"),
    "an index in that order, or a larger sort_buffer_size",
)
# Those that contain others stand first: a procedure runs statements, a subquery reads rows.
KINDS: dict[str, Sequence[StatementWork]] = {
    POSTGRESQL: (
        StatementWork("checks foreign keys", ("RI_FKey",), "an index on the columns that refer to its table"),
        StatementWork(
            "runs triggers",
            ("ExecASTriggers", "ExecBRInsertTriggers", "ExecCallTriggerFunc"),
            "fewer or cheaper triggers",
        ),
        StatementWork(
            "runs a function",
            ("plpgsql_exec_function", "fmgr_sql"),
            "look at the statements inside (auto_explain.log_nested_statements); one for all rows beats a loop",
        ),
        StatementWork("compiles its plan (JIT)", (), "SET jit = off", modules=("libLLVM",)),
        StatementWork(
            "plans",
            ("standard_planner", "standard_join_search"),
            "prepared statements, or a lower join_collapse_limit",
            unless=("standard_ExecutorRun",),
        ),
        StatementWork("runs a subquery", ("ExecScanSubPlan", "ExecSetParamPlan"), _JOIN_INSTEAD),
        StatementWork(
            "matches patterns",
            ("pg_regexec", "textregexeq", "textlike", "texticlike", "UTF8_MatchText"),
            "an index for patterns (pg_trgm)",
        ),
        StatementWork(
            "reads JSON", ("jsonb_", "json_", "JsonPath", "executeJsonPath"), "columns, or an index on the expression"
        ),
        StatementWork(
            "unpacks large values",
            ("pglz_decompress", "LZ4_decompress", "detoast_attr"),
            "fewer or smaller columns in its list",
        ),
        StatementWork(
            "compresses large values",
            ("pglz_compress", "LZ4_compress", "toast_compress_datum"),
            "default_toast_compression = lz4, or SET STORAGE EXTERNAL for columns whose values are compressed already",
        ),
        StatementWork(
            f"sorts rows in {_TEMPORARY}",
            ("mergeruns", "dumptuples", "LogicalTape"),
            "an index in that order, or more work_mem",
        ),
        StatementWork("sorts rows", ("tuplesort_performsort", "tuplesort_put"), _INDEX_IN_ORDER),
        StatementWork("reads whole tables", ("heap_getnextslot", "SeqNext", "ExecSeqScan"), _INDEX),
        StatementWork(
            f"hashes rows in {_TEMPORARY}", ("hashagg_spill", "ExecHashJoinSaveTuple"), "more work_mem, or fewer rows"
        ),
        StatementWork(
            "hashes rows",
            ("MultiExecHash", "ExecScanHashBucket", "ExecHashTableInsert", "LookupTupleHashEntry"),
            "fewer rows: filters that apply before the join",
        ),
        StatementWork(
            "compares each row of one table with each of another",
            ("ExecNestLoop", "ExecMaterial"),
            _INDEX,
            unless=("ExecIndexScan", "ExecIndexOnlyScan", "index_getnext", "_bt_"),
        ),
    ),
    MARIADB: (
        _PROCEDURE,
        StatementWork("runs a subquery", ("subselect_", "Item_subselect", "Item_exists_subselect"), _JOIN_INSTEAD),
        StatementWork(
            "opens tables",
            ("open_table",),
            "a larger table_open_cache and table_definition_cache, where it opens the same ones again (SHOW GLOBAL"
            " STATUS LIKE 'Opened_table%'); of information_schema ask for fewer tables, or for columns that need none"
            " opened",
        ),
        StatementWork(
            "plans",
            ("best_access_path", "greedy_search", "choose_plan"),
            _FEWER_JOINS,
            unless=("JOIN::exec", "do_select"),
        ),
        StatementWork(
            "matches patterns", ("Item_func_regexp", "Item_func_like", "Regexp_processor_pcre"), "an index, or FULLTEXT"
        ),
        StatementWork("reads JSON", ("Item_func_json", "json_"), "generated columns with an index"),
        _SORTS_IN_FILES,
        StatementWork("sorts rows", ("filesort", "Filesort_buffer", "SORT_INFO"), _INDEX_IN_ORDER),
        StatementWork("reads whole tables", ("rr_sequential", "ha_innobase::rnd_next", "handler::ha_rnd_next"), _INDEX),
        StatementWork("compares each row of one table with each of another", ("JOIN_CACHE", "JOIN_TAB_SCAN"), _INDEX),
    ),
    MYSQL: (
        _PROCEDURE,
        StatementWork(
            "runs a subquery",
            ("Item_subselect", "Item_singlerow_subselect", "Item_exists_subselect", "Item_in_subselect"),
            _JOIN_INSTEAD,
        ),
        StatementWork("opens tables", ("open_table_from_share",), "a larger table_open_cache"),
        StatementWork(
            "plans",
            ("Optimize_table_order", "FindBestQueryPlan"),
            _FEWER_JOINS,
            unless=("Query_expression::ExecuteIteratorQuery",),
        ),
        StatementWork(
            "matches patterns", ("Item_func_like", "Item_func_regexp", "regexp::"), "an index, or a FULLTEXT index"
        ),
        StatementWork("reads JSON", ("Item_func_json", "get_json_wrapper"), "generated columns with an index"),
        _SORTS_IN_FILES,
        StatementWork("sorts rows", ("filesort", "SortingIterator::DoSort"), _INDEX_IN_ORDER),
        StatementWork(
            "groups rows in a temporary table",
            ("temptable::", "TemptableAggregateIterator"),
            "an index on what it groups by",
        ),
        StatementWork(
            "hashes rows", ("HashJoinIterator",), "an index on what it joins by, or filters that apply before the join"
        ),
        StatementWork("reads whole tables", ("TableScanIterator", "handler::ha_rnd_next"), _INDEX),
    ),
}


@dataclass(frozen=True)
class WorkFound:
    """The kind that most samples show."""

    kind: StatementWork
    part: Part

    @property
    def evidence(self) -> Evidence:
        """Return the samples."""
        text = f"it {self.kind.words}: {self.part} of CPU samples, by the functions they stand below"
        return Evidence(text, self.part.share, "share", FUNCTIONS, self.part.error, kind=EvidenceKind.FUNCTIONS)


def work_of(server: str, samples: CpuSamples) -> WorkFound | None:
    """Return the first kind of a server below whose functions most samples stand; None of too few, or of other work."""
    if samples.count < cpu_policy.samples_for_function:
        return None
    for kind in KINDS.get(server, ()):
        part = samples.part(partial(_is_of, kind))
        if part.share - part.error >= cpu_policy.hot_spot_share:
            return WorkFound(kind, part)
    return None


def _is_of(kind: StatementWork, stack: schema.Stack) -> bool:
    names = [readable(frame) for frame in stack.user]
    if kind.modules:
        return bool(stack.user) and module_of(stack.user[0]).startswith(kind.modules)
    return any_begins(names, kind.functions) and not (kind.unless and any_begins(names, kind.unless))
