-- clock: the store's time.
SELECT :now AS now
