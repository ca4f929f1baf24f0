//! The handler of read-only pages: it checks who may read, requests the response from the pages, and sends
//! their events. It generates no page itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use inferometer_model::Nanos;
use inferometer_wire::http::Request;

use super::access::{Decision, ReaderAccess};
use super::response::{Body, Event, Response};
use super::target::RequestTarget;
use crate::http::connection::Connection;
use crate::http::connections::Connections;
use crate::http::limits::{Limits, Timeouts};
use crate::http::server::Handler;
use crate::{ConnId, Net, Wake};

/// Limits for readers that are not trusted.
const LIMITS: Limits = Limits {
    head_bytes: 16 << 10,
    body_bytes: 4 << 10,
    connections: 128,
    // Readers send no request while a response is in progress.
    queued_requests: 0,
    unsent_bytes: 64 << 10,
    answers_per_turn: 4,
    stalled_after: Duration::from_millis(250),
    timeouts: Some(Timeouts { request: Duration::from_secs(10), idle: Duration::from_secs(60) }),
};

/// The time between two events of a stream.
const EVENT_PERIOD: Duration = Duration::from_secs(1);

/// Header fields that restrict browsers. Every response has them; a field of the response itself replaces the
/// field of the same name. A browser then loads nothing from other sites, runs only our scripts, and does not
/// show the page inside another page. It does not tell other sites which page was read, and asks the server
/// before it uses a stored page.
const BROWSER_POLICY: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-cache"),
];

/// The pages of a site, as functions of the request target.
pub trait Pages {
    /// The response to a GET of a target.
    fn page(&mut self, target: &RequestTarget) -> Response;

    /// A response with this status and a reason. Status 401 means that the reader must send the token.
    fn refusal(&self, status: u16, why: &str) -> Response;

    /// The next event of a stream with this topic ([`Body::Events`]). The default implementation returns an
    /// event that ends the stream.
    fn event(&mut self, _topic: &str) -> Event {
        Event { data: String::new(), is_last: true }
    }
}

/// An event stream in progress.
#[derive(Debug)]
pub struct EventStream {
    topic: String,
    /// When the next event is due.
    due: Nanos,
}

/// Serves pages to the clients that may read them.
pub struct PageHandler<P> {
    pages: P,
    access: ReaderAccess,
    stop: Arc<AtomicBool>,
}

impl<P: Pages> PageHandler<P> {
    /// Creates the handler. The server ends in its first turn after `stop` was set.
    pub fn new(pages: P, access: ReaderAccess, stop: Arc<AtomicBool>) -> Self {
        Self { pages, access, stop }
    }

    fn response(&mut self, request: &Request) -> Response {
        let target = RequestTarget::parse(&request.target);
        match (request.method.as_str(), self.access.decide(request, &target)) {
            (_, Decision::WrongHost) => {
                let why = "this page is for readers on this machine: open it as 127.0.0.1 or \
                    localhost";
                self.pages.refusal(421, why)
            }
            (_, Decision::NoToken) => self.pages.refusal(401, "the token is missing or wrong"),
            ("GET" | "HEAD", Decision::SetCookie { link, cookie }) => {
                Response::redirect(link).with_header("set-cookie", cookie)
            }
            ("GET" | "HEAD", Decision::Allowed) => self.pages.page(&target),
            (method, _) => {
                let why = format!("{method} is not supported: these pages are read-only");
                self.pages.refusal(405, &why).with_header("allow", "GET, HEAD".to_owned())
            }
        }
    }

    /// Sends the events that are due. An event about one topic is generated once for all its readers.
    fn send_due_events(&mut self, net: &mut impl Net, connections: &mut Connections<EventStream>) {
        let now = net.now();
        let is_due = |one: &&Connection<EventStream>| {
            one.response.as_ref().is_some_and(|stream| stream.due <= now)
        };
        let due: Vec<ConnId> = connections.iter().filter(is_due).map(Connection::id).collect();
        let mut made: BTreeMap<String, Event> = BTreeMap::new();
        for id in due {
            let Some(connection) = connections.get_mut(id) else { continue };
            let Some(stream) = &mut connection.response else { continue };
            stream.due = now + EVENT_PERIOD;
            let topic = stream.topic.clone();
            let event = made.entry(topic).or_insert_with_key(|topic| self.pages.event(topic));
            // A reader with too many unread bytes does not get this event.
            if connection.output.len() < LIMITS.unsent_bytes {
                connection.chunk(format!("data: {}\n\n", event.data).as_bytes());
            }
            if event.is_last {
                connection.response = None;
                connection.end_chunked();
            }
            // The result is the stream of a reader that has disconnected. It needs no clean-up.
            connections.flush(net, id);
        }
    }
}

impl<P: Pages> Handler for PageHandler<P> {
    type Response = EventStream;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn request<N: Net>(
        &mut self,
        net: &mut N,
        connection: &mut Connection<EventStream>,
        request: &Request,
    ) {
        let response = self.response(request);
        let is_head = request.method == "HEAD";
        match &response.body {
            Body::Complete(content) => write(connection, &response, content, is_head),
            Body::Events { topic } => {
                head(connection, &response, ("transfer-encoding", "chunked"));
                if is_head {
                    connection.end();
                } else {
                    // The first event is due immediately.
                    let stream = EventStream { topic: topic.clone(), due: net.now() };
                    connection.response = Some(stream);
                }
            }
        }
    }

    fn refuse(&mut self, connection: &mut Connection<EventStream>, status: u16, why: &str) {
        let response = self.pages.refusal(status, why);
        if let Body::Complete(content) = &response.body {
            write(connection, &response, content, false);
        }
    }

    fn turn<N: Net>(&mut self, net: &mut N, connections: &mut Connections<EventStream>) -> Wake {
        if self.stop.load(Ordering::Relaxed) {
            return Wake::Done;
        }
        self.send_due_events(net, connections);
        let due = connections.iter().filter_map(|one| Some(one.response.as_ref()?.due));
        due.fold(Wake::WhenReady, Wake::or_at)
    }
}

/// Queues a complete response; for HEAD, only its head.
fn write(
    connection: &mut Connection<EventStream>,
    response: &Response,
    content: &[u8],
    is_head: bool,
) {
    head(connection, response, ("content-length", &content.len().to_string()));
    if !is_head {
        connection.output.push(content);
    }
    connection.end();
}

fn head(connection: &mut Connection<EventStream>, response: &Response, framing: (&str, &str)) {
    let mut headers = vec![("content-type", response.content_type), framing];
    headers.extend(BROWSER_POLICY.iter().filter(|(name, _)| !response.has_header(name)));
    headers.extend(response.headers.iter().map(|(name, value)| (*name, value.as_str())));
    connection.head(response.status, &headers);
}
