"""What is wrong with a store, each finding with its fix: `examine(url)` tells what `tenure doctor` shows.

It reads only, in bounded statements, and every check has a time limit of its own: one that fails is a finding itself. The one
thing written is the row by which any idle worker asks to be told of new jobs; it is removed again.
"""

from __future__ import annotations

from tenure.doctor.examine import examine
from tenure.doctor.finding import Finding, Level
from tenure.doctor.limits import Limits

__all__ = ["Finding", "Level", "Limits", "examine"]
