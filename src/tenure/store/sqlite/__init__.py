"""SQLite: a file Tenure owns (through apsw), or the user's own (through the standard library)."""
