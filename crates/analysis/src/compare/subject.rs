//! One side of a comparison: its figures over repeats, and facts about them. They are read from the results of a run.

use std::collections::BTreeMap;

use super::answers::{self, Answer};
use super::series::{self, Series, TABLE_LOAD};
use super::tools;
use crate::{Imported, Summary, verdict::Validity};
use inferometer_model::{CellPlan, Code, Severity, code};
use inferometer_plan::Plan;

/// Names of facts. A difference in one of these facts may explain a difference in another one.
pub(super) const WORKLOAD: &str = "workload";
const PLAN: &str = "plan";
const SALT: &str = "salt";
const ROUND: &str = "round";
const TOKENIZER: &str = "tokenizer";
const TOKENIZER_FILE: &str = "tokenizer's file (SHA-256)";
/// The number of digits of a hash that a reader sees.
const SHORT_HASH: usize = 12;
/// If a run has one of these findings with the severity *warning*, its figures do not mean what their names suggest. So
/// every comparison of the run repeats the finding.
const OF_LENGTHS: [Code; 6] = [
    code::IMPORTED_OUTPUTS_SHORTER,
    code::IMPORTED_COLUMNS_INCONSISTENT,
    code::IMPORTED_LATENCIES_INCONSISTENT,
    code::IMPORTED_PHANTOM_TOKENS,
    code::OUTPUT_SHORTER_THAN_ASKED,
    code::OUTPUT_CAPPED,
];

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// The name in reports.
    pub name: String,
    /// The tool that measured the results.
    pub tool: String,
    /// The figures, with a value for each repeat.
    pub series: Vec<Series>,
    /// The mean of the counted input and output tokens per request, for each cell in which they are known.
    pub(super) counted: Vec<(CellPlan, [f64; 2])>,
    /// The answers of searches and sweeps.
    pub(super) answers: Vec<Answer>,
    /// Facts that must be equal on both sides for the figures to have the same meaning.
    pub(super) conditions: BTreeMap<&'static str, String>,
    /// Facts whose effect may be the purpose of the comparison, such as the version of the engine.
    pub(super) facts: BTreeMap<String, String>,
    /// The identifiers of the runs; absent if unknown. A comparison of a run with itself must report no difference.
    pub(super) identity: Option<Vec<String>>,
    /// Warnings about the figures that apply in every comparison.
    pub(super) warnings: Vec<String>,
    /// The part of the plan that determines the prompts, except for the salt and the seed. Absent if the plan is
    /// unknown.
    pub(super) kind_of_prompts: Option<String>,
    /// The load of the passes from which each column of the table is computed, for each cell that has passes.
    pub(super) loads_of_tables: Vec<(CellPlan, &'static str, String)>,
    /// Whether all results were published, predicted, or measured by another program: no more repeats can be measured.
    pub(super) is_fixed: bool,
    /// Whether all results are predictions.
    pub(super) is_predicted: bool,
}

impl Subject {
    /// One side of a comparison, from the results of a run.
    pub fn of_run(name: impl Into<String>, summary: &Summary) -> Self {
        let conditions = [
            // Absent for a prediction that uses only the lengths of prompts.
            (WORKLOAD, summary.workload_hash.clone()),
            (TOKENIZER, tokenizer(summary)),
            (TOKENIZER_FILE, summary.environment.tokenizer_sha256.clone()),
            ("predicted", Some(summary.predicted.to_string())),
            ("metric definitions", Some(summary.schema.clone())),
            ("speed", summary.target.facts.speed.map(|speed| format!("{speed:?}"))),
        ];
        let target = &summary.target;
        let mut facts = target.facts.texts();
        let others = [
            (PLAN, Some(summary.plan_hash.clone())),
            (SALT, summary.environment.salt.clone()),
            ("engine", target.engine.clone()),
            ("engine version", target.engine_version.clone()),
            ("model", Some(target.model.clone())),
            ("dialect", Some(target.dialect.clone())),
            ("profile", target.profile.clone()),
            ("price", summary.price.as_ref().map(|bill| bill.price.clone())),
            ("host", summary.environment.host.clone()),
            ("kernel", summary.environment.kernel.clone()),
            ("program", Some(summary.tool.version.clone())),
        ];
        facts.extend(others.into_iter().filter_map(|(key, fact)| Some((key.to_owned(), fact?))));
        let mut subject = Self {
            name: name.into(),
            tool: tools::of_run(summary),
            series: series::of_run(summary),
            counted: tools::counted(summary),
            answers: answers::of_run(summary),
            loads_of_tables: series::loads_of_tables(summary),
            is_fixed: summary.predicted
                || summary.imported.as_ref().is_some_and(|from| !from.is_ours()),
            conditions: conditions
                .into_iter()
                .filter_map(|(key, fact)| Some((key, fact?)))
                .collect(),
            facts,
            is_predicted: summary.predicted,
            identity: identity(summary).map(|run| vec![run]),
            warnings: warnings(summary),
            kind_of_prompts: None,
        };
        if let Some(imported) = &summary.imported {
            // The requests of other programs are unknown, so there are no conditions to check. For imported results of
            // this program, they are known.
            if !imported.is_ours() {
                subject.conditions.clear();
            }
            subject.facts.retain(|_, fact| !fact.is_empty() && fact != "unknown");
        }
        subject
    }

