//! The tokenizer of a run, and the requests of its passes.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, OnceLock};

use inferometer_drive::tokenize::ServerTokenizer;
use inferometer_http::client::Client;
use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::request::{Prompt, Request};
use inferometer_model::source::{Prepared, Source, Supply};
use inferometer_model::tokenizer::Tokenizer;
use inferometer_plan::{Grid, Plan, TargetPlan};
use inferometer_stats::seed::{below, rng};
use inferometer_store::PassBegin;
use inferometer_wire::dialect::Dialect;
use inferometer_workload::conversation::History;
use inferometer_workload::fetch::{self, FetchConfig};
use inferometer_workload::{Built, Note, PromptForm, PromptPlace, WorkloadSpec};
use rand_chacha::ChaCha8Rng;

use super::identity::Identity;
use super::{converse, in_parts};
use crate::exit::Failure;

/// What shapes the prompts, and how far its counts can be trusted.
#[derive(Clone)]
pub struct Shaper {
    /// The tokenizer.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Whether it is the model's own, by the user's word or the server's: it may count.
    pub is_models_own: bool,
    /// Whether each call asks the server under test, which must not happen while it is measured.
    pub asks_the_server: bool,
}

/// The tokenizer that the user named, if any: loaded before anything is sent.
///
/// # Errors
/// When it is not one.
pub fn named_tokenizer(plan: &Plan) -> Result<Option<Shaper>, Failure> {
    if let Some(name) = &plan.tokenizer {
        let tokenizer = inferometer_workload::load(name)
            .map_err(|error| Failure::usage(format!("tokenizer (--tokenizer): {error}")))?;
        return Ok(Some(Shaper { tokenizer, is_models_own: true, asks_the_server: false }));
    }
    if matches!(plan.target, TargetPlan::Embedded { .. }) {
        let tokenizer = inferometer_workload::embedded();
        return Ok(Some(Shaper { tokenizer, is_models_own: true, asks_the_server: false }));
    }
    Ok(None)
}

/// The server's own tokenizer, else the one that this program carries.
pub fn servers_tokenizer(server: &Client, model: &str, findings: &mut Vec<Finding>) -> Shaper {
    if let Some(tokenizer) = ServerTokenizer::of(server, model) {
        let tokenizer = Arc::new(tokenizer);
        return Shaper { tokenizer, is_models_own: true, asks_the_server: true };
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
    let tokenizer = inferometer_workload::embedded();
    Shaper { tokenizer, is_models_own: false, asks_the_server: false }
}

/// A data set that cannot be read is told before anything is sent.
///
/// # Errors
/// When it cannot.
pub fn check_dataset(plan: &Plan) -> Result<(), Failure> {
    match plan.workload.dataset() {
        None => Ok(()),
        Some(dataset) => {
            let wrong = |told: String| Failure::usage(format!("dataset (--dataset): {told}"));
            let file = fetch::local(dataset, &FetchConfig::from_env())
                .map_err(|error| wrong(error.to_string()))?;
            std::fs::metadata(file)
                .map(|_| ())
                .map_err(|error| wrong(format!("{dataset}: {error}")))
        }
    }
}

/// The prompts of a run.
#[derive(Clone)]
pub struct Prompts {
    spec: WorkloadSpec,
    shaper: Shaper,
    seed: u64,
    salt: String,
    history: History,
}

impl Prompts {
    /// Opens the workload.
    ///
    /// # Errors
    /// When the data set cannot be used.
    pub fn open(plan: &Plan, shaper: Shaper, salt: &str) -> Result<Self, Failure> {
        let tokenizer = Arc::clone(&shaper.tokenizer);
        let mut spec = WorkloadSpec::open(&plan.workload, tokenizer, plan.seed, salt)
            .map_err(|error| Failure::usage(format!("workload (--workload): {error}")))?;
        if plan.token_ids {
            spec.shared.form = PromptForm::TokenIds;
        }
        let history = History::Text;
        Ok(Self { spec, shaper, seed: plan.seed, salt: salt.to_owned(), history })
    }

    /// What shapes them.
    pub fn shaper(&self) -> &Shaper {
        &self.shaper
    }

    /// Makes every prompt shorter by what the server adds.
    pub fn reserve(&mut self, tokens: u32) {
        self.spec.shared.reserve = tokens;
    }

    /// The same with random words, whatever the workload: a data set may have nothing of a length.
    pub fn random_words(&self) -> Self {
        Self { spec: self.spec.random_words(), ..self.clone() }
    }

    /// Says how what was said before is told to this server.
    pub fn tell_history_as(&mut self, history: History) {
        self.history = history;
    }

    /// How what was said before is told.
    pub(super) fn history(&self) -> History {
        self.history
    }

    /// Counts the prompts that are made.
    pub fn made(&self) -> Arc<AtomicU64> {
        self.spec.shared.made()
    }

    /// The workload, opened.
    pub(super) fn spec(&self) -> &WorkloadSpec {
        &self.spec
    }

    /// The requests of a pass.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn build(&self, cell: CellPlan, place: &PromptPlace, count: u32) -> Result<Built, Failure> {
        let mut built = inferometer_workload::requests(&self.spec, cell, place, count as usize)
            .map_err(|error| Failure::not_carried_out(format!("{cell}: {error}")))?;
        self.forget_counts(&mut built);
        Ok(built)
    }

    /// Another model's tokenizer shapes prompts; it counts nothing.
    pub(super) fn forget_counts(&self, built: &mut Built) {
        if !self.shaper.is_models_own {
            built.requests.iter_mut().for_each(|request| request.counted_tokens = None);
        }
    }
}

