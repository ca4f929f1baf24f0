//! Going on with a run that ended before its plan was carried out: what it has measured whole is
//! taken over, record by record, and the rest is measured. Never changes the run that it goes on
//! with.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::channel;

use inferometer_analysis::summary::Summary;
use inferometer_model::cell::CellPlan;
use inferometer_model::process::Process;
use inferometer_model::record::Record;
use inferometer_model::sample::Observed;
use inferometer_plan::spec::Spec;
use inferometer_plan::{Plan, Repeat, TargetPlan};
use inferometer_store::{Ending, Entry, LogReader, PassBegin, RunState, Store, StoredRun};
use serde_json::{Map, Value};

use super::Resolved;
use crate::exit::Failure;

/// A pass that was measured.
pub struct Kept {
    /// How it began.
    pub begin: PassBegin,
    /// Its records.
    pub records: Vec<Record>,
    /// What this program went through.
    pub process: Option<Process>,
    /// What the server and the cards said.
    pub observed: Observed,
}

/// A run to go on with.
pub struct Earlier {
    /// Its plan as a plan file would say it, with what keeps its prompts apart.
    pub keys: Map<String, Value>,
    /// Which of several servers it measured.
    pub facts: BTreeMap<String, String>,
    stored: StoredRun,
}

impl Earlier {
    /// Finds a run that can be gone on with.
    ///
    /// # Errors
    /// When there is none of this name, or it is complete or of another version of this program.
    pub fn find(store: &Path, name: &str) -> Result<Self, Failure> {
        let problem = |what: String| Failure::usage(format!("--resume: {what}"));
        let store = Store::open_existing(store).map_err(|error| problem(error.to_string()))?;
        let stored = store.run(name).map_err(|error| problem(error.to_string()))?;
        let run = stored.row.id.to_string();
        if stored.row.state == RunState::Complete {
            return Err(problem(format!(
                "run {run} is complete; there is nothing left to measure"
            )));
        }
        if stored.row.predicted {
            return Err(problem(format!("run {run} is a prediction, which is made anew at once")));
        }
        let plan: Plan = serde_json::from_str(&stored.plan_json).map_err(|error| {
            problem(format!("run {run}: its plan is of another version of this program: {error}"))
        })?;
        let asked = Spec {
            seed: Some(plan.seed),
            salt: stored.environment.salt.clone(),
            // A run of a group has a folder within that of the group.
            out: plan.asked.out.clone().filter(|_| fact(&stored, "group").is_none()),
            ..(*plan.asked).clone()
        };
        let Ok(Value::Object(mut keys)) = serde_json::to_value(asked) else {
            return Err(problem(format!("run {run}: its plan cannot be read")));
        };
        keys.retain(|_, value| !value.is_null());
        let of_group = ["group", "variant", "round"];
        let facts = stored.target.facts.clone().into_iter();
        Ok(Self {
            facts: facts
                .filter(|(name, _)| of_group.contains(&name.as_str()))
                .chain([("resumes".to_owned(), run)])
                .collect(),
            keys,
            stored,
        })
    }

    /// The cells of the run that were measured whole, pass by pass: all their passes were carried
    /// out, with no more failures than the plan allows.
    ///
    /// # Errors
    /// When the plan is not that of the run, or the run's log cannot be read.
    pub fn kept(&self, plan: &Plan) -> Result<Vec<(CellPlan, Vec<Kept>)>, Failure> {
        kept(&self.stored, plan)
    }
}

/// The command that goes on with a run that was interrupted.
pub fn command(resolved: &Resolved, run: &str) -> String {
    let (plan, name) = match resolved.facts.get("group") {
        Some(group) => ("PLAN.toml ", group.as_str()),
        None => ("", run),
    };
    let store = match resolved.store.as_path() {
        store if store == Path::new("inferometer.db") => String::new(),
        store => format!(" --store '{}'", store.display()),
    };
    let headers: String = match &resolved.plan.target {
        // Their values may be secrets, and are not kept.
        TargetPlan::Server { header_names, .. } => {
            header_names.iter().map(|name| format!(" --header '{name}: ...'")).collect()
        }
        TargetPlan::Embedded { .. } => String::new(),
    };
    let command = if resolved.plan.search.is_some() { "search" } else { "run" };
    format!("inferometer {command} {plan}--resume {name}{store}{headers}")
}

