//! Real sockets and the real clock: one epoll loop, edge-triggered, one read per readiness event.
//!
//! The kernel reports a connection only once for the data that has arrived. If a read may have left bytes,
//! the loop remembers the connection and reports it again. So an actor sees a connection as readable until it
//! has read everything.

mod sleep;

use std::net::{SocketAddr, TcpListener};
use std::{io, os::fd::AsRawFd, path::Path, sync::Arc, time::Duration};

use inferometer_model::Nanos;

use crate::conn::{Conn, Slots, State, gone, token};
use crate::socket::{Begun, Socket};
use crate::stamp::{Converter, StampKeeper};
use crate::sys::{self, Epoll, Received, Trigger};
use crate::{
    Actor, Address, Arrived, Close, ConnId, LoopStats, Net, ReadResult, Ready, StampStats, Wake,
    Waker, emptiness::Emptiness, run_delay::RunDelay, waker::EventCounter,
};

/// The token of the waker. No connection has this token.
const WAKER_TOKEN: u64 = u64::MAX;
/// This bit is set in the token of a listening socket; the other bits are its index.
const LISTENER_BIT: u64 = 1 << 63;

/// The longest wait. After it, an idle loop reads the clock and notices if the process was stopped.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// The pause before the next attempt to connect a Unix socket whose server has a full accept queue. The
/// kernel does not report when the queue has room.
const QUEUED: Duration = Duration::from_millis(1);

/// The [`Net`] of real sockets and the monotonic clock.
pub struct EpollNet {
    epoll: Epoll,
    waker: EventCounter,
    listeners: Vec<TcpListener>,
    slots: Slots,
    /// Unix sockets that wait because the accept queue of their server is full.
    queued: Vec<(ConnId, Arc<Path>)>,
    /// Connections whose last read may have left bytes.
    unread: Vec<ConnId>,
    stamps: Converter,
    use_kernel_stamps: bool,
    /// Keeps the kernel's time stamps switched on while no connection is open.
    _stamping: Option<StampKeeper>,
    /// How long before the end of a wait the loop stops sleeping and polls instead.
    spin: Duration,
    loop_stats: LoopStats,
    /// When the last wait returned.
    returned: Nanos,
    /// Lower bounds for the arrival time of data in the sockets.
    emptiness: Emptiness,
    /// How long this thread waited for a processor.
    run_delay: RunDelay,
    /// The last reading of the clock by a wait or a read. It is a lower bound for the time of the next read.
    last_now: Nanos,
}

