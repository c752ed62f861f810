-- New users of each 10 seconds: one side of Nexmark's query 8, which joins them with the sellers of the same time.
SELECT id, name, window_start() AS opens
FROM persons
GROUP BY tumblingwindow('ss', 10), id, name
