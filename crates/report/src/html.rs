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
    let mut body = String::new();
    blocks.iter().for_each(|block| write_block(&mut body, block));
    body
}

fn write_block(out: &mut String, block: &Block<'_>) {
    match block {
        Block::Heading(2, text) => {
            let _ = writeln!(out, "<h2 id=\"{}\">{}</h2>", place(text), escape(text));
        }
        Block::Heading(level, text) => {
            let _ = writeln!(out, "<h{level}>{}</h{level}>", escape(text));
        }
        Block::Paragraph(words) => {
            let _ = writeln!(out, "<p>{}</p>", text(words));
        }
        Block::List(items) => {
            out.push_str("<ul>\n");
            for item in items {
                let _ = writeln!(out, "<li>{}</li>", text(item));
            }
            out.push_str("</ul>\n");
        }
        Block::Finding(tone, title, lines) => {
            let (class, title) = (class_of(*tone), escape(title));
            let short = lines.first().map_or_else(String::new, text);
            let _ = writeln!(
                out,
                "<details class=\"callout {class}\">\n<summary><b>{title}</b> \
                 <span class=\"short\">{short}</span></summary>"
            );
            for line in lines {
                let _ = writeln!(out, "<p>{}</p>", text(line));
            }
            out.push_str("</details>\n");
        }
        Block::Callout(tone, title, lines) => {
            let class = class_of(*tone);
            let title = escape(title);
            let _ = writeln!(out, "<div class=\"callout {class}\">\n<p><b>{title}</b></p>");
            for line in lines {
                let _ = writeln!(out, "<p>{}</p>", text(line));
            }
            out.push_str("</div>\n");
        }
        Block::Table(table) => out.push_str(&page::table(table)),
        Block::Code(_, code) => {
            let lines: Vec<String> = code.trim_end().lines().map(escape).collect();
            let _ = writeln!(out, "<pre><code>{}</code></pre>", lines.join("\n"));
        }
        Block::Chart(chart) => out.push_str(&figure(chart)),
        Block::PageCharts(id, title, charts) => {
            let (id, title) = (escape(id), escape(title));
            let _ = writeln!(out, "<details id=\"{id}\">\n<summary>{title}</summary>");
            charts.iter().for_each(|chart| out.push_str(&figure(chart)));
            out.push_str("</details>\n");
        }
        Block::Section(title, blocks) => {
            let (id, title) = (place(title), escape(title));
            let _ = writeln!(
                out,
                "<details class=\"part\" id=\"{id}\">\n<summary><h2>{title}</h2></summary>"
            );
            blocks.iter().for_each(|block| write_block(out, block));
            out.push_str("</details>\n");
        }
        Block::Details(id, title, blocks) => {
            let (id, title) = (escape(id), escape(title));
            let id = if id.is_empty() { id } else { format!(" id=\"{id}\"") };
            let _ = writeln!(out, "<details{id}>\n<summary>{title}</summary>");
            for block in blocks {
                write_block(out, block);
            }
            out.push_str("</details>\n");
        }
    }
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
