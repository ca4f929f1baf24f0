//! A search in words: a line for each trial, a line for each answer; and what its answers fall short
//! of.

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::search::{
    Claim, Load, NextTrial, Outcome, Overwhelmed, Search, SearchAnswer,
};
use inferometer_analysis::summary::Summary;
use inferometer_model::cell::CellPlan;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_plan::search::SearchPlan;

use crate::error::Shortfall;

/// One line on a trial that was made.
pub fn trial(plan: &SearchPlan, search: &Search, asked: NextTrial) -> String {
    let known = search.loads().iter().find(|load| load.load == asked.load);
    let verdict = known.map_or_else(String::new, |load| {
        if let Some(by) = load.overwhelmed {
            let criterion = plan.criteria.get(by.criterion).map_or("", |it| it.text.as_str());
            let cut = match by.cut_off {
                0 => String::new(),
                cut => format!("; cut off, with {cut} in flight or not sent"),
            };
            let claim = match load.claim() {
                Claim::NotMet => "does not meet",
                Claim::Met | Claim::Open => "seems not to meet",
            };
            let Overwhelmed { missed, planned, .. } = by;
            return format!(
                "{claim} {criterion}: {missed} of {planned} requests missed it for certain{cut}"
            );
        }
        if load.counted() == 0 {
            let none = "counts: all of them are start-up or drain";
            return format!("says nothing yet: none of {} requests {none}", load.requests);
        }
        let measured = plan.criteria.iter().zip(&load.evidence.measured);
        let shares: Vec<String> = measured
            .map(|(criterion, measured)| match criterion.needed() {
                Some(needed) => format!(
                    "{:.2}% of {} ({}% needed)",
                    100.0 * measured.value,
                    criterion.text,
                    100.0 * needed
                ),
                None => format!("{:.1} ms of {}", measured.value, criterion.text),
            })
            .collect();
        format!("{}: {} (of {} requests)", claim(load), shares.join(", "), load.counted())
    });
    format!("    {} {} {verdict}", load_text(asked.load), plan.over.unit())
}

/// A load with four significant digits, without zeros that say nothing; whole ones are never cut.
pub fn load_text(load: f64) -> String {
    let before = if load > 0.0 { load.log10().floor() } else { 0.0 };
    let decimals = (3.0 - before).clamp(0.0, 9.0) as usize;
    let text = format!("{load:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn claim(load: &Load) -> &'static str {
    match (load.saturation, load.claim()) {
        (Some(_), _) => "is more than the server can do",
        (None, Claim::Met) => "meets the objectives",
        (None, Claim::NotMet) => "does not meet the objectives",
        (None, Claim::Open) => "is open yet",
    }
}

/// The answer in one line.
pub fn answer(plan: &SearchPlan, cell: CellPlan, search: &Search) -> String {
    let answer = SearchAnswer::of_search(plan, cell, search);
    format!("  {cell}: {}", inferometer_report::search::sentence(&answer))
}

/// The answers, one line each: the last that a terminal shows, for the trials stand above them.
pub fn answers(answers: &[SearchAnswer]) -> String {
    let line = |answer: &SearchAnswer| {
        format!("answer: {}: {}\n", answer.cell(), inferometer_report::search::sentence(answer))
    };
    answers.iter().map(line).collect()
}

/// Why a search counts as failed whatever it claims: no request of any trial completed, though they
/// were not only too slow for that. What a server refuses beyond what it can do is what a search is to
/// find out.
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
    passes().all(|pass| pass.outcomes.complete == 0).then(|| {
        format!("no request of any trial completed; of the first trial: {}", first.outcomes)
    })
}

/// What the answers of a search fall short of.
///
/// # Errors
/// When not even the lowest load meets the objectives, or no load could be claimed to.
pub fn judge(answers: &[SearchAnswer]) -> Result<(), Shortfall> {
    for answer in answers {
        let why = format!("{}: {}", answer.cell(), inferometer_report::search::sentence(answer));
        match (answer.outcome, answer.low) {
            (Outcome::NotMetAtLowest, _) => return Err(Shortfall::Objective(why)),
            (Outcome::Found | Outcome::MetAtHighest, _) | (_, Some(_)) => {}
            (_, None) => return Err(Shortfall::Failed(why)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_have_the_digits_that_tables_give_them() {
        for (load, text) in
            [(1600.0, "1600"), (1131.37, "1131"), (2.828_427, "2.828"), (0.001, "0.001")]
        {
            assert_eq!(load_text(load), text);
        }
    }
}
