-- The fence contract, as the pipeline runs it: one atomic decision per incoming record.
--
-- KEYS[1] hash of the key's state: value, offset, partition    ARGV[1] partition of the record
-- KEYS[2] counter of the partition's owner, the epoch          ARGV[2] offset of the record
--                                                              ARGV[3] epoch of the caller
--                                                              ARGV[4] new value
--
-- Replies: {'FENCE'}           the caller no longer owns the partition; nothing touched
--          {'APPLY'}           value and fence set; {'APPLY', gap} where the offset rose by gap > 1, which is no error
--          {'REBASE'}          the fence stood on another partition; value and fence set
--          {'REEMIT', value}   the record was applied before: emit the stored value again
--          {'SKIP'}            a later record was applied before; nothing touched
--
-- DLQ is decided by the worker before it calls: a record outside its home partition never comes here.
-- An absent epoch counts as 0. Partitions compare as strings, offsets as Lua numbers.

local epoch = redis.call('GET', KEYS[2]) or '0'
if tonumber(ARGV[3]) < tonumber(epoch) then
	return {'FENCE'}
end

local offset = redis.call('HGET', KEYS[1], 'offset')
local partition = redis.call('HGET', KEYS[1], 'partition')

if not offset then
	redis.call('HSET', KEYS[1], 'value', ARGV[4], 'offset', ARGV[2], 'partition', ARGV[1])
	return {'APPLY'}
end

if partition ~= ARGV[1] then
	redis.call('HSET', KEYS[1], 'value', ARGV[4], 'offset', ARGV[2], 'partition', ARGV[1])
	return {'REBASE'}
end

local incoming, stored = tonumber(ARGV[2]), tonumber(offset)
if incoming > stored then
	redis.call('HSET', KEYS[1], 'value', ARGV[4], 'offset', ARGV[2])
	local gap = incoming - stored
	if gap > 1 then
		return {'APPLY', gap}
	end
	return {'APPLY'}
end

if incoming == stored then
	return {'REEMIT', redis.call('HGET', KEYS[1], 'value')}
end
return {'SKIP'}
