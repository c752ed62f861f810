"""Queries as users write them: what the mutations start from."""

from __future__ import annotations

QUERIES = (
    "SELECT user_id, a, lag(a) FROM users",
    "SELECT user_id, a - lag(a, 1, 0) OVER (PARTITION BY user_id) AS delta FROM users WHERE a IS NOT NULL",
    "SELECT * FROM users WHERE had_changed(true, a, b) OVER (PARTITION BY user_id)",
    "SELECT changed_col(true, a), latest(v, 0.0) FROM users",
    "SELECT k, acc_sum(x, ok, n > 100) OVER (PARTITION BY k WHEN x > 0) AS run FROM clicks",
    "SELECT lag(a) FILTER (WHERE flag) OVER (PARTITION BY user_id), lag(b) IGNORE NULLS FROM users",
    "SELECT row_number() OVER (PARTITION BY user_id) AS nth, * FROM users",
    "SELECT user_id, sum(v) AS s, count(*) FROM users GROUP BY tumblingwindow('ss', 10), user_id",
    "SELECT upper(user_id) || '!', avg(v) FILTER (WHERE a > 1) FROM users"
    " GROUP BY hoppingwindow('mi', 10, 1), upper(user_id) HAVING count(*) > 2 EMIT CHANGES",
    "SELECT user_id, window_start(), window_end(), count(DISTINCT b) FROM users"
    ' GROUP BY sessionwindow("ss", 30), user_id EMIT ON WINDOW CLOSE',
    "SELECT collect_list(a), max_by(a, ts) FROM users GROUP BY countwindow(10, 5) OVER (PARTITION BY user_id)",
    "SELECT * FROM users GROUP BY statewindow(a > 0, b = 1) OVER (PARTITION BY user_id)",
    "SELECT sum(a), last_row(lag(a)), window_trigger() FROM users"
    " GROUP BY slidingwindow('ss', 10, 5) OVER (PARTITION BY user_id WHEN flag)",
    "SELECT sum(v) OVER (PARTITION BY user_id ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM users",
    "SELECT avg(v) OVER w, first_value(a) IGNORE NULLS OVER w, rank() OVER (w) FROM users"
    " WINDOW w AS (PARTITION BY user_id ORDER BY ts RANGE BETWEEN INTERVAL '5' MINUTE PRECEDING AND CURRENT ROW)",
    "SELECT a, lead(a, 2) OVER (PARTITION BY user_id ORDER BY ts) FROM users EMIT ON WINDOW CLOSE",
    "SELECT k, n, sum(n) OVER (PARTITION BY k ORDER BY n DESC NULLS LAST, x) FROM clicks EMIT CHANGES",
    "SELECT id, amount, dense_rank() OVER (PARTITION BY k ORDER BY amount DESC) AS r FROM orders QUALIFY r <= 3",
    "SELECT * FROM users QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY ts) = 1",
    "SELECT * FROM (SELECT *, rank() OVER (PARTITION BY till ORDER BY total DESC) AS rn FROM totals) WHERE rn <= 3",
    "SELECT id, k FROM orders WHERE amount BETWEEN 1 AND 10 AND k LIKE 'a%'",
    "WITH busy AS (SELECT user_id, count(*) AS n, window_end() AS till FROM users"
    " GROUP BY tumblingwindow('hh', 1), user_id HAVING n > 10) SELECT till, sum(n) FROM busy GROUP BY countwindow(5)",
    "SELECT u.user_id, t.total FROM users u JOIN totals t ON u.user_id = t.user_id",
    "SELECT k FROM clicks UNION ALL SELECT user_id FROM users",
    "SELECT count(*) FROM clicks GROUP BY k ORDER BY 1 LIMIT 10",
    "SELECT CASE WHEN a > 0 THEN 'x' WHEN b IS NULL THEN lag(user_id) ELSE cast(v AS STRING) END AS c FROM users",
    "SELECT transform(tags, t -> upper(t)), info.x + 1, tags[0], info.y FROM users WHERE size(tags) > lag(size(tags))",
    "SELECT to_char(v, '99'), date_trunc('HOUR', ts), x'1F', 10L, 1.5e3, a DIV 2, ~b, -a, !flag FROM hot",
    "SELECT a AS `a``b`, `v` AS `select`, 'it''s' AS \"q\" FROM users -- the end",
    "EXPLAIN SELECT sum(x) FROM clicks GROUP BY tumblingwindow('ss', 1), k",
    "EXPLAIN FORMAT JSON SELECT lag(n) OVER (PARTITION BY k) FROM clicks",
    "INSERT INTO out SELECT * FROM hot WHERE flag; SHOW STREAMS; SHOW VIEWS; SHOW SINKS; DESCRIBE users; DESC totals",
    "CREATE STREAM s2 (a INT NOT NULL COMMENT 'x', m MAP<STRING, ARRAY<INT>>, t TIMESTAMP_NTZ,"
    " WATERMARK FOR t AS t - INTERVAL '1' MINUTE, PRIMARY KEY (a, m)) WITH (connector = 'kafka', a.b.c = 'd');"
    " SELECT max(a) FROM s2 GROUP BY sessionwindow('ms', 500)",
    "CREATE OR REPLACE VIEW hot AS SELECT user_id, a FROM users; SELECT lag(a) FROM hot; DROP VIEW IF EXISTS hot",
    "CREATE SINK IF NOT EXISTS s3 WITH (connector = 'memory', name = 'x'); INSERT INTO s3 SELECT k FROM clicks",
)
