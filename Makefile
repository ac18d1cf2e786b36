# SPDX-License-Identifier: GPL-2.0-only
# perfdiag: everything that is built lands in build/.  `make help` lists the targets, V=1 shows the commands.

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PREFIX ?= /usr/local
DESTDIR ?=
CLANG ?= clang-14
CLANG_FORMAT ?= clang-format-14
BPFTOOL ?= /usr/sbin/bpftool
CC := gcc
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"$$/\1/p' lib/perfdiag/__init__.py)
MACHINE := $(shell uname -m)
SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
PYTHON := build/venv/bin/python
PIP := $(PYTHON) -m pip --disable-pip-version-check --quiet
# Caches go to build/ too; sudo drops the environment, hence by name.
CACHES := PYTHONPYCACHEPREFIX=$(CURDIR)/build/pycache HYPOTHESIS_STORAGE_DIRECTORY=$(CURDIR)/build/hypothesis
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
# But for what the launcher starts: python -I does not hear of that, and with -B would compile all at each start.
BESIDE_SOURCES := env -u PYTHONPYCACHEPREFIX
COMPILED := $(BESIDE_SOURCES) $(PYTHON) -m compileall -q
AS_ROOT := $(SUDO) env $(CACHES)

Q := $(if $(filter 1,$(V)),,@)
say = @printf '  %-8s %s\n' $(1) $(2)

##@ Everyday
.PHONY: help build demo test test-failed clean
help: ## list the targets
	@awk -F ':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## /{printf "  %-13s %s\n", $$1, $$2}' Makefile packaging/packages.mk

build: deps build/bin/perfdiag build/bin/perfdiag-recorder ## compile everything: leaves a runnable build/bin/perfdiag
	$(Q)$(COMPILED) lib/perfdiag

# Three threads and one lock that each of them holds 20 of every 21 ms.
DEMO := build/workloads/lock --duration-ms 60000
demo: build workloads ## start a workload with a known ailment and diagnose it
	$(Q)$(DEMO) >/dev/null & workload=$$!; trap 'kill $$workload' EXIT; \
	$(SUDO) build/bin/perfdiag latency --pid $$workload --duration 5 $(ARGS)

# The lab is made beside the unit tests.  Tests run on all CPUs side by side, then those marked quiet one after the other.
# It says first how long it takes: what the last whole run here took is the only figure that holds for a machine.
ALL_TIERS := tests/unit tests/live tests/lab --quick
BESIDE_OTHERS := --numprocesses auto --maxprocesses 8 -m "not quiet"
test: build workloads man ## install what is needed, build, run unit and live tests, the latter on stock Linux 6.1 too
	$(Q)echo "make test: $$(cat build/test-duration 2>/dev/null || echo 'the first run here may take an hour or more'):" \
		"leave the machine alone meanwhile, live tests measure time; make test-unit is the part that does not mind"
	$(Q)SECONDS=0 failed=; $(SUDO:%=% -v;) { $(MAKE) lab-build KERNEL="6.1 servers" || \
		echo "make: no lab: its tests say whether this machine should have one"; } >build/lab.log 2>&1 </dev/null & \
	trap wait EXIT; $(AS_ROOT) $(PYTHON) -m pytest tests/unit $(BESIDE_OTHERS) || failed=1; \
	wait $$!; cat build/lab.log; \
	$(AS_ROOT) $(PYTHON) -m pytest tests/live $(BESIDE_OTHERS) --durations 20 || failed=1; \
	$(AS_ROOT) $(PYTHON) -m pytest $(ALL_TIERS) -m quiet --durations 20 || failed=1; \
	echo "the last run here took $$((SECONDS / 60 + 1)) minutes" >build/test-duration; [ -z "$$failed" ]

test-failed: build workloads man ## run again what failed when tests last ran, one after the other
	$(Q)$(AS_ROOT) $(PYTHON) -m pytest $(ALL_TIERS) --last-failed --last-failed-no-failures none $(ARGS)

clean: ## remove build/ and compiled Python
	$(Q)rm -rf build
	$(Q)find lib -name __pycache__ -prune -exec rm -rf {} +

##@ Parts
.PHONY: deps packages workloads man test-unit fuzz test-live lab-build lab lab-shell incidents truth bench
.PHONY: bench-keep tool-overhead witness-table readme-engines readme-kernels readme
deps: packages build/venv/.stamp ## install missing Debian packages (sudo), make build/venv from locked wheels

