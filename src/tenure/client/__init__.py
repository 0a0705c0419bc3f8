"""The client: one set of verbs, with a sync and an async face, and the same inside a caller's own transaction."""
