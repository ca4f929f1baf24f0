//! Sends any bytes to the embedded engine. The engine must not panic, and its answers must be HTTP. Time is virtual.
//! The client closes the connection when the engine has closed it, or after 0.1 s.

use std::net::SocketAddr;
use std::sync::Arc;

use inferometer_engine::serve::{Front, FrontConfig};
use inferometer_engine::{Engine, EngineConfig};
use inferometer_model::time::Nanos;
use inferometer_net::http::Server;
use inferometer_net::virtual_net::{VirtualNet, hosts, run};
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_wire::http::ResponseParser;

use super::words::Words;

const LEAVES_AT: Nanos = Nanos(100_000_000);

pub fn check(bytes: &[u8]) {
    let config = EngineConfig::of_model("chatglm3-6b").expect("a known model");
    let engine = Engine::new(config).expect("the defaults run");
    let front = Front::new(engine, FrontConfig::new("chatglm3-6b"), Arc::new(Words::new()));
    let mut server = Server::new(front.expect("a front"));
    let mut hosts = hosts(2);
    let (mut listening, calling) = (hosts.remove(1), hosts.remove(0));
    let to = listening.listen("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let mut client = Client { to, conn: None, sends: bytes, parser: ResponseParser::new() };
    run(&mut [(&mut client, calling), (&mut server, listening)]);
}

/// Sends the bytes, and reads the answers.
struct Client<'a> {
    to: SocketAddr,
    conn: Option<ConnId>,
    sends: &'a [u8],
    parser: ResponseParser,
}

impl Client<'_> {
    fn hear(&mut self, mut bytes: &[u8]) {
        // The bytes are parsed one by one, so that the parser stops at the end of each response.
        while let Some((byte, rest)) = bytes.split_first() {
            let heard = self.parser.push(std::slice::from_ref(byte), &mut |_| ());
            heard.expect("an engine answers with HTTP");
            if self.parser.is_done() {
                self.parser = ResponseParser::new();
            }
            bytes = rest;
        }
    }
}

impl Actor<VirtualNet> for Client<'_> {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        let conn = *self.conn.get_or_insert_with(|| {
            let conn = net.connect(&self.to.into()).expect("the engine listens");
            net.write(conn, self.sends).expect("the engine reads");
            conn
        });
        let mut buffer = vec![0; 1 << 16];
        for _ in ready.iter().filter(|ready| matches!(ready, Ready::Readable(_))) {
            match net.read(conn, &mut buffer) {
                ReadResult::Data(arrived) => self.hear(&buffer[..arrived.bytes]),
                ReadResult::Empty => {}
                ReadResult::Closed | ReadResult::Failed(_) => {
                    net.close(conn, Close::Gracefully);
                    return Wake::Done;
                }
            }
        }
        if net.now() < LEAVES_AT {
            return Wake::At(LEAVES_AT);
        }
        net.close(conn, Close::Gracefully);
        Wake::Done
    }
}
