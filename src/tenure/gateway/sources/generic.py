"""Any other sender: no proof, a token in a header, a password, or an HMAC over a template of the timestamp and the body."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from tenure.gateway.secrets import any_equal
from tenure.gateway.settings import SourceSettings
from tenure.gateway.sources.base import MISSING, STALE, WRONG, Headers, Source, fresh, signed

__all__ = ["Generic"]

_CHOICES = {
    "how": ("none", "token", "basic", "hmac"),
    "algorithm": ("sha256", "sha512"),
    "encoding": ("hex", "base64"),
}


class Generic(Source):
    """What it checks is told in the settings' `check`."""

    def __init__(self, settings: SourceSettings, secrets: Sequence[str]) -> None:
        super().__init__(settings, secrets)
        check = settings.check
        self._check, self._header = check, check.header.lower()
        self._before, _, self._after = check.template.partition("{body}")
        self._stamp_header = check.timestamp_header.lower()
        if check.how == "basic":
            self.secrets = [b"Basic " + b64encode(s) for s in self.secrets]

    @classmethod
    def problems(cls, settings: SourceSettings, secrets: Sequence[str]) -> list[str]:
        """Words that mean nothing, and templates that sign nothing."""
        check = settings.check
        found = [
            f"check.{name} must be one of {', '.join(words)}, got {getattr(check, name)!r}"
            for name, words in _CHOICES.items()
            if getattr(check, name) not in words
        ]
        if check.how == "basic" and not all(":" in s for s in secrets):
            found.append("a secret for basic must be user:password")
        if check.how == "hmac" and check.template.count("{body}") != 1:
            found.append("check.template must hold {body} once")
        if check.how == "hmac" and "{ts}" in check.template and not check.timestamp_header:
            found.append("check.template holds {ts}, so check.timestamp_header must name its header")
        return found

    def reject(self, headers: Headers, body: bytes, now: float) -> str | None:
        """As the settings have it."""
        how = self._check.how
        if how == "none":
            return None
        given = headers.get("authorization" if how == "basic" else self._header)
        if given is None:
            return MISSING
        if how == "basic":
            scheme, _, rest = given.partition(" ")
            given = f"{scheme.capitalize()} {rest.strip()}"  # its letters may be of any size
        if how != "hmac":
            return None if any_equal(given.encode("latin-1", "replace"), self.secrets) else WRONG
        return self._unsigned(given, headers, body, now)

    def _unsigned(self, given: str, headers: Headers, body: bytes, now: float) -> str | None:
        stamp = headers.get(self._stamp_header) if self._stamp_header else ""
        if stamp is None or not given.startswith(self._check.prefix):
            return MISSING
        before, after = (part.replace("{ts}", stamp) for part in (self._before, self._after))
        message = before.encode("latin-1", "replace") + body + after.encode("latin-1", "replace")
        digests = (signed(s, message, self._check.algorithm) for s in self.secrets)
        hexed = self._check.encoding == "hex"
        wanted = (d.hex().encode() if hexed else b64encode(d) for d in digests)
        sent = given[len(self._check.prefix) :]
        if not any_equal((sent.lower() if hexed else sent).encode("latin-1", "replace"), wanted):
            return WRONG
        return STALE if self._stamp_header and not fresh(stamp, now, self.tolerance) else None
