-- What the file is: the application's id, the version of its schema, and how many tables it has.
SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
FROM pragma_application_id AS a, pragma_user_version AS v;
