//! Gives an actor a turn from another thread, for example when the user interrupts a run.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{fs::File, sync::Arc};

use crate::sys;

/// A handle that wakes the actor of one [`crate::EpollNet`] or of one virtual host.
#[derive(Clone, Debug)]
pub struct Waker(Way);

/// How a waker works.
#[derive(Clone, Debug)]
enum Way {
    Counter(EventCounter),
    Flag(Arc<AtomicBool>),
    All(Arc<[Waker]>),
}

/// The event counter that an epoll loop watches for its waker.
#[derive(Clone, Debug)]
pub(crate) struct EventCounter(Arc<File>);

impl EventCounter {
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(File::from(sys::event_counter()?))))
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub fn drain(&self) {
        let _ = (&*self.0).read(&mut [0; 8]);
    }

    pub fn waker(&self) -> Waker {
        Waker(Way::Counter(self.clone()))
    }
}

impl Waker {
    /// A waker that wakes the actors of all `wakers`.
    pub fn of_all(wakers: impl IntoIterator<Item = Self>) -> Self {
        Self(Way::All(wakers.into_iter().collect()))
    }

    /// A waker of a virtual host: it only sets a flag in memory.
    pub(crate) fn in_memory() -> Self {
        Self(Way::Flag(Arc::default()))
    }

    /// Wakes the actor. Several calls before its turn count as one.
    pub fn wake(&self) {
        match &self.0 {
            // A counter at its limit refuses the write. Earlier calls then already wake the thread.
            Way::Counter(counter) => drop((&*counter.0).write_all(&1u64.to_ne_bytes())),
            Way::Flag(flag) => flag.store(true, Relaxed),
            Way::All(wakers) => wakers.iter().for_each(Self::wake),
        }
    }

    /// For a waker of a virtual host: whether [`Waker::wake`] was called since the actor's last turn.
    pub(crate) fn is_woken(&self) -> bool {
        matches!(&self.0, Way::Flag(flag) if flag.load(Relaxed))
    }

    /// Like [`Waker::is_woken`], and clears the flag: the actor gets its turn now.
    pub(crate) fn take_woken(&self) -> bool {
        matches!(&self.0, Way::Flag(flag) if flag.swap(false, Relaxed))
    }
}
