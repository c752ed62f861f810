"""Random statements from the grammar of the language: most are right, some deliberately wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from .relations import COLUMNS

UNITS = ("'ss'", "'mi'", "'ms'", "'hh'", "'dd'", '"ss"')
WRONG = (
    "0",
    "-1",
    "1.5",
    "NULL",
    "'x'",
    "''",
    "a",
    "*",
    "99999999999999999999",
    "sum(1)",
    "lag(1)",
    "1 + 1",
    "TRUE",
    "()",
)
AGGREGATES = (
    "sum({x})", "count(*)", "count({x})", "count(DISTINCT {x})", "sum(DISTINCT {x})", "avg({x})", "mean({x})",
    "min({x})", "max({x})", "stddev({x})", "var_pop({x})", "first({x})", "last({x}, true)", "last_row({x})",
    "any_value({x})", "min_by({x}, {x})", "max_by({x}, {x})", "collect_list({x})", "array_agg({x})",
    "collect_set({x})", "bool_and({c})", "bool_or({c})", "every({c})", "approx_count_distinct({x})", "median({x})",
    "percentile({x}, 0.5)", "percentile({x}, array(1 / 4, 0.5))", "first({x}) IGNORE NULLS",
    "last_value({x} IGNORE NULLS)", "approx_count_distinct({x}, 0.1)", "percentile_approx({x}, 0.5)",
    "approx_percentile({x}, array(0.1, 0.9), 100)",
)  # fmt: skip
WRONG_AGGREGATES = (
    "sum()", "sum({x}, {x})", "sum(*)", "min(DISTINCT {x})", "skewness({x})", "count_if({c})", "percentile({x})",
    "sum(sum({x}))", "count(DISTINCT *)", "bool_and(1 + 1)", "first({x}, {x})", "sum({x}) IGNORE NULLS",
    "percentile({x}, 1.5)", "percentile_approx({x}, 0.5, 0)", "approx_count_distinct({x}, 0)", "max({x} IGNORE NULLS)",
    "first(x => {x})",
)  # fmt: skip
STATEFUL = (
    "lag({x})", "lag({x}, 2)", "lag({x}, 1, {x})", "lag({x}) IGNORE NULLS", "lag({x} IGNORE NULLS, 0 + 1)",
    "latest({x})", "latest({x}, 0)",
    "changed_col(true, {x})", "had_changed(false, {x}, {x})", "acc_sum({x})", "acc_avg({x}, {c})",
    "acc_min({x}, {c}, {c})", "acc_max({x})", "acc_count({x})",
)  # fmt: skip
WRONG_STATEFUL = (
    "lag()", "lag({x}, {x})", "lag({x}, -1)", "lag(DISTINCT {x})", "latest()", "changed_col({x}, {x})",
    "had_changed(true)", "acc_sum({x}, 1)", "acc_sum(sum({x}))", "row_number()", "lag(sum({x}) OVER (ORDER BY {x}))",
    "latest({x}) IGNORE NULLS", "lag({x}, 1 - 2)", "lag({x}, 4 / 2)", "lag({x}) OVER ()",
    "lag({x}) OVER (ROWS 1 PRECEDING)",
)  # fmt: skip
RANKS = ("row_number()", "rank()", "dense_rank()")
OVER_FUNCTIONS = (
    *RANKS, "percent_rank()", "cume_dist()", "ntile(4)", "lag({x})", "lead({x}, 2, {x})", "first_value({x})",
    "last_value({x}) IGNORE NULLS", "nth_value({x}, 2)", "nth_value({x}, 3) IGNORE NULLS",
    "ntile(2*2)", "nth_value({x}, 1 + 1)", "first_value({x} IGNORE NULLS)", "lead({x}, CAST(2 AS INT) IGNORE NULLS)",
)  # fmt: skip
SCALARS = (
    "abs({x})", "upper({x})", "coalesce({x}, {x}, 0)", "concat({x}, 'x')", "date_trunc('HOUR', ts)",
    "to_char({x}, '99')", "transform(tags, t -> t || {x})", "filter(tags, (t, i) -> i > {x})", "info.x", "info.y",
    "tags[{x}]", "tags[0]", "struct({x} AS p, {x})", "map('a', {x})['a']", "named_struct('q', {x}).q",
    "extract(HOUR FROM ts)", "substr({x}, 1, 2)", "CAST({x} AS STRING)", "CAST({x} AS DECIMAL(10, 2))",
    "try_cast({x} AS INT)", "{x}::double", "rand()", "current_date()", "if({c}, {x}, {x})", "nvl({x}, {x})",
    "greatest({x}, {x})", "substring({x} FROM 2)", "trim(BOTH 'x' FROM {x})", "position('a' IN {x})",
    "aggregate(tags, 0, (s, t) -> s + 1)", "transform(tags, a -> A || {x})", "exists(tags, t -> {x} IS NULL)",
    "typeof({x})", "my.func({x})", "udf({x})",
)  # fmt: skip
LITERALS = (
    "0", "1", "42", "-1", "1.5", ".5", "1e3", "10L", "2.5BD", "NULL", "TRUE", "false", "'x'", "'it''s'", '"dq"',
    "r'\\d'", "X'1F'", "DATE '2024-01-01'", "TIMESTAMP '2024-01-01 00:00:00'", "INTERVAL 1 DAY",
    "INTERVAL '1' MINUTE", "INTERVAL '1 2' DAY TO HOUR", "''", "'a\nb'", "'\U0001f600'",
)  # fmt: skip
TYPES = (
    "INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "DECIMAL(10, 2)",
    "DECIMAL", "ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<x: INT, y: ARRAY<STRING>>", "BINARY", "VARCHAR(10)", "LONG",
    "NOTATYPE", "INT[]",
)  # fmt: skip
OPTIONS = (
    "offset => INTERVAL 500 MILLISECONDS", "offset => INTERVAL 500 MILLISECONDS", "OFFSET=>-INTERVAL 1 SECOND",
    "offset => INTERVAL 8 HOURS", "zone => 'Europe/Berlin'", "zone => 'UTC'", "zone => 'Mars'", "zone =>", "size => 1",
    "offset => 1", "offset => ts - ts",
)  # fmt: skip
COMMENTS = (" ", " ", " ", "\n", "\t", "  ", " -- note; 'x'\n", " /* a ; b */ ", "\r\n")


class Grammar:
    """One statement or script after another, from one source of chance."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.columns: Sequence[str] = COLUMNS["users"]
        self.alias: str | None = None
        self.named: list[str] = []

    def script(self) -> str:
        """One to four statements, with comments and odd spaces between their words."""
        count = self.random.choice((1, 1, 1, 1, 1, 1, 2, 4))
        text = self.any_of((";", ";\n", " ; ;")).join(self.statement() for _ in range(count))
        if self.chance(0.2):
            text = "".join(word + self.any_of(COMMENTS) for word in text.split(" "))
        if self.chance(0.05):
            text = self.any_of((text.lower(), text.upper()))
        return text + self.any_of(("", "", ";", " -- end"))

    def statement(self) -> str:
        kinds: tuple[tuple[int, Callable[[], str]], ...] = (
            (70, self.query),
            (4, self.create_stream),
            (5, self.create_view),
            (2, self.create_sink),
            (4, lambda: f"INSERT INTO {self.any_of(('out', 'out', 'nowhere'))} {self.query()}{self.late()}"),
            (4, lambda: f"EXPLAIN {self.any_of(('', 'FORMAT JSON ', 'FORMAT TEXT ', 'FORMAT XML '))}{self.query()}"),
            (2, self.drop),
            (2, lambda: f"SHOW {self.any_of(('STREAMS', 'VIEWS', 'SINKS', 'TABLES', ''))}"),
            (
                2,
                lambda: (
                    f"{self.any_of(('DESCRIBE', 'DESC', 'DESCRIBE STREAM', 'DESCRIBE VIEW'))} {self.relation_name()}"
                ),
            ),
        )
        return self.random.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]()

    # ── chance ────────────────────────────────────────────────────────────────────────────────────────────────────

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def any_of(self, options: Sequence[str]) -> str:
        return self.random.choice(options)

    def maybe(self, probability: float, make: Callable[[], str]) -> str:
        return make() if self.chance(probability) else ""

    def list_of(self, make: Callable[[], str], most: int = 3) -> str:
        return ", ".join(make() for _ in range(self.random.randint(1, most)))

    # ── declarations ──────────────────────────────────────────────────────────────────────────────────────────────

    def name(self) -> str:
        return self.any_of(("s2", "s3", "hot", "users", "`odd name`", "out", "select", "col_1", "é", "a.b", "1x"))

    def relation_name(self) -> str:
        if self.chance(0.04):
            return self.name()
        return self.any_of((*COLUMNS, "users", "users", "users", "clicks"))

    def create_stream(self) -> str:
        items = [f"{self.column_name()} {self.any_of(TYPES)}{self.maybe(0.1, lambda: ' NOT NULL')}" for _ in range(3)]
        if self.chance(0.7):
            items.append("ts TIMESTAMP")
            delay = self.any_of(
                ("INTERVAL 10 SECONDS", "INTERVAL '1' MINUTE", "INTERVAL 1 MONTH", "10", "INTERVAL '1 day'")
            )
            items.append(f"WATERMARK FOR ts AS ts{self.maybe(0.8, lambda: f' - {delay}')}")
        if self.chance(0.5):
            items.append(f"PRIMARY KEY ({self.list_of(self.column_name, 2)})")
        return f"CREATE {self.replace()}STREAM {self.exists()}{self.name()} ({', '.join(items)}){self.options()}"

    def create_view(self) -> str:
        return f"CREATE {self.replace()}VIEW {self.exists()}{self.name()} AS {self.query()}"

    def create_sink(self) -> str:
        return f"CREATE {self.replace()}SINK {self.exists()}{self.name()}{self.options()}"

    def replace(self) -> str:
        return self.maybe(0.3, lambda: "OR REPLACE ")

    def exists(self) -> str:
        return self.maybe(0.2, lambda: "IF NOT EXISTS ")

    def options(self) -> str:
        options = (
            "connector = 'json'", "path = 'p'", "changelog = 'true'", "changelog = 'maybe'", "sequence = 'a'",
            "state_ttl = '1 day'", "state_ttl = 'soon'", "heartbeat = '1 second'", "on_inconsistency = 'skip'",
            "idle_timeout = '9 s'", "kafka.a.b = 'c'", "n = 5", "x", "connector = 'rate'", "connector = 'console'",
        )  # fmt: skip
        return self.maybe(0.85, lambda: f" WITH (connector = 'x', {self.list_of(lambda: self.any_of(options))})")

    def drop(self) -> str:
        kind = self.any_of(("STREAM", "VIEW", "SINK", "TABLE"))
        return f"DROP {kind} {self.maybe(0.5, lambda: 'IF EXISTS ')}{self.relation_name()}"

    def column_name(self) -> str:
        return self.any_of(("a", "b", "c", "d", "e", "user_id", "ts", "`x y`", "col_1", "col_2", "order", "é"))

    # ── queries ───────────────────────────────────────────────────────────────────────────────────────────────────

    def query(self, depth: int = 2) -> str:
        with_ = ""
        if depth and self.chance(0.1):
            with_ = f"WITH c AS ({self.query(depth - 1)}) "
        kind = self.random.choices(("plain", "stateful", "window", "over", "spark"), (2, 3, 4, 4, 1))[0]
        select: str = getattr(self, f"{kind}_select")(depth)
        return with_ + select + self.maybe(0.12, self.emit)

    def emit(self) -> str:
        return " EMIT " + self.any_of(("CHANGES", "ON WINDOW CLOSE", "IMMEDIATELY", "CHANGES", "SOMETIMES"))

    def late(self) -> str:
        return self.maybe(0.3, lambda: f" LATE ROWS INTO {self.any_of(('late', 'late', 'out', 'nowhere'))}")

    def source(self, depth: int) -> str:
        """FROM something; from here on its columns are in scope."""
        self.alias = None
        if depth and self.chance(0.2):
            inner = self.query(depth - 1)
            self.columns = self.columns[:2] if self.chance(0.9) else (*self.columns, "s")
            return f"({inner}){self.alias_of('q')}"
        name = self.relation_name()
        self.columns = COLUMNS.get(name, COLUMNS["users"])
        return name + self.alias_of("u")

    def alias_of(self, name: str) -> str:
        if self.chance(0.25):
            self.alias = name
            return self.any_of((f" {name}", f" AS {name}"))
        return ""

    def plain_select(self, depth: int) -> str:
        source = self.source(depth)
        return f"SELECT {self.items(lambda: self.value(2))} FROM {source}{self.where()}"

    def stateful_select(self, depth: int) -> str:
        source = self.source(depth)
        items = self.items(lambda: self.any_of((self.stateful(), self.value(2), self.around(self.stateful()))))
        where = self.maybe(0.4, lambda: f" WHERE {self.stateful()} {self.any_of(('> 0', 'IS NULL', 'IN (1, 2)'))}")
        return f"SELECT {items} FROM {source}{where}"

    def window_select(self, depth: int) -> str:
        source = self.source(depth)
        keys = [self.key() for _ in range(self.random.choice((0, 1, 1, 2)))]

        def item() -> str:
            kinds = (self.aggregate(), self.aggregate(), self.around(self.aggregate()), self.bound(), *keys)
            return self.any_of((*kinds, self.value(1)) if self.chance(0.05) else kinds)

        items = self.items(item, star=0.05)
        groups = [self.window(), *keys]
        if self.chance(0.03):
            groups.append(self.window())
        self.random.shuffle(groups)
        having = self.maybe(0.2, lambda: f" HAVING {self.aggregate()} > {self.value(0)}")
        return f"SELECT {items} FROM {source}{self.where()} GROUP BY {', '.join(groups)}{having}"

    def over_select(self, depth: int) -> str:
        source = self.source(depth)
        self.named = ["w"] if self.chance(0.2) else []
        items = self.items(lambda: self.any_of((self.over_call(), self.over_call(), self.value(1))))
        window = "".join(f" WINDOW {name} AS ({self.over_specification()})" for name in self.named)
        rank = self.any_of(RANKS)
        qualify = self.maybe(0.2, lambda: f" QUALIFY {rank} OVER ({self.over_specification(False)}) <= 3")
        return f"SELECT {items} FROM {source}{self.where()}{window}{qualify}"

    def spark_select(self, depth: int) -> str:
        left, right = self.relation_name(), self.relation_name()
        self.columns, self.alias = COLUMNS.get(left, ()) or COLUMNS["users"], "l"
        x = self.value(1)
        return self.any_of(
            (
                f"SELECT {x} FROM {left} l JOIN {right} r ON l.a = r.a{self.where()}",
                f"SELECT {x} FROM {left} l UNION ALL SELECT 1 FROM {right}",
                f"SELECT DISTINCT {x} FROM {left} l",
                f"SELECT {x}, count(*) FROM {left} l GROUP BY {x}",
                f"SELECT {x} FROM {left} l ORDER BY 1 LIMIT 3",
                f"SELECT {x} FROM {left} l WHERE a IN (SELECT a FROM {right})",
                f"SELECT {x}, e FROM {left} l LATERAL VIEW explode(tags) t AS e",
                f"SELECT {x}, {self.stateful()} FROM {left} l, {right} r",
                "SELECT 1",
                "VALUES (1), (2)",
                f"FROM {left} l SELECT {x}",
            )
        )

    def items(self, make: Callable[[], str], star: float = 0.15) -> str:
        def item() -> str:
            if self.chance(star):
                return self.any_of(("*", "*", "* EXCEPT (a)", "* EXCEPT (nope)", "u.*", "users.*"))
            return make() + self.maybe(
                0.4, lambda: self.any_of((" AS s", " AS t", " z", " AS `odd name`", " AS a", " AS col_1"))
            )

        return self.list_of(item, 4)

    def where(self) -> str:
        return self.maybe(0.3, lambda: f" WHERE {self.condition(2)}")

    # ── calls ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def fill(self, template: str) -> str:
        while "{x}" in template:
            template = template.replace("{x}", self.value(0), 1)
        while "{c}" in template:
            template = template.replace("{c}", self.condition(0), 1)
        return template

    def key(self) -> str:
        return self.any_of((self.column(), self.column(), self.value(1), "1", self.stateful()))

    def partition(self) -> str:
        return f"PARTITION BY {self.list_of(lambda: self.any_of((self.column(), self.column(), self.value(1))), 2)}"

    def filter(self) -> str:
        return self.maybe(0.15, lambda: f" FILTER (WHERE {self.condition(1)})")

    def aggregate(self) -> str:
        if self.chance(0.02):
            return self.fill(self.any_of(WRONG_AGGREGATES))
        return self.fill(self.any_of(AGGREGATES)) + self.filter()

    def bound(self) -> str:
        return self.any_of(("window_start()", "window_end()", "window_end()", "window_trigger()"))

    def stateful(self) -> str:
        if self.chance(0.03):
            return self.fill(self.any_of(WRONG_STATEFUL))
        call = self.fill(self.any_of(STATEFUL))
        if self.chance(0.15) and "true" not in call:
            call = call.replace("(", f"({self.any_of(('lag', 'acc_sum', 'abs'))}({self.column()}) + ", 1)
        over = ("", "", f" OVER ({self.partition()})", f" OVER ({self.partition()} WHEN {self.condition(1)})")
        return call + (self.filter() if self.chance(0.3) else self.any_of(over))

    def window(self) -> str:
        def number(least: int = 1) -> str:
            return self.any_of(WRONG) if self.chance(0.02) else str(self.random.randint(least, 60))

        unit = self.any_of(("'xx'", "ss", "1")) if self.chance(0.02) else self.any_of(UNITS)
        options = self.maybe(0.15, lambda: f", {self.any_of(OPTIONS)}") + self.maybe(
            0.05, lambda: f", {self.any_of(OPTIONS)}"
        )
        over = self.maybe(0.5, lambda: f" OVER ({self.partition()})")
        when = self.maybe(0.4, lambda: f" OVER ({self.maybe(0.7, self.partition)} WHEN {self.condition(1)})")
        call = self.any_of(
            (
                f"tumblingwindow({unit}, {number()})",
                f"tumblingwindow({unit}, {number()}{options})",
                f"hoppingwindow({unit}, {number()}, {number()}{options})",
                f"sessionwindow({unit}, {number()}{options if self.chance(0.1) else ''})",
                f"countwindow({number()}{self.maybe(0.4, lambda: f', {number()}')}){over}",
                f"slidingwindow({unit}, {number(0)}{self.maybe(0.4, lambda: f', {number(0)}')}){when}",
                f"statewindow({self.condition(1)}, {self.condition(1)}){over}",
            )
        )
        if self.chance(0.03):
            call += self.any_of((" OVER ()", " OVER (ORDER BY a)", " OVER w", " + 1", " FILTER (WHERE flag)", " AS w"))
        return call

    def over_call(self) -> str:
        call = self.fill(self.any_of((*OVER_FUNCTIONS, *AGGREGATES)))
        if self.named and self.chance(0.5):
            return call + self.any_of((" OVER w", " OVER (w)"))
        framed = "(" in call and not call.startswith(("row_number", "rank", "dense_rank", "lag", "lead", "ntile"))
        return f"{call}{self.maybe(0.1, self.filter)} OVER ({self.over_specification(framed or self.chance(0.02))})"

    def over_specification(self, framed: bool = True) -> str:
        time = next((name for name in self.columns if name in ("ts", "at", "till")), self.columns[0])
        orders = (time, time, time, f"{time}, {self.column()}", f"{self.column()} DESC NULLS LAST", f"{time} DESC")
        parts = [self.maybe(0.8, self.partition), f"ORDER BY {self.any_of(orders)}" if self.chance(0.97) else ""]
        return " ".join([*filter(None, parts), *([self.frame()] if framed and self.chance(0.6) else [])])

    def frame(self) -> str:
        unit = self.any_of(("ROWS", "ROWS", "RANGE"))
        amount = "{n}" if unit == "ROWS" or self.chance(0.2) else "INTERVAL {n} SECONDS"
        if self.chance(0.1):
            amount = self.any_of(
                ("{n} + 1", "2 * {n}") if "INTERVAL" not in amount else (f"2 * {amount}", f"- {amount}")
            )
        if self.chance(0.03):
            amount = self.any_of(WRONG)
        starts = ("UNBOUNDED PRECEDING", f"{amount} PRECEDING", f"{amount} PRECEDING", "CURRENT ROW")
        ends = ("CURRENT ROW", "CURRENT ROW", f"{amount} FOLLOWING", "UNBOUNDED FOLLOWING", f"{amount} PRECEDING")
        start, end = (
            one.replace("{n}", str(self.random.randint(0, 9))) for one in (self.any_of(starts), self.any_of(ends))
        )
        return f"{unit} {start}" if self.chance(0.3) else f"{unit} BETWEEN {start} AND {end}"

    # ── expressions ───────────────────────────────────────────────────────────────────────────────────────────────

    def column(self) -> str:
        if self.chance(0.01):
            return self.any_of(("nope", "u.nope", "users.a", "`a`", "A", "a.b.c", "col_1", "_change_type"))
        name = self.any_of(self.columns)
        return f"{self.alias}.{name}" if self.alias is not None and self.chance(0.3) else name

    def around(self, inner: str) -> str:
        """An expression with the given one somewhere in it."""
        templates = (
            "{} + 1", "coalesce({}, 0)", "CAST({} AS STRING)", "({})", "- {}", "CASE WHEN {} > 0 THEN 1 END",
            "{} IS NULL", "{}::int", "array({})[0]", "{} BETWEEN 1 AND 2", "{} IN (1, 2)", "NOT {} = 1",
            "struct({} AS q).q", "{} <=> 1", "transform(array(1), e -> e + {})", "exists(array(1), a -> a > {})",
        )  # fmt: skip
        return self.any_of(templates).replace("{}", inner)

    def value(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return self.column() if self.chance(0.75) else self.any_of(LITERALS)
        x, y = self.value(depth - 1), self.value(depth - 1)
        operator = self.any_of(("+", "-", "*", "/", "%", "||", "DIV", "&", "|", "^", "<<", ">>"))
        return self.any_of(
            (
                f"{x} {operator} {y}",
                f"({x} {operator} {y})",
                f"- {x}",
                f"CASE WHEN {self.condition(depth - 1)} THEN {x} ELSE {y} END",
                f"CASE {x} WHEN 1 THEN {y} END",
                self.scalar(),
                self.scalar(),
                self.condition(depth - 1),
            )
        )

    def scalar(self) -> str:
        """A call of Spark's, over columns that are in scope unless chance will have it otherwise."""
        known = [one for one in SCALARS if all(name in self.columns for name in ("tags", "info", "ts") if name in one)]
        return self.fill(self.any_of(SCALARS if self.chance(0.02) else known))

    def condition(self, depth: int) -> str:
        x, y = self.value(depth - 1), self.value(depth - 1)
        simple = (
            f"{x} {self.any_of(('=', '<>', '!=', '<', '<=', '>', '>=', '<=>', '=='))} {y}",
            f"{x} IS {self.maybe(0.5, lambda: 'NOT ')}NULL",
            f"{x} {self.maybe(0.3, lambda: 'NOT ')}IN (1, 2, {y})",
            f"{x} {self.maybe(0.3, lambda: 'NOT ')}BETWEEN 1 AND 2",
            f"{x} LIKE 'a%'",
            f"{x} RLIKE 'a'",
            f"{x} IS DISTINCT FROM {y}",
            self.any_of([name for name in ("flag", "ok") if name in self.columns] or ["TRUE"]),
        )
        if depth <= 0 or self.chance(0.6):
            return self.any_of(simple)
        p, q = self.condition(depth - 1), self.condition(depth - 1)
        return self.any_of((f"{p} AND {q}", f"{p} OR {q}", f"NOT {p}", f"({p})", f"NOT ({p} OR {q})", f"! ({p})"))
