//! Asks the server and the cards, again and again, while a pass runs. Never on the thread of the
//! load generator, never twice at a time.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use inferometer_model::sample::{Observed, Sample};
use inferometer_net::{monotonic_now, thread_cpu_time};

use crate::cards::Cards;
use crate::names::Histograms;
use crate::scrape::Scrape;

/// A question that takes long costs the server as long: as many times its length is waited before
/// the next one, so that no more than a fiftieth of its time goes into answers.
const REST_FACTOR: u32 = 50;

/// What is asked while a pass runs.
pub struct Observer {
    /// The server's metrics, if they are asked for.
    pub scrape: Option<Scrape>,
    /// The cards of the server's machine, if any are seen.
    pub cards: Vec<Box<dyn Cards>>,
    /// Whether these are the cards that the server uses, because the user named them.
    pub cards_named: bool,
    /// How long to wait between two questions, at least.
    pub period: Duration,
    /// Hears what was said, as it is said; on the thread that asks.
    pub told: Option<Listener>,
}

/// Hears a sample.
pub type Listener = Box<dyn FnMut(&Sample) + Send>;

impl Observer {
    /// Whether there is anything to ask.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.scrape.is_none() && self.cards.is_empty()
    }

    /// Asks once, before a pass begins. Where there is nothing to ask, that costs nothing.
    pub fn begin(&mut self) -> Observed {
        let mut observed = Observed {
            asks_server: self.scrape.is_some(),
            cards_named: self.cards_named,
            ..Observed::default()
        };
        if self.is_idle() {
            return observed;
        }
        let before = thread_cpu_time();
        observed.samples.push(self.look(Histograms::Read));
        note_cost(&mut observed, before);
        observed
    }

    /// Asks each period until the sender of `over` is gone, and then once more. To be called on a
    /// thread of its own.
    pub fn watch<T>(&mut self, mut observed: Observed, over: &Receiver<T>) -> Observed {
        if self.is_idle() {
            // Nobody is asked, but the pass is not over before its sender says so.
            let _ = over.recv();
            return observed;
        }
        let before = thread_cpu_time();
        loop {
            let took = observed.samples.last().map_or(0, |sample| sample.took_us);
            let wait = self.period.max(Duration::from_micros(took) * REST_FACTOR);
            match over.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {
                    observed.samples.push(self.look(Histograms::Left));
                }
                Ok(_) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        observed.samples.push(self.look(Histograms::Read));
        note_cost(&mut observed, before);
        observed
    }

    fn look(&mut self, histograms: Histograms) -> Sample {
        let began = monotonic_now();
        let mut sample = Sample::default();
        if let Some(scrape) = &self.scrape {
            match scrape.sample(histograms) {
                Ok(said) => sample.server = Some(said),
                Err(why) => sample.missing.push(why),
            }
        }
        let answered = monotonic_now();
        sample.took_us = u64::try_from(answered.since(began).as_micros()).unwrap_or(u64::MAX);
        sample.at = answered;
        for cards in &mut self.cards {
            for said in cards.sample() {
                match said {
                    Ok(said) => sample.cards.push(said),
                    Err(why) => sample.cards_missing.push(why),
                }
            }
        }
        if let Some(told) = &mut self.told {
            told(&sample);
        }
        sample
    }
}

fn note_cost(observed: &mut Observed, before: Duration) {
    let cost = thread_cpu_time().saturating_sub(before);
    observed.cpu_us += u64::try_from(cost.as_micros()).unwrap_or(u64::MAX);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use inferometer_model::sample::CardSample;
    use inferometer_model::target::Card;

    use super::*;

    /// Cards that say something twice, and then no more; whoever asks a third time ends the pass.
    struct Fake {
        asked: u32,
        over: Option<std::sync::mpsc::Sender<()>>,
    }

    impl Cards for Fake {
        fn cards(&self) -> Vec<Card> {
            Vec::new()
        }

        fn sample(&mut self) -> Vec<Result<CardSample, String>> {
            self.asked += 1;
            if self.asked >= 3 {
                self.over.take();
                return vec![Err("the card is gone".to_owned())];
            }
            vec![Ok(CardSample { power_w: Some(1.0), ..CardSample::default() })]
        }
    }

    #[test]
    fn a_pass_is_sampled_before_during_and_after_and_what_is_missing_is_kept() {
        let (sender, over) = channel();
        let (heard, hears) = channel();
        let fake = Fake { asked: 0, over: Some(sender) };
        let period = Duration::from_micros(1);
        let mut observer = Observer {
            scrape: None,
            cards: vec![Box::new(fake)],
            cards_named: true,
            period,
            told: Some(Box::new(move |sample| heard.send(sample.cards.len()).unwrap())),
        };
        let begun = observer.begin();
        assert_eq!((begun.samples.len(), begun.asks_server, begun.cards_named), (1, false, true));
        let observed = observer.watch(begun, &over);
        let said: Vec<usize> = observed.samples.iter().map(|sample| sample.cards.len()).collect();
        assert_eq!(said, [1, 1, 0, 0]);
        assert_eq!(hears.try_iter().collect::<Vec<_>>(), said);
        assert_eq!(observed.samples[2].cards_missing, ["the card is gone"]);
        assert!(observed.samples.is_sorted_by_key(|sample| sample.at));
    }

    #[test]
    fn nobody_is_asked_where_there_is_nothing_to_ask() {
        let mut observer = Observer {
            scrape: None,
            cards: Vec::new(),
            cards_named: false,
            period: Duration::ZERO,
            told: None,
        };
        let (sender, over) = channel::<()>();
        drop(sender);
        let begun = observer.begin();
        assert_eq!(observer.watch(begun, &over), Observed::default());
    }
}
