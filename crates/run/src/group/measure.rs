//! Runs a plan with several servers: one run for each server in each round. In a round, all servers get the same
//! prompts, if they count tokens in the same way. Then compares the runs. Never measures two servers at a time. If the
//! servers are candidates of `tune`, [`Tune`] decides which of them each round has.

use std::path::PathBuf;

use inferometer_analysis::effect::{SweptRun, effects};
use inferometer_analysis::{
    Summary, compare::Subject, load_ranking::load_rankings, predicted_ranking::judge_predictions,
    ranking::rankings, tune::Tune,
};
use inferometer_model::{Nanos, target::Origin};
use inferometer_net::monotonic_now;
use inferometer_plan::Plan;
use inferometer_plan::spec::{Spec, Variant};
use inferometer_report::comparison::{self, COMPARISON_SCHEMA, Comparison};
use inferometer_report::{PlotFiles, progress::Notice};

use super::done::{Done, different_requests};
use super::estimate;
use super::names::{file_name, salt_of_round};
use super::tune::{add_run, failed_candidates, members_of, without_answer};
use crate::resume::{EarlierAttempt, EarlierGroup, GROUP};
use crate::{
    Context, Events, Finished, Host, Outputs, PlanError, RunError, RunRequest, Servers, Shortfall,
    Strictness, Variables, carry_out, inputs::credentials, inputs::resolve::fresh_salt, judge,
    resolve, results::outputs,
};

/// A plan with several servers, resolved.
pub struct Group {
    /// The name of the group.
    name: String,
    /// The servers of the group, each with its plan.
    pub members: Vec<Member>,
    /// Makes the prompts of this group differ from those of groups with another salt. The salt is the same for all
    /// servers, so that all servers get the same requests.
    salt: String,
    /// The number of rounds over all servers.
    pub rounds: u32,
    /// Decides which servers each round has; absent if each round has all of them.
    pub tune: Option<Tune>,
    /// The earlier runs of the group, if it is resumed.
    earlier: Option<EarlierGroup>,
}

/// A server of a group.
pub struct Member {
    /// The name of the server, and how it differs from the other servers.
    pub variant: Variant,
    /// The plan that is measured on the server.
    pub plan: Plan,
    /// The inputs of the server's runs, in addition to the plan. Folder, facts and salt are set again for each run.
    pub context: Context,
}

/// A group that has ended, with all its runs or only some of them.
pub struct FinishedGroup {
    /// The comparison of the group's runs.
    pub comparison: Comparison,
    /// The folder of the comparison.
    pub folder: PathBuf,
    /// The form and the colours of its plots.
    pub plots: PlotFiles,
    /// Errors and shortfalls, each with the name of its run, or with `the comparison`.
    pub failures: Vec<(String, RunError)>,
}

impl Group {
    /// Resolves the plan of each server.
    ///
    /// # Errors
    /// All mistakes, each with the name of its server. Also when a group is resumed with another plan or
    /// another salt.
    pub fn resolve(
        variants: Vec<Variant>,
        rounds: u32,
        earlier: Option<EarlierGroup>,
        host: &Host,
        variables: Variables<'_>,
    ) -> Result<Self, RunError> {
        let given = variants.first().and_then(|variant| variant.spec.salt.clone());
        let salt = earlier.as_ref().and_then(EarlierGroup::salt);
        if let (Some(salt), Some(given)) = (&salt, given.as_ref())
            && salt != given
        {
            return Err(RunError::plan(format!(
                "salt (--salt): the prompts of this group have the salt `{salt}`, and the \
                    remaining runs need the same one; leave out --salt"
            )));
        }
        let salt = salt.or(given).unwrap_or_else(fresh_salt);
        let new_name = || format!("{GROUP}{}", fresh_salt());
        let name = earlier.as_ref().map_or_else(new_name, |group| group.name.clone());
        let mut members = Vec::new();
        let mut mistakes = Vec::new();
        for variant in variants {
            let spec = Spec { salt: Some(salt.clone()), ..variant.spec.clone() };
            let named = credentials::check_name(&variant.name, &spec, variables);
            match named.and_then(|()| resolve(&spec, variables)) {
                Ok((plan, mut context)) => {
                    let of_plan = earlier.as_ref().map(|group| group.check(&variant.name, &plan));
                    of_plan.transpose().map_err(|error| error.of(&variant.name))?;
                    context.host = host.clone();
                    members.push(Member { variant, plan, context });
                }
                Err(error) => {
                    let secrets = credentials::secrets(&spec, variables);
                    mistakes.extend(error.of(&variant.name).redacted(&secrets).mistakes);
                }
            }
        }
        if !mistakes.is_empty() {
            mistakes.dedup();
            return Err(PlanError::from(mistakes).into());
        }
        Ok(Self { name, members, salt, rounds, tune: None, earlier })
    }

