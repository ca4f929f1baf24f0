//! The sources of the requests of a pass: a list, a thread that generates requests in advance, or a list that is
//! repeated with the words of its prompts in other orders.

use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, OnceLock};

use inferometer_model::stats::seed::{below, rng};
use inferometer_model::{Prompt, Request, Source, source::Supply};
use inferometer_net::spawn;
use inferometer_workload::{Note, PromptScope};
use rand_chacha::ChaCha8Rng;

use crate::RunError;

/// The number of requests in a batch, if requests are made while their pass runs.
pub const BATCH: u32 = 64;
/// The number of batches that wait for the pass.
const BATCHES_WAITING: u32 = 4;
/// The maximum number of batches in memory: the batch that is sent, the batches that wait, and the batch that is made.
pub const BATCHES_IN_MEMORY: u32 = BATCHES_WAITING + 2;

/// The requests of a pass.
pub struct PassRequests {
    /// Supplies the requests.
    pub source: Box<dyn Source>,
    /// How the prompts differ from the plan's requirements.
    pub notes: Vec<Note>,
    /// Why the requests ended early, if they did.
    pub error: SourceError,
}

/// Why requests could not be made during a pass; empty as long as they could be made.
pub type SourceError = Arc<OnceLock<String>>;

/// Requests that another thread generates in advance, batch by batch, until no more are needed.
pub(super) struct ThreadedSource {
    batch: std::vec::IntoIter<Request>,
    /// The batches, then one `None`. A thread that ends without `None` has failed.
    batches: Receiver<Option<Vec<Request>>>,
    is_over: bool,
    /// One of the requests without its prompt, if all requests differ only in their prompts.
    alike: Option<Request>,
    error: SourceError,
}

impl ThreadedSource {
    /// Supplies the requests of `first`, then the requests that `next` returns on another thread, until it
    /// returns `None`.
    pub(super) fn on_a_thread(
        first: Vec<Request>,
        mut next: impl FnMut() -> Result<Option<Vec<Request>>, RunError> + Send + 'static,
        error: SourceError,
    ) -> Result<Self, RunError> {
        let (sender, batches) = sync_channel(BATCHES_WAITING as usize);
        let slot = Arc::clone(&error);
        let making = move || {
            loop {
                let wanted = match next() {
                    Ok(Some(requests)) => sender.send(Some(requests)).is_ok(),
                    Ok(None) => {
                        // This fails if the pass has ended and receives no more requests.
                        let _ = sender.send(None);
                        false
                    }
                    Err(error) => {
                        let _ = slot.set(error.to_string());
                        false
                    }
                };
                if !wanted {
                    return;
                }
            }
        };
        spawn(making).map_err(RunError::Thread)?;
        let batch = first.into_iter();
        Ok(Self { batch, batches, is_over: false, alike: None, error })
    }

    /// Sets one of the requests without its prompt, if all requests differ only in their prompts.
    pub(super) fn alike(self, alike: Option<Request>) -> Self {
        Self { alike, ..self }
    }
}

impl Source for ThreadedSource {
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
                    // If the thread has already set a reason, `set` does not replace this reason.
                    let why = "the thread for prompts ended early, without an error".to_owned();
                    let _ = self.error.set(why);
                    self.is_over = true;
                }
            }
        }
    }

    /// No prompt is generated for a request that is never sent. So after the generated requests, the lengths of a
    /// request are known only if all requests have the same lengths.
    fn unsent(&mut self) -> Option<Request> {
        self.batch.next().or_else(|| self.alike.clone())
    }
}

/// Supplies a batch of requests, then the same requests again and again, with their words or token ids in other orders.
/// (Prompts of messages are repeated unchanged.) Tokenizers first split text at spaces, so the order of words does not
/// change the number of tokens. The server's tokenizer is then not needed during the measurement.
pub(super) struct Shuffled {
    batch: Vec<Request>,
    given: usize,
    rng: ChaCha8Rng,
}

impl Shuffled {
    pub(super) fn new(batch: Vec<Request>, (seed, salt): (u64, &str), place: &PromptScope) -> Self {
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
                    // The first word has no space before it, so it stays first.
                    Self::shuffle(&mut self.rng, &mut words[1..]);
                    *text = words.join(" ");
                }
                // The order of messages matters, so it is not changed.
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

    /// The number of requests of a source until it ends, and its error if there was one.
    fn all_of(
        next: impl FnMut() -> Result<Option<Vec<Request>>, RunError> + Send + 'static,
    ) -> (usize, Option<String>) {
        let error = SourceError::default();
        let request = || Request::new(Prompt::Text("a".to_owned()), 1, 1);
        let mut source =
            ThreadedSource::on_a_thread(vec![request()], next, Arc::clone(&error)).unwrap();
        let mut count = 0;
        loop {
            match source.next() {
                Supply::Request(_) => count += 1,
                Supply::Wait => std::thread::yield_now(),
                Supply::Exhausted => {
                    assert_eq!(source.next(), Supply::Exhausted);
                    return (count, error.get().cloned());
                }
            }
        }
    }

    #[test]
    fn a_request_generator_that_fails_or_panics_ends_with_an_error() {
        let request = || Request::new(Prompt::Text("a".to_owned()), 1, 1);
        let mut batches = vec![vec![request()], vec![request(), request()]];
        assert_eq!(all_of(move || Ok(batches.pop())), (4, None));
        let (count, error) = all_of(|| Err(RunError::prompts("no words")));
        assert!(count == 1 && error.is_some_and(|why| why.contains("no words")));
        let (count, error) = all_of(|| panic!("a request generator that panics"));
        assert!(count == 1 && error.is_some_and(|why| why.contains("ended early")));
    }

    #[test]
    fn shuffled_prompts_contain_the_same_words_in_different_orders() {
        let text = " one two three four five six seven eight nine ten".to_owned();
        let request = Request::new(Prompt::Text(text.clone()), 10, 1);
        let mut source = Shuffled::new(vec![request], (1, "salt"), &PromptScope::new("c", "p", 0));
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
