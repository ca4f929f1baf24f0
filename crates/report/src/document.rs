//! A report as a list of blocks, so that Markdown and HTML have the same content, except [`Block::PageChart`].
//! This module does not depend on either format.

use crate::{Table, chart::Chart};

/// A part of a report.
pub(crate) enum Block<'a> {
    /// A heading of level 1 to 3.
    Heading(u8, String),
    /// A paragraph.
    Paragraph(Text),
    /// A list without numbers.
    List(Vec<Text>),
    /// A highlighted box: its kind, its first line, and the paragraphs below that line.
    Callout(Tone, String, Vec<Text>),
    /// A finding: its kind, its title and its paragraphs. HTML shows only one line of it at first.
    Finding(Tone, String, Vec<Text>),
    /// A table.
    Table(Table),
    /// Verbatim text; the first field is its language, such as `toml`.
    Code(&'static str, String),
    /// A chart that is also written to a file of its own.
    Chart(&'a Chart),
    /// A chart that only the HTML page has, in a section that is collapsed at first: its id, its heading, and the
    /// chart. Tables contain the same figures.
    PageChart(String, String, Box<Chart>),
    /// A section with a heading of level 2, whose blocks are collapsed at first in HTML.
    Section(String, Vec<Block<'a>>),
    /// A part that is collapsed at first in HTML: its id (may be empty), its heading and its blocks.
    Details(String, String, Vec<Block<'a>>),
}

/// The kind of a callout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// There is no problem.
    Good,
    /// Information that is not a problem.
    Note,
    /// A problem that changes the meaning of figures.
    Warning,
}

/// The text of one paragraph or of one item of a list, in pieces.
pub(crate) type Text = Vec<Span>;

/// A piece of text in one format.
pub(crate) enum Span {
    Plain(String),
    Strong(String),
    Code(String),
    /// A link to a file in the folder of the report; the text is the file's name.
    File(String),
}

/// Text without emphasis.
pub(crate) fn plain(text: impl Into<String>) -> Text {
    vec![Span::Plain(text.into())]
}

/// A name and its value: `**Model**: chatglm3-6b`.
pub(crate) fn fact(name: &str, value: impl Into<String>) -> Text {
    vec![Span::Strong(name.to_owned()), Span::Plain(format!(": {}", value.into()))]
}

/// A name and its value as code: `**Plan**: `0123``.
pub(crate) fn code_fact(name: &str, value: impl Into<String>) -> Text {
    vec![Span::Strong(name.to_owned()), Span::Plain(": ".to_owned()), Span::Code(value.into())]
}
