//! System calls that the standard library does not offer: epoll, receive with the kernel's time
//! stamps, resource limits, the ties between processes. The only unsafe code of the workspace; every function here is safe
//! to call.
#![expect(unsafe_code, reason = "the kernel's receive stamps and epoll have no safe interface")]

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;
use std::time::Duration;

use libc::c_long;

/// Turns the -1 of a system call into the error that it left behind.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Nanoseconds of one of the kernel's clocks.
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for a timespec; the clocks used here always exist.
    let time = unsafe {
        libc::clock_gettime(clock, time.as_mut_ptr());
        time.assume_init()
    };
    timespec_ns(&time)
}

fn timespec_ns(time: &libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The monotonic clock: not moved by anybody, ticking since the machine started.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The wall clock: nanoseconds since 1970, UTC. Can be set and slewed.
pub fn realtime_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Processor time that this process has used, user and system.
#[must_use]
pub fn process_cpu_time() -> Duration {
    Duration::from_nanos(clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID))
}

/// Processor time that this thread has used, user and system.
#[must_use]
pub fn thread_cpu_time() -> Duration {
    Duration::from_nanos(clock_ns(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// Raises the limit on open files to what the system allows, and returns it.
///
/// # Errors
/// When the system refuses.
pub fn raise_open_files_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is valid for the duration of both calls.
    unsafe {
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))?;
    }
    Ok(limit.rlim_cur)
}

/// Lets timers of this thread fire on time instead of up to 50 microseconds late.
pub fn use_precise_timers() {
    // SAFETY: takes numbers only. It cannot fail for a positive slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// How a descriptor's readiness is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// By every wait for as long as there is something to read.
    Level,
    /// By one wait each time that something has come, or has become possible.
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
    /// Something to read, or the end, or an error that a read will tell.
    pub readable: bool,
    /// Space to write, or an error that a write will tell.
    pub writable: bool,
    /// The other side has ended the stream, or it is broken: behind what can be read is the end.
    pub ended: bool,
}

impl Epoll {
    /// The most descriptors that one wait reports.
    pub const BATCH: usize = 1024;

    /// A new, empty instance.
    pub fn new() -> io::Result<Self> {
        // SAFETY: takes a flag; the descriptor it returns is ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Self { fd, events: Vec::with_capacity(Self::BATCH) })
    }

    /// Watches a descriptor: for reading, and where edges are told for writing too, which then
    /// costs nothing until a write was refused.
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

    /// Waits until something is ready or the time is up. An interruption by a signal counts as a
    /// wait that found nothing.
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

    /// What the last wait found, by position.
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

/// Lets as many connections wait to be accepted as the system allows: the standard library's 128
/// are full when a thousand clients come at once, and who finds them full tries again a second
/// later.
pub fn lengthen_backlog(listener: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::listen(listener.as_raw_fd(), libc::c_int::MAX) })?;
    Ok(())
}

/// Begins a non-blocking connection.
pub fn begin_connect(to: SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers only; the descriptor it returns is ours alone.
    let stream = unsafe { TcpStream::from_raw_fd(check(libc::socket(family, kind, 0))?) };
    let (address, length) = socket_address(to);
    // SAFETY: the address is valid for `length` bytes during the call.
    let result =
        check(unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), length) });
    match result {
        Ok(_) => Ok(stream),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(stream),
        Err(error) => Err(error),
    }
}

