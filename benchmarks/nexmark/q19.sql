-- The ten highest bids of each auction.
SELECT auction, bidder, price, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS place
FROM bids
QUALIFY place <= 10
EMIT CHANGES
