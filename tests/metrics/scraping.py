"""Scrapes, read by the parser of prometheus_client itself."""

from __future__ import annotations

import http.client
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

__all__ = ["Scrape", "ask", "scrape"]


class Scrape:
    """What one scrape told."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._samples = [s for family in self.families.values() for s in family.samples]

    def value(self, name: str, **labels: str) -> float:
        """The one sample of this name with these labels; a histogram's le may be among them."""
        [found] = [s.value for s in self._samples if s.name == name and s.labels == labels]
        return float(found)

    def labels(self, name: str) -> list[dict[str, str]]:
        """The labels under which something of this name is told."""
        return [s.labels for s in self._samples if s.name == name]


def scrape(registry: CollectorRegistry) -> Scrape:
    """What the registry tells now."""
    return Scrape(generate_latest(registry).decode())


def ask(port: int, method: str = "GET", path: str = "/metrics", **headers: str) -> tuple[int, Any, bytes]:
    """Status, headers and body of one request to this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()
