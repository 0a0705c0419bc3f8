"""The handlers, by the names that settings give them."""

from __future__ import annotations

from tenure.gateway.handlers.auth import AuthHandler
from tenure.gateway.handlers.base import GaveUp, Handler, Misfit
from tenure.gateway.handlers.echo import EchoHandler
from tenure.gateway.handlers.http import HttpHandler
from tenure.gateway.handlers.python import PythonHandler

__all__ = ["HANDLERS", "GaveUp", "Handler", "Misfit"]

HANDLERS: dict[str, type[Handler]] = {
    "python": PythonHandler,
    "http": HttpHandler,
    "echo": EchoHandler,
    "auth": AuthHandler,
}
