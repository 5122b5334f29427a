-- Before the first page is written.
PRAGMA page_size = 16384;
