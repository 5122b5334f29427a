-- "fpos", the application_id of fencepost's indexes.
PRAGMA application_id = 0x66706f73;
