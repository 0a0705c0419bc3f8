"""The dashboard: an operator's page over a store, and the JSON behind it.

    dashboard = tenure.dashboard.asgi(app)      # an ASGI app: serve it, or mount it in your own

Without a password or a token it answers this machine alone. Nothing here is imported by `import tenure`; write
`import tenure.dashboard`. Needs the extra `dashboard`.
"""

from __future__ import annotations

from tenure.dashboard.asgi import Dashboard, asgi
from tenure.dashboard.passwords import hash_password
from tenure.dashboard.settings import DashboardSettings

__all__ = ["Dashboard", "DashboardSettings", "asgi", "hash_password"]
