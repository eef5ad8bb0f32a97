//! Start-up: the clock's resolution when the library is loaded, memory locking at the first call that makes something.
//!
//! Static links may drop the constructor; so each entry point that depends on either calls `ensure` or `ensure_clock`, which
//! cost a load once it is done.

use core::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::OnceLock;

const RESOLUTION: &str = "ALCHEMY_CLOCK_RESOLUTION";

static CLOCK_SET: AtomicBool = AtomicBool::new(false);

/// When the library is loaded.
#[ctor::ctor(unsafe)]
fn on_load() {
    // Before any handler of the program's: its code before and after a fork then runs with the objects of the right process.
    // A refusal shows when the library is set up.
    let _ = alchemy::runtime::prepare_for_forks();
    ensure_clock();
}

/// Makes sure that the length of a tick is what the environment asks for.
#[inline]
pub fn ensure_clock() {
    // Acquire pairs with the Release in `set_clock`.
    if !CLOCK_SET.load(Acquire) {
        set_clock();
    }
}

#[cold]
fn set_clock() {
    // The verdict first, so that an exit handler that comes here while the program ends does not wait for this call.
    static VERDICT: OnceLock<Option<String>> = OnceLock::new();
    let verdict = VERDICT.get_or_init(|| {
        let value = std::env::var_os(RESOLUTION)?;
        let ns = value.to_str().and_then(|text| text.parse().ok());
        let accepted = ns.and_then(|ns| alchemy::set_resolution(ns).ok());
        accepted.is_none().then(|| value.display().to_string())
    });
    CLOCK_SET.store(true, Release);
    if let Some(value) = verdict {
        refuse(&format!(
            "{RESOLUTION}={value} is not a clock resolution: it takes the nanoseconds of a tick, 1 to {}",
            alchemy::MAX_RESOLUTION
        ));
    }
}

/// Sets the library up for a C program.
pub fn ensure() {
    ensure_clock();
    // A failure to set up shows as -ENOMEM of the call that needed it, and is tried again by the next one.
    if alchemy::runtime::lock_memory() == Err(alchemy::Error::Permission) {
        refuse(
            "memory cannot be locked and ALCHEMY_SCHED=strict asks for it: raise the memlock limit (ulimit -l unlimited)",
        );
    }
}

/// A set-up error is fatal, as on the original.
fn refuse(text: &str) -> ! {
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if REFUSED.swap(true, Relaxed) {
        // An exit handler of the program came here again.
        alchemy::runtime::exit_at_once(1);
    }
    alchemy::runtime::report(text);
    std::process::exit(1)
}