    /// How long all runs take together. For some plans, this time is not known.
    pub fn estimate(&self) -> Notice {
        estimate::of_all(self.members.iter().map(|member| &member.plan), self.rounds)
    }

    /// Measures all servers and writes the comparison. An error of one server is reported, and then the
    /// next server is measured.
    ///
    /// # Errors
    /// When the folder cannot be used, or the comparison cannot be written; the recorded runs remain in the store.
    pub fn run(self, events: &Events, strictness: Strictness) -> Result<FinishedGroup, RunError> {
        self.run_with(events, strictness, &mut carry_out)
    }

    /// Like [`Group::run`], but `measure` carries out each run, and chooses its network and its server.
    ///
    /// # Errors
    /// The errors of [`Group::run`].
    pub fn run_with(
        self,
        events: &Events,
        strictness: Strictness,
        measure: &mut Measure<'_>,
    ) -> Result<FinishedGroup, RunError> {
        let default = || PathBuf::from(outputs::DEFAULT_FOLDER).join(&self.name);
        let out = self.members.first().and_then(|member| member.context.out.clone());
        // The folder is checked and locked before anything is measured.
        let outputs = Outputs::prepare(Some(&out.unwrap_or_else(default)))?;
        let folder = outputs.folder().to_owned();
        let (done, failures) = (Vec::new(), Vec::new());
        let is_copied = false;
        let group = self;
        let mut run =
            GroupRun { group, folder, events, strictness, measure, done, failures, is_copied };
        run.carry_out();
        run.finish()
    }
}

/// Carries out one run of a group.
pub type Measure<'a> = dyn FnMut(RunRequest<'_>, &mut Servers) -> Result<Finished, RunError> + 'a;

/// A group in progress.
struct GroupRun<'a, 'm> {
    group: Group,
    folder: PathBuf,
    events: &'a Events,
    strictness: Strictness,
    measure: &'a mut Measure<'m>,
    done: Vec<Done>,
    failures: Vec<(String, RunError)>,
    /// Whether the last run is a copy of an earlier one.
    is_copied: bool,
}

/// Whether the next run begins.
#[derive(PartialEq, Eq)]
enum NextRun {
    Begins,
    Interrupted,
}

impl GroupRun<'_, '_> {
    /// Measures round by round. Each round has the opposite order of the previous round. So a drift over time
    /// affects all servers alike, and the last server of a round need not be started again for the next
    /// round.
    fn carry_out(&mut self) {
        let mut servers = Servers::default();
        let all = match &self.group.tune {
            Some(tune) => tune.most_runs(),
            None => self.group.members.len() * self.group.rounds as usize,
        };
        self.events.say(&Notice::GroupBegins { name: self.group.name.clone(), runs: all });
        if self.group.tune.is_none() {
            self.events.say(&self.group.estimate());
        }
        for why in self.group.earlier.iter().flat_map(|group| &group.unread) {
            self.events.say(&Notice::RunIgnored { why: why.clone() });
        }
        let (began, mut number) = (monotonic_now(), 0);
        for round in 1.. {
            let spent = monotonic_now().since(began);
            let Group { members, rounds, tune, .. } = &mut self.group;
            let members = members_of(tune.as_mut(), round, (members.len(), *rounds), spent);
            if members.is_empty() {
                break;
            }
            for index in members {
                let name = self.run_name(index, round);
                number += 1;
                let measured = self.done.iter().map(|done| &done.summary);
                let left_s = estimate::left_s(measured, all.saturating_sub(number - 1));
                let name_of_run = name.clone();
                let begins = Notice::RunBegins { number, runs: all, name: name_of_run, left_s };
                self.events.say(&begins);
                let before = (self.done.len(), self.failures.len(), monotonic_now());
                let next = self.one(index, round, &name, &mut servers);
                self.add_to_tune(index, before);
                if self.group.tune.is_some() {
                    // The rounds must be independent, so each run has a server of its own.
                    servers.end(self.events);
                }
                if next == NextRun::Interrupted {
                    return servers.end(self.events);
                }
            }
        }
        servers.end(self.events);
    }

