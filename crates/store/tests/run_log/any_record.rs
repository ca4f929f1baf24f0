//! Random records of every form that a log can store.

use inferometer_model::Pooled;
use inferometer_model::media::MediaSent;
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::{
    Event, EventKind, GapKind, JobCall, Read, Record, ServerTimes, SharedPrompt, Skipped,
    Structured, Usage, Verdict,
};
use inferometer_model::time::Nanos;
use proptest::option;
use proptest::prelude::*;

/// An instant of a run, or sometimes an extreme instant.
fn instant() -> impl Strategy<Value = Nanos> {
    prop_oneof![
        8 => (0_u64..10_000_000_000).prop_map(Nanos),
        1 => any::<u64>().prop_map(Nanos),
        1 => prop_oneof![Just(Nanos::ZERO), Just(Nanos::MAX)],
    ]
}

fn phase() -> impl Strategy<Value = Phase> {
    prop::sample::select(vec![
        Phase::Connect,
        Phase::Tls,
        Phase::Send,
        Phase::Headers,
        Phase::FirstToken,
        Phase::BetweenEvents,
        Phase::Total,
    ])
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Complete),
        Just(Outcome::Truncated),
        any::<u16>().prop_map(|status| Outcome::Rejected { status }),
        Just(Outcome::ServerError),
        Just(Outcome::Malformed),
        phase().prop_map(|phase| Outcome::Connection { phase }),
        phase().prop_map(|phase| Outcome::TimedOut { phase }),
        Just(Outcome::Cancelled),
        Just(Outcome::Dropped),
        Just(Outcome::Skipped),
        phase().prop_map(|phase| Outcome::Abandoned { phase }),
    ]
}

fn read() -> impl Strategy<Value = Read> {
    (option::of(instant()), instant(), instant(), any::<u32>())
        .prop_map(|(kernel, user, empty_before, bytes)| Read { kernel, user, empty_before, bytes })
}

fn event(reads: usize) -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(EventKind::ALL.to_vec());
    (0..reads as u32, kind, any::<u32>(), option::of(any::<u32>()))
        .prop_map(|(read, kind, chars, tokens)| Event { read, kind, chars, tokens })
}

fn reads_and_events() -> impl Strategy<Value = (Vec<Read>, Vec<Event>)> {
    prop::collection::vec(read(), 0..12).prop_flat_map(|reads| {
        let most = if reads.is_empty() { 0 } else { 16 };
        let events = prop::collection::vec(event(reads.len().max(1)), 0..=most);
        (Just(reads), events)
    })
}

fn media() -> impl Strategy<Value = MediaSent> {
    let numbers = (any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>(), any::<[u64; 2]>());
    numbers.prop_map(|(images, sounds, pixels, audio_ms, [file_bytes, body_bytes])| MediaSent {
        images,
        pixels,
        sounds,
        audio_ms,
        file_bytes,
        body_bytes,
    })
}

fn pooled() -> impl Strategy<Value = Pooled> {
    (any::<u32>(), any::<u32>()).prop_map(|(inputs, dimension)| Pooled { inputs, dimension })
}

fn job() -> impl Strategy<Value = JobCall> {
    let kinds = [GapKind::Unknown, GapKind::Tool, GapKind::Human, GapKind::Agent];
    let times = (any::<u64>(), any::<u64>(), option::of((any::<u64>(), any::<u64>())));
    let shared = (any::<u32>(), (any::<u32>(), any::<u32>()));
    let shared = option::of(shared.prop_map(|(tokens, with)| SharedPrompt { tokens, with }));
    let after = prop::collection::vec(any::<u32>(), 0..3);
    let kind = prop::sample::select(kinds.to_vec());
    (any::<u32>(), any::<u32>(), after, times, kind, shared).prop_map(
        |(job, call, after, (gap_ns, tool_ns, recorded_ns), gap, shared)| JobCall {
            job,
            call,
            calls: call,
            after,
            gap_ns,
            tool_ns,
            gap,
            recorded_ns,
            shared,
        },
    )
}

fn structured() -> impl Strategy<Value = Structured> {
    let verdict = || prop::sample::select(Verdict::ALL.to_vec());
    let calls = prop::collection::btree_map(verdict(), any::<u32>(), 0..3);
    (any::<bool>(), calls, option::of(verdict())).prop_map(|(tools, calls, text)| Structured {
        tools,
        calls,
        text,
    })
}

/// Any record of a pass that a log can store.
pub fn record(pass: u32) -> impl Strategy<Value = Record> {
    let count = || option::of(any::<u32>());
    let text = || option::of("\\PC{0,12}");
    let counts = (any::<u32>(), any::<u32>(), any::<u32>(), count(), count());
    let instants = (instant(), prop::array::uniform6(option::of(instant())));
    let end = (outcome(), option::of(any::<u16>()), text(), text(), text());
    let usage = (count(), count(), count(), count(), any::<bool>(), option::of(any::<bool>()));
    let times = prop::array::uniform7(count()).prop_map(ServerTimes);
    let skipped = prop::collection::vec("\\PC{0,12}", 0..4).prop_map(|kinds| {
        let mut skipped = Skipped::default();
        kinds.iter().for_each(|kind| skipped.add(kind));
        skipped
    });
    let of_media = (media(), pooled(), count(), count(), any::<u64>());
    let flags =
        (any::<bool>(), any::<bool>(), option::of(job()), option::of(structured()), of_media);
    let by_server = (count(), count(), times, count(), any::<u32>(), skipped, flags);
    (counts, instants, reads_and_events(), end, usage, by_server).prop_map(
        move |(counts, (due, instants), (reads, events), end, usage, by_server)| {
            let (server, rank, server_times, reasoning, choices, skipped, flags) = by_server;
            let (hides_reasoning, begins_with_think, job, structured, of_media) = flags;
            let (media, pooled, image, audio, trace) = of_media;
            let (prompt, completion, cached, output_limit, streamed, kept_connection) = usage;
            let [picked, connected, send_start, sent, headers, ended] = instants;
            let (index, asked_input, asked_output, prompt_tokens_tokenizer, tokens_tokenizer) =
                counts;
            let (outcome, status, detail, finish_reason, class) = end;
            Record {
                pass,
                index,
                class: class.map(String::into_boxed_str),
                job: job.map(Box::new),
                media,
                pooled,
                asked_input,
                asked_output,
                output_limit,
                streamed,
                hides_reasoning,
                begins_with_think,
                prompt_tokens_tokenizer,
                due,
                picked,
                connected,
                kept_connection,
                send_start,
                sent,
                headers,
                reads,
                events,
                ended,
                outcome,
                status,
                detail: detail.map(Into::into),
                finish_reason,
                usage: Usage { prompt, completion, cached, reasoning, image, audio },
                server_times,
                skipped,
                structured: structured.map(Box::new),
                choices,
                tokens_tokenizer,
                server,
                rank,
                trace,
            }
        },
    )
}