    /// One side of a comparison that has figures only, without facts.
    pub fn of_series(name: impl Into<String>, series: Vec<Series>) -> Self {
        Self { name: name.into(), tool: String::new(), series, ..Self::default() }
    }

    /// Adds the plan with which the run was measured. Then prompts that differ only in their salt can be distinguished
    /// from another workload.
    #[must_use]
    pub fn planned_by(mut self, plan: &Plan) -> Self {
        let Plan {
            workload, cells, passes, sampling, tokenizer, token_ids, count_template, ..
        } = plan;
        let kind = (workload, cells, passes, sampling, tokenizer, token_ids, count_template);
        self.kind_of_prompts = serde_json::to_string(&kind).ok();
        self
    }

    /// The name of the first subject that contains a run of an earlier subject; `None` if there is none.
    pub fn first_duplicate(runs: &[Self]) -> Option<&str> {
        let is_known = |(at, run): &(usize, &Self)| {
            let mut known = runs[..*at].iter().flat_map(|before| before.identity.iter().flatten());
            known.any(|id| run.identity.iter().flatten().any(|own| own == id))
        };
        runs.iter().enumerate().find(is_known).map(|(_, run)| run.name.as_str())
    }

    /// The identifiers of the runs, separated by spaces; `None` if unknown.
    pub fn runs(&self) -> Option<String> {
        self.identity.as_ref().map(|runs| runs.join(" "))
    }

    /// Joins several runs: the repeats of all of them, and the facts of the first one. If a condition of another run
    /// differs from that of the first one, there is a warning. Differing facts give no warning. The columns of a
    /// published table are joined with the load that provides them in another run.
    ///
    /// # Panics
    /// If `runs` is empty.
    pub fn of_several(name: impl Into<String>, runs: Vec<Self>) -> Self {
        let loads: Vec<_> = runs.iter().flat_map(|run| run.loads_of_tables.clone()).collect();
        let mut runs = runs.into_iter().map(|run| run.with_loads(&loads));
        let mut all = runs.next().expect("invariant: at least one run");
        all.name = name.into();
        all.facts.remove(ROUND);
        let first = all.clone();
        for run in runs {
            let (warnings, _) = first.differences(&Self { name: all.name.clone(), ..run.clone() });
            for told in warnings {
                let told = told.strip_prefix(&format!("{} ", all.name)).unwrap_or(&told);
                let told = match run.warnings.iter().any(|own| own == told) {
                    true => told.to_owned(),
                    false => format!("joins runs that differ: {told}"),
                };
                if !all.warnings.contains(&told) {
                    all.warnings.push(told);
                }
            }
            all.is_fixed &= run.is_fixed;
            all.is_predicted &= run.is_predicted;
            all.answers.extend(run.answers);
            all.counted.extend(run.counted);
            for series in run.series {
                match all.series.iter_mut().find(|known| known.is_same_figure(&series)) {
                    Some(known) => {
                        known.values.extend(series.values);
                        known.times_s.extend(series.times_s);
                    }
                    None => all.series.push(series),
                }
            }
            all.identity = all.identity.zip(run.identity).map(|(all, run)| [all, run].concat());
        }
        all.series.iter_mut().for_each(Series::sort);
        all.loads_of_tables = loads;
        all
    }

