"""`make bench-gateway`: how many webhooks one gateway process acknowledges, beside the least that one could do instead."""
