//! Tests how many bytes a token takes on disk, if each token arrives in its own read.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

use inferometer_model::cell::CellPlan;
use inferometer_model::load::PassPlan;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, Read, Record, Usage};
use inferometer_model::time::Nanos;
use inferometer_store::log::as_stored;
use inferometer_store::{Ending, LogHeader, LogWriter, PassBegin, passes};

/// SplitMix64 (Steele, Lea, Flood 2014): pseudorandom numbers that are the same in every run of the test.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// When the receive path last saw that the socket was empty.
#[derive(Clone, Copy, Debug)]
enum Looks {
    /// Immediately after the previous read.
    AfterRead,
    /// At a random time in the 200 us before the arrival, because all sockets are checked in turn.
    AnyTime,
}

/// A record with a token every 10 ms, with 100 us of jitter. Each token is read 10 to 50 us after its
/// arrival.
fn record(index: u32, tokens: u32, looks: Looks, noise: &mut Noise) -> Record {
    let start = 5_000_000 * u64::from(index);
    let mut reads = Vec::new();
    let mut events = Vec::new();
    let mut last_look = start + 100_000;
    for token in 0..tokens {
        let kernel = start + 80_000_000 + 10_000_000 * u64::from(token) + noise.below(100_000);
        let user = kernel + 10_000 + noise.below(40_000);
        let chars = 1 + noise.below(3) + noise.below(4) + noise.below(2);
        let empty_before = match looks {
            Looks::AfterRead => last_look,
            Looks::AnyTime => kernel - noise.below(200_000),
        };
        reads.push(Read {
            kernel: Some(Nanos(kernel)),
            user: Nanos(user),
            empty_before: Nanos(empty_before),
            bytes: 187 + chars as u32,
        });
        let kind = EventKind::Text;
        events.push(Event { read: token, kind, chars: chars as u32, tokens: None });
        last_look = user + 2_000 + noise.below(6_000);
    }
    let at = |ns: u64| Some(Nanos(start + ns));
    Record {
        asked_input: 128,
        asked_output: tokens,
        prompt_tokens_tokenizer: Some(128),
        picked: at(3_000 + noise.below(20_000)),
        send_start: at(30_000 + noise.below(20_000)),
        sent: at(60_000 + noise.below(20_000)),
        headers: at(79_000_000 + noise.below(500_000)),
        ended: Some(Nanos(last_look)),
        reads,
        events,
        outcome: Outcome::Complete,
        status: Some(200),
        finish_reason: Some("length".to_owned()),
        usage: Usage {
            prompt: Some(128),
            completion: Some(tokens),
            cached: None,
            ..Usage::default()
        },
        ..Record::planned(0, index, Nanos(start))
    }
}

fn bytes_per_token(requests: u32, tokens: u32, flush_every: u32, looks: Looks) -> f64 {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("run.log");
    let mut writer = LogWriter::create(&path, &LogHeader::new("run", 0)).unwrap();
    let cell = CellPlan { input_length: 128, output_length: tokens };
    let plan = PassPlan::saturated(requests);
    writer.begin_pass(&PassBegin { pass: 0, cell, plan, repeat: 1 }).unwrap();
    let mut noise = Noise(1);
    let records: Vec<_> =
        (0..requests).map(|index| record(index, tokens, looks, &mut noise)).collect();
    for (index, record) in (0..).zip(&records) {
        writer.append(record).unwrap();
        if (index + 1) % flush_every == 0 {
            writer.flush().unwrap();
        }
    }
    writer.end_pass(Ending::Complete, None).unwrap();
    writer.finish(Ending::Complete).unwrap();
    let stored = passes(&path).unwrap().flat_map(|pass| pass.unwrap().records);
    assert!(stored.eq(records.iter().map(as_stored)));
    let bytes = std::fs::metadata(&path).unwrap().len();
    bytes as f64 / f64::from(requests * tokens)
}

#[test]
fn a_streamed_token_takes_few_bytes_in_the_log() {
    let cases = [
        ("399 requests of 512, flushed once", 399, 512, 399, Looks::AfterRead, 4.0),
        ("399 requests of 128, flushed every 20 requests", 399, 128, 20, Looks::AfterRead, 5.0),
        ("10 requests of 512, flushed each", 10, 512, 1, Looks::AfterRead, 5.0),
        ("399 requests of 512, looks at any time", 399, 512, 399, Looks::AnyTime, 5.0),
        ("10 requests of 128, flushed each", 10, 128, 1, Looks::AfterRead, 8.0),
    ];
    for (what, requests, tokens, flush_every, looks, limit) in cases {
        let found = bytes_per_token(requests, tokens, flush_every, looks);
        println!("{what}: {found:.2} bytes per token");
        assert!(found < limit, "{what}: {found:.2} bytes per token, but the limit is {limit}");
    }
}
