-- retain_errors: forgets failures of hours that are older than this.
DELETE FROM tenure_error_groups WHERE hour < :now / 3600000000 - :age
