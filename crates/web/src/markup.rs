//! HTML as it is built. Markup is taken from string literals only, so that a text from outside can
//! become nothing but text or the value of an attribute. Escaping is the report's, which also replaces
//! control characters.

use inferometer_report::page::escape;

/// A piece of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// An empty piece.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Markup that another crate of this program made and escaped.
    pub(crate) fn trusted(markup: String) -> Self {
        Self(markup)
    }

    /// Markup.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escape(text));
        self
    }

    /// ` name="value"`, inside of a tag that `raw` has begun.
    pub(crate) fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        for part in [" ", name, "=\"", &escape(value), "\""] {
            self.0.push_str(part);
        }
        self
    }

    /// Another piece.
    pub(crate) fn append(&mut self, piece: &Self) -> &mut Self {
        self.0.push_str(&piece.0);
        self
    }

    /// A link.
    pub(crate) fn link(&mut self, to: &str, text: &str) -> &mut Self {
        self.raw("<a").attribute("href", to).raw(">").text(text).raw("</a>")
    }

    /// A paragraph of text.
    pub(crate) fn paragraph(&mut self, text: &str) -> &mut Self {
        self.raw("<p>").text(text).raw("</p>\n")
    }

    /// The markup.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
