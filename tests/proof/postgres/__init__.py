"""A PostgreSQL that restarts, dies, cuts connections and fails over, while a crowd works on it."""
