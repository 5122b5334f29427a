SELECT reason, subjects
FROM unverifiable
WHERE run_id = :run AND pipeline = :pipeline AND name = :check
ORDER BY reason
