//! `report.html`: the page for people, in one file that needs no network. Never lets a text of
//! the server become markup.

use std::fmt::Write as _;

use crate::content::{ReportInput, blocks};
use crate::document::{Block, Span, Text, Tone};
use crate::layout::{Align, Table};
use crate::plot::escape;

/// Layout and colours, light and dark.
const STYLE: &str = include_str!("report.css");

/// The report as one HTML document with its plots inside.
#[must_use]
pub fn report(input: &ReportInput<'_>) -> String {
    let mut body = String::new();
    for block in blocks(input) {
        write_block(&mut body, &block, input);
    }
    let title = escape(&crate::content::title(input.summary));
    format!(
        concat!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            "<meta name=\"color-scheme\" content=\"light dark\">\n",
            "<title>{title}</title>\n<style>\n{style}</style>\n</head>\n",
            "<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
        ),
        title = title,
        style = STYLE,
        body = body
    )
}

fn write_block(out: &mut String, block: &Block, input: &ReportInput<'_>) {
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
        Block::Table(table) => write_table(out, table),
        Block::Plot(index) => {
            let _ = writeln!(out, "<figure>\n{}</figure>", input.plots[*index].svg);
        }
        Block::Code(_, code) => {
            let lines: Vec<String> = code.trim_end().lines().map(escape).collect();
            let _ = writeln!(out, "<pre><code>{}</code></pre>", lines.join("\n"));
        }
        Block::Details(title, blocks) => {
            let _ = writeln!(out, "<details>\n<summary>{}</summary>", escape(title));
            for block in blocks {
                write_block(out, block, input);
            }
            out.push_str("</details>\n");
        }
    }
}

fn write_table(out: &mut String, table: &Table) {
    let class = |index: usize| match table.columns()[index].1 {
        Align::Left => "",
        Align::Centre | Align::Right => " class=\"n\"",
    };
    out.push_str("<div class=\"table\"><table>\n<thead><tr>");
    for (index, (name, _)) in table.columns().iter().enumerate() {
        let _ = write!(out, "<th{}>{}</th>", class(index), escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in table.rows() {
        out.push_str("<tr>");
        for (index, text) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(index), escape(text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
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
