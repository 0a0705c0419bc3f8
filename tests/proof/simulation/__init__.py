"""A deterministic simulation: the real worker, janitor and cron on a virtual clock, among faults drawn from a seed.

Everything runs in one OS thread. What is a thread to the worker is a greenlet here, and the hub decides which one goes on:
the same seed, the same trace. The store is a real SQLite database, in memory; only the way to it is bad.
"""
