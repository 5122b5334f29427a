INSERT INTO check_result (run_id, pipeline, name, ordinal, severity, title, status, examined, findings, kept, trouble)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
