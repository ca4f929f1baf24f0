//! Judges whether the answers of a search or a sweep are sufficient.

use inferometer_analysis::search::SearchEnding;
use inferometer_analysis::sweep::SweepEnding;
use inferometer_analysis::{PassSummary, SearchAnswer, Summary, SweepAnswer};
use inferometer_model::OutcomeCounts;
use inferometer_report::judgement::{Judgement, Verdict};
use inferometer_report::search::sentence;

use crate::Shortfall;

/// Why a search failed, independently of its answers: no request of any trial completed. `None` if a request completed,
/// or if requests of a trial were only too slow. Requests that the server refuses above its capacity are not a failure
/// of the search, because the search must find this capacity.
pub fn nothing_completed(summary: &Summary) -> Option<String> {
    let passes = || summary.cells.iter().flat_map(|cell| &cell.passes);
    let first = passes().next()?;
    let was_only_slow = |pass: &PassSummary| {
        let OutcomeCounts { cancelled, skipped, .. } = pass.outcomes;
        pass.is_cut_off() && cancelled + skipped == pass.outcomes.total()
    };
    if passes().any(was_only_slow) {
        return None;
    }
    let refused = |answer: &SearchAnswer| {
        Some(format!("{}: {}", answer.cell(), sentence(answer)))
            .filter(|_| answer.refusal.is_some())
    };
    passes().all(|pass| pass.outcomes.complete == 0).then(|| {
        let told = summary.searches.iter().find_map(refused);
        told.unwrap_or_else(|| {
            format!("no request of any trial completed; in the first trial: {}", first.outcomes)
        })
    })
}

/// The answers that a limit left undecided, as one text; `None` if there are none.
pub fn undecided(answers: &[SearchAnswer]) -> Option<String> {
    let judged = answers.iter().map(Judgement::of_search);
    let open = judged.filter(|judged| judged.verdict == Verdict::Undecided);
    open.map(|open| open.sentence.trim_end_matches('.').to_owned())
        .reduce(|all, next| format!("{all}; {next}"))
}

/// Checks whether the answers of a search are sufficient.
///
/// # Errors
/// When no load meets the objectives, nothing could be judged, or the search ended early.
pub fn judge_searches(answers: &[SearchAnswer]) -> Result<(), Shortfall> {
    for answer in answers {
        let why = || format!("{}: {}", answer.cell(), sentence(answer));
        match (answer.outcome, answer.best()) {
            (SearchEnding::NotMeasurable, None) => return Err(Shortfall::Failed(why())),
            // For example after a trial whose records are incomplete.
            (SearchEnding::Unfinished, _) => {
                return Err(Shortfall::Failed(format!("the search ended early: {}", why())));
            }
            // A limit that leaves no time or no request for a trial leaves the answer undecided.
            (
                SearchEnding::RequestsSpent | SearchEnding::TrialsSpent | SearchEnding::TimeSpent,
                _,
            ) => {}
            (_, None) if answer.trials == 0 => return Err(Shortfall::Failed(why())),
            _ if answer.is_missed() => return Err(Shortfall::Objective(why())),
            _ => {}
        }
    }
    Ok(())
}

/// Checks whether the answers of a sweep are sufficient.
///
/// # Errors
/// When a cell has no trial or no completed request, or when the sweep ended early, for example after a trial with
/// incomplete records.
pub fn judge_sweeps(answers: &[SweepAnswer]) -> Result<(), Shortfall> {
    for answer in answers {
        if answer.trials == 0
            || matches!(answer.outcome, SweepEnding::NothingCompleted | SweepEnding::Unfinished)
        {
            return Err(Shortfall::Failed(format!("{}: {}", answer.cell(), answer.answer)));
        }
    }
    Ok(())
}
