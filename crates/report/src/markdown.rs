//! `report.md`: the report for repositories and reviews. Text from the server is escaped, so that it
//! never becomes markup.

use inferometer_model::visible;

use crate::document::{Block, Span, Text, Tone};
use crate::{ReportInput, content::blocks, escape::markdown as escape, plot::Form};

/// The report as Markdown. It refers to charts as files of this form in the same folder.
pub fn report(input: &ReportInput<'_>, form: Form) -> String {
    page(&blocks(input), form)
}

/// Blocks as Markdown.
pub(crate) fn page(blocks: &[Block<'_>], form: Form) -> String {
    format!("{}\n", written(blocks, form).trim_end())
}

fn written(blocks: &[Block<'_>], form: Form) -> String {
    blocks.iter().map(|one| block(one, form)).collect()
}

fn block(block: &Block<'_>, form: Form) -> String {
    match block {
        Block::Heading(level, text) => {
            format!("{} {}\n\n", "#".repeat(usize::from(*level)), escape(text))
        }
        Block::Paragraph(words) => format!("{}\n\n", text(words)),
        Block::List(items) => {
            items.iter().map(|item| format!("- {}\n", text(item))).collect::<String>() + "\n"
        }
        Block::Callout(tone, title, lines) | Block::Finding(tone, title, lines) => {
            let mark = match tone {
                Tone::Good => "✅",
                Tone::Note => "ℹ️",
                Tone::Warning => "⚠️",
            };
            let lines: String = lines.iter().map(|line| format!(">\n> {}\n", text(line))).collect();
            format!("> {mark} **{}**\n{lines}\n", escape(title))
        }
        Block::Table(table) => format!("{}\n", table.to_markdown()),
        Block::Code(language, code) => {
            let (fence, code) = (fence(code), visible::lines(code.trim_end()));
            format!("{fence}{language}\n{code}\n{fence}\n\n")
        }
        Block::Chart(chart) => {
            format!("![{}](./{}.{})\n\n", escape(&chart.title), chart.id, form.name())
        }
        // Markdown leaves these charts out, because the tables above contain the same figures.
        Block::PageChart(..) => String::new(),
        Block::Section(title, blocks) => {
            format!("## {}\n\n{}", escape(title), written(blocks, form))
        }
        Block::Details(_, title, blocks) => {
            format!("### {}\n\n{}", escape(title), written(blocks, form))
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
