//! A record as other tools see it: the instant at which the client picked the request, and the chunks with
//! output.

use inferometer_model::{EventKind, Nanos, Record};

/// A request with at least one chunk of output.
#[derive(Clone, Debug)]
pub(crate) struct Stream<'a> {
    pub record: &'a Record,
    /// The pick, which other tools use as the start of the request. The client picks a request after the
    /// request's wait in the client, and before the client connects. If the record has no pick, this is the
    /// start of sending.
    pub start: Nanos,
    /// The chunks that contain output of any kind, or empty content without a role. There is at least one.
    pub chunks: Vec<Chunk>,
    /// When the last line of the stream arrived. This line may contain anything, such as the usage.
    pub last_line: Nanos,
    /// Output tokens from the best source in the record.
    pub output: u32,
    /// Prompt tokens; 0 if they are not known.
    pub input: u32,
}

/// A chunk with output, which may be an empty text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub at: Nanos,
    /// Whether the chunk contains text, reasoning or a tool call.
    pub visible: bool,
    /// Whether the chunk contains text of the answer, not reasoning or a tool call.
    pub answer: bool,
    /// The number of tokens, if the stream states it. `None` for all chunks of a request if the sum of these
    /// numbers is impossible ([`Record::can_have`]).
    pub tokens: Option<u32>,
}

impl<'a> Stream<'a> {
    /// Returns `None` for a request that was not sent or that has no chunk of output. None of the tools counts
    /// such a request as a success.
    pub fn new(record: &'a Record) -> Option<Self> {
        let start = record.picked.or(record.send_start)?;
        let are_usable = record.can_have_tokens_of_events();
        let chunks: Vec<Chunk> = record
            .token_events()
            .map(|event| Chunk {
                at: record.arrival(event),
                visible: event.kind.is_visible(),
                answer: event.kind == EventKind::Text,
                tokens: event.tokens.filter(|_| are_usable),
            })
            .collect();
        chunks.first()?;
        let last_line = record.events.last().map(|event| record.arrival(event))?;
        let (output, _) = record.output_tokens();
        let input = record.input_tokens().unwrap_or(0);
        Some(Self { record, start, chunks, last_line, output, input })
    }

    /// Seconds from [`Self::start`] to `at`.
    pub fn since_start(&self, at: Nanos) -> f64 {
        at.seconds_after(self.start)
    }

    /// The chunks that contain text, reasoning or a tool call.
    pub fn visible(&self) -> Vec<Chunk> {
        self.chunks.iter().copied().filter(|chunk| chunk.visible).collect()
    }
}

/// Seconds between each chunk and the chunk before it.
pub(crate) fn gaps(chunks: &[Chunk]) -> Vec<f64> {
    chunks.windows(2).map(|pair| pair[1].at.seconds_after(pair[0].at)).collect()
}
