"""Schemas on the tests' PostgreSQL that are used again: emptying one takes a tenth of the time that making one does.

One goes back only if a test left it as the migrations make it and nobody is left who might still write into it, and not for
ever: what is deleted leaves its traces in pages and indexes. Anything else is dropped.
"""

from __future__ import annotations

from collections import Counter
from time import monotonic, sleep
from uuid import uuid4

import psycopg

import tenure

__all__ = ["forget", "give_back", "let_go", "take"]

_OFTEN = 40
_MOMENT = 0.1
"""In seconds."""
_SHAPE = """
SELECT md5(string_agg(part, '|' ORDER BY part)) FROM (
    SELECT concat_ws(':', c.relname, c.relkind, c.relacl, c.reloptions, a.attname, a.atttypid, a.attnotnull, a.attacl) AS part
    FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = %(schema)s::text::regnamespace AND c.relkind <> 'i'
    UNION ALL
    SELECT replace(pg_get_indexdef(i.indexrelid), %(schema)s::text, '') FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = %(schema)s::text::regnamespace
    UNION ALL
    SELECT concat_ws(':', p.proname, replace(p.prosrc, %(schema)s::text, ''), p.proacl) FROM pg_proc p
    WHERE p.pronamespace = %(schema)s::text::regnamespace
    UNION ALL
    SELECT concat_ws(':', conname, contype) FROM pg_constraint WHERE connamespace = %(schema)s::text::regnamespace
    UNION ALL
    SELECT concat_ws(':', 'trigger', tgname, c.relname) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = %(schema)s::text::regnamespace AND NOT tgisinternal
    UNION ALL SELECT coalesce(nspacl::text, '') FROM pg_namespace WHERE nspname = %(schema)s::text
    UNION ALL SELECT 'meta:' || m FROM query_meta(%(schema)s::text) m
) parts
"""
_OTHERS = """
SELECT FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_META = """
CREATE FUNCTION pg_temp.query_meta(schema text) RETURNS SETOF text LANGUAGE plpgsql AS
$$ BEGIN RETURN QUERY EXECUTE format('SELECT t::text FROM %I.meta t', schema); END $$
"""
_links: dict[str, psycopg.Connection] = {}
"""One connection that stays, to each database: a new one would learn the whole schema anew for each test."""
_free: list[str] = []
_used: Counter[str] = Counter()
_shapes: dict[str, str] = {}


def take() -> str:
    """The name of an empty schema, or of one that is still to be made."""
    return _free.pop() if _free else f"t_{uuid4().hex[:16]}"


def give_back(url: str, schema: str) -> None:
    """Empty it for the next test, or drop it."""
    try:
        _give_back(_link(url), url, schema)
    except psycopg.OperationalError:  # somebody has ended the connection
        _links.pop(url).close()
        _give_back(_link(url), url, schema)


def forget() -> None:
    """Use none again that was made so far: the migrations say something else from now on."""
    _free.clear()
    _shapes.clear()


def let_go() -> None:
    """Close what is kept open."""
    while _links:
        _links.popitem()[1].close()


def _link(url: str) -> psycopg.Connection:
    if url not in _links:
        _links[url] = psycopg.connect(url, autocommit=True)
        _links[url].execute("SET client_min_messages = warning")
        _links[url].execute(_META)
    return _links[url]


def _give_back(link: psycopg.Connection, url: str, schema: str) -> None:
    _used[schema] += 1
    if _used[schema] < _OFTEN and _is_left_alone(link) and _emptied(link, url, schema):
        _free.append(schema)
    else:
        link.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'.encode())


def _is_left_alone(link: psycopg.Connection) -> bool:
    """Whether nobody else is in this database; who has just hung up is given a moment to go."""
    until = monotonic() + _MOMENT
    while link.execute(_OTHERS).fetchall():
        if monotonic() > until:
            return False
        sleep(0.002)
    return True


def _emptied(link: psycopg.Connection, url: str, schema: str) -> bool:
    if url not in _shapes:
        _shapes[url] = _made_anew(link, url)
    try:
        if _shape(link, schema) != _shapes[url]:
            return False
        tables = link.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'meta'", (schema,)
        ).fetchall()
        each = [f'DELETE FROM "{schema}"."{name}"' for (name,) in tables]
        each += [f'ALTER SEQUENCE "{schema}".jobs_seq_seq RESTART']
        with link.transaction():
            link.execute("SET LOCAL lock_timeout = '2s'")
            link.execute("; ".join(each).encode())
    except psycopg.Error:
        if link.closed:
            raise
        return False  # a test changed what is looked for here, or left a transaction open
    return True


def _made_anew(link: psycopg.Connection, url: str) -> str:
    """What the migrations make, told by a schema that no test has touched."""
    name = f"t_{uuid4().hex[:16]}"
    tenure.open(f"{url}?schema={name}").close()
    try:
        return _shape(link, name)
    finally:
        link.execute(f'DROP SCHEMA "{name}" CASCADE'.encode())


def _shape(link: psycopg.Connection, schema: str) -> str:
    [(told,)] = link.execute(
        _SHAPE.replace("query_meta", "pg_temp.query_meta"), {"schema": schema}
    ).fetchall()
    return str(told)
