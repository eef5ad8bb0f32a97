use core::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Unwinds at the step that the test says.
struct Heap;

impl Owner for Heap {
    type Record = AtomicU32;
    const RECORDS: u32 = 0;
    fn step(_label: &'static str) {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        if left == 1 {
            std::panic::resume_unwind(Box::new("dead"));
        }
    }
}

struct Made(PoolPlace);

impl Made {
    fn new(bytes: u64) -> Made {
        let place = PoolPlace::zeroed();
        place.set(obtain::<Heap>(bytes).unwrap());
        Made(place)
    }

    fn pool(&self) -> Pool<'_, Heap> {
        // SAFETY: released by `drop` only.
        unsafe { self.0.attach() }.unwrap()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: the last use.
        unsafe { abandon(self.0.take()) };
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn size(&mut self, bytes: u64) -> u64 {
        match self.below(8) {
            0..4 => 1 + self.below(300),
            4..7 => 1 + self.below(4000),
            _ => 1 + self.below(bytes),
        }
    }
}

/// The lists agree with the map, neighbours are merged, and everything is accounted for.
fn check(pool: &Pool<'_, Heap>, live: &BTreeMap<u64, u64>) {
    assert_eq!(pool.used(), live.values().sum::<u64>());
    let (mut at, mut was_free, mut free_ranges) = (0, false, Vec::new());
    while at < pool.pages {
        let tag = pool.map()[at as usize].tag.load(Relaxed);
        let len = if tag & KIND == SMALL { 1 } else { tag & !KIND };
        match tag & KIND {
            FREE => {
                assert!(!was_free, "two free ranges side by side");
                free_ranges.push((at, len));
                if len > 1 {
                    assert_eq!(pool.map()[(at + len - 1) as usize].tag.load(Relaxed), END | len);
                }
            }
            LARGE => assert_eq!(live.get(&(u64::from(at) * PAGE)), Some(&(u64::from(len) * PAGE))),
            SMALL => {}
            other => panic!("a range begins with {other:x}"),
        }
        was_free = tag & KIND == FREE;
        at += len;
    }
    let mut listed = Vec::new();
    for (bin, list) in pool.header.bins.iter().enumerate() {
        let mut link = list.load(Relaxed);
        let is_occupied = pool.header.occupied[bin / 64].load(Relaxed) & 1 << (bin % 64) != 0;
        assert_eq!(is_occupied, link != 0);
        while link != 0 {
            let len = pool.free_at(link - 1).unwrap();
            assert_eq!(bin_of(len), bin);
            listed.push((link - 1, len));
            link = pool.map()[link as usize - 1].next.load(Relaxed);
        }
    }
    listed.sort_unstable();
    assert_eq!(listed, free_ranges);
}

/// The longest run of pages that no live block touches.
fn longest_run(pages: u64, live: &BTreeMap<u64, u64>) -> u64 {
    let (mut longest, mut end) = (0, 0);
    for (&at, &size) in live {
        longest = longest.max((at / PAGE).saturating_sub(end));
        end = end.max((at + size).div_ceil(PAGE));
    }
    longest.max(pages - end)
}

fn behaves(bytes: u64, operations: u32, seed: u64, dying: bool) {
    let made = Made::new(bytes);
    let pool = made.pool();
    let pages = bytes.div_ceil(PAGE);
    let mut random = Random(seed);
    let mut live: BTreeMap<u64, u64> = BTreeMap::new();
    for operation in 0..operations {
        // Phases of growth and of decline.
        let grows = random.below(100) < if operation / 500 % 2 == 0 { 65 } else { 35 };
        LEFT.set(if dying && random.below(4) == 0 { 1 + random.below(8) as u32 } else { 0 });
        if grows {
            let size = random.size(bytes);
            let expected = block_size(size).unwrap();
            match catch_unwind(AssertUnwindSafe(|| pool.alloc(size))) {
                Ok(Some(block)) => {
                    pool.settle();
                    assert_eq!(block.size, expected);
                    assert!(block.at.is_multiple_of(16) && block.at + block.size <= pages * PAGE);
                    assert!(pool.address(block.at).unwrap().addr().get().is_multiple_of(16));
                    let before = live.range(..=block.at).next_back();
                    assert!(before.is_none_or(|(at, size)| at + size <= block.at), "overlap");
                    let after = live.range(block.at..).next();
                    assert!(after.is_none_or(|(&at, _)| block.at + block.size <= at), "overlap");
                    live.insert(block.at, block.size);
                }
                Ok(None) => assert!(expected > longest_run(pages, &live) * PAGE, "refused what fits: {size}"),
                Err(_) => rebuild(&pool, &live),
            }
        } else if let Some((&at, &size)) = live.range(random.below(pages * PAGE)..).next() {
            match catch_unwind(AssertUnwindSafe(|| pool.free(at))) {
                Ok(freed) => {
                    assert_eq!(freed.map(|block| (block.at, block.size)), Some((at, size)));
                    live.remove(&at);
                    assert_eq!(pool.free(at), None, "freed twice");
                }
                // Where it died decides whether it is freed.
                Err(_) => {
                    LEFT.set(0);
                    pool.rebuild(|_| true);
                    if pool.block(at).is_none() {
                        live.remove(&at);
                    }
                    check(&pool, &live);
                }
            }
        }
        LEFT.set(0);
        let wild = random.below(pages * PAGE + 600);
        assert_eq!(pool.block(wild).map(|block| block.size), live.get(&wild).copied());
        if operation % 64 == 0 {
            check(&pool, &live);
        }
    }
    for at in live.into_keys().collect::<Vec<_>>() {
        pool.free(at).unwrap();
    }
    assert_eq!(pool.used(), 0);
    assert!(pool.alloc(pages * PAGE).is_some());
}

