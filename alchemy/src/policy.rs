//! What happens where the system does not grant `SCHED_FIFO`.
//!
//! Priorities are logical: they order every queue whatever the kernel does. Normally a refusal costs one line on standard
//! error per process and nothing else. The environment variable `ALCHEMY_SCHED` changes that:
//!
//! | value | effect |
//! |---|---|
//! | unset | ask; after a refusal run as `SCHED_OTHER` and say so once |
//! | `strict` | a refusal is [`Error::Permission`], as on a real-time target |
//! | `other` | never ask, never say anything: for CI containers |

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::OnceLock;

use posix_backend::Errno;
use posix_backend::report;
use posix_backend::sched::{self, Class};

use crate::error::{Error, Result};
use crate::lockstep;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    BestEffort,
    Strict,
    Other,
}

/// The highest priority.
pub const MAX_PRIORITY: u32 = 99;

/// The level at which a task runs that holds the scheduler lock.
pub(crate) const LOCK_LEVEL: u32 = 98;

fn policy() -> Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    *POLICY.get_or_init(|| {
        if lockstep::is_on() {
            return Policy::Other;
        }
        match std::env::var("ALCHEMY_SCHED").as_deref() {
            Err(_) | Ok("") => Policy::BestEffort,
            Ok("strict") => Policy::Strict,
            Ok("other") => Policy::Other,
            Ok(value) => {
                report::line(&format!("ALCHEMY_SCHED={value} is not known and ignored; use strict or other"));
                Policy::BestEffort
            }
        }
    })
}

pub(crate) fn is_strict() -> bool {
    policy() == Policy::Strict
}

/// Puts a thread into the class of a priority: `SCHED_OTHER` for 0, `SCHED_FIFO` above.
pub(crate) fn apply(tid: u32, priority: u32) -> Result<()> {
    let level = priority.min(MAX_PRIORITY) as u8;
    if level > 0 && policy() != Policy::Other {
        match sched::set_class(tid, Class::Fifo(level)) {
            Ok(()) => return Ok(()),
            Err(_) if is_strict() => return Err(Error::Permission),
            Err(errno) => warn_once(errno),
        }
    }
    // Giving up privileges is always allowed; a thread that is gone needs no class.
    let _ = sched::set_class(tid, Class::Other);
    Ok(())
}

/// Makes something that is to run at a level above 0, such as a thread, in its class, or, where that is refused, in the ordinary one.
pub(crate) fn with_level<R>(level: u32, make: impl Fn(Class) -> core::result::Result<R, Errno>) -> Result<R> {
    if policy() != Policy::Other {
        match make(Class::Fifo(level.min(MAX_PRIORITY) as u8)) {
            Err(Errno::PERM) if is_strict() => return Err(Error::Permission),
            Err(Errno::PERM) => warn_once(Errno::PERM),
            made => return Ok(made?),
        }
    }
    Ok(make(Class::Other)?)
}

/// Whether tasks of this process run by their priorities, as far as can be told before the first one does.
pub(crate) fn has_real_priorities() -> bool {
    policy() != Policy::Other && sched::may_use_fifo()
}

fn warn_once(errno: Errno) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Relaxed) {
        report::line(&format!(
            "the system refuses SCHED_FIFO ({errno:?}): tasks run as SCHED_OTHER and their priorities order queues only; \
             raise the rtprio limit (ulimit -r 99), grant CAP_SYS_NICE, or set ALCHEMY_SCHED=other (never ask) or strict (fail)"
        ));
    }
}
