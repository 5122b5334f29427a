# fencepost: build, test, install.
#
#   make               build/fencepost and build/fencepost.so
#   make demo          install what is missing, build, audit a healthy and a broken pipeline
#   make check         install what is missing, build, run every test
#   make unit e2e fuzz variants bench check-headers install
#
#   FAULTS=1 make                       a program that can be made to fail (sql/faultpoint.h)
#   SAN=address,undefined make unit     its own build directory
#   CC=clang make unit                  likewise
#   TESTS='feed fold' make unit         these alone
#   WERROR=1                            warnings are errors (always so in make check)

CC      ?= gcc
PREFIX  ?= /usr/local
SAN     ?=
WERROR  ?=
ifeq ($(origin CC),default)
CC      := gcc
endif
comma   := ,
VARIANT := $(if $(filter-out gcc,$(CC)),-$(notdir $(CC)))$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(FAULTS),-faults)
BUILD   ?= build$(VARIANT)
GEN     := $(BUILD)/gen

HAVE_SSL := $(shell pkg-config --exists libssl && echo 1)
PKGS     := rdkafka hiredis sqlite3 libzstd libxxhash yaml-0.1 jansson libcrypto popt
PKGS     += $(if $(HAVE_SSL),libssl)
PC_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PC_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null)

WARN := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wpointer-arith \
	-Wcast-align -Wformat=2 -Wundef -Wold-style-definition
OPT  := $(if $(SAN),-O1 -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all,-O2)
override CFLAGS += -std=c11 -D_GNU_SOURCE -g $(OPT) -fPIC -pthread $(WARN) $(if $(WERROR),-Werror) $(if $(FAULTS),-DFENCEPOST_FAULTS)
CPPFLAGS += $(if $(HAVE_SSL),-DHAVE_LIBSSL)
CPPFLAGS += -I. -I$(GEN) -MMD -MP $(PC_CFLAGS)
LDFLAGS  += $(if $(SAN),-fsanitize=$(SAN)) -pthread
LDLIBS   := $(PC_LIBS) -lm

