# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ringlb. `make help` lists the targets.

B       ?= build
PREFIX  ?= /usr
DESTDIR ?=
UNITDIR ?= $(PREFIX)/lib/systemd/system
CC      := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
CLANG   ?= clang-19
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
CFLAGS  ?= -O2 -g
VERSION := 0.1.0

V ?= 0
Q := $(if $(filter 0,$(V)),@)
say = $(if $(filter 0,$(V)),@printf '  %-8s %s\n' $(1) $@)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
            -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla -Werror
LIBRARIES := libbpf libxdp libxxhash yaml-0.1 jansson libmnl libsystemd libcurl libcrypto libb2
PKG_CFLAGS = $(shell pkg-config --cflags $(LIBRARIES))
PKG_LIBS   = -Wl,--as-needed $(shell pkg-config --libs $(LIBRARIES)) -lm

ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DRINGLB_VERSION='"$(VERSION)"' $(WARNINGS) -fstack-protector-strong \
             -I. -Iuserspace -isystem $(B) $(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS)
BPF_CFLAGS = -std=gnu11 -O2 -g -target bpf -mcpu=v3 $(filter-out -Wmissing-prototypes -Wcast-qual -Wpointer-arith,$(WARNINGS)) \
             -isystem /usr/include/$(shell gcc -print-multiarch) -I.

