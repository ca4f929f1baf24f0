//! The tokenizer of a run, and the requests of its passes.

use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use inferometer_core::finding::{Finding, Severity};
use inferometer_core::load::{Due, load_model};
use inferometer_core::plan::{CellPlan, PassPlan, Plan, TargetPlan, WorkloadPlan};
use inferometer_core::request::{Request, WorkloadHasher};
use inferometer_core::traits::{Prepared, Source, Supply, Tokenizer};
use inferometer_drive::control::Server;
use inferometer_drive::tokenize::ServerTokenizer;
use inferometer_workload::{Built, Note, PromptForm, PromptPlace, WorkloadSpec};

use crate::exit::Failure;

/// What shapes the prompts, and how far its counts can be trusted.
pub struct Shaper {
    /// The tokenizer.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Whether it is the model's own, by the user's word or the server's: it may count.
    pub is_models_own: bool,
}

/// The tokenizer that the user named, if any: loaded before anything is sent.
///
/// # Errors
/// When it is not one.
pub fn named_tokenizer(plan: &Plan) -> Result<Option<Shaper>, Failure> {
    if let Some(name) = &plan.tokenizer {
        let tokenizer = inferometer_workload::load(name)
            .map_err(|error| Failure::usage(format!("tokenizer (--tokenizer): {error}")))?;
        return Ok(Some(Shaper { tokenizer, is_models_own: true }));
    }
    if matches!(plan.target, TargetPlan::Embedded { .. }) {
        let tokenizer = inferometer_workload::embedded();
        return Ok(Some(Shaper { tokenizer, is_models_own: true }));
    }
    Ok(None)
}

/// The server's own tokenizer, else the one that this program carries.
pub fn servers_tokenizer(server: &Server, model: &str, findings: &mut Vec<Finding>) -> Shaper {
    if let Some(tokenizer) = ServerTokenizer::of(server, model) {
        return Shaper { tokenizer: Arc::new(tokenizer), is_models_own: true };
    }
    findings.push(
        Finding::new(
            "prompts_shaped_by_the_embedded_tokenizer",
            Severity::Warning,
            "no tokenizer was named and the server offers none: prompts have their length by \
             this program's own tokenizer, and another by the model's",
        )
        .advise("name the model's tokenizer with --tokenizer"),
    );
    Shaper { tokenizer: inferometer_workload::embedded(), is_models_own: false }
}

/// A data set that cannot be read is told before anything is sent.
///
/// # Errors
/// When it cannot.
pub fn check_dataset(plan: &Plan) -> Result<(), Failure> {
    match &plan.workload {
        WorkloadPlan::Random => Ok(()),
        WorkloadPlan::Sharegpt { dataset } => File::open(dataset)
            .map(|_| ())
            .map_err(|error| Failure::usage(format!("dataset (--dataset): {dataset}: {error}"))),
    }
}

/// Opens the workload.
///
/// # Errors
/// When the data set cannot be used.
pub fn open(plan: &Plan, shaper: &Shaper, salt: &str) -> Result<WorkloadSpec, Failure> {
    let mut spec =
        WorkloadSpec::open(&plan.workload, Arc::clone(&shaper.tokenizer), plan.seed, salt)
            .map_err(|error| Failure::usage(format!("workload (--workload): {error}")))?;
    if plan.token_ids {
        spec.form = PromptForm::TokenIds;
    }
    Ok(spec)
}

/// What the data set held that could not be used.
pub fn data_set_findings(spec: &WorkloadSpec) -> Vec<Finding> {
    let Some(loaded) = spec.data_set() else { return Vec::new() };
    let total = loaded.rejected.total();
    if total == 0 {
        return Vec::new();
    }
    let message = format!(
        "{total} rows of the data set are left out, {} are used: {}",
        loaded.conversations.len(),
        loaded.rejected
    );
    vec![Finding::new("data_set_rows_left_out", Severity::Note, message)]
}

/// The requests of a pass.
///
/// # Errors
/// When they cannot be made.
pub fn build(
    spec: &WorkloadSpec,
    cell: CellPlan,
    place: &PromptPlace,
    count: u32,
) -> Result<Built, Failure> {
    inferometer_workload::requests(spec, cell, place, count as usize)
        .map_err(|error| Failure::not_carried_out(format!("{cell}: {error}")))
}

/// Adds a pass to the identity of the workload: its requests in order, and in an open loop their
/// offsets.
fn hash(hasher: &mut WorkloadHasher, plan: &Plan, pass: &PassPlan, built: &Built) {
    hasher.pass(&plan.sampling);
    let open = matches!(pass, PassPlan::Open { .. });
    let mut load = load_model(pass, plan.seed);
    for request in &built.requests {
        let offset = match load.next_due() {
            Due::At(at) if open => {
                load.take();
                Some(at.0)
            }
            _ => None,
        };
        hasher.request(request, offset);
    }
}

/// Requests made at once for a pass that is bounded by time alone.
const BATCH: u32 = 64;

/// The requests of a pass, and what identifies them.
pub struct Supplied {
    /// Supplies them.
    pub source: Box<dyn Source>,
    /// What is not as asked for.
    pub notes: Vec<Note>,
}

/// Makes the requests of a pass and adds them to the identity of the workload. A pass that is
/// bounded by time alone is made while it runs, and identified by its first batch.
///
/// # Errors
/// When they cannot be made.
pub fn supply(
    spec: &WorkloadSpec,
    plan: &Plan,
    cell: CellPlan,
    pass: &PassPlan,
    place: &PromptPlace,
    hasher: &mut WorkloadHasher,
) -> Result<Supplied, Failure> {
    let built = build(spec, cell, place, pass.requests().unwrap_or(BATCH))?;
    hash(hasher, plan, pass, &built);
    let notes = built.notes;
    let source: Box<dyn Source> = match pass.requests() {
        Some(_) => Box::new(Prepared::new(built.requests)),
        None => Box::new(Made::on_a_thread(spec.clone(), cell, place.clone(), built.requests)),
    };
    Ok(Supplied { source, notes })
}

/// Requests that another thread makes ahead, batch by batch, for as long as they are wanted.
struct Made {
    batch: std::vec::IntoIter<Request>,
    batches: Receiver<Vec<Request>>,
}

impl Made {
    fn on_a_thread(
        spec: WorkloadSpec,
        cell: CellPlan,
        place: PromptPlace,
        first: Vec<Request>,
    ) -> Self {
        let (sender, batches) = sync_channel(4);
        std::thread::spawn(move || {
            for number in 1_u64.. {
                let mut place = place.clone();
                place.pass = format!("{} batch {number}", place.pass);
                place.taken += number * u64::from(BATCH);
                // What goes wrong here went wrong for the first batch, which was checked.
                let Ok(built) = build(&spec, cell, &place, BATCH) else { return };
                if sender.send(built.requests).is_err() {
                    return;
                }
            }
        });
        Self { batch: first.into_iter(), batches }
    }
}

impl Source for Made {
    fn next(&mut self) -> Supply {
        loop {
            if let Some(request) = self.batch.next() {
                return Supply::Request(Box::new(request));
            }
            match self.batches.recv() {
                Ok(batch) => self.batch = batch.into_iter(),
                Err(_) => return Supply::Exhausted,
            }
        }
    }
}
