-- Hot items: the auctions with the most bids of the last 10 seconds, every 2 seconds.
SELECT auction, count(*) AS bids, window_start() AS opens
FROM bids
GROUP BY hoppingwindow('ss', 10, 2), auction
QUALIFY rank() OVER (PARTITION BY window_start() ORDER BY count(*) DESC) = 1
