//! Heaps through the Rust interface.

mod kit;

use std::sync::mpsc;
use std::time::Duration;

use alchemy::task::Status;
use alchemy::{Alarm, Block, Date, Error, Handle, Heap, HeapMode, HeapRef, JoinHandle, Name, Task, Timeout};
use kit::{LONG, Random, SHORT, Watchdog, as_plain, as_task, gate, until, until_status, value};

fn until_waiters(heap: HeapRef, waiters: u32) {
    until(|| heap.inquire().expect("the heap is gone").waiters == waiters);
}

/// A task of this priority that waits for so many bytes when this returns.
fn waiter(heap: HeapRef, priority: u32, size: usize) -> JoinHandle<alchemy::Result<Block>> {
    let queued = heap.inquire().unwrap().waiters;
    let body = move || heap.alloc(size, Timeout::INFINITE);
    let task = Task::builder().priority(priority).spawn(body).unwrap();
    until_waiters(heap, queued + 1);
    task
}

/// What ended a wait; none got a block.
fn error(task: JoinHandle<alchemy::Result<Block>>) -> Error {
    value(task).unwrap_err()
}

fn used(heap: HeapRef) -> u64 {
    heap.inquire().unwrap().used
}

fn assert_stale(heap: HeapRef) {
    assert_eq!(heap.alloc(1, Timeout::INFINITE).unwrap_err(), Error::Invalid);
    assert_eq!(heap.alloc(1, Timeout::NONE).unwrap_err(), Error::Invalid);
    assert_eq!(heap.alloc_raw(1, false, LONG), Err(Error::Invalid));
    // SAFETY: the address of no block.
    assert_eq!(unsafe { heap.free_raw([0].as_ptr()) }, Err(Error::Invalid));
    assert_eq!(heap.inquire(), Err(Error::Invalid));
    assert_eq!(heap.delete(), Err(Error::Invalid));
}

#[test]
fn a_block_is_a_slice_that_frees_when_it_is_dropped() {
    let _dog = Watchdog::new();
    let heap = Heap::create("heap-blocks", 4000, HeapMode::PRIORITY).unwrap();
    let seen = heap.inquire().unwrap();
    assert_eq!((seen.size, seen.usable, seen.used, seen.waiters), (4000, 4096, 0, 0));
    assert_eq!((seen.mode, seen.name.to_text().as_str()), (HeapMode::PRIORITY, "heap-blocks"));
    let mut first = heap.alloc(100, Timeout::NONE).unwrap();
    let second = heap.alloc(1, Timeout::NONE).unwrap();
    // Fresh memory.
    assert_eq!((&first[..], &second[..]), (&[0; 100][..], &[0][..]));
    assert_eq!(first.as_ptr() as usize % 16, 0);
    first.fill(7);
    assert_eq!((first[99], second[0]), (7, 0));
    assert!(used(*heap) >= 101);
    drop(first);
    drop(second);
    assert_eq!(used(*heap), 0);
}

/// Blocks of random sizes that come and go do not overlap, and nothing of them is left.
#[test]
fn blocks_do_not_overlap() {
    let _dog = Watchdog::new();
    let heap = Heap::new(64 << 10).unwrap();
    let mut random = Random::new(3);
    let mut blocks: Vec<Block> = Vec::new();
    let mut refused = 0;
    for round in 0..20_000u32 {
        let size = 1 + random.below(if round % 8 == 0 { 5000 } else { 200 }) as usize;
        match heap.alloc(size, Timeout::NONE) {
            Ok(mut block) => {
                assert_eq!(block.len(), size);
                let mark = block.as_ptr() as usize as u8 ^ size as u8;
                block.fill(mark);
                blocks.push(block);
            }
            Err(error) => {
                assert_eq!(error, Error::WouldBlock);
                refused += 1;
            }
        }
        while blocks.len() > 300 || random.below(3) == 0 && !blocks.is_empty() {
            let block = blocks.swap_remove(random.below(blocks.len() as u64) as usize);
            let mark = block.as_ptr() as usize as u8 ^ block.len() as u8;
            assert!(block.iter().all(|&byte| byte == mark));
        }
    }
    blocks.extend((0..).map_while(|_| heap.alloc(512, Timeout::NONE).ok()));
    assert_eq!(heap.alloc(512, Timeout::NONE).unwrap_err(), Error::WouldBlock, "{refused} refused");
    blocks.clear();
    assert_eq!(used(*heap), 0);
    heap.alloc(64 << 10, Timeout::NONE).expect("it is all one again");
}

