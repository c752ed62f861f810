-- Who opened an auction in each 10 seconds: the other side of Nexmark's query 8.
SELECT seller, window_start() AS opens
FROM auctions
GROUP BY tumblingwindow('ss', 10), seller
