//! A report as blocks, so that Markdown and HTML have the same content. Knows nothing about either
//! format.

use crate::chart::Chart;
use crate::text_table::Table;

/// A part of a page.
pub(crate) enum Block<'a> {
    /// A heading of level 1 to 3.
    Heading(u8, String),
    /// A paragraph.
    Paragraph(Text),
    /// A list without order.
    List(Vec<Text>),
    /// Something that a reader must not miss: a first line, and its reasons.
    Callout(Tone, String, Vec<Text>),
    /// A table.
    Table(Table),
    /// Verbatim text in this language.
    Code(&'static str, String),
    /// A chart that is also a file with its own name.
    Chart(&'a Chart),
    /// Charts that only a page has, folded until a reader opens them: the id, and a heading. Their
    /// figures are also in tables.
    PageCharts(String, String, Vec<Chart>),
    /// A folded part: its id (may be empty), a heading and blocks.
    Details(String, String, Vec<Block<'a>>),
}

/// The kind of a callout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// All is well.
    Good,
    /// Good to know.
    Note,
    /// Figures may not mean what they seem to mean.
    Warning,
}

/// Words of one paragraph.
pub(crate) type Text = Vec<Span>;

/// A piece of text of one kind.
pub(crate) enum Span {
    Plain(String),
    Strong(String),
    Code(String),
    /// A file in the folder of the report.
    File(String),
}

/// Words without emphasis.
pub(crate) fn plain(text: impl Into<String>) -> Text {
    vec![Span::Plain(text.into())]
}

/// A name and its value: `**Model**: chatglm3-6b`.
pub(crate) fn fact(name: &str, value: impl Into<String>) -> Text {
    vec![Span::Strong(name.to_owned()), Span::Plain(format!(": {}", value.into()))]
}

/// A name and a value for machines: `**Plan**: `0123``.
pub(crate) fn code_fact(name: &str, value: impl Into<String>) -> Text {
    vec![Span::Strong(name.to_owned()), Span::Plain(": ".to_owned()), Span::Code(value.into())]
}
