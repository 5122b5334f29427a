SELECT offset, ts, tombstone FROM record
WHERE incarnation = ?1 AND partition = ?2 AND kind = 'committed' AND offset >= ?3 AND offset < ?4 AND key_part(?6, key) = ?5
ORDER BY offset
