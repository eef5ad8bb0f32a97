//! Ranges of pages: the lists of free ones, splitting and merging. The lists of small pages, which are linked alike.

use super::*;

impl<'a, O: Owner> Pool<'a, O> {
    /// Takes pages from a free range, giving the first one this tag. If there is none, after those small pages are given back
    /// that are kept though empty.
    pub(super) fn take_range(self, pages: u32, tag: u32) -> Option<u32> {
        let (start, len) = match self.find(pages) {
            Some(found) => found,
            None if self.give_empty_pages() => self.find(pages)?,
            None => return None,
        };
        let first = self.map().get(start as usize)?;
        self.unlink_free(start, len);
        O::step("pool: unlinked a free range");
        if len > pages {
            self.put_free(start + pages, len - pages);
        } else if len > 1 {
            self.set_tag(start + len - 1, INSIDE);
        }
        O::step("pool: split a free range");
        if tag & KIND == SMALL {
            first.bits.store(0, Relaxed);
        } else {
            self.header.claim.store(u64::from(start) * PAGE + 1, Relaxed);
        }
        // The change. Release: the rest of the range, the bitmap and the claim are there before.
        first.tag.store(tag, Release);
        O::step("pool: took a range");
        Some(start)
    }

    /// A free range of at least this many pages, and its length.
    pub(super) fn find(self, pages: u32) -> Option<(u32, u32)> {
        let own = bin_of(pages);
        let free = |link: u32| {
            let start = link.checked_sub(1)?;
            let tag = self.map().get(start as usize)?.tag.load(Relaxed);
            (tag & KIND == FREE).then_some((start, tag & !KIND))
        };
        let fits = |&(_, len): &(u32, u32)| len >= pages;
        if let Some(found) = free(self.header.bins[own].load(Relaxed)).filter(fits) {
            return Some(found);
        }
        // Whatever is in a later bin fits.
        let mut mask = u64::MAX.checked_shl(own as u32 % 64 + 1).unwrap_or(0);
        for word in own / 64..BINS / 64 {
            let found = self.header.occupied[word].load(Relaxed) & mask;
            if found != 0 {
                let bin = word * 64 + found.trailing_zeros() as usize;
                return free(self.header.bins[bin].load(Relaxed)).filter(fits);
            }
            mask = u64::MAX;
        }
        // What is longest may be in this very bin, behind others that are too short.
        let mut link = self.header.bins[own].load(Relaxed);
        for _ in 0..self.pages as usize {
            let found = free(link)?;
            if fits(&found) {
                return Some(found);
            }
            link = self.map()[found.0 as usize].next.load(Relaxed);
        }
        None
    }

    /// Gives back the empty pages that are kept; false if there are none.
    #[cold]
    pub(super) fn give_empty_pages(self) -> bool {
        let mut any = false;
        for (open, empty) in self.header.open.iter().zip(&self.header.empty) {
            if let Some(page) = empty.load(Relaxed).checked_sub(1).filter(|&page| (page as usize) < self.pages as usize)
            {
                empty.store(0, Relaxed);
                self.unlink(open, page);
                O::step("pool: gave an empty page back");
                self.free_range(page, 1);
                any = true;
            }
        }
        any
    }

    /// Frees a range, and merges it with free neighbours.
    pub(super) fn free_range(self, page: u32, pages: u32) {
        let (mut start, mut len) = (page, pages);
        let next = page + pages;
        let behind = self.free_at(next);
        if let Some(more) = behind {
            self.unlink_free(next, more);
            len += more;
        }
        if let Some(more) = self.free_before(page) {
            start = page - more;
            self.unlink_free(start, more);
            len += more;
        }
        O::step("pool: unlinked the neighbours");
        // The change.
        self.set_tag(start, FREE | len);
        O::step("pool: freed a range");
        if start != page {
            self.set_tag(page, INSIDE);
            if page - 1 != start {
                self.set_tag(page - 1, INSIDE);
            }
        }
        if behind.is_some() {
            self.set_tag(next, INSIDE);
        }
        O::step("pool: merged a range");
        self.put_free(start, len);
    }

    /// The length of the free range that begins here, if one does.
    pub(super) fn free_at(self, page: u32) -> Option<u32> {
        let tag = self.map().get(page as usize)?.tag.load(Relaxed);
        let len = tag & !KIND;
        (tag & KIND == FREE && len > 0 && len as usize <= self.pages as usize - page as usize).then_some(len)
    }

    /// The length of the free range that ends in front of this page, if one does.
    pub(super) fn free_before(self, page: u32) -> Option<u32> {
        let last = page.checked_sub(1)?;
        let tag = self.map().get(last as usize)?.tag.load(Relaxed);
        let len = if tag & KIND == END { tag & !KIND } else { 1 };
        self.free_at(page.checked_sub(len)?).filter(|&found| found == len)
    }

    /// Writes the tags of a free range, and puts it into its list.
    pub(super) fn put_free(self, start: u32, len: u32) {
        if len > 1 {
            self.set_tag(start + len - 1, END | len);
        }
        self.set_tag(start, FREE | len);
        let bin = bin_of(len);
        self.link(&self.header.bins[bin], start);
        let word = &self.header.occupied[bin / 64];
        word.store(word.load(Relaxed) | 1 << (bin % 64), Relaxed);
    }

    pub(super) fn unlink_free(self, start: u32, len: u32) {
        let bin = bin_of(len);
        let list = &self.header.bins[bin];
        self.unlink(list, start);
        if list.load(Relaxed) == 0 {
            let word = &self.header.occupied[bin / 64];
            word.store(word.load(Relaxed) & !(1 << (bin % 64)), Relaxed);
        }
    }

    /// Puts a page in front of a list.
    #[inline(always)]
    pub(super) fn link(self, list: &AtomicU32, number: u32) {
        let Some(page) = self.map().get(number as usize) else { return };
        let first = list.load(Relaxed);
        page.next.store(first, Relaxed);
        page.prev.store(0, Relaxed);
        if let Some(first) = self.linked(first) {
            first.prev.store(number + 1, Relaxed);
        }
        list.store(number + 1, Relaxed);
    }

    #[inline(always)]
    pub(super) fn unlink(self, list: &AtomicU32, number: u32) {
        let Some(page) = self.map().get(number as usize) else { return };
        let (next, prev) = (page.next.load(Relaxed), page.prev.load(Relaxed));
        match self.linked(prev) {
            Some(before) => before.next.store(next, Relaxed),
            None => list.store(next, Relaxed),
        }
        if let Some(behind) = self.linked(next) {
            behind.prev.store(prev, Relaxed);
        }
    }

    #[inline(always)]
    pub(super) fn linked(self, link: u32) -> Option<&'a Page> {
        self.map().get(link.checked_sub(1)? as usize)
    }

    /// Release: what the tag makes reachable is there before.
    pub(super) fn set_tag(self, page: u32, tag: u32) {
        if let Some(page) = self.map().get(page as usize) {
            page.tag.store(tag, Release);
        }
    }
}
