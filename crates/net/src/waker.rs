//! Gives an actor a turn from another thread, for example when the user interrupts a run.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use crate::sys;

/// A handle that wakes the thread that waits on the [`crate::EpollNet`] it came from.
#[derive(Clone, Debug)]
pub struct Waker(Arc<File>);

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(File::from(sys::event_counter()?))))
    }

    /// Wakes it. Several calls before it wakes count as one.
    pub fn wake(&self) {
        // A counter at its limit refuses the write, but then the thread is being woken anyway.
        let _ = (&*self.0).write_all(&1u64.to_ne_bytes());
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub(crate) fn drain(&self) {
        let _ = (&*self.0).read(&mut [0; 8]);
    }
}
