//! System calls that the standard library does not offer: epoll, receives with the kernel's time stamps,
//! resource limits, process control. The only unsafe code of the workspace that is written by hand is in this
//! module and its files. Every function here is safe to call.
#![expect(unsafe_code, reason = "std has neither epoll nor the kernel's receive time stamps")]

mod epoll;
mod process;
mod socket;

use std::{io, mem::MaybeUninit, time::Duration};

pub use epoll::{Epoll, Readiness, Trigger, event_counter};
pub use process::{
    EndSignal, ProcUnits, adopt_orphans, end_process, fail_writes_beyond_file_limit, open_files,
    proc_units, raise_open_files_limit, reap_any_child,
};
pub use socket::{
    Received, acknowledge_at_once, begin_connect, connect_unix, enable_receive_stamps, receive,
    reset_on_close, set_backlog, unix_socket,
};

/// Converts the result -1 of a system call into the error that `errno` states.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The time of one of the kernel's clocks, in nanoseconds.
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

/// The monotonic clock: nanoseconds since the machine started. It cannot be set.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The wall clock: nanoseconds since 1970, UTC. It can be set and slewed.
pub fn realtime_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Processor time that this process has used, user and system.
pub fn process_cpu_time() -> Duration {
    Duration::from_nanos(clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID))
}

/// Processor time that this thread has used, user and system.
pub fn thread_cpu_time() -> Duration {
    Duration::from_nanos(clock_ns(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// Memory of this process in bytes: the value of `key`, such as `VmRSS:`, in `/proc/self/status`.
pub fn process_memory(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Makes timers of this thread expire on time instead of up to 50 microseconds late.
pub fn use_precise_timers() {
    // SAFETY: the call takes numbers only. It cannot fail for a positive slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
