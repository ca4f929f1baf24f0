//! Epoll with nanosecond timeouts, and the event counter that wakes it.
//!
//! `epoll_pwait2` accepts a timeout in nanoseconds. Kernels before 5.11 do not have this call, and the
//! filters of old container runtimes refuse it. On such systems, a timer descriptor ends the wait, which
//! costs one more system call for each wait that sleeps.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::{io, ptr, time::Duration};

use libc::c_long;

use super::check;

/// Which waits report a descriptor as ready.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Every wait reports the descriptor while there is something to read.
    Level,
    /// One wait reports the descriptor each time data arrives or a write becomes possible.
    Edge,
}

/// The token of the timer descriptor. It is never reported.
const TIMER_TOKEN: u64 = u64::MAX - 1;

/// An epoll instance: readiness with nanosecond timeouts.
pub struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
    /// Ends a wait if `epoll_pwait2` is not available; otherwise `None`.
    timer: Option<OwnedFd>,
}

/// One descriptor's readiness.
#[derive(Clone, Copy)]
pub struct Readiness {
    /// The number under which the descriptor was registered.
    pub token: u64,
    /// A read would return data, the end of the stream, or an error.
    pub readable: bool,
    /// A write would be accepted, or return an error.
    pub writable: bool,
    /// The other side has ended the stream, or the connection is broken: no data follows the bytes that can
    /// be read now.
    pub ended: bool,
}

impl Epoll {
    /// The maximum number of descriptors that one wait reports; one more if a timer ends the waits.
    pub const BATCH: usize = 1024;

    /// A new, empty instance.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes a flag; nothing else owns the descriptor that it returns.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        // One more than a batch, so that the event of the timer does not displace another event.
        let mut epoll = Self { fd, events: Vec::with_capacity(Self::BATCH + 1), timer: None };
        // `epoll_pwait2` itself never returns these errors. They mean that the kernel does not have the call,
        // or that a filter refuses it.
        match epoll.wait_exactly(Duration::ZERO) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                let timer = timer()?;
                epoll.add(timer.as_raw_fd(), TIMER_TOKEN, Trigger::Edge)?;
                epoll.timer = Some(timer);
            }
            _ => {}
        }
        Ok(epoll)
    }

    /// Watches a descriptor for reading. With [`Trigger::Edge`], watches it also for writing, which costs
    /// nothing until a write is refused.
    pub fn add(&self, fd: RawFd, token: u64, trigger: Trigger) -> io::Result<()> {
        let events = match trigger {
            Trigger::Level => libc::EPOLLIN,
            Trigger::Edge => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET,
        };
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        let (epoll, add) = (self.fd.as_raw_fd(), libc::EPOLL_CTL_ADD);
        // SAFETY: the event is valid for the call; a wrong descriptor is an error, not undefined behaviour.
        check(unsafe { libc::epoll_ctl(epoll, add, fd, &raw mut event) })?;
        Ok(())
    }

    /// Waits until something is ready or the time is up, and returns how many descriptors are ready.
    /// An interruption by a signal returns 0.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<usize> {
        let found = match self.timer {
            None => self.wait_exactly(timeout),
            Some(_) => self.wait_by_timer(timeout),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            found => found,
        }
    }

    /// A wait by `epoll_pwait2`.
    fn wait_exactly(&mut self, timeout: Duration) -> io::Result<usize> {
        let spec = timespec(timeout);
        self.events.clear();
        // SAFETY: the vector has room for BATCH events, and the call initialises as many events as it
        // returns; the timeout outlives the call; no signal mask is given.
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
        let found = check(found as libc::c_int)? as usize;
        // SAFETY: see above.
        unsafe { self.events.set_len(found) };
        Ok(found)
    }

    /// A wait by `epoll_pwait`. Its own timeout is in milliseconds, so the timer ends the wait.
    fn wait_by_timer(&mut self, timeout: Duration) -> io::Result<usize> {
        let sleeps = timeout > Duration::ZERO;
        if let Some(timer) = self.timer.as_ref().filter(|_| sleeps) {
            // This also clears an earlier expiry of the timer, which would end this wait.
            set_timer(timer, timeout)?;
        }
        self.events.clear();
        let (most, forever) = (Self::BATCH as c_long + 1, -1 as c_long);
        // SAFETY: the vector has room for BATCH + 1 events, and the call initialises as many events as it
        // returns; no signal mask is given.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait,
                self.fd.as_raw_fd() as c_long,
                self.events.as_mut_ptr(),
                most,
                if sleeps { forever } else { 0 as c_long },
                ptr::null::<libc::sigset_t>(),
                0 as c_long,
            )
        };
        let found = check(found as libc::c_int)? as usize;
        // SAFETY: see above.
        unsafe { self.events.set_len(found) };
        self.events.retain(|event| event.u64 != TIMER_TOKEN);
        Ok(self.events.len())
    }

    /// The ready descriptor at this position in the result of the last wait.
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

