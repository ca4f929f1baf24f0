//! Unix sockets: an actor against a server in another thread.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::run_delay::RunDelay;
use crate::{
    Actor, Address, Arrived, Close, ConnId, EpollNet, Nanos, Net, ReadResult, Ready, Wake, sys,
};

/// Opens connections, sends a word on each, and reads it back.
struct Client {
    to: Address,
    begun: bool,
    /// How many connections it opens.
    wanted: usize,
    opened: Vec<ConnId>,
    came: Vec<Arrived>,
    failed: Vec<ErrorKind>,
    /// Where the client sends a message after it has begun to open all connections.
    all_begun: Option<std::sync::mpsc::Sender<()>>,
}

impl Client {
    fn of(path: &Path, wanted: usize) -> Self {
        let (opened, came, failed) = (Vec::new(), Vec::new(), Vec::new());
        let to = Address::Unix(path.into());
        Self { to, begun: false, wanted, opened, came, failed, all_begun: None }
    }
}

impl<N: Net> Actor<N> for Client {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        if !self.begun {
            self.begun = true;
            for _ in 0..self.wanted {
                if let Err(error) = net.connect(&self.to) {
                    self.failed.push(error.kind());
                }
            }
            self.all_begun.take().into_iter().for_each(|tell| tell.send(()).unwrap());
        }
        for event in ready {
            match *event {
                Ready::Connected(conn) => {
                    self.opened.push(conn);
                    assert_eq!(net.write(conn, b"word").unwrap(), 4);
                }
                Ready::ConnectFailed(_, ref error) => self.failed.push(error.kind()),
                Ready::Readable(conn) => match net.read(conn, &mut [0; 64]) {
                    ReadResult::Data(arrived) => {
                        self.came.push(arrived);
                        net.close(conn, Close::Gracefully);
                    }
                    ReadResult::Empty => {}
                    other => panic!("{other:?}"),
                },
                Ready::Writable(_) | Ready::Accepted(_) => {}
            }
        }
        if self.came.len() + self.failed.len() < self.wanted { Wake::WhenReady } else { Wake::Done }
    }
}

/// A server that sends one word back on each of `connections` connections, `after` this time. It accepts the first
/// connection after a message on `begin`.
fn echo(
    path: &Path,
    connections: usize,
    after: Duration,
    begin: Receiver<()>,
) -> thread::JoinHandle<()> {
    let listener = UnixListener::bind(path).unwrap();
    sys::set_backlog(&listener, 4).unwrap();
    thread::spawn(move || {
        begin.recv().unwrap();
        for stream in listener.incoming().take(connections) {
            let mut stream = stream.unwrap();
            let mut word = [0; 4];
            stream.read_exact(&mut word).unwrap();
            // Nobody sends on this channel, so the wait ends after its time.
            let (_keep, never) = channel::<()>();
            let _ = never.recv_timeout(after);
            stream.write_all(&word).unwrap();
        }
    })
}

#[test]
fn data_from_a_unix_socket_has_an_arrival_interval_and_no_kernel_timestamp() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let (tell, begin) = channel();
    let server = echo(&path, 1, Duration::ZERO, begin);
    let mut client = Client::of(&path, 1);
    client.all_begun = Some(tell);
    EpollNet::new().unwrap().run(&mut client).unwrap();
    server.join().unwrap();
    let [arrived] = client.came[..] else { panic!("{:?}", client.failed) };
    // The kernel has no stamps for Unix sockets: the bytes arrived between two readings of the clock.
    assert_eq!((arrived.bytes, arrived.kernel), (4, None));
    assert!(Nanos::ZERO < arrived.empty_before && arrived.empty_before <= arrived.user);
}

#[test]
fn the_arrival_interval_of_data_that_end_a_sleep_begins_shortly_before_the_wake_up() {
    if RunDelay::of_this_thread().since_last().is_none() {
        // Without the kernel's account, the interval begins before the sleep.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // A busy machine may preempt the client, which widens the interval: one narrow interval is enough.
    let is_narrow = (0..50).any(|round| {
        let path = folder.path().join(format!("{round}.sock"));
        let (tell, begin) = channel();
        let server = echo(&path, 1, Duration::from_millis(10), begin);
        let mut client = Client::of(&path, 1);
        client.all_begun = Some(tell);
        EpollNet::new().unwrap().run(&mut client).unwrap();
        server.join().unwrap();
        let [arrived] = client.came[..] else { panic!("{:?}", client.failed) };
        arrived.user.since(arrived.empty_before) < Duration::from_millis(1)
    });
    assert!(is_narrow);
}

#[test]
fn connections_that_exceed_the_accept_queue_are_opened_once_the_server_has_room() {
    let wanted = 40;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let (tell, begin) = channel();
    let server = echo(&path, wanted, Duration::ZERO, begin);
    let mut client = Client::of(&path, wanted);
    client.all_begun = Some(tell);
    EpollNet::new().unwrap().run(&mut client).unwrap();
    server.join().unwrap();
    assert_eq!((client.came.len(), client.failed.len()), (wanted, 0));
}

#[test]
fn a_socket_without_listener_and_an_invalid_path_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone.sock");
    drop(UnixListener::bind(&gone).unwrap());
    let long = folder.path().join("x".repeat(120));
    for (path, why) in [
        (gone, ErrorKind::ConnectionRefused),
        (folder.path().join("absent.sock"), ErrorKind::NotFound),
        (long, ErrorKind::InvalidInput),
    ] {
        let mut client = Client::of(&path, 1);
        EpollNet::new().unwrap().run(&mut client).unwrap();
        assert_eq!(client.failed, [why], "{}", path.display());
    }
}
