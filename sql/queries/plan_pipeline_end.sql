UPDATE pipeline
SET group_state = ?2, group_members = ?3, group_us = ?4, mapping = ?5, mapping_hint = ?6, replica = ?7
WHERE pipeline_id = ?1
