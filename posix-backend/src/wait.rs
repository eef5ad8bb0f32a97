//! Wait queues: who waits for an object, in which order, and what each waiter is told.
//!
//! A [`WaitNode`] is embedded in each thread's slot, since a thread waits for at most one thing. A [`WaitSite`] is
//! embedded in each object: its lock, its queue, and the list of waiters whose fate is decided but not yet told.
//! Everything but `park` and `requests` is touched only by holders of the site's lock; the fields are atomics because the
//! memory is shared, not because they race.
//!
//! A queue is a list of levels in descending rank; each level is a ring of nodes in order of arrival. The first node of a
//! ring is its leader; leaders are doubly linked. So insertion takes one step per distinct rank, and removal is O(1).
//! Where all ranks are equal the queue is first in, first out.

use crate::atomic::{AtomicU32, AtomicU64, Ordering::*};
use crate::pi_lock::PiLock;
use crate::zeroed_struct;

/// `WaitNode::park`: the thread sleeps, or is about to. Other values are outcomes, chosen by the layer above.
pub const WAITING: u32 = 1;

/// `WaitNode::place`: in no list.
const NOWHERE: u32 = 0;
/// `WaitNode::place`: in a site's queue.
const QUEUED: u32 = 1;
/// `WaitNode::place`: in a site's decided list.
const DECIDED: u32 = 2;

/// `WaitNode::level_next`: the node is not the leader of its level.
const FOLLOWER: u32 = u32::MAX;

zeroed_struct! {
    /// A thread's place in a wait queue and the word it sleeps on.
    pub struct WaitNode {
        /// The futex word: [`WAITING`], or the outcome of the last wait. It survives recycling of the slot.
        pub park: AtomicU32,
        next: AtomicU32,
        prev: AtomicU32,
        level_next: AtomicU32,
        level_prev: AtomicU32,
        rank: AtomicU32,
        place: AtomicU32,
        arrival: AtomicU32,
        decision: AtomicU32,
        /// Requests to the thread, by anybody; read-modify-writes only.
        pub requests: AtomicU32,
        /// What the thread waits for, or waited for last: valid while `park` is [`WAITING`]. The layer above gives it
        /// meaning.
        pub waiting_on: AtomicU64,
        /// Until when, in nanoseconds; 0 without limit. For inspection only.
        pub until: AtomicU64,
        /// What the remover hands over, written before the outcome.
        pub result: AtomicU64,
    }
}

zeroed_struct! {
    /// An object's lock and waiters.
    pub struct WaitSite {
        /// The object lock.
        pub lock: PiLock,
        queue: AtomicU32,
        decided: AtomicU32,
        arrivals: AtomicU32,
        waiting: AtomicU32,
    }
}

/// Where the nodes live: the thread table.
pub trait Nodes {
    /// The node of thread `index`, or `None` for 0 and for indexes that cannot be.
    fn node(&self, index: u32) -> Option<&WaitNode>;
}

impl WaitNode {
    /// Whether the thread is in a queue, its fate open.
    pub fn is_queued(&self) -> bool {
        self.place.load(Relaxed) == QUEUED
    }

    /// Which arrival at the site it was when it was queued last: another number after each wait there.
    pub fn arrival(&self) -> u32 {
        self.arrival.load(Relaxed)
    }

    /// The rank at which it is queued.
    pub fn rank(&self) -> u32 {
        self.rank.load(Relaxed)
    }

    /// What was decided for the thread, if it is in a decided list.
    pub fn decision(&self) -> Option<u32> {
        (self.place.load(Relaxed) == DECIDED).then(|| self.decision.load(Relaxed))
    }
}

/// All methods need the site's lock.
impl WaitSite {
    /// Whether nobody is queued.
    pub fn is_empty(&self) -> bool {
        self.queue.load(Relaxed) == 0
    }

    /// Whether somebody's fate is decided but not told.
    pub fn has_decided(&self) -> bool {
        self.decided.load(Relaxed) != 0
    }

