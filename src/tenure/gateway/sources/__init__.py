"""The types of sources, by the names that settings give them."""

from __future__ import annotations

from tenure.gateway.sources.base import Source
from tenure.gateway.sources.generic import Generic
from tenure.gateway.sources.github import GitHub
from tenure.gateway.sources.gitlab import GitLab
from tenure.gateway.sources.slack import Slack
from tenure.gateway.sources.standard import Standard
from tenure.gateway.sources.stripe import Stripe
from tenure.gateway.sources.telegram import Telegram

__all__ = ["SOURCES", "Source"]

SOURCES: dict[str, type[Source]] = {
    "telegram": Telegram,
    "github": GitHub,
    "stripe": Stripe,
    "slack": Slack,
    "standard": Standard,
    "gitlab": GitLab,
    "generic": Generic,
}
