-- made: the last six jobs that a schedule made; :id is put in front (:made is the same), or taken out (:made is empty).
UPDATE tenure.schedules SET made = left(:made::text || replace(made, :id::text, ''), 222) WHERE name = :name::text