fn socket_address(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeroes is a valid sockaddr_storage, which is large and aligned enough for
    // either family's own type.
    let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let length = match address {
        SocketAddr::V4(v4) => {
            let target = (&raw mut storage).cast::<libc::sockaddr_in>();
            // SAFETY: see above.
            unsafe {
                (*target).sin_family = libc::AF_INET as libc::sa_family_t;
                (*target).sin_port = v4.port().to_be();
                (*target).sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
            }
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let target = (&raw mut storage).cast::<libc::sockaddr_in6>();
            // SAFETY: see above.
            unsafe {
                (*target).sin6_family = libc::AF_INET6 as libc::sa_family_t;
                (*target).sin6_port = v6.port().to_be();
                (*target).sin6_addr.s6_addr = v6.ip().octets();
                (*target).sin6_flowinfo = v6.flowinfo();
                (*target).sin6_scope_id = v6.scope_id();
            }
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

/// Makes a connection end with a reset when it is closed.
pub fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    set_option(stream, libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

/// Asks the kernel to stamp what it receives on this connection.
pub fn enable_receive_stamps(socket: &impl AsRawFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
}

fn set_option<T>(socket: &impl AsRawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the pointer is valid for the size given with it.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Room for the control message with the three stamps of SCM_TIMESTAMPING, and some to spare.
#[repr(C, align(8))]
struct ControlBuffer([u8; 128]);

/// What one receive brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// How many bytes.
    pub bytes: usize,
    /// The kernel's stamp of the last segment among them, in nanoseconds of the wall clock.
    pub wall_stamp: Option<u64>,
    /// The kernel had more to say than there was room for, so that a stamp may be lost.
    pub truncated: bool,
}

/// Receives into the buffer.
pub fn receive(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = ControlBuffer([0; 128]);
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zeroes is a valid msghdr.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control.0).cast();
    message.msg_controllen = control.0.len() as _;
    // The C library's own wrapper is a cancellation point, which costs as much as reading a clock.
    // SAFETY: the message points at buffers that outlive the call, with their true lengths.
    let received = unsafe {
        let (fd, message) = (socket.as_raw_fd(), &raw mut message);
        libc::syscall(libc::SYS_recvmsg, fd as c_long, message, libc::MSG_DONTWAIT as c_long)
    };
    if received < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Received {
        bytes: received as usize,
        wall_stamp: software_stamp(&message),
        truncated: message.msg_flags & libc::MSG_CTRUNC != 0,
    })
}

/// The software stamp among a received message's control messages.
fn software_stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the message was filled by recvmsg, so the macros walk inside its control buffer;
    // the stamps are read unaligned.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let wanted = (*header).cmsg_level == libc::SOL_SOCKET
                && (*header).cmsg_type == libc::SCM_TIMESTAMPING;
            if wanted {
                let stamp = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::timespec>());
                let stamp_ns = timespec_ns(&stamp);
                return (stamp_ns != 0).then_some(stamp_ns);
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// An event counter of the kernel, for waking a waiting thread.
pub fn event_counter() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; the descriptor it returns is ours alone.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// How a process is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM: it may tidy up first.
    Gently,
    /// SIGKILL: the system ends it.
    Firmly,
}

/// Makes orphans among the descendants of this process its children, whatever session or group
/// they have put themselves into, so that none is lost sight of.
///
/// # Errors
/// When the system refuses.
pub fn adopt_orphans() -> io::Result<()> {
    let yes: libc::c_ulong = 1;
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, yes, 0, 0, 0) }).map(drop)
}

/// Tells a process to end. One that is gone already is no error.
///
/// # Errors
/// When the system refuses.
pub fn end_process(pid: u32, signal: EndSignal) -> io::Result<()> {
    // 0 and negative numbers address groups, which nobody here means.
    let pid = libc::pid_t::try_from(pid)
        .ok()
        .filter(|&pid| pid > 1)
        .ok_or(io::ErrorKind::InvalidInput)?;
    let signal = match signal {
        EndSignal::Gently => libc::SIGTERM,
        EndSignal::Firmly => libc::SIGKILL,
    };
    // SAFETY: takes numbers only.
    match check(unsafe { libc::kill(pid, signal) }) {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        _ => Ok(()),
    }
}

/// Waits until any child has ended and forgets it; nothing where there is no child left.
///
/// # Errors
/// When the system refuses.
pub fn reap_any_child() -> io::Result<Option<(u32, ExitStatus)>> {
    loop {
        let mut status = 0;
        // SAFETY: the pointer is valid for the call.
        match check(unsafe { libc::waitpid(-1, &raw mut status, 0) }) {
            Ok(pid) => return Ok(Some((pid as u32, ExitStatus::from_raw(status)))),
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The units of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcUnits {
    /// Ticks of processor time in a second.
    pub ticks_per_s: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

/// The units of `/proc/PID/stat` on this system.
#[must_use]
pub fn proc_units() -> ProcUnits {
    // SAFETY: takes numbers only.
    let of = |name| u64::try_from(unsafe { libc::sysconf(name) }).ok().filter(|&unit| unit > 0);
    // Both are asked for on every Linux; the values are those of nearly all of them.
    ProcUnits {
        ticks_per_s: of(libc::_SC_CLK_TCK).unwrap_or(100),
        page_bytes: of(libc::_SC_PAGESIZE).unwrap_or(4096),
    }
}
