# What `make install`, `make uninstall` and `make dist` do; a part of the Makefile at the top.
#
#   PREFIX=/usr/local DESTDIR=      where; and BINDIR, LIBDIR, INCLUDEDIR, MANDIR, PKGCONFIGDIR, CMAKEDIR, BASHCOMPDIR, ZSHCOMPDIR
#   STRIP=                          keep symbols for debugging, which are four fifths of the library; otherwise the program that
#                                   takes them away. They stay in build/.

STRIP ?= $(addsuffix -linux-gnu-,$(ARCH))strip
CMAKEDIR ?= $(LIBDIR)/cmake/viewfold
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
OBJCOPY := $(addsuffix -linux-gnu-,$(ARCH))objcopy
I := docs/install

# One object of which all names but the public ones are its own: programs that link it may use any others.
$(B)/libviewfold.a: $(LIB_OBJ) $(B)/list
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(LINK) -r -nostdlib $(LIB_OBJ) -o $(B)/libviewfold.o && $(OBJCOPY) --localize-hidden $(B)/libviewfold.o && \
	  $(AR) rcsD $@ $(B)/libviewfold.o && rm $(B)/libviewfold.o

# pkg-config prefers this one where PKG_CONFIG_PATH names the build directory: programs use the library as it is there.
$(B)/viewfold-uninstalled.pc: viewfold.pc.in Makefile
	@mkdir -p $(@D)
	$(Q)sed -e '/^compile_program/d; s|@PREFIX@|$${pcfiledir}|; s|@LIBDIR@|$${pcfiledir}|; s|@BINDIR@|$${pcfiledir}|' \
	  -e 's|@INCLUDEDIR@|$(CURDIR)/frontend|; s|@VERSION@|$(VERSION)|' $< > $@
all: $(B)/viewfold-uninstalled.pc

HEADERS := $(sort $(wildcard frontend/viewfold*.h))
# What the pages are about, one each.
FUNCTIONS := $(shell cat test/abi.txt)
$(B)/man3: $(HEADERS) $(I)/man3.awk docs/man/viewfold.1
	$(call say,MAN,$@)
	@rm -rf $@ && mkdir -p $@
	$(Q)awk -v out=$@ -v version=$(VERSION) -v date="$$(sed -n 's/^[.]Dd //p' docs/man/viewfold.1)" -f $(I)/man3.awk $(HEADERS)

