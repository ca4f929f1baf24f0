//! A plan with several servers: one run for each and each round, one after the other, over the
//! same requests, and their comparison. Never measures two at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inferometer_analysis::effect::{Tried, effects};
use inferometer_analysis::summary::Summary;
use inferometer_launch::preset;
use inferometer_load::PassPlan;
use inferometer_plan::Plan;
use inferometer_plan::spec;
use inferometer_plan::spec::{Spec, Variant};
use inferometer_report::comparison::{self, COMPARISON_SCHEMA, Comparison, VARIANT};
use inferometer_report::terminal;

use super::progress::Progress;
use super::resume::{Before, EarlierGroup, GROUP, GROUP_SALT};
use super::servers::Servers;
use super::session::Finished;
use super::{Clock, Options, Resolved, dry_run, fresh_salt, judge, outputs, resolve, session};
use crate::exit::{Failure, print};
use crate::plan_file::Several;

/// The servers of a plan, with what their presets say.
///
/// # Errors
/// Every mistake.
pub fn variants(spec: &Spec, several: &Several) -> Result<Vec<Variant>, Failure> {
    let mut base = spec.clone();
    let mut targets = several.targets.clone();
    let servers = targets.iter_mut().map(|target| &mut target.server);
    for server in servers.chain([&mut base.server]) {
        if let Some(given) = server.take() {
            *server = Some(preset::complete(given).map_err(Failure::usage)?);
        }
    }
    spec::variants(&base, &targets).map_err(Failure::Usage)
}

/// A run of the group that was or could not be carried out.
struct Done<'a> {
    variant: &'a Variant,
    round: u32,
    summary: Summary,
}

/// Carries out all of them and prints the comparison. What goes wrong with one server is told, and
/// the next one is measured.
///
/// # Errors
/// As the exit codes say, by the worst of the runs; what was recorded is kept.
pub fn run(
    variants: &[Variant],
    rounds: u32,
    earlier: Option<&EarlierGroup>,
    options: &Options,
) -> Result<(), Failure> {
    let given = variants[0].spec.salt.clone();
    let salt = earlier.and_then(EarlierGroup::salt);
    if let (Some(salt), Some(given)) = (&salt, given.as_ref())
        && salt != given
    {
        return Err(Failure::usage(format!(
            "salt (--salt): the group's prompts were made with `{salt}`, which those of the rest \
             must have too; leave it out"
        )));
    }
    let salt = salt.or(given).unwrap_or_else(fresh_salt);
    let group = earlier.map_or_else(|| format!("{GROUP}{}", fresh_salt()), |it| it.name.clone());
    let mut resolved = Vec::new();
    let mut mistakes = Vec::new();
    for variant in variants {
        // One salt, so that all of them get the same requests.
        let spec = Spec { salt: Some(salt.clone()), ..variant.spec.clone() };
        match resolve(&spec) {
            Ok(one) => {
                if let Some(Err(other)) = earlier.map(|it| it.check(&variant.name, &one.plan)) {
                    return Err(other.of(&variant.name));
                }
                resolved.push(one);
            }
            Err(failure) => match failure.of(&variant.name) {
                Failure::Usage(told) => mistakes.extend(told),
                other => return Err(other),
            },
        }
    }
    if !mistakes.is_empty() {
        mistakes.dedup();
        return Err(Failure::Usage(mistakes));
    }
    if options.dry_run {
        return resolved.iter().zip(variants).try_for_each(|(one, variant)| {
            if !options.json {
                print(&format!("# {}; rounds: {rounds}\n", variant.name))?;
            }
            dry_run(one, options, Clock::Real)
        });
    }
    let folder = resolved[0]
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(outputs::DEFAULT_FOLDER).join(&group));
    let mut runs = Runs {
        variants,
        resolved,
        salt,
        rounds,
        earlier,
        group,
        folder,
        options,
        done: Vec::new(),
        failures: Vec::new(),
    };
    runs.carry_out();
    runs.finish()
}