/// A prompt of the data that the dialect cannot say is told before anything is measured.
///
/// # Errors
/// When there is one.
pub fn check_dialect(prompts: &Prompts, plan: &Plan, dialect: &Dialect) -> Result<(), Failure> {
    for prompt in prompts.spec.as_they_are() {
        let request = Request::new(prompt.clone(), 1, 1);
        if let Err(error) = dialect.body(&request, &plan.sampling, "") {
            let name = plan.workload.name();
            return Err(Failure::usage(format!("workload (--workload): {name}: {error}")));
        }
    }
    Ok(())
}

/// What a reader should know of the workload's data.
pub fn data_set_findings(prompts: &Prompts) -> Vec<Finding> {
    prompts.spec.findings()
}

/// Requests made at once for a pass that is bounded by time alone.
pub(super) const BATCH: u32 = 64;

/// The requests of a pass.
pub struct Supplied {
    /// Supplies them.
    pub source: Box<dyn Source>,
    /// What is not as asked for.
    pub notes: Vec<Note>,
    /// Why the supply ended early, if it did.
    pub trouble: Trouble,
}

/// What went wrong while requests were made beside a running pass.
pub type Trouble = Arc<OnceLock<String>>;

/// Makes the requests of a pass and adds them to the identity of the workload. A pass that is
/// bounded by time alone is made while it runs, and identified by its first batch.
///
/// # Errors
/// When they cannot be made.
pub fn supply(
    prompts: &Prompts,
    plan: &Plan,
    begin: &PassBegin,
    place: &PromptPlace,
    identity: &mut Identity,
) -> Result<Supplied, Failure> {
    let PassBegin { cell, plan: ref pass, .. } = *begin;
    if matches!(pass, PassPlan::Conversations { .. }) {
        return converse::supply(prompts, plan, begin, place, identity);
    }
    if pass.requests().is_none()
        && prompts.shaper.asks_the_server
        && plan.workload.grid() != Grid::Tokens
    {
        return Err(Failure::not_carried_out(format!(
            "{cell}: a pass without a number of requests makes prompts while it runs, and the \
             server that is measured would be asked to count them; give --requests, or the \
             model's tokenizer with --tokenizer"
        )));
    }
    let mut identity = identity.begin(plan, begin);
    let count = pass.requests();
    if let Some(parts) = in_parts::of(prompts, place, count) {
        return parts.supply(|requests| identity.add(requests));
    }
    let Built { requests, notes } = prompts.build(cell, place, count.unwrap_or(BATCH))?;
    identity.add(&requests)?;
    let trouble = Trouble::default();
    let source: Box<dyn Source> = match count {
        Some(_) => Box::new(Prepared::new(requests)),
        None if prompts.shaper.asks_the_server => {
            Box::new(Shuffled::new(requests, prompts.seed, &prompts.salt, place))
        }
        None => Box::new(batches(prompts.clone(), cell, place.clone(), requests, &trouble)),
    };
    Ok(Supplied { source, notes, trouble })
}

/// The batches of a pass that is bounded by time alone, of which the first is made.
fn batches(
    prompts: Prompts,
    cell: CellPlan,
    place: PromptPlace,
    first: Vec<Request>,
    trouble: &Trouble,
) -> Made {
    let mut numbers = 1_u64..;
    let batch = move || {
        let number = numbers.next().unwrap_or(u64::MAX);
        let mut place = place.clone();
        place.pass = format!("{} batch {number}", place.pass);
        place.taken += number * u64::from(BATCH);
        Ok(Some(prompts.build(cell, &place, BATCH)?.requests))
    };
    Made::on_a_thread(first, batch, Arc::clone(trouble))
}

/// Requests that another thread makes ahead, batch by batch, for as long as they are wanted.
pub(super) struct Made {
    batch: std::vec::IntoIter<Request>,
    /// The batches, then nothing once; a thread that ends without saying so has failed.
    batches: Receiver<Option<Vec<Request>>>,
    is_over: bool,
    trouble: Trouble,
}

