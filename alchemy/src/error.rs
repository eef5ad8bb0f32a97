//! The one table of errors: what went wrong, and the number that C programs see.

/// What a service answers when it does not succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument or a handle is not valid: null, stale, of another type, or out of range (`EINVAL`).
    #[error("invalid argument or stale object")]
    Invalid,
    /// The call would have to wait, and was asked not to (`EWOULDBLOCK`).
    #[error("the call would have to wait")]
    WouldBlock,
    /// The caller may not do this: it would have to wait but is neither a task nor the initial thread, or it is no task
    /// where one is needed, or the system refused a scheduling class in strict mode (`EPERM`).
    #[error("not permitted for this caller")]
    Permission,
    /// The date passed before the condition held (`ETIMEDOUT`).
    #[error("timed out")]
    TimedOut,
    /// The wait was ended by somebody else (`EINTR`).
    #[error("the wait was interrupted")]
    Interrupted,
    /// The object was deleted during the wait (`EIDRM`).
    #[error("the object was deleted")]
    Removed,
    /// A live object of this type has the name already (`EEXIST`).
    #[error("the name is in use")]
    Exists,
    /// No memory, or the limit of objects is reached (`ENOMEM`).
    #[error("out of memory or objects")]
    NoMemory,
    /// The caller is a task already, or the object is in use (`EBUSY`).
    #[error("busy")]
    Busy,
    /// The task ended and was joined, or was never joinable (`ESRCH`).
    #[error("no such task")]
    NotFound,
    /// The task would wait for itself, perhaps through others (`EDEADLK`).
    #[error("the call would wait for its own caller")]
    Deadlock,
    /// The system refuses another thread (`EAGAIN`).
    #[error("the system refuses another thread")]
    ThreadLimit,
    /// The mutex is the caller's now, but its last owner ended without releasing it (`EOWNERDEAD`).
    #[error("acquired from an owner that ended")]
    OwnerDead,
    /// The caller owns the mutex as often as can be counted (`EAGAIN`).
    #[error("acquired too often")]
    TooDeep,
    /// No such message waits for a reply of the caller's: not received, answered already, or its sender has left (`ENXIO`).
    #[error("no such message waits for a reply")]
    NoFlow,
    /// A message or a reply is longer than the room for it (`ENOBUFS`).
    #[error("longer than the room for it")]
    TooLong,
    /// The task was asked to end; its waits return this from then on. Never seen by C programs (`ECANCELED`).
    #[error("the task was asked to end")]
    Cancelled,
}

impl Error {
    /// The positive error number of the C interface.
    pub const fn errno(self) -> i32 {
        match self {
            Error::Permission => 1,
            Error::NotFound => 3,
            Error::Interrupted => 4,
            Error::NoFlow => 6,
            Error::WouldBlock | Error::ThreadLimit | Error::TooDeep => 11,
            Error::NoMemory => 12,
            Error::Busy => 16,
            Error::Exists => 17,
            Error::Invalid => 22,
            Error::Deadlock => 35,
            Error::Removed => 43,
            Error::TooLong => 105,
            Error::TimedOut => 110,
            Error::Cancelled => 125,
            Error::OwnerDead => 130,
        }
    }
}

/// The result of a service.
pub type Result<T> = core::result::Result<T, Error>;