    /// Adds the last run to the decision of `tune`. `before`: the numbers of runs and of failures before it, and when it
    /// began.
    fn add_to_tune(&mut self, index: usize, (done, failures, began): (usize, usize, Nanos)) {
        let Group { tune: Some(tune), members, name, .. } = &mut self.group else { return };
        let place = (name.as_str(), members[index].plan.slo.as_slice());
        let cells = self.done.get(done).map(|done| done.summary.cells.as_slice());
        let failed = self.failures.split_off(failures);
        let seconds = (!self.is_copied).then(|| monotonic_now().since(began).as_secs_f64());
        self.failures.extend(add_run(tune, place, failed, cells, (index, seconds)));
    }

    /// The name of a run: the name of the server, such as `max-num-seqs=16`, and the round if there are
    /// several rounds.
    fn run_name(&self, index: usize, round: u32) -> String {
        let name = match self.group.members[index].variant.name.as_str() {
            "" => "server",
            name => name,
        };
        let is_only = self.group.rounds == 1 && self.group.tune.is_none();
        if is_only { name.to_owned() } else { format!("{name}, round {round}") }
    }

    fn one(&mut self, index: usize, round: u32, name: &str, servers: &mut Servers) -> NextRun {
        let Group { name: group, members, salt, earlier, .. } = &mut self.group;
        let Member { variant, plan, context } = &mut members[index];
        context.out = Some(self.folder.join(file_name(name)));
        context.origin = Origin {
            group: Some(group.clone()),
            variant: Some(variant.name.clone()),
            round: Some(round),
            group_salt: Some(salt.clone()),
            ..Origin::default()
        };
        context.salt = salt_of_round(salt, round);
        context.resumed = Vec::new();
        let attempt = earlier.as_ref().map(|group| group.attempt(&variant.name, round, plan));
        let attempt = attempt.transpose();
        self.is_copied = matches!(attempt, Ok(Some(EarlierAttempt::Complete(..))));
        let finished = match attempt {
            Ok(Some(EarlierAttempt::Complete(summary, run))) => {
                self.events.say(&Notice::RunCopied { run: summary.run_id.clone() });
                Ok(Finished { summary: *summary, run, folder: None, interrupted: false })
            }
            Ok(Some(EarlierAttempt::Partial(cells, run))) => {
                context.resumed = cells;
                context.origin.resumes = run;
                (self.measure)(RunRequest { plan, context, events: self.events }, servers)
            }
            Ok(None) => (self.measure)(RunRequest { plan, context, events: self.events }, servers),
            Err(error) => {
                self.failures.push((name.to_owned(), error));
                return NextRun::Begins;
            }
        };
        match finished {
            Ok(finished) => {
                let judged = judge(plan, context, &finished, self.strictness);
                self.failures.extend(judged.err().map(|why| (name.to_owned(), why.into())));
                self.done.push(Done {
                    variant: variant.name.clone(),
                    settings: variant.settings.clone(),
                    round,
                    summary: finished.summary,
                });
                if finished.interrupted { NextRun::Interrupted } else { NextRun::Begins }
            }
            Err(error) => {
                self.events
                    .say(&Notice::RunFailed { name: name.to_owned(), why: error.to_string() });
                let interrupted = matches!(error, RunError::Interrupted(_));
                self.failures.push((name.to_owned(), error));
                if interrupted { NextRun::Interrupted } else { NextRun::Begins }
            }
        }
    }

