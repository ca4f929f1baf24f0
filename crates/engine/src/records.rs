//! A pass in virtual time as the records that a load generator would have written of it. Nothing is
//! sent, so instants are exact and the instrument adds nothing.

use inferometer_load::LoadModel;
use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, Read, Record, Usage};
use inferometer_model::time::Nanos;

use crate::engine::{Engine, Finish};
use crate::virtual_time::{Asked, TokensAt, VirtualRecord, simulate_seen};

/// Requests of a pass above which a stream is kept as its first token and all the others together:
/// gaps between tokens are then the mean of each request.
pub const DETAILED_REQUESTS: usize = 20_000;

/// Which pass it is.
#[derive(Clone, Copy, Debug)]
pub struct PassPlace<'a> {
    /// The cell.
    pub cell: CellPlan,
    /// The pass.
    pub pass: &'a PassPlan,
    /// Its number in the run.
    pub number: u32,
    /// Whether answers are streamed.
    pub streamed: bool,
}

/// A pass that was played.
pub struct PlayedPass {
    found: Vec<VirtualRecord>,
    seen: Seen,
}

/// Tokens that came together: when, and how many.
type Tokens = (Nanos, u32);

/// Tokens as they came, in one line while requests are few: sorting them by request is left until
/// it is asked for.
#[derive(Default)]
struct Seen {
    line: Vec<(u32, Tokens)>,
    /// Of many requests, by request; empty before.
    in_brief: Vec<Vec<Tokens>>,
    requests: usize,
}

impl Seen {
    fn tokens(&mut self, TokensAt { request, at, count }: TokensAt) {
        self.requests = self.requests.max(request + 1);
        if self.requests <= DETAILED_REQUESTS {
            self.line.push((request as u32, (at, count)));
            return;
        }
        if self.in_brief.is_empty() {
            self.in_brief = by_request(&std::mem::take(&mut self.line), self.requests);
        }
        self.in_brief.resize(self.requests, Vec::new());
        let stream = &mut self.in_brief[request];
        match stream.as_mut_slice() {
            [_, .., last] => *last = (at, last.1 + count),
            _ => stream.push((at, count)),
        }
    }
}

fn by_request(line: &[(u32, Tokens)], requests: usize) -> Vec<Vec<Tokens>> {
    let mut streams = vec![Vec::new(); requests];
    for &(request, tokens) in line {
        streams[request as usize].push(tokens);
    }
    streams
}

/// Plays a pass against an idle engine.
pub fn play(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut dyn Iterator<Item = Asked>,
    place: PassPlace<'_>,
) -> PlayedPass {
    let (max_in_flight, _) = place.pass.limit();
    let mut seen = Seen::default();
    // Nobody sees the tokens of an answer that comes as a whole.
    let found = if place.streamed {
        simulate_seen(engine, load, source, max_in_flight, |tokens| seen.tokens(tokens))
    } else {
        simulate_seen(engine, load, source, max_in_flight, |_| ())
    };
    PlayedPass { found, seen }
}

impl PlayedPass {
    /// What a load generator would have written of it, in the order of starts.
    #[must_use]
    pub fn records(&self, place: PassPlace<'_>) -> Vec<Record> {
        let in_line = by_request(&self.seen.line, self.found.len());
        let streams = if self.seen.in_brief.is_empty() { &in_line } else { &self.seen.in_brief };
        let stages = place.pass.stages();
        let numbered = self.found.iter().zip(0..);
        let record = |(found, index): (&VirtualRecord, u32)| {
            let whole = [(found.ended, found.output)];
            let stream = match streams.get(index as usize) {
                Some(stream) if place.streamed => stream,
                _ if place.streamed || found.output == 0 => &[][..],
                _ => &whole,
            };
            let record = record(found, stream, place, index);
            let class = stages.class(found.due, record.class.clone());
            Record { class, ..record }
        };
        numbered.map(record).collect()
    }
}

fn record(
    found: &VirtualRecord,
    stream: &[(Nanos, u32)],
    place: PassPlace<'_>,
    index: u32,
) -> Record {
    let is_ignored = found.finish == Finish::Ignored;
    let at = |at: Nanos| Read { kernel: Some(at), user: at, empty_before: at, bytes: 0 };
    let event = |(read, &(_, tokens)): (u32, &(Nanos, u32))| Event {
        read,
        kind: EventKind::Text,
        chars: tokens,
        tokens: Some(tokens),
    };
    Record {
        asked_input: place.cell.input_length,
        asked_output: place.cell.output_length,
        picked: Some(found.sent),
        send_start: Some(found.sent),
        sent: Some(found.sent),
        headers: stream.first().map(|first| first.0),
        reads: stream.iter().map(|&(instant, _)| at(instant)).collect(),
        events: (0..).zip(stream).map(event).collect(),
        ended: Some(found.ended),
        // A prompt that the engine has no room for is refused.
        outcome: if is_ignored { Outcome::Rejected { status: 400 } } else { Outcome::Complete },
        status: Some(if is_ignored { 400 } else { 200 }),
        finish_reason: Some(
            if found.finish == Finish::Stop { "stop" } else { "length" }.to_owned(),
        ),
        usage: Usage { prompt: Some(found.prompt), completion: Some(found.output), cached: None },
        ..Record::planned(place.number, index, found.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineConfig;
    use inferometer_load::load_model;

    /// The records of so many requests at once.
    fn records(requests: u32, streamed: bool) -> Vec<Record> {
        let mut engine = Engine::new(EngineConfig::of_model("chatglm3-6b").unwrap()).unwrap();
        let pass = PassPlan::Saturated { requests };
        let cell = CellPlan { input_length: 64, output_length: 5 };
        let place = PassPlace { cell, pass: &pass, number: 0, streamed };
        let mut lengths = std::iter::repeat(Asked::from((64, 5)));
        play(&mut engine, &mut *load_model(&pass, 0), &mut lengths, place).records(place)
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
    fn streams_of_many_requests_are_kept_in_brief_and_lose_no_token() {
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
