-- The writer's connection. The cache holds what one commit of chunks makes dirty, so that no page is written before the commit.
PRAGMA journal_mode = TRUNCATE;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = OFF;
PRAGMA cache_size = -32768;
