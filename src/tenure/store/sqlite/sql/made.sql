-- made: the last six jobs that a schedule made; :id is put in front (:made is the same), or taken out (:made is empty).
UPDATE tenure_schedules SET made = substr(:made || replace(made, :id, ''), 1, 222) WHERE name = :name
