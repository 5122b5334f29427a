-- A reader's connection.
PRAGMA query_only = ON;
PRAGMA foreign_keys = OFF;
PRAGMA cache_size = -16384;
