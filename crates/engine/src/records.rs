//! Simulates a pass in virtual time and creates the records that a load generator would have written. Nothing is sent.
//! Instants are exact, and the client adds no delay.

use std::{borrow::Cow, ops::ControlFlow};

use inferometer_model::load::{Leavers, LoadModel};
use inferometer_model::record::{Event, Read};
use inferometer_model::{
    CellPlan, Detail, EventKind, Nanos, Outcome, PassPlan, Phase, Record, Usage,
};

use crate::{Clients, Engine, Feed, Finish, TokenArrival, VirtualRecord, simulate_with};

/// In passes with more requests than this, a record has only two events: the first token, and all other tokens
/// together. The gaps between tokens are then known only as the mean of each request.
pub const DETAILED_REQUESTS: usize = 20_000;

/// The pass that is simulated.
#[derive(Clone, Copy, Debug)]
pub struct PassContext<'a> {
    /// The cell, with the lengths of the requests.
    pub cell: CellPlan,
    /// The load of the pass.
    pub pass: &'a PassPlan,
    /// The index of the pass in the run, from 0.
    pub number: u32,
    /// Whether responses are streamed.
    pub streamed: bool,
    /// The clients that leave; `None` if all stay.
    pub leavers: Option<Leavers>,
    /// The most requests that have been sent and have no token yet; `None` for no limit.
    pub in_prefill: Option<u32>,
}

/// The result of a simulated pass.
pub struct SimulatedPass {
    requests: Vec<VirtualRecord>,
    /// The tokens of each request, empty if the responses are not streamed. `None` if only the instants of the first
    /// and the last token are known.
    streams: Option<Vec<Vec<Tokens>>>,
}

/// Tokens that arrived together: the instant and their number.
type Tokens = (Nanos, u32);

/// The tokens of all requests, in the order of their arrival. If there are more than [`DETAILED_REQUESTS`] requests,
/// nothing is stored. A record then needs only the instants of its first and last token.
#[derive(Default)]
struct TokenLog {
    in_order: Vec<(u32, Tokens)>,
    is_full: bool,
}

impl TokenLog {
    fn add(&mut self, TokenArrival { request, at, count }: TokenArrival) -> ControlFlow<()> {
        if request < DETAILED_REQUESTS {
            self.in_order.push((request as u32, (at, count)));
            return ControlFlow::Continue(());
        }
        *self = Self { in_order: Vec::new(), is_full: true };
        ControlFlow::Break(())
    }

    /// The tokens of each of `requests` requests; `None` if nothing was stored.
    fn by_request(self, requests: usize) -> Option<Vec<Vec<Tokens>>> {
        if self.is_full {
            return None;
        }
        let mut streams = vec![Vec::new(); requests];
        for (request, tokens) in self.in_order {
            streams[request as usize].push(tokens);
        }
        Some(streams)
    }
}

/// The first token of a request, and all other tokens as one event at the instant of the last token.
fn first_and_others(request: &VirtualRecord) -> Vec<Tokens> {
    let first = request.first_token.map(|at| (at, 1));
    let others = request.last_token.map(|at| (at, request.output.saturating_sub(1)));
    first.into_iter().chain(others.filter(|(_, count)| *count > 0)).collect()
}

/// Simulates a pass on an idle engine.
pub fn simulate_pass(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut (impl Feed + ?Sized),
    context: PassContext<'_>,
) -> SimulatedPass {
    let PassContext { pass, leavers, in_prefill, .. } = context;
    let limits = Clients { in_flight: pass.limit().0, in_prefill, leavers };
    let mut tokens = TokenLog::default();
    // A response that is not streamed arrives as a whole, so the instants of its tokens are not recorded.
    let requests = if context.streamed {
        simulate_with(engine, load, source, limits, |arrival| tokens.add(arrival))
    } else {
        simulate_with(engine, load, source, limits, |_| ControlFlow::Break(()))
    };
    let streams = tokens.by_request(requests.len());
    SimulatedPass { requests, streams }
}

impl SimulatedPass {
    /// The requests, in the order of their starts.
    pub fn requests(&self) -> &[VirtualRecord] {
        &self.requests
    }

    /// Creates the records that a load generator would have written, in the order of their starts. Each record is
    /// created when the iterator reaches it, because the records of many requests take much memory.
    pub fn records<'a>(&'a self, context: PassContext<'a>) -> impl Iterator<Item = Record> + 'a {
        let stages = context.pass.stages();
        self.requests.iter().zip(0..).map(move |(request, index)| {
            let stream = self.stream(request, context, index);
            let record = record(request, &stream, context, index);
            let class = stages.class(request.due, record.class.clone());
            Record { class, ..record }
        })
    }

