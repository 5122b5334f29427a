-- Keys of the main sample that were found to be recent after their row was written. A hash that two keys share makes both recent, which only counts one more.
UPDATE fence SET strata = strata | 2
WHERE topic_id = ?1 AND hash IN (SELECT value FROM json_each(?2))
