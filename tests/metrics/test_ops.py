"""What ships for Prometheus and Grafana asks for metrics and labels that there are, and is what those tools take."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from tenure.metrics.names import METRICS
from tests.support.child import ROOT

RULES = yaml.safe_load((ROOT / "src" / "tenure" / "ops" / "alerts.yml").read_text())
BOARD = json.loads((ROOT / "src" / "tenure" / "ops" / "grafana.json").read_text())
KNOWN = {
    name: {*m.labels, *(("le",) if name.endswith("_bucket") else ())}
    for m in METRICS
    for name in ([m.told] if m.type != "histogram" else [f"{m.name}_{end}" for end in ("bucket", "sum", "count")])
}  # fmt: skip
FROM_SCRAPING = {"job", "instance"}
_MISSING = object()
ALERTS: list[dict[str, Any]] = [rule for group in RULES["groups"] for rule in group["rules"]]
PANELS: list[dict[str, Any]] = [p for p in BOARD["panels"] if p["type"] != "row"]
EXPRS = [
    *((rule["alert"], rule["expr"]) for rule in ALERTS),
    *((f"{p['title']} {t['refId']}", t["expr"]) for p in PANELS for t in p["targets"]),
]
SELECTED = re.compile(r"\b(tenure_\w+)(?:\{([^}]*)\})?")
GROUPED = re.compile(r"\b(?:by|without|on) \(([^)]*)\)")


@pytest.mark.parametrize(("about", "expr"), EXPRS, ids=[about for about, _ in EXPRS])
def test_an_expression_asks_for_what_there_is(about: str, expr: str) -> None:
    used = SELECTED.findall(expr)
    assert used, "it asks for nothing of ours"
    labels: set[str] = set()
    for name, selector in used:
        assert name in KNOWN, name
        asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))
        assert asked <= KNOWN[name] | FROM_SCRAPING
        labels |= KNOWN[name]
    for names in GROUPED.findall(expr):
        assert {n.strip() for n in names.split(",")} <= labels | FROM_SCRAPING
    assert expr.count("(") == expr.count(")")
    assert expr.count("{") == expr.count("}")


def test_an_alert_says_what_is_wrong_and_how_bad_that_is() -> None:
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}


@pytest.mark.parametrize(
    "metric",
    [
        "tenure_queue_oldest_ready_seconds", "tenure_leases_overdue", "tenure_workers", "tenure_outages_total",
        "tenure_schedules_overdue", "tenure_jobs_ended_total", "tenure_gateway_requests_total", "tenure_store_up",
        "tenure_queue_dead",
    ],
)  # fmt: skip
def test_what_should_wake_somebody_is_alerted_on_and_shown(metric: str) -> None:
    assert any(metric in rule["expr"] for rule in ALERTS)
    assert any(metric in t["expr"] for p in PANELS for t in p["targets"])


def test_the_dashboard_is_laid_out() -> None:
    ids = [p["id"] for p in BOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for place in (p["gridPos"] for p in BOARD["panels"]):
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
    assert {v["name"] for v in BOARD["templating"]["list"]} == {"datasource", "job", "queue", "kind"}


def test_grafana_s_own_schema_knows_every_word_of_the_dashboard() -> None:
    """Read by Grafana's types for each panel, and written again by them: what they do not know is not there any more."""
    plugins.register_default_plugins()
    known = json.loads(JSONEncoder().encode(Dashboard.from_json(BOARD)))
    # A copy of the query for Grafana's own settings page, which it writes and its schema leaves out.
    copies = [f"templating.list.{n}.definition" for n, v in enumerate(BOARD["templating"]["list"]) if v["type"] == "query"]  # fmt: skip
    assert list(_unknown(BOARD, known)) == copies
    misspelt = {
        **BOARD,
        "panels": [{**BOARD["panels"][1], "gridpos": {}, "options": {"colourMode": "value"}}],
    }
    known = json.loads(JSONEncoder().encode(Dashboard.from_json(misspelt)))
    assert {"panels.0.gridpos", "panels.0.options.colourMode"} <= set(_unknown(misspelt, known))


def _unknown(said: Any, known: Any, path: str = "") -> Iterator[str]:
    """Where what is said is not among what is known."""
    if isinstance(said, dict) and isinstance(known, dict):
        for name, value in said.items():
            yield from _unknown(value, known.get(name, _MISSING), f"{path}.{name}".removeprefix("."))
    elif isinstance(said, list) and isinstance(known, list) and len(said) == len(known):
        for n, (value, other) in enumerate(zip(said, known, strict=True)):
            yield from _unknown(value, other, f"{path}.{n}")
    elif said != known:
        yield path


def test_prometheus_takes_the_rules_and_the_dashboard_s_expressions(tmp_path: Path) -> None:
    """By its own tool where there is one; everything it would be told is parsed by the tests above where there is none."""
    shown = tmp_path / "shown.yml"
    rules = [{"record": f"shown:{n}", "expr": _filled(expr)} for n, (_, expr) in enumerate(EXPRS)]
    shown.write_text(yaml.safe_dump({"groups": [{"name": "shown", "rules": rules}]}))
    _promtool("check", "rules", str(ROOT / "src" / "tenure" / "ops" / "alerts.yml"), str(shown))
    assert len(rules) > len(ALERTS)


def test_prometheus_says_to_numbers_that_were_made_up_what_the_rules_should() -> None:
    """By its own tool where there is one: of every rule when it fires, and when it does not."""
    played = yaml.safe_load((ROOT / "src" / "tenure" / "ops" / "alerts_test.yml").read_text())["tests"]
    asked = [
        (one["alertname"], bool(one.get("exp_alerts"))) for test in played for one in test["alert_rule_test"]
    ]
    assert set(asked) == {(rule["alert"], fires) for rule in ALERTS for fires in (True, False)}
    _promtool("test", "rules", str(ROOT / "src" / "tenure" / "ops" / "alerts_test.yml"))


def test_an_alert_counts_from_the_first_where_a_counter_is_not_there_before_it() -> None:
    """One without labels is there from the start; the others are not before they have counted something."""
    for rule in ALERTS:
        for counted, name, span in re.findall(r"increase\(((\w+)(?:\{[^}]*\})?)\[(\w+)\]\)", rule["expr"]):
            assert not KNOWN[name] or f"({counted} unless {counted} offset {span})" in rule["expr"]


def _promtool(*args: str) -> None:
    tool = shutil.which("promtool")
    if tool is not None:
        ended = subprocess.run([tool, *args], check=False, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def _filled(expr: str) -> str:
    """As Grafana sends it."""
    return re.sub(r"\$(job|queue|kind)\b", ".*", expr.replace("$__rate_interval", "5m"))


def test_the_documentation_has_a_row_for_every_metric() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(tenure_\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$", text, re.MULTILINE)
    told = {(m.told, m.type, ", ".join(m.labels), m.help.replace("|", "")) for m in METRICS}
    assert {(name, kind, labels.strip(), about) for name, kind, labels, about in rows} == told
