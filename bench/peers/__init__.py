"""`make bench`: Tenure beside other job queues, the same work in one interleaved run."""
