//! What a page answers: status, type and content. Never how it is written to a connection; that
//! is the front's.

use inferometer_store::StoreError;

use crate::markup::Html;

/// An answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The media type of the content.
    pub content_type: &'static str,
    /// Further header fields.
    pub headers: Vec<(&'static str, String)>,
    /// The content.
    pub content: Content,
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// All of it.
    Whole(Vec<u8>),
    /// Events about a run in progress, as they come, until it has ended.
    Events {
        /// The run.
        run: String,
    },
}

/// One event about a run in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveEvent {
    /// The live part of its page, anew.
    pub markup: String,
    /// Whether nothing more will come.
    pub is_last: bool,
}

impl Answer {
    /// A page.
    pub(crate) fn page(page: &Html) -> Self {
        Self::of("text/html; charset=utf-8", page.as_str().as_bytes().to_vec())
    }

    /// Content of some type.
    #[must_use]
    pub fn of(content_type: &'static str, content: Vec<u8>) -> Self {
        Self { status: 200, content_type, headers: Vec::new(), content: Content::Whole(content) }
    }

    /// Look elsewhere (RFC 9110, 303).
    pub(crate) fn see(link: String) -> Self {
        let mut answer = Self::of("text/plain; charset=utf-8", Vec::new());
        answer.status = 303;
        answer.with("location", link)
    }

    /// With another status of HTTP.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With a header field more.
    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Whether it has a header field of its own by this name.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| *own == name)
    }

    /// The content as text, as far as there is any.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.content {
            Content::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Content::Events { .. } => String::new(),
        }
    }
}

/// Why a page cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// There is no such page, run or file.
    #[error("{0}")]
    NotFound(String),
    /// The question makes no sense.
    #[error("{0}")]
    Asked(String),
    /// It is being made.
    #[error("reading what was recorded; this takes a while, and the page asks again by itself")]
    NotYet,
    /// It could not be made.
    #[error("{0}")]
    Broken(String),
    /// The store or a log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Trouble {
    /// The HTTP status that says so.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::NotFound(_)
            | Self::Store(StoreError::NoSuchRun { .. } | StoreError::AmbiguousRun { .. }) => 404,
            Self::Asked(_) => 400,
            Self::NotYet => 503,
            Self::Store(_) | Self::Broken(_) => 500,
        }
    }
}
