//! Making a pool whole again from its page map.

use super::*;

impl<'a, O: Owner> Pool<'a, O> {
    /// Makes everything follow from the page map, after a lock holder died, and in the child of a fork. `keep` is asked about each
    /// live block; those that it does not keep are freed.
    pub fn rebuild(self, mut keep: impl FnMut(Block) -> bool) {
        let header = self.header;
        header.used.store(0, Relaxed);
        for list in header.open.iter().chain(&header.empty).chain(&header.bins) {
            list.store(0, Relaxed);
        }
        for word in &header.occupied {
            word.store(0, Relaxed);
        }
        let pages = self.pages;
        // Where the free pages in front of this one begin.
        let mut free = 0;
        let mut at = 0;
        while at < pages {
            let page = &self.map()[at as usize];
            let tag = page.tag.load(Relaxed);
            // A range that does not end inside the pool, and a page that is none's first: one free page.
            let len = match tag & KIND {
                FREE | LARGE if (1..=pages - at).contains(&(tag & !KIND)) => tag & !KIND,
                _ => 1,
            };
            let start = u64::from(at) * PAGE;
            let is_live = match tag & KIND {
                LARGE if tag == LARGE | len => keep(Block { at: start, size: u64::from(len) * PAGE, tag, bit: 0 }),
                SMALL => self.rebuild_small(at, page, tag, &mut keep),
                _ => false,
            };
            if is_live {
                self.forget_inside(at + 1, at + len);
                self.put_free_run(free, at);
                free = at + len;
                if tag & KIND == LARGE {
                    self.add_used(u64::from(len) * PAGE);
                }
            }
            at += len;
        }
        self.put_free_run(free, pages);
        header.claim.store(0, Relaxed);
        header.claimant.store(0, Relaxed);
    }

    /// The small blocks of a page; false if none is live.
    fn rebuild_small(self, number: u32, page: &Page, tag: u32, keep: &mut impl FnMut(Block) -> bool) -> bool {
        let class = tag & !KIND;
        let Some((open, _)) = self.lists(class) else { return false };
        let size = 16u64 << class;
        let mut bits = page.bits.load(Relaxed) & all_of(class);
        for block in 0..32 >> class {
            let at = u64::from(number) * PAGE + block * size;
            if bits & 1 << block != 0 && !keep(Block { at, size, tag, bit: 1 << block }) {
                bits &= !(1 << block);
            }
        }
        page.bits.store(bits, Relaxed);
        if bits != 0 && bits != all_of(class) {
            self.link(open, number);
        }
        self.add_used(u64::from(bits.count_ones()) * size);
        bits != 0
    }

    /// The pages from `start` to before `end` are free.
    fn put_free_run(self, start: u32, end: u32) {
        if start < end {
            // A death in between leaves pages that are none's first, which are free.
            self.forget_inside(start + 1, end);
            self.put_free(start, end - start);
        }
    }

    fn forget_inside(self, start: u32, end: u32) {
        for page in &self.map()[start as usize..end.max(start) as usize] {
            page.tag.store(INSIDE, Relaxed);
        }
    }
}
