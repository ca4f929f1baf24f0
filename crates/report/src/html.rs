//! `report.html`: the report for people, in one file that needs no network. Text from the server is
//! escaped, so that it never becomes markup.

use std::fmt::Write as _;

use crate::document::{Block, Span, Text, Tone};
use crate::page::{self, Page};
use crate::{ReportInput, content::blocks, escape::xml as escape, label, plot::figure};

/// The report as one HTML document, which contains its charts.
pub fn report(input: &ReportInput<'_>) -> String {
    page(&label::title(input.summary), &blocks(input))
}

/// Blocks as one HTML document, with links to its sections.
pub(crate) fn page(title: &str, blocks: &[Block<'_>]) -> String {
    let links = blocks.iter().fold(String::new(), |mut out, block| {
        if let Block::Heading(2, text) | Block::Section(text, _) = block {
            let _ = write!(out, "<a href=\"#{}\">{}</a> ", place(text), escape(text));
        }
        out
    });
    let body = &written(blocks);
    page::document(&Page { title, policy: "", links: &links, has_contents: true, body })
}

/// The content of the report as an HTML fragment. The first element is the heading of the report.
pub fn body(input: &ReportInput<'_>) -> String {
    written(&blocks(input))
}

fn written(blocks: &[Block<'_>]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block<'_>) -> String {
    let each = |tag: &str, items: &[Text]| -> String {
        items.iter().map(|item| format!("<{tag}>{}</{tag}>\n", text(item))).collect()
    };
    match block {
        Block::Heading(2, text) => {
            format!("<h2 id=\"{}\">{}</h2>\n", place(text), escape(text))
        }
        Block::Heading(level, text) => format!("<h{level}>{}</h{level}>\n", escape(text)),
        Block::Paragraph(words) => format!("<p>{}</p>\n", text(words)),
        Block::List(items) => format!("<ul>\n{}</ul>\n", each("li", items)),
        Block::Finding(tone, title, lines) => format!(
            "<details class=\"callout {}\">\n<summary><b>{}</b> <span class=\"short\">{}</span></summary>\n\
             {}</details>\n",
            class_of(*tone),
            escape(title),
            lines.first().map_or_else(String::new, text),
            each("p", lines)
        ),
        Block::Callout(tone, title, lines) => format!(
            "<div class=\"callout {}\">\n<p><b>{}</b></p>\n{}</div>\n",
            class_of(*tone),
            escape(title),
            each("p", lines)
        ),
        Block::Table(table) => page::table(table),
        Block::Code(_, code) => {
            let lines: Vec<String> = code.trim_end().lines().map(escape).collect();
            format!("<pre><code>{}</code></pre>\n", lines.join("\n"))
        }
        Block::Chart(chart) => figure(chart),
        Block::PageChart(id, title, chart) => {
            details(&format!(" id=\"{}\"", escape(id)), &escape(title), &figure(chart))
        }
        Block::Section(title, blocks) => {
            let attributes = format!(" class=\"part\" id=\"{}\"", place(title));
            details(&attributes, &format!("<h2>{}</h2>", escape(title)), &written(blocks))
        }
        Block::Details(id, title, blocks) if id.is_empty() => {
            details("", &escape(title), &written(blocks))
        }
        Block::Details(id, title, blocks) => {
            details(&format!(" id=\"{}\"", escape(id)), &escape(title), &written(blocks))
        }
    }
}

fn details(attributes: &str, summary: &str, content: &str) -> String {
    format!("<details{attributes}>\n<summary>{summary}</summary>\n{content}</details>\n")
}

fn class_of(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Note => "note",
        Tone::Warning => "warning",
    }
}

/// The HTML id of a section: `part-every-pass` for the heading `Every pass`.
fn place(heading: &str) -> String {
    let dashed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("part-{}", heading.chars().map(dashed).collect::<String>())
}

fn text(words: &Text) -> String {
    words
        .iter()
        .map(|span| match span {
            Span::Plain(text) => escape(text),
            Span::Strong(text) => format!("<b>{}</b>", escape(text)),
            Span::File(name) => format!("<a href=\"./{0}\">{0}</a>", escape(name)),
            Span::Code(text) => format!("<code>{}</code>", escape(text)),
        })
        .collect()
}
