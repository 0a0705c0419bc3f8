"""The handlers, by the names that settings give them."""

from __future__ import annotations

from tenure.gateway.handlers.base import Handler, Misfit
from tenure.gateway.handlers.python import PythonHandler

__all__ = ["HANDLERS", "Handler", "Misfit"]

HANDLERS: dict[str, type[Handler]] = {
    "python": PythonHandler,
}
