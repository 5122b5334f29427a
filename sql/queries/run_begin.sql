INSERT INTO run (command, tool, config, config_sha256, started_us, since_us, all_keys) VALUES (?, ?, ?, ?, ?, ?, ?)