struct Runs<'a> {
    variants: &'a [Variant],
    resolved: Vec<Resolved>,
    /// Keeps its prompts apart from those of others.
    salt: String,
    rounds: u32,
    /// The runs of it that were carried out before it was broken off.
    earlier: Option<&'a EarlierGroup>,
    group: String,
    folder: PathBuf,
    options: &'a Options,
    done: Vec<Done<'a>>,
    /// What went wrong, with the name of the server.
    failures: Vec<(String, Failure)>,
}

impl Runs<'_> {
    /// Round by round, each in the opposite order of the one before: what drifts with time weighs
    /// on all servers alike, and the last server of a round needs no new start for the next.
    fn carry_out(&mut self) {
        let progress = Progress::new(self.options);
        let mut servers = Servers::default();
        let count = self.variants.len();
        progress.say(&format!(
            "{}: {} runs; --resume {0} goes on with it",
            self.group,
            count * self.rounds as usize
        ));
        for why in self.earlier.iter().flat_map(|it| &it.unread) {
            progress.say(&format!("a run of the store is passed over: {why}"));
        }
        for round in 1..=self.rounds {
            for position in 0..count {
                let index = if round % 2 == 1 { position } else { count - 1 - position };
                let name = self.name(index, round);
                progress.say(&format!(
                    "\n[{} of {}] {name}",
                    (round as usize - 1) * count + position + 1,
                    count * self.rounds as usize
                ));
                let interrupted = self.one(index, round, &name, &mut servers);
                if interrupted {
                    return servers.end(progress);
                }
            }
        }
        servers.end(progress);
    }

    /// `max-num-seqs=16`, and which round where there are several.
    fn name(&self, index: usize, round: u32) -> String {
        let name = match self.variants[index].name.as_str() {
            "" => "server",
            name => name,
        };
        if self.rounds > 1 { format!("{name}, round {round}") } else { name.to_owned() }
    }

    /// One run. Tells whether the user has interrupted it.
    fn one(&mut self, index: usize, round: u32, name: &str, servers: &mut Servers) -> bool {
        let variant = &self.variants[index];
        let resolved = &mut self.resolved[index];
        resolved.out = Some(self.folder.join(file_name(name)));
        resolved.facts = BTreeMap::from([
            ("group".to_owned(), self.group.clone()),
            (VARIANT.to_owned(), variant.name.clone()),
            ("round".to_owned(), round.to_string()),
            (GROUP_SALT.to_owned(), self.salt.clone()),
        ]);
        resolved.salt = salt_of_round(&self.salt, round);
        resolved.kept = Vec::new();
        let progress = Progress::new(self.options);
        let before = self.earlier.map(|it| it.before(&variant.name, round, &resolved.plan));
        match before.transpose() {
            Err(failure) => {
                self.failures.push((name.to_owned(), failure));
                return false;
            }
            Ok(Some(Before::Whole(summary))) => {
                progress.say(&format!("taken over from run {}", summary.run_id));
                let finished =
                    Finished { summary: *summary, files: String::new(), interrupted: false };
                let judged = judge(resolved, &finished, self.options);
                self.done.push(Done { variant, round, summary: finished.summary });
                self.failures.extend(judged.err().map(|failure| (name.to_owned(), failure)));
                return false;
            }
            Ok(Some(Before::Part(kept, run))) => {
                resolved.kept = kept;
                resolved.facts.extend(run.map(|run| ("resumes".to_owned(), run)));
            }
            Ok(None) => {}
        }
        let finished = match session::carry_out(resolved, self.options, servers) {
            Ok(finished) => finished,
            Err(failure) => {
                progress.say(&format!("error: {name}: {}", failure.words()));
                let interrupted = matches!(failure, Failure::Interrupted(_));
                self.failures.push((name.to_owned(), failure));
                return interrupted;
            }
        };
        let judged = judge(resolved, &finished, self.options);
        let interrupted = finished.interrupted;
        self.done.push(Done { variant, round, summary: finished.summary });
        if let Err(failure) = judged {
            self.failures.push((name.to_owned(), failure));
        }
        interrupted
    }

    /// The comparison of what was measured: printed, written, judged.
    fn finish(mut self) -> Result<(), Failure> {
        let tried: Vec<Tried<'_>> = self
            .done
            .iter()
            .map(|done| Tried {
                settings: &done.variant.settings,
                round: done.round,
                cells: &done.summary.cells,
            })
            .collect();
        let effects = effects(&tried);
        let remark = different_requests(&self.resolved[0].plan, &self.done);
        let comparison = Comparison {
            schema: COMPARISON_SCHEMA.to_owned(),
            group: self.group.clone(),
            effects,
            failed: self
                .failures
                .iter()
                .map(|(name, why)| format!("{name}: {}", why.words()))
                .collect(),
            remarks: remark.iter().cloned().collect(),
            runs: self.done.iter().map(|done| done.summary.clone()).collect(),
        };
        if !comparison.runs.is_empty() {
            outputs::Outputs::prepare(Some(&self.folder))?;
            outputs::write_group(&self.folder, &comparison)?;
        }
        print(&self.printed(&comparison))?;
        if let Some(remark) = remark {
            self.failures.push(("the comparison".to_owned(), Failure::NotCarriedOut(remark)));
        }
        worst(self.failures)
    }

    fn printed(&self, comparison: &Comparison) -> String {
        if self.options.json {
            return comparison::json(comparison);
        }
        let mut text = terminal::text(&comparison.runs, outputs::colour());
        text += &comparison::text(comparison);
        if !comparison.runs.is_empty() {
            let folder = self.folder.display();
            text += &format!(
                "\ncomparison: {folder}/comparison.md; plots: {folder}/*.png; a report of each run \
                 in a folder beside them\n"
            );
        }
        text
    }
}

