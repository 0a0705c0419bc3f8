"""The proof: what Tenure promises, under faults made on purpose, at three depths.

`make test` plays a share of each scene, `make proof` plays it whole, `make torture` plays it for as long as it is told.
"""