impl EpollNet {
    /// Creates the network, without sockets.
    ///
    /// # Errors
    /// When the system refuses the descriptors of epoll or of the waker.
    pub fn new() -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let waker = EventCounter::new()?;
        epoll.add(waker.fd(), WAKER_TOKEN, Trigger::Level)?;
        let now = Nanos(sys::monotonic_ns());
        Ok(Self {
            epoll,
            waker,
            listeners: Vec::new(),
            slots: Slots::default(),
            queued: Vec::new(),
            unread: Vec::new(),
            stamps: Converter::new(),
            use_kernel_stamps: true,
            _stamping: StampKeeper::new(),
            spin: Duration::ZERO,
            loop_stats: LoopStats::default(),
            returned: now,
            emptiness: Emptiness::new(now),
            run_delay: RunDelay::of_this_thread(),
            last_now: now,
        })
    }

    /// Disables the kernel's stamps, as on a system without kernel stamps.
    #[must_use]
    pub fn with_user_stamps(mut self) -> Self {
        self.use_kernel_stamps = false;
        self._stamping = None;
        self
    }

    /// Sets how long before the end of a wait the loop stops sleeping and polls instead. Wake-ups are then
    /// exact to a microsecond, and each uses at most `spin` of processor time.
    pub fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Returns the loop's statistics since the last call of this function, or since the start. Resets them.
    pub fn take_loop_stats(&mut self) -> LoopStats {
        self.run_delay.since_last();
        let waited_for_cpu = self.run_delay.take_total();
        LoopStats { waited_for_cpu, ..std::mem::take(&mut self.loop_stats) }
    }

    /// A handle with which another thread can give the actor a turn.
    pub fn waker(&self) -> Waker {
        self.waker.waker()
    }

    /// Counts of unusable kernel stamps and of clock steps so far.
    pub fn stamp_stats(&self) -> StampStats {
        self.stamps.stats
    }

    /// Runs an actor until it is done.
    ///
    /// # Errors
    /// When a system call of the loop fails; the actor is then in an unknown state.
    pub fn run(&mut self, actor: &mut impl Actor<Self>) -> io::Result<()> {
        // The timer slack and the kernel's account belong to the calling thread. Another thread may have
        // created this network.
        sys::use_precise_timers();
        self.run_delay = RunDelay::of_this_thread();
        let mut ready = Vec::with_capacity(Epoll::BATCH);
        self.returned = self.now();
        loop {
            let wake = actor.turn(self, &ready);
            ready.clear();
            match wake {
                Wake::Done => break,
                Wake::At(at) => self.wait(Some(at), &mut ready)?,
                Wake::WhenReady => self.wait(None, &mut ready)?,
            }
        }
        self.run_delay.since_last();
        Ok(())
    }

    fn wait(&mut self, until: Option<Nanos>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let now = self.now();
        self.loop_stats.turn(now.since(self.returned));
        let heartbeat = now + if self.queued.is_empty() { HEARTBEAT } else { QUEUED };
        let (end, spin) = match until {
            _ if !self.unread.is_empty() => (now, Duration::ZERO),
            Some(at) if at < heartbeat => (at, self.spin),
            _ => (heartbeat, Duration::ZERO),
        };
        let found = self.sleep(now, end, spin)?;
        self.last_now = self.now();
        self.returned = self.last_now;
        self.stamps.refresh(self.last_now);
        if now < end && end <= self.last_now {
            self.loop_stats.overslept(self.last_now.since(end));
        }
        for position in 0..found {
            let event = self.epoll.found(position);
            if event.token == WAKER_TOKEN {
                self.waker.drain();
            } else if event.token & LISTENER_BIT != 0 {
                self.accept((event.token & !LISTENER_BIT) as usize, ready)?;
            } else {
                self.report(event, ready);
            }
        }
        self.report_unread(ready);
        self.begin_queued(ready);
        Ok(())
    }

    /// Reports again the connections that may have unread bytes, unless they have just been reported.
    fn report_unread(&mut self, ready: &mut Vec<Ready>) {
        for id in self.unread.drain(..) {
            if let Some(conn) = self.slots.find(id).filter(|conn| !conn.reported) {
                conn.reported = true;
                ready.push(Ready::Readable(id));
            }
        }
    }

    fn report(&mut self, event: sys::Readiness, ready: &mut Vec<Ready>) {
        let id = ConnId { slot: event.token as u32, generation: (event.token >> 32) as u32 };
        let Some(conn) = self.slots.find(id) else { return };
        if conn.state == State::Connecting {
            if !(event.writable || event.readable) {
                return;
            }
            match conn.socket.take_error() {
                Ok(None) => {
                    conn.state = State::Open;
                    ready.push(Ready::Connected(id));
                }
                Ok(Some(error)) | Err(error) => {
                    self.slots.take(id);
                    ready.push(Ready::ConnectFailed(id, error));
                    return;
                }
            }
        } else if event.writable && conn.watching_writes {
            conn.watching_writes = false;
            ready.push(Ready::Writable(id));
        }
        conn.ended |= event.ended;
        if event.readable {
            if conn.reported {
                // The actor has not read the data that was reported before, so the socket may still contain it.
                conn.drained_at = None;
            }
            conn.reported = true;
            ready.push(Ready::Readable(id));
        }
    }

    fn accept(&mut self, listener: usize, ready: &mut Vec<Ready>) -> io::Result<()> {
        // An error means that no client waits, or that descriptors ran out. The next wait tries again.
        while let Ok((stream, _)) = self.listeners[listener].accept() {
            stream.set_nonblocking(true)?;
            ready.push(Ready::Accepted(self.adopt(Socket::Tcp(stream), State::Open)?));
        }
        Ok(())
    }

    /// Adds a socket. Epoll watches it, unless its state is `Queued`.
    fn adopt(&mut self, socket: Socket, state: State) -> io::Result<ConnId> {
        socket.send_at_once()?;
        // A Unix socket accepts the option, but gives no stamps.
        if self.use_kernel_stamps && matches!(socket, Socket::Tcp(_)) {
            // A kernel without stamps is no error: reads then have no kernel stamp.
            self.use_kernel_stamps = sys::enable_receive_stamps(&socket).is_ok();
        }
        let fd = socket.as_raw_fd();
        let id = self.slots.put(Conn::new(socket, state, Nanos(sys::monotonic_ns())));
        if state != State::Queued
            && let Err(error) = self.epoll.add(fd, token(id), Trigger::Edge)
        {
            self.slots.take(id);
            return Err(error);
        }
        Ok(id)
    }

    /// Tries again to connect the Unix sockets whose servers had full accept queues.
    fn begin_queued(&mut self, ready: &mut Vec<Ready>) {
        let Self { queued, slots, epoll, .. } = self;
        queued.retain(|(id, path)| {
            let Some(conn) = slots.find(*id) else { return false };
            let begun = match conn.socket.begin_queued(path) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                begun => begun,
            };
            conn.state = State::Connecting;
            let fd = conn.socket.as_raw_fd();
            if let Err(error) = begun.and_then(|()| epoll.add(fd, token(*id), Trigger::Edge)) {
                slots.take(*id);
                ready.push(Ready::ConnectFailed(*id, error));
            }
            false
        });
    }
}

