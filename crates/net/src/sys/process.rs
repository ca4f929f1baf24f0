//! This process and its children: the limit on open files, orphans, signals, and the units of `/proc`.

use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus};

use super::check;

/// Raises the limit on open files to the hard limit, and returns the new limit.
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

/// The number of files and sockets that this process has open.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn open_files() -> io::Result<u64> {
    // The list itself is one more open file while it is read.
    Ok((std::fs::read_dir("/proc/self/fd")?.count() as u64).saturating_sub(1))
}

/// Makes a write beyond the file size limit fail with an error. Without this call, the signal SIGXFSZ ends
/// the process.
pub fn fail_writes_beyond_file_limit() {
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The signal that ends a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM: the process may clean up first.
    Gently,
    /// SIGKILL: the system ends the process immediately.
    Firmly,
}

/// Makes this process the parent of its orphaned descendants, also of those in another session or process
/// group. So all descendants can be found and ended.
///
/// # Errors
/// When the system refuses.
pub fn adopt_orphans() -> io::Result<()> {
    let yes: libc::c_ulong = 1;
    // SAFETY: the call takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, yes, 0, 0, 0) }).map(drop)
}

/// Sends an end signal to a process. It is no error if the process has ended already.
///
/// # Errors
/// When the id is 0, 1 or too large, or the system refuses.
pub fn end_process(pid: u32, signal: EndSignal) -> io::Result<()> {
    // 0 and negative numbers would address process groups.
    let pid = libc::pid_t::try_from(pid)
        .ok()
        .filter(|&pid| pid > 1)
        .ok_or(io::ErrorKind::InvalidInput)?;
    let signal = match signal {
        EndSignal::Gently => libc::SIGTERM,
        EndSignal::Firmly => libc::SIGKILL,
    };
    // SAFETY: the call takes numbers only.
    match check(unsafe { libc::kill(pid, signal) }) {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        _ => Ok(()),
    }
}

/// Waits until any child has ended. Returns the process id and the exit status of that child; `None` if there
/// is no child.
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
    /// Clock ticks per second, the unit of processor time.
    pub ticks_per_s: u64,
    /// The size of a memory page, in bytes.
    pub page_bytes: u64,
}

/// The units of `/proc/PID/stat` on this system.
pub fn proc_units() -> ProcUnits {
    // SAFETY: the call takes numbers only.
    let of = |name| u64::try_from(unsafe { libc::sysconf(name) }).ok().filter(|&unit| unit > 0);
    // Every Linux system reports both values; the defaults are the usual values.
    ProcUnits {
        ticks_per_s: of(libc::_SC_CLK_TCK).unwrap_or(100),
        page_bytes: of(libc::_SC_PAGESIZE).unwrap_or(4096),
    }
}
