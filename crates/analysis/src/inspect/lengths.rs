//! Compares requested lengths with measured lengths, and the token counts of different sources. A requested length is
//! never used as a count.

use std::collections::BTreeMap;

use inferometer_model::{Finding, Record, Severity, Timeline, TokensFrom, code};

/// If each event of a stream has one token, the number of tokens and the number of events differ by at most this
/// number: the end-of-text token has no text, and may have no event.
const EDGE_OF_STREAM: f64 = 1.0;
/// Two correct token counts of a text differ by at most this number: one token at each end of the text.
const EDGES_OF_TEXT: f64 = 2.0;
/// In long outputs, two correct counts may differ by more: by up to this share of the larger count.
const TOLERATED_SHARE: f64 = 0.01;

/// The advice on differing prompt lengths if the tokenizer counts prompts like the server.
const OTHER_PROMPTS: &str = "The tokenizer counts the same prompt tokens as the server: the \
    prompts really have other lengths than requested.";
/// The advice on differing output counts if the tokenizer counts prompts like the server.
const OTHER_CUT: &str = "Figures use the server's count. The tokenizer counts the same prompt tokens \
    as the server. It may split the text of an output into other tokens than the model generated.";
/// The advice on short outputs if the server cannot continue after end-of-text.
const MODEL_ENDED_THEM: &str = "The model ended these outputs, or prompt plus output reach the \
    server's length limit. Throughput uses the measured lengths; do not compare it with runs of \
    full outputs.";

/// Compares the output tokens of requests with the requested numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct OutputLengths {
    /// The number of completed requests whose output tokens the server or the tokenizer of --tokenizer counted. A count
    /// of events is not enough.
    counted: u64,
    short: u64,
    short_tokens: u64,
    short_asked: u64,
    /// The number of completed requests with more output tokens than requested ([`Record::is_longer_than_asked`]).
    long: u64,
    long_tokens: u64,
    long_asked: u64,
    completed: u64,
    empty: u64,
}

impl OutputLengths {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let (record, (tokens, from)) = (timeline.record, timeline.counted);
        self.completed += 1;
        if tokens == 0 && record.asked_output > 0 {
            self.empty += 1;
        }
        if record.is_longer_than_asked(tokens) {
            self.long += 1;
            self.long_tokens += u64::from(tokens);
            self.long_asked += u64::from(record.asked_output);
        }
        // An event may contain several tokens, so fewer events than requested tokens prove nothing.
        if from == TokensFrom::Events {
            return;
        }
        self.counted += 1;
        // A call of a tool, or an answer of a given form, has its own end.
        if tokens < record.asked_output && record.structured.is_none() {
            self.short += 1;
            self.short_tokens += u64::from(tokens);
            self.short_asked += u64::from(record.asked_output);
        }
    }

    pub(super) fn empty(&self) -> Option<Finding> {
        let message = format!(
            "{} of {} completed requests have no output token.",
            self.empty, self.completed
        );
        (self.empty > 0).then(|| Finding::of(code::EMPTY_OUTPUT, message))
    }

    /// The finding on outputs that are shorter than requested. The cause depends on whether the server can continue
    /// after end-of-text.
    pub(super) fn short(&self, honours_ignore_eos: bool) -> Option<Finding> {
        let n = self.short as f64;
        let although = if honours_ignore_eos {
            "although they set `ignore_eos`"
        } else {
            "and the server cannot ignore end-of-text"
        };
        let message = format!(
            "{} of {} completed requests with a token count have fewer output tokens than requested, \
                {although}: these outputs have {:.1} tokens on average instead of {:.1}.",
            self.short,
            self.counted,
            self.short_tokens as f64 / n,
            self.short_asked as f64 / n
        );
        let finding = Finding::of(code::OUTPUT_SHORTER_THAN_ASKED, message);
        let finding = if honours_ignore_eos { finding } else { finding.advise(MODEL_ENDED_THEM) };
        (self.short > 0).then_some(finding)
    }

    pub(super) fn long(&self) -> Option<Finding> {
        let n = self.long as f64;
        let message = format!(
            "{} of {} completed requests have more output tokens than requested: these outputs have \
                {:.1} tokens on average instead of {:.1}. If a pass has more than 1 % of such \
                outputs, the table has no figures for the requested length.",
            self.long,
            self.completed,
            self.long_tokens as f64 / n,
            self.long_asked as f64 / n
        );
        (self.long > 0).then(|| Finding::of(code::OUTPUT_LONGER_THAN_ASKED, message))
    }
}

