"""SQL-guard mutation: every condition, order, limit, lock and conflict clause of every statement is taken away once and weakened
once, every key of the schema holds nothing apart once, and a named test must fail.

The mutants are derived from the SQL files by rules (`mutants.py`, `weaker.py`, `schema.py`), so a new statement brings its own. Which test fails for
which mutant is found once (`python -m tests.proof.guards.search`) and kept in `sqlite.md` and `postgres.md`.
"""
