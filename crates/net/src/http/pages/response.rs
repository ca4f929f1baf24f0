//! The response of a page: status, type and body. The handler writes it to the connection.

/// A response to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The media type of the body.
    pub content_type: &'static str,
    /// Additional header fields.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Body,
}

/// The body of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The whole body.
    Complete(Vec<u8>),
    /// Server-sent events, one per second, until [`Event::is_last`].
    Events {
        /// The topic of the events, for [`super::Pages::event`].
        topic: String,
    },
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The data of the event, without a line break.
    pub data: String,
    /// Whether the stream ends after this event.
    pub is_last: bool,
}

impl Response {
    /// A response with status 200 and a complete body.
    pub fn new(content_type: &'static str, content: Vec<u8>) -> Self {
        Self { status: 200, content_type, headers: Vec::new(), body: Body::Complete(content) }
    }

    /// A response that is a stream of events about a topic.
    pub fn events(topic: String) -> Self {
        Self { body: Body::Events { topic }, ..Self::new("text/event-stream", Vec::new()) }
    }

    /// A response with status 303: the resource is at this link (RFC 9110, section 15.4.4).
    pub fn redirect(link: String) -> Self {
        Self::new("text/plain; charset=utf-8", Vec::new())
            .with_status(303)
            .with_header("location", link)
    }

    /// The same response with another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same response with another header field.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Whether the response has a header field with this name.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| *own == name)
    }

    /// The body as text; empty for events.
    pub fn text(&self) -> String {
        match &self.body {
            Body::Complete(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Body::Events { .. } => String::new(),
        }
    }
}