/// Compares the server's counts of prompt tokens with the requested lengths.
#[derive(Clone, Debug, Default)]
pub(super) struct InputLengths {
    /// The sum of the server's counts of prompt tokens, over the requests with a requested length.
    compared: u64,
    /// The sum of requested + template, over the same requests.
    asked: u64,
    /// Tokens that the chat template adds to each prompt beyond the requested length.
    pub(super) template: u32,
    /// The number of requests whose prompt was counted by the server and by the run's own tokenizer.
    counted_twice: u64,
    /// Of these requests, the number in which the server counted `template` tokens more than the tokenizer.
    agreeing: u64,
    /// For each difference (counted by the server - requested - template): the number of requests.
    differences: BTreeMap<i64, u64>,
}

impl InputLengths {
    pub(super) fn add(&mut self, record: &Record) {
        let Some(mut tokens) = record.usage.prompt else { return };
        if !record.media.is_none() {
            // Only the length of the text is requested. Without the server's count of the rest, it is not known.
            let Some(media) = record.usage.media() else { return };
            tokens = tokens.saturating_sub(media);
        }
        if let Some(own) = record.prompt_tokens_tokenizer {
            self.counted_twice += 1;
            self.agreeing += u64::from(tokens == own.saturating_add(self.template));
        }
        // A turn that contains earlier answers of the server has no requested length.
        if record.asked_input == 0 {
            return;
        }
        // Fewer tokens of inputs without output are another finding.
        if !record.pooled.is_none() && tokens < record.asked_input {
            return;
        }
        self.compared += u64::from(tokens);
        let expected = u64::from(record.asked_input) + u64::from(self.template);
        self.asked += expected;
        let difference = i64::from(tokens) - expected as i64;
        *self.differences.entry(difference).or_default() += 1;
    }

    /// Whether the tokenizer counts the same tokens as the server in each prompt that both counted, apart from the chat
    /// template. False if there is no such prompt.
    pub(super) fn tokenizer_agrees(&self) -> bool {
        self.counted_twice > 0 && self.agreeing == self.counted_twice
    }

    pub(super) fn differing(&self) -> Option<Finding> {
        let all: u64 = self.differences.values().sum();
        let differing = all - self.differences.get(&0).copied().unwrap_or(0);
        let [mean, asked] =
            [self.compared, self.asked].map(|sum| format!("{:.1}", sum as f64 / all as f64));
        let means = match (self.compared == self.asked, mean == asked) {
            (true, _) => format!("the mean is {mean} tokens, as requested"),
            (_, true) => {
                format!("together, they have {} tokens instead of {}", self.compared, self.asked)
            }
            _ => format!("the mean is {mean} tokens instead of {asked}"),
        };
        let is_rounded = mean == asked;
        let severity =
            if is_rounded { Severity::Note } else { code::INPUT_LENGTH_DIFFERS.severity };
        let message = format!(
            "In {differing} of {all} completed requests with a requested prompt length and a count of \
                the server, the server counted another number of prompt tokens than requested \
                (chat template included). Over these {all} requests, the difference is {}; {means}.",
            self.spread(all)
        );
        let finding = Some(Finding::of(code::INPUT_LENGTH_DIFFERS, message).severity(severity));
        let finding = finding.filter(|_| differing > 0);
        if self.tokenizer_agrees() {
            return finding.map(|finding| finding.advise(OTHER_PROMPTS));
        }
        finding
    }

    /// The range and the median of the differences, as text.
    fn spread(&self, all: u64) -> String {
        let each: Vec<i64> = self.differences.keys().copied().collect();
        match each[..] {
            [one] => format!("{one:+} tokens"),
            [one, other] => {
                format!("{one:+} or {other:+} tokens, median {:+}", self.median(all))
            }
            [smallest, .., largest] => {
                format!("{smallest:+} to {largest:+} tokens, median {:+}", self.median(all))
            }
            [] => String::new(),
        }
    }

    /// The lower median of the differences.
    fn median(&self, all: u64) -> i64 {
        let mut seen = 0;
        let median = self.differences.iter().find(|&(_, count)| {
            seen += count;
            2 * seen >= all
        });
        median.map_or(0, |(&difference, _)| difference)
    }
}

/// Compares the server's count of output tokens with the number of events, and with the count of the run's tokenizer.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// The number of streams whose tokens the server or the tokenizer counted. `events` and `stream_tokens` are sums
    /// over these streams.
    streams: u64,
    /// Of these streams, the number in which the numbers of tokens and of events differ too much.
    bundled: u64,
    events: u64,
    stream_tokens: u64,
    /// The number of streams in `bundled` in which the tokens of at least one event are unknown, or the stated tokens
    /// of the events are impossible. Their tokens are assumed to be distributed evenly over the events.
    spread: u64,
    /// The number of requests whose output tokens both the server and the tokenizer counted. `usage_tokens` and
    /// `tokenizer_tokens` are the sums of these counts.
    compared: u64,
    /// Of these requests, the number in which the two counts differ too much.
    disagreeing: u64,
    usage_tokens: u64,
    tokenizer_tokens: u64,
    completed: u64,
    /// The number of completed requests whose stated usage is impossible. For the first of these requests,
    /// `first_impossible` has the stated count and the count that is used instead.
    impossible: u64,
    first_impossible: Option<(u32, u32)>,
}

