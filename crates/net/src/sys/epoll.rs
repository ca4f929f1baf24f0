//! Epoll with nanosecond timeouts, and the event counter that wakes it.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;
use std::{io, ptr};

use libc::c_long;

use super::check;

/// When a descriptor is reported as ready.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// By every wait while there is something to read.
    Level,
    /// By one wait each time something arrives or becomes possible.
    Edge,
}

/// An epoll instance: readiness with nanosecond timeouts.
pub struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// One descriptor's readiness.
#[derive(Clone, Copy)]
pub struct Readiness {
    /// The number it was registered under.
    pub token: u64,
    /// Something to read, the end of the stream, or an error that a read returns.
    pub readable: bool,
    /// Space to write, or an error that a write returns.
    pub writable: bool,
    /// The other side has ended the stream, or it is broken: nothing follows what can be read now.
    pub ended: bool,
}

impl Epoll {
    /// Most descriptors that one wait reports.
    pub const BATCH: usize = 1024;

    /// A new, empty instance.
    pub fn new() -> io::Result<Self> {
        // SAFETY: takes a flag; the descriptor it returns is ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Self { fd, events: Vec::with_capacity(Self::BATCH) })
    }

    /// Watches a descriptor for reading. With [`Trigger::Edge`] also for writing, which costs nothing
    /// until a write was refused.
    pub fn add(&self, fd: RawFd, token: u64, trigger: Trigger) -> io::Result<()> {
        let events = match trigger {
            Trigger::Level => libc::EPOLLIN,
            Trigger::Edge => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET,
        };
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        let (epoll, add) = (self.fd.as_raw_fd(), libc::EPOLL_CTL_ADD);
        // SAFETY: the event is valid for the call; a wrong descriptor is an error, not undefined.
        check(unsafe { libc::epoll_ctl(epoll, add, fd, &raw mut event) })?;
        Ok(())
    }

    /// Waits until something is ready or the time is up, and returns how many descriptors are ready.
    /// An interruption by a signal returns 0.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<usize> {
        let spec = libc::timespec {
            tv_sec: timeout.as_secs().min(1 << 30) as libc::time_t,
            tv_nsec: c_long::from(timeout.subsec_nanos()),
        };
        self.events.clear();
        // SAFETY: the vector has room for BATCH events, and as many as the call returns are
        // initialised by it; the timeout outlives the call; no signal mask is given.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd() as c_long,
                self.events.as_mut_ptr(),
                Self::BATCH as c_long,
                &raw const spec,
                ptr::null::<libc::sigset_t>(),
                0 as c_long,
            )
        };
        match check(found as libc::c_int) {
            Ok(found) => {
                // SAFETY: see above.
                unsafe { self.events.set_len(found as usize) };
                Ok(found as usize)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// A ready descriptor of the last wait, by position.
    pub fn found(&self, position: usize) -> Readiness {
        let event = self.events[position];
        let bits = event.events as i32;
        let broken = bits & (libc::EPOLLERR | libc::EPOLLHUP) != 0;
        Readiness {
            token: event.u64,
            readable: broken || bits & (libc::EPOLLIN | libc::EPOLLRDHUP) != 0,
            writable: broken || bits & libc::EPOLLOUT != 0,
            ended: broken || bits & libc::EPOLLRDHUP != 0,
        }
    }
}

/// An event counter of the kernel, for waking a waiting thread.
pub fn event_counter() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; the descriptor it returns is ours alone.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
