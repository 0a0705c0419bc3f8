"""Measurements; see each module for what it measures."""
