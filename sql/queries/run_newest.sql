-- The stages in their order; a run that reached a later one reached the earlier ones.
WITH step (name, place) AS (VALUES ('begun', 0), ('replayed', 1), ('sampled', 2), ('checked', 3), ('reported', 4))
SELECT max(run.run_id)
FROM run
JOIN step AS got ON got.name = run.reached
JOIN step AS asked ON asked.name = ?1
WHERE got.place >= asked.place AND (?2 IS NULL OR run.run_id = ?2)