impl Counts {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        self.completed += 1;
        let (tokenizer, stated) = (record.tokens_tokenizer, record.usage.completion);
        let usage = stated.filter(|&count| record.can_have(count));
        if let (Some(stated), None) = (stated, usage) {
            self.impossible += 1;
            let (used, _) = timeline.counted;
            self.first_impossible = self.first_impossible.or(Some((stated, used)));
        }
        // No text and no event has these tokens.
        let hidden = timeline.hidden.before;
        if let (Some(usage), Some(tokenizer)) = (usage.map(|all| all - hidden), tokenizer) {
            self.compared += 1;
            self.disagreeing += u64::from(differ(usage, tokenizer, EDGES_OF_TEXT));
            self.usage_tokens += u64::from(usage);
            self.tokenizer_tokens += u64::from(tokenizer);
        }
        // Without any event, nothing is known of how tokens arrive.
        let events = record.token_events().count();
        let has_times = record.streamed && events > 0 && !timeline.hidden.is_unknown;
        if let Some(tokens) = usage.map(|all| all - hidden).or(tokenizer).filter(|_| has_times) {
            self.streams += 1;
            let bundled = differ(tokens, events as u32, EDGE_OF_STREAM);
            self.bundled += u64::from(bundled);
            self.events += events as u64;
            self.stream_tokens += u64::from(tokens);
            let unknown = record.token_events().any(|event| event.tokens.is_none())
                || !record.can_have_tokens_of_events();
            self.spread += u64::from(bundled && unknown);
        }
    }

    pub(super) fn not_possible(&self) -> Option<Finding> {
        let (stated, used) = self.first_impossible?;
        let message = format!(
            "In {} of {} completed requests, the server's count of output tokens cannot be correct: \
                it is 0 although there is text, or too large for the request and for the number of \
                events. For the first of these requests, the server states {stated}, and {used} is \
                used instead.",
            self.impossible, self.completed
        );
        Some(Finding::of(code::USAGE_NOT_POSSIBLE, message))
    }

    pub(super) fn chunks(&self) -> Option<Finding> {
        let how = match self.spread {
            0 => {
                "In these streams, the server stated the number of tokens in each event.".to_owned()
            }
            spread => {
                format!(
                    "In {spread} of these streams, the number of tokens in an event is unknown, so \
                     the tokens are assumed to be distributed evenly over the events."
                )
            }
        };
        let message = format!(
            "Events are not tokens: {} tokens arrived in {} events, {:.2} tokens per event. In {} of {} \
             streams with a token count, tokens and events differ in number by more than 1 and by more than 1 %. {how}",
            self.stream_tokens,
            self.events,
            self.stream_tokens as f64 / self.events as f64,
            self.bundled,
            self.streams
        );
        let severity = if self.spread > 0 { Severity::Warning } else { Severity::Note };
        (self.bundled > 0)
            .then(|| Finding::of(code::CHUNKS_ARE_NOT_TOKENS, message).severity(severity))
    }

    /// The finding that the tokenizer and the server count different numbers of output tokens. `agrees` states whether
    /// they count the same prompt tokens.
    pub(super) fn tokenizer(&self, agrees: bool) -> Option<Finding> {
        let compared = self.compared;
        let message = format!(
            "In {} of {compared} completed requests with both counts, the server's count of output \
                tokens differs from that of the tokenizer (--tokenizer) by more than 2 tokens and by \
                more than 1 %. Over these {compared} requests, the server counts {} tokens, and the tokenizer {}.",
            self.disagreeing, self.usage_tokens, self.tokenizer_tokens
        );
        let finding = Finding::of(code::TOKEN_COUNTS_DISAGREE, message);
        let finding = match agrees {
            true => finding.severity(Severity::Note).advise(OTHER_CUT),
            false => finding,
        };
        (self.disagreeing > 0).then_some(finding)
    }
}

/// Whether two counts of one output differ by more than `edges` tokens, and by more than [`TOLERATED_SHARE`] of the
/// larger count.
fn differ(a: u32, b: u32, edges: f64) -> bool {
    f64::from(a.abs_diff(b)) > edges.max(TOLERATED_SHARE * f64::from(a.max(b)))
}
