-- The highest bid of each 10 seconds.
SELECT window_start() AS opens, max(price) AS price, max_by(auction, price) AS auction, max_by(bidder, price) AS bidder
FROM bids
GROUP BY tumblingwindow('ss', 10)