    /// Each server with the figures of its rounds.
    fn servers(&self) -> Vec<Subject> {
        let mut rounds: Vec<(&str, Vec<Subject>)> = Vec::new();
        for done in &self.done {
            let run = Subject::of_run(done.summary.run_id.clone(), &done.summary);
            match rounds.iter_mut().find(|(name, _)| *name == done.variant) {
                Some((_, runs)) => runs.push(run),
                None => rounds.push((&done.variant, vec![run])),
            }
        }
        rounds.into_iter().map(|(name, runs)| Subject::of_several(name, runs)).collect()
    }

    /// The report files of the runs that exist, relative to the folder.
    fn reports(&self) -> Vec<String> {
        let last = self.done.iter().map(|done| done.round).max().unwrap_or(1);
        let (rounds, members) = (1..=last, 0..self.group.members.len());
        let names = rounds.flat_map(|round| members.clone().map(move |index| (index, round)));
        let names = names.map(|(index, round)| file_name(&self.run_name(index, round)));
        let files = names.map(|name| format!("{name}/report.html"));
        files.filter(|file| self.folder.join(file).is_file()).collect()
    }

    /// Compares the runs that have results, and writes the comparison if there are any.
    fn finish(mut self) -> Result<FinishedGroup, RunError> {
        let tried: Vec<SweptRun<'_>> = self.done.iter().map(Done::tried).collect();
        let plan = self.group.members.first().map(|member| &member.plan);
        let remark = plan.and_then(|plan| different_requests(plan, &self.done));
        let runs = self.done.iter().map(|done| (done.variant.as_str(), &done.summary));
        let runs: Vec<(&str, &Summary)> = runs.collect();
        let loads = load_rankings(&runs);
        // The trials of searches and sweeps have different loads, so they are not ranked, and show no effects.
        // The intervals of a ranking do not hold together, so `tune` has none.
        let (mut effects, mut ranking) = match loads.is_empty() && self.group.tune.is_none() {
            true => (effects(&tried), rankings(&self.servers())),
            false => (Vec::new(), Vec::new()),
        };
        let are_predicted =
            !self.done.is_empty() && self.done.iter().all(|it| it.summary.predicted);
        let tune = self.group.tune.as_ref().map(Tune::answer);
        if are_predicted {
            judge_predictions(&mut ranking, &runs);
            // The rounds of a prediction do not show its error.
            effects.iter_mut().for_each(|effect| effect.change_ci = None);
        }
        let failed = self.failures.iter().map(|(name, why)| format!("{name}: {why}"));
        let of_tune = tune.iter().flat_map(failed_candidates);
        let failed: Vec<String> = failed.chain(of_tune).collect();
        let plots = self.group.members.first().map(|one| one.context.plots).unwrap_or_default();
        let comparison = Comparison {
            schema: COMPARISON_SCHEMA.to_owned(),
            group: self.group.name.clone(),
            effects,
            answers: match &tune {
                Some(answer) => vec![comparison::told(&answer.sentence, are_predicted)],
                None => comparison::answers(&ranking, &loads, are_predicted),
            },
            tune,
            ranking,
            failed,
            remarks: remark.iter().cloned().collect(),
            runs: self.done.iter().map(|done| done.summary.clone()).collect(),
        };
        if !comparison.runs.is_empty() {
            outputs::write_group(&self.folder, &comparison, &self.reports(), plots)?;
        }
        let failed = remark.map(|why| ("the comparison".to_owned(), Shortfall::Failed(why).into()));
        self.failures.extend(failed);
        self.failures.extend(comparison.tune.as_ref().and_then(without_answer));
        Ok(FinishedGroup { comparison, folder: self.folder, plots, failures: self.failures })
    }
}
