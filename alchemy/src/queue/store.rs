//! The messages of a queue: blocks of a pool with records beside it, and the list of those queued.
//!
//! Every change is one store that counts: of a block's bit or tag in the pool, of `refs`, or of the link that leads to a message.
//! The rest follows from these, and is made anew by [`Store::rebuild`].

use core::ptr::NonNull;

use posix_backend::atomic::{AtomicU32, AtomicU64, Ordering::*};
use posix_backend::copy::copy_few;
use posix_backend::pool::{Block, Location, Owner, Pool};
use posix_backend::zeroed_struct;

use crate::step::step;

/// What a message takes besides its content, in bytes. No block is smaller.
pub(super) const HEADER: u64 = 32;

/// `Record::refs`: the message is in the list, or about to be.
const LINKED: u32 = 1 << 31;
/// `Record::refs`: found in the list. During a rebuild only.
const REACHED: u32 = 1 << 30;
const HOLDERS: u32 = REACHED - 1;

/// How many messages are freed in one lock section.
const BATCH: u32 = 32;

zeroed_struct! {
    /// What is known of a message.
    pub(super) struct Record {
        /// The number of the next queued message plus one; 0 at the end.
        next: AtomicU32,
        /// How many hold the message, and [`LINKED`]. 0: there is none.
        pub refs: AtomicU32,
        /// Of the content, in bytes.
        pub size: AtomicU64,
    }
}

/// # Safety
///
/// As for `core::ptr::copy`. `LEAF`: of a few bytes.
#[inline(always)]
unsafe fn copy<const LEAF: bool>(from: *const u8, to: *mut u8, len: u64) {
    // SAFETY: the caller's contract.
    unsafe { if LEAF { copy_few(from, to, len) } else { core::ptr::copy(from, to, len as usize) } }
}

/// What pools need to know of queues. Messages are numbered by where they begin, in steps of 32 bytes.
pub(super) struct Queues;

impl Owner for Queues {
    type Record = Record;
    const RECORDS: u32 = 16;

    #[inline(always)]
    fn step(label: &'static str) {
        step(label);
    }
}

/// A message.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub number: u32,
    pub record: &'a Record,
    /// Bytes that there is room for.
    pub capacity: u64,
    block: Block,
}

impl Message<'_> {
    pub fn holders(&self) -> u32 {
        self.record.refs.load(Relaxed) & HOLDERS
    }

    pub fn is_linked(&self) -> bool {
        self.record.refs.load(Relaxed) & LINKED != 0
    }

    /// The size of the content.
    pub fn size(&self) -> u64 {
        self.record.size.load(Relaxed).min(self.capacity)
    }
}

/// The messages of a live queue, under its lock.
#[derive(Clone, Copy)]
pub(super) struct Store<'a>(pub Pool<'a, Queues>);

