-- Whether an earlier run with the same mapping found record keys in Redis.
SELECT count(*)
FROM pipeline
WHERE run_id < ?1 AND name = ?2 AND mapping_sha256 = ?3 AND mapping = 'fits'
