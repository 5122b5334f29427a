/*
 * murmur2_filter: murmur2 and home partition as a filter, so that Kafka's Java code can be asked the same.
 *
 * Input: a key in hex, a tab, a partition count. Output: the hash as a signed 32-bit integer, a tab, the partition.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/keytext.h"
#include "sql/partitioner.h"

int main(void)
{
	char *line = NULL;
	size_t room = 0, len;

	while (getline(&line, &room, stdin) > 0) {
		char *count = strchr(line, '\t');
		int32_t n = count ? (int32_t)strtol(count + 1, NULL, 10) : 0;

		/* The key takes half the room of its hex, so that it is read in place. */
		if (n < 1 || keyhex_read(line, (size_t)(count - line), line, &len) < 0) {
			fprintf(stderr, "murmur2_filter: bad line\n");
			return 1;
		}
		printf("%d\t%d\n", (int32_t)murmur2(line, len), home_partition(line, len, n));
	}
	if (ferror(stdin) || fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "murmur2_filter: cannot read or write\n");
		return 1;
	}
	free(line);
	return 0;
}
