//! A pass in virtual time, as the records that a load generator would have written of it. Nothing is
//! sent: instants are exact, and the client adds no delay.

use inferometer_load::{LoadModel, PassPlan};
use inferometer_model::cell::CellPlan;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, Read, Record, Usage};
use inferometer_model::time::Nanos;

use crate::engine::Engine;
use crate::request::{EngineRequest, Finish};
use crate::virtual_time::{TokenArrival, VirtualRecord, simulate_with};

/// Passes of more requests than this store of each stream the first token and all others as one
/// event, so that gaps between tokens are the mean of each request.
pub const DETAILED_REQUESTS: usize = 20_000;

/// The pass that is simulated.
#[derive(Clone, Copy, Debug)]
pub struct PassContext<'a> {
    /// The cell.
    pub cell: CellPlan,
    /// The pass.
    pub pass: &'a PassPlan,
    /// Its number in the run.
    pub number: u32,
    /// Whether answers are streamed.
    pub streamed: bool,
}

/// The result of a simulated pass.
pub struct SimulatedPass {
    requests: Vec<VirtualRecord>,
    tokens: TokenLog,
}

/// Tokens that came together: when, and how many.
type Tokens = (Nanos, u32);

/// The tokens of all requests. While requests are few, in the order in which they came; they are
/// grouped by request only when records are made.
#[derive(Default)]
struct TokenLog {
    in_order: Vec<(u32, Tokens)>,
    /// Above [`DETAILED_REQUESTS`]: by request, at most two entries each. Empty before.
    by_request: Vec<Vec<Tokens>>,
    requests: usize,
}

impl TokenLog {
    fn add(&mut self, TokenArrival { request, at, count }: TokenArrival) {
        self.requests = self.requests.max(request + 1);
        if self.requests <= DETAILED_REQUESTS {
            self.in_order.push((request as u32, (at, count)));
            return;
        }
        if self.by_request.is_empty() {
            self.by_request = group(&std::mem::take(&mut self.in_order), self.requests);
        }
        self.by_request.resize(self.requests, Vec::new());
        let stream = &mut self.by_request[request];
        match stream.as_mut_slice() {
            [_, .., last] => *last = (at, last.1 + count),
            _ => stream.push((at, count)),
        }
    }
}

fn group(in_order: &[(u32, Tokens)], requests: usize) -> Vec<Vec<Tokens>> {
    let mut streams = vec![Vec::new(); requests];
    for &(request, tokens) in in_order {
        streams[request as usize].push(tokens);
    }
    streams
}

/// Simulates a pass on an idle engine.
pub fn simulate_pass(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut dyn Iterator<Item = EngineRequest>,
    context: PassContext<'_>,
) -> SimulatedPass {
    let (max_in_flight, _) = context.pass.limit();
    let mut tokens = TokenLog::default();
    // An answer that is not streamed arrives as a whole: when its tokens were made is not recorded.
    let requests = if context.streamed {
        simulate_with(engine, load, source, max_in_flight, |arrival| tokens.add(arrival))
    } else {
        simulate_with(engine, load, source, max_in_flight, |_| ())
    };
    SimulatedPass { requests, tokens }
}

impl SimulatedPass {
    /// The records that a load generator would have written, in the order of starts.
    pub fn records(&self, context: PassContext<'_>) -> Vec<Record> {
        let TokenLog { in_order, by_request, .. } = &self.tokens;
        let grouped = group(in_order, self.requests.len());
        let streams = if by_request.is_empty() { &grouped } else { by_request };
        let stages = context.pass.stages();
        let record = |(request, index): (&VirtualRecord, u32)| {
            let whole = [(request.ended, request.output)];
            let stream = match streams.get(index as usize) {
                Some(stream) if context.streamed => stream,
                _ if context.streamed || request.output == 0 => &[][..],
                _ => &whole,
            };
            let record = record(request, stream, context, index);
            let class = stages.class(request.due, record.class.clone());
            Record { class, ..record }
        };
        self.requests.iter().zip(0..).map(record).collect()
    }
}

fn record(
    request: &VirtualRecord,
    stream: &[Tokens],
    context: PassContext<'_>,
    index: u32,
) -> Record {
    let is_ignored = request.finish == Finish::Ignored;
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
        // The engine refuses a prompt for which it has no room.
        outcome: if is_ignored { Outcome::Rejected { status: 400 } } else { Outcome::Complete },
        status: Some(if is_ignored { 400 } else { 200 }),
        finish_reason: Some(
            if request.finish == Finish::Stop { "stop" } else { "length" }.to_owned(),
        ),
        usage: Usage {
            prompt: Some(request.prompt),
            completion: Some(request.output),
            cached: None,
        },
        ..Record::planned(context.number, index, request.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineConfig;
    use inferometer_load::load_model;

    /// The records of requests that are all sent at once.
    fn records(requests: u32, streamed: bool) -> Vec<Record> {
        let mut engine = Engine::new(EngineConfig::of_model("chatglm3-6b").unwrap()).unwrap();
        let pass = PassPlan::Saturated { requests };
        let cell = CellPlan { input_length: 64, output_length: 5 };
        let context = PassContext { cell, pass: &pass, number: 0, streamed };
        let mut lengths = std::iter::repeat(EngineRequest::from((64, 5)));
        simulate_pass(&mut engine, &mut *load_model(&pass, 0), &mut lengths, context)
            .records(context)
    }

    #[test]
    fn a_stream_has_all_its_tokens_and_a_whole_answer_comes_at_its_end() {
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
    fn streams_of_many_requests_are_merged_and_lose_no_token() {
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
