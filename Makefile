# What is not cargo's: C programs against include/ and the release library. Output goes below $(TARGET).
.POSIX:

CARGO = cargo
CC = cc
CFLAGS = -O2 -Wall -Wextra
TARGET = target

OUT = $(TARGET)/c
LINK = -Iinclude $(OUT)/libalchemy.so.0 -pthread -Wl,-rpath,'$$ORIGIN'

# Where to install. The original's place, which many build systems know by heart.
PREFIX = /usr/xenomai
LIBDIR = $(PREFIX)/lib
DESTDIR =
INSTALL = install

# What install-built installs: cargo's libraries.
BUILT = $(TARGET)/release
# The development names that link lines of all generations have, and the names that old executables ask for at run time.
NAMES = alchemy cobalt copperplate mercury modechk native pthread_rt rtdk rtdm trank xenomai
SONAMES = libcobalt.so.2 libcopperplate.so.0 libmercury.so.0 libmodechk.so.0 libnative.so.3 librtdk.so.0 librtdm.so.1 \
	libtrank.so.0 libxenomai.so.0
WRAPPERS = cobalt modechk posix

BENCHES = sem_pair mutex_pair object_pairs sem_switch message_switch sem_wake sem_bind growth

# All tests: Rust, C, documentation, examples.
check:
	$(CARGO) test --workspace --target-dir $(TARGET)

# P and V on a free semaphore, beside what the C library and the bare machine need.
demo: library
	$(CC) $(CFLAGS) examples/c/sem_pv.c -o $(OUT)/sem_pv $(LINK)
	$(OUT)/sem_pv

# Costs as ratios, with their budgets; half a minute. Best on an idle machine, with the right to use SCHED_FIFO.
bench: library
	for name in $(BENCHES); do \
		$(CC) $(CFLAGS) -falign-functions=64 tests/bench/$$name.c -o $(OUT)/bench-$$name $(LINK) || exit 1; \
	done
	@for name in $(BENCHES); do $(OUT)/bench-$$name || exit 1; done

# libalchemy.so under the name that programs look for.
library:
	$(CARGO) build --release -p alchemy-lib --target-dir $(TARGET)
	mkdir -p $(OUT)
	ln -sf ../release/libalchemy.so $(OUT)/libalchemy.so.0

# Lays out headers, libraries, xeno-config and files for pkg-config below $(DESTDIR)$(PREFIX).
install: library install-built

# The same with libraries that are there.
install-built:
	for header in $$(cd include && find . -name '*.h'); do \
		$(INSTALL) -D -m 644 include/$$header $(DESTDIR)$(PREFIX)/include/$$header || exit 1; \
	done
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/include/mercury $(DESTDIR)$(PREFIX)/include/cobalt $(DESTDIR)$(PREFIX)/bin \
		$(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/xenomai
	$(INSTALL) -m 755 $(BUILT)/libalchemy.so $(DESTDIR)$(LIBDIR)/libalchemy.so.0
	if [ -f $(BUILT)/libalchemy.a ]; then $(INSTALL) -m 644 $(BUILT)/libalchemy.a $(DESTDIR)$(LIBDIR)/libalchemy.a; fi
	$(CC) -O2 -fPIC -std=gnu99 -c ffi/install/pull.c -o $(DESTDIR)$(LIBDIR)/xenomai/alchemy-pull.o
	for name in $(NAMES); do \
		echo 'INPUT(xenomai/alchemy-pull.o -l:libalchemy.so.0)' >$(DESTDIR)$(LIBDIR)/lib$$name.so || exit 1; \
	done
	for name in $(SONAMES); do \
		$(CC) -shared -fPIC -Wl,-soname,$$name ffi/install/stub.c -o $(DESTDIR)$(LIBDIR)/$$name -Wl,--no-as-needed \
			$(DESTDIR)$(LIBDIR)/libalchemy.so.0 || exit 1; \
	done
	for name in $(WRAPPERS); do : >$(DESTDIR)$(LIBDIR)/$$name.wrappers || exit 1; done
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@CC@|$(CC)|' ffi/install/xeno-config.in \
		>$(DESTDIR)$(PREFIX)/bin/xeno-config
	chmod 755 $(DESTDIR)$(PREFIX)/bin/xeno-config
	for name in alchemy xenomai-alchemy libxenomai_native; do \
		sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e "s|@NAME@|$$name|" \
			-e "s|@DEFINES@|$$(case $$name in *native) echo ' -D__XENO__' ;; esac)|" \
			ffi/install/alchemy.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/$$name.pc || exit 1; \
	done

# Removes what install laid out, and the directories that are empty then.
uninstall:
	for header in $$(cd include && find . -name '*.h'); do rm -f $(DESTDIR)$(PREFIX)/include/$$header; done
	rm -f $(DESTDIR)$(LIBDIR)/libalchemy.so.0 $(DESTDIR)$(LIBDIR)/libalchemy.a $(DESTDIR)$(LIBDIR)/xenomai/alchemy-pull.o \
		$(DESTDIR)$(PREFIX)/bin/xeno-config
	for name in $(NAMES); do rm -f $(DESTDIR)$(LIBDIR)/lib$$name.so; done
	for name in $(SONAMES); do rm -f $(DESTDIR)$(LIBDIR)/$$name; done
	for name in $(WRAPPERS); do rm -f $(DESTDIR)$(LIBDIR)/$$name.wrappers; done
	for name in alchemy xenomai-alchemy libxenomai_native; do rm -f $(DESTDIR)$(LIBDIR)/pkgconfig/$$name.pc; done
	for directory in $$(cd include && find . -depth -type d) mercury cobalt; do \
		rmdir $(DESTDIR)$(PREFIX)/include/$$directory 2>/dev/null || :; \
	done
	for directory in $(LIBDIR)/pkgconfig $(LIBDIR)/xenomai $(LIBDIR) $(PREFIX)/bin $(PREFIX)/include $(PREFIX); do \
		rmdir $(DESTDIR)$$directory 2>/dev/null || :; \
	done

.PHONY: check demo bench library install install-built uninstall
