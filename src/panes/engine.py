"""The façade: streams in, DataFrame out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from panes.catalog import Catalog, Column, Stream, heartbeats
from panes.compile import Compiled, compile_query
from panes.declare import declare
from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.stateful import StatefulFunction
from panes.options import redaction_of
from panes.options.stream import Length, StreamOptions
from panes.physical.plan import is_streaming
from panes.script import Step, only_step, steps
from panes.source import Span
from panes.spark.installed import check_spark
from panes.sql.parameters import Args, with_args
from panes.sql.statements import InsertInto

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from panes.spark.report import Report
    from panes.spark.rows import ShowRows
    from panes.why.plan import QueryPlan


class Engine:
    """SQL windows over Spark DataFrames.

    `spark` is the session to run in; without one, it is the session that is there, and else an embedded local Spark,
    started when first needed. `shards` is the number of shards of keyed operators, at most so many partitions share the
    work; by default one for each of the session's shuffle partitions. `packages` are Maven coordinates of jars for an
    embedded Spark; those of connectors that are declared before it starts are added to them. `settings` are Spark's, by
    name: an embedded Spark starts with them, `spark.master` and `spark.hadoop.…` too. In a session that is there
    already, or is given, they are set for good; one that it does not let be changed is refused.

    >>> import panes
    >>> engine = panes.Engine()
    >>> orders = engine.spark.createDataFrame([(1, "a", 3), (2, "b", 5), (3, "a", 4)], "id int, shop string, v int")
    >>> stream = engine.stream("orders", orders, key=["id"])
    >>> result = engine.sql("SELECT id, v - lag(v, 1, 0) OVER (PARTITION BY shop ORDER BY id) AS rise FROM orders")
    >>> sorted((row.id, row.rise) for row in result.collect())
    [(1, 3), (2, 5), (3, 1)]
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        shards: int | None = None,
        packages: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        check_spark()
        self._spark = spark
        self._packages = tuple(packages)
        self._settings = dict(settings or {})
        self._shards = shards
        self.frames: dict[str, DataFrame] = {}
        self.catalog = Catalog(tables=self._table)
        self.catalog.redacted = redaction_of(self._settings)
        self.functions = Functions()
        if spark is not None:
            from panes.spark.session import give, prepare, redaction, too_many_partitions

            give(spark, self._settings)
            prepare(spark)
            advice = too_many_partitions(spark)
            if advice is not None:
                warnings.warn(advice, stacklevel=2)
            self.catalog.redacted = redaction(spark)

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            from panes.spark.packages import needed_packages
            from panes.spark.session import embedded, redaction

            needed = needed_packages([*self.catalog.streams, *self.catalog.sinks], self._packages, self._settings)
            self._spark = embedded(packages=[*self._packages, *needed], settings=self._settings)
            self.catalog.redacted = redaction(self._spark)
        return self._spark

    def stream(
        self,
        name: str,
        source: DataFrame | str,
        *,
        time: str | None = None,
        watermark: Length | None = None,
        key: Sequence[str] = (),
        changelog: bool = False,
        sequence: str | None = None,
        state_ttl: Length | None = None,
        heartbeat: Length | None = None,
        idle_timeout: Length | None = None,
        on_inconsistency: str = "fail",
        preimages: str = "maybe",
    ) -> Stream:
        """Register a DataFrame, streaming or batch, under a name for SQL; a text names a table to read as a stream.

        `engine.stream("t", "lake.events")` is `engine.stream("t", spark.readStream.table("lake.events"))`; for a table
        as a batch give `spark.table("lake.events")`, or name it in FROM: tables that Spark knows need no declaration.

        A watermark of its own, as the last step (`df.withWatermark("ts", "10 seconds")`), is adopted: `time` and
        `watermark` are its column and its delay.

        >>> import panes
        >>> engine = panes.Engine()
        >>> ticks = engine.spark.readStream.format("rate").load()
        >>> stream = engine.stream("ticks", ticks, time="timestamp", watermark="2 seconds", key=["value"])
        >>> stream.streaming, stream.column_names
        (True, ('timestamp', 'value'))
        """
        from panes.spark.adopted_watermark import adopted

        df = self._table_stream(name, source) if isinstance(source, str) else source
        options = StreamOptions(
            time=time,
            watermark=watermark,
            key=key,
            changelog=changelog,
            sequence=sequence,
            state_ttl=state_ttl,
            heartbeat=heartbeat,
            idle_timeout=idle_timeout,
            on_inconsistency=on_inconsistency,
            preimages=preimages,
        )
        if (taken := adopted(name, df, options)) is not None:
            df, options = taken
        columns = [Column(field.name, field.dataType.simpleString()) for field in df.schema.fields]
        stream = replace(declare(name, columns, options, streaming=df.isStreaming), adopted=taken is not None)
        self.catalog.streams.put(stream)
        self.frames[name.lower()] = df
        return stream

    def register(self, function: StatefulFunction | type) -> None:
        """Add a stateful function of your own, decorated with `@panes.stateful`, under a name that nothing else has.

        >>> import panes
        >>> @panes.stateful(returns="bigint", initial=0)
        ... def running(state, x):
        ...     return state + x, state + x
        >>> engine = panes.Engine()
        >>> engine.register(running)
        >>> stream = engine.stream("t", engine.spark.range(4).coalesce(1))
        >>> sorted(row.r for row in engine.sql("SELECT running(id) AS r FROM t").collect())
        [0, 1, 3, 6]
        """
        from panes.spark.session import is_spark_function

        self.functions.stateful.register_function(function, lambda name: is_spark_function(name, self._spark))

    def sql(self, query: str, args: Args | None = None) -> DataFrame:
        """The result of a query as a DataFrame. `args` are the values of `:name` or `?`, as in `spark.sql`.

        Other statements are carried out at once. As with `spark.sql`, SHOW, DESCRIBE and EXPLAIN give rows, and what
        declares or drops something gives none. An INSERT is refused: `engine.run` runs it until it ends.

        >>> import panes
        >>> engine = panes.Engine()
        >>> engine.sql("CREATE VIEW few AS SELECT id FROM range(100) WHERE id < :most", args={"most": 3}).collect()
        []
        >>> [row.view for row in engine.sql("SHOW VIEWS").collect()]
        ['few']
        >>> sorted(row.id for row in engine.sql("SELECT id FROM few").collect())
        [0, 1, 2]
        """
        from panes.spark.answers import answer

        query = with_args(query, args)
        step = only_step(query, self.catalog, self.functions)
        if not isinstance(step, Compiled):
            return answer(step, self.spark)
        if isinstance(step.statement, InsertInto):
            hint = "Run it with engine.run, or take its SELECT and write the result with writeStream."
            raise PanesError("unsupported-clause", "engine.sql runs no INSERT", step.statement.span, hint)
        return self._frame(step, Span(self.catalog.source(query), 0, len(query)))

    def explain(self, query: str, format: str = "text", args: Args | None = None) -> str:
        """The logical and the physical plan of a query, as a table or as JSON; a notebook shows the table as a tree.

        >>> import panes
        >>> engine = panes.Engine()
        >>> stream = engine.stream("t", engine.spark.range(3))
        >>> print(engine.explain("SELECT lag(id) AS before FROM t").partition("\\n\\nphysical")[0])
        logical plan
        id                     | info
        -----------------------+--------------------------
        DataSink_1             | sink=result
        └─Project_2            | fields=[col_1 -> before]
          └─StatefulFunction_3 | calls=[lag(id) -> col_1]
            └─DataSource_4     | stream=t, columns=[id]
        """
        if format not in ("text", "json"):
            raise ValueError(f"format is 'text' or 'json', not {format!r}")
        compiled = self.compile(with_args(query, args))
        return compiled.explain() if format == "text" else compiled.explain_json()

    def run(
        self,
        script: str,
        *,
        checkpoint: str | Path | None = None,
        once: bool = False,
        flush: bool = False,
        show: Callable[[Step], None] = lambda step: None,
        report: Callable[[Report], None] = lambda report: None,
        stopped: Callable[[], bool] = lambda: False,
        name: str = "",
        every: str | None = None,
        on_error: str = "stop",
        failed: Callable[[str, Exception], None] = lambda query, error: None,
        rows: ShowRows | None = None,
        started: Callable[[list[str]], None] = lambda queries: None,
        plans: Callable[[Mapping[str, QueryPlan]], None] = lambda plans: None,
    ) -> None:
        """Run a script: declarations take effect at once, each INSERT runs as a query of its own until it ends.

        `checkpoint` is the folder for the state of all INSERTs (without one, a temporary folder, removed at the end);
        `once` ends once all available input has been read; `flush` ends the input then: everything that is open
        is emitted, and the checkpoint is sealed. `show` gets the outcome of each statement, `report` that of each
        micro-batch; the run stops, and can go on later, when `stopped` says so. A micro-batch begins `every` so often,
        such as '10 seconds', or as soon as the one before is done. With `on_error='continue'` the other queries go on
        when one fails, and its error is raised at the end; `failed` is told at once. `started` gets the names of the
        queries when they run, and `plans` before that what each can wait for. `rows` gets the rows of each SELECT
        without INSERT, which starts anew in each run; without it they are compiled and not run.

        >>> import panes, tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "in").mkdir()
        >>> (folder / "in/0.json").write_text('{"k": "a", "ts": "2024-01-01T12:00:00Z"}') > 0
        True
        >>> panes.Engine().run(
        ...     f'''
        ...     CREATE STREAM t (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts)
        ...     WITH (connector = 'json', path = '{folder}/in');
        ...     CREATE SINK counts WITH (connector = 'json', path = '{folder}/out');
        ...     INSERT INTO counts SELECT k, count(*) AS n FROM t GROUP BY tumblingwindow('ss', 10), k;
        ... ''',
        ...     once=True,
        ...     flush=True,
        ... )
        >>> panes.Engine().spark.read.json(f"{folder}/out").collect()
        [Row(k='a', n=1)]
        """
        from panes.spark import runner
        from panes.spark.failures import masked_failures
        from panes.spark.inserts import Insert, insert
        from panes.spark.rows import show_frame
        from panes.spark.run_options import Run
        from panes.spark.selects import select

        if on_error not in ("stop", "continue"):
            raise ValueError(f"on_error is 'stop' or 'continue', not {on_error!r}")
        folders = runner.checkpoint_folder(checkpoint), runner.checkpoint_folder(None)
        with folders[0] as folder, folders[1] as temporary, masked_failures():
            inserts: list[Insert] = []
            selects: list[Insert] = []
            for step in steps(script, self.catalog, self.functions, name):
                show(step)
                if not isinstance(step, Compiled):
                    continue
                if step.physical.sink is not None:
                    inserts.append(insert(step, self.catalog, folder, inserts))
                elif rows is not None and is_streaming(step.physical):
                    selects.append(select(step, self.catalog, temporary, len(selects) + 1))
                elif rows is not None:
                    show_frame(self._frame(step, step.statement.span), "select", None, rows)
            if inserts or selects:
                how = Run(
                    self.spark,
                    self._registered(),
                    self._shards,
                    self.functions,
                    once,
                    flush,
                    report,
                    stopped,
                    every,
                    on_error == "continue",
                    failed,
                    rows or (lambda rows: None),
                    started,
                    plans,
                )
                runner.run([*inserts, *selects], folder, how)

    @property
    def shards(self) -> int:
        from panes.spark.session import shards_of

        return self._shards or shards_of(self.spark)

    def compile(self, query: str) -> Compiled:
        """A query in all its stages: statement, logical plan, physical plan."""
        return compile_query(query, self.catalog, self.functions)

    def _frame(self, compiled: Compiled, text: Span | None) -> DataFrame:
        """The DataFrame of a query that stands in `text`."""
        from panes.spark.build import Builder
        from panes.spark.failures import masked_failures
        from panes.spark.refusals import underlined_in
        from panes.spark.sources import check_no_dead_letters, declared, streams_of

        beats = heartbeats(self.catalog.streams)
        frames = self._registered()
        with masked_failures(), underlined_in([*([text] if text is not None else []), *self.catalog.view_texts()]):
            streams = streams_of(compiled.physical, self.catalog)
            check_no_dead_letters(streams)
            frames |= declared(streams, frames, self.spark)
            builder = Builder(self.spark, frames, self.shards, self.functions, heartbeats=beats)
            return builder.build(compiled.physical)

    def _registered(self) -> dict[str, DataFrame]:
        """The DataFrames of streams that have not been dropped since."""
        return {name: df for name, df in self.frames.items() if self.catalog.streams.get(name) is not None}

    def _table_stream(self, name: str, table: str) -> DataFrame:
        from panes.spark.tables import table_stream

        return table_stream(name, table, self.spark)

    def _table(self, name: str) -> Stream | None:
        """A table that only Spark knows, as a batch input."""
        if self._spark is None or not self._spark.catalog.tableExists(name):
            return None
        df = self._spark.table(name)
        columns = tuple(Column(field.name, field.dataType.simpleString()) for field in df.schema.fields)
        return Stream(name, columns, streaming=df.isStreaming)