ROOMS    := ring schemes config dataplane control cli
LIB_SRC  := $(wildcard $(ROOMS:%=userspace/%/*.c))
MAINS    := userspace/control/ringlbd.c userspace/cli/ringlb.c
LIB_OBJ  := $(patsubst %.c,$(B)/%.o,$(filter-out $(MAINS),$(LIB_SRC)))
PROGRAMS := $(B)/ringlbd $(B)/ringlb $(B)/ringlb-backend
SKELETON := $(B)/ringlb.skel.h $(B)/backend.skel.h

# ringlb-backend runs on other hosts and shares no code with the load balancer.
BACKEND_MAIN := userspace/backend/ringlb-backend.c
BACKEND_OBJ  := $(patsubst %.c,$(B)/%.o,$(filter-out $(BACKEND_MAIN),$(wildcard userspace/backend/*.c)))

UNIT_TESTS   := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/test_*.c))
PACKET_PARTS := $(patsubst %,$(B)/tests/packet/%.o,rig frame)
PACKET_TESTS := $(patsubst tests/packet/%.c,$(B)/tests/packet/%,$(filter-out $(PACKET_PARTS:$(B)/%.o=%.c),$(wildcard tests/packet/*.c)))
NETNS_TOOLS  := $(patsubst tests/netns/%.c,$(B)/tests/netns/%,$(wildcard tests/netns/*.c))
BACKEND_TESTS := $(filter %/backend_runner %/test_backend_record,$(UNIT_TESTS) $(PACKET_TESTS))
BENCH_TOOLS  := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(filter-out %.bpf.c,$(wildcard tests/bench/*.c)))
TESTS        := $(UNIT_TESTS) $(PACKET_TESTS) $(NETNS_TOOLS) $(BENCH_TOOLS)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help deps demo test test-vm mutation bench bench-control compare-tracking lint format install deb test-deb clean

all: $(PROGRAMS)

help:
	@echo 'make            build ringlbd, ringlb and, for backends, ringlb-backend into $(B)/'
	@echo 'make demo       install what is missing, build, show it working (root)'
	@echo 'make test       install what is missing, build, run all tests (root)'
	@echo 'make test-vm    the tests that depend on the kernel, on 6.1 and 6.12 in qemu (root, slow)'
	@echo 'make mutation   break the code on purpose and see the tests go red (root, slow)'
	@echo 'make bench      what a packet costs beside a floor in the same run (root)'
	@echo 'make bench-control  how long changes take with up to 10,000 backends (root)'
	@echo 'make compare-tracking  nothing, everything or moving arcs tracked: what breaks (root)'
	@echo 'make lint       layout, static analysis, include directions'
	@echo 'make install    into DESTDIR and PREFIX ($(PREFIX))'
	@echo 'make deb        Debian packages, in $(B)/deb/'
	@echo 'make test-deb   install, upgrade and remove them under systemd, with traffic (root, slow)'
	@echo 'make clean      remove $(B)/'

$(B)/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(B)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(B)/%.skel.h: $(B)/%.bpf.o
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf > $@

$(B)/tests/bench/bench.o: | $(B)/tests/bench/harness.skel.h
$(B)/tests/bench/veth.o: | $(B)/tests/bench/veth.skel.h

$(B)/%.o: %.c | $(SKELETON)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -MD -MP -c $< -o $@

$(B)/libringlb.a: $(LIB_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/libringlb-backend.a: $(BACKEND_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/ringlbd: $(B)/userspace/control/ringlbd.o $(B)/libringlb.a
$(B)/ringlb: $(B)/userspace/cli/ringlb.o $(B)/libringlb.a
$(B)/ringlb-backend: $(BACKEND_MAIN:%.c=$(B)/%.o) $(B)/libringlb-backend.a
$(PROGRAMS):
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS) $^ $(PKG_LIBS) -o $@

define LINK_TEST
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(PKG_LIBS) -lcmocka -lcrypto -lb2 -lm -o $@
endef

$(filter-out $(BACKEND_TESTS),$(PACKET_TESTS)) $(BENCH_TOOLS): $(PACKET_PARTS)
$(BACKEND_TESTS): $(B)/tests/%: $(B)/tests/%.o $(B)/libringlb-backend.a
	$(LINK_TEST)
$(B)/tests/%: $(B)/tests/%.o $(B)/libringlb.a
	$(LINK_TEST)

deps:
	$(Q)scripts/install-deps $(DEPS)

# What a fresh machine lacks must be there before make reads pkg-config for the
# build, so these two install first and then call make again.
demo:
	$(Q)scripts/install-deps build demo
	$(Q)$(MAKE) --no-print-directory all
	$(Q)B=$(B) scripts/demo

test:
	$(Q)scripts/install-deps build demo test
	$(Q)$(MAKE) --no-print-directory all test-programs
	$(Q)B=$(B) tests/run

.PHONY: test-programs
test-programs: $(TESTS)

test-vm:
	$(Q)scripts/install-deps build demo test vm
	$(Q)$(MAKE) --no-print-directory all test-programs
	$(Q)B=$(B) tests/vm/run

mutation:
	$(Q)scripts/install-deps build demo test
	$(Q)tests/mutation/run

bench:
	$(Q)scripts/install-deps build test
	$(Q)$(MAKE) --no-print-directory $(B)/tests/bench/bench $(B)/tests/bench/veth
	$(Q)$(B)/tests/bench/bench $(OPTIONS) > $(B)/bench-samples.json
	$(Q)$(B)/tests/bench/veth > $(B)/bench-veth.json
	$(Q)tests/bench/report $(B)/bench-samples.json $(B)/bench-veth.json --json $(B)/bench.json --svg $(B)/bench.svg

bench-control:
	$(Q)scripts/install-deps build test
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/bench/rings
	$(Q)$(B)/tests/bench/rings
	$(Q)B=$(B) tests/bench/control --json $(B)/bench-control.json $(OPTIONS)

compare-tracking:
	$(Q)scripts/install-deps build test
	$(Q)$(MAKE) --no-print-directory $(B)/tests/bench/compare_tracking
	$(Q)$(B)/tests/bench/compare_tracking $(OPTIONS)

lint:
	$(Q)scripts/install-deps build lint
	$(Q)$(MAKE) --no-print-directory $(SKELETON)
	$(Q)B=$(B) scripts/lint '$(filter-out -DRINGLB_VERSION%,$(ALL_CFLAGS))'

format:
	$(Q)clang-format-19 -i $$(git ls-files '*.c' '*.h')

SBIN := $(PREFIX)/sbin
DATA := $(PREFIX)/share
install: all
	install -D -m 755 -t $(DESTDIR)$(SBIN) $(PROGRAMS)
	install -D -m 644 -t $(DESTDIR)$(DATA)/doc/ringlb README.md docs/*.md
	install -D -m 644 -t $(DESTDIR)$(DATA)/doc/ringlb/examples docs/*.yaml
	install -D -m 644 -t $(DESTDIR)$(DATA)/doc/ringlb-backend docs/backends.md
	install -D -m 644 -t $(DESTDIR)$(DATA)/man/man5 man/*.5
	install -D -m 644 -t $(DESTDIR)$(DATA)/man/man8 man/*.8
	install -D -m 644 -t $(DESTDIR)$(DATA)/bash-completion/completions packaging/completion/*
	install -D -m 644 -t $(DESTDIR)$(UNITDIR) packaging/systemd/*.service
	sed -i 's#/usr/sbin/#$(SBIN)/#g' $(patsubst packaging/systemd/%,$(DESTDIR)$(UNITDIR)/%,$(wildcard packaging/systemd/*.service))
	install -D -m 644 packaging/systemd/ringlb.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/ringlb.conf
	install -d $(DESTDIR)/etc/ringlb
	test -e $(DESTDIR)/etc/default/ringlb-backend || \
		install -D -m 644 packaging/systemd/ringlb-backend.default $(DESTDIR)/etc/default/ringlb-backend

test-deb:
	$(Q)scripts/install-deps build demo test deb
	$(Q)$(MAKE) --no-print-directory all $(NETNS_TOOLS)
	$(Q)B=$(B) tests/deb/run

# The mail address is that of who builds, if DEBEMAIL says it.
deb:
	$(Q)scripts/install-deps build deb
	$(Q)packaging/build-deb $(B)/deb
	$(Q)lintian --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
		--allow-root $(B)/deb/*_$(VERSION)_*.deb

clean:
	rm -rf $(B)

-include $(shell find $(B) -path $(B)/deb -prune -o -type f -name '*.d' -print 2>/dev/null)
