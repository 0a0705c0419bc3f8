-- unschedule: forgets a schedule; jobs it made stay.
DELETE FROM tenure.schedules WHERE name = :name::text