/// What is told when the servers did not get the same requests, though the plan says how many
/// there are. Where time ends a load, each server gets as many as it takes.
fn different_requests(plan: &Plan, done: &[Done<'_>]) -> Option<String> {
    let is_counted = |pass: &PassPlan| match pass {
        PassPlan::OneByOne { .. } | PassPlan::Saturated { .. } => true,
        PassPlan::Closed { bound, .. } => bound.duration.is_none(),
        PassPlan::Open { bound, .. } => bound.duration.is_none(),
        _ => false,
    };
    let is_fixed =
        plan.passes.iter().all(is_counted) && plan.repeat.at_least == plan.repeat.at_most;
    // A run that lacks passes lacks their requests.
    let is_whole = |summary: &Summary| {
        let codes = [session::RUN_INCOMPLETE, session::SERVER_DIED];
        !summary.findings.iter().any(|finding| codes.contains(&finding.code.as_str()))
    };
    let whole: Vec<&Done<'_>> = done.iter().filter(|done| is_whole(&done.summary)).collect();
    let differ = |one: &Done<'_>, other: &Done<'_>| {
        one.round == other.round && one.summary.workload_hash != other.summary.workload_hash
    };
    let (first, other) = whole.iter().find_map(|first| {
        let other = whole.iter().find(|other| differ(first, other))?;
        Some((first, other))
    })?;
    is_fixed.then(|| {
        format!(
            "{} and {} did not get the same requests: they count tokens differently, or differ in \
             `extra_body`; name one `tokenizer` for all, or do not compare them",
            first.variant.name, other.variant.name
        )
    })
}

/// Prompts of a round are the same for all servers, and no other round's: a server that was not
/// started anew in between would answer them from its cache.
fn salt_of_round(salt: &str, round: u32) -> String {
    if round == 1 { salt.to_owned() } else { format!("{salt}-{round}") }
}

/// The failure that decides the exit code: the one that a single run would have had, of several
/// the first of the gravest kind.
fn worst(mut failures: Vec<(String, Failure)>) -> Result<(), Failure> {
    let gravity = |failure: &Failure| match failure {
        Failure::Interrupted(_) => 0,
        Failure::Usage(_) => 1,
        Failure::NotCarriedOut(_) => 2,
        Failure::Objective(_) => 3,
        Failure::Suspect(_) => 4,
    };
    failures.sort_by_key(|(_, failure)| gravity(failure));
    match failures.into_iter().next() {
        None => Ok(()),
        Some((name, failure)) => Err(failure.of(&name)),
    }
}

/// The name of a run as that of a folder.
fn file_name(name: &str) -> String {
    let clean: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '=') { c } else { '-' })
        .collect();
    let parts: Vec<&str> = clean.split('-').filter(|part| !part.is_empty()).collect();
    Path::new(&parts.join("-")).display().to_string()
}
