//! Every conversion between C's pointers and numbers and Rust's values.

use core::ffi::{c_char, c_int};
use core::ptr::NonNull;

use alchemy::c::timespec;
use alchemy::{
    AlarmRef, BufferRef, ConditionRef, Error, EventRef, Handle, HeapRef, MutexRef, NAME_LEN, Name, QueueRef, Result,
    SemRef, Task, Timeout,
};

use crate::types::{NameBuffer, RT_ALARM, RT_BUFFER, RT_COND, RT_EVENT, RT_HEAP, RT_MUTEX, RT_QUEUE, RT_SEM, RT_TASK};

/// An error number that no [`Error`] stands for.
pub const ENODEV: c_int = 19;

/// 0, or the negative error number.
#[inline]
pub fn ret(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => -error.errno(),
    }
}

/// The count, or the negative error number.
#[inline]
pub fn ret_count(result: Result<usize>) -> isize {
    match result {
        Ok(count) => count as isize,
        Err(error) => -(error.errno() as isize),
    }
}

/// As [`ret`], for all but the uncontended halves and calls that never wait: with cancellation disabled, since it would act on
/// system calls behind the shim, or, if it is asynchronous, anywhere. (The halves, and calls that take one lock section, have no
/// cancellation point. Disabling cancellation would cost more than they do. Asynchronous cancellation in the midst of them is
/// undefined, as it is in all but three functions of the C library.)
pub fn cold(work: impl FnOnce() -> Result<()>) -> c_int {
    alchemy::runtime::uncancelled(|| ret(work()))
}

/// As [`cold`], for what an alarm handler must not do: that is its first and only answer there.
pub fn making(work: impl FnOnce() -> Result<()>) -> c_int {
    cold(|| {
        alchemy::runtime::refuse_handlers()?;
        work()
    })
}

/// As [`waiting`], for what an alarm handler must not do: that is its first and only answer there.
pub fn waiting_outside_handlers(work: impl Fn() -> Result<()>) -> c_int {
    match alchemy::runtime::refuse_handlers() {
        Ok(()) => waiting(work),
        refused => ret(refused),
    }
}

/// As [`cold`], for calls that may wait: cancellation is honoured before the wait and after one that came to nothing. Who has
/// got something keeps it until the next call. It may unwind; `work` has nothing to drop.
pub fn waiting(work: impl Fn() -> Result<()>) -> c_int {
    waiting_with(|| cold(&work) as isize) as c_int
}

/// As [`waiting`], for the frequent ones: cheaper.
pub fn waiting_briefly(work: impl Fn() -> Result<()>) -> c_int {
    waiting_with(|| brief(&work) as isize) as c_int
}

/// As [`waiting_briefly`], for calls that return a count.
pub fn waiting_for_count(work: impl Fn() -> Result<usize>) -> isize {
    waiting_with(|| alchemy::runtime::uncancelled_briefly(|| ret_count(work())))
}

/// As [`cold`], for the frequent ones: cheaper.
pub fn brief(work: impl FnOnce() -> Result<()>) -> c_int {
    alchemy::runtime::uncancelled_briefly(|| ret(work()))
}

fn waiting_with(work: impl Fn() -> isize) -> isize {
    loop {
        alchemy::task::obey_requests();
        alchemy::runtime::test_cancel();
        let result = work();
        alchemy::task::obey_requests();
        if result < 0 && result != -(Error::OwnerDead.errno() as isize) {
            alchemy::runtime::test_cancel();
        }
        // Deleted and still here: in a cleanup handler, or with cancellation disabled. It waits like anybody.
        if result != -(Error::Cancelled.errno() as isize) {
            return result;
        }
    }
}

/// A pointer that C must not pass as null or misaligned: `Invalid` if it does.
#[inline]
fn checked<T>(pointer: *mut T) -> Result<*mut T> {
    // Two branches that are never taken cost less than one condition made of two.
    if pointer.is_null() {
        core::hint::cold_path();
        return Err(Error::Invalid);
    }
    if !pointer.is_aligned() {
        core::hint::cold_path();
        return Err(Error::Invalid);
    }
    Ok(pointer)
}

/// An output structure or descriptor: to be written, perhaps after a wait, during which C may use it.
pub struct Output<T>(NonNull<T>);

impl<T: Copy> Output<T> {
    pub fn write(&self, value: T) {
        // SAFETY: `output` was given a pointer that is valid for writes during the call.
        unsafe { self.0.write(value) };
    }

    pub fn read(&self) -> T {
        // SAFETY: as above; any content is a valid value of these structures.
        unsafe { self.0.read() }
    }
}

/// An output: `Invalid` for null and misaligned pointers.
///
/// # Safety
///
/// Null, or valid for reads and writes during the call.
#[inline]
pub unsafe fn output<T>(pointer: *mut T) -> Result<Output<T>> {
    checked(pointer).and_then(|pointer| NonNull::new(pointer).ok_or(Error::Invalid)).map(Output)
}

/// The semaphore of a descriptor, not yet looked up.
///
/// # Safety
///
/// Null, or valid for reads.
#[inline]
pub unsafe fn semaphore(sem: *mut RT_SEM) -> Result<SemRef> {
    // SAFETY: not null, aligned; the caller vouches for the rest.
    checked(sem).map(|sem| SemRef::from_handle(Handle::from_raw(unsafe { (*sem).handle })))
}

