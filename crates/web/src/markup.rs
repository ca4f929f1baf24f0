//! Builds HTML. Markup is accepted from string literals only, so external text can become only text or the value of an
//! attribute. The report crate's function escapes it and also replaces control characters.

use inferometer_report::page::escape;

/// A part of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// An empty part.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Markup that another crate of this program has created and escaped.
    pub(crate) fn trusted(markup: String) -> Self {
        Self(markup)
    }

    /// Appends markup.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text, escaped.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escape(text));
        self
    }

    /// Appends ` name="value"` inside a tag that `raw` has begun.
    pub(crate) fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        for part in [" ", name, "=\"", &escape(value), "\""] {
            self.0.push_str(part);
        }
        self
    }

    /// Appends another part.
    pub(crate) fn append(&mut self, piece: &Self) -> &mut Self {
        self.0.push_str(&piece.0);
        self
    }

    /// Appends a link.
    pub(crate) fn link(&mut self, to: &str, text: &str) -> &mut Self {
        self.raw("<a").attribute("href", to).raw(">").text(text).raw("</a>")
    }

    /// Appends a paragraph of text.
    pub(crate) fn paragraph(&mut self, text: &str) -> &mut Self {
        self.raw("<p>").text(text).raw("</p>\n")
    }

    /// The markup as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