STAGES := sql ingest analyzer reports
src     = $(filter-out sql/extension.c,$(wildcard $(1)/*.c))
obj     = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIBS   := $(foreach s,reports analyzer ingest sql,$(BUILD)/lib$(s).a)

PIPE_MAIN := $(wildcard tests/pipeline/*_main.c)
PIPE_OBJ  := $(call obj,$(filter-out $(PIPE_MAIN),$(wildcard tests/pipeline/*.c)))
PIPE_BIN  := $(patsubst tests/pipeline/%_main.c,$(BUILD)/pipeline/%,$(PIPE_MAIN))
TESTS     := *
UNIT_BIN  := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard $(foreach t,$(TESTS),tests/unit/test_$(t).c)))
TOOL_BIN  := $(patsubst tests/tools/%.c,$(BUILD)/tools/%,$(wildcard tests/tools/*.c))
FUZZ_BIN  := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCH_BIN := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))

.PHONY: all clean demo check unit e2e fuzz bench pipeline tools variants check-headers install deps-demo deps-check
.PRECIOUS: $(BUILD)/obj/%.o $(BUILD)/ext/%.o
all: $(BUILD)/fencepost $(BUILD)/fencepost.so

# --- SQL files as data -------------------------------------------------------------------------------------------
# The list of files is itself a dependency, so that a removed file is noticed.
SQL_FILES := $(sort $(wildcard sql/schema/*.sql sql/queries/*.sql sql/checks/*.sql sql/reports/*.sql))
$(shell mkdir -p $(GEN); echo '$(SQL_FILES)' | cmp -s - $(GEN)/sql_files.txt || echo '$(SQL_FILES)' > $(GEN)/sql_files.txt)

$(GEN)/sql_data.c $(GEN)/sql_data.h &: sql/embed.sh $(SQL_FILES) $(GEN)/sql_files.txt
	sh sql/embed.sh $(GEN) $(SQL_FILES)

$(BUILD)/obj/gen/sql_data.o: $(GEN)/sql_data.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# --- stages ------------------------------------------------------------------------------------------------------
$(BUILD)/obj/%.o: %.c | $(GEN)/sql_data.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

define stage_rule
$(BUILD)/lib$(1).a: $(call obj,$(call src,$(1))) $(if $(filter sql,$(1)),$(BUILD)/obj/gen/sql_data.o)
	@rm -f $$@
	ar rcs $$@ $$^
endef
$(foreach s,$(STAGES),$(eval $(call stage_rule,$(s))))

MAIN_OBJ := $(call obj,main.c options.c console.c checklist.c stories.c)
$(BUILD)/fencepost: $(MAIN_OBJ) $(LIBS)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The extension: the sql stage again, speaking through SQLite's extension interface.
EXT_SRC := $(wildcard sql/extension.c sql/functions.c sql/record.c sql/gap.c sql/vtab*.c sql/chunk*.c sql/partitioner.c \
	sql/verdict.c sql/fencefield.c sql/slot.c sql/entry.c sql/keytext.c sql/keyformat*.c sql/keypart.c sql/placer.c \
	sql/buffer.c sql/mem.c sql/trouble.c sql/db.c sql/run.c sql/faultpoint.c)
EXT_OBJ := $(patsubst %.c,$(BUILD)/ext/%.o,$(EXT_SRC))
$(BUILD)/ext/%.o: %.c | $(GEN)/sql_data.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DFENCEPOST_EXTENSION -fvisibility=hidden -c -o $@ $<
$(BUILD)/ext/gen/sql_data.o: $(GEN)/sql_data.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/fencepost.so: $(EXT_OBJ) $(BUILD)/ext/gen/sql_data.o
	$(CC) $(LDFLAGS) -shared -Wl,-z,defs -o $@ $^ $(shell pkg-config --libs libzstd libxxhash) -lm

# --- tests -------------------------------------------------------------------------------------------------------
pipeline: $(PIPE_BIN)
$(BUILD)/pipeline/%: $(BUILD)/obj/tests/pipeline/%_main.o $(PIPE_OBJ) $(BUILD)/libsql.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

tools: $(TOOL_BIN)
$(BUILD)/tools/%: $(BUILD)/obj/tests/tools/%.o $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

unit: $(UNIT_BIN)
	@status=0; for t in $(UNIT_BIN); do $$t || { echo "FAILED: $$t"; status=1; }; done; exit $$status

fuzz: $(FUZZ_BIN)
	@status=0; for t in $(FUZZ_BIN); do $$t || { echo "FAILED: $$t"; status=1; }; done; exit $$status

PYTEST := .venv/bin/python -m pytest
# Those of test_faultpoints.py need the program that can be made to fail.
e2e: all pipeline tools
	@$(MAKE) --no-print-directory FAULTS=1 SAN= BUILD=build-faults all tools
	BUILD=$(BUILD) $(PYTEST) tests/e2e $(PYTEST_ARGS)

check-headers: $(GEN)/sql_data.h
	@for h in $(wildcard *.h $(addsuffix /*.h,$(STAGES)) tests/pipeline/*.h); do \
		$(CC) $(CPPFLAGS) -MF /dev/null $(CFLAGS) -Werror -fsyntax-only -x c $$h || { echo "not self-contained: $$h"; exit 1; }; \
	done; echo "headers compile alone"

deps-demo:
	@sh tests/install.sh demo
deps-check:
	@sh tests/install.sh check

# A second make, so that pkg-config is asked again after the packages are there.
SUBMAKE = $(MAKE) --no-print-directory -s -j$(shell nproc)

demo: deps-demo
	@$(SUBMAKE) all pipeline
	@BUILD=$(BUILD) bash tests/pipeline/demo.sh

# Each in a directory of its own, whatever BUILD is: what is built already would hide what is asked for.
variants:
	@$(SUBMAKE) WERROR=1 SAN=address,undefined BUILD=$(BUILD)-address-undefined unit fuzz
	@$(SUBMAKE) WERROR=1 CC=clang BUILD=$(BUILD)-clang unit
	@$(SUBMAKE) WERROR=1 SAN=thread BUILD=$(BUILD)-thread unit TESTS='feed fold writer history'

check: deps-check
	@$(SUBMAKE) WERROR=1 all pipeline tools
	@$(SUBMAKE) WERROR=1 check-headers unit fuzz
	@$(SUBMAKE) WERROR=1 FAULTS=1 all tools
	@MAKE="$(MAKE)" BUILD=$(BUILD) sh tests/check.sh

bench: deps-check
	@$(MAKE) --no-print-directory all pipeline tools $(BENCH_BIN)
	@BUILD=$(BUILD) SCALE=$(or $(SCALE),small) .venv/bin/python tests/bench/bench.py

install: all
	install -D -m 755 $(BUILD)/fencepost $(DESTDIR)$(PREFIX)/bin/fencepost
	install -D -m 755 $(BUILD)/fencepost.so $(DESTDIR)$(PREFIX)/lib/fencepost/fencepost.so

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
