# What is not cargo's: C programs against include/ and the release library. Output goes below $(TARGET).
.POSIX:

CARGO = cargo
CC = cc
CFLAGS = -O2 -Wall -Wextra
TARGET = target

OUT = $(TARGET)/c
LINK = -Iinclude $(OUT)/libalchemy.so.0 -pthread -Wl,-rpath,'$$ORIGIN'

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

.PHONY: check demo bench library