PACKAGES ?= packages.txt
# Asks dpkg first, so that a second run needs neither network nor privilege.  No service is started by an installation.
packages: | build/
	$(Q)wanted=$$(sed 's/#.*//' $(PACKAGES) | xargs -n1 | sort); \
	if ! command -v dpkg-query >/dev/null; then \
		echo "not a Debian system: install the equivalents of $(PACKAGES) by hand" >&2; exit 0; fi; \
	present=$$(dpkg-query -W -f '$${db:Status-Status} $${Package}\n' $$wanted 2>/dev/null | sed -n 's/^installed //p' | sort -u || true); \
	missing=$$(comm -23 <(echo "$$wanted") <(echo "$$present")); \
	if [ -n "$$missing" ]; then \
		echo "  APT     " $$missing; \
		export DEBIAN_FRONTEND=noninteractive; \
		options="-qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"; \
		policy=/usr/sbin/policy-rc.d; \
		if [ ! -e $$policy ]; then \
			trap "$(SUDO) rm -f $$policy" EXIT; \
			printf '#!/bin/sh\nexit 101\n' | $(SUDO) install -m 755 /dev/stdin $$policy; \
		fi; \
		$(SUDO) apt-get $$options update; \
		$(SUDO) apt-get $$options install --yes --no-install-recommends $$missing >build/apt.log; \
	fi

# What is compiled in a wheel is for one Python: an installed perfdiag has it for each that a host may have.
PYTHON_MINORS := 11 12 13 14
build/wheels/.stamp: requirements.lock build/venv/.stamp
	$(call say,WHEELS,"for Python $(PYTHON_MINORS:%=3.%)")
	$(Q)for minor in $(PYTHON_MINORS); do \
		$(PIP) download --require-hashes --only-binary :all: --implementation cp --python-version 3.$$minor \
			--platform manylinux2014_$(MACHINE) --platform manylinux_2_17_$(MACHINE) \
			--dest build/wheels -r requirements.lock; done
	$(Q)touch $@

build/venv/.stamp: requirements.lock requirements-dev.lock | packages build/
	$(call say,VENV,build/venv)
	$(Q)/usr/bin/python3 -m venv build/venv
	$(Q)$(PIP) download --require-hashes --only-binary :all: --dest build/wheels -r requirements-dev.lock
	$(Q)$(BESIDE_SOURCES) $(PIP) install --no-index --find-links build/wheels --require-hashes -r requirements-dev.lock
	$(Q)echo $(CURDIR)/lib >$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/perfdiag.pth
	$(Q)touch $@

