//! Polls the server and the cards before, during and after a pass. During the pass, the polling has its own
//! thread, which is not the thread of the load generator. The observer never sends two requests at the same
//! time.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use inferometer_model::Observed;
use inferometer_model::sample::{Sample, ServerSample, SourceSample};
use inferometer_net::{monotonic_now, thread_cpu_time};

use crate::{observe::cards::CardSource, observe::names::Histograms, observe::scrape::Scrape};

/// After a poll, the observer waits at least this many times as long as the scrapes of this poll took. So a slow server
/// spends at most a fiftieth of its time on scrapes.
const REST_FACTOR: u32 = 50;

/// The sources that are polled for a pass.
pub struct Observer {
    /// The server's metrics; `None` if they are not scraped.
    pub scrape: Option<Scrape>,
    /// The metrics of several servers, each with the server's name.
    pub sources: Vec<(String, Scrape)>,
    /// Whether `sources` are equal servers that share one load. Their metrics are then combined into one sample.
    pub combines_sources: bool,
    /// The cards of the server's machine; empty if none are found.
    pub cards: Vec<Box<dyn CardSource>>,
    /// Whether the user named these cards as those of the server.
    pub cards_named: bool,
    /// The shortest pause between two polls. The last poll of a pass may come earlier.
    pub period: Duration,
    /// Called with each sample, on the polling thread.
    pub on_sample: Option<SampleListener>,
}

/// A callback for samples.
pub type SampleListener = Box<dyn FnMut(&Sample) + Send>;

impl Observer {
    /// Whether there is nothing to poll.
    pub fn is_idle(&self) -> bool {
        self.scrape.is_none() && self.sources.is_empty() && self.cards.is_empty()
    }

    /// Polls once, before a pass begins. Does nothing if there is nothing to poll.
    pub fn begin(&mut self) -> Observed {
        let mut observed = Observed {
            asks_server: self.scrape.is_some() || self.combines_sources && !self.sources.is_empty(),
            sources: self.sources.iter().map(|(name, _)| name.clone()).collect(),
            cards_named: self.cards_named,
            ..Observed::default()
        };
        if self.is_idle() {
            return observed;
        }
        let before = thread_cpu_time();
        observed.samples.push(self.sample(Histograms::Read));
        add_cpu_time(&mut observed, before);
        observed
    }

    /// Polls after each pause until `over` receives a value or its sender is dropped, and then polls once more. This
    /// function blocks, so it must be called on a separate thread.
    pub fn watch<T>(&mut self, mut observed: Observed, over: &Receiver<T>) -> Observed {
        if self.is_idle() {
            // There is nothing to poll, but the caller expects this function to end with the pass.
            let _ = over.recv();
            return observed;
        }
        let before = thread_cpu_time();
        loop {
            let took = observed.samples.last().map_or(0, |sample| sample.took_us);
            let wait = self.period.max(Duration::from_micros(took) * REST_FACTOR);
            match over.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {
                    observed.samples.push(self.sample(Histograms::Skip));
                }
                Ok(_) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        observed.samples.push(self.sample(Histograms::Read));
        add_cpu_time(&mut observed, before);
        observed
    }

    fn sample(&mut self, histograms: Histograms) -> Sample {
        let began = monotonic_now();
        let mut sample = Sample::default();
        if let Some(scrape) = &self.scrape {
            match scrape.sample(histograms) {
                Ok(metrics) => sample.server = Some(metrics),
                Err(why) => sample.missing.push(why.to_string()),
            }
        }
        self.ask_each(&mut sample, histograms);
        let answered = monotonic_now();
        sample.took_us = u64::try_from(answered.since(began).as_micros()).unwrap_or(u64::MAX);
        sample.at = answered;
        for cards in &mut self.cards {
            for card in cards.sample() {
                match card {
                    Ok(card) => sample.cards.push(card),
                    Err(why) => sample.cards_missing.push(why.to_string()),
                }
            }
        }
        if let Some(on_sample) = &mut self.on_sample {
            on_sample(&sample);
        }
        sample
    }

    /// Scrapes several servers, one after the other.
    fn ask_each(&self, sample: &mut Sample, histograms: Histograms) {
        for (_, scrape) in &self.sources {
            let began = monotonic_now();
            let (server, missing) = match scrape.sample(histograms) {
                Ok(metrics) => (Some(metrics), None),
                Err(why) => (None, Some(why.to_string())),
            };
            let took = monotonic_now().since(began).as_micros();
            let took_us = u64::try_from(took).unwrap_or(u64::MAX);
            sample.missing.extend(missing.iter().filter(|_| self.combines_sources).cloned());
            sample.each.push(SourceSample { took_us, server, missing });
        }
        let all: Option<Vec<_>> = sample.each.iter().map(|one| one.server.as_ref()).collect();
        // If one server is missing, the sums of the counters would become smaller, so no sum is stored.
        sample.server = match all {
            Some(all) if self.combines_sources && !all.is_empty() => {
                Some(ServerSample::together(all))
            }
            _ => sample.server.take(),
        };
    }
}

fn add_cpu_time(observed: &mut Observed, before: Duration) {
    let cost = thread_cpu_time().saturating_sub(before);
    observed.cpu_us += u64::try_from(cost.as_micros()).unwrap_or(u64::MAX);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use inferometer_model::sample::CardSample;
    use inferometer_model::target::Card;

    use super::*;
    use crate::observe::error::ObserveError;

    /// Cards that give two samples and then errors. The third poll ends the pass.
    struct Fake {
        polls: u32,
        over: Option<std::sync::mpsc::Sender<()>>,
    }

    impl CardSource for Fake {
        fn cards(&self) -> Vec<Card> {
            Vec::new()
        }

        fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>> {
            self.polls += 1;
            if self.polls >= 3 {
                self.over.take();
                return vec![Err(ObserveError::NoCards("dcgm".to_owned()))];
            }
            vec![Ok(CardSample { power_w: Some(1.0), ..CardSample::default() })]
        }
    }

    #[test]
    fn a_pass_is_sampled_before_during_and_after_and_errors_are_recorded() {
        let (sender, over) = channel();
        let (heard, hears) = channel();
        let fake = Fake { polls: 0, over: Some(sender) };
        let period = Duration::from_micros(1);
        let mut observer = Observer {
            scrape: None,
            sources: Vec::new(),
            combines_sources: false,
            cards: vec![Box::new(fake)],
            cards_named: true,
            period,
            on_sample: Some(Box::new(move |sample| heard.send(sample.cards.len()).unwrap())),
        };
        let begun = observer.begin();
        assert_eq!((begun.samples.len(), begun.asks_server, begun.cards_named), (1, false, true));
        let observed = observer.watch(begun, &over);
        let counts: Vec<usize> = observed.samples.iter().map(|sample| sample.cards.len()).collect();
        assert_eq!(counts, [1, 1, 0, 0]);
        assert_eq!(hears.try_iter().collect::<Vec<_>>(), counts);
        assert_eq!(observed.samples[2].cards_missing, ["dcgm: the DCGM exporter reports no card"]);
        assert!(observed.samples.is_sorted_by_key(|sample| sample.at));
    }

    #[test]
    fn an_observer_without_sources_takes_no_samples() {
        let mut observer = Observer {
            scrape: None,
            sources: Vec::new(),
            combines_sources: false,
            cards: Vec::new(),
            cards_named: false,
            period: Duration::ZERO,
            on_sample: None,
        };
        let (sender, over) = channel::<()>();
        drop(sender);
        let begun = observer.begin();
        assert_eq!(observer.watch(begun, &over), Observed::default());
    }
}
