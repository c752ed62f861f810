-- How often each user bid in 10 seconds of the clock on the wall: the stream has no time of its own.
SELECT bidder, count(*) AS bids, window_start() AS opens
FROM bids
GROUP BY tumblingwindow('ss', 10), bidder
