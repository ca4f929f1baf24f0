//! A pass in virtual time as the records that a load generator would have written of it. Nothing is
//! sent, so instants are exact and the instrument adds nothing.

use inferometer_core::load::LoadModel;
use inferometer_core::outcome::Outcome;
use inferometer_core::plan::{CellPlan, PassPlan};
use inferometer_core::record::{Event, EventKind, Read, Record, Usage};
use inferometer_core::time::Nanos;

use crate::engine::{Engine, Finish};
use crate::virtual_time::{Lengths, TokensAt, VirtualRecord, simulate_seen};

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
    streams: Vec<Vec<(Nanos, u32)>>,
}

/// Plays a pass against an idle engine.
pub fn play(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut dyn Iterator<Item = Lengths>,
    place: PassPlace<'_>,
) -> PlayedPass {
    let max_in_flight = match place.pass {
        PassPlan::Open { max_in_flight, .. } => *max_in_flight,
        _ => None,
    };
    if !place.streamed {
        let found = simulate_seen(engine, load, source, max_in_flight, |_| ());
        return PlayedPass { found, streams: Vec::new() };
    }
    let mut streams: Vec<Vec<(Nanos, u32)>> = Vec::new();
    let see = |tokens: TokensAt| {
        if streams.len() <= tokens.request {
            streams.resize(tokens.request + 1, Vec::new());
        }
        let in_brief = streams.len() > DETAILED_REQUESTS;
        let stream = &mut streams[tokens.request];
        match stream.as_mut_slice() {
            [_, .., last] if in_brief => *last = (tokens.at, last.1 + tokens.count),
            _ => stream.push((tokens.at, tokens.count)),
        }
    };
    let found = simulate_seen(engine, load, source, max_in_flight, see);
    streams.resize(found.len(), Vec::new());
    PlayedPass { found, streams }
}

impl PlayedPass {
    /// What a load generator would have written of it, in the order of starts.
    #[must_use]
    pub fn records(&self, place: PassPlace<'_>) -> Vec<Record> {
        let numbered = self.found.iter().zip(0..);
        let record = |(found, index): (&VirtualRecord, u32)| match self.streams.get(index as usize)
        {
            Some(stream) => record(found, stream, place, index),
            // Nobody sees tokens of an answer that comes as a whole.
            None if found.output == 0 => record(found, &[], place, index),
            None => record(found, &[(found.ended, found.output)], place, index),
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
        outcome: Outcome::Complete,
        status: Some(200),
        finish_reason: Some(
            if found.finish == Finish::Stop { "stop" } else { "length" }.to_owned(),
        ),
        usage: Usage { prompt: Some(found.prompt), completion: Some(found.output), cached: None },
        ..Record::planned(place.number, index, found.due)
    }
}
