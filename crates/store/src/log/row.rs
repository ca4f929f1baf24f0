//! A record as one row of a batch's table of records. Its reads and events are in other tables: a row has
//! only the number of reads and the number of events.

use inferometer_model::record::{JobCall, ServerTime, ServerTimes, Skipped, Structured};
use inferometer_model::{Detail, MediaSent, Pooled, Record, Usage};

use super::codes::{
    Chain, Strings, difference, outcome_code, outcome_of, small, some, undo_difference, undo_some,
};
use super::column::{Malformed, PayloadReader};

const COLUMNS: usize = 50;
/// Columns in the first version of the format, which had no classes.
const COLUMNS_1: usize = 22;
/// Columns in the second and third versions, which had no output limit and no flag for streaming.
const COLUMNS_2: usize = 23;
/// Columns in the fourth and fifth versions, which had no server and no rank.
const COLUMNS_4: usize = 25;
/// Columns in the sixth version, which had no server times.
const COLUMNS_6: usize = 27;
/// Columns in the seventh version, which had no reasoning tokens, no answers and no skipped messages.
const COLUMNS_7: usize = 30;
/// Columns in the eighth version, which had no jobs.
const COLUMNS_8: usize = 33;
/// Columns in the ninth version, which had no forms of answers.
const COLUMNS_9: usize = 34;
/// Columns in the tenth version, which had no media and no inputs of embeddings.
const COLUMNS_10: usize = 35;
/// Columns in the eleventh version, which had three server times, in milliseconds.
const COLUMNS_11: usize = 45;
/// The columns of these three times.
const FIRST_TIMES: std::ops::Range<usize> = 25..28;

/// The values of a record. The last two are the numbers of its reads and of its events.
pub(super) type Row = [u64; COLUMNS];

/// Values of the previous record. For the next record, the log stores the differences to these values.
#[derive(Clone, Copy, Default)]
pub(super) struct Before {
    pub pass: u32,
    pub index: u32,
    pub due: u64,
}

/// Encodes a record without its reads and events.
pub(super) fn encode(
    record: &Record,
    before: &Before,
    strings: &mut Strings,
    chain: &mut Chain,
) -> Row {
    let [queue, inference, total, times @ ..] = record.server_times.0.map(some);
    let [prefill, first_token, decode, load] = times;
    [
        difference(record.pass, before.pass),
        difference(record.index, before.index),
        u64::from(record.asked_input),
        u64::from(record.asked_output),
        some(record.prompt_tokens_tokenizer),
        chain.put(record.due),
        chain.put_some(record.picked),
        chain.put_some(record.connected),
        chain.put_some(record.send_start),
        chain.put_some(record.sent),
        chain.put_some(record.headers),
        // The end of the request is not the base of the next difference, because the times of the reads are
        // closer to the time of the headers.
        Chain(chain.0).put_some(record.ended),
        outcome_code(record.outcome),
        some(record.status.map(u32::from)),
        strings.code(record.detail_text()),
        strings.code(record.finish_reason.as_deref()),
        some(record.usage.prompt),
        some(record.usage.completion),
        some(record.usage.cached),
        some(record.tokens_tokenizer),
        strings.code(record.class.as_deref()),
        some(record.output_limit),
        flags(record),
        some(record.server),
        some(record.rank),
        queue,
        inference,
        total,
        some(record.usage.reasoning),
        u64::from(record.choices),
        strings.code(skipped_text(record).as_deref()),
        strings.code(job_text(record).as_deref()),
        strings.code(form_text(record).as_deref()),
        some(record.usage.image),
        some(record.usage.audio),
        record.media.images.into(),
        record.media.pixels,
        record.media.sounds.into(),
        record.media.audio_ms,
        record.media.file_bytes,
        record.media.body_bytes,
        record.pooled.inputs.into(),
        record.pooled.dimension.into(),
        prefill,
        first_token,
        decode,
        load,
        record.trace,
        record.reads.len() as u64,
        record.events.len() as u64,
    ]
}

