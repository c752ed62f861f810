-- Totals per shop and 20 seconds, and the orders that are far above their shop's average so far.
--   panes run script.sql --flush              shows the totals, and writes the large orders to large/
--   panes run script.sql --checkpoint state   waits for new files in data/ until Ctrl-C
--   panes check script.sql                    only looks for mistakes
CREATE STREAM orders (
  ts TIMESTAMP, shop STRING, amount DOUBLE,
  WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS
) WITH (connector = 'json', path = 'data');

SELECT window_start() AS opens, window_end() AS closes, shop, count(*) AS orders, sum(amount) AS total
FROM orders
GROUP BY tumblingwindow('ss', 20), shop;

CREATE SINK large WITH (connector = 'json', path = 'large');

INSERT INTO large
SELECT ts, shop, amount, acc_avg(amount) OVER (PARTITION BY shop) AS average
FROM orders
WHERE amount > 2 * acc_avg(amount) OVER (PARTITION BY shop);