# Library and command look for the module and the program that runs it in viewfold/ beside themselves and in
# ../lib/viewfold/: where LIBDIR is another folder, the command is shown the way.
COMPANIONS = $(notdir $(MODULE) $(MPI_MODULES) $(COMPILER))
COMMAND_LIB = $(abspath $(BINDIR)/../lib/viewfold)
ELSEWHERE = $(filter-out $(abspath $(LIBDIR)/viewfold),$(COMMAND_LIB))
# The loader finds a library in a standard folder only through its cache, which root may renew.
LDCONFIG = $(if $(DESTDIR),,$(Q)! [ "$$(id -u)" = 0 ] || PATH="$$PATH:/sbin:/usr/sbin" ldconfig || true)
# from A,B: the folder B as it is written in A.
from = $(shell realpath -m --relative-to='$(1)' '$(2)')
FILLED = sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@BINDIR@|$(BINDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
  -e 's|@SOVERSION@|$(SOVERSION)|; s|@INCLUDE_FROM_LIB@|$(call from,$(CMAKEDIR)/../..,$(INCLUDEDIR))|; s|@BIN_FROM_LIB@|$(call from,$(CMAKEDIR)/../..,$(BINDIR))|'
CMAKE_FILES := config config-version targets
# put FILE,FOLDER,MODE,STRIP-OPTION
put = $(Q)install -D -m $(3) '$(1)' '$(DESTDIR)$(2)/$(notdir $(1))'$(if $(4),$(if $(STRIP), && $(STRIP) $(4) '$(DESTDIR)$(2)/$(notdir $(1))'))

.PHONY: install uninstall dist clean
install: all $(B)/libviewfold.a $(B)/man3
	$(call put,$(B)/viewfold,$(BINDIR),755,--strip-unneeded)
	$(Q)install -d '$(DESTDIR)$(INCLUDEDIR)' '$(DESTDIR)$(MANDIR)/man3'
	$(Q)install -m 644 $(HEADERS) '$(DESTDIR)$(INCLUDEDIR)'
	$(call put,$(SO),$(LIBDIR),755,--strip-unneeded)
	$(Q)ln -sf libviewfold.so.$(SOVERSION) '$(DESTDIR)$(LIBDIR)/libviewfold.so'
	$(call put,$(B)/libviewfold.a,$(LIBDIR),644,--strip-debug --enable-deterministic-archives)
	$(call put,$(B)/libviewfold-pool.a,$(LIBDIR),644,--strip-debug --enable-deterministic-archives)
	$(Q)for f in $(COMPANIONS); do install -D -m 755 "$(B)/$$f" "$(DESTDIR)$(LIBDIR)/viewfold/$$f"$(if $(STRIP), && \
	  $(STRIP) --strip-unneeded "$(DESTDIR)$(LIBDIR)/viewfold/$$f") || exit; done
	$(Q)$(if $(ELSEWHERE),for f in $(COMPANIONS); do mkdir -p '$(DESTDIR)$(ELSEWHERE)' && \
	  ln -srf "$(DESTDIR)$(LIBDIR)/viewfold/$$f" '$(DESTDIR)$(ELSEWHERE)'; done)
	$(call put,docs/man/viewfold.1,$(MANDIR)/man1,644)
	$(Q)install -m 644 $(B)/man3/*.3 '$(DESTDIR)$(MANDIR)/man3'
	$(Q)install -D -m 644 $(I)/viewfold.bash '$(DESTDIR)$(BASHCOMPDIR)/viewfold'
	$(call put,$(I)/_viewfold,$(ZSHCOMPDIR),644)
	$(Q)mkdir -p $(B)/filled && $(FILLED) viewfold.pc.in > $(B)/filled/viewfold.pc
	$(call put,$(B)/filled/viewfold.pc,$(PKGCONFIGDIR),644)
	$(Q)install -d '$(DESTDIR)$(CMAKEDIR)' && for f in $(CMAKE_FILES); do $(FILLED) $(I)/viewfold-$$f.cmake.in > \
	  '$(DESTDIR)$(CMAKEDIR)'/viewfold-$$f.cmake || exit; done
	$(LDCONFIG)

INSTALLED = $(BINDIR)/viewfold $(HEADERS:frontend/%=$(INCLUDEDIR)/%) \
  $(addprefix $(LIBDIR)/,libviewfold.so.$(SOVERSION) libviewfold.so libviewfold.a libviewfold-pool.a) \
  $(foreach d,$(LIBDIR)/viewfold $(ELSEWHERE),$(addprefix $d/,viewfold-llvm.so viewfold-compile viewfold-mpi-openmpi.so viewfold-mpi-mpich.so)) \
  $(PKGCONFIGDIR)/viewfold.pc $(CMAKE_FILES:%=$(CMAKEDIR)/viewfold-%.cmake) $(BASHCOMPDIR)/viewfold $(ZSHCOMPDIR)/_viewfold \
  $(MANDIR)/man1/viewfold.1 $(FUNCTIONS:%=$(MANDIR)/man3/%.3)
uninstall:
	$(Q)for f in $(INSTALLED); do rm -f "$(DESTDIR)$$f"; done
	$(Q)rmdir '$(DESTDIR)$(LIBDIR)/viewfold' '$(DESTDIR)$(COMMAND_LIB)' '$(DESTDIR)$(CMAKEDIR)' 2>/dev/null || true
	$(LDCONFIG)

# The sources as an archive, from which everything is built: of a checkout what is committed, else all but build/. The same bytes for
# the same commit.
DIST := viewfold-$(VERSION)
dist:
	@mkdir -p build
	$(Q)if git rev-parse --verify -q HEAD >/dev/null 2>&1; then git archive --format=tar --prefix=$(DIST)/ HEAD; \
	  else tar --exclude=./build --exclude=./.git --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$${SOURCE_DATE_EPOCH:-0} \
	  --transform='s|^[.]|$(DIST)|' -cf - .; fi | gzip -9n > build/$(DIST).tar.gz
	@echo build/$(DIST).tar.gz

# Packages of Debian, from that archive: build/deb/*.deb. Signing and checking them (debuild, lintian) is up to who releases them;
# so is answering for them: DEBFULLNAME and DEBEMAIL, where set, take the place of the maintainer, whose address is nobody's.
.PHONY: deb
deb: dist
	@sh .ci/deps install build llvm pages deb
	$(Q)rm -rf build/deb && mkdir build/deb && tar -xzf build/$(DIST).tar.gz -C build/deb && \
	  cd build/deb/$(DIST) && if [ -n "$$DEBEMAIL" ]; then \
	    who="$${DEBFULLNAME:-$$DEBEMAIL} <$$DEBEMAIL>" && sed -i "s|^Maintainer: .*|Maintainer: $$who|" debian/control && \
	    sed -i "s|^ -- .*>  | -- $$who  |" debian/changelog; fi && \
	  env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc
	@ls build/deb/*.deb
