//! Tests of the HTTP server of the dashboard over a virtual network: the bytes of its responses.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use inferometer_net::http::Server;
use inferometer_net::http::pages::{PageHandler, ReaderAccess};
use inferometer_net::virtual_net::{VirtualNet, hosts, run};
use inferometer_net::{Actor, ConnId, Nanos, Net, ReadResult, Ready, Wake};
use inferometer_store::Ending;
use inferometer_web::Site;

use crate::made::{Made, streamed};

/// A client that sends one text, and reads until the connection is closed or the instant `until` is
/// reached.
struct Reader {
    to: SocketAddr,
    text: String,
    conn: Option<ConnId>,
    until: Nanos,
    came: Vec<u8>,
}

impl Actor<VirtualNet> for Reader {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        if self.conn.is_none() {
            self.conn = Some(net.connect(&self.to.into()).unwrap());
        }
        for event in ready {
            match *event {
                Ready::Connected(conn) => drop(net.write(conn, self.text.as_bytes()).unwrap()),
                Ready::Readable(conn) => {
                    let mut buffer = [0; 65536];
                    match net.read(conn, &mut buffer) {
                        ReadResult::Data(arrived) => {
                            self.came.extend_from_slice(&buffer[..arrived.bytes]);
                        }
                        _ => return Wake::Done,
                    }
                }
                _ => {}
            }
        }
        if net.now() >= self.until { Wake::Done } else { Wake::At(self.until) }
    }
}

fn serve(made: &Made, access: ReaderAccess) -> Server<PageHandler<Site>> {
    Server::new(PageHandler::new(made.site(), access, Arc::new(AtomicBool::new(false))))
}

/// The bytes that the server sends in response to `text` within this many seconds.
fn response(made: &Made, access: ReaderAccess, text: &str, seconds: u64) -> String {
    let mut hosts = hosts(2);
    let (mut server, client) = (hosts.remove(1), hosts.remove(0));
    let to = server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut front = serve(made, access);
    let until = Nanos(seconds * 1_000_000_000);
    let mut reader = Reader { to, text: text.to_owned(), conn: None, until, came: Vec::new() };
    run(&mut [(&mut reader, client), (&mut front, server)]);
    String::from_utf8_lossy(&reader.came).into_owned()
}

fn request(line: &str, more: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:7878\r\n{more}\r\n")
}

#[test]
fn each_kind_of_request_gets_its_status_code_and_the_security_headers() {
    let mut made = Made::new();
    made.complete(0, 1, "chatglm3-6b", 1.0);
    let long = format!("X: {}\r\n", "x".repeat(20_000));
    for (text, status, part) in [
        (request("GET /", ""), 200, "chatglm3-6b"),
        (request("HEAD /", ""), 200, "content-length"),
        (request("GET /style.css", ""), 200, "text/css"),
        (request("GET /none", ""), 404, "no such page"),
        (request("POST /", "Content-Length: 2\r\n") + "{}", 405, "allow: GET, HEAD"),
        (request("DELETE /", ""), 405, "read-only"),
        (request("POST /", "Content-Length: 5000000\r\n"), 413, "more than 4096 bytes"),
        (request("GET /", &long), 431, "more than 16384 bytes"),
        ("nonsense\r\n\r\n".to_owned(), 400, "not an HTTP/1.1 head"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), 421, "127.0.0.1"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 421, "localhost"),
    ] {
        let answer = response(&made, ReaderAccess::Loopback, &text, 1);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{text}: {answer}");
        assert!(answer.contains(part), "{text}: {answer}");
        for guard in ["content-security-policy: default-src 'none'", "nosniff", "no-referrer"] {
            assert!(answer.contains(guard), "{answer}");
        }
    }
    let head = response(&made, ReaderAccess::Loopback, &request("HEAD /", ""), 1);
    assert!(head.ends_with("\r\n\r\n"), "an answer to HEAD has no content");
    let two = request("GET /metrics", "") + &request("GET /none", "Connection: close\r\n");
    let answer = response(&made, ReaderAccess::Loopback, &two, 1);
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 2);
    assert!(answer.contains("connection: close"));
}

#[test]
fn the_dashboard_reveals_nothing_without_its_token() {
    let mut made = Made::new();
    made.complete(0, 1, "chatglm3-6b", 1.0);
    let access = || ReaderAccess::Token("0123456789abcdef".to_owned());
    for line in ["GET /", "GET /style.css", "GET /runs/latest/summary.json", "POST /"] {
        let answer = response(&made, access(), &request(line, ""), 1);
        assert!(answer.starts_with("HTTP/1.1 401 ") && !answer.contains("chatglm3"), "{answer}");
        assert!(answer.contains("style-src 'unsafe-inline'") && answer.contains("<style>"));
    }
    let answer = response(&made, access(), &request("GET /?token=0123456789abcdef&q=x", ""), 1);
    assert!(answer.starts_with("HTTP/1.1 303 ") && answer.contains("location: /?q=x\r\n"));
    assert!(answer.contains("set-cookie: inferometer-token=0123456789abcdef; "));
    let cookie = "Cookie: inferometer-token=0123456789abcdef\r\n";
    let answer = response(&made, access(), &request("GET /", cookie), 1);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("chatglm3-6b"));
}

#[test]
fn events_come_every_second_until_the_run_is_over() {
    let mut made = Made::new();
    let id = made.begin(0, 1, "chatglm3-6b", false);
    let mut log = made.log(&id);
    log.append(&streamed(0, 1.0)).unwrap();
    log.flush().unwrap();
    let text = request(&format!("GET /runs/{id}/events"), "Connection: close\r\n");
    let answer = response(&made, ReaderAccess::Loopback, &text, 3);
    assert!(answer.contains("content-type: text/event-stream"));
    let events = answer.matches("data: {\"markup\":").count();
    assert_eq!(events, 3, "at 0, 1 and 2 seconds; the client stops at 3 seconds");
    assert!(!answer.contains("\"last\":true"));
    log.end_pass(Ending::Complete, None).unwrap();
    log.finish(Ending::Complete).unwrap();
    let answer = response(&made, ReaderAccess::Loopback, &text, 3);
    assert_eq!(answer.matches("data: {\"markup\":").count(), 1);
    assert!(answer.contains("\"last\":true") && answer.ends_with("0\r\n\r\n"));
}

#[test]
fn a_connection_with_an_incomplete_request_is_closed_after_10_seconds() {
    let made = Made::new();
    let answer = response(&made, ReaderAccess::Loopback, "GET / HT", 90);
    assert_eq!(answer, "");
    // The server closes the connection after 10 s, before the client's own limit of 90 s.
    let mut hosts = hosts(2);
    let (mut server, mut client) = (hosts.remove(1), hosts.remove(0));
    let to = server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut front = serve(&made, ReaderAccess::Loopback);
    let until = Nanos(90_000_000_000);
    let conn = Some(client.connect(&to.into()).unwrap());
    let mut reader = Reader { to, text: "GET / HT".to_owned(), conn, until, came: Vec::new() };
    let clock = server.clone();
    run(&mut [(&mut reader, client), (&mut front, server)]);
    assert_eq!(clock.now(), Nanos(10_000_000_000));
}
