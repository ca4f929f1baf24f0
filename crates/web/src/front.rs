//! The server as an actor: takes requests in, lets its pages answer, and sends what happens in a
//! run in progress as it happens. It reads no file and makes no page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inferometer_model::time::Nanos;
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_wire::http::{HttpError, Request};

use crate::access::{Access, Decision};
use crate::answer::{Answer, Content, LiveEvent};
use crate::asked::Asked;
use crate::connection::{Connection, PERIOD};
use crate::site::token_wanted;

/// The most connections that are open at one time; further ones are turned away.
const MOST_CONNECTIONS: usize = 128;

/// What a connection's bytes have come to.
type Parsed = Result<Option<Request>, HttpError>;

/// What answers those who ask: pages, without their connections.
pub trait Pages {
    /// The answer to a question.
    fn answer(&mut self, asked: &Asked) -> Answer;

    /// Says with a status of HTTP why there is no other answer.
    fn refusal(&self, status: u16, why: &str) -> Answer;

    /// What there is to say now about a run of which an answer has promised events.
    fn live_event(&mut self, run: &str) -> LiveEvent;
}

/// The server, over a network on which it was made to listen.
pub struct Front<P> {
    pages: P,
    access: Access,
    stop: Arc<AtomicBool>,
    connections: BTreeMap<ConnId, Connection>,
    buffer: Vec<u8>,
}

impl<P: Pages> Front<P> {
    /// A server of pages. It ends in its next turn after `stop` was set.
    #[must_use]
    pub fn new(pages: P, access: Access, stop: Arc<AtomicBool>) -> Self {
        Self { pages, access, stop, connections: BTreeMap::new(), buffer: vec![0; 16 << 10] }
    }

    fn accept(&mut self, net: &mut impl Net, id: ConnId) {
        let mut connection = Connection::new(net.now());
        if self.connections.len() >= MOST_CONNECTIONS {
            self.free_one(net);
        }
        if self.connections.len() >= MOST_CONNECTIONS {
            let why = "too many connections are open; close some or wait";
            let busy = self.pages.refusal(503, why);
            whole(&mut connection, &busy, false);
            connection.flush(net, id);
            return net.close(id, Close::Gracefully);
        }
        self.connections.insert(id, connection);
    }

    /// Closes the connection that has had nothing to do for the longest time, if there is one.
    fn free_one(&mut self, net: &mut impl Net) {
        let idle = self.connections.iter().filter(|(_, connection)| connection.is_idle());
        let longest = idle.min_by_key(|(_, connection)| connection.busy_at());
        if let Some(id) = longest.map(|(id, _)| *id) {
            self.connections.remove(&id);
            net.close(id, Close::Gracefully);
        }
    }

    fn read(&mut self, net: &mut impl Net, id: ConnId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let bytes = match net.read(id, &mut self.buffer) {
            ReadResult::Data(arrived) => arrived.bytes,
            ReadResult::Empty => return,
            ReadResult::Closed | ReadResult::Failed(_) => 0,
        };
        // No reader has a question while an answer is under way, and what is not taken would pile
        // up.
        if bytes == 0 || !connection.is_listening() {
            self.connections.remove(&id);
            return net.close(id, Close::Gracefully);
        }
        let first = connection.parser.push(&self.buffer[..bytes]);
        self.take(net, id, first);
    }

    /// Answers the requests that have come, one after another.
    fn take(&mut self, net: &mut impl Net, id: ConnId, first: Parsed) {
        let mut next = first;
        loop {
            match next {
                Ok(Some(request)) => self.answer(net.now(), id, &request),
                Ok(None) => break,
                Err(error) => {
                    self.refuse(id, &error);
                    break;
                }
            }
            let Some(connection) = self.connections.get_mut(&id) else { return };
            if !connection.is_listening() {
                break;
            }
            next = connection.parser.push(&[]);
        }
        self.flush(net, id);
    }

    /// Writes on; then requests may be taken that had to wait.
    fn write_on(&mut self, net: &mut impl Net, id: ConnId) {
        self.flush(net, id);
        let listening = self.connections.get_mut(&id).filter(|c| c.is_listening());
        if let Some(connection) = listening {
            let next = connection.parser.push(&[]);
            self.take(net, id, next);
        }
    }

