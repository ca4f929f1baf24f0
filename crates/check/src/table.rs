//! The results of `check` as a text for users.

use std::fmt::Write as _;

use crate::{Document, Verdict, truth::ErrorSpread};

const HEAD: [&str; 13] = [
    "streams", "TTFT error us", "TTFT minus reader ms", "gap error us", "with user stamps us",
    "interval width p99 us", "paced: CPU s/Mtok", "of reader", "fast: tokens/s", "CPU s/Mtok",
    "of reader", "KB/stream", "in flight: client, server",
];

/// Returns an explanation, the table of levels, the lines of the open loops, the send delays of the server, and the
/// verdict.
pub fn text(document: &Document) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    for level in &document.levels {
        rows.push([
            level.streams.to_string(),
            spread(&level.ttft_error_us.kernel),
            format!(
                "{:+.2} / {:+.2}",
                level.ttft_beyond_reader_ms.mean, level.ttft_beyond_reader_ms.p99
            ),
            spread(&level.gap_error_us.kernel),
            spread(&level.gap_error_us.user),
            format!("{:.0}", level.arrival_width_us.p99),
            format!("{:.2}", level.paced_client_cpu_s_per_mtok),
            format!("{:.2}", level.paced_reader_cpu_s_per_mtok),
            format!("{:.0}", level.tokens_per_s),
            format!("{:.2}", level.client_cpu_s_per_mtok),
            format!("{:.2}", level.reader_cpu_s_per_mtok),
            format!("{:.1}", level.bytes_per_stream * 1e-3),
            format!(
                "{} {:.2}, {} {:.2}",
                level.peak_concurrency,
                level.mean_concurrency,
                level.server.peak_streams,
                level.server.mean_streams
            ),
        ]);
    }
    let mut out = String::from(
        "This client was tested with a server that writes the send time into each token. Errors \
            are p50 / p99 / max. TTFT minus the TTFT of a minimal reader (a program that only \
            reads the stream) is mean / p99. User stamps: the gap error with the program's time \
            stamps instead of the kernel's. Paced: the server sends tokens at a fixed pace. Fast: \
            it sends them as fast as it can. Requests in flight: peak and mean of the client, then \
            of the server.\n\n",
    );
    table(&mut out, &rows);
    out.push('\n');
    for open in &document.open_loops {
        let _ = writeln!(
            out,
            "open loop, {} requests/s: {} requests, send delay {} us (p50 / p99 / max), {:.2} CPU \
             cores used",
            open.rate,
            open.requests,
            spread(&open.send_delay_us),
            open.client_cores
        );
    }
    let lateness = document.levels.iter().map(|level| {
        format!("{:.0} / {:.0}", level.server.lateness_us_p50, level.server.lateness_us_p99)
    });
    let lateness: Vec<String> = lateness.collect();
    let _ = writeln!(
        out,
        "send delay of tokens in the server itself (us, p50 / p99, by level): {}",
        lateness.join(", ")
    );
    verdict(&mut out, &document.verdict);
    out
}

fn spread(spread: &ErrorSpread) -> String {
    format!("{:.0} / {:.0} / {:.0}", spread.p50, spread.p99, spread.max)
}

fn table(out: &mut String, rows: &[[String; HEAD.len()]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = width(column);
            format!("{cell:>width$}")
        });
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  "));
    }
}

fn verdict(out: &mut String, verdict: &Verdict) {
    match (verdict.streams, verdict.tokens_per_s) {
        (Some(streams), Some(tokens_per_s)) => {
            let _ = writeln!(
                out,
                "\nVerdict: figures from this machine can be trusted up to {} and \
                 {tokens_per_s:.0} tokens/s.",
                if streams == 1 { "1 stream".to_owned() } else { format!("{streams} streams") }
            );
        }
        _ => out.push_str(
            "\nVerdict: figures from this machine cannot be trusted in its present state.\n",
        ),
    }
    out.extend(verdict.reasons.iter().map(|reason| format!("  {reason}\n")));
}