/// The cells of a stored run that were measured whole.
fn kept(stored: &StoredRun, plan: &Plan) -> Result<Vec<(CellPlan, Vec<Kept>)>, Failure> {
    is_of(stored, plan)?;
    let mut cells: Vec<(CellPlan, Vec<Kept>)> = Vec::new();
    let mut current: Option<Kept> = None;
    let mut last = None;
    let log = LogReader::open(&stored.log).map_err(Failure::not_carried_out)?;
    for entry in log {
        match entry {
            Ok(Entry::PassBegin(begin)) => {
                let observed = Observed::default();
                last = Some(begin.cell);
                current = Some(Kept { begin, records: Vec::new(), process: None, observed });
            }
            Ok(Entry::Record(record)) => {
                if let Some(kept) = &mut current {
                    kept.records.push(*record);
                }
            }
            Ok(Entry::Observed(said)) => {
                if let Some(kept) = &mut current {
                    kept.observed.extend(*said);
                }
            }
            Ok(Entry::PassEnd(end)) => {
                let whole = current.take().filter(|_| end.ending == Ending::Complete);
                if let Some(mut kept) = whole.filter(|kept| is_good(kept, plan)) {
                    kept.process = end.process;
                    let cell = kept.begin.cell;
                    match cells.iter_mut().find(|(known, _)| *known == cell) {
                        Some((_, passes)) => passes.push(kept),
                        None => cells.push((cell, vec![kept])),
                    }
                }
            }
            Ok(Entry::RunEnd(_)) => break,
            Err(error) if error.is_cut() => break,
            Err(error) => return Err(Failure::not_carried_out(error)),
        }
    }
    let broke_off = last.filter(|_| stored.row.state != RunState::Complete);
    cells.retain(|(cell, passes)| {
        passes.len() >= plan.passes.len() * repeats_wanted(&plan.repeat, Some(*cell) == broke_off)
    });
    Ok(cells)
}

/// So many repeats make a cell whole. How many there are may depend on what is measured: of the cell
/// in which a run broke off nobody knows whether it had enough.
fn repeats_wanted(repeat: &Repeat, broke_off: bool) -> usize {
    (if broke_off { repeat.at_most } else { repeat.at_least }) as usize
}

/// Whether it brought something, and no more requests failed than the plan allows. Of a search every
/// trial counts.
fn is_good(kept: &Kept, plan: &Plan) -> bool {
    // What a server refuses is what a search is to find out: no trial is left out by its outcome.
    if plan.search.is_some() {
        return true;
    }
    let all = kept.records.len();
    let complete = kept.records.iter().filter(|record| record.outcome.is_complete()).count();
    // However many may fail: of a pass without one answer there is no result, and it is measured anew.
    complete > 0 && (all - complete) as f64 <= plan.max_failures * all as f64
}

/// The records of a pass as they came, under the number that the pass has now.
pub fn replayed(
    kept: Vec<Record>,
    pass: u32,
) -> std::sync::mpsc::Receiver<super::recording::Message> {
    let (sender, receiver) = channel();
    for record in kept {
        // The receiver is there until all are sent.
        let _ = sender.send((Record { pass, ..record }, None));
    }
    receiver
}

/// What begins the name of a group.
pub const GROUP: &str = "group-";
/// The fact of a target that holds the salt of its group: each round has one of its own.
pub const GROUP_SALT: &str = "group_salt";

/// The runs of a plan with several servers, as far as they came.
pub struct EarlierGroup {
    /// Its name.
    pub name: String,
    /// Why other runs of the store cannot be read, of whatever group they are.
    pub unread: Vec<String>,
    runs: Vec<StoredRun>,
}

/// What became of a run of a group.
pub enum Before {
    /// It was carried out whole.
    Whole(Box<Summary>),
    /// It has these cells; empty where it was never begun.
    Part(Vec<(CellPlan, Vec<Kept>)>, Option<String>),
}

impl Before {
    fn progress(&self) -> usize {
        match self {
            Self::Whole(_) => usize::MAX,
            Self::Part(cells, _) => cells.len(),
        }
    }
}

impl EarlierGroup {
    /// Finds a group by its name.
    ///
    /// # Errors
    /// When no run in the store is of it.
    pub fn find(store: &Path, name: &str) -> Result<Self, Failure> {
        let problem = |what: String| Failure::usage(format!("--resume: {what}"));
        let store = Store::open_existing(store).map_err(|error| problem(error.to_string()))?;
        let rows = store.runs().map_err(|error| problem(error.to_string()))?;
        let (mut runs, mut unread) = (Vec::new(), Vec::new());
        for row in rows {
            match store.run(row.id.as_str()) {
                Ok(run) if run.target.facts.get("group").is_some_and(|group| group == name) => {
                    runs.push(run);
                }
                Ok(_) => {}
                Err(error) => unread.push(error.to_string()),
            }
        }
        if runs.is_empty() {
            let unread = unread.iter().map(|why| format!("; {why}")).collect::<String>();
            return Err(problem(format!("there is no run of {name}{unread}")));
        }
        runs.sort_by(|one, other| one.row.id.as_str().cmp(other.row.id.as_str()));
        Ok(Self { name: name.to_owned(), unread, runs })
    }

    /// What keeps its prompts apart from those of others.
    pub fn salt(&self) -> Option<String> {
        let told = self.runs.iter().find_map(|run| fact(run, GROUP_SALT).map(str::to_owned));
        told.or_else(|| self.runs.iter().find_map(|run| run.environment.salt.clone()))
    }

