"""Upgrades: what the first release stored opens in every later one, and old and new workers share a store meanwhile."""
