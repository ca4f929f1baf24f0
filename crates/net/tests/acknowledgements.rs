//! Acknowledgements of data from servers without `TCP_NODELAY`, over real sockets.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use inferometer_net::{Actor, Close, ConnId, EpollNet, Net, ReadResult, Ready, Wake};

/// The minimum delay of a delayed acknowledgement in Linux.
const DELAY: Duration = Duration::from_millis(40);
const REQUESTS: usize = 12;
/// How many answers to skip: at the beginning of a connection, the kernel always acknowledges immediately.
const SETTLED: usize = 4;

/// Sends requests one after the other on one connection. A server with Nagle's algorithm answers each request
/// with two small segments. It sends the second segment only when the first is acknowledged.
struct Client {
    server: TcpListener,
    accepted: Option<TcpStream>,
    conn: ConnId,
    answered: usize,
    received: usize,
    /// The shortest time from the first to the second segment of an answer.
    shortest: Duration,
    first_at: inferometer_model::time::Nanos,
}

impl Client {
    fn request(&mut self, net: &mut EpollNet) {
        assert_eq!(net.write(self.conn, b"?").unwrap(), 1);
        let server = self.accepted.as_mut().expect("connected");
        server.read_exact(&mut [0]).unwrap();
        server.write_all(b"1").unwrap();
        server.write_all(b"2").unwrap();
    }

    fn receive(&mut self, net: &mut EpollNet) {
        while let ReadResult::Data(arrived) = net.read(self.conn, &mut [0; 16]) {
            let at = arrived.kernel.unwrap_or(arrived.user);
            let both = arrived.bytes == 2;
            if self.received == 0 {
                self.first_at = if both { at } else { arrived.user };
            }
            if (both || self.received == 1) && self.answered >= SETTLED {
                self.shortest = self.shortest.min(at.since(self.first_at));
            }
            self.received += arrived.bytes;
        }
    }
}

impl Actor<EpollNet> for Client {
    fn turn(&mut self, net: &mut EpollNet, ready: &[Ready]) -> Wake {
        for event in ready {
            match event {
                Ready::Connected(_) => {
                    self.accepted = Some(self.server.accept().unwrap().0);
                    self.request(net);
                }
                Ready::Readable(_) => self.receive(net),
                _ => {}
            }
        }
        if self.received == 2 {
            self.received = 0;
            self.answered += 1;
            if self.answered == REQUESTS {
                net.close(self.conn, Close::Gracefully);
                return Wake::Done;
            }
            self.request(net);
        }
        Wake::WhenReady
    }
}

#[test]
fn a_server_with_nagle_does_not_wait_for_delayed_acks_on_a_reused_connection() {
    let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut net = EpollNet::new().unwrap();
    let conn = net.connect(&server.local_addr().unwrap().into()).unwrap();
    let first_at = net.now();
    let mut client = Client {
        server,
        accepted: None,
        conn,
        answered: 0,
        received: 0,
        shortest: Duration::MAX,
        first_at,
    };
    net.run(&mut client).unwrap();
    // Checks the shortest time of several requests, so that a busy machine does not matter.
    let shortest = client.shortest;
    assert!(shortest < DELAY * 3 / 4, "the second segment came {shortest:?} after the first");
}
