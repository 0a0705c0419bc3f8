-- retain_rollups: forgets figures of minutes, or of hours, that are older than this.
DELETE FROM tenure_rollups WHERE span = :span AND minute < (:now / 60000000 - :age) / 60 * 60