/// Reads the rows of a payload. `format` is the version of the log.
///
/// # Errors
/// If the table is malformed.
pub(super) fn table(
    input: &mut PayloadReader<'_>,
    count: usize,
    format: u32,
) -> Result<Vec<Row>, Malformed> {
    Ok(match format {
        1 => widen::<COLUMNS_1>(&input.table(count)?),
        2 | 3 => widen::<COLUMNS_2>(&input.table(count)?),
        4 | 5 => widen::<COLUMNS_4>(&input.table(count)?),
        6 => widen::<COLUMNS_6>(&input.table(count)?),
        7 => widen::<COLUMNS_7>(&input.table(count)?),
        8 => widen::<COLUMNS_8>(&input.table(count)?),
        9 => widen::<COLUMNS_9>(&input.table(count)?),
        10 => widen::<COLUMNS_10>(&input.table(count)?),
        11 => widen::<COLUMNS_11>(&input.table(count)?),
        _ => input.table::<COLUMNS>(count)?,
    })
}

/// Converts rows of an earlier version to the current form: adds the missing columns, with value 0, before
/// the last two columns, and converts milliseconds to microseconds.
fn widen<const N: usize>(rows: &[[u64; N]]) -> Vec<Row> {
    let widen = |row: &[u64; N]| {
        let (shared, counts) = row.split_at(N - 2);
        let mut wide = [0; COLUMNS];
        wide[..N - 2].copy_from_slice(shared);
        wide[COLUMNS - 2..].copy_from_slice(counts);
        let stated = wide[FIRST_TIMES].iter_mut().filter(|code| **code > 0);
        // A longer time than the column can have is left out.
        stated.for_each(|code| {
            let us = u32::try_from(*code - 1).ok().and_then(|ms| ms.checked_mul(1_000));
            *code = some(us);
        });
        wide
    };
    rows.iter().map(widen).collect()
}

/// Decodes a record, without its reads and events.
///
/// # Errors
/// If a value has a code that no encoder makes.
pub(super) fn decode(
    row: Row,
    before: &Before,
    strings: &Strings,
    chain: &mut Chain,
) -> Result<Record, Malformed> {
    let [pass, index, asked_input, asked_output, prompt_tokens, rest @ ..] = row;
    let [due, picked, connected, send_start, sent, headers, ended, rest @ ..] = rest;
    let [outcome, status, detail, finish_reason, rest @ ..] = rest;
    let [prompt, completion, cached, tokens_tokenizer, class, output_limit, rest @ ..] = rest;
    let [flags, server, rank, queue, inference, total, reasoning, choices, rest @ ..] = rest;
    let [skipped, job, form, image, audio, rest @ ..] = rest;
    let [images, pixels, sounds, audio_ms, file_bytes, body_bytes, rest @ ..] = rest;
    let [inputs, dimension, prefill, first_token, decode, load, trace, ..] = rest;
    let times = [queue, inference, total, prefill, first_token, decode, load];
    Ok(Record {
        pass: undo_difference(pass, before.pass)?,
        index: undo_difference(index, before.index)?,
        class: strings.of(class)?.map(String::into_boxed_str),
        job: job_of(strings.of(job)?)?,
        media: MediaSent {
            images: small(images)?,
            pixels,
            sounds: small(sounds)?,
            audio_ms,
            file_bytes,
            body_bytes,
        },
        pooled: Pooled { inputs: small(inputs)?, dimension: small(dimension)? },
        asked_input: small(asked_input)?,
        asked_output: small(asked_output)?,
        output_limit: undo_some(output_limit)?,
        streamed: flags & STREAMED != 0,
        hides_reasoning: flags & HIDES_REASONING != 0,
        begins_with_think: flags & BEGINS_WITH_THINK != 0,
        prompt_tokens_tokenizer: undo_some(prompt_tokens)?,
        due: chain.take(due)?,
        picked: chain.take_some(picked)?,
        connected: chain.take_some(connected)?,
        kept_connection: kept_connection(flags)?,
        send_start: chain.take_some(send_start)?,
        sent: chain.take_some(sent)?,
        headers: chain.take_some(headers)?,
        reads: Vec::new(),
        events: Vec::new(),
        ended: Chain(chain.0).take_some(ended)?,
        outcome: outcome_of(outcome)?,
        status: undo_some(status)?,
        detail: strings.of(detail)?.map(Detail::from),
        finish_reason: strings.of(finish_reason)?,
        usage: Usage {
            prompt: undo_some(prompt)?,
            completion: undo_some(completion)?,
            cached: undo_some(cached)?,
            reasoning: undo_some(reasoning)?,
            image: undo_some(image)?,
            audio: undo_some(audio)?,
        },
        server_times: times_of(times)?,
        skipped: skipped_of(strings.of(skipped)?)?,
        structured: form_of(strings.of(form)?)?,
        choices: small(choices)?,
        tokens_tokenizer: undo_some(tokens_tokenizer)?,
        server: undo_some(server)?,
        rank: undo_some(rank)?,
        trace,
    })
}