    fn refuse(&mut self, id: ConnId, error: &HttpError) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let status = match error {
            HttpError::HeadTooLong { .. } => 431,
            HttpError::BodyTooLong { .. } => 413,
            _ => 400,
        };
        connection.keep_alive = false;
        whole(connection, &self.pages.refusal(status, &error.to_string()), false);
    }

    fn answer(&mut self, now: Nanos, id: ConnId, request: &Request) {
        let asked = Asked::of(&request.target);
        let answer = match (request.method.as_str(), self.access.decide(request, &asked)) {
            (_, Decision::WrongHost) => {
                let what = "this is for readers on this machine: open it as 127.0.0.1 or localhost";
                self.pages.refusal(421, what)
            }
            (_, Decision::NoToken) => token_wanted(),
            ("GET" | "HEAD", Decision::Remembered { link, cookie }) => {
                Answer::see(link).with("set-cookie", cookie)
            }
            ("GET" | "HEAD", Decision::Allowed) => self.pages.answer(&asked),
            (method, _) => {
                let why = format!("{method} is not understood: what is here is read only");
                self.pages.refusal(405, &why).with("allow", "GET, HEAD".to_owned())
            }
        };
        let head_only = request.method == "HEAD";
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.is_busy(now);
        connection.keep_alive = request.keep_alive;
        match &answer.content {
            Content::Whole(_) => whole(connection, &answer, head_only),
            Content::Events { run } => connection.events(&answer, run, now, head_only),
        }
    }

    /// Sends the events that are due.
    fn tell(&mut self, net: &mut impl Net) {
        let now = net.now();
        let is_due = |connection: &Connection| {
            connection.stream.as_ref().is_some_and(|stream| stream.due <= now)
        };
        let due = self.connections.iter().filter(|(_, connection)| is_due(connection));
        let due: Vec<ConnId> = due.map(|(id, _)| *id).collect();
        let mut made: BTreeMap<String, LiveEvent> = BTreeMap::new();
        for id in due {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            let Some(stream) = &mut connection.stream else { continue };
            stream.due = now + PERIOD;
            let pages = &mut self.pages;
            let event =
                made.entry(stream.run.clone()).or_insert_with_key(|run| pages.live_event(run));
            connection.event(&in_frame(event));
            if event.is_last {
                connection.end_stream();
            }
            self.flush(net, id);
        }
    }

    /// Closes what has been silent for too long.
    fn tidy(&mut self, net: &mut impl Net) {
        let now = net.now();
        self.connections.retain(|id, connection| {
            let stays = connection.silent_from().is_none_or(|from| from > now);
            if !stays {
                net.close(*id, Close::Gracefully);
            }
            stays
        });
    }

    fn flush(&mut self, net: &mut impl Net, id: ConnId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if !connection.flush(net, id) {
            self.connections.remove(&id);
        }
    }
}

fn whole(connection: &mut Connection, answer: &Answer, head_only: bool) {
    if let Content::Whole(content) = &answer.content {
        connection.whole(answer, content, head_only);
    }
}

/// A server-sent event: its data is one line of JSON, as markup may have several.
fn in_frame(event: &LiveEvent) -> Vec<u8> {
    let data = serde_json::json!({ "markup": event.markup, "last": event.is_last });
    format!("data: {data}\n\n").into_bytes()
}

impl<N: Net, P: Pages> Actor<N> for Front<P> {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        for ready in ready {
            match ready {
                Ready::Accepted(id) => self.accept(net, *id),
                Ready::Readable(id) => self.read(net, *id),
                Ready::Writable(id) => self.write_on(net, *id),
                // This side never connects.
                Ready::Connected(_) | Ready::ConnectFailed(..) => {}
            }
        }
        if self.stop.load(Ordering::Relaxed) {
            return Wake::Done;
        }
        self.tell(net);
        self.tidy(net);
        let streams = self.connections.values().filter_map(|c| Some(c.stream.as_ref()?.due));
        let silences = self.connections.values().filter_map(Connection::silent_from);
        streams.chain(silences).fold(Wake::WhenReady, Wake::or_at)
    }
}