fn rebuild(pool: &Pool<'_, Heap>, live: &BTreeMap<u64, u64>) {
    LEFT.set(0);
    let claim = pool.claim().map(|(at, _)| at);
    pool.rebuild(|block| claim != Some(block.at) || live.contains_key(&block.at));
    check(pool, live);
}

#[test]
fn behaves_like_a_list_of_intervals() {
    for (bytes, operations, seed) in [(512, 20_000, 1), (5120, 30_000, 2), (100_000, 60_000, 3), (3 << 20, 60_000, 4)] {
        behaves(bytes, operations, seed, false);
    }
}

#[test]
fn holders_die_at_every_step() {
    for (bytes, operations, seed) in [(1024, 10_000, 5), (20_000, 30_000, 6), (300_000, 20_000, 7)] {
        behaves(bytes, operations, seed, true);
    }
}

#[test]
fn sizes_are_rounded_as_specified() {
    for (bytes, size) in [
        (1, 16),
        (16, 16),
        (17, 32),
        (33, 64),
        (100, 128),
        (256, 256),
        (257, 512),
        (512, 512),
        (513, 1024),
        (1025, 1536),
    ] {
        assert_eq!(block_size(bytes), Some(size));
    }
    assert_eq!(block_size(u64::MAX), None);
}

#[test]
fn a_pool_gives_all_it_has() {
    for (bytes, parts) in [(512, 1), (5120, 10), (30720, 3), (512 * 7 * 100, 7), (1 << 20, 64)] {
        let made = Made::new(bytes);
        let pool = made.pool();
        let small = pool.alloc(16).unwrap();
        pool.free(small.at).unwrap();
        let all = pool.alloc(bytes).unwrap();
        assert_eq!(pool.alloc(1), None);
        pool.free(all.at).unwrap();
        for _ in 0..parts {
            pool.alloc(bytes / parts).unwrap();
        }
        assert_eq!((pool.alloc(1), pool.used()), (None, bytes));
        // Nor does the next mapping begin right behind it.
        assert!(made.0.extent().len >= pool.user + pool.usable() + GAP);
    }
}

#[test]
fn absurd_sizes_are_refused() {
    assert!(obtain::<Heap>(0).is_err());
    assert!(obtain::<Heap>(u64::MAX).is_err());
    let made = Made::new(1);
    let pool = made.pool();
    assert_eq!([pool.alloc(u64::MAX), pool.alloc(513), pool.alloc(0)], [None; 3]);
    assert_eq!([pool.free(0), pool.free(u64::MAX), pool.free(512)], [None; 3]);
}

/// What the child of a fork may find: each page of the map as of another moment.
#[test]
fn a_map_of_several_moments_becomes_whole() {
    let mut random = Random(11);
    for _ in 0..2000 {
        let made = Made::new(40 * PAGE);
        let pool = made.pool();
        let kept = [pool.alloc(1500).unwrap(), pool.alloc(40).unwrap(), pool.alloc(900).unwrap()];
        let mut moments = Vec::new();
        let mut others = Vec::new();
        for _ in 0..8 {
            for _ in 0..6 {
                if random.below(2) == 0 {
                    others.extend(pool.alloc(random.size(4000)));
                } else if !others.is_empty() {
                    let block = others.swap_remove(random.below(others.len() as u64) as usize);
                    pool.free(block.at).unwrap();
                }
            }
            let moment: Vec<_> = pool.map().iter().map(|p| (p.tag.load(Relaxed), p.bits.load(Relaxed))).collect();
            moments.push(moment);
        }
        for (number, page) in pool.map().iter().enumerate() {
            let (tag, bits) = moments[random.below(8) as usize][number];
            page.tag.store(tag, Relaxed);
            page.bits.store(bits, Relaxed);
        }
        let mut live = BTreeMap::new();
        pool.rebuild(|block| live.insert(block.at, block.size).is_none());
        check(&pool, &live);
        for block in kept {
            assert_eq!(live.get(&block.at), Some(&block.size));
        }
        for at in live.into_keys() {
            pool.free(at).unwrap();
        }
        assert_eq!(pool.used(), 0);
        assert!(pool.alloc(40 * PAGE).is_some());
    }
}

#[test]
fn pins_keep_the_memory() {
    let made = Made::new(4096);
    let block = made.pool().alloc(100).unwrap();
    let address = made.pool().address(block.at).unwrap();
    made.pool().pin();
    made.pool().pin();
    let extent = made.0.take();
    // SAFETY: pinned twice; used no more after the last pin.
    unsafe {
        abandon(extent);
        address.write(1);
        unpin(extent);
        assert_eq!(address.read(), 1);
        unpin(extent);
    }
}
