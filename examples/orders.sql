-- Totals per shop and 20 seconds, from JSON files to the console.
--   panes run examples/orders.sql --flush
CREATE STREAM orders (ts TIMESTAMP, shop STRING, amount DOUBLE,
                      WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
WITH (connector = 'json', path = 'examples/orders', maxFilesPerTrigger = '1');

CREATE SINK screen WITH (connector = 'console');

INSERT INTO screen
SELECT window_start() AS opens, window_end() AS closes, shop, count(*) AS orders, sum(amount) AS total
FROM orders
GROUP BY tumblingwindow('ss', 20), shop;
