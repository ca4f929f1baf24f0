//! `trace`: says what recorded requests of agents contain, and writes them in other formats. No request is sent.

use std::{fmt::Write as _, path::PathBuf};

use clap::{Args, ValueEnum};
use inferometer_model::visible;
use inferometer_workload::jobs::{self, Figures, JobsError, Sum, Target, Trace, Values};
use serde_json::Value;

use crate::command_line::{Failure, files, print, tell};

/// The flags of `trace`.
#[derive(Args)]
pub struct TraceArgs {
    /// Files of one trace, which may be compressed with gzip: recorded requests of agents or other
    /// clients
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Format of the files [default: recognised by the first row]. docs/agent-traces.md lists the
    /// formats
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Tokens of a block of the cache for the ideal hit share [default: the blocks of the trace, or
    /// 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    block_size: Option<u32>,
    /// Also write the trace in this format
    #[arg(long, value_name = "FORMAT", requires = "out")]
    to: Option<To>,
    /// File for --to; an existing file is replaced
    #[arg(long, value_name = "FILE", requires = "to")]
    out: Option<PathBuf>,
    /// Print one JSON document on stdout
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum To {
    /// Agentic Mooncake: a row for each call
    Mooncake,
    /// Weka: a row for each job
    Weka,
}

/// Reads the files and prints what they contain.
///
/// # Errors
/// If the trace cannot be read or written.
pub fn trace(arguments: &TraceArgs) -> Result<(), Failure> {
    let trace = jobs::read(&arguments.files, arguments.format.as_deref()).map_err(refused)?;
    let figures = Figures::of(&trace, arguments.block_size);
    if let (Some(to), Some(out)) = (arguments.to, &arguments.out) {
        files::is_no_stdout("--out", out)?;
        if let Some(file) = arguments.files.iter().find(|file| files::is_same(file, out)) {
            let file = file.display();
            return Err(Failure::usage(format!(
                "--out: {file} is read; give the name of another file"
            )));
        }
        let target = if matches!(to, To::Weka) { Target::Weka } else { Target::Mooncake };
        let written = jobs::write(&trace, target).map_err(refused)?;
        files::write("--out", out, &written.text)?;
        if !written.left_out.is_empty() {
            tell(&format!(
                "{}: this format has no place for {}",
                out.display(),
                written.left_out.join(", ")
            ));
        }
    }
    print(&if arguments.json {
        format!("{:#}\n", document(&trace, &figures))
    } else {
        text(&trace, &figures)
    })
}

fn refused(error: JobsError) -> Failure {
    Failure::run_failed(visible::line(&error.to_string()))
}

/// The names of figures are this wide.
const WIDTH: usize = 22;

fn text(trace: &Trace, figures: &Figures) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let known = |calls: u64| match calls == figures.calls {
        true => String::new(),
        false => format!(" (known for {calls} of {} calls)", figures.calls),
    };
    let sum = |sum: Sum| match sum.calls {
        0 => "-".to_owned(),
        calls => format!("{} tokens{}", sum.tokens, known(calls)),
    };
    let or_absent =
        |share: Option<f64>, why: &str| share.map_or_else(|| format!("- ({why})"), percent);
    let duration = match figures.job_duration_median_s.zip(figures.job_duration_max_s) {
        Some((median, longest)) => {
            let (timed, jobs) = (figures.timed_jobs, figures.jobs);
            format!("median {median:.2} s, longest {longest:.2} s ({timed} of {jobs} jobs)")
        }
        None => "- (starts or ends are not recorded)".to_owned(),
    };
    let gaps = figures.gaps.iter().map(|gaps| {
        let seconds = gaps.seconds.map_or(String::new(), |seconds| format!(" ({seconds:.2} s)"));
        format!("{} {}{seconds}", gaps.kind, gaps.calls)
    });
    let ideal = figures.ideal.map(|ideal| {
        let (with, without) = (percent(ideal.share), percent(ideal.share_without_answers));
        let known = known(ideal.prompt.calls);
        format!(
            "{with} with blocks of {}; {without} if answers are not cached{known}",
            ideal.block_tokens
        )
    });
    let mut text =
        format!("{}: {} calls, files: {}\n\n", trace.format, figures.calls, trace.files.len());
    for (name, value) in [
        ("jobs, sessions", format!("{}, {}", figures.jobs, figures.sessions)),
        ("depth", format!("{} (calls in the longest chain)", figures.depth)),
        ("fan-out", format!("{} (most calls that wait only for one call)", figures.fan_out)),
        ("duration of a job", duration),
        ("  in the model", or_absent(figures.model_share, "starts or ends are not recorded")),
        ("  in tools", or_absent(figures.tool_share, "times of calls or tools are not recorded")),
        ("gaps before calls", gaps.collect::<Vec<_>>().join(", ")),
        (
            "peak context",
            figures.peak_context_tokens.map_or("-".to_owned(), |most| format!("{most} tokens")),
        ),
        ("prompts", sum(figures.prompt)),
        ("answers", sum(figures.output)),
        ("cached, as recorded", sum(figures.recorded_cached)),
        (
            "ideal hit share",
            ideal.unwrap_or_else(|| "- (the trace does not say what prompts share)".to_owned()),
        ),
    ] {
        let _ = writeln!(text, "{name:<WIDTH$} {value}");
    }
    let _ =
        writeln!(text, "\n{:<WIDTH$}  recorded  inferred  invented    absent", "calls by value");
    for Values { value, recorded, inferred, invented, absent } in &figures.values {
        let _ =
            writeln!(text, "{value:<WIDTH$} {recorded:>9} {inferred:>9} {invented:>9} {absent:>9}");
    }
    if trace.left_out.total() > 0 {
        let _ = writeln!(text, "rows left out: {}", trace.left_out);
    }
    trace.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    visible::lines(&text).into_owned()
}

fn document(trace: &Trace, figures: &Figures) -> Value {
    let mut document = serde_json::json!({
        "version": 1,
        "format": trace.format,
        "files": trace.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "rows_left_out": trace.left_out.total(),
        "rows_left_out_why": trace.left_out.to_string(),
        "notes": trace.notes,
    });
    document["figures"] = serde_json::to_value(figures).unwrap_or_default();
    document
}