impl<'a> Store<'a> {
    /// # Safety
    ///
    /// As for [`Location::attach`].
    #[inline(always)]
    pub unsafe fn attach(memory: Location) -> Option<Store<'a>> {
        // SAFETY: the caller's contract.
        unsafe { memory.attach() }.map(Store)
    }

    /// Whether as many messages are queued as may be; 0: any number may.
    #[inline(always)]
    pub fn is_full(&self, limit: u32) -> bool {
        limit != 0 && self.count() >= limit
    }

    /// Link to the first queued message, whose number is one less; 0: none. The truth about what is queued.
    fn head(&self) -> &'a AtomicU32 {
        self.0.word(0)
    }

    fn tail(&self) -> &'a AtomicU32 {
        self.0.word(1)
    }

    /// How many are queued.
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.word(2).load(Relaxed)
    }

    fn set_count(&self, count: u32) {
        self.0.word(2).store(count, Relaxed);
    }

    /// Link to the first message that was flushed and is to be freed.
    fn flushed(&self) -> &'a AtomicU32 {
        self.0.word(3)
    }

    /// The waiter that is being given a message.
    fn grantee(&self) -> &'a AtomicU32 {
        self.0.word(4)
    }

    /// The number of that message.
    fn granted(&self) -> &'a AtomicU32 {
        self.0.word(5)
    }

    /// Its `refs` before.
    fn refs_before(&self) -> &'a AtomicU32 {
        self.0.word(6)
    }

    #[inline(always)]
    fn message(&self, block: Block) -> Option<Message<'a>> {
        let record = self.0.record(block.at)?;
        Some(Message { number: (block.at / HEADER) as u32, record, capacity: block.size.checked_sub(HEADER)?, block })
    }

    /// The live message of this number.
    pub fn by_number(&self, number: u32) -> Option<Message<'a>> {
        self.message(self.0.block(u64::from(number) * HEADER)?)
    }

    /// The live message that begins here. `LEAF`: if it is small.
    #[inline(always)]
    fn at<const LEAF: bool>(&self, at: u64) -> Option<Message<'a>> {
        self.message(if LEAF { self.0.small_block(at) } else { self.0.block(at) }?)
    }

    fn by_link(&self, link: u32) -> Option<Message<'a>> {
        self.by_number(link.checked_sub(1)?)
    }

    /// The live message whose content begins at this address of the calling process. `LEAF`: if it is small.
    #[inline(always)]
    pub fn locate<const LEAF: bool>(&self, content: *const u8) -> Option<Message<'a>> {
        self.at::<LEAF>(self.0.offset_of(content)?.checked_sub(HEADER)?)
    }

    /// The address of a message's content.
    #[inline(always)]
    pub fn content_of(&self, message: &Message<'_>) -> NonNull<u8> {
        self.0.address_in(message.block, HEADER)
    }

    /// The address of the content of the message of this number.
    pub fn content(&self, number: u32) -> Option<NonNull<u8>> {
        self.0.address(u64::from(number) * HEADER + HEADER)
    }

    /// A new message, held by nobody: one that stays so is freed by a rebuild.
    pub fn alloc(&self, size: u64) -> Option<Message<'a>> {
        let mut message = self.alloc_at_once::<false>(size);
        // A flush that was cut short, or has not come to it yet, left some.
        while message.is_none() && self.free_flushed() {
            message = self.alloc_at_once::<false>(size);
        }
        message
    }

    /// As [`Store::alloc`], without freeing what has been flushed. `LEAF`: if that needs no call.
    #[inline(always)]
    pub fn alloc_at_once<const LEAF: bool>(&self, size: u64) -> Option<Message<'a>> {
        let bytes = size.checked_add(HEADER)?;
        let message = self.message(if LEAF { self.0.alloc_at_once(bytes) } else { self.0.alloc(bytes) }?)?;
        step("queue: allocated");
        message.record.refs.store(0, Relaxed);
        message.record.size.store(size, Relaxed);
        Some(message)
    }

    /// Copies content into a message, as much as there is room for. `LEAF`: a few bytes, in line.
    ///
    /// # Safety
    ///
    /// `data` is valid for reads of `size` bytes.
    #[inline(always)]
    pub unsafe fn fill<const LEAF: bool>(&self, message: &Message<'_>, data: *const u8, size: u64) {
        let content = self.content_of(message).as_ptr();
        // SAFETY: the block has this capacity; the caller's contract. They may overlap if the program sends what it has freed.
        unsafe { copy::<LEAF>(data, content, size.min(message.capacity)) };
    }

    /// Copies a message's content out, as much as there is room for. `LEAF`: a few bytes, in line.
    ///
    /// # Safety
    ///
    /// `buffer` is valid for writes of `room` bytes.
    #[inline(always)]
    pub unsafe fn read<const LEAF: bool>(&self, message: &Message<'_>, buffer: *mut u8, room: u64) {
        let content = self.content_of(message).as_ptr();
        // SAFETY: as in `fill`.
        unsafe { copy::<LEAF>(content, buffer, message.size().min(room)) };
    }

    /// Queues a message that `holders` hold from now on: behind all others, or in front of them.
    #[inline(always)]
    pub fn push(&self, message: &Message<'_>, holders: u32, urgent: bool) {
        let link = message.number + 1;
        let first = self.head().load(Relaxed);
        message.record.next.store(if urgent { first } else { 0 }, Relaxed);
        // Release, here and below: each of these stores is to be seen after those before it.
        message.record.refs.store(LINKED | holders, Release);
        step("queue: about to link");
        if urgent || first == 0 {
            self.head().store(link, Release);
            step("queue: linked in front");
            if first == 0 {
                self.tail().store(link, Relaxed);
            }
        } else {
            if let Some(last) = self.tail().load(Relaxed).checked_sub(1).and_then(|last| self.record(last)) {
                last.next.store(link, Release);
            }
            step("queue: linked behind");
            self.tail().store(link, Relaxed);
        }
        self.set_count(self.count() + 1);
    }

    fn record(&self, number: u32) -> Option<&'a Record> {
        self.0.record_by_index(number)
    }

    /// The first message in the list. `LEAF`: if it is small.
    #[inline(always)]
    pub fn first<const LEAF: bool>(&self) -> Option<Message<'a>> {
        self.at::<LEAF>(u64::from(self.head().load(Relaxed).checked_sub(1)?) * HEADER)
    }

    /// Takes the first message out of the list. It stays `LINKED`: a rebuild frees it if nothing more comes.
    #[inline(always)]
    pub fn pop(&self) -> Option<Message<'a>> {
        let message = self.first::<false>()?;
        self.unlink_first(&message);
        Some(message)
    }

    /// As [`Store::pop`], of what is the first message.
    #[inline(always)]
    pub fn unlink_first(&self, message: &Message<'_>) {
        let next = message.record.next.load(Relaxed);
        self.head().store(next, Release);
        step("queue: unlinked");
        if next == 0 {
            self.tail().store(0, Relaxed);
        }
        self.set_count(self.count().saturating_sub(1));
    }

    /// One more holds a message that is not in the list (any more).
    #[inline(always)]
    pub fn hold(&self, message: &Message<'_>) {
        message.record.refs.store(message.holders() + 1, Release);
        step("queue: held");
    }

    /// Frees a message that is not in the list (any more), unless somebody holds it.
    pub fn settle(&self, message: &Message<'_>) {
        self.settle_at_once::<false>(message);
    }

    /// As [`Store::settle`]. `LEAF`: without a call, of a message that [`Store::frees_at_once`].
    #[inline(always)]
    pub fn settle_at_once<const LEAF: bool>(&self, message: &Message<'_>) {
        let holders = message.holders();
        message.record.refs.store(holders, Release);
        step("queue: not linked any more");
        if holders == 0 {
            self.free::<LEAF>(message.block);
        }
    }

    #[inline(always)]
    fn free<const LEAF: bool>(&self, block: Block) {
        if LEAF {
            self.0.free_at_once(block)
        } else {
            self.0.free_block(block)
        };
    }

    /// Whether freeing this message needs no call.
    #[inline(always)]
    pub fn frees_at_once(&self, message: &Message<'_>) -> bool {
        self.0.frees_at_once(message.block)
    }

    /// One less holds it. The last one frees it, unless it is in the list. `LEAF`: as in [`Store::settle_at_once`].
    #[inline(always)]
    pub fn let_go<const LEAF: bool>(&self, message: &Message<'_>) {
        let refs = message.record.refs.load(Relaxed) - 1;
        message.record.refs.store(refs, Release);
        step("queue: let go");
        if refs == 0 {
            self.free::<LEAF>(message.block);
        }
    }

    /// Gives a waiter a hold on a message. `tell` decides or ends its wait; a rebuild finds out whether it did.
    pub fn grant<R>(&self, message: &Message<'_>, waiter: u32, tell: impl FnOnce() -> R) -> R {
        let refs = message.record.refs.load(Relaxed);
        self.granted().store(message.number, Relaxed);
        self.refs_before().store(refs, Relaxed);
        // Release: the rest of the note is there before, and the note before the hold.
        self.grantee().store(waiter, Release);
        step("queue: about to grant");
        message.record.refs.store(refs + 1, Release);
        step("queue: granted");
        let told = tell();
        step("queue: told");
        self.grantee().store(0, Release);
        told
    }

    /// Completes or takes back an unfinished grant: the hold is the waiter's, unless it `is_queued` still.
    pub fn finish_grant(&self, is_queued: impl FnOnce(u32) -> bool) {
        let waiter = self.grantee().load(Relaxed);
        let message = self.by_number(self.granted().load(Relaxed)).filter(|_| waiter != 0);
        if let Some(message) = message {
            let hold = if is_queued(waiter) { 0 } else { 1 };
            message.record.refs.store(self.refs_before().load(Relaxed) + hold, Relaxed);
        }
        self.grantee().store(0, Relaxed);
    }

    /// Takes all queued messages out of the list, to be freed. Returns how many.
    pub fn flush(&self) -> u32 {
        let (first, count) = (self.head().load(Relaxed), self.count());
        if first == 0 {
            return 0;
        }
        let flushed = self.flushed().load(Relaxed);
        if flushed != 0
            && let Some(last) = self.tail().load(Relaxed).checked_sub(1).and_then(|last| self.record(last))
        {
            last.next.store(flushed, Release);
            step("queue: joined the flushed");
        }
        self.flushed().store(first, Release);
        step("queue: flushed");
        self.head().store(0, Release);
        step("queue: emptied");
        self.tail().store(0, Relaxed);
        self.set_count(0);
        count
    }

    /// Frees some of the flushed messages; false if there were none.
    pub fn free_flushed(&self) -> bool {
        let mut any = false;
        for _ in 0..BATCH {
            let Some(message) = self.by_link(self.flushed().load(Relaxed)) else { break };
            // First, lest it be taken for one on its way into the queue.
            message.record.refs.store(message.holders(), Release);
            step("queue: about to unlink a flushed one");
            self.flushed().store(message.record.next.load(Relaxed), Release);
            step("queue: unlinked a flushed one");
            self.settle(&message);
            any = true;
        }
        any
    }

    /// Makes everything consistent after a lock holder died: what is queued is what the links lead to from the head; what nobody
    /// holds and is not queued is freed.
    ///
    /// `torn`: in the child of a fork. The links may be of different moments; what is linked and cannot be reached is queued
    /// behind the rest, or in front of it if that is where it was coming from or going to.
    pub fn rebuild(&self, torn: bool) {
        // What an earlier rebuild left that died.
        let records = (self.0.usable() / HEADER) as u32;
        for record in (0..records).filter_map(|number| self.record(number)) {
            let refs = record.refs.load(Relaxed);
            if refs & REACHED != 0 {
                record.refs.store(refs & !REACHED, Relaxed);
            }
        }
        // What a flush has taken out of the list does not come back, even if the list leads to it or goes on in it.
        // The first may be on its way out.
        let mut flushed = self.by_link(self.flushed().load(Relaxed));
        while let Some(message) = flushed {
            message.record.refs.store(message.holders(), Relaxed);
            flushed = self.by_link(message.record.next.load(Relaxed)).filter(Message::is_linked);
        }
        let (mut order, mut in_front) = (Vec::new(), Vec::new());
        let head = self.head().load(Relaxed);
        let mut link = head;
        while let Some(message) = self.by_link(link) {
            let refs = message.record.refs.load(Relaxed);
            if refs & REACHED != 0 || refs & LINKED == 0 {
                break;
            }
            message.record.refs.store(refs | REACHED, Relaxed);
            order.push(message.number);
            link = message.record.next.load(Relaxed);
        }
        self.0.rebuild(|block| {
            let Some(message) = self.message(block) else { return false };
            let refs = message.record.refs.load(Relaxed);
            let reached = refs & REACHED != 0 || torn && refs & LINKED != 0;
            if reached && refs & REACHED == 0 {
                let was_first = head != 0 && message.record.next.load(Relaxed) == head;
                if was_first { &mut in_front } else { &mut order }.push(message.number);
            }
            let refs = refs & HOLDERS | if reached { LINKED } else { 0 };
            message.record.refs.store(refs, Relaxed);
            refs != 0
        });
        in_front.append(&mut order);
        let order = in_front;
        let links = order.iter().map(|number| number + 1);
        for (&number, next) in order.iter().zip(links.clone().skip(1).chain([0])) {
            if let Some(record) = self.record(number) {
                record.next.store(next, Relaxed);
            }
        }
        self.tail().store(links.clone().next_back().unwrap_or(0), Relaxed);
        self.set_count(order.len() as u32);
        self.flushed().store(0, Relaxed);
        self.head().store(links.clone().next().unwrap_or(0), Release);
    }
}
