//! `compare`: its flags, and printing the comparison.

use std::path::{Path, PathBuf};

use crate::command_line::{Failure, files, first_of, print, tell};
use crate::compare::{
    GatedComparison, Subject, compare as compare_results, conditions, judgement, subject,
};
use crate::price;
use clap::Args;
use inferometer_analysis::compare::Options;
use inferometer_plan::spec::PriceKeys;
use inferometer_report::{difference, gate_summary, judgement::Judgement, junit};

/// The file name that stands for standard output.
const STDOUT: &str = "-";

/// The flags of `compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// The baseline: a stored run (measured, predicted or imported), a summary.json, a bundle, the
    /// result file of another tool, or a published table (FILE.md, FILE.md#SECTION). It can have
    /// several runs, which count as repeats: RUN,RUN (a list), TAG (all runs with this tag) or
    /// GROUP/SERVER (all runs of one server of a plan with several servers)
    baseline: String,
    /// Runs to compare with the baseline: stored runs or files, as above. Measure baseline and run
    /// alternately (A,B,A,B,...): without this, a difference may come from a drift of the machine
    /// instead of the server
    #[arg(required = true, value_name = "RUN")]
    contenders: Vec<String>,
    /// Conditions on the differences, such as 'output_tokens_per_s>-3%,ttft_p99<+5%'; the exit code
    /// is 3 if a condition is missed. With at least 3 repeats on each side, the 95 % confidence
    /// interval of the difference decides. A condition is met if the whole interval is within its
    /// limit. It is missed if the whole interval is beyond its limit. If a difference of 0 would
    /// meet the condition and both sides have 4 or more repeats, it is missed only if the
    /// difference is also significant after correction for the number of compared figures.
    /// Otherwise the condition is undecided. With fewer than 3 repeats, a condition is missed if
    /// the difference is beyond its limit, and undecided if not. But if a side cannot be measured
    /// again (such as a prediction), a difference within the limit meets the condition. Answers of
    /// searches and sweeps have intervals of their own, which decide with any number of repeats. If
    /// the runs were not measured alternately, a missed condition shows a difference, but not its
    /// cause: the server may have changed, or the machine may have become slower
    #[arg(long, value_name = "CONDITIONS")]
    gate: Option<String>,
    /// Treat undecided gate conditions as missed
    #[arg(long)]
    strict: bool,
    /// Treat differences of up to this percentage as irrelevant: 5, or 5%
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    margin: f64,
    /// Seed of the random resampling
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    price: PriceKeys,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long)]
    json: bool,
    /// Print the answer and the tables as Markdown. With =FILE, write them to this file instead. An
    /// existing file is replaced. Exception: the text is appended if the environment variable
    /// GITHUB_STEP_SUMMARY names this file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    markdown: Option<PathBuf>,
    /// Write JUnit XML with one test case for each metric and load. A test case fails if a
    /// condition on its metric is missed. It is skipped if a condition is undecided (with --strict,
    /// it fails), or if there is no condition on its metric. Without --gate, a test case fails if
    /// its metric is worse by more than the margin, and is skipped if this is undecided
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// Prints the comparison, writes the requested files, and evaluates the gate.
pub fn compare(arguments: &CompareArgs) -> Result<(), Failure> {
    let conditions = conditions(arguments.gate.as_deref())?;
    arguments.check_files()?;
    let options = Options { margin: arguments.margin / 100.0, seed: arguments.seed };
    let price = price::given(&arguments.price)?;
    let baseline = arguments.subject(&arguments.baseline, &price)?;
    let mut judged = Vec::new();
    for name in &arguments.contenders {
        let contender = arguments.subject(name, &price)?;
        judged.push(compare_results(&baseline, &contender, options, &conditions)?);
    }
    let judgement = judgement(&judged, arguments.strict);
    // Print before writing files, so that a write error does not lose the comparison.
    show(arguments, &judged, judgement.as_ref())?;
    let written = write_files(arguments, &judged, judgement.as_ref());
    first_of(Failure::of_judgement(judgement.as_ref()), written)?;
    if let Some(judgement) = judgement {
        tell(&judgement.to_string());
    }
    Ok(())
}

impl CompareArgs {
    fn prints_markdown(&self) -> bool {
        self.markdown.as_deref().is_some_and(|file| file == STDOUT)
    }

    /// The results of the run or file with this name.
    fn subject(&self, name: &str, price: &PriceKeys) -> Result<Subject, Failure> {
        let found = subject(name, &self.store, price);
        // The word after `--markdown` is parsed as a run, because a value of this flag needs `=`. The user may have
        // meant an output file.
        if found.is_err()
            && self.prints_markdown()
            && name.ends_with(".md")
            && !Path::new(name).exists()
        {
            return Err(Failure::usage(format!(
                "{name}: file not found; to write Markdown to this file, give --markdown={name}"
            )));
        }
        Ok(found?)
    }

    /// Checks that no two documents are written to standard output or to the same file.
    fn check_files(&self) -> Result<(), Failure> {
        if self.json && self.prints_markdown() {
            return Err(Failure::usage(
                "--json and --markdown: both print to stdout; write --markdown=FILE",
            ));
        }
        let Some(junit) = &self.junit else { return Ok(()) };
        if self.markdown.as_ref().is_some_and(|markdown| files::is_same(junit, markdown)) {
            return Err(Failure::usage(
                "--junit and --markdown: both name the same file; give two different files",
            ));
        }
        files::is_no_stdout("--junit", junit)
    }
}

fn write_files(
    arguments: &CompareArgs,
    judged: &[GatedComparison],
    judgement: Option<&Judgement>,
) -> Result<(), Failure> {
    let mut written = Ok(());
    if let Some(file) = &arguments.junit {
        let suite = |judged: &GatedComparison| {
            junit::of_comparison(&judged.comparison, &judged.gate, &judged.runs, arguments.strict)
        };
        let suites: Vec<_> = judged.iter().map(suite).collect();
        written = files::write("--junit", file, &junit::junit(&suites, judgement));
    }
    match &arguments.markdown {
        Some(file) if file != STDOUT => {
            first_of(written, files::write_summary("--markdown", file, &page(judged, judgement)))
        }
        _ => written,
    }
}

fn page(judged: &[GatedComparison], judgement: Option<&Judgement>) -> String {
    let parts: Vec<_> =
        judged.iter().map(|judged| (&judged.comparison, judged.gate.as_slice())).collect();
    gate_summary::markdown(&parts, judgement)
}

/// Parses a percentage, with or without the percent sign.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    number
        .filter(|number| *number > 0.0 && *number < 100.0)
        .ok_or_else(|| "is not a percentage above 0 and below 100".to_owned())
}

fn show(
    arguments: &CompareArgs,
    judged: &[GatedComparison],
    judgement: Option<&Judgement>,
) -> Result<(), Failure> {
    if arguments.json {
        let document = serde_json::json!({ "comparisons": judged });
        return print(&format!("{document:#}\n"));
    }
    if arguments.prints_markdown() {
        return print(&page(judged, judgement));
    }
    let one = |judged: &GatedComparison| difference::text(&judged.comparison, &judged.gate);
    print(&judged.iter().map(one).collect::<Vec<_>>().join("\n"))
}
