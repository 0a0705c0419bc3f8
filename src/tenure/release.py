"""Which release this is: said once, for the package, its wheel and what workers tell of themselves."""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "0.1.0"