    /// A copy in which the columns of a table without a load get these loads, which are [`Self::loads_of_tables`] of
    /// another run.
    pub(super) fn with_loads(&self, loads: &[(CellPlan, &'static str, String)]) -> Self {
        let mut subject = self.clone();
        for series in subject.series.iter_mut().filter(|series| series.load == TABLE_LOAD) {
            let is_its = |(cell, figure, _): &&(CellPlan, &str, String)| {
                Some(*cell) == series.cell && *figure == series.figure
            };
            if let Some((.., load)) = loads.iter().find(is_its) {
                load.clone_into(&mut series.load);
            }
        }
        subject
    }

    /// Whether the prompts differ only because of the salt: the salts differ, and the plans are equal or describe the
    /// same kind of prompts.
    fn has_the_same_kind_of_prompts(&self, other: &Self) -> bool {
        let differs = |key: &str| self.facts.get(key) != other.facts.get(key);
        let same_kind =
            self.kind_of_prompts.is_some() && self.kind_of_prompts == other.kind_of_prompts;
        differs(SALT) && (same_kind || !differs(PLAN))
    }

    /// Whether both are the same run, or the same runs.
    pub(super) fn is_same_run_as(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Series, &Series)| {
            one.is_same_figure(other) && one.values == other.values
        };
        self.identity.is_some()
            && self.identity == other.identity
            && self.series.len() == other.series.len()
            && self.series.iter().zip(&other.series).all(is_same)
    }

    /// Whether there are answers of searches or sweeps.
    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The cells that have a figure or an answer; absent for the mean over all cells.
    pub(super) fn cells(&self) -> Vec<Option<CellPlan>> {
        let answered = self.answers.iter().map(|answer| Some(answer.answered.cell));
        self.series.iter().map(|series| series.cell).chain(answered).collect()
    }

    /// The conditions that differ: the name, and the values of both. Prompts of the same kind are no difference.
    pub(super) fn differing_conditions(&self, other: &Self) -> Vec<[String; 3]> {
        let by_salt = self.has_the_same_kind_of_prompts(other);
        let both_files = [self, other].iter().all(|it| it.conditions.contains_key(TOKENIZER_FILE));
        let is_explained = |key: &str| match key {
            WORKLOAD => by_salt,
            // The hash of a file identifies it more reliably than its path.
            TOKENIZER => both_files,
            _ => false,
        };
        let differs = |(key, ours): (&&'static str, &String)| {
            let theirs = other.conditions.get(key).filter(|theirs| *theirs != ours)?;
            Some([(*key).to_owned(), ours.clone(), theirs.clone()])
        };
        let telling = self.conditions.iter().filter(|(key, _)| !is_explained(key));
        telling.filter_map(differs).collect()
    }

    /// Warnings about differences from another subject, and the facts that differ.
    pub(super) fn differences(&self, other: &Self) -> (Vec<String>, Vec<[String; 3]>) {
        let told = |subject: &Self| -> Vec<String> {
            let warnings = subject.warnings.iter();
            warnings.map(|what| format!("{} {what}", subject.name)).collect()
        };
        if self.is_same_run_as(other) {
            let same = "this compares a run with itself: any reported difference is wrong";
            return ([vec![same.to_owned()], told(self)].concat(), Vec::new());
        }
        let mut warnings = [told(self), told(other)].concat();
        let by_salt = self.has_the_same_kind_of_prompts(other);
        warnings.extend(self.differing_conditions(other).iter().map(|[key, ours, theirs]| {
            format!(
                "{key} differs ({ours} and {theirs}): the two did different work, or their \
                    figures have different meanings"
            )
        }));
        if self.conditions.is_empty() != other.conditions.is_empty() {
            warnings.push(
                "one of the two was published, or measured by another program: its method cannot \
                    be checked"
                    .to_owned(),
            );
        }
        if self.tool != other.tool && self.conditions.is_empty() && other.conditions.is_empty() {
            warnings.push(format!(
                "{} and {} measured the two: their clients may cause a difference",
                self.tool, other.tool
            ));
        }
        let mut prompts = Vec::new();
        if let [Some(ours), Some(theirs)] = [self, other].map(|it| it.conditions.get(WORKLOAD))
            && by_salt
            && ours != theirs
        {
            let short = |hash: &str| hash.chars().take(SHORT_HASH).collect::<String>();
            let theirs = format!("{}: other prompts of the same kind (salt)", short(theirs));
            prompts.push([WORKLOAD.to_owned(), short(ours), theirs]);
        }
        let absent = "-".to_owned();
        let both = self
            .facts
            .keys()
            .chain(other.facts.keys().filter(|key| !self.facts.contains_key(*key)));
        let telling = both.filter(|key| !IGNORED_FACTS.contains(&key.as_str()));
        let differing = telling.filter_map(|key| {
            let (ours, theirs) = (self.facts.get(key), other.facts.get(key));
            if let (Some(ours), Some(theirs)) = (ours, theirs)
                && without_ports(ours) == without_ports(theirs)
            {
                return None;
            }
            let text = |fact: Option<&String>| fact.unwrap_or(&absent).clone();
            (ours != theirs && !self.facts.is_empty() && !other.facts.is_empty())
                .then(|| [key.clone(), text(ours), text(theirs)])
        });
        (warnings, prompts.into_iter().chain(differing).collect())
    }
}

/// Facts that differ in every run, or that are only a hash of other facts.
const IGNORED_FACTS: [&str; 6] = [PLAN, SALT, "group_salt", "group", "order_salt", "side"];

/// Removes the ports after addresses of this machine, because they are random for each run.
fn without_ports(text: &str) -> String {
    const HOSTS: [&str; 3] = ["127.0.0.1:", "localhost:", "[::1]:"];
    let mut text = text.to_owned();
    for host in HOSTS {
        let parts: Vec<&str> = text.split(host).collect();
        let rest =
            parts[1..].iter().map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
        text = std::iter::once(parts[0]).chain(rest).collect::<Vec<_>>().join(host);
    }
    text
}

/// The identifier of a run, which stays the same after an import. For results of other programs: the hash of the file,
/// and the section within it.
fn identity(summary: &Summary) -> Option<String> {
    let part = |imported: &Imported| match imported.is_ours() {
        true => {
            imported.section.first().and_then(|run| run.strip_prefix("run ").map(str::to_owned))
        }
        false => Some(format!("{} {:?}", imported.sha256, imported.section)),
    };
    let run = || Some(summary.run_id.clone()).filter(|run| !run.is_empty());
    summary.imported.as_ref().map_or_else(run, part)
}

/// The tokenizer, independent of the server's address: a server's own tokenizer is identified by the model.
fn tokenizer(summary: &Summary) -> Option<String> {
    let name = summary.environment.tokenizer.as_ref()?;
    let Some((_, rest)) = name.split_once("://") else { return Some(name.clone()) };
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    Some(format!("the server's own for {} ({path})", summary.target.model))
}

/// Warnings about the figures of a run, each as the predicate of a sentence.
fn warnings(summary: &Summary) -> Vec<String> {
    let mut told = Vec::new();
    if summary.verdict.validity == Validity::Suspect {
        let first = summary.verdict.reasons.first().map_or("", String::as_str);
        told.push(format!("is suspect, so its figures are not trusted: {first}"));
    }
    if summary.predicted {
        told.push("is a prediction: nothing was measured".to_owned());
    } else if summary.target.simulated {
        told.push(
            "was measured on a simulated engine, so its figures say nothing about a real card"
                .to_owned(),
        );
    }
    let outcomes = summary.cells.iter().flat_map(|cell| &cell.passes).map(|pass| pass.outcomes);
    let (failed, all) = outcomes.fold((0, 0), |(failed, all), one| {
        let not_sent = one.skipped + one.cancelled;
        (failed + one.failed() - not_sent, all + one.total() - not_sent)
    });
    if failed > 0 {
        told.push(format!("has failed requests: {failed} of {all}"));
    }
    for code in OF_LENGTHS {
        let mut found = summary
            .findings
            .iter()
            .filter(|finding| finding.is(code) && finding.severity == Severity::Warning);
        let Some(first) = found.next() else { continue };
        let place = first.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
        let more = match found.count() {
            0 => String::new(),
            more => format!(" (also for {more} more of its cells and passes)"),
        };
        told.push(format!("has a warning: {place}{}{more}", first.message));
    }
    told
}
