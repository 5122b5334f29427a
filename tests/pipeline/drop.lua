-- The fence contract for a record that deletes its key: KEYS and ARGV as in fence.lua, without a new value.
-- Where fence.lua would update the state, this deletes the whole hash; a key without a hash has nothing to delete.

local epoch = redis.call('GET', KEYS[2]) or '0'
if tonumber(ARGV[3]) < tonumber(epoch) then
	return {'FENCE'}
end

local offset = redis.call('HGET', KEYS[1], 'offset')
local partition = redis.call('HGET', KEYS[1], 'partition')

if offset and partition == ARGV[1] then
	local incoming, stored = tonumber(ARGV[2]), tonumber(offset)
	if incoming == stored then
		return {'REEMIT', redis.call('HGET', KEYS[1], 'value')}
	end
	if incoming < stored then
		return {'SKIP'}
	end
end

redis.call('DEL', KEYS[1])
if offset and partition ~= ARGV[1] then
	return {'REBASE'}
end
return {'APPLY'}
