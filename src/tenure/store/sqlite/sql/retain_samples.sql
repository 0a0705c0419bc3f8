-- retain_samples: forgets how the queues stood in minutes that are older than this.
DELETE FROM tenure_samples WHERE minute < :now / 60000000 - :age
