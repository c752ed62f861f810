CREATE STREAM orders (ts TIMESTAMP, shop STRING, amount DOUBLE,
                      WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
WITH (connector = 'json', path = '{orders}', maxFilesPerTrigger = '1');

CREATE SINK totals WITH (connector = 'parquet', path = '{totals}');

INSERT INTO totals
SELECT window_start() AS opens, window_end() AS closes, shop,
       count(*) AS orders, sum(amount) AS total, max(amount) AS largest
FROM orders
GROUP BY tumblingwindow('ss', 20), shop;