fn timespec(span: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: span.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: c_long::from(span.subsec_nanos()),
    }
}

/// A timer of the monotonic clock that is not running.
fn timer() -> io::Result<OwnedFd> {
    let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
    // SAFETY: the call takes numbers only; nothing else owns the descriptor that it returns.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?)) }
}

/// Starts a timer that expires once, after the time `after`, which must not be 0.
fn set_timer(timer: &OwnedFd, after: Duration) -> io::Result<()> {
    let once =
        libc::itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(after) };
    // SAFETY: the pointer is valid for the call; the earlier setting is not requested.
    check(unsafe {
        libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const once, ptr::null_mut())
    })?;
    Ok(())
}

/// An event counter of the kernel, for waking a waiting thread.
pub fn event_counter() -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only; nothing else owns the descriptor that it returns.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::thread;

    use super::*;
    use crate::sys::monotonic_ns;

    /// Makes the kernel return an error for each call of this thread that Linux 4.18 does not have. The
    /// numbers of these calls begin at 424 on all processors.
    fn refuse_newer_calls(errno: libc::c_int) {
        let statement =
            |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let number_at = 0;
        let filter = [
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, number_at),
            libc::sock_filter {
                code: (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16,
                jt: 0,
                jf: 1,
                k: 424,
            },
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
        ];
        let program =
            libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: the filter outlives the call, which copies it. It applies to this thread only.
        unsafe {
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)).unwrap();
            let mode = libc::SECCOMP_MODE_FILTER;
            check(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program)).unwrap();
        }
    }

    /// Runs a test as on Linux 4.18, and as in a container whose filter refuses the calls that are newer than
    /// Linux 4.18.
    fn on_old_systems(test: impl Fn() + Send + Sync + Copy + 'static) {
        for errno in [libc::ENOSYS, libc::EPERM] {
            let as_there = move || {
                refuse_newer_calls(errno);
                test();
            };
            thread::spawn(as_there).join().unwrap();
        }
    }

    #[test]
    fn epoll_uses_a_timer_if_the_kernel_lacks_epoll_pwait2_or_a_filter_refuses_it() {
        on_old_systems(|| assert!(Epoll::new().unwrap().timer.is_some()));
    }

    #[test]
    fn a_wait_with_a_timer_does_not_end_before_its_time_is_up() {
        on_old_systems(|| {
            let mut epoll = Epoll::new().unwrap();
            for wait_us in [1, 300, 1_500] {
                let began = monotonic_ns();
                assert_eq!(epoll.wait(Duration::from_micros(wait_us)).unwrap(), 0);
                assert!(monotonic_ns() - began >= wait_us * 1_000, "{wait_us}");
                assert_eq!(epoll.wait(Duration::ZERO).unwrap(), 0, "the timer is not reported");
            }
        });
    }

    #[test]
    fn a_wait_with_a_timer_reports_ready_events_and_an_old_timer_does_not_end_a_later_wait() {
        on_old_systems(|| {
            let mut epoll = Epoll::new().unwrap();
            let counter = File::from(event_counter().unwrap());
            epoll.add(counter.as_raw_fd(), 7, Trigger::Level).unwrap();
            (&counter).write_all(&1u64.to_ne_bytes()).unwrap();
            // The wait ends immediately. Its timer expires later, when no wait is in progress.
            assert_eq!(epoll.wait(Duration::from_millis(1)).unwrap(), 1);
            assert_eq!(epoll.found(0).token, 7);
            io::Read::read(&mut &counter, &mut [0; 8]).unwrap();
            let began = monotonic_ns();
            while monotonic_ns() - began < 2_000_000 {
                std::hint::spin_loop();
            }
            assert_eq!(epoll.wait(Duration::from_millis(3)).unwrap(), 0);
            assert!(monotonic_ns() - began >= 5_000_000, "the old timer ended the wait");
        });
    }

    #[test]
    fn an_actor_runs_without_system_calls_newer_than_linux_4_18() {
        use crate::{Actor, EpollNet, Net, Ready, Wake};

        struct TwoTurns(u32);
        impl<N: Net> Actor<N> for TwoTurns {
            fn turn(&mut self, net: &mut N, _: &[Ready]) -> Wake {
                self.0 += 1;
                let soon = net.now() + Duration::from_micros(200);
                if self.0 < 3 { Wake::At(soon) } else { Wake::Done }
            }
        }
        on_old_systems(|| {
            let mut actor = TwoTurns(0);
            EpollNet::new().unwrap().run(&mut actor).unwrap();
            assert_eq!(actor.0, 3);
        });
    }
}