/// The skipped messages as a JSON object; `None` if there are none. Nearly all records of a batch share it.
pub(super) fn skipped_text(record: &Record) -> Option<String> {
    let text = || serde_json::to_string(&record.skipped);
    (!record.skipped.is_empty()).then(text).and_then(Result::ok)
}

/// The place in a job as a JSON object; `None` if the request belongs to no job.
pub(super) fn job_text(record: &Record) -> Option<String> {
    record.job.as_ref().and_then(|job| serde_json::to_string(job).ok())
}

/// The form of the answer as a JSON object; `None` if the request asks for none. Many records of a batch share it.
pub(super) fn form_text(record: &Record) -> Option<String> {
    record.structured.as_ref().and_then(|form| serde_json::to_string(form).ok())
}

fn times_of(codes: [u64; ServerTime::ALL.len()]) -> Result<ServerTimes, Malformed> {
    let mut times = ServerTimes::default();
    for (time, code) in times.0.iter_mut().zip(codes) {
        *time = undo_some(code)?;
    }
    Ok(times)
}

fn form_of(text: Option<String>) -> Result<Option<Box<Structured>>, Malformed> {
    let form = text.map(|text| serde_json::from_str(&text)).transpose();
    form.map_err(|_| Malformed::new("wrong form of an answer"))
}

fn job_of(text: Option<String>) -> Result<Option<Box<JobCall>>, Malformed> {
    let job = text.map(|text| serde_json::from_str(&text)).transpose();
    job.map_err(|_| Malformed::new("wrong place in a job"))
}

fn skipped_of(text: Option<String>) -> Result<Skipped, Malformed> {
    let counts = text.map(|text| serde_json::from_str(&text)).transpose();
    counts.map(Option::unwrap_or_default).map_err(|_| Malformed::new("wrong counts of messages"))
}

/// The bits of the flags: a streamed request, a new connection, a reused connection, a request that hides the reasoning,
/// an answer that begins with `<think>`. The fourth format has only the first bit; earlier formats have no flags.
const STREAMED: u64 = 1;
const NEW_CONNECTION: u64 = 2;
const KEPT_CONNECTION: u64 = 4;
const HIDES_REASONING: u64 = 8;
const BEGINS_WITH_THINK: u64 = 16;

fn flags(record: &Record) -> u64 {
    let connection = match record.kept_connection {
        None => 0,
        Some(false) => NEW_CONNECTION,
        Some(true) => KEPT_CONNECTION,
    };
    let hides_reasoning = u64::from(record.hides_reasoning) * HIDES_REASONING;
    let begins_with_think = u64::from(record.begins_with_think) * BEGINS_WITH_THINK;
    (u64::from(record.streamed) * STREAMED) | connection | hides_reasoning | begins_with_think
}

fn kept_connection(flags: u64) -> Result<Option<bool>, Malformed> {
    match flags & !(STREAMED | HIDES_REASONING | BEGINS_WITH_THINK) {
        0 => Ok(None),
        NEW_CONNECTION => Ok(Some(false)),
        KEPT_CONNECTION => Ok(Some(true)),
        _ => Err(Malformed::new(format!("no flags have code {flags}"))),
    }
}
