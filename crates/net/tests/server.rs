//! The server over the virtual network: order, limits and timeouts, with exact instants.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::net::SocketAddr;
use std::time::Duration;

use inferometer_net::http::{
    Connection, Connections, Handler, Limits, Server, Timeouts, answer_waiting,
};
use inferometer_net::virtual_net::{VirtualNet, hosts, run};
use inferometer_net::{Actor, ConnId, Nanos, Net, ReadResult, Ready, Wake};
use inferometer_wire::http::Request;

/// Responds with the target of the request: immediately, after 100 ms (`/slow`), or held back for 50 ms
/// (`/held`).
struct Echo {
    limits: Limits,
    slow: Vec<(Nanos, ConnId)>,
}

impl Handler for Echo {
    type Response = ();

    fn limits(&self) -> Limits {
        self.limits
    }

    fn request<N: Net>(&mut self, net: &mut N, connection: &mut Connection<()>, request: &Request) {
        let now = net.now();
        match request.target.as_str() {
            "/slow" => {
                connection.response = Some(());
                self.slow.push((now + ms(100), connection.id()));
            }
            target => {
                if target == "/held" {
                    connection.output.hold_until(now + ms(50));
                }
                respond(connection, 200, target);
            }
        }
    }

    fn refuse(&mut self, connection: &mut Connection<()>, status: u16, _why: &str) {
        respond(connection, status, "refused");
    }

    fn turn<N: Net>(&mut self, net: &mut N, connections: &mut Connections<()>) -> Wake {
        while let Some(&(at, id)) = self.slow.first().filter(|(at, _)| *at <= net.now()) {
            self.slow.remove(0);
            assert!(at <= net.now());
            if let Some(connection) = connections.get_mut(id) {
                connection.response = None;
                respond(connection, 200, "/slow");
                answer_waiting(self, net, connections, id);
                assert_eq!(connections.flush(net, id), None);
            }
        }
        self.slow.first().map_or(Wake::WhenReady, |(at, _)| Wake::At(*at))
    }
}

