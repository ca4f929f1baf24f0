//! Builds HTML. Markup is accepted only from string literals and from other crates of this program. Text from
//! outside becomes only text or the value of an attribute: a function of the report crate escapes such text
//! and replaces its control characters.

use inferometer_report::page::escape;

/// HTML of a part of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// HTML without content.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Markup that another crate of this program has created and escaped.
    pub(crate) fn trusted(markup: String) -> Self {
        Self(markup)
    }

    /// Appends markup without escaping.
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

    /// Appends other HTML.
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
