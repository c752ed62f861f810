-- How often each user bid in a session: until there was no bid for 10 seconds.
SELECT bidder, count(*) AS bids, window_start() AS opens
FROM bids
GROUP BY sessionwindow('ss', 10), bidder
