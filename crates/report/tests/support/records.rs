//! Records for tests of charts: streams of tokens whose latencies vary like those of a loaded server.

use inferometer_analysis::PassFold;
use inferometer_analysis::summary::Summary;
use inferometer_model::CellPlan;
use inferometer_model::load::{Bound, PassPlan};
use inferometer_model::metrics::Timeline;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, Read, Record};
use inferometer_model::sample::{CardSample, Observed, Quantity, Sample, ServerSample};
use inferometer_model::time::Nanos;
use inferometer_report::trace::{PassTrace, PassTracer, Traces};

const MS: u64 = 1_000_000;

/// A pseudo-random number of at least 0 and below 1, which depends only on the arguments.
fn chance(index: u32, salt: u32) -> f64 {
    let mixed = index.wrapping_mul(2_654_435_761).wrapping_add(salt.wrapping_mul(40_503));
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519);
    f64::from(mixed >> 8) / f64::from(1_u32 << 24)
}

/// The record of request `index` of a pass that begins at `begin`. The answer has `tokens` tokens, each
/// in its own read. Every hundredth request is rejected.
pub fn record(index: u32, begin: Nanos, tokens: u32) -> Record {
    let sent = Nanos(begin.0 + u64::from(index) * 2 * MS);
    let mut record = Record::planned(0, index, sent);
    (record.picked, record.send_start, record.sent) = (Some(sent), Some(sent), Some(sent));
    if index % 100 == 99 {
        record.outcome = Outcome::Rejected { status: 429 };
        record.ended = Some(Nanos(sent.0 + MS));
        return record;
    }
    let slow = if index % 250 == 7 { 8.0 } else { 1.0 };
    let mut at = sent.0 + ((20.0 + 60.0 * chance(index, 1).powi(3)) * slow * MS as f64) as u64;
    for token in 0..tokens {
        let stamp = Nanos(at);
        record.reads.push(Read { kernel: Some(stamp), user: stamp, empty_before: sent, bytes: 90 });
        record.events.push(Event { read: token, kind: EventKind::Text, chars: 4, tokens: None });
        at += ((12.0 + 6.0 * chance(index, token + 2)) * MS as f64) as u64;
    }
    record.usage.completion = Some(tokens);
    record.usage.prompt = Some(128);
    record.ended = record.reads.last().map(Read::arrival);
    record.outcome = Outcome::Complete;
    record
}

/// Metrics of a server and of one card, sampled every second.
pub fn observed(begin: Nanos, seconds: u64) -> Observed {
    let sample = |second: u64| {
        let level = 100.0 + 40.0 * (second as f64 / 3.0).sin();
        let values = [
            (Quantity::Running, level),
            (Quantity::Waiting, level / 3.0),
            (Quantity::KvUse, level / 200.0),
            (Quantity::PrefixQueries, second as f64 * 1_000.0),
            (Quantity::PrefixHits, second as f64 * 300.0),
        ];
        let card = CardSample {
            utilisation: Some(0.9),
            power_w: Some(250.0 + level),
            ..CardSample::default()
        };
        Sample {
            at: Nanos(begin.0 + second * 1_000 * MS),
            server: Some(ServerSample { values: values.into(), ..ServerSample::default() }),
            cards: vec![card],
            ..Sample::default()
        }
    };
    Observed {
        asks_server: true,
        samples: (0..seconds).map(sample).collect(),
        ..Observed::default()
    }
}

/// Collects the trace of a pass.
pub struct Tracing {
    fold: PassFold,
    pub tracer: PassTracer,
}

impl Tracing {
    /// A pass without records.
    pub fn new(cell: CellPlan) -> Self {
        let fold = PassFold::new(&PassPlan::one_by_one(Bound::requests(1)));
        Self { fold, tracer: PassTracer::new(cell) }
    }

    pub fn add(&mut self, record: &Record) {
        let timeline = Timeline::new(record);
        self.fold.add(&timeline);
        self.tracer.add(&timeline);
    }

    pub fn finish(self) -> PassTrace {
        self.tracer.finish(self.fold.finish_drawn().1)
    }
}

/// The traces of all passes of a summary. Each pass has `requests` requests; each completed answer has `tokens` tokens.
pub fn traces(summary: &Summary, requests: u32, tokens: u32) -> Traces {
    let mut traces = Vec::new();
    let mut begin = Nanos(5_000 * MS);
    for cell in &summary.cells {
        for _ in &cell.passes {
            let mut tracer = Tracing::new(cell.plan());
            let mut end = begin;
            for index in 0..requests {
                let record = record(index, begin, tokens);
                end = end.max(record.ended.unwrap_or(end));
                tracer.add(&record);
            }
            tracer.tracer.observe(&observed(begin, end.since(begin).as_secs() + 1));
            traces.push(tracer.finish());
            begin = Nanos(end.0 + 1_000 * MS);
        }
    }
    Traces(traces)
}