impl Made {
    /// `first`, then what `next` makes until it has nothing more.
    pub(super) fn on_a_thread(
        first: Vec<Request>,
        mut next: impl FnMut() -> Result<Option<Vec<Request>>, Failure> + Send + 'static,
        trouble: Trouble,
    ) -> Self {
        let (sender, batches) = sync_channel(4);
        let told = Arc::clone(&trouble);
        std::thread::spawn(move || {
            loop {
                let wanted = match next() {
                    Ok(Some(requests)) => sender.send(Some(requests)).is_ok(),
                    Ok(None) => {
                        // Who does not listen any more has enough.
                        let _ = sender.send(None);
                        false
                    }
                    Err(failure) => {
                        let _ = told.set(failure.words());
                        false
                    }
                };
                if !wanted {
                    return;
                }
            }
        });
        Self { batch: first.into_iter(), batches, is_over: false, trouble }
    }
}

impl Source for Made {
    fn next(&mut self) -> Supply {
        loop {
            if let Some(request) = self.batch.next() {
                return Supply::Request(Box::new(request));
            }
            if self.is_over {
                return Supply::Exhausted;
            }
            match self.batches.try_recv() {
                Ok(Some(batch)) => self.batch = batch.into_iter(),
                Ok(None) => self.is_over = true,
                Err(TryRecvError::Empty) => return Supply::Wait,
                Err(TryRecvError::Disconnected) => {
                    // What the thread itself said, if it did, stays.
                    let why = "what makes them ended before it had made all".to_owned();
                    let _ = self.trouble.set(why);
                    self.is_over = true;
                }
            }
        }
    }
}

/// A batch of requests, then the same ones with their words in other orders, for as long as they
/// are wanted. Tokenizers split text at spaces first, so the order of words does not change how
/// many tokens there are, and the server need not be asked while it is measured.
struct Shuffled {
    batch: Vec<Request>,
    given: usize,
    rng: ChaCha8Rng,
}

impl Shuffled {
    fn new(batch: Vec<Request>, seed: u64, salt: &str, place: &PromptPlace) -> Self {
        let rng = rng(seed, &["shuffle", salt, &place.cell, &place.pass]);
        Self { batch, given: 0, rng }
    }

    fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, below(rng, last as u64 + 1) as usize);
        }
    }
}

impl Source for Shuffled {
    fn next(&mut self) -> Supply {
        let mut request = self.batch[self.given % self.batch.len()].clone();
        if self.given >= self.batch.len() {
            match &mut request.prompt {
                Prompt::TokenIds(ids) => Self::shuffle(&mut self.rng, ids),
                Prompt::Text(text) => {
                    let mut words: Vec<&str> = text.split(' ').collect();
                    // What stands before the first space is no word with a space in front.
                    Self::shuffle(&mut self.rng, &mut words[1..]);
                    *text = words.join(" ");
                }
                // The order of messages is what they mean.
                Prompt::Messages(_) => {}
            }
        }
        self.given += 1;
        Supply::Request(Box::new(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a source has until it ends, and the trouble that it had.
    fn all_of(
        next: impl FnMut() -> Result<Option<Vec<Request>>, Failure> + Send + 'static,
    ) -> (usize, Option<String>) {
        let trouble = Trouble::default();
        let request = || Request::new(Prompt::Text("a".to_owned()), 1, 1);
        let mut source = Made::on_a_thread(vec![request()], next, Arc::clone(&trouble));
        let mut count = 0;
        loop {
            match source.next() {
                Supply::Request(_) => count += 1,
                Supply::Wait => std::thread::yield_now(),
                Supply::Exhausted => {
                    assert_eq!(source.next(), Supply::Exhausted);
                    return (count, trouble.get().cloned());
                }
            }
        }
    }

    #[test]
    fn requests_made_beside_a_pass_end_in_trouble_unless_their_maker_says_that_it_is_done() {
        let request = || Request::new(Prompt::Text("a".to_owned()), 1, 1);
        let mut batches = vec![vec![request()], vec![request(), request()]];
        assert_eq!(all_of(move || Ok(batches.pop())), (4, None));
        let (count, trouble) = all_of(|| Err(Failure::not_carried_out("no words")));
        assert!(count == 1 && trouble.is_some_and(|told| told.contains("no words")));
        let (count, trouble) = all_of(|| panic!("as a test of one that ends without a word"));
        assert!(count == 1 && trouble.is_some_and(|told| told.contains("ended before")));
    }

    #[test]
    fn shuffled_prompts_have_the_same_words_and_differ() {
        let text = " one two three four five six seven eight nine ten".to_owned();
        let request = Request::new(Prompt::Text(text.clone()), 10, 1);
        let mut source = Shuffled::new(vec![request], 1, "salt", &PromptPlace::new("c", "p", 0));
        let texts: Vec<String> = (0..3)
            .map(|_| match source.next() {
                Supply::Request(request) => match request.prompt {
                    Prompt::Text(text) => text,
                    other => panic!("text was given: {other:?}"),
                },
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts[0], text);
        assert!(texts[1] != text && texts[2] != texts[1]);
        for other in &texts {
            let mut words: Vec<&str> = other.split_whitespace().collect();
            words.sort_unstable();
            assert_eq!(words.len(), 10);
            assert_eq!(words[0], "eight");
        }
    }
}
