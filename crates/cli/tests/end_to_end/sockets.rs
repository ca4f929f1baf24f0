//! Real sockets with an actor: unread data is reported again, and incomplete writes can be continued.

use std::net::SocketAddr;

use inferometer_net::{Actor, Close, ConnId, EpollNet, Net, ReadResult, Ready, Wake};

const BYTES: usize = 8 << 20;

/// Connects to itself. The accepting side sends `left` bytes and closes the connection. The other side reads once per
/// notification, and at most as many bytes as its buffer can contain.
struct Sipper {
    to: SocketAddr,
    begun: bool,
    left: usize,
    got: usize,
    longest: usize,
    buffer: Vec<u8>,
    ended: bool,
}

impl Sipper {
    fn send(&mut self, net: &mut EpollNet, conn: ConnId) {
        let taken = net.write(conn, &vec![7; self.left]).expect("the other side reads");
        self.left -= taken;
        if self.left == 0 {
            net.close(conn, Close::Gracefully);
        }
    }

    fn read(&mut self, net: &mut EpollNet, conn: ConnId) {
        match net.read(conn, &mut self.buffer) {
            ReadResult::Data(arrived) => {
                self.got += arrived.bytes;
                self.longest = self.longest.max(arrived.bytes);
            }
            ReadResult::Empty => {}
            ReadResult::Closed => self.ended = true,
            ReadResult::Failed(error) => panic!("{error}"),
        }
    }
}

impl Actor<EpollNet> for Sipper {
    fn turn(&mut self, net: &mut EpollNet, ready: &[Ready]) -> Wake {
        if !std::mem::replace(&mut self.begun, true) {
            net.connect(&self.to.into()).expect("the system connects");
        }
        for event in ready {
            match *event {
                Ready::Accepted(conn) | Ready::Writable(conn) => self.send(net, conn),
                Ready::Readable(conn) => self.read(net, conn),
                Ready::Connected(_) => {}
                Ready::ConnectFailed(_, ref error) => panic!("{error}"),
            }
        }
        if self.ended { Wake::Done } else { Wake::WhenReady }
    }
}

#[test]
fn epoll_reports_every_byte_and_the_end_for_any_size_of_the_read_buffer() {
    for (bytes, room) in [(BYTES, 1 << 14), (BYTES, 2 * BYTES), (1_000, 1_000), (1_000, 999)] {
        let mut net = EpollNet::new().expect("sockets");
        let to = net.listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        let buffer = vec![0; room];
        let (begun, ended, got, longest) = (false, false, 0, 0);
        let mut sipper = Sipper { to, begun, left: bytes, got, longest, buffer, ended };
        net.run(&mut sipper).expect("the sockets work");
        assert_eq!((sipper.got, sipper.left), (bytes, 0), "with a buffer of {room} bytes");
        assert!(sipper.longest <= room);
    }
}
