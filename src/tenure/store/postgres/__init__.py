"""PostgreSQL, through psycopg."""