/// The mutex of a descriptor, not yet looked up.
///
/// # Safety
///
/// As for [`semaphore`].
#[inline]
pub unsafe fn mutex(mutex: *mut RT_MUTEX) -> Result<MutexRef> {
    // SAFETY: as in `semaphore`.
    checked(mutex).map(|mutex| MutexRef::from_handle(Handle::from_raw(unsafe { (*mutex).handle })))
}

/// The event flag group of a descriptor, not yet looked up.
///
/// # Safety
///
/// As for [`semaphore`].
#[inline]
pub unsafe fn event(event: *mut RT_EVENT) -> Result<EventRef> {
    // SAFETY: as in `semaphore`.
    checked(event).map(|event| EventRef::from_handle(Handle::from_raw(unsafe { (*event).handle })))
}

/// The condition variable of a descriptor, not yet looked up.
///
/// # Safety
///
/// As for [`semaphore`].
#[inline]
pub unsafe fn condition(cond: *mut RT_COND) -> Result<ConditionRef> {
    // SAFETY: as in `semaphore`.
    checked(cond).map(|cond| ConditionRef::from_handle(Handle::from_raw(unsafe { (*cond).handle })))
}

/// The queue of a descriptor, not yet looked up.
///
/// # Safety
///
/// As for [`semaphore`].
#[inline]
pub unsafe fn queue(queue: *mut RT_QUEUE) -> Result<QueueRef> {
    // SAFETY: as in `semaphore`.
    checked(queue).map(|queue| QueueRef::from_handle(Handle::from_raw(unsafe { (*queue).handle })))
}

/// The heap of a descriptor, not yet looked up.
///
/// # Safety
///
/// As for [`semaphore`].
#[inline]
pub unsafe fn heap(heap: *mut RT_HEAP) -> Result<HeapRef> {
    // SAFETY: as in `semaphore`.
    checked(heap).map(|heap| HeapRef::from_handle(Handle::from_raw(unsafe { (*heap).handle })))
}

/// The buffer of a descriptor, not yet looked up.
///
/// # Safety
///
/// As for [`semaphore`].
#[inline]
pub unsafe fn buffer(buffer: *mut RT_BUFFER) -> Result<BufferRef> {
    // SAFETY: as in `semaphore`.
    checked(buffer).map(|buffer| BufferRef::from_handle(Handle::from_raw(unsafe { (*buffer).handle })))
}

/// The alarm of a descriptor, not yet looked up.
///
/// # Safety
///
/// As for [`semaphore`].
#[inline]
pub unsafe fn alarm(alarm: *mut RT_ALARM) -> Result<AlarmRef> {
    // SAFETY: as in `semaphore`.
    checked(alarm).map(|alarm| AlarmRef::from_handle(Handle::from_raw(unsafe { (*alarm).handle })))
}

/// The task of a descriptor, not yet looked up. Null is nobody.
///
/// # Safety
///
/// As for [`semaphore`].
#[inline]
pub unsafe fn task(task: *mut RT_TASK) -> Result<Task> {
    // SAFETY: as in `semaphore`.
    checked(task).map(|task| Task::from_handle(Handle::from_raw(unsafe { (*task).handle })))
}

/// The task of a descriptor, the caller's own for null: `Permission` if the caller is none.
///
/// # Safety
///
/// As for [`semaphore`].
pub unsafe fn task_or_self(desc: *mut RT_TASK) -> Result<Task> {
    if desc.is_null() {
        alchemy::task::current().ok_or(Error::Permission)
    } else {
        // SAFETY: the caller's contract.
        unsafe { task(desc) }
    }
}

/// The name of a new object: empty for null.
///
/// # Safety
///
/// Null, or a string that ends or has at least 31 bytes.
pub unsafe fn name(name: *const c_char) -> Name {
    if name.is_null() {
        return Name::default();
    }
    let mut bytes = [0u8; NAME_LEN];
    for (i, byte) in bytes.iter_mut().enumerate().take(NAME_LEN - 1) {
        // SAFETY: the bytes before this one were not the end.
        *byte = unsafe { *name.add(i) } as u8;
        if *byte == 0 {
            break;
        }
    }
    Name::new(&bytes)
}

/// The name to look for: `Invalid` for null.
///
/// # Safety
///
/// As for [`name`].
pub unsafe fn wanted(pointer: *const c_char) -> Result<Name> {
    if pointer.is_null() {
        return Err(Error::Invalid);
    }
    // SAFETY: the caller's contract.
    Ok(unsafe { name(pointer) })
}

/// A name for an information structure.
pub fn name_buffer(name: Name) -> NameBuffer {
    name.to_bytes().map(|byte| byte as c_char)
}

/// The limit of a `_timed` call: null is infinite.
///
/// # Safety
///
/// Null, or valid for reads.
pub unsafe fn timeout(date: *const timespec) -> Timeout {
    // SAFETY: the caller's contract.
    match unsafe { date.as_ref() } {
        None => Timeout::INFINITE,
        // The casts widen on targets where the fields are narrower.
        #[allow(clippy::unnecessary_cast)]
        Some(date) => Timeout::from_timespec(date.tv_sec as i64, date.tv_nsec as i64),
    }
}
