/*
 * verdict_filter: the models of sql/verdict.h as a filter, so that a test in another language can hold them against the
 * Lua script.
 *
 * A line of input, tabs between:  home partition offset epoch | stored epoch | state | stored partition, stored offset
 * Stored strings are hex after "=", "-" where absent, "!" for a key of the wrong type; state is "-", "!" or "hash".
 * A line of output:  the script's verdict or "error", the contract's or "-" where a stored number is malformed, and the
 * word for each of epoch, partition and offset ("-" where there is nothing to read).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/fencefield.h"
#include "sql/keytext.h"
#include "sql/verdict.h"

#define FIELD_ROOM 512

enum { HOME, PARTITION, OFFSET, EPOCH, STORED_EPOCH, STATE, STORED_PARTITION, STORED_OFFSET, COLUMNS };

static void die(const char *why)
{
	fprintf(stderr, "verdict_filter: %s\n", why);
	exit(1);
}

static struct stored read_stored(const char *column, char room[FIELD_ROOM])
{
	struct stored stored = { NULL, 0 };
	size_t len = strlen(column);

	if (*column != '=')
		return stored;
	if (len / 2 > FIELD_ROOM || keyhex_read(column + 1, len - 1, room, &stored.len) < 0)
		die("bad hex");
	stored.data = room;
	return stored;
}

static void answer(char *const column[COLUMNS])
{
	char rooms[3][FIELD_ROOM];
	struct incoming in = { (int32_t)atoi(column[HOME]), (int32_t)atoi(column[PARTITION]),
			       strtoll(column[OFFSET], NULL, 10), strtoll(column[EPOCH], NULL, 10) };
	struct stored_fence stored = {
		.epoch = read_stored(column[STORED_EPOCH], rooms[0]),
		.partition = read_stored(column[STORED_PARTITION], rooms[1]),
		.offset = read_stored(column[STORED_OFFSET], rooms[2]),
		.epoch_wrong_type = *column[STORED_EPOCH] == '!',
		.state_wrong_type = *column[STATE] == '!',
	};
	bool hash = *column[STATE] == 'h', fine = !stored.epoch_wrong_type && !stored.state_wrong_type;
	enum fencefield epoch_state, partition_state, offset_state;
	struct fence fence;
	int64_t epoch;
	enum verdict verdict;

	epoch_state = fencefield_read_epoch(stored.epoch.data, stored.epoch.len, &epoch);
	partition_state = fencefield_read(stored.partition.data, stored.partition.len, &fence.partition);
	offset_state = fencefield_read(stored.offset.data, stored.offset.len, &fence.offset);
	if (epoch_state == FENCEFIELD_MISSING)
		epoch = 0;
	else
		fine = fine && epoch_state == FENCEFIELD_OK;
	if (hash)
		fine = fine && partition_state == FENCEFIELD_OK && offset_state == FENCEFIELD_OK;
	printf("%s\t", script_verdict(&in, &stored, &verdict) ? verdict_name(verdict) : "error");
	printf("%s\t", fine ? verdict_name(fence_verdict(&in, epoch, hash ? &fence : NULL)) : "-");
	printf("%s\t", stored.epoch.data ? fencefield_word(epoch_state) : "-");
	printf("%s\t%s\n", hash ? fencefield_word(partition_state) : "-", hash ? fencefield_word(offset_state) : "-");
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		char *column[COLUMNS], *rest = line;

		line[strcspn(line, "\n")] = '\0';
		for (int i = 0; i < COLUMNS; i++) {
			column[i] = strsep(&rest, "\t");
			if (!column[i])
				die("too few columns");
		}
		answer(column);
	}
	if (ferror(stdin) || fflush(stdout) || ferror(stdout))
		die("cannot read or write");
	free(line);
	return 0;
}
