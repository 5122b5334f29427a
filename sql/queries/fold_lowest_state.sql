SELECT min(0, coalesce(min(state_id), 0)) FROM fence_state
