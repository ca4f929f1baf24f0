//! `report.html`: the page for people, in one file that needs no network. Never lets a text of
//! the server become markup.

use std::fmt::Write as _;

use crate::content::{ReportInput, blocks};
use crate::document::{Block, Span, Text, Tone};
use crate::page::{self, Page, escape};
use crate::plot::{self, Named, Theme};

/// The report as one HTML document with its plots inside.
#[must_use]
pub fn report(input: &ReportInput<'_>) -> String {
    let title = crate::content::title(input.summary);
    page::document(&Page { title: &title, policy: "", links: "", body: &body(input) })
}

/// What the report says, as markup without a page around it; its first element is its heading.
#[must_use]
pub fn body(input: &ReportInput<'_>) -> String {
    let plots = plot::figures(std::slice::from_ref(input.summary), Theme::Page);
    let mut body = String::new();
    for block in blocks(input) {
        write_block(&mut body, &block, &plots);
    }
    body
}

fn write_block(out: &mut String, block: &Block, plots: &[Named]) {
    match block {
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
        Block::Callout(tone, title, lines) => {
            let class = match tone {
                Tone::Good => "good",
                Tone::Note => "note",
                Tone::Warning => "warning",
            };
            let title = escape(title);
            let _ = writeln!(out, "<div class=\"callout {class}\">\n<p><b>{title}</b></p>");
            for line in lines {
                let _ = writeln!(out, "<p>{}</p>", text(line));
            }
            out.push_str("</div>\n");
        }
        Block::Table(table) => out.push_str(&page::table(table)),
        Block::Plot(index) => {
            let _ = writeln!(out, "<figure class=\"picture\">\n{}</figure>", plots[*index].svg);
        }
        Block::Code(_, code) => {
            let lines: Vec<String> = code.trim_end().lines().map(escape).collect();
            let _ = writeln!(out, "<pre><code>{}</code></pre>", lines.join("\n"));
        }
        Block::Details(title, blocks) => {
            let _ = writeln!(out, "<details>\n<summary>{}</summary>", escape(title));
            for block in blocks {
                write_block(out, block, plots);
            }
            out.push_str("</details>\n");
        }
    }
}

fn text(words: &Text) -> String {
    words
        .iter()
        .map(|span| match span {
            Span::Plain(text) => escape(text),
            Span::Strong(text) => format!("<b>{}</b>", escape(text)),
            Span::Code(text) => format!("<code>{}</code>", escape(text)),
        })
        .collect()
}