#[test]
fn arguments_out_of_range_are_refused() {
    let _dog = Watchdog::new();
    let create = |size, mode| Heap::create("heap-refused", size, mode).map(drop);
    assert_eq!(create(0, HeapMode::PRIORITY), Err(Error::Invalid));
    assert_eq!(create(1 << 31, HeapMode::PRIORITY), Err(Error::Invalid));
    assert_eq!(create(1, HeapMode::from_bits_retain(2)), Err(Error::Invalid));
    let heap = Heap::create("heap-refused", 1024, HeapMode::PRIORITY).unwrap();
    assert_eq!(create(1, HeapMode::PRIORITY), Err(Error::Exists));
    assert_eq!(heap.alloc(1025, Timeout::INFINITE).unwrap_err(), Error::Invalid);
    assert_eq!(heap.alloc(0, Timeout::NONE).unwrap_err(), Error::WouldBlock);
    heap.alloc(1024, Timeout::from_timespec(1, 2_000_000_000)).expect("who need not wait needs no date");
}

#[test]
fn who_may_wait() {
    let _dog = Watchdog::new();
    let heap = Heap::new(512).unwrap();
    let reference = *heap;
    let all = heap.alloc(512, Timeout::INFINITE).unwrap();
    let alloc = move |timeout: Timeout| reference.alloc(1, timeout).unwrap_err();
    as_plain(move || {
        assert_eq!(alloc(Timeout::NONE), Error::WouldBlock);
        assert_eq!(alloc(Timeout::INFINITE), Error::Permission);
        assert_eq!(alloc(LONG.into()), Error::Permission);
    });
    as_task(move || {
        assert_eq!(alloc(Timeout::NONE), Error::WouldBlock);
        assert_eq!(alloc(Timeout::until(Date::from_ticks(1))), Error::TimedOut);
        assert_eq!(alloc(Timeout::from_timespec(1, -1)), Error::Invalid);
        let start = Date::now();
        assert_eq!(alloc(SHORT.into()), Error::TimedOut);
        assert!(Date::now() - start >= SHORT);
    });
    drop(all);
    let seen = heap.inquire().unwrap();
    assert_eq!((seen.waiters, seen.used), (0, 0));
}

#[test]
fn a_dropped_block_serves_all_whose_requests_fit() {
    let _dog = Watchdog::new();
    let heap = Heap::new(2048).unwrap();
    let (first, rest) = (heap.alloc(1024, Timeout::NONE).unwrap(), heap.alloc(1024, Timeout::NONE).unwrap());
    let large = waiter(*heap, 30, 2048);
    let small = [waiter(*heap, 20, 512), waiter(*heap, 10, 512)];
    drop(first);
    // Whether or not they have run.
    assert_eq!(heap.inquire().unwrap().waiters, 1);
    assert_eq!(used(*heap), 2048);
    let blocks = small.map(|task| value(task).unwrap());
    assert!(blocks.iter().all(|block| block.len() == 512));
    drop(rest);
    drop(blocks);
    assert_eq!(value(large).unwrap().len(), 2048);
    assert_eq!(used(*heap), 0);
}

#[test]
fn waiters_are_served_by_priority_or_by_arrival() {
    let _dog = Watchdog::new();
    for (mode, order) in [(HeapMode::PRIORITY, [1, 2, 0]), (HeapMode::empty(), [0, 1, 2])] {
        let heap = Heap::create("", 512, mode).unwrap();
        let mut block = heap.alloc(512, Timeout::NONE).unwrap();
        let mut tasks = [10, 30, 20].map(|priority| Some(waiter(*heap, priority, 512)));
        for next in order {
            drop(block);
            block = value(tasks[next].take().unwrap()).unwrap();
        }
        drop(block);
        assert_eq!(used(*heap), 0, "{mode:?}");
    }
}

