/* fault_list: the faults of sql/faultpoint.h, one a line: word, tab, what it simulates. */
#include <stdio.h>

#include "sql/faultpoint.h"

int main(void)
{
#define LINE(id, word, what) puts(word "\t" what);
	FAULT_POINTS(LINE)
#undef LINE
	return fclose(stdout) ? 1 : 0;
}
