//! Labelled steps: where tests stop a thread for good in the middle of a change. Nothing in other builds.

#[cfg(not(all(test, not(loom))))]
#[inline(always)]
pub(crate) fn step(_label: &'static str) {}

#[cfg(all(test, not(loom)))]
pub(crate) use armed::{die_at, step};

#[cfg(all(test, not(loom)))]
mod armed {
    use core::cell::Cell;
    use core::ffi::c_void;
    use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::sync::Arc;

    use posix_backend::thread;

    thread_local! {
        static LAST: Cell<Option<(&'static str, u32)>> = const { Cell::new(None) };
    }

    /// The calling thread ends here, as if killed, if it is the one and this is the step.
    pub(crate) fn step(label: &'static str) {
        let Some((last, count)) = LAST.get().filter(|(last, _)| *last == label) else { return };
        LAST.set(Some((last, count.saturating_sub(1))));
        if count == 1 {
            thread::die();
        }
    }

    /// Runs `work` in a thread that dies when it comes to the step of this label for the `count`th time, and waits for its death.
    /// False if it never came there.
    pub(crate) fn die_at(label: &'static str, count: u32, work: impl FnOnce() + Send + 'static) -> bool {
        struct Job {
            work: Box<dyn FnOnce() + Send>,
            last: (&'static str, u32),
            survived: Arc<AtomicBool>,
        }
        #[allow(unsafe_code)]
        unsafe extern "C-unwind" fn run(job: *mut c_void) -> *mut c_void {
            // SAFETY: the box made below, for this call.
            let job = unsafe { Box::from_raw(job.cast::<Job>()) };
            LAST.set(Some(job.last));
            (job.work)();
            job.survived.store(true, SeqCst);
            core::ptr::null_mut()
        }
        // Not by the thread's result: that of one that dies is what an earlier thread on the same stack left behind.
        let survived = Arc::new(AtomicBool::new(false));
        let job = Job { work: Box::new(work), last: (label, count), survived: survived.clone() };
        let job = Box::into_raw(Box::new(job));
        // SAFETY: `run` takes such a box; the thread is joined once.
        #[allow(unsafe_code)]
        unsafe {
            let thread = thread::spawn(1 << 20, run, job.cast()).expect("a thread");
            thread::join(thread).expect("joined");
        }
        !survived.load(SeqCst)
    }

    #[test]
    fn a_thread_dies_at_its_step_only() {
        assert!(die_at("here", 2, || {
            step("here");
            step("there");
            step("here");
            panic!("it should be dead");
        }));
        assert!(!die_at("nowhere", 1, || step("here")));
    }
}