workloads: $(patsubst tests/workloads/%.c,build/workloads/%,$(wildcard tests/workloads/*.c)) ## compile the test workloads

man: deps ## write all manual pages to build/man
	$(call say,MAN,build/man)
	$(Q)mkdir -p build/man
	$(Q)PYTHONPATH=lib $(PYTHON) -m perfdiag.documents.manual build/man
	$(Q)PYTHONPATH=lib $(PYTHON) -m perfdiag.documents.script_page tools build/man
	$(Q)PYTHONPATH=lib $(PYTHON) -m perfdiag.documents.script_page dtrace build/man
	$(Q)cp man/*.[1-8] build/man

test-unit: build workloads man ## tests that need no privilege
	$(Q)env $(CACHES) $(PYTHON) -m pytest tests/unit $(ARGS)

SECONDS_OF_FUZZING ?= 3600
fuzz: build ## look for recordings that break a report, for an hour (SECONDS_OF_FUZZING=60); what fails is left in build/fuzz
	$(Q)env $(CACHES) PERFDIAG_FUZZ_SECONDS=$(SECONDS_OF_FUZZING) $(PYTHON) -m pytest tests/unit/test_fuzz.py -s -o faulthandler_timeout=0 $(ARGS)

test-live: build workloads ## tests on this kernel (root)
	$(Q)$(AS_ROOT) $(PYTHON) -m pytest tests/live $(ARGS)

# Deadlines, because a package source may hang.
lab-build: | build/ ## what the emulated machines are made of (KERNEL=6.1: for one)
	$(Q)timeout 900 $(MAKE) packages PACKAGES=packages-lab.txt
	$(Q)timeout 2400 $(SUDO) tests/lab/build.sh build/lab $(LAB_KERNELS)

LAB_KERNELS := $(or $(KERNEL),$(shell sed -nE 's/^([a-z0-9.]+).*/\1/p' tests/lab/kernels.txt))
lab: build workloads lab-build ## live tests on stock kernels in emulated machines (KERNEL=6.1: on one)
	$(Q)$(AS_ROOT) $(PYTHON) -m pytest tests/lab $(LAB_KERNELS:%=--kernel=%) $(ARGS)

lab-shell: build workloads ## a shell on the stock kernel KERNEL=6.1, with the recorder in it
	$(Q)$(MAKE) lab-build KERNEL=$(firstword $(KERNEL) 6.1)
	$(Q)cd tests && $(AS_ROOT) $(CURDIR)/$(PYTHON) -m lab.support.shell $(firstword $(KERNEL) 6.1)

INCIDENTS ?= tests/incidents
incidents: build workloads ## make faults for real and see whether each is named (KERNEL=6.1 INCIDENTS=directory ONLY=text)
	$(Q)$(MAKE) lab-build KERNEL=$(firstword $(KERNEL) 6.1)
	$(Q)$(AS_ROOT) $(PYTHON) tests/incidents/run.py --kernel $(firstword $(KERNEL) 6.1) --output build/incidents \
		$(if $(ONLY),--only '$(ONLY)') $(ARGS) $(INCIDENTS)

truth: build workloads ## make real servers ill and see whether the cause is named (ONLY=regex)
	$(Q)$(MAKE) packages PACKAGES=packages-truth.txt
	$(Q)$(AS_ROOT) $(PYTHON) tests/truth/run.py --output build/truth $(if $(ONLY),--only '$(ONLY)') $(ARGS)

bench: build workloads build/bench/attach build/bench/instructions.so ## measure cost and growth: a table of ratios in build/bench (QUICK=1: a minute, and some for ARGS=guest; TOOLS=names with ARGS=tools or dtrace, WITNESSES=names with ARGS=witnesses)
	$(Q)$(MAKE) packages PACKAGES=packages-bench.txt
	$(if $(findstring witnesses,$(ARGS)),$(Q)$(MAKE) lab-build KERNEL="6.1 witness")
	$(Q)$(AS_ROOT) TOOLS='$(TOOLS)' WITNESSES='$(WITNESSES)' $(PYTHON) tests/bench/run.py --output build/bench $(if $(QUICK),--quick) $(ARGS)

bench-keep: deps ## keep the medians of the last make bench for later runs to compare with, and put its costs into README.md
	$(Q)cd tests && PYTHONPATH=. $(CURDIR)/$(PYTHON) -m bench.medians $(CURDIR)/build/bench

tool-overhead: deps ## put what make bench ARGS="tools dtrace" has measured into the headers of scripts
	$(Q)cd tests && PYTHONPATH=. $(CURDIR)/$(PYTHON) -c 'import sys; from pathlib import Path; from bench import tools; \
		tools.keep(Path(sys.argv[1]))' $(CURDIR)/build/bench/tools

witness-table: deps ## put what make bench ARGS=witnesses has measured into tests/data/witnesses and tests/bench/WITNESSES.md
	$(Q)cd tests && PYTHONPATH=. $(CURDIR)/$(PYTHON) -c 'import sys; from pathlib import Path; from bench import witness_table, witness_verdicts; \
		witness_table.keep(Path(sys.argv[1]), witness_verdicts.VERDICTS)' $(CURDIR)/build/bench/witnesses

readme-kernels: deps ## put what attached on which kernel of the lab into README.md, as make lab has noted it
	$(Q)cd tests && PYTHONPATH=. $(CURDIR)/$(PYTHON) -m lab.table

readme-engines: deps ## put what each engine tells into README.md, as make lab ARGS="-k engines --update" has stored it
	$(Q)cd tests && PYTHONPATH=. $(CURDIR)/$(PYTHON) -m lab.engines_table

readme: build workloads ## put the report of a fresh demo into README.md
	$(Q)$(MAKE) demo >tests/data/readme-report.txt
	$(Q)$(PYTHON) -m pytest -q tests/unit/test_readme.py --update

##@ Habits
.PHONY: lint lint-c lint-python lint-shell lint-man lint-prose fmt lock check-arm64
C_FILES = $(wildcard bpf/*/*.[ch] bpf/core/*/*.[ch] lib/recorder/*.[ch] lib/recorder/*/*.[ch] tests/workloads/*.[ch] tests/bench/*.[ch] tests/unit/c/*.[ch])
SHELL_FILES = $(shell grep -rlIE --exclude='*.toml' '^\#!/bin/(ba)?sh' .ci lib packaging tests 2>/dev/null)

lint: lint-c lint-python lint-shell lint-man lint-prose ## what CI checks besides the tests

lint-c: deps
	$(call say,LINT,'C')
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)

lint-python: deps
	$(call say,LINT,'Python')
	$(Q)$(PYTHON) -m ruff check --quiet .
	$(Q)$(PYTHON) -m ruff format --quiet --check . || { echo "make fmt would format Python anew" >&2; false; }
	$(Q)$(PYTHON) -m mypy --no-error-summary lib
	$(Q)$(PYTHON) build/venv/bin/lint-imports --cache-dir build/import_linter_cache >build/import_linter.txt || { cat build/import_linter.txt >&2; false; }

lint-shell: deps
	$(call say,LINT,'shell')
	$(Q)shellcheck $(SHELL_FILES)

lint-man: man
	$(call say,LINT,'man pages')
	$(Q)mandoc -T lint -W warning build/man/*.[1-8]

lint-prose: man
	$(call say,LINT,'prose')
	$(Q)cd tests && $(CURDIR)/$(PYTHON) -m prose.check $(ARGS)

fmt: deps ## format C and Python, sort imports
	$(Q)$(CLANG_FORMAT) -i $(C_FILES)
	$(Q)$(PYTHON) -m ruff check --quiet --fix-only .
	$(Q)$(PYTHON) -m ruff format --quiet .

lock: deps ## write requirements*.lock anew from pyproject.toml
	$(Q)$(PYTHON) -m venv build/lock && build/lock/bin/pip install --quiet pip-tools
	$(Q)for extra in "" dev; do CUSTOM_COMPILE_COMMAND="make lock" build/lock/bin/pip-compile --quiet --upgrade \
		--generate-hashes --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		$${extra:+--extra $$extra} --output-file requirements$${extra:+-$$extra}.lock pyproject.toml; done

# Compiles only: needs no arm64 machine.  The C part needs the cross compiler and says so when it is absent.
check-arm64: build ## does it compile for arm64?
	$(Q)mkdir -p build/arm64
	$(Q)for source in $(BPF_SOURCES); do \
		$(CLANG) $(subst -D__TARGET_ARCH_$(BPF_ARCH),-D__TARGET_ARCH_arm64,$(BPF_FLAGS)) \
			-c $$source -o build/arm64/$$(basename $$source .c).o; done
	$(Q)echo "  arm64    $(words $(BPF_SOURCES)) BPF objects compile"
	$(Q)if ! command -v aarch64-linux-gnu-gcc >/dev/null; then \
		echo "  arm64    C part not checked: no aarch64-linux-gnu-gcc (apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"; \
	else for source in $(RECORDER_SOURCES) $(LAUNCHER_SOURCES); do \
		aarch64-linux-gnu-gcc $(C_FLAGS) -idirafter /usr/include -fsyntax-only $$source; done; \
		echo "  arm64    $(words $(RECORDER_SOURCES) $(LAUNCHER_SOURCES)) C files compile"; fi

##@ Installation
.PHONY: install uninstall
INSTALLED = $(DESTDIR)$(PREFIX)

# Names of files are words of shell commands here: "rm -rf /opt/my apps/..." would remove /opt/my.
.PHONY: installable
installable: export NAMES = $(DESTDIR)$(PREFIX)
installable: export FROM_ROOT = $(PREFIX)
installable:
	$(Q)case "$$NAMES" in *[!A-Za-z0-9/._+~:@%,=-]*) \
		echo "make: PREFIX and DESTDIR are names of letters, digits and any of / . _ + ~ : @ % , = -" >&2; exit 2;; esac
	$(Q)case "$$FROM_ROOT" in ''|/*) ;; *) echo "make: PREFIX begins with /: nothing else is a place to install to" >&2; exit 2;; esac

# What rich needs only for source code and Markdown, 11 MB, perfdiag never imports (tests/unit/test_install.py).
UNUSED := pygments* markdown_it* mdurl*
install: installable build man build/wheels/.stamp ## install below PREFIX (/usr/local); honours DESTDIR
	$(call say,INSTALL,$(INSTALLED))
	$(Q)install -d $(INSTALLED)/bin $(INSTALLED)/lib/perfdiag
	$(Q)install -s -m 755 build/bin/perfdiag $(INSTALLED)/bin/
	$(Q)install -s -m 755 build/bin/perfdiag-recorder $(INSTALLED)/lib/perfdiag/
	$(Q)rm -rf $(INSTALLED)/lib/perfdiag/python
	$(Q)$(PIP) install --no-index --find-links build/wheels --require-hashes --no-compile \
		--target $(INSTALLED)/lib/perfdiag/python -r requirements.lock
	$(Q)cd $(INSTALLED)/lib/perfdiag/python && rm -rf bin $(UNUSED) && rm -f *.dist-info/{RECORD,INSTALLER,REQUESTED}
	$(Q)rm -rf build/unpacked
	$(Q)for wheel in $$(sed -nE 's/^([a-z0-9_-]+)==([^ ]+).*/\1-\2/p' requirements.lock); do \
		for each in build/wheels/$$wheel-cp*.whl; do \
			[ ! -e $$each ] || $(PYTHON) -m zipfile -e $$each build/unpacked; done; done
	$(Q)cd build/unpacked && find . -name '*.so' -exec install -D -m 644 {} $(abspath $(INSTALLED))/lib/perfdiag/python/{} ';'
	$(Q)cp -r lib/perfdiag $(INSTALLED)/lib/perfdiag/python/
	$(Q)find $(INSTALLED)/lib/perfdiag/python -name __pycache__ -prune -exec rm -rf {} +
	$(Q)$(COMPILED) --invalidation-mode unchecked-hash \
		$(if $(DESTDIR),-s $(DESTDIR) -p /) $(INSTALLED)/lib/perfdiag/python
	$(Q)for page in build/man/*.[1-8]; do install -D -m 644 -t $(INSTALLED)/share/man/man$${page##*.} $$page; done
	$(if $(PREFIX),$(Q)sed -i 's@/usr/local/\(bin\|lib\|share\)/perfdiag@$(PREFIX)/\1/perfdiag@g; s@/usr/local is\>@$(PREFIX) is@' \
		$(INSTALLED)/share/man/man8/perfdiag.8)
	$(index_pages)
	$(Q)install -D -m 755 -t $(INSTALLED)/share/perfdiag/tools tools/*.bt tools/*.py
	$(Q)install -D -m 755 -t $(INSTALLED)/share/perfdiag/dtrace dtrace/*.d
	$(Q)install -D -m 644 -t $(INSTALLED)/share/perfdiag/dtrace/lib dtrace/lib/*.d
	$(Q)install -d $(addprefix $(INSTALLED)/share/,$(dir $(COMPLETIONS)))
	$(Q)$(foreach file,$(COMPLETIONS),build/bin/perfdiag completion $(call shell_of,$(file)) >$(INSTALLED)/share/$(file);)
	$(Q)chmod -R $(MODES) $(INSTALLED)/lib/perfdiag $(INSTALLED)/share/perfdiag $(addprefix $(INSTALLED)/share/,$(COMPLETIONS))

# For man -k; what is staged for a package is indexed where that is installed.
index_pages = $(if $(DESTDIR),,$(Q)! command -v mandb >/dev/null || mandb --quiet $(INSTALLED)/share/man >/dev/null || \
	echo "make: mandb failed: man -k may not list the pages" >&2)
COMPLETIONS := bash-completion/completions/perfdiag zsh/site-functions/_perfdiag fish/vendor_completions.d/perfdiag.fish
shell_of = $(firstword $(subst -, ,$(subst /, ,$(1))))

# Directories below $(1), and theirs, where they are there and empty: others may have files in them.
remove_empty = $(Q)[ ! -d $(1) ] || cd $(1) && for each in $(2); do \
	[ ! -d $$each ] || rmdir -p --ignore-fail-on-non-empty $$each; done

# Empty directories below share/ serve nobody.  bin, lib and share are the system's own where PREFIX is.
uninstall: installable ## remove what install put there, and the directories that are empty then
	$(Q)rm -rf $(INSTALLED)/bin/perfdiag $(INSTALLED)/lib/perfdiag $(INSTALLED)/share/perfdiag \
		$(INSTALLED)/share/man/man?/perfdiag*.[1-8]
	$(Q)rm -f $(addprefix $(INSTALLED)/share/,$(COMPLETIONS))
	$(index_pages)
	$(call remove_empty,$(INSTALLED)/share,man/man[1-8] $(dir $(COMPLETIONS)))
	$(if $(DESTDIR)$(filter-out /usr /usr/local,$(PREFIX)),\
		$(call remove_empty,$(DESTDIR)/,$(addprefix $(patsubst /%,%/,$(PREFIX)),bin lib share)))

include packaging/packages.mk

# --- Rules -----------------------------------------------------------------------------------------------------------

build/:
	$(Q)mkdir -p $@

# Kernel side: one object for each program's file, linked into one, with one skeleton.
BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(MACHINE)))
# Paths of this checkout stay out of what is built: two builds have the same bytes.
NO_PATHS := -ffile-prefix-map=$(CURDIR)=.
BPF_FLAGS := -g $(NO_PATHS) -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Ibpf -I/usr/include/$(MACHINE)-linux-gnu -Wall -Werror
BPF_SOURCES := $(wildcard bpf/*/*.bpf.c)
BPF_OBJECTS := $(BPF_SOURCES:bpf/%.bpf.c=build/bpf/%.bpf.o)

build/bpf/%.bpf.o: bpf/%.bpf.c | packages
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -MMD -MP -c $< -o $@

# sched defines the maps that the others declare extern: the linker wants to meet the definitions first.
build/bpf/perfdiag.bpf.o: $(BPF_OBJECTS)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ build/bpf/sched/sched.bpf.o $(filter-out build/bpf/sched/sched.bpf.o,$^)

build/include/perfdiag.skel.h: build/bpf/perfdiag.bpf.o
	$(call say,SKELETON,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name perfdiag >$@

# Recorder and launcher: static, so that they need nothing of the host they diagnose, and little of its memory.
SHARED_SOURCES := lib/recorder/base/capabilities.c lib/recorder/base/oom_kills.c
LAUNCHER_SOURCES := $(SHARED_SOURCES) $(wildcard lib/recorder/launcher/*.c)
RECORDER_SOURCES := $(SHARED_SOURCES) $(filter-out $(LAUNCHER_SOURCES),$(wildcard lib/recorder/*.c lib/recorder/*/*.c))
RECORDER_OBJECTS := $(RECORDER_SOURCES:lib/recorder/%.c=build/recorder/%.o)
RECORDER_LIBRARIES := -lbpf -lelf -lz -llzma -lseccomp
C_FLAGS := -std=gnu11 -O2 -g $(NO_PATHS) -Wall -Wextra -Werror -DPERFDIAG_VERSION='"$(VERSION)"' \
	-Ibpf -Ilib/recorder -Ibuild/include

GENERATED := build/include/perfdiag.skel.h build/include/syscall_names.inc
ifeq ($(MACHINE),x86_64)
GENERATED += build/include/syscall_names_i386.inc
endif

build/include/syscall_names.inc: SYSCALL_HEADER = asm/unistd.h
build/include/syscall_names_i386.inc: SYSCALL_HEADER = asm/unistd_32.h
$(filter %.inc,$(GENERATED)): lib/recorder/program/syscall_names.sh | packages
	$(call say,NAMES,$@)
	$(Q)mkdir -p $(@D)
	$(Q)CC=$(CC) sh $< $(SYSCALL_HEADER) >$@

build/recorder/%.o: lib/recorder/%.c | packages $(GENERATED)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(C_FLAGS) -MMD -MP -c $< -o $@

build/bin/perfdiag-recorder: $(RECORDER_OBJECTS)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -static -pthread -Wl,--wrap=bpf_prog_load -o $@ $^ $(RECORDER_LIBRARIES)

build/bin/perfdiag: $(LAUNCHER_SOURCES:lib/recorder/%.c=build/recorder/%.o)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -static -o $@ $^

# Workloads say what they need in their first lines: /* LIBS: -laio */
build/workloads/%: tests/workloads/%.c | packages
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -pthread -MMD -MP -MF $@.d \
		-o $@ $< $$(sed -n '1,10s/.*LIBS: \(.*\) \*\/.*/\1/p' $<)

# Static like the recorder, and linked with the same loader.
build/bench/attach: tests/bench/attach.c | packages
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -static -o $@ $< $(RECORDER_LIBRARIES)

# Loaded by the emulator.
build/bench/instructions.so: tests/bench/instructions.c | packages
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -fPIC -shared -o $@ $<

-include $(wildcard build/bpf/*/*.d build/recorder/*.d build/recorder/*/*.d build/workloads/*.d)
