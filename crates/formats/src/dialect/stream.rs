//! A record as other tools see it: the instant of its pick, and its content chunks.

use inferometer_model::record::{EventKind, Record};
use inferometer_model::time::Nanos;

/// A completed request.
#[derive(Clone, Debug)]
pub(crate) struct Stream<'a> {
    pub record: &'a Record,
    /// Their start: after the semaphore, before connecting.
    pub start: Nanos,
    /// Chunks with content of any kind, or with empty content and no role.
    pub chunks: Vec<Chunk>,
    /// The last line of the stream, whatever it carries.
    pub last_line: Nanos,
    /// Output tokens by the record's best source.
    pub output: u32,
    /// Prompt tokens; 0 where nobody counted them.
    pub input: u32,
}

/// A chunk that brings output, perhaps an empty one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub at: Nanos,
    /// Whether it brings text, reasoning or a tool call.
    pub visible: bool,
    /// Whether it brings an answer, and not its reasoning.
    pub answer: bool,
    /// Tokens, where the stream says so.
    pub tokens: Option<u32>,
}

impl<'a> Stream<'a> {
    /// Nothing for a request without a single event: none of the tools counts it as a success.
    pub fn new(record: &'a Record) -> Option<Self> {
        let start = record.picked.or(record.send_start)?;
        let chunks: Vec<Chunk> = record
            .token_events()
            .map(|event| Chunk {
                at: record.arrival(event),
                visible: event.kind.is_visible(),
                answer: event.kind == EventKind::Text,
                tokens: event.tokens,
            })
            .collect();
        chunks.first()?;
        let last_line = record.events.last().map(|event| record.arrival(event))?;
        let (output, _) = record.output_tokens();
        let input = record.input_tokens().unwrap_or(0);
        Some(Self { record, start, chunks, last_line, output, input })
    }

    /// Seconds from the start.
    pub fn since_start(&self, at: Nanos) -> f64 {
        at.seconds_after(self.start)
    }

    /// Chunks with something to see.
    pub fn visible(&self) -> Vec<Chunk> {
        self.chunks.iter().copied().filter(|chunk| chunk.visible).collect()
    }
}

/// Seconds between each chunk and the one before it.
pub(crate) fn gaps(chunks: &[Chunk]) -> Vec<f64> {
    chunks.windows(2).map(|pair| pair[1].at.seconds_after(pair[0].at)).collect()
}
