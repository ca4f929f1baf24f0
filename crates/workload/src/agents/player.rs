//! Makes the requests of the calls of jobs.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use inferometer_model::load::Step;
use inferometer_model::record::{JobCall, SharedPrompt};
use inferometer_model::source::Said;
use inferometer_model::stats::seed;
use inferometer_model::{Prompt, Request};
use inferometer_plan::Answers;

use super::words::{Drawn, Piece};
use super::{Recorded, messages};
use crate::fit::{Words, full_tag};
use crate::{History, PromptContext, PromptScope, WorkloadError, conversation::Transcript};

/// Makes the requests of the calls of jobs. A job beyond those of the trace is a copy, with its own words.
pub struct Player {
    recorded: Arc<Recorded>,
    context: PromptContext,
    scope: PromptScope,
    answers: Answers,
    history: History,
    /// Whether the tokenizer is that of the model.
    counts: bool,
    error: Arc<OnceLock<String>>,
    /// The requests that were made before the pass, by their jobs and places.
    made: HashMap<(u32, u32), Request>,
}

/// What later prompts of a job need of earlier ones.
#[derive(Default)]
pub struct Memory {
    /// The words of the last prompt of each session.
    drawn: HashMap<u32, Drawn>,
    /// What was asked and said in each call, if later prompts contain it.
    said: Vec<Option<Transcript>>,
}

impl Player {
    pub fn new(
        recorded: Arc<Recorded>,
        context: PromptContext,
        scope: PromptScope,
        answers: Answers,
    ) -> Self {
        let history = if context.accepts_messages { History::Messages } else { History::Text };
        Self {
            recorded,
            context,
            scope,
            answers,
            history,
            counts: true,
            error: Arc::default(),
            made: HashMap::new(),
        }
    }

    /// Sets how earlier turns are sent, and whether the tokenizer is that of the model.
    pub fn sending(self, history: History, counts: bool) -> Self {
        Self { history, counts, ..self }
    }

