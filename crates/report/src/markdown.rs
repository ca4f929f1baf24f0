//! `report.md`: the report for repositories and reviews. Text from the server is escaped, so that it
//! never becomes markup.

use std::fmt::Write as _;

use inferometer_model::visible;

use crate::document::{Block, Span, Text, Tone};
use crate::{ReportInput, content::blocks, escape::markdown as escape, plot::Form};

/// The report as Markdown. It refers to charts as files of this form in the same folder.
pub fn report(input: &ReportInput<'_>, form: Form) -> String {
    page(&blocks(input), form)
}

/// Blocks as Markdown.
pub(crate) fn page(blocks: &[Block<'_>], form: Form) -> String {
    let mut out = String::new();
    for block in blocks {
        write_block(&mut out, block, form);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn write_block(out: &mut String, block: &Block<'_>, form: Form) {
    match block {
        Block::Heading(level, text) => {
            let _ = writeln!(out, "{} {}\n", "#".repeat(usize::from(*level)), escape(text));
        }
        Block::Paragraph(words) => {
            let _ = writeln!(out, "{}\n", text(words));
        }
        Block::List(items) => {
            for item in items {
                let _ = writeln!(out, "- {}", text(item));
            }
            out.push('\n');
        }
        Block::Callout(tone, title, lines) | Block::Finding(tone, title, lines) => {
            let mark = match tone {
                Tone::Good => "✅",
                Tone::Note => "ℹ️",
                Tone::Warning => "⚠️",
            };
            let _ = writeln!(out, "> {mark} **{}**", escape(title));
            for line in lines {
                let _ = writeln!(out, ">\n> {}", text(line));
            }
            out.push('\n');
        }
        Block::Table(table) => {
            let _ = writeln!(out, "{}", table.to_markdown());
        }
        Block::Code(language, code) => {
            let fence = fence(code);
            let code = visible::lines(code.trim_end());
            let _ = writeln!(out, "{fence}{language}\n{code}\n{fence}\n");
        }
        Block::Chart(chart) => {
            let (title, name) = (escape(&chart.title), form.name());
            let _ = writeln!(out, "![{title}](./{}.{name})\n", chart.id);
        }
        // Markdown leaves these charts out, because the tables above contain the same figures.
        Block::PageCharts(..) => {}
        Block::Section(title, blocks) | Block::Details(_, title, blocks) => {
            let level = if matches!(block, Block::Section(..)) { "##" } else { "###" };
            let _ = writeln!(out, "{level} {}\n", escape(title));
            for block in blocks {
                write_block(out, block, form);
            }
        }
    }
}

fn text(words: &Text) -> String {
    words
        .iter()
        .map(|span| match span {
            Span::Plain(text) => escape(text),
            Span::Strong(text) => format!("**{}**", escape(text)),
            Span::File(name) => format!("[{0}](./{0})", escape(name)),
            Span::Code(text) => code_span(text),
        })
        .collect()
}

/// A code span. Its fence is longer than any sequence of backticks in the code.
fn code_span(code: &str) -> String {
    let code = visible::line(code);
    let longest = longest_run_of_backticks(&code);
    if longest == 0 {
        return format!("`{code}`");
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence} {code} {fence}")
}

/// The fence of a code block. It is longer than any sequence of backticks in the code, so no line of the
/// code can close it.
fn fence(code: &str) -> String {
    "`".repeat(longest_run_of_backticks(code).max(2) + 1)
}

fn longest_run_of_backticks(code: &str) -> usize {
    code.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
