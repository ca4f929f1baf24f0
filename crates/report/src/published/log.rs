//! The log of a run over text blocks, in the format of the published log of SUS-Chat-34B: the same fields in
//! the same order. Each line also contains the line number of the statement in the script that wrote the
//! published log. So a program that reads the published log can also read this log. Times are in UTC.

use std::fmt::{Display, Write as _};

use inferometer_analysis::Summary;
use inferometer_analysis::blocks::{BlockFigures, FIELDS};
use inferometer_model::calendar;

use crate::MISSING;

/// The line numbers of the statements that write to the log, in the script of the published log.
const LINE_BEGIN: u32 = 261;
const LINE_FIRST_FACT: u32 = 243;
const LINE_FIRST_FIGURE: u32 = 46;
const LINE_RETURNED: u32 = 247;
const LINE_RULE: u32 = 248;

/// The log of every pass over text blocks; absent for other workloads.
pub fn log(summary: &Summary) -> Option<String> {
    let mut out = String::new();
    for (_, _, figures) in super::passes(summary) {
        write(&mut out, figures);
    }
    (!out.is_empty()).then_some(out)
}

fn write(out: &mut String, figures: &BlockFigures) {
    let BlockFigures { block_chars, wanted_chars, .. } = figures;
    let mut line = |unix_ns: u64, number: u32, text: &dyn Display| {
        let _ = writeln!(out, "[{}][{number}][INFO] {text}", time(unix_ns));
    };
    let began = format!("chunk_size: {block_chars}, generate_size: {wanted_chars}");
    line(figures.began_unix_ns, LINE_BEGIN, &began);
    let concurrency = figures.concurrency.map_or(MISSING.to_owned(), |count| count.to_string());
    let facts: [(&str, &dyn Display); 4] = [
        ("总测试文本块数目", &figures.planned),
        ("并发", &concurrency),
        ("单个文本块长度", block_chars),
        ("生成文本长度", wanted_chars),
    ];
    let ended = figures.ended_unix_ns;
    for (number, (name, value)) in (LINE_FIRST_FACT..).zip(facts) {
        line(ended, number, &format!("{name}: {value}"));
    }
    for (number, field) in (LINE_FIRST_FIGURE..).zip(&FIELDS) {
        let value = match ((field.value)(figures), field.is_count) {
            (None, _) => MISSING.to_owned(),
            (Some(value), true) => format!("{value:.0}"),
            // As Python prints a float: the shortest text that parses to the same number, with a decimal
            // point.
            (Some(value), false) => format!("{value:?}"),
        };
        line(ended, number, &format!("{}: {value}", field.name));
    }
    line(ended, LINE_RETURNED, &"None");
    line(ended, LINE_RULE, &"-".repeat(120));
}

/// A time in UTC, with milliseconds: `2023-12-20 09:35:28,585`.
fn time(unix_ns: u64) -> String {
    let text = calendar::rfc3339(i64::try_from(unix_ns).unwrap_or(i64::MAX));
    text.trim_end_matches('Z').replace('T', " ").replace('.', ",")
}
