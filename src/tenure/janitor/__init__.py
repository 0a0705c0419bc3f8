"""The janitor: the chores that keep jobs moving and the house clean. Every worker has one; there is no leader."""
