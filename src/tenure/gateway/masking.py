"""What the failures of a gateway's jobs are told in: words without the secrets that the settings name.

A worker need not have them all, and they may change while it runs. So what was found at start is known, and whatever else
a reference leads to when something fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tenure.gateway.handlers.http_options import is_reference, is_secret
from tenure.gateway.secrets import Masker, resolve
from tenure.gateway.settings import GatewaySettings, SourceSettings

__all__ = ["masking"]


def masking(settings: GatewaySettings, known: Masker) -> Callable[[str], str]:
    """Blots out of a text what is known, and what the settings' references lead to now."""
    references = sorted({one for source in settings.sources for one in _references(source)})

    def blot(text: str) -> str:
        found = (resolve(one, inline=True)[0] for one in references)
        return known.blot(Masker(one for one in found if one is not None).blot(text))

    return blot


def _references(source: SourceSettings) -> Iterator[str]:
    """Everything that may lead to a secret, well written or not."""
    yield from source.secrets
    if source.token is not None:
        yield source.token
    secret, headers = source.options.get("secret"), source.options.get("headers")
    yield from (
        one for one in (secret if isinstance(secret, (list, tuple)) else [secret]) if isinstance(one, str)
    )
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if isinstance(value, str) and (is_reference(value) or is_secret(name)):
            yield value if is_reference(value) else f"inline:{value}"
