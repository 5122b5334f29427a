DROP VIEW IF EXISTS temp.fence_case;
DROP VIEW IF EXISTS temp.fence_rank;
DROP VIEW IF EXISTS temp.fence_claim;
DROP VIEW IF EXISTS temp.fence_base;
DROP TABLE IF EXISTS temp.fence_subject;
DROP TABLE IF EXISTS temp.fence_way;
DROP TABLE IF EXISTS temp.fence_fault;
DROP TABLE IF EXISTS temp.fenced_topic;
