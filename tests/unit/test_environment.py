"""Settings from the environment: the TENURE_ names, the older ones, and what is wrong with a value."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

import tenure
from tenure.environment import Setting
from tenure.janitor.settings import janitor_settings
from tenure.worker.start import worker_settings

NAMES = {
    Setting.LEASE: ("TENURE_LEASE", "QUEUE_STUCK_TIMEOUT", timedelta(seconds=30)),
    Setting.RETAIN_DONE: ("TENURE_RETAIN_DONE", "QUEUE_DONE_RETENTION", timedelta(hours=168)),
    Setting.RETAIN_CANCELLED: ("TENURE_RETAIN_CANCELLED", None, timedelta(hours=168)),
    Setting.RETAIN_DEAD: ("TENURE_RETAIN_DEAD", None, timedelta(0)),
    Setting.RETAIN_FIGURES: ("TENURE_RETAIN_FIGURES", None, timedelta(days=90)),
    Setting.RETAIN_EVERY: ("TENURE_RETAIN_EVERY", "QUEUE_JANITOR_INTERVAL", timedelta(hours=1)),
}
ALIASED = [s for s in Setting if s.alias is not None]


def test_every_setting_has_its_names_and_its_default() -> None:
    assert {s: (s.key, s.alias, s.default) for s in Setting} == NAMES


@pytest.mark.parametrize("setting", Setting, ids=lambda s: s.key)
@pytest.mark.parametrize("blank", [None, "", "  "])
def test_without_a_value_the_default_counts(setting: Setting, blank: str | None) -> None:
    names = [n for n in (setting.key, setting.alias) if n is not None]
    assert setting.read({} if blank is None else dict.fromkeys(names, blank)) == setting.default


@pytest.mark.parametrize("setting", Setting, ids=lambda s: s.key)
def test_the_tenure_name_is_read(setting: Setting) -> None:
    assert setting.read({setting.key: " 1h30m "}) == timedelta(hours=1, minutes=30)


@pytest.mark.parametrize("setting", ALIASED, ids=lambda s: str(s.alias))
def test_the_older_name_is_read_and_the_tenure_name_comes_first(setting: Setting) -> None:
    assert setting.alias is not None
    assert setting.read({setting.alias: "168h"}) == timedelta(days=7)
    assert setting.read({setting.alias: "168h", setting.key: "2h"}) == timedelta(hours=2)


@pytest.mark.parametrize("setting", ALIASED, ids=lambda s: str(s.alias))
@pytest.mark.parametrize("value", ["0", "0s", "-1h"])
def test_zero_or_less_under_the_older_name_means_the_default_and_is_logged(
    setting: Setting, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert setting.alias is not None
    with caplog.at_level(logging.WARNING, "tenure"):
        assert setting.read({setting.alias: value}) == setting.default
    assert f"{setting.alias}={value} means the default" in caplog.text


@pytest.mark.parametrize("setting", [s for s in Setting if s is not Setting.LEASE], ids=lambda s: s.key)
def test_zero_under_the_tenure_name_means_off(setting: Setting) -> None:
    assert setting.read({setting.key: "0"}) == timedelta(0)


def test_a_lease_cannot_be_off() -> None:
    with pytest.raises(tenure.FieldError, match="TENURE_LEASE: must be longer than zero, got '0'"):
        Setting.LEASE.read({"TENURE_LEASE": "0"})


@pytest.mark.parametrize("setting", Setting, ids=lambda s: s.key)
@pytest.mark.parametrize("value", ["-1s", "soon", "5", "1h x"])
def test_a_value_that_makes_no_sense_is_an_error_that_names_the_variable(
    setting: Setting, value: str
) -> None:
    with pytest.raises(tenure.FieldError) as refused:
        setting.read({setting.key: value})
    assert refused.value.field == setting.key


@pytest.mark.parametrize("setting", ALIASED, ids=lambda s: str(s.alias))
def test_so_is_one_under_the_older_name(setting: Setting) -> None:
    assert setting.alias is not None
    with pytest.raises(tenure.FieldError) as refused:
        setting.read({setting.alias: "soon"})
    assert refused.value.field == setting.alias


def test_the_worker_and_the_janitor_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUE_STUCK_TIMEOUT", "2m")
    monkeypatch.setenv("QUEUE_DONE_RETENTION", "24h")
    monkeypatch.setenv("TENURE_RETAIN_DEAD", "90d")
    monkeypatch.setenv("TENURE_RETAIN_EVERY", "0")
    assert worker_settings().lease == timedelta(minutes=2)
    assert worker_settings(lease="5s").lease == timedelta(seconds=5)
    janitor = tenure.App(retain={"cancelled": "1h", "mail": {"done": "5m"}}).janitor
    assert (janitor.kept.done, janitor.kept.cancelled, janitor.kept.dead) == (
        timedelta(days=1), timedelta(hours=1), timedelta(days=90),
    )  # fmt: skip
    assert (janitor.by_queue["mail"].done, janitor.by_queue["mail"].dead) == (
        timedelta(minutes=5),
        timedelta(days=90),
    )
    assert janitor.retain_every == timedelta(0)


@pytest.mark.parametrize(
    "retain", [{"finished": "1d"}, {"done": "x"}, {"done": -1}, {"mail": {"ready": "1d"}}, {"mail": {"done": "x"}}, {"": {}}]
)  # fmt: skip
def test_what_cannot_be_kept_so_is_refused_when_the_app_is_made(retain: dict[str, object]) -> None:
    with pytest.raises(tenure.FieldError):
        janitor_settings(retain, {})  # type: ignore[arg-type]
