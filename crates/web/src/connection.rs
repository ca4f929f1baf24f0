//! One reader's connection: bytes in and out, and how long it may stay silent. It knows no page.

use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_net::{Close, ConnId, Net};
use inferometer_wire::http::{LAST_CHUNK, RequestParser, response_head, write_chunk};

use crate::answer::Answer;

/// The longest head and body of a request that are taken, in bytes.
const MOST_HEAD: usize = 16 << 10;
const MOST_BODY: usize = 4 << 10;
/// How long a connection may be open between two requests.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a request may take to come whole.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often events about a run in progress are sent.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);
/// A reader that leaves more than this unread is sent no further event.
const MOST_UNREAD: usize = 1 << 20;

/// What browsers are told of every answer: it loads nothing from elsewhere, runs no script but
/// ours, is shown in no other page, and tells nobody where its reader was.
const GUARDS: [(&str, &str); 5] = [
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

/// A connection.
pub(crate) struct Connection {
    pub(crate) parser: RequestParser,
    pub(crate) keep_alive: bool,
    pub(crate) stream: Option<Stream>,
    /// When it was opened, or last had something to do: a whole request, an answer.
    busy: Nanos,
    has_asked: bool,
    out: Vec<u8>,
    closing: bool,
}

/// Events that are being sent.
pub(crate) struct Stream {
    /// The run that they are about.
    pub(crate) run: String,
    /// When the next one is due.
    pub(crate) due: Nanos,
}

impl Connection {
    /// A new one.
    pub(crate) fn new(now: Nanos) -> Self {
        Self {
            parser: RequestParser::with_limits(MOST_HEAD, MOST_BODY),
            keep_alive: false,
            stream: None,
            busy: now,
            has_asked: false,
            out: Vec::new(),
            closing: false,
        }
    }

    /// Whether it takes further requests.
    pub(crate) fn is_listening(&self) -> bool {
        self.stream.is_none() && !self.closing && self.out.len() < MOST_UNREAD
    }

    /// When it is closed if it has nothing to do until then. Bytes alone are nothing to do: a
    /// request has to come whole; and whoever is sent something is not silent.
    pub(crate) fn silent_from(&self) -> Option<Nanos> {
        let is_waiting = !self.has_asked || self.parser.is_inside_request();
        let span = if is_waiting { PATIENCE } else { SILENCE };
        self.is_idle().then(|| self.busy + span)
    }

    /// Whether nothing is being sent on it.
    pub(crate) fn is_idle(&self) -> bool {
        self.stream.is_none() && self.out.is_empty()
    }

    /// When it was opened, or last had something to do.
    pub(crate) fn busy_at(&self) -> Nanos {
        self.busy
    }

    /// A whole request came, or an answer was sent on.
    pub(crate) fn is_busy(&mut self, now: Nanos) {
        (self.busy, self.has_asked) = (now, true);
    }

    /// Queues an answer; of one to HEAD its head alone.
    pub(crate) fn whole(&mut self, answer: &Answer, content: &[u8], head_only: bool) {
        self.head(answer, ("content-length", &content.len().to_string()));
        if !head_only {
            self.out.extend_from_slice(content);
        }
        self.closing |= !self.keep_alive;
    }

    /// Queues the head of a stream of events; the first is due at once.
    pub(crate) fn events(&mut self, answer: &Answer, run: &str, now: Nanos, head_only: bool) {
        self.head(answer, ("transfer-encoding", "chunked"));
        if head_only {
            self.closing |= !self.keep_alive;
        } else {
            self.stream = Some(Stream { run: run.to_owned(), due: now });
        }
    }

    fn head(&mut self, answer: &Answer, framing: (&str, &str)) {
        let mut headers = vec![("content-type", answer.content_type), framing];
        headers.extend(GUARDS.iter().filter(|(name, _)| !answer.sets(name)));
        headers.extend(answer.headers.iter().map(|(name, value)| (*name, value.as_str())));
        if !self.keep_alive {
            headers.push(("connection", "close"));
        }
        self.out.extend_from_slice(&response_head(answer.status, &headers));
    }

    /// Queues an event, unless the reader is behind.
    pub(crate) fn event(&mut self, event: &[u8]) {
        if self.out.len() < MOST_UNREAD {
            write_chunk(&mut self.out, event);
        }
    }

    /// Queues the end of the stream.
    pub(crate) fn end_stream(&mut self) {
        self.stream = None;
        self.out.extend_from_slice(LAST_CHUNK);
        self.closing |= !self.keep_alive;
    }

    /// Writes what the socket takes. Says whether the connection lives on.
    pub(crate) fn flush(&mut self, net: &mut impl Net, id: ConnId) -> bool {
        if !self.out.is_empty() {
            match net.write(id, &self.out) {
                Ok(written) => {
                    self.out.drain(..written);
                    if written > 0 {
                        self.busy = net.now();
                    }
                }
                Err(_) => {
                    net.close(id, Close::Reset);
                    return false;
                }
            }
        }
        if self.closing && self.out.is_empty() {
            net.close(id, Close::Gracefully);
            return false;
        }
        true
    }
}
