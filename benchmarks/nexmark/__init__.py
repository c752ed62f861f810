"""Nexmark's window queries: an auction site with persons, auctions and bids; one file of SQL for each query."""
