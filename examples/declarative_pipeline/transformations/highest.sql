-- Spark's own SQL reads the table as any other.
CREATE MATERIALIZED VIEW highest AS
SELECT shop, max(rise) AS rise FROM rises GROUP BY shop;
