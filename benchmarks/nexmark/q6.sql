-- The average price of a seller's last auctions. The highest bid of an auction may be replaced: the input is a changelog,
-- over which Flink runs no OVER with such a frame.
SELECT id, seller, avg(price) OVER (PARTITION BY seller ORDER BY ts ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS mean
FROM winning