    /// The tokens of a request, as they arrive.
    fn stream(
        &self,
        request: &VirtualRecord,
        context: PassContext<'_>,
        index: u32,
    ) -> Cow<'_, [Tokens]> {
        match &self.streams {
            _ if !context.streamed && (request.output == 0 || request.left) => Cow::default(),
            _ if !context.streamed => Cow::Owned(vec![(request.ended, request.output)]),
            Some(streams) => Cow::Borrowed(streams.get(index as usize).map_or(&[], Vec::as_slice)),
            None => Cow::Owned(first_and_others(request)),
        }
    }
}

fn record(
    request: &VirtualRecord,
    stream: &[Tokens],
    context: PassContext<'_>,
    index: u32,
) -> Record {
    let is_ignored = request.finish == Finish::Ignored && !request.left;
    let at = |at: Nanos| Read { kernel: Some(at), user: at, empty_before: at, bytes: 0 };
    let event = |(read, &(_, tokens)): (u32, &Tokens)| Event {
        read,
        kind: EventKind::Text,
        chars: tokens,
        tokens: Some(tokens),
    };
    Record {
        asked_input: context.cell.input_length,
        asked_output: context.cell.output_length,
        streamed: context.streamed,
        picked: Some(request.sent),
        send_start: Some(request.sent),
        sent: Some(request.sent),
        headers: stream.first().map(|first| first.0),
        reads: stream.iter().map(|&(instant, _)| at(instant)).collect(),
        events: (0..).zip(stream).map(event).collect(),
        ended: Some(request.ended),
        // The engine rejects a prompt that is too long for it.
        outcome: match stream.first() {
            Some(_) if request.left => Outcome::Abandoned { phase: Phase::BetweenEvents },
            None if request.left => Outcome::Abandoned { phase: Phase::FirstToken },
            _ if is_ignored => Outcome::Rejected { status: 400 },
            _ => Outcome::Complete,
        },
        status: Some(if is_ignored { 400 } else { 200 }).filter(|_| !request.left),
        detail: is_ignored.then(|| {
            let why = format!(
                "the prompt of {} tokens is too long: with its output it exceeds --max-model-len, or it exceeds \
                 --max-num-batched-tokens, or does not fit into the KV cache",
                request.prompt
            );
            Detail::said(&why)
        }),
        finish_reason: (!request.left).then(|| {
            if request.finish == Finish::Stop { "stop" } else { "length" }.to_owned()
        }),
        usage: if request.left { Usage::default() } else { Usage {
            prompt: Some(request.prompt),
            completion: Some(request.output),
            cached: request.cached,
            ..Usage::default()
        } },
        ..Record::planned(context.number, index, request.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineConfig;
    use inferometer_model::load::load_model;

    /// The records of requests that are all sent at once.
    fn records(requests: u32, streamed: bool) -> Vec<Record> {
        let mut engine = Engine::new(EngineConfig::of_model("chatglm3-6b").unwrap()).unwrap();
        let pass = PassPlan::saturated(requests);
        let cell = CellPlan { input_length: 64, output_length: 5 };
        let context =
            PassContext { cell, pass: &pass, number: 0, streamed, leavers: None, in_prefill: None };
        let mut lengths = std::iter::repeat(crate::EngineRequest::from((64, 5)));
        simulate_pass(&mut engine, &mut *load_model(&pass, 0), &mut lengths, context)
            .records(context)
            .collect()
    }

    #[test]
    fn a_streamed_record_has_all_tokens_and_an_unstreamed_one_has_one_event_at_its_end() {
        let (streamed, whole) = (records(300, true), records(300, false));
        assert_eq!((streamed.len(), whole.len()), (300, 300));
        for (streamed, whole) in streamed.iter().zip(&whole) {
            assert_eq!((streamed.ended, &streamed.usage), (whole.ended, &whole.usage));
            let tokens: u32 = streamed.events.iter().filter_map(|event| event.tokens).sum();
            assert_eq!((tokens, whole.events.len(), whole.events[0].tokens), (5, 1, Some(5)));
            assert_eq!(whole.headers, whole.ended);
            assert!(streamed.headers < streamed.ended && streamed.reads.len() > 1);
        }
    }

    #[test]
    fn token_events_of_large_passes_are_merged_without_losing_tokens() {
        let found = records(DETAILED_REQUESTS as u32 + 500, true);
        let last = found.last().unwrap();
        assert_eq!(last.events.len(), 2);
        for record in &found {
            let tokens: u32 = record.events.iter().filter_map(|event| event.tokens).sum();
            assert_eq!(tokens, 5);
            assert_eq!(record.reads.last().map(|read| read.user), record.ended);
        }
    }
}
