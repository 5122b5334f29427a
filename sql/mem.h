/*
 * mem: allocation that never returns NULL. Out of memory ends the program here, in one place, with status 1.
 * Memory from these functions is freed with free().
 */
#ifndef SQL_MEM_H
#define SQL_MEM_H

#include <stddef.h>

void *xalloc(size_t size);                         /* zeroed */
void *xarray(size_t count, size_t size);           /* zeroed; a product that overflows counts as out of memory */
void *xgrow(void *old, size_t count, size_t size); /* realloc of an array; the new part is not zeroed */
char *xstrdup(const char *text);
void *xmemdup(const void *bytes, size_t size); /* size 0 gives a valid pointer */
void *xneed(void *memory);                     /* what another allocator gave; NULL is out of memory */
char *xprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
