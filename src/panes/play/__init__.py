"""`panes play`: a page on this machine that runs a query over rows that one can edit, and draws what became of them."""