impl Net for EpollNet {
    fn now(&self) -> Nanos {
        Nanos(sys::monotonic_ns())
    }

    fn listen(&mut self, at: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(at)?;
        sys::set_backlog(&listener, i32::MAX)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let token = LISTENER_BIT | self.listeners.len() as u64;
        self.epoll.add(listener.as_raw_fd(), token, Trigger::Level)?;
        self.listeners.push(listener);
        Ok(address)
    }

    fn connect(&mut self, to: &Address) -> io::Result<ConnId> {
        match Socket::begin(to)? {
            Begun::Connecting(socket) => self.adopt(socket, State::Connecting),
            Begun::NoRoom(socket, path) => {
                let id = self.adopt(socket, State::Queued)?;
                self.queued.push((id, path));
                Ok(id)
            }
        }
    }

    fn read(&mut self, id: ConnId, buffer: &mut [u8]) -> ReadResult {
        let Some(conn) = self.slots.find(id) else { return ReadResult::Failed(gone()) };
        let called = self.last_now;
        conn.reported = false;
        match sys::receive(&conn.socket, buffer) {
            Ok(Received { bytes: 0, .. }) => ReadResult::Closed,
            Ok(Received { bytes, wall_stamp, truncated }) => {
                let user = Nanos(sys::monotonic_ns());
                self.last_now = user;
                if std::mem::take(&mut conn.wrote) {
                    conn.socket.acknowledge_at_once();
                }
                self.loop_stats.truncated_control += u64::from(truncated);
                // If the socket had not been drained, the bound of the earlier read still applies.
                let (certain, likely) = match conn.drained_at {
                    Some(drained_at) => self.emptiness.of_drained(drained_at, user),
                    None => (conn.empty_before, conn.empty_before),
                };
                let kernel = wall_stamp.and_then(|wall| self.stamps.convert(wall, certain, user));
                let contradicted = kernel.is_some_and(|stamp| stamp < likely);
                let empty_before = if contradicted { certain } else { likely };
                let drained = bytes < buffer.len();
                conn.drained_at = drained.then_some(called);
                conn.empty_before = empty_before;
                if !drained || conn.ended {
                    self.unread.push(id);
                }
                ReadResult::Data(Arrived { bytes, kernel, user, empty_before })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                conn.drained_at = Some(called);
                ReadResult::Empty
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.unread.push(id);
                ReadResult::Empty
            }
            Err(error) => ReadResult::Failed(error),
        }
    }

    fn write(&mut self, id: ConnId, bytes: &[u8]) -> io::Result<usize> {
        let conn = self.slots.find(id).ok_or_else(gone)?;
        let written = match conn.socket.write(bytes) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        conn.watching_writes |= written < bytes.len();
        conn.wrote = true;
        Ok(written)
    }

    fn close(&mut self, id: ConnId, how: Close) {
        if let Some(conn) = self.slots.take(id)
            && how == Close::Reset
        {
            // If the option cannot be set, the other side sees an ordinary end of the stream.
            let _ = conn.socket.reset_on_close();
        }
    }
}
