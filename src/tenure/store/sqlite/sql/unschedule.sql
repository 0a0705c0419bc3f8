-- unschedule: forgets a schedule; jobs it made stay.
DELETE FROM tenure_schedules WHERE name = :name
