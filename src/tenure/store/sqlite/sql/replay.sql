-- replay: finished jobs go back to the line, now or at a time, as new or as they were; one whose unique slot is taken stays where it is.
-- Differs from postgres: the row stays, so a taken slot makes UPDATE OR IGNORE pass it over.
UPDATE OR IGNORE tenure_jobs
SET state = CASE WHEN coalesce(:run_at, :now + :delay, :now) > :now THEN 'scheduled'
                 WHEN group_key IS NULL THEN 'ready' ELSE 'waiting' END,
    run_at = max(coalesce(:run_at, :now + :delay, :now), :now),
    was = CASE WHEN :anew THEN json_object(
        'epoch', epoch, 'state', state, 'run_at', run_at, 'attempt', attempt, 'crashes', crashes, 'started_at', started_at,
        'finished_at', finished_at, 'expires_at', expires_at, 'cancel_at', cancel_at, 'worker', worker, 'trace', trace,
        'reason', reason, 'error', error, 'result', result, 'progress', progress, 'progress_note', progress_note,
        'was', was) END,
    attempt = CASE WHEN :anew THEN 0 ELSE attempt END, crashes = CASE WHEN :anew THEN 0 ELSE crashes END,
    started_at = CASE WHEN :anew THEN NULL ELSE started_at END, expires_at = CASE WHEN :anew THEN NULL ELSE expires_at END,
    trace = CASE WHEN settled_epoch IS NULL OR outcome IS NULL THEN trace
            ELSE substr(coalesce(trace, ',') || settled_epoch || ':' || outcome || ',', -200) END,
    finished_at = NULL, cancel_at = NULL, worker = NULL, reason = NULL,
    error = NULL, result = NULL, progress = NULL, progress_note = NULL
WHERE id IN (SELECT json_extract(value, '$.id') FROM json_each(:ids)) AND finished_at IS NOT NULL
RETURNING id, CASE WHEN state = 'waiting' THEN group_key END AS group_key
