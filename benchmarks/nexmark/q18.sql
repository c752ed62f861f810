-- The last bid of each user for each auction.
SELECT bidder, auction, price, ts
FROM bids
QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY ts DESC) = 1
EMIT CHANGES
