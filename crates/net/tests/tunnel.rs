//! Tunnels of a proxy in virtual time: an actor that is written without tunnels, and a proxy that answers in
//! parts.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::net::SocketAddr;
use std::time::Duration;

use inferometer_net::http::proxy::{Proxy, Tunnelled};
use inferometer_net::virtual_net::{self, VirtualNet};
use inferometer_net::{Actor, Close, ConnId, Nanos, Net, ReadResult, Ready, Wake};

const PROXY: &str = "127.0.0.1:3128";
const SERVER: &str = "server.test:443";
const PART_EVERY: Duration = Duration::from_millis(7);

/// A proxy that accepts one connection, answers the request in parts, and sends later bytes back. After the
/// last part, it closes the connection if the name of the server begins with `closed`.
struct Answering {
    parts: Vec<&'static [u8]>,
    listening: bool,
    conn: Option<ConnId>,
    asked: Vec<u8>,
    next_at: Option<Nanos>,
}

impl Actor<VirtualNet> for Answering {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        if !self.listening {
            self.listening = true;
            net.listen(PROXY.parse().unwrap()).unwrap();
        }
        for event in ready {
            match *event {
                Ready::Accepted(conn) => self.conn = Some(conn),
                Ready::Readable(conn) => {
                    let mut buffer = [0; 1000];
                    let ReadResult::Data(arrived) = net.read(conn, &mut buffer) else { continue };
                    match self.asked.ends_with(b"\r\n\r\n") {
                        true => drop(net.write(conn, &buffer[..arrived.bytes]).unwrap()),
                        false => self.asked.extend_from_slice(&buffer[..arrived.bytes]),
                    }
                    if self.next_at.is_none() && self.asked.ends_with(b"\r\n\r\n") {
                        self.next_at = Some(net.now() + PART_EVERY);
                    }
                }
                _ => {}
            }
        }
        let (Some(at), Some(conn)) = (self.next_at, self.conn) else { return Wake::WhenReady };
        if net.now() < at {
            return Wake::At(at);
        }
        if self.parts.is_empty() {
            self.next_at = None;
            if self.asked.starts_with(b"CONNECT closed") {
                net.close(conn, Close::Gracefully);
            }
            return Wake::WhenReady;
        }
        net.write(conn, self.parts.remove(0)).unwrap();
        self.next_at = Some(at + PART_EVERY);
        Wake::At(at + PART_EVERY)
    }
}

/// Connects, and sends a word as soon as the connection is open.
#[derive(Default)]
struct Client {
    began: Option<Nanos>,
    /// How long it took to open the connection.
    opened: Option<Duration>,
    came: Vec<u8>,
    failed: Option<String>,
}

impl<N: Net> Actor<N> for Client {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        // The proxy already listens at this time.
        let start = Nanos(1_000_000);
        if net.now() < start {
            return Wake::At(start);
        }
        if self.began.is_none() {
            self.began = Some(net.now());
            net.connect(&PROXY.parse::<SocketAddr>().unwrap().into()).unwrap();
        }
        for event in ready {
            match *event {
                Ready::Connected(conn) => {
                    self.opened = self.began.map(|began| net.now().since(began));
                    net.write(conn, b"word").unwrap();
                }
                Ready::ConnectFailed(_, ref error) => {
                    self.failed = Some(error.to_string());
                    return Wake::Done;
                }
                Ready::Readable(conn) => {
                    let mut buffer = [0; 100];
                    let ReadResult::Data(arrived) = net.read(conn, &mut buffer) else { continue };
                    self.came.extend_from_slice(&buffer[..arrived.bytes]);
                    return Wake::Done;
                }
                _ => {}
            }
        }
        Wake::WhenReady
    }
}

/// Connects to a server through a proxy that answers with these parts. Returns the client, and the request
/// that the proxy received.
fn through(named: &str, server: &str, parts: &[&'static [u8]]) -> (Client, String) {
    let proxy = Proxy::parse(named, "HTTPS_PROXY").unwrap();
    let mut client = Tunnelled::new(Client::default(), &proxy, server);
    let (asked, conn, next_at) = (Vec::new(), None, None);
    let mut answering = Answering { parts: parts.to_vec(), listening: false, conn, asked, next_at };
    let mut hosts = virtual_net::hosts(2).into_iter();
    let (client_net, proxy_net) = (hosts.next().unwrap(), hosts.next().unwrap());
    virtual_net::run(&mut [(&mut client, client_net), (&mut answering, proxy_net)]);
    (client.into_inner(), String::from_utf8(answering.asked).unwrap())
}

#[test]
fn a_tunnel_is_open_once_the_complete_response_to_connect_arrived_however_it_is_split() {
    for parts in [
        &[&b"HTTP/1.1 200 Connection established\r\n\r\n"[..]][..],
        &[b"HTTP/1.0 200 OK\r\nvia: x\r\n", b"\r", b"\n"],
        &[b"H", b"TTP/1.1 200", b" \r\n\r", b"\n"],
    ] {
        let (client, asked) = through("http://u:p@proxy.test:3128", SERVER, parts);
        assert_eq!((client.failed, client.came), (None, b"word".to_vec()));
        assert_eq!(client.opened, Some(PART_EVERY * parts.len() as u32));
        assert!(asked.starts_with("CONNECT server.test:443 HTTP/1.1\r\n"), "{asked}");
        assert!(asked.to_lowercase().contains("\r\nhost: server.test:443\r\n"), "{asked}");
        assert!(asked.contains("proxy-authorization: Basic dTpw\r\n"), "{asked}");
        assert!(asked.ends_with("\r\n\r\n") && !asked.contains("word"), "{asked}");
    }
}

#[test]
fn a_connection_through_a_proxy_that_opens_no_tunnel_fails_with_the_reason() {
    for (server, parts, why) in [
        (SERVER, &[&b"HTTP/1.1 403 No\r\n\r\n"[..]][..], "answered 403 to CONNECT server.test:443"),
        (SERVER, &[b"HTTP/1.1 407 Who?\r\n\r\n"], "it requires a user name and a password"),
        (SERVER, &[b"SSH-2.0-x\r\n\r\n"], "to CONNECT is not HTTP"),
        (SERVER, &[b"HTTP/1.1 200 OK\r\n\r\nsurprise"], "sent data before"),
        (SERVER, &[&[b'x'; 16 << 10]], "to CONNECT is not HTTP"),
        ("closed.test:1", &[b"HTTP/1.1 200"], "closed the connection"),
    ] {
        let (client, _) = through("proxy.test:3128", server, parts);
        let failed = client.failed.unwrap();
        assert!(failed.contains(why) && failed.contains("http://proxy.test:3128"), "{failed}");
        assert_eq!((client.opened, client.came.len()), (None, 0));
    }
}
