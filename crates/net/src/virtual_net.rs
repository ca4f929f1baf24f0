//! In-memory pipes and a virtual clock: actors communicate within one thread, and time moves only when no
//! actor has anything left to do. Every instant is exact and repeatable.

use std::collections::{BTreeMap, VecDeque};
use std::{cell::RefCell, io, net::SocketAddr, rc::Rc, time::Duration};

use inferometer_model::Nanos;

use crate::{Actor, Address, Arrived, Close, ConnId, Net, ReadResult, Ready, Wake, Waker};

/// A host of the virtual network: its sockets, and the clock that all hosts share.
#[derive(Clone)]
pub struct VirtualNet {
    host: usize,
    world: Rc<RefCell<World>>,
    waker: Waker,
}

struct World {
    now: Nanos,
    /// The host that listens at each address.
    listeners: BTreeMap<SocketAddr, usize>,
    /// Both ends of each connection: ends 2k and 2k + 1 belong together.
    ends: Vec<End>,
    next_port: u16,
    /// For each host: the period in nanoseconds. The host acts only at whole multiples of it.
    turn_every_ns: Vec<u64>,
}

/// One end of a connection.
struct End {
    host: usize,
    /// Data that waits to be read at this end, each segment with its arrival time.
    inbox: VecDeque<(Nanos, Vec<u8>)>,
    /// How the other side has closed the connection, if it has.
    closed: Option<Close>,
    /// Whether this side has closed the connection, or could not open it.
    gone: bool,
    /// An event that is to be reported once.
    pending: Option<Pending>,
}

enum Pending {
    Connected,
    Refused,
    Accepted,
}

/// Creates `count` hosts. They share one clock, which begins at zero.
pub fn hosts(count: usize) -> Vec<VirtualNet> {
    let world = World {
        now: Nanos::ZERO,
        listeners: BTreeMap::new(),
        ends: Vec::new(),
        next_port: 40_000,
        turn_every_ns: vec![1; count],
    };
    let world = Rc::new(RefCell::new(world));
    let net = |host| VirtualNet { host, world: Rc::clone(&world), waker: Waker::in_memory() };
    (0..count).map(net).collect()
}

/// Runs several actors together until the first actor in the slice is done.
///
/// # Panics
/// If no actor will ever act again and the first actor is not done.
pub fn run(actors: &mut [(&mut dyn Actor<VirtualNet>, VirtualNet)]) {
    run_until(actors, 1);
}

/// Runs several actors together until the first `leading` actors in the slice are done.
///
/// # Panics
/// If no actor will ever act again and one of these `leading` actors is not done.
pub fn run_until(actors: &mut [(&mut dyn Actor<VirtualNet>, VirtualNet)], leading: usize) {
    let mut wakes = vec![Wake::At(Nanos::ZERO); actors.len()];
    loop {
        let mut somebody_acted = false;
        for (position, (actor, net)) in actors.iter_mut().enumerate() {
            // An actor does everything that it can do now before the next actor runs. So the other actors see
            // all of its actions of one instant together.
            while net.has_processor() {
                let ready = net.ready();
                let due = matches!(wakes[position], Wake::At(at) if at <= net.now())
                    || wakes[position] != Wake::Done && net.waker.take_woken();
                if !due && (ready.is_empty() || wakes[position] == Wake::Done) {
                    break;
                }
                wakes[position] = actor.turn(net, &ready);
                somebody_acted = true;
            }
            if position < leading && wakes[..leading].iter().all(|wake| *wake == Wake::Done) {
                return;
            }
        }
        if !somebody_acted {
            let next =
                actors.iter().zip(&wakes).filter_map(|((_, net), wake)| net.next_turn(*wake));
            let next = next.min().expect("an actor must have something left to do");
            actors[0].1.world.borrow_mut().now = next;
        }
    }
}

impl VirtualNet {
    /// Gives this host a processor only at whole multiples of a period, as on a busy machine. Data that
    /// arrives between two multiples waits; its stamp is still the time of its arrival.
    ///
    /// # Panics
    /// If the period is zero.
    pub fn act_every(&mut self, period: Duration) {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        assert!(period_ns > 0, "the period must not be zero");
        self.world.borrow_mut().turn_every_ns[self.host] = period_ns;
    }

