"""What a gateway's sources were sent lately, as its processes told the store: the last request, its answer, and rejects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tenure.doctor.finding import Finding, count, span
from tenure.doctor.patient import Patient
from tenure.gateway.lately import SOURCES, Seen, note_of, rejected, seen_of, sources_of
from tenure.gateway.settings import GatewaySettings, read

__all__ = ["deliveries"]

_HOUR: Final = 3_600
_TAKEN: Final = 200


def deliveries(patient: Patient, config: str | GatewaySettings | None) -> Iterator[Finding]:
    """Each source of these settings, unless none of them keeps anything in a store; without settings, what the store knows of."""
    now = patient.machine() / 1_000_000
    if config is None or (isinstance(config, str) and not Path(config).is_file()):
        for slug in sources_of(patient.queue.note(SOURCES)):
            known = seen_of(patient.queue.note(note_of(slug)))
            if known is not None:
                yield _judge(slug, known, now)
        return
    settings, _ = read(config)
    if not any(source.is_async for source in settings.sources):
        return
    for source in settings.sources:
        seen = seen_of(patient.queue.note(note_of(source.slug)))
        if seen is None:
            words = f"{source.slug}: no request is known of"
            fix = f"see that the gateway runs, and that the sender has its address, …{settings.prefix}/{source.slug}"
            yield Finding("note", "deliveries", words, fix)
        else:
            yield _judge(source.slug, seen, now)


def _judge(slug: str, seen: Seen, now: float) -> Finding:
    """Strangers are rejected too: it is worth a warning only where nothing was taken beside it."""
    answer = f"{seen.status}" if seen.reason is None else f"{seen.status} ({seen.reason})"
    last = f"{slug}: the last request {_ago(seen.at, now)}, answered {answer if seen.status else 'nothing: it hung up'}"
    if seen.status != _TAKEN and seen.taken_at is not None:
        last += f", the last one that was taken {_ago(seen.taken_at, now)}"
    wrong = rejected(seen, now)
    if not wrong:
        return Finding("ok", "deliveries", f"{last}, none rejected in the last hour")
    why = ", ".join(f"{n:,} {reason}" for reason, n in wrong.items())
    words = f"{last}; {count(sum(wrong.values()), 'reject')} in the last hour: {why}"
    taken = seen.taken_at is not None and now - seen.taken_at < _HOUR
    fix = "unless these are strangers: see that its secret is the sender's, that both clocks are right, and what the gateway logged"
    return Finding("note" if taken else "warning", "deliveries", words, fix)


def _ago(at: float, now: float) -> str:
    return f"{span(max(now - at, 0) * 1e6)} ago"