    /// Whether nobody is queued, and nobody's fate is decided but not told.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.queue.load(Relaxed) | self.decided.load(Relaxed) == 0
    }

    /// How many are queued.
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Relaxed)
    }

    /// The node to be served first, 0 if there is none.
    pub fn first(&self) -> u32 {
        self.queue.load(Relaxed)
    }

    /// The first node of a rank below `rank`, 0 if there is none. One step per distinct rank above.
    pub fn first_below(&self, nodes: &impl Nodes, rank: u32) -> u32 {
        let mut at = self.queue.load(Relaxed);
        while let Some(leader) = nodes.node(at).filter(|leader| leader.rank.load(Relaxed) >= rank) {
            at = leader.level_next.load(Relaxed);
        }
        at
    }

    /// The node queued behind `index`, 0 at the end.
    pub fn after(&self, nodes: &impl Nodes, index: u32) -> u32 {
        let Some(node) = nodes.node(index) else {
            return 0;
        };
        let next = node.next.load(Relaxed);
        match nodes.node(next) {
            // Round the ring: on to the next level.
            Some(leader) if leader.level_next.load(Relaxed) != FOLLOWER => leader.level_next.load(Relaxed),
            Some(_) => next,
            None => 0,
        }
    }

    /// Queues a node behind those of the same rank.
    pub fn enqueue(&self, nodes: &impl Nodes, index: u32, rank: u32) {
        let Some(node) = nodes.node(index) else {
            return;
        };
        let arrival = self.arrivals.load(Relaxed).wrapping_add(1);
        self.arrivals.store(arrival, Relaxed);
        node.arrival.store(arrival, Relaxed);
        node.place.store(QUEUED, Relaxed);
        self.waiting.store(self.waiting.load(Relaxed) + 1, Relaxed);
        insert(&self.queue, nodes, index, node, rank);
    }

    /// Takes a queued node out, undecided.
    pub fn dequeue(&self, nodes: &impl Nodes, index: u32) {
        let Some(node) = nodes.node(index) else {
            return;
        };
        unlink(&self.queue, nodes, index, node);
        node.place.store(NOWHERE, Relaxed);
        self.waiting.store(self.waiting.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// Moves a queued node to the decided list.
    pub fn decide(&self, nodes: &impl Nodes, index: u32, decision: u32) {
        let Some(node) = nodes.node(index) else {
            return;
        };
        self.dequeue(nodes, index);
        node.decision.store(decision, Relaxed);
        node.place.store(DECIDED, Relaxed);
        insert(&self.decided, nodes, index, node, 0);
    }

    /// The decided node to be told first, 0 if there is none.
    pub fn first_decided(&self) -> u32 {
        self.decided.load(Relaxed)
    }

    /// Takes a node out of the decided list.
    pub fn undecide(&self, nodes: &impl Nodes, index: u32) {
        let Some(node) = nodes.node(index) else {
            return;
        };
        unlink(&self.decided, nodes, index, node);
        node.place.store(NOWHERE, Relaxed);
    }

    /// Rebuilds both lists from the nodes of the threads that wait here, after a holder of the lock died. `waiters` may
    /// come in any order; those that still say [`WAITING`] but are in no list (the dead holder was about to queue or to
    /// remove them) are queued again.
    pub fn rebuild(&self, nodes: &impl Nodes, waiters: &mut [u32]) {
        self.queue.store(0, Relaxed);
        self.decided.store(0, Relaxed);
        self.waiting.store(0, Relaxed);
        let now = self.arrivals.load(Relaxed).wrapping_add(1);
        let age = |index: u32| nodes.node(index).map_or(0, |node| now.wrapping_sub(node.arrival.load(Relaxed)));
        waiters.sort_unstable_by_key(|&index| core::cmp::Reverse(age(index)));
        for &mut index in waiters {
            let Some(node) = nodes.node(index) else {
                continue;
            };
            if node.park.load(Relaxed) != WAITING {
                continue;
            }
            if node.decision().is_some() {
                insert(&self.decided, nodes, index, node, 0);
            } else {
                let rank = node.rank.load(Relaxed);
                node.place.store(QUEUED, Relaxed);
                self.waiting.store(self.waiting.load(Relaxed) + 1, Relaxed);
                insert(&self.queue, nodes, index, node, rank);
            }
        }
    }

    /// Forgets all waiters and makes the lock free: for the only thread of a forked child.
    pub fn reset(&self) {
        self.lock.reset();
        self.queue.store(0, Relaxed);
        self.decided.store(0, Relaxed);
        self.waiting.store(0, Relaxed);
    }
}

fn insert(list: &AtomicU32, nodes: &impl Nodes, index: u32, node: &WaitNode, rank: u32) {
    node.rank.store(rank, Relaxed);
    // Find the level, or the neighbours of a new one.
    let (mut before, mut at) = (0, list.load(Relaxed));
    while let Some(leader) = nodes.node(at) {
        let level = leader.rank.load(Relaxed);
        if level == rank {
            // Last in the ring: just before its leader.
            let last = leader.prev.load(Relaxed);
            node.level_next.store(FOLLOWER, Relaxed);
            link(nodes, last, index);
            link(nodes, index, at);
            return;
        }
        if level < rank {
            break;
        }
        before = at;
        at = leader.level_next.load(Relaxed);
    }
    link(nodes, index, index);
    link_level(list, nodes, before, index);
    link_level(list, nodes, index, at);
}

fn unlink(list: &AtomicU32, nodes: &impl Nodes, index: u32, node: &WaitNode) {
    let (next, prev) = (node.next.load(Relaxed), node.prev.load(Relaxed));
    let (above, below) = (node.level_prev.load(Relaxed), node.level_next.load(Relaxed));
    link(nodes, prev, next);
    if below == FOLLOWER {
        return;
    }
    if next == index {
        // The level ends with its only node.
        link_level(list, nodes, above, below);
    } else {
        // The next in the ring leads it from now on.
        link_level(list, nodes, above, next);
        link_level(list, nodes, next, below);
    }
}

/// Makes `second` follow `first` in a ring.
fn link(nodes: &impl Nodes, first: u32, second: u32) {
    if let (Some(a), Some(b)) = (nodes.node(first), nodes.node(second)) {
        a.next.store(second, Relaxed);
        b.prev.store(first, Relaxed);
    }
}

/// Makes `below` the leader after `above`; 0 stands for the list's head and for its end.
fn link_level(list: &AtomicU32, nodes: &impl Nodes, above: u32, below: u32) {
    match nodes.node(above) {
        Some(leader) => leader.level_next.store(below, Relaxed),
        None => list.store(below, Relaxed),
    }
    if let Some(leader) = nodes.node(below) {
        leader.level_prev.store(above, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::atomic::Zeroed;

    struct Table(Vec<WaitNode>);

    impl Nodes for Table {
        fn node(&self, index: u32) -> Option<&WaitNode> {
            self.0.get(index as usize).filter(|_| index != 0)
        }
    }

    fn table(len: usize) -> Table {
        Table((0..=len).map(|_| WaitNode::zeroed()).collect())
    }

    fn order(site: &WaitSite, nodes: &Table) -> Vec<u32> {
        std::iter::successors(Some(site.first()), |&at| Some(site.after(nodes, at))).take_while(|&at| at != 0).collect()
    }

    #[test]
    fn ranks_first_then_arrival() {
        let (nodes, site) = (table(6), WaitSite::zeroed());
        for (index, rank) in [(1, 10), (2, 20), (3, 15), (4, 20), (5, 10), (6, 99)] {
            site.enqueue(&nodes, index, rank);
        }
        assert_eq!(order(&site, &nodes), [6, 2, 4, 3, 1, 5]);
        assert_eq!(site.waiting(), 6);
        let below = |rank| site.first_below(&nodes, rank);
        assert_eq!(
            [below(100), below(99), below(20), below(16), below(15), below(11), below(10), below(0)],
            [6, 2, 3, 3, 1, 1, 0, 0]
        );
        assert_eq!(WaitSite::zeroed().first_below(&nodes, 7), 0);
    }

    /// Random insertions, removals and decisions against a sorted list.
    #[test]
    fn behaves_like_a_stable_sort() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        let (nodes, site) = (table(40), WaitSite::zeroed());
        let (mut queued, mut decided): (Vec<(u32, u32)>, Vec<u32>) = (Vec::new(), Vec::new());
        for step in 0..200_000 {
            let index = 1 + random(40) as u32;
            if let Some(at) = queued.iter().position(|&(i, _)| i == index) {
                queued.remove(at);
                if random(2) == 0 {
                    site.dequeue(&nodes, index);
                } else {
                    site.decide(&nodes, index, 7);
                    decided.push(index);
                }
            } else if let Some(at) = decided.iter().position(|&i| i == index) {
                assert_eq!(nodes.node(index).unwrap().decision(), Some(7));
                if random(2) == 0 {
                    assert_eq!(site.first_decided(), decided[0]);
                    site.undecide(&nodes, decided.remove(0));
                } else {
                    site.undecide(&nodes, index);
                    decided.remove(at);
                }
            } else {
                let rank = random(5) as u32;
                site.enqueue(&nodes, index, rank);
                let at = queued.iter().position(|&(_, r)| r < rank).unwrap_or(queued.len());
                queued.insert(at, (index, rank));
            }
            let expected: Vec<u32> = queued.iter().map(|&(i, _)| i).collect();
            assert_eq!(order(&site, &nodes), expected, "step {step}");
            assert_eq!(site.waiting() as usize, queued.len());
            assert_eq!(site.first_decided(), decided.first().copied().unwrap_or(0));
        }
    }

    #[test]
    fn rebuilds_from_the_nodes() {
        let (nodes, site) = (table(6), WaitSite::zeroed());
        for (index, rank) in [(1, 10), (2, 20), (3, 15), (4, 20), (5, 10), (6, 20)] {
            nodes.node(index).unwrap().park.store(WAITING, Relaxed);
            site.enqueue(&nodes, index, rank);
        }
        site.decide(&nodes, 3, 9);
        site.decide(&nodes, 1, 9);
        // 6 has been told already, but its remover died before it could unlink the others properly.
        nodes.node(6).unwrap().park.store(2, Relaxed);
        site.queue.store(77, Relaxed);
        site.rebuild(&nodes, &mut [6, 5, 4, 3, 2, 1]);
        assert_eq!(order(&site, &nodes), [2, 4, 5]);
        assert_eq!(site.waiting(), 3);
        assert_eq!(site.first_decided(), 1);
    }
}