    /// A handle that gives the host's actor a turn.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn has_processor(&self) -> bool {
        let world = self.world.borrow();
        world.now.0.is_multiple_of(world.turn_every_ns[self.host])
    }

    /// When the host acts next, if no other host does anything; `None` if it never acts.
    fn next_turn(&self, wake: Wake) -> Option<Nanos> {
        let world = self.world.borrow();
        let waits = world.ends.iter().any(|end| {
            let has_come = end.pending.is_some() || !end.inbox.is_empty() || end.closed.is_some();
            end.host == self.host && !end.gone && has_come
        });
        let due = match wake {
            Wake::Done => return None,
            // The host has no processor now; otherwise it would have handled the waiting event already.
            _ if waits || self.waker.is_woken() => world.now,
            Wake::At(at) => at.max(world.now),
            Wake::WhenReady => return None,
        };
        Some(Nanos(due.0.next_multiple_of(world.turn_every_ns[self.host])))
    }

    fn ready(&self) -> Vec<Ready> {
        let mut world = self.world.borrow_mut();
        let mut ready = Vec::new();
        for (index, end) in world.ends.iter_mut().enumerate() {
            if end.host != self.host || end.gone {
                continue;
            }
            let id = conn_id(index);
            match end.pending.take() {
                Some(Pending::Connected) => ready.push(Ready::Connected(id)),
                Some(Pending::Accepted) => ready.push(Ready::Accepted(id)),
                Some(Pending::Refused) => {
                    end.gone = true;
                    let error = io::Error::from(io::ErrorKind::ConnectionRefused);
                    ready.push(Ready::ConnectFailed(id, error));
                    continue;
                }
                None => {}
            }
            if !end.inbox.is_empty() || end.closed.is_some() {
                ready.push(Ready::Readable(id));
            }
        }
        ready
    }
}

fn conn_id(index: usize) -> ConnId {
    ConnId { slot: index as u32, generation: 0 }
}

fn end(host: usize, pending: Pending) -> End {
    let inbox = VecDeque::new();
    End { host, inbox, closed: None, gone: false, pending: Some(pending) }
}

impl Net for VirtualNet {
    fn now(&self) -> Nanos {
        self.world.borrow().now
    }

    fn listen(&mut self, mut at: SocketAddr) -> io::Result<SocketAddr> {
        let mut world = self.world.borrow_mut();
        if at.port() == 0 {
            at.set_port(world.next_port);
            world.next_port += 1;
        }
        if world.listeners.contains_key(&at) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        world.listeners.insert(at, self.host);
        Ok(at)
    }

    fn connect(&mut self, to: &Address) -> io::Result<ConnId> {
        let Address::Internet(to) = to else {
            let what = "there are no Unix sockets in the virtual network";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        };
        let mut world = self.world.borrow_mut();
        let index = world.ends.len();
        match world.listeners.get(to).copied() {
            Some(server) => {
                world.ends.push(end(self.host, Pending::Connected));
                world.ends.push(end(server, Pending::Accepted));
            }
            None => {
                world.ends.push(end(self.host, Pending::Refused));
                let mut nobody = end(usize::MAX, Pending::Refused);
                nobody.gone = true;
                world.ends.push(nobody);
            }
        }
        Ok(conn_id(index))
    }

