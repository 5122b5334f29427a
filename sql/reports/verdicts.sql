SELECT verdict, records FROM verdict_count WHERE run_id = :run AND pipeline = :pipeline
