# SPDX-License-Identifier: GPL-2.0
#
# The front door: `make` lists the targets. Everything built goes to build/,
# everything worth keeping across clones to the cache (scripts/setup/common.sh).
# The kernel module's object list is in Kbuild, the user programs' in
# tools/Makefile.

SHELL	:= /bin/bash
ifneq ($(words x$(subst :, ,$(CURDIR))),1)
$(error cannot work in '$(CURDIR)': make takes no blank or colon in a path; move the tree)
endif
BUILD	:= $(CURDIR)/build
Q	:= $(if $(V),,@)

# `make module` takes KVER=<version> (its headers, installed or fetched; 6.1 and 6.12
# mean Debian's newest of that series) or KDIR=<kernel build directory>; without either,
# the running kernel's headers or, failing those, the newest installed.
# KDIR is a path, KVER a name: each is derived from the other, and only on use,
# so that targets without a kernel need no headers.
ifdef KDIR
override KDIR := $(abspath $(KDIR))
KVER	= $(shell cat $(KDIR)/include/config/kernel.release)
else
KVER	= $(shell scripts/kernel/versions.sh default)
KDIR	=
ifneq ($(filter 6.1 6.12,$(KVER)),)
override KVER := $(shell scripts/kernel/versions.sh $(KVER))
endif
endif

.PHONY: help
help: ## This list
	@printf 'pmuring: perf events behind /dev/pmuring\n\n'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'
	@printf '\nKVER=<version> or KDIR=<kernel build directory> choose the kernel of the module.\n'

.PHONY: deps
deps: ## Install the Debian packages that all of this needs
	$(Q)scripts/setup/packages.sh

.PHONY: kver
kver:
	@echo $(KVER)

# One tree, several kernels: each builds in its own directory of symlinks.
.PHONY: module
module: ## Build build/<version>/pmuring.ko
	$(Q)kver=$(KVER); [ -n "$$kver" ] || exit 1; \
	scripts/kernel/build-module.sh "$$kver" "$(KDIR)" \
		$(if $(W),W=$(W)) $(if $(C),C=$(C)) $(if $(V),V=$(V))

.PHONY: tools
tools: ## Build build/tools/pmuring and the tests (SAN=1: under build/san, with ASan and UBSan)
	$(Q)$(MAKE) --no-print-directory -k -f tools/Makefile \
		O=$(BUILD)$(if $(SAN),/san) SAN=$(SAN) V=$(V) all

.PHONY: demo
demo: ## Profile real programs in the PMU-modelling QEMU and print where the time went
	$(Q)scripts/demo/run.sh

.PHONY: check
check: ## Prove it: builds, static checks, unit tests, end to end (ONLY= TESTS=, see CONTRIBUTING.md)
	$(Q)scripts/check/all.sh

.PHONY: check-host
check-host: ## End-to-end tests against pmuring.ko on this very machine (as root)
	$(Q)scripts/check/host.sh

.PHONY: check-debug
check-debug: ## The tests once more under KASAN, lockdep and kmemleak (slow)
	$(Q)scripts/check/debug.sh

.PHONY: fuzz
fuzz: ## Random operations on the node, on the debug kernel (SEED= OPS= KERNEL=, see scripts/fuzz)
	$(Q)scripts/fuzz

.PHONY: bench
bench: ## What samples, context switches and calls cost, beside the kernel's own perf
	$(Q)scripts/bench/run.sh

.PHONY: sparse
sparse: ## Run sparse over the module
	$(Q)scripts/check/sparse.sh $(KVER)

.PHONY: checkpatch
checkpatch: ## Run the kernel's checkpatch --strict over our C files
	$(Q)scripts/check/checkpatch.sh

.PHONY: clean
clean: ## Remove build/ (the cache stays)
	$(Q)rm -rf $(BUILD)