    fn read(&mut self, conn: ConnId, buffer: &mut [u8]) -> ReadResult {
        let mut world = self.world.borrow_mut();
        let now = world.now;
        let end = &mut world.ends[conn.slot()];
        let mut bytes = 0;
        let mut stamp = now;
        // Here the arrival of the first waiting bytes is known exactly: until then the socket was empty.
        let empty_before = end.inbox.front().map_or(now, |(arrived, _)| *arrived);
        while bytes < buffer.len()
            && let Some((arrived, segment)) = end.inbox.front_mut()
        {
            let taken = segment.len().min(buffer.len() - bytes);
            buffer[bytes..bytes + taken].copy_from_slice(&segment[..taken]);
            bytes += taken;
            stamp = *arrived;
            if taken == segment.len() {
                end.inbox.pop_front();
            } else {
                segment.drain(..taken);
            }
        }
        if bytes > 0 {
            return ReadResult::Data(Arrived {
                bytes,
                kernel: Some(stamp),
                user: now,
                empty_before,
            });
        }
        match end.closed {
            Some(Close::Gracefully) => ReadResult::Closed,
            Some(Close::Reset) => ReadResult::Failed(io::ErrorKind::ConnectionReset.into()),
            None => ReadResult::Empty,
        }
    }

    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let now = world.now;
        let peer = &mut world.ends[conn.slot() ^ 1];
        if peer.gone {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        peer.inbox.push_back((now, bytes.to_vec()));
        Ok(bytes.len())
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        let mut world = self.world.borrow_mut();
        world.ends[conn.slot()].gone = true;
        world.ends[conn.slot() ^ 1].closed = Some(how);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends each received byte back after a second.
    #[derive(Default)]
    struct Echo {
        pending: VecDeque<(Nanos, ConnId, u8)>,
    }

    impl Actor<VirtualNet> for Echo {
        fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
            for event in ready {
                if let Ready::Readable(conn) = *event {
                    let mut byte = [0];
                    if let ReadResult::Data(_) = net.read(conn, &mut byte) {
                        self.pending.push_back((net.now() + Duration::from_secs(1), conn, byte[0]));
                    }
                }
            }
            while let Some(&(at, conn, byte)) = self.pending.front()
                && at <= net.now()
            {
                self.pending.pop_front();
                net.write(conn, &[byte]).unwrap();
            }
            self.pending.front().map_or(Wake::WhenReady, |&(at, ..)| Wake::At(at))
        }
    }

    /// Sends a byte, waits for the answer, and repeats this.
    struct Caller {
        to: SocketAddr,
        conn: Option<ConnId>,
        arrivals: Vec<Nanos>,
    }

    impl Actor<VirtualNet> for Caller {
        fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
            if self.conn.is_none() {
                self.conn = Some(net.connect(&self.to.into()).unwrap());
            }
            for event in ready {
                match *event {
                    Ready::Connected(conn) => assert_eq!(net.write(conn, b"a").unwrap(), 1),
                    Ready::Readable(conn) => {
                        let ReadResult::Data(arrived) = net.read(conn, &mut [0; 9]) else {
                            panic!("readable without data")
                        };
                        self.arrivals.push(arrived.kernel.unwrap());
                        if self.arrivals.len() == 3 {
                            return Wake::Done;
                        }
                        net.write(conn, b"b").unwrap();
                    }
                    ref other => panic!("unexpected {other:?}"),
                }
            }
            Wake::WhenReady
        }
    }

    #[test]
    fn virtual_time_advances_only_while_all_hosts_wait() {
        let mut hosts = hosts(2);
        let (mut server, client) = (hosts.remove(1), hosts.remove(0));
        let to = server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut caller = Caller { to, conn: None, arrivals: Vec::new() };
        run(&mut [(&mut caller, client), (&mut Echo::default(), server)]);
        let seconds = |count: u64| Nanos(count * 1_000_000_000);
        assert_eq!(caller.arrivals, [seconds(1), seconds(2), seconds(3)]);
    }

    #[test]
    fn a_host_that_waits_for_a_processor_acts_later_but_its_timestamps_are_the_arrival_times() {
        let mut hosts = hosts(2);
        let (mut server, mut client) = (hosts.remove(1), hosts.remove(0));
        client.act_every(Duration::from_millis(1_500));
        let to = server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut caller = Caller { to, conn: None, arrivals: Vec::new() };
        run(&mut [(&mut caller, client), (&mut Echo::default(), server)]);
        // The client reads each answer half a second after its arrival, and then sends the next byte.
        let ms = |count: u64| Nanos(count * 1_000_000);
        assert_eq!(caller.arrivals, [ms(1_000), ms(2_500), ms(4_000)]);
    }
}