#[test]
fn a_block_outlives_its_heap() {
    let _dog = Watchdog::new();
    let heap = Heap::create("heap-outlived", 8192, HeapMode::PRIORITY).unwrap();
    let reference = *heap;
    let mut blocks: Vec<Block> = (0..8).map(|_| heap.alloc(1000, Timeout::NONE).unwrap()).collect();
    let waiting = waiter(reference, 0, 5000);
    drop(heap);
    assert_eq!(error(waiting), Error::Removed);
    assert_stale(reference);
    // New heaps, at the same place in the arena too, do not get the memory.
    let successors: Vec<Heap> = (0..20).map(|_| Heap::new(8192).unwrap()).collect();
    let mut others: Vec<Block> = successors.iter().map(|heap| heap.alloc(8192, Timeout::NONE).unwrap()).collect();
    blocks.iter_mut().for_each(|block| block.fill(1));
    others.iter_mut().for_each(|block| block.fill(2));
    assert!(blocks.iter().all(|block| block.iter().all(|&byte| byte == 1)));
    drop(blocks);
    assert!(others.iter().all(|block| block.iter().all(|&byte| byte == 2)));
    // The drops freed nothing of a successor's.
    assert!(successors.iter().all(|heap| used(**heap) == 8192));
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Heaps are present in memory from the beginning, so what stays behind is seen.
#[test]
fn heaps_that_are_gone_leave_no_memory_behind() {
    const SIZE: usize = 8 << 20;
    const ROUNDS: usize = 40;
    let _dog = Watchdog::new();
    let before = resident();
    for round in 0..ROUNDS {
        let heap = Heap::new(SIZE).unwrap();
        let mut block = heap.alloc(SIZE / 2, Timeout::NONE).unwrap();
        block[0] = 1;
        // Either may go first.
        if round % 2 == 0 {
            drop(heap);
            drop(block);
        } else {
            drop(block);
            drop(heap);
        }
    }
    // Half of what would be left if one of the two orders left its memory; the other tests use a tenth of that.
    assert!(resident() < before + ROUNDS * SIZE / 4, "{} MiB more", (resident() - before) >> 20);
    // One that is alive is seen.
    let before = resident();
    let heap = Heap::new(ROUNDS * SIZE / 2).unwrap();
    assert!(resident() > before + ROUNDS * SIZE / 4);
    drop(heap);
}

#[test]
fn a_block_crosses_threads() {
    let _dog = Watchdog::new();
    let heap = Heap::new(4096).unwrap();
    let mut block = heap.alloc(9, Timeout::NONE).unwrap();
    block.fill(3);
    assert_eq!(as_task(move || block.iter().sum::<u8>()), 27);
    assert_eq!(used(*heap), 0);
    let reference = *heap;
    let block = as_task(move || reference.alloc(8, Timeout::INFINITE).unwrap());
    assert_eq!((block.len(), used(reference) > 0), (8, true));
    drop(block);
    assert_eq!(used(reference), 0);
}

#[test]
fn a_grant_outlives_the_heap_or_is_told_to_be_gone() {
    let _dog = Watchdog::new();
    for _ in 0..50 {
        let heap = Heap::new(512).unwrap();
        let block = heap.alloc(1, Timeout::NONE).unwrap();
        let task = waiter(*heap, 0, 512);
        drop(block);
        drop(heap);
        match value(task) {
            Ok(mut block) => block.fill(1),
            Err(error) => assert_eq!(error, Error::Removed),
        }
    }
}

#[test]
fn unblocked_and_cancelled_waiters_take_nothing_along() {
    let _dog = Watchdog::new();
    let heap = Heap::new(512).unwrap();
    let block = heap.alloc(512, Timeout::NONE).unwrap();
    let [first, second, third] = [3, 2, 1].map(|priority| waiter(*heap, priority, 512));
    first.task().unblock().unwrap();
    assert_eq!(heap.inquire().unwrap().waiters, 2);
    second.task().request_end().unwrap();
    assert_eq!(heap.inquire().unwrap().waiters, 1);
    drop(block);
    assert_eq!((error(first), error(second)), (Error::Interrupted, Error::Cancelled));
    drop(value(third).unwrap());
    assert_eq!(used(*heap), 0);
}

#[test]
fn a_single_block_is_shared() {
    let _dog = Watchdog::new();
    let heap = Heap::create("", 1000, HeapMode::SINGLE).unwrap();
    assert_eq!(heap.alloc(1000, Timeout::INFINITE).unwrap_err(), Error::Invalid);
    assert_eq!(heap.alloc_raw(999, false, Timeout::NONE), Err(Error::Invalid));
    let block = heap.alloc_raw(0, true, Timeout::NONE).unwrap();
    assert_eq!(heap.alloc_raw(1000, true, Timeout::NONE), Ok(block));
    assert_eq!(heap.alloc_raw(7, false, Timeout::NONE), Ok(block));
    assert_eq!(heap.alloc_raw(7, true, Timeout::NONE), Err(Error::Invalid));
    // SAFETY: the block is nobody's but this test's.
    assert_eq!(unsafe { block.add(999).read() }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { heap.free_raw(block.as_ptr()) }, Ok(()));
    assert_eq!(heap.alloc_raw(0, true, Timeout::NONE), Ok(block));
}

#[test]
fn blocks_by_address_are_checked() {
    let _dog = Watchdog::new();
    let (heap, other) = (Heap::new(1024).unwrap(), Heap::new(1024).unwrap());
    let block = heap.alloc_raw(40, true, Timeout::NONE).unwrap().as_ptr();
    // SAFETY: only addresses of no block, and of one that nobody uses.
    let free = |heap: &Heap, address: *const u8| unsafe { heap.free_raw(address) };
    assert_eq!(free(&other, block), Err(Error::Invalid));
    assert_eq!(free(&heap, block.wrapping_add(16)), Err(Error::Invalid));
    assert_eq!(free(&heap, std::ptr::null()), Err(Error::Invalid));
    assert_eq!(free(&heap, block), Ok(()));
    assert_eq!(free(&heap, block), Err(Error::Invalid));
    assert_eq!(used(*heap), 0);
}

#[test]
fn the_owner_deletes_when_it_is_dropped_but_not_a_successor() {
    let _dog = Watchdog::new();
    let heap = Heap::create("heap-owned", 1, HeapMode::PRIORITY).unwrap();
    let reference = *heap;
    drop(heap);
    assert_stale(reference);
    assert_eq!(Heap::bind("heap-owned", Timeout::NONE), Err(Error::WouldBlock));
    let heap = Heap::create("heap-owned", 1, HeapMode::PRIORITY).unwrap();
    heap.delete().unwrap();
    let successor = Heap::create("heap-owned", 1, HeapMode::PRIORITY).unwrap();
    drop(heap);
    assert_eq!(Heap::bind("heap-owned", Timeout::NONE), Ok(*successor));
    let leaked = successor.leak();
    assert_eq!(Heap::bind("heap-owned", Timeout::NONE), Ok(leaked));
    assert_eq!(leaked.delete(), Ok(()));
}

#[test]
fn a_bind_waits_for_the_creation() {
    let _dog = Watchdog::new();
    assert_eq!(as_plain(|| Heap::bind("heap-to-come", LONG)), Err(Error::Permission));
    assert_eq!(as_task(|| Heap::bind("heap-to-come", SHORT)), Err(Error::TimedOut));
    let task = Task::builder().spawn(|| Heap::bind("heap-to-come", Timeout::INFINITE)).unwrap();
    until_status(task.task(), Status::WAIT);
    let heap = Heap::create("heap-to-come", 1, HeapMode::empty()).unwrap();
    assert_eq!(value(task), Ok(*heap));
}

#[test]
fn alarm_handlers_allocate_but_do_not_make_or_delete() {
    let _dog = Watchdog::new();
    let heap = Heap::new(512).unwrap();
    let reference = *heap;
    let (tell, told) = mpsc::channel();
    let alarm = Alarm::new("", move || {
        let made = [Heap::new(1).map(drop), HeapRef::create(Name::new(b""), 1, HeapMode::empty(), |_| ()).map(drop)];
        let block = reference.alloc(1, Timeout::INFINITE).map(|block| block.len());
        tell.send((made, reference.delete(), block)).unwrap();
    })
    .unwrap();
    alarm.start(Duration::from_nanos(1), Duration::ZERO).unwrap();
    assert_eq!(told.recv().unwrap(), ([Err(Error::Permission); 2], Err(Error::Permission), Ok(1)));
    assert_eq!(used(*heap), 0);
}

#[test]
fn handles_of_nothing_and_of_other_types_are_refused() {
    let _dog = Watchdog::new();
    let (heap, other) = (Heap::new(1).unwrap(), gate());
    let strangers = [
        Handle::NONE,
        other.handle(),
        Handle::from_raw(usize::MAX),
        Handle::from_raw(heap.handle().to_raw() + (1 << 32)),
    ];
    strangers.into_iter().map(HeapRef::from_handle).for_each(assert_stale);
    assert_eq!(HeapRef::from_handle(Handle::from_raw(heap.handle().to_raw())), *heap);
}
