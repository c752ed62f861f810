-- Totals per shop and minute, from a Kafka topic to another one: docs/reference/kafka.md.
--   panes run examples/kafka.sql --set broker=127.0.0.1:9092 --checkpoint checkpoint
CREATE STREAM orders (
  shop STRING, amount DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS
) WITH (
  connector = 'kafka', bootstrap_servers = '${broker}', topic = 'shop-orders', format = 'json',
  starting_offsets = 'earliest'
);

CREATE SINK totals WITH (connector = 'kafka', bootstrap_servers = '${broker}', topic = 'shop-totals', key = 'shop');

INSERT INTO totals
SELECT shop, window_end() AS closes, count(*) AS orders, sum(amount) AS total
FROM orders
GROUP BY tumblingwindow('mi', 1), shop;
