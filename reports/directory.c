/* directory: temporary name, fsync, rename. */
#include "reports/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/outfile.h"
#include "reports/rows.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

/* One of ours, or what a killed outfile left of it. */
static bool is_report_file(const char *name)
{
#define ONE(file)                                                                   \
	if (strncmp(name, file, strlen(file)) == 0 &&                               \
	    (!name[strlen(file)] || strncmp(name + strlen(file), ".tmp-", 5) == 0)) \
		return true;
	REPORT_FILES(ONE)
#undef ONE
	return false;
}

/* Calls visit for each entry; stops at the first -1. A directory that is not there is trouble. */
static int each_entry(const char *path, int (*visit)(int fd, const char *name, struct trouble *t), struct trouble *t)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int result = 0;

	if (!dir)
		return trouble_set(t, "%s: %s", path, strerror(errno));
	errno = 0;
	while (result == 0 && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			result = visit(dirfd(dir), entry->d_name, t);
		errno = 0;
	}
	if (result == 0 && errno)
		result = trouble_set(t, "%s: %s", path, strerror(errno));
	closedir(dir);
	return result;
}

static int must_be_ours(int fd, const char *name, struct trouble *t)
{
	(void)fd;
	return is_report_file(name) ? 0 : trouble_set(t, "it holds %s, which is no part of a report", name);
}

static int remove_entry(int fd, const char *name, struct trouble *t)
{
	if (!is_report_file(name))
		return must_be_ours(fd, name, t);
	return unlinkat(fd, name, 0) < 0 ? trouble_set(t, "remove %s: %s", name, strerror(errno)) : 0;
}

/* Removes a report directory; one that is not there is well. */
static int remove_report(const char *path, struct trouble *t)
{
	struct stat st;

	if (lstat(path, &st) < 0 && errno == ENOENT)
		return 0;
	if (each_entry(path, remove_entry, t) < 0)
		return trouble_wrap(t, "remove %s", path);
	return rmdir(path) < 0 ? trouble_set(t, "remove %s: %s", path, strerror(errno)) : 0;
}

/*
 * --- what stands at the path ----------------------------------------------------------------------------------------

 */

static int is_entry(int fd, const char *name, struct trouble *t)
{
	(void)fd;
	(void)name;
	return trouble_set(t, "not empty");
}

/* Whether its summary.json is of that run. */
static bool is_same_run(const char *path, int64_t run, const char *started)
{
	char *file = xprintf("%s/summary.json", path);
	json_t *summary = json_load_file(file, 0, NULL);
	const char *began = json_text(json_object_get(summary, "times"), "started");
	bool same = json_int(summary, "run") == run && began && strcmp(began, started) == 0;

	json_decref(summary);
	free(file);
	return same;
}

/* Nothing, an empty directory, or an earlier report of the run may stand there. */
static int look(struct directory *d, int64_t run, const char *started, struct trouble *t)
{
	struct stat st;

	if (lstat(d->path, &st) < 0)
		return errno == ENOENT ? 0 : trouble_set(t, "%s: %s", d->path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return trouble_set(t, "%s: in the way, and not a directory", d->path);
	if (each_entry(d->path, is_entry, t) == 0)
		return 0;
	if (!is_same_run(d->path, run, started))
		return trouble_set(t, "%s: in the way, and not an earlier report of run %lld", d->path, (long long)run);
	if (each_entry(d->path, must_be_ours, t) < 0)
		return trouble_wrap(t, "%s: not replaced", d->path);
	d->exists = true;
	return 0;
}

/*
 * --- life -----------------------------------------------------------------------------------------------------------

 */

static void release(struct directory *d)
{
	free(d->path);
	free(d->temporary);
	*d = (struct directory){ 0 };
}

static int make_parents(const char *path, struct trouble *t)
{
	char *part = xstrdup(path);
	int result = 0;

	for (char *at = strchr(part + 1, '/'); at && result == 0; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(part, 0777) < 0 && errno != EEXIST)
			result = trouble_set(t, "make directory %s: %s", part, strerror(errno));
		*at = '/';
	}
	free(part);
	return result;
}

static int begin(struct directory *d, int64_t run, const char *started, struct trouble *t)
{
	if (make_parents(d->path, t) < 0 || look(d, run, started, t) < 0 || remove_report(d->temporary, t) < 0)
		return -1;
	return mkdir(d->temporary, 0777) < 0 ? trouble_set(t, "make directory %s: %s", d->temporary, strerror(errno))
					     : 0;
}

int directory_begin(struct directory *d, const char *path, int64_t run, const char *started, struct trouble *t)
{
	size_t length = strlen(path);

	*d = (struct directory){ .path = xstrdup(path) };
	while (length > 1 && d->path[length - 1] == '/')
		d->path[--length] = '\0';
	d->temporary = xprintf("%s.tmp-%lld", d->path, (long long)run);
	if (length && begin(d, run, started, t) == 0)
		return 0;
	if (!length)
		trouble_set(t, "a report directory needs a name");
	release(d);
	return -1;
}

void directory_abandon(struct directory *d)
{
	remove_report(d->temporary, NULL);
	release(d);
}

/*
 * --- the rename -----------------------------------------------------------------------------------------------------

 */

/* For file systems that cannot exchange two names: the report is away for a moment, but never half. */
static int swap_slowly(struct directory *d, struct trouble *t)
{
	char *old = xprintf("%s.old", d->temporary);
	int result = 0;

	if (remove_report(old, t) < 0)
		result = -1;
	else if (rename(d->path, old) < 0)
		result = trouble_set(t, "rename %s to %s: %s", d->path, old, strerror(errno));
	else if (rename(d->temporary, d->path) < 0) {
		result = trouble_set(t, "rename %s to %s: %s", d->temporary, d->path, strerror(errno));
		if (rename(old, d->path) < 0)
			trouble_wrap(t, "the earlier report is now %s", old);
	} else if (rename(old, d->temporary) < 0)
		result = trouble_set(t, "rename %s to %s: %s", old, d->temporary, strerror(errno));
	free(old);
	return result;
}

/* Afterwards what stood at path, if anything, stands under the temporary name. */
static int swap(struct directory *d, struct trouble *t)
{
	if (d->exists && renameat2(AT_FDCWD, d->temporary, AT_FDCWD, d->path, RENAME_EXCHANGE) == 0)
		return 0;
	if (d->exists && (errno == EINVAL || errno == ENOSYS))
		return swap_slowly(d, t);
	if (!d->exists && !FAULT(REPORT_SWAP) && rename(d->temporary, d->path) == 0)
		return 0;
	return trouble_set(t, "rename %s to %s: %s", d->temporary, d->path, strerror(errno));
}

static int sync_parent(const char *path, struct trouble *t)
{
	const char *slash = strrchr(path, '/');
	char *parent = slash ? xprintf("%.*s", (int)(slash == path ? 1 : slash - path), path) : xstrdup(".");
	int result = outfile_sync_directory(parent, t);

	free(parent);
	return result;
}

int directory_commit(const struct run *run, struct directory *d, struct trouble *t)
{
	struct trouble left = { 0 };
	int result = -1;

	if (outfile_sync_directory(d->temporary, t) < 0 || swap(d, t) < 0) {
		directory_abandon(d);
		return -1;
	}
	result = sync_parent(d->path, t);
	if (d->exists && remove_report(d->temporary, &left) < 0)
		run_note(run, "the report was replaced, but its earlier form is left: %s", left.text);
	release(d);
	return result;
}
