# SPDX-License-Identifier: GPL-2.0-only
# What is delivered: a tarball, packages for Debian and for RPM systems, a wheel and an sdist, all in build/dist.
# Two builds of one commit have the same bytes: nothing of this machine, its clock or its directory gets in.

##@ Delivery
.PHONY: package deb rpm wheel dist test-packages

DIST := build/dist
# The time of the commit, or, in an sdist, of its changelog: what is packed carries no other.
export SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell date -r CHANGELOG.md +%s))
ARCHITECTURE := $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(MACHINE)))
TREES := build/packaging
MAIN_TREE := $(TREES)/perfdiag
TOOLS_TREE := $(TREES)/perfdiag-tools
MODES := u=rwX,go=rX

package: $(DIST)/perfdiag-$(VERSION)-$(MACHINE).tar.gz ## one tarball to copy to a host where nothing may be installed

$(DIST)/perfdiag-$(VERSION)-$(MACHINE).tar.gz: FORCE
	$(Q)rm -rf build/package && mkdir -p $(@D)
	$(Q)$(MAKE) install PREFIX= DESTDIR=$(CURDIR)/build/package/perfdiag-$(VERSION)-$(MACHINE)
	$(call say,TAR,$@)
	$(Q)tar --sort=name --owner=0 --group=0 --numeric-owner --mode=$(MODES) --mtime=@$(SOURCE_DATE_EPOCH) \
		-C build/package -c perfdiag-$(VERSION)-$(MACHINE) | gzip -9n >$@
FORCE:

deb: $(TREES)/.stamp ## perfdiag and perfdiag-tools for Debian 12 and later
	$(call nfpm,deb)

rpm: $(TREES)/.stamp ## the same for RPM systems
	$(call nfpm,rpm)

wheel: build/venv/.stamp ## the Python part alone, as wheel and sdist: reports recordings on any machine
	$(call say,WHEEL,$(DIST))
	$(Q)mkdir -p $(DIST)
	$(Q)rm -f $(DIST)/*.whl $(DIST)/perfdiag-$(VERSION).tar.gz
	$(Q)umask 022; build/venv/bin/hatchling build --target wheel --target sdist --directory $(DIST) 2>/dev/null

dist: package deb rpm wheel ## all of these, in build/dist
	$(Q)cd $(DIST) && sha256sum *.*

test-packages: dist workloads ## install and remove the packages in clean Debian 12, 13 and testing (root, network)
	$(Q)$(MAKE) packages PACKAGES=packages-packaging.txt
	$(Q)$(AS_ROOT) $(PYTHON) -m pytest tests/packages $(ARGS)

# One description a package (packaging/NAME.yaml) for both formats.
define nfpm
$(call say,$(1),$(DIST))
$(Q)mkdir -p $(DIST) && rm -f $(DIST)/*.$(1)
$(Q)cd $(TREES) && for name in perfdiag perfdiag-tools; do \
	VERSION=$(VERSION) ARCHITECTURE=$(ARCHITECTURE) $(CURDIR)/build/venv/bin/nfpm package --packager $(1) \
		--config $(CURDIR)/packaging/$$name.yaml --target $(abspath $(DIST)) >/dev/null; done
endef

# The tree of each package.  Byte code is left out: it is for one version of Python, and made when the package is installed.
# ledger stays beside the recorder, which runs it where the kernel lacks BTF.
$(TREES)/.stamp: FORCE
	$(Q)rm -rf $(TREES) && mkdir -p $(TREES)
	$(Q)$(MAKE) install PREFIX=/usr DESTDIR=$(abspath $(MAIN_TREE))
	$(Q)find $(MAIN_TREE) -name __pycache__ -prune -exec rm -rf {} +
	$(Q)mkdir -p $(TOOLS_TREE)/usr/share/perfdiag/{tools,dtrace} $(TOOLS_TREE)/usr/share/man/man8
	$(Q)cd $(MAIN_TREE)/usr/share && for script in perfdiag/{tools,dtrace}/*.*; do case $$script in */ledger.*) ;; \
		*) mv $$script $(abspath $(TOOLS_TREE))/usr/share/$$script; \
		mv man/man8/perfdiag-$${script##*/}.8 $(abspath $(TOOLS_TREE))/usr/share/man/man8/;; esac; done
	$(Q)mv $(MAIN_TREE)/usr/share/perfdiag/dtrace/lib $(TOOLS_TREE)/usr/share/perfdiag/dtrace/
	$(Q)find $(TREES) -path '*/man/*' -type f -exec gzip -9n {} +
	$(Q)mkdir -p $(MAIN_TREE)/usr/share/zsh/vendor-completions # where Debian's zsh looks; others look in site-functions
	$(Q)cp $(MAIN_TREE)/usr/share/zsh/site-functions/_perfdiag $(MAIN_TREE)/usr/share/zsh/vendor-completions/
	$(Q)for name in perfdiag perfdiag-tools; do documents=$(TREES)/$$name/usr/share/doc/$$name; mkdir -p $$documents; \
		cp packaging/copyright $$documents/; gzip -9nc CHANGELOG.md >$$documents/changelog.gz; done
	$(Q)cp README.md $(MAIN_TREE)/usr/share/doc/perfdiag/
	$(Q)cp packaging/post*.sh packaging/pre*.sh $(TREES)/
	$(Q)packaging/sudoers.sh <man/perfdiag.8 >$(MAIN_TREE)/usr/share/doc/perfdiag/sudoers.example
	$(Q)chmod -R $(MODES) $(TREES)
	$(Q)touch $@
	$(Q)find $(TREES) -exec touch --no-dereference --date=@$(SOURCE_DATE_EPOCH) {} +