fn respond(connection: &mut Connection<()>, status: u16, body: &str) {
    connection.respond(status, &[("content-length", &body.len().to_string())], body.as_bytes());
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Opens connections and sends texts at given times, in ms; records the received texts, with their times and
/// connections.
struct Client {
    to: SocketAddr,
    plan: Vec<(u64, usize, &'static str)>,
    connections: Vec<ConnId>,
    until: Nanos,
    events: Vec<(u64, usize, String)>,
}

impl Actor<VirtualNet> for Client {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        let now = net.now();
        while let Some(&(_, index, text)) =
            self.plan.first().filter(|(at, ..)| Nanos::ZERO + ms(*at) <= now)
        {
            self.plan.remove(0);
            if index == self.connections.len() {
                self.connections.push(net.connect(&self.to.into()).unwrap());
            }
            // The server may have closed the connection.
            let _ = net.write(self.connections[index], text.as_bytes());
        }
        for event in ready {
            let Ready::Readable(id) = *event else { continue };
            let index = self.connections.iter().position(|one| *one == id).unwrap();
            let mut buffer = [0; 4096];
            let text = match net.read(id, &mut buffer) {
                ReadResult::Data(arrived) => summary(&buffer[..arrived.bytes]),
                _ => {
                    net.close(id, inferometer_net::Close::Gracefully);
                    "closed".to_owned()
                }
            };
            let at = now.since(Nanos::ZERO).as_millis() as u64;
            self.events.push((at, index, text));
        }
        let next = self.plan.first().map(|(at, ..)| Nanos::ZERO + ms(*at));
        if now >= self.until {
            Wake::Done
        } else {
            next.into_iter().fold(Wake::At(self.until), Wake::or_at)
        }
    }
}

/// The statuses and bodies of responses, and ` closing` after a response with `connection: close`.
fn summary(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let responses = text.split("HTTP/1.1 ").skip(1);
    let each = responses.map(|one| {
        let body = one.split_once("\r\n\r\n").unwrap().1;
        let closes = if one.contains("connection: close") { " closing" } else { "" };
        format!("{} {body}{closes}", &one[..3])
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The events of a client that sends these texts: (time in ms, index of the connection, text).
fn received(limits: Limits, plan: &[(u64, usize, &'static str)]) -> Vec<(u64, usize, String)> {
    let mut hosts = hosts(2);
    let (mut server_net, client_net) = (hosts.remove(1), hosts.remove(0));
    let to = server_net.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut server = Server::new(Echo { limits, slow: Vec::new() });
    let until = Nanos::ZERO + ms(1_000);
    let (plan, connections, events) = (plan.to_vec(), Vec::new(), Vec::new());
    let mut client = Client { to, plan, connections, until, events };
    run(&mut [(&mut client, client_net), (&mut server, server_net)]);
    client.events
}

fn event(at: u64, index: usize, text: &str) -> (u64, usize, String) {
    (at, index, text.to_owned())
}

const A: &str = "GET /a HTTP/1.1\r\n\r\n";
const SLOW: &str = "GET /slow HTTP/1.1\r\n\r\n";

#[test]
fn requests_of_one_connection_are_answered_in_order() {
    let two = "GET /slow HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\nConnection: close\r\n\r\n";
    let events =
        received(Limits::default(), &[(0, 0, two), (10, 1, A), (20, 1, "nonsense\r\n\r\n")]);
    let expected = [
        event(10, 1, "200 /a"),
        event(20, 1, "400 refused closing"),
        event(20, 1, "closed"),
        event(100, 0, "200 /slow, 200 /a closing"),
        event(100, 0, "closed"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_held_response_is_sent_at_its_scheduled_time() {
    let events = received(Limits::default(), &[(7, 0, "GET /held HTTP/1.1\r\n\r\n")]);
    assert_eq!(events, [event(57, 0, "200 /held")]);
}

#[test]
fn a_client_that_exceeds_the_queue_of_pipelined_requests_is_disconnected() {
    let limits = Limits { queued_requests: 0, ..Limits::default() };
    let events = received(limits, &[(0, 0, SLOW), (10, 0, A)]);
    assert_eq!(events, [event(10, 0, "closed")]);
    let events = received(Limits { queued_requests: 1, ..limits }, &[(0, 0, SLOW), (10, 0, A)]);
    assert_eq!(events, [event(100, 0, "200 /slow, 200 /a")]);
}

#[test]
fn a_new_connection_replaces_the_longest_idle_one_if_all_slots_are_used() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let plan = [(0, 0, A), (1, 1, SLOW), (2, 2, SLOW), (3, 3, A)];
    let expected = [
        event(0, 0, "200 /a"),
        event(2, 0, "closed"),
        event(3, 3, "503 refused closing"),
        event(3, 3, "closed"),
        event(101, 1, "200 /slow"),
        event(102, 2, "200 /slow"),
    ];
    assert_eq!(received(limits, &plan), expected);
}

#[test]
fn a_silent_connection_is_closed_after_its_timeout() {
    let timeouts = Some(Timeouts { request: ms(30), idle: ms(200) });
    let limits = Limits { timeouts, ..Limits::default() };
    let half = "GET / HT";
    let plan = [(0, 0, half), (0, 1, SLOW), (10, 2, A), (50, 2, half)];
    let expected = [
        event(10, 2, "200 /a"),
        event(30, 0, "closed"),
        // The time limit for a request begins at the previous response, which was more than 30 ms ago.
        event(50, 2, "closed"),
        event(100, 1, "200 /slow"),
        event(300, 1, "closed"),
    ];
    assert_eq!(received(limits, &plan), expected);
}

#[test]
fn a_client_that_pipelines_and_never_reads_delays_nobody_and_loses_its_connection() {
    let limits = Limits {
        connections: 2,
        queued_requests: 0,
        answers_per_turn: 1,
        stalled_after: ms(250),
        ..Limits::default()
    };
    // The requests of one segment are answered in several turns, and all of them are answered.
    let many = received(
        limits,
        &[
            (0, 0, "GET /a HTTP/1.1\r\nhost: x\r\n\r\nGET /b HTTP/1.1\r\nhost: x\r\n\r\n"),
            (0, 1, "GET /c HTTP/1.1\r\nhost: x\r\n\r\n"),
        ],
    );
    let of = |index: usize| {
        let of = many.iter().filter(|(_, one, _)| *one == index);
        of.map(|(_, _, text)| text.as_str()).collect::<Vec<_>>().join(", ")
    };
    assert_eq!((of(0).as_str(), of(1).as_str()), ("200 /a, 200 /b", "200 /c"));
    // Nothing is written on held connections: they are like clients that do not read.
    let held = "GET /held HTTP/1.1\r\nhost: x\r\n\r\n";
    let plan = [(0, 0, held), (1, 1, held), (2, 2, "GET /c HTTP/1.1\r\nhost: x\r\n\r\n")];
    let stalled = Limits { stalled_after: ms(1), ..limits };
    let found = received(stalled, &plan);
    assert!(
        found.contains(&event(2, 0, "closed")) && found.contains(&event(2, 2, "200 /c")),
        "{found:?}"
    );
    let patient = received(Limits { stalled_after: ms(10), ..limits }, &plan);
    assert!(patient.contains(&event(2, 2, "503 refused closing")), "{patient:?}");
}

#[test]
fn a_request_with_two_host_fields_is_refused() {
    let twice = "GET /a HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n";
    for limits in [Limits::default(), Limits { answers_per_turn: 1, ..Limits::default() }] {
        assert_eq!(received(limits, &[(0, 0, twice)])[0], event(0, 0, "400 refused closing"));
    }
}
