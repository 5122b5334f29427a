/* Redis Cluster slots, against values that CLUSTER KEYSLOT gives. */
#include "sql/slot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int slot(const char *key)
{
	return redis_slot(key, strlen(key));
}

static void test_crc(void **state)
{
	(void)state;
	assert_int_equal(slot("123456789"), 0x31c3); /* the check value of CRC16-XMODEM */
	assert_int_equal(slot("foo"), 12182);
	assert_int_equal(slot("state:k"), 9183);
	assert_int_equal(slot("epoch:t:0"), 4248);
	assert_int_equal(slot("state:{key}"), slot("key"));
	assert_int_equal(redis_slot(NULL, 0), 0);
	assert_int_equal(redis_slot("", 0), 0);
}

static void test_hash_tags(void **state)
{
	(void)state;
	assert_int_equal(slot("{user1000}.following"), slot("user1000"));
	assert_int_equal(slot("{user1000}.followers"), 3443);
	assert_int_equal(slot("foo{}{bar}"), 8363);    /* an empty tag: the whole key */
	assert_int_equal(slot("foo{{bar}}zap"), slot("{bar"));
	assert_int_equal(slot("foo{bar}{zap}"), slot("bar"));
	assert_int_not_equal(slot("foo{bar"), slot("bar"));
	assert_int_not_equal(slot("foo}bar{"), slot("bar"));
	assert_int_equal(slot("}{a}"), slot("a"));
	assert_int_equal(slot("{a}"), slot("a"));
	assert_int_equal(redis_slot("x{\0}y", 5), redis_slot("\0", 1));
	assert_int_equal(slot("{epoch:t}:1"), slot("{epoch:t}:2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_hash_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
