"""Roles of least privilege on PostgreSQL: each may do what it is for, and the server refuses it the rest."""
