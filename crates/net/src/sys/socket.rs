//! Sockets: connecting without waiting, options, and receives with the kernel's time stamps.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::{io, mem, os::unix::ffi::OsStrExt, os::unix::net::UnixStream, path::Path, ptr};

use libc::c_long;

use super::{check, timespec_ns};

/// Sets how many connections may wait to be accepted, up to the limit of the system. The standard library
/// allows 128. If a thousand clients connect at the same time, this is too few: the other clients would retry
/// a second later.
pub fn set_backlog(listener: &impl AsRawFd, most: i32) -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    check(unsafe { libc::listen(listener.as_raw_fd(), most) })?;
    Ok(())
}

/// Begins a non-blocking connection.
pub fn begin_connect(to: SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers only; nothing else owns the descriptor that it returns.
    let stream = unsafe { TcpStream::from_raw_fd(check(libc::socket(family, kind, 0))?) };
    let (address, length) = socket_address(to);
    // SAFETY: the address is valid for `length` bytes during the call.
    let result =
        check(unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), length) });
    match result {
        Ok(_) => Ok(stream),
        // The system continues to connect: after a signal, or because it cannot connect immediately.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR)) => {
            Ok(stream)
        }
        Err(error) => Err(error),
    }
}

/// A Unix socket that is not connected, and does not block.
pub fn unix_socket() -> io::Result<UnixStream> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers only; nothing else owns the descriptor that it returns.
    unsafe { Ok(UnixStream::from_raw_fd(check(libc::socket(libc::AF_UNIX, kind, 0))?)) }
}

/// Connects a Unix socket. The kernel connects it immediately, or returns [`io::ErrorKind::WouldBlock`] if
/// the accept queue of the server is full. In that case the call can be repeated.
pub fn connect_unix(stream: &UnixStream, path: &Path) -> io::Result<()> {
    // SAFETY: all zeroes is a valid sockaddr_un.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_os_str().as_bytes();
    // The last byte stays 0, because it terminates the path.
    if bytes.len() >= address.sun_path.len() || bytes.is_empty() || bytes.contains(&0) {
        let what = "the path of a Unix socket must have 1 to 107 bytes";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    for (place, &byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = byte as libc::c_char;
    }
    let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    // SAFETY: the address is valid for `length` bytes during the call.
    check(unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(())
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

/// Makes the kernel record a receive timestamp for data that arrives at this socket.
pub fn enable_receive_stamps(socket: &impl AsRawFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
}

/// Makes the kernel acknowledge received data now, and later data as soon as it is read, until the next
/// write.
///
/// After a write that follows a receive, the kernel delays acknowledgements by 40 ms, to send them with the
/// next write. A server without `TCP_NODELAY` (Nagle's algorithm) waits for them before it sends the next
/// small segment, so tokens would arrive in bundles. An error is ignored: acknowledgements are then delayed
/// as usual.
pub fn acknowledge_at_once(stream: &TcpStream) {
    let on: libc::c_int = 1;
    let _ = set_option(stream, libc::IPPROTO_TCP, libc::TCP_QUICKACK, &on);
}

fn set_option<T>(socket: &impl AsRawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the pointer is valid for the size that is passed with it.
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

/// A buffer for control messages. It is larger than an SCM_TIMESTAMPING message, which contains three stamps.
#[repr(C, align(8))]
struct ControlBuffer([u8; 128]);

/// The result of one receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The number of bytes received.
    pub bytes: usize,
    /// The kernel's stamp of the last segment of these bytes, in nanoseconds of the wall clock; `None` if
    /// there is no stamp.
    pub wall_stamp: Option<u64>,
    /// Whether the control messages did not fit into their buffer, so that a stamp may be lost.
    pub truncated: bool,
}

/// Receives into the buffer without waiting.
pub fn receive(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = ControlBuffer([0; 128]);
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zeroes is a valid msghdr.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control.0).cast();
    message.msg_controllen = control.0.len() as _;
    // The wrapper in the C library is a cancellation point, which costs as much as reading a clock. So this
    // code makes the system call itself. SAFETY: the message points at buffers that outlive the call, with
    // their true lengths.
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

/// The software stamp in the control messages of a received message.
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