    /// Why a request could not be made; empty as long as they could.
    pub fn error(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.error)
    }

    /// The job of the trace with this number in the pass, and the number of its copy.
    fn job(&self, number: u32) -> (usize, u32) {
        let count = self.recorded.shape.jobs.len() as u32;
        ((number % count) as usize, number / count)
    }

    fn at(&self, number: u32, call: u32) -> u32 {
        self.recorded.shape.jobs[self.job(number).0].calls[call as usize]
    }

    /// The number of calls of a job.
    pub fn calls(&self, number: u32) -> usize {
        self.recorded.shape.jobs[self.job(number).0].calls.len()
    }

    /// What the calls of a job wait for.
    pub fn steps(&self, number: u32) -> Arc<[Step]> {
        self.recorded.shape.steps(&self.recorded.trace, self.job(number).0).into()
    }

    /// A request that needs nothing of earlier ones.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn alone(&self, number: u32, call: u32) -> Result<Request, WorkloadError> {
        self.request(number, call, &mut Memory::default())
    }

    /// Uses these requests, which were made before.
    pub fn with(self, made: HashMap<(u32, u32), Request>) -> Self {
        Self { made, ..self }
    }

    /// Whether prompts do not depend on answers, and were not all made before.
    pub fn knows_prompts(&self) -> bool {
        self.answers == Answers::Recorded && self.made.is_empty()
    }

    /// The length of the prompt of a call, in tokens.
    pub fn prompt(&self, number: u32, call: u32) -> u32 {
        self.recorded.prompt(self.at(number, call))
    }

    /// Words that distinguish the messages of a copy of the trace from those of others, and of other passes.
    fn tag(&self, number: u32) -> Result<String, WorkloadError> {
        let PromptScope { cell, pass, repeat, .. } = &self.scope;
        let (repeat, copy) = (repeat.to_string(), self.job(number).1.to_string());
        let of: [&str; 7] = ["agents", &self.context.salt, cell, pass, &repeat, &copy, "tag"];
        let tokenizer = self.context.tokenizer.as_ref();
        let mut words = Words::new(tokenizer, seed::rng(self.context.seed, &of));
        Ok(tokenizer.decode(&words.take(full_tag(tokenizer.plain_ids().len())))?)
    }

    /// What is known of a call before the pass: all but its prompt, in place of which is what it consists of.
    pub fn planned(&self, number: u32, call: u32) -> Request {
        let at = self.at(number, call);
        let recorded = &self.recorded;
        let of = &recorded.trace.calls[at as usize];
        let (prompt, output) = (recorded.prompt(at), recorded.output(at));
        let (content, kept) = (of.content.get(), recorded.kept(at));
        let text = format!("{prompt} {content:?} {kept:?} {:?}", self.answers);
        self.labelled(number, call, Request::new(Prompt::Text(text), prompt, output))
    }

    /// The request of a call. `memory` is that of its job.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn request(
        &self,
        number: u32,
        call: u32,
        memory: &mut Memory,
    ) -> Result<Request, WorkloadError> {
        if let Some(made) = self.made.get(&(number, call)) {
            return Ok(made.clone());
        }
        let (at, recorded) = (self.at(number, call), &self.recorded);
        let request = match (recorded.has_messages, self.answers) {
            (true, _) => {
                let tag = self.tag(number)?;
                let mut request = messages::prompt(recorded, at, self.history, &tag);
                request.input_tokens += self.context.tokenizer.count(&tag)?;
                request
            }
            (false, Answers::Recorded) => {
                let (prompt, counted) = self.words(number, at, &recorded.pieces(at), memory)?;
                self.sized(at, prompt, counted)
            }
            (false, Answers::Live | Answers::LiveWithReasoning) => {
                self.live(number, (at, call), memory)?
            }
        };
        Ok(self.labelled(number, call, request))
    }

    fn words(
        &self,
        number: u32,
        at: u32,
        pieces: &[Piece],
        memory: &mut Memory,
    ) -> Result<(Prompt, u32), WorkloadError> {
        let copy = self.job(number).1;
        let session = self.recorded.trace.calls[at as usize].session;
        let drawn = memory.drawn.entry(session).or_default();
        let made = self.recorded.words((&self.context, &self.scope), copy, (at, pieces), drawn)?;
        Ok((made.prompt, made.counted + self.context.reserve))
    }

    fn sized(&self, at: u32, prompt: Prompt, counted: u32) -> Request {
        let recorded = &self.recorded;
        Request {
            counted_tokens: Some(counted).filter(|_| self.counts),
            ..Request::new(prompt, recorded.prompt(at), recorded.output(at))
        }
    }

    /// A request whose prompt contains what the server said before. A prompt that does not keep the whole prompt and
    /// answer before it begins anew.
    fn live(
        &self,
        number: u32,
        (at, call): (u32, u32),
        memory: &mut Memory,
    ) -> Result<Request, WorkloadError> {
        let recorded = &self.recorded;
        let before = recorded.kept(at).filter(|(before, kept)| {
            *kept == recorded.prompt(*before).saturating_add(recorded.output(*before))
        });
        let place = |at: u32| recorded.shape.places[at as usize].1 as usize;
        let earlier = before
            .and_then(|(before, kept)| Some((memory.said.get(place(before))?.clone()?, kept)));
        let is_first = earlier.is_none();
        let (mut transcript, new) = match earlier {
            Some((transcript, kept)) => {
                let new = recorded.prompt(at).saturating_sub(kept).max(1);
                (transcript, vec![Piece::new(at, new + self.context.reserve)])
            }
            None => (Transcript::new(self.history), recorded.pieces(at)),
        };
        let (prompt, counted) = self.words(number, at, &new, memory)?;
        let Prompt::Text(text) = prompt else {
            unreachable!("invariant: live answers are text, so prompts are")
        };
        let prompt = transcript.ask(&text);
        let said = &mut memory.said;
        said.resize_with(said.len().max(call as usize + 1), || None);
        said[call as usize] = Some(transcript);
        let mut request = self.sized(at, prompt, counted);
        if !is_first {
            // The prompt contains answers of the server, so its length is not planned.
            (request.input_tokens, request.counted_tokens) = (0, None);
        }
        Ok(request)
    }

    /// Adds the answer of a call to its transcript.
    pub fn hear(&self, call: u32, said: Said<'_>, memory: &mut Memory) {
        let keeps_reasoning = self.answers == Answers::LiveWithReasoning;
        let reasoning = if keeps_reasoning { said.reasoning } else { "" };
        if let Some(Some(transcript)) = memory.said.get_mut(call as usize) {
            transcript.answer(said.answer, reasoning);
        }
    }

    /// Adds the place in the job, the class and the session.
    fn labelled(&self, number: u32, call: u32, request: Request) -> Request {
        let (at, Recorded { shape, trace, .. }) = (self.at(number, call), &*self.recorded);
        let class = match shape.depths[at as usize] {
            _ if shape.jobs.len() == trace.calls.len() => None,
            0 => Some("call 1"),
            1..=4 => Some("calls 2 to 5"),
            5..=9 => Some("calls 6 to 10"),
            _ => Some("calls 11 and later"),
        };
        let shared = self.recorded.shared.get(at as usize).copied();
        let shared = shared.filter(|_| self.answers == Answers::Recorded);
        let shared = shared.map(|(tokens, with)| {
            let (job, call) = shape.places[with as usize];
            let copy = self.job(number).1 * shape.jobs.len() as u32;
            // The server adds the rest of a prompt.
            let words = [at, with].map(|at| self.recorded.prompt(at)).into_iter().min();
            let words = words.unwrap_or(0).saturating_sub(self.context.reserve);
            SharedPrompt { tokens: tokens.min(words), with: (job + copy, call) }
        });
        let job = JobCall { job: number, shared, ..shape.call(trace, at) };
        let session =
            u64::from(trace.calls[at as usize].session) | u64::from(self.job(number).1) << 32;
        Request {
            class: class.map(Into::into),
            job: Some(Box::new(job)),
            session: Some(session),
            ..request
        }
    }

    /// Notes why a request could not be made.
    pub fn fail(&self, error: &WorkloadError) {
        let _ = self.error.set(error.to_string());
    }
}
