"""PostgreSQL behind a wire that is reset, swallows, drips, is cut, or loses the answers to commits."""
