//! `trend`: its flags, and printing the trend.

use std::path::PathBuf;

use clap::Args;
use inferometer_analysis::compare::{Comparison, Trend};
use inferometer_report::judgement::{Judgement, Verdict};
use inferometer_report::{difference, trend as text};
use inferometer_store::{RunFilter, Store};
use serde_json::json;

use crate::command_line::{Failure, print, tell};
use crate::compare::{Condition, GateResult, conditions, judged_rows, judgement};

/// The word that stands for all conditions: no figure has become worse.
const WORSE: &str = "worse";
/// The largest accepted rate of false alarms. With a higher one, a single outlying run could be a change.
const MOST_FALSE_ALARMS: f64 = 20.0;

/// The flags of `trend`.
#[derive(Args)]
pub struct TrendArgs {
    /// Only runs with this tag; with several --tag, only runs that have all of them
    #[arg(long, value_name = "TAG", required = true)]
    tag: Vec<String>,
    /// How runs are named: day, version (of the engine), run, or the key of a tag KEY=VALUE. A nightly
    /// job can set such a tag with `inferometer tag latest nightly commit=4f2c1` [default: commit, if
    /// every run has such a tag; otherwise day]
    #[arg(long, value_name = "KEY")]
    by: Option<String>,
    /// Only these figures, such as ttft_p99,output_tokens_per_s [default: all that `compare` compares]
    #[arg(long, value_name = "FIGURE,...", value_delimiter = ',')]
    figure: Vec<String>,
    /// Highest share of years of daily runs in which a change is found although nothing changed, over
    /// all figures together: 5, or 5%
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = false_alarms)]
    false_alarms: f64,
    /// Exit with code 3 if a figure became worse in the last runs (--within): `worse` for any figure and
    /// any amount, or conditions as for `compare`, such as 'ttft_p99<+5%,output_tokens_per_s>-3%'.
    /// A condition is missed if the whole 95 % interval of a change is beyond its limit, and undecided
    /// if the limit is inside the interval
    #[arg(long, value_name = "worse|CONDITIONS")]
    gate: Option<String>,
    /// Changes that were found in the last N runs, and have not changed again, count for --gate
    #[arg(long, value_name = "N", default_value_t = 5, requires = "gate")]
    within: usize,
    /// Treat an undecided gate as missed: with fewer than 13 runs, no change can be found
    #[arg(long, requires = "gate")]
    strict: bool,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long)]
    json: bool,
}

/// Parses the rate of false alarms.
fn false_alarms(text: &str) -> Result<f64, String> {
    let wrong = || format!("is not a percentage above 0 and up to {MOST_FALSE_ALARMS}");
    super::compare::percent(text).ok().filter(|rate| *rate <= MOST_FALSE_ALARMS).ok_or_else(wrong)
}

/// Prints the trend of the runs with a tag, and evaluates the gate.
pub fn trend(arguments: &TrendArgs) -> Result<(), Failure> {
    let gate = arguments.gate.as_deref();
    let conditions = conditions(gate.filter(|gate| *gate != WORSE))?;
    let store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let filter = RunFilter { tags: arguments.tag.clone(), ..RunFilter::default() };
    let rate = arguments.false_alarms / 100.0;
    let by = arguments.by.as_deref();
    let (trend, left_out) = inferometer_run::trend(&store, &filter, by, &arguments.figure, rate)
        .map_err(Failure::run_failed)?;
    if trend.runs.is_empty() {
        let tags = arguments.tag.join(" and ");
        return Err(Failure::usage(format!(
            "--tag: no run with results has the tag {tags}; `inferometer runs` lists the tags"
        )));
    }
    let known = |figure: &&String| trend.figures.iter().any(|one| one.figure == **figure);
    if let Some(figure) = arguments.figure.iter().find(|figure| !known(figure)) {
        return Err(Failure::usage(format!(
            "--figure: no run has the figure {figure}; without this flag, all figures are listed"
        )));
    }
    let (results, judgement) = judged(arguments, &trend, &conditions)?;
    if arguments.json {
        let document = json!({
            "schema": "inferometer.trend/1", "trend": trend, "sentences": text::sentences(&trend),
            "gate": results, "left_out": left_out,
        });
        print(&format!("{document:#}\n"))?;
    } else {
        print(&text::text(&trend, &left_out))?;
        if !results.is_empty() {
            print(&format!("\nGate\n\n{}", difference::gate_text(&results)))?;
        }
    }
    Failure::of_judgement(judgement.as_ref())?;
    if let Some(judgement) = judgement {
        tell(&judgement.to_string());
    }
    Ok(())
}

/// The results of the conditions, and the judgement over all; `None` without a gate.
fn judged(
    arguments: &TrendArgs,
    trend: &Trend,
    conditions: &[Condition],
) -> Result<(Vec<GateResult>, Option<Judgement>), Failure> {
    let first = trend.runs.len().saturating_sub(arguments.within);
    if arguments.gate.as_deref() == Some(WORSE) {
        let mut recent = trend.clone();
        for figure in &mut recent.figures {
            let last = figure.changes.pop();
            figure.changes =
                last.filter(|it| it.is_worse && it.found >= first).into_iter().collect();
        }
        let told = text::sentences(&recent);
        let judgement = if !told.is_empty() {
            Judgement::new(Verdict::Fail, format!("not met: {}", told.join(" ")))
        } else if trend.can_show_a_change() {
            let runs = arguments.within;
            Judgement::new(Verdict::Pass, format!("no figure became worse in the last {runs} runs"))
        } else {
            let open = if arguments.strict { Verdict::Fail } else { Verdict::Undecided };
            Judgement::new(open, text::without_a_change(trend))
        };
        return Ok((Vec::new(), Some(judgement)));
    }
    let comparison = Comparison { rows: trend.rows(arguments.within), ..Comparison::default() };
    let judged = [judged_rows(comparison, conditions)?];
    let judgement = judgement(&judged, arguments.strict);
    let [judged] = judged;
    Ok((judged.gate, judgement))
}