    /// What became of one of its runs, of several attempts the one that came furthest.
    ///
    /// # Errors
    /// When it was of another plan, or its log cannot be read.
    pub fn before(&self, variant: &str, round: u32, plan: &Plan) -> Result<Before, Failure> {
        let round = round.to_string();
        let of_round = self.of(variant).filter(|run| fact(run, "round") == Some(round.as_str()));
        let attempt = |run: &StoredRun| {
            let kept = kept(run, plan)?;
            let is_whole = run.row.state == RunState::Complete && kept.len() == plan.cells.len();
            Ok(match &run.summary {
                Some(summary) if is_whole => Before::Whole(Box::new(summary.clone())),
                _ => Before::Part(kept, Some(run.row.id.to_string())),
            })
        };
        Ok(furthest(of_round.map(attempt).collect::<Result<Vec<_>, Failure>>()?))
    }

    /// That the runs of one of its servers are of this plan.
    ///
    /// # Errors
    /// When one is not.
    pub fn check(&self, variant: &str, plan: &Plan) -> Result<(), Failure> {
        self.of(variant).try_for_each(|run| is_of(run, plan))
    }

    /// The attempts at one of its servers, in the order of time.
    fn of(&self, variant: &str) -> impl Iterator<Item = &StoredRun> {
        self.runs.iter().filter(move |run| fact(run, "variant") == Some(variant))
    }
}

/// The attempt that came furthest; of those that came as far as each other, the last.
fn furthest(attempts: Vec<Before>) -> Before {
    let found = attempts.into_iter().max_by_key(Before::progress);
    found.unwrap_or_else(|| Before::Part(Vec::new(), None))
}

fn fact<'a>(run: &'a StoredRun, name: &str) -> Option<&'a str> {
    run.target.facts.get(name).map(String::as_str)
}

/// That a stored run is of this plan.
fn is_of(stored: &StoredRun, plan: &Plan) -> Result<(), Failure> {
    if plan.hash() == stored.plan_hash {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--resume: this is another plan than that of run {}; leave out what changes it",
        stored.row.id
    )))
}

#[cfg(test)]
mod tests {
    use inferometer_model::outcome::Outcome;

    use super::*;

    #[test]
    fn a_cell_in_which_a_run_broke_off_is_whole_only_with_all_repeats_that_it_could_have() {
        let fixed = Repeat { at_least: 3, at_most: 3, ..Repeat::default() };
        let open = Repeat { at_most: 9, ..fixed.clone() };
        let wanted = |repeat, broke_off| repeats_wanted(repeat, broke_off);
        assert_eq!((wanted(&fixed, false), wanted(&fixed, true)), (3, 3));
        assert_eq!((wanted(&open, false), wanted(&open, true)), (3, 9));
    }

    #[test]
    fn a_pass_without_an_answer_is_measured_anew_however_many_may_fail() {
        for (complete, failed, max_failures, good) in [
            (0, 4, 1.0, false),
            (1, 3, 1.0, true),
            (4, 0, 0.0, true),
            (3, 1, 0.0, false),
            (3, 1, 0.25, true),
        ] {
            let spec = serde_json::json!({
                "target": "http://127.0.0.1:8000", "model": "m", "input_lengths": [8],
                "output_lengths": [8], "saturated": 4, "max_failures": max_failures,
            });
            let spec: Spec = serde_json::from_value(spec).unwrap();
            let known = inferometer_plan::spec::Known { dialects: &[], models: &[] };
            let plan = spec.resolve(&known).unwrap();
            let begin =
                PassBegin { pass: 0, cell: plan.cells[0], plan: plan.passes[0].clone(), repeat: 1 };
            let of = |outcome, count| {
                let planned = Record::planned(0, 0, inferometer_model::time::Nanos::ZERO);
                std::iter::repeat_n(Record { outcome, ..planned }, count)
            };
            let rejected = Outcome::Rejected { status: 503 };
            let records = of(Outcome::Complete, complete).chain(of(rejected, failed)).collect();
            let observed = Observed::default();
            let kept = Kept { begin, records, process: None, observed };
            assert_eq!(is_good(&kept, &plan), good, "{complete} and {failed}, {max_failures}");
        }
    }

    #[test]
    fn of_several_attempts_the_one_that_came_furthest_counts_and_of_equals_the_last() {
        let part = |name: &str, cells: usize| {
            Before::Part(
                (0..cells).map(|_| (CellPlan::OWN, Vec::new())).collect(),
                Some(name.to_owned()),
            )
        };
        let name = |attempts| match furthest(attempts) {
            Before::Part(_, name) => name,
            Before::Whole(_) => None,
        };
        assert_eq!(name(vec![part("a", 2), part("b", 0)]).as_deref(), Some("a"));
        assert_eq!(name(vec![part("a", 2), part("b", 2), part("c", 1)]).as_deref(), Some("b"));
        assert_eq!(name(Vec::new()), None);
    }
}
