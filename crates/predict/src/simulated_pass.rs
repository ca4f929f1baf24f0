//! A pass after its simulation. Its records are created when they are needed, because the records of a million requests
//! take hundreds of megabytes.

use std::{borrow::Borrow, time::Duration};

use inferometer_engine::Finish;
use inferometer_engine::records::{self, PassContext};
use inferometer_model::{Detail, Nanos, Record, RequestFigures, StopReason, Timeline};
use inferometer_store::PassBegin;

use crate::{requests::PlayedRequests, slower::Repeatable};

/// A simulated pass.
pub(crate) struct SimulatedPass {
    pub begin: PassBegin,
    /// Whether responses are streamed.
    pub streamed: bool,
    pub simulated: records::SimulatedPass,
    /// The requests of the workload; `None` if only their lengths were created.
    pub played: Option<PlayedRequests>,
    /// The instant at which the pass ended early, and the reason; `None` if the pass did not end early.
    pub cut_off: Option<(Nanos, StopReason)>,
    /// The pass with its first requests; `None` if it cannot be simulated again.
    pub repeatable: Option<Repeatable>,
}

impl SimulatedPass {
    /// Creates the records, in the order of their starts. Each record is created when the iterator reaches it.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        let PassBegin { pass: number, cell, plan: pass, .. } = &self.begin;
        let place = PassContext {
            cell: *cell,
            pass,
            number: *number,
            streamed: self.streamed,
            leavers: None,
            in_prefill: None,
        };
        self.simulated.records(place).map(|record| {
            let record = match &self.played {
                Some(played) => played.complete(record),
                None => record,
            };
            match self.cut_off {
                Some((at, why)) => record.cut_off(at, Detail::Stopped(why)),
                None => record,
            }
        })
    }

    /// The number of requests, including those that did not begin.
    pub fn requests(&self) -> usize {
        self.simulated.requests().len()
    }

    /// The due times of the requests that were due before the pass ended.
    pub fn dues(&self) -> impl Iterator<Item = Nanos> {
        let dues = self.simulated.requests().iter().map(|request| request.due);
        dues.take_while(|due| self.cut_off.is_none_or(|(at, _)| *due <= at))
    }

    /// The time from the first send of a request to the last end of a request; zero if no request was sent.
    pub fn span(&self) -> Duration {
        if self.cut_off.is_some() {
            return span(self.records());
        }
        let requests = self.simulated.requests().iter();
        let first = requests.clone().map(|request| request.sent).min();
        let last = requests.map(|request| request.ended).max();
        first.zip(last).map_or(Duration::ZERO, |(first, last)| last.since(first))
    }

    /// Whether the engine ignored at least one prompt, because the prompt was too long.
    pub fn has_ignored_prompts(&self) -> bool {
        self.simulated.requests().iter().any(|request| request.finish == Finish::Ignored)
    }
}

/// The figures of each request.
pub(crate) fn figures(records: impl IntoIterator<Item: Borrow<Record>>) -> Vec<RequestFigures> {
    let figures = |record: &Record| RequestFigures::of(&Timeline::new(record));
    records.into_iter().map(|record| figures(record.borrow())).collect()
}

/// The time from the first send of a request to the last end of a request; zero if no request was sent.
pub(crate) fn span(records: impl IntoIterator<Item: Borrow<Record>>) -> Duration {
    let ends = records.into_iter().map(|record| {
        let Record { send_start, ended, .. } = record.borrow();
        (*send_start, *ended)
    });
    let (first, last) = ends.fold((None, None), |(first, last), (sent, ended)| {
        (first.into_iter().chain(sent).min(), last.max(ended))
    });
    first.zip(last).map_or(Duration::ZERO, |(first, last): (Nanos, _)| last.since(first))
}

#[cfg(test)]
mod tests {
    use inferometer_engine::records::simulate_pass;
    use inferometer_engine::{Engine, EngineConfig, EngineRequest};
    use inferometer_model::cell::CellPlan;
    use inferometer_model::load::{Bound, PassPlan, load_model};

    use super::*;

    #[test]
    fn a_pass_that_ended_early_has_the_due_times_and_the_records_until_then() {
        let cell = CellPlan { input_length: 64, output_length: 8 };
        let begin =
            PassBegin { pass: 0, cell, plan: PassPlan::open(10.0, Bound::requests(40)), repeat: 1 };
        let config = EngineConfig::of_model("chatglm3-6b").expect("a model");
        let mut engine = Engine::new(config).expect("an engine");
        let mut asked = std::iter::repeat(EngineRequest::from((64, 8)));
        let place = PassContext {
            cell,
            pass: &begin.plan,
            number: 0,
            streamed: true,
            leavers: None,
            in_prefill: None,
        };
        let mut load = load_model(&begin.plan, 1);
        let simulated = simulate_pass(&mut engine, &mut *load, &mut asked, place);
        let whole = SimulatedPass {
            begin,
            streamed: true,
            simulated,
            played: None,
            cut_off: None,
            repeatable: None,
        };
        let dues: Vec<Nanos> = whole.dues().collect();
        assert_eq!((whole.requests(), dues.len()), (40, 40));
        assert_eq!(whole.span(), span(whole.records()));
        let cut = SimulatedPass { cut_off: Some((dues[19], StopReason::Saturated)), ..whole };
        assert_eq!(cut.dues().collect::<Vec<_>>(), dues[..20]);
        assert_eq!(
            (cut.requests(), cut.records().filter(|one| one.sent.is_some()).count()),
            (40, 20)
        );
        assert_eq!(cut.span(), dues[19].since(dues[0]));
    }
}
