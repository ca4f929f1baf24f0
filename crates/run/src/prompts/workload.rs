//! Opens the workload of a run, and makes the prompts of each cell and pass.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::{path::PathBuf, sync::Arc};

use inferometer_model::{CellPlan, Finding, Request};
use inferometer_plan::{Plan, WorkloadPlan};
use inferometer_wire::dialect::Dialect;
use inferometer_workload::fetch::{self, FetchConfig};
use inferometer_workload::jobs::synthetic::PREFIX;
use inferometer_workload::{
    AdapterMix, History, MediaMaker, OpenWorkload, PromptForm, PromptScope, RequestBatch,
    check_data_set,
};

use super::tokenizer::PromptTokenizer;
use crate::RunError;

/// Refuses a data set that cannot be read, before anything is sent.
///
/// # Errors
/// When the data set cannot be read.
pub fn check_dataset(plan: &Plan) -> Result<(), RunError> {
    match plan.workload.dataset() {
        None => Ok(()),
        Some(dataset)
            if dataset.starts_with(PREFIX) && matches!(plan.workload, WorkloadPlan::Agents(_)) =>
        {
            Ok(())
        }
        Some(dataset) => {
            let wrong = |why: String| RunError::plan(format!("dataset (--dataset): {why}"));
            let file = fetch::local(dataset, &FetchConfig::from_env())
                .map_err(|error| wrong(error.to_string()))?;
            std::fs::metadata(&file).map_err(|error| wrong(format!("{dataset}: {error}")))?;
            if file.is_dir() && matches!(plan.workload, WorkloadPlan::Agents(_)) {
                return Ok(());
            }
            check_data_set(&file).map_err(|error| wrong(error.to_string()))
        }
    }
}

/// The file of a plan's data set; `None` if the plan has no data set, or if the data set is not downloaded.
pub fn dataset_file(plan: &Plan) -> Option<PathBuf> {
    fetch::local(plan.workload.dataset()?, &FetchConfig::from_env()).ok()
}

/// The prompts of a run.
#[derive(Clone)]
pub struct Prompts {
    spec: OpenWorkload,
    tokenizer: PromptTokenizer,
    seed: u64,
    salt: String,
    history: History,
    /// The number of this rank, and the number of ranks.
    place: (u32, u32),
}

impl Prompts {
    /// Opens the workload.
    ///
    /// # Errors
    /// When the data set cannot be used.
    pub fn open(plan: &Plan, tokenizer: PromptTokenizer, salt: &str) -> Result<Self, RunError> {
        let counts = Arc::clone(&tokenizer.tokenizer);
        let mut spec = OpenWorkload::open(&plan.workload, counts, plan.seed, salt)
            .map_err(|error| RunError::plan(format!("workload (--workload): {error}")))?;
        let media = plan.media.as_ref().map(|media| MediaMaker::open(media, plan.seed, salt));
        spec.media = media.transpose().map_err(|error| RunError::plan(error.to_string()))?;
        spec.adapters = plan.adapters.clone().map(|adapters| AdapterMix::new(adapters, plan.seed));
        spec.pooling = plan.pooling;
        if plan.token_ids {
            spec.context.form = PromptForm::TokenIds;
        }
        let history = History::Text;
        let salt = salt.to_owned();
        Ok(Self { spec, tokenizer, seed: plan.seed, salt, history, place: (0, 1) })
    }

    /// The tokenizer that sets the lengths of the prompts.
    pub fn tokenizer(&self) -> &PromptTokenizer {
        &self.tokenizer
    }

    /// The seed and the salt of the prompts. The salt makes the prompts of this run differ from those of runs with
    /// another salt.
    pub(super) fn seed_and_salt(&self) -> (u64, &str) {
        (self.seed, &self.salt)
    }

    /// Makes every prompt shorter by the tokens that the server adds.
    pub fn reserve(&mut self, tokens: u32) {
        self.spec.context.reserve = tokens;
    }

    /// Returns a copy that makes prompts of random words. It is for probe requests, because a data set may have no
    /// prompts of their lengths.
    pub fn random_words(&self) -> Self {
        Self { spec: self.spec.random_words(), ..self.clone() }
    }

    /// Sets how the earlier turns of a conversation are sent to this server.
    pub fn send_history_as(&mut self, history: History) {
        self.history = history;
        self.spec.context.accepts_messages = history == History::Messages;
    }

    /// Limits the prompts to the conversations of one rank. `place` is the number of this rank and the number of
    /// ranks. The hash of the workload covers all conversations.
    pub fn supply_rank(&mut self, place: (u32, u32)) {
        self.place = place;
    }

    /// The number of this rank, and the number of ranks.
    pub(super) fn place(&self) -> (u32, u32) {
        self.place
    }

    /// How the earlier turns of a conversation are sent.
    pub(super) fn history(&self) -> History {
        self.history
    }

    /// The counter of the prompts made so far.
    pub fn made(&self) -> Arc<AtomicU64> {
        self.spec.context.made()
    }

    /// Sets a flag that any thread can use to end the generation of prompts with an error.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.spec.context.stop = stop;
    }

    /// Ignores the flag of [`Self::stop_when`] from now on. This is for threads that generate prompts until their pass
    /// ends: an error in such a thread would be a failure of the pass.
    pub(super) fn never_stop(&mut self) {
        self.spec.context.stop = Arc::default();
    }

    /// The opened workload.
    pub(crate) fn spec(&self) -> &OpenWorkload {
        &self.spec
    }

    /// Makes the first requests of a pass.
    ///
    /// # Errors
    /// When the requests cannot be made.
    pub fn build(
        &self,
        cell: CellPlan,
        place: &PromptScope,
        count: u32,
    ) -> Result<RequestBatch, RunError> {
        self.build_from(cell, place, 0, count)
    }

    /// Makes requests of a pass from the index `first` on: see [`OpenWorkload::requests_from`].
    pub(super) fn build_from(
        &self,
        cell: CellPlan,
        place: &PromptScope,
        first: u64,
        count: u32,
    ) -> Result<RequestBatch, RunError> {
        let mut built = self
            .spec
            .requests_from(cell, place, first, count as usize)
            .map_err(|error| RunError::prompts(format!("{cell}: {error}")))?;
        self.forget_counts(&mut built);
        Ok(built)
    }

    /// Removes the token counts of the requests, unless they come from the model's own tokenizer.
    fn forget_counts(&self, built: &mut RequestBatch) {
        if !self.tokenizer.is_models_own {
            built.requests.iter_mut().for_each(|request| request.counted_tokens = None);
        }
    }
}

/// Refuses data with a prompt that the dialect cannot express, before anything is measured.
///
/// # Errors
/// When there is such a prompt.
pub fn check_dialect(prompts: &Prompts, plan: &Plan, dialect: &Dialect) -> Result<(), RunError> {
    for prompt in prompts.spec.verbatim_prompts() {
        let request = Request::new(prompt.clone(), 1, 1);
        if let Err(error) = dialect.body(&request, &plan.sampling, "", &[]) {
            let name = plan.workload.name();
            return Err(RunError::plan(format!("workload (--workload): {name}: {error}")));
        }
    }
    Ok(())
}

/// Findings on the workload's data.
pub fn data_set_findings(prompts: &Prompts) -> Vec<Finding> {
    prompts.spec.findings()
}
