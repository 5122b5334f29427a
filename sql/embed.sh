#!/bin/sh
# Turns SQL files into C data: embed.sh OUTDIR FILE...
#   sql/queries/open.sql  ->  const char sql_queries_open[]
# and, for each folder, a table of {name, text} in the order of names: sql_schema_files[], sql_checks_files[] ...
set -eu
out=$1
shift
{
	echo '#ifndef GEN_SQL_DATA_H'
	echo '#define GEN_SQL_DATA_H'
	echo 'struct sql_file { const char *name, *text; };'
	for folder in schema queries checks reports; do
		echo "extern const struct sql_file sql_${folder}_files[]; /* ends with a NULL name */"
	done
	for file in "$@"; do
		echo "extern const char $(echo "${file%.sql}" | tr '/-' '__')[];"
	done
	echo '#endif'
} > "$out/sql_data.h.tmp"
{
	echo '#include "sql_data.h"'
	for file in "$@"; do
		echo "const char $(echo "${file%.sql}" | tr '/-' '__')[] = {"
		od -An -v -t d1 "$file" | sed 's/  */,/g; s/^,//; s/$/,/'
		echo '0 };'
	done
	for folder in schema queries checks reports; do
		echo "const struct sql_file sql_${folder}_files[] = {"
		for file in "$@"; do
			case $file in
			sql/$folder/*)
				name=$(basename "$file" .sql)
				echo "	{ \"$name\", $(echo "${file%.sql}" | tr '/-' '__') },"
				;;
			esac
		done
		echo '	{ 0, 0 }'
		echo '};'
	done
} > "$out/sql_data.c.tmp"
mv "$out/sql_data.h.tmp" "$out/sql_data.h"
mv "$out/sql_data.c.tmp" "$out/sql_data.c"
