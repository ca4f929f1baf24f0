//! A report as blocks, so that Markdown and HTML have the same content. Nothing here knows how either
//! is written.

use crate::chart::Chart;
use crate::text_table::Table;

/// A part of a page.
pub(crate) enum Block<'a> {
    /// A heading of level 1 to 3.
    Heading(u8, String),
    /// A paragraph.
    Paragraph(Text),
    /// Items without an order.
    List(Vec<Text>),
    /// What must not be overlooked: a first line and what supports it.
    Callout(Tone, String, Vec<Text>),
    /// A table.
    Table(Table),
    /// Text as it is, in this language.
    Code(&'static str, String),
    /// A chart that is a file too, under its own name.
    Chart(&'a Chart),
    /// Charts that only a page has, to be unfolded: the place's name, and a heading. Their figures
    /// stand in tables.
    PageCharts(String, String, Vec<Chart>),
    /// What is read on demand: the name of the place, which may be empty, a heading and blocks.
    Details(String, String, Vec<Block<'a>>),
}

/// How a callout is meant.
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

/// Words of one kind.
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

/// A name and a value that machines made: `**Plan**: `0123``.
pub(crate) fn code_fact(name: &str, value: impl Into<String>) -> Text {
    vec![Span::Strong(name.to_owned()), Span::Plain(": ".to_owned()), Span::Code(value.into())]
}
