"""The store: the only folder with SQL. Verbs once, as plans; SQL twice; waiting twice."""
