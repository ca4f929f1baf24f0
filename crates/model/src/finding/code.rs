//! The kinds of findings. `data/findings.txt` has a row for each, grouped by subject, and this file a constant for each
//! row. Some checks of records have theirs in their own files: `inferometer_analysis::inspect::codes` lists all.
//!
//! An entry has a stable name, a severity and a meaning. It has advice if findings of the kind usually have the
//! same advice. Code that creates a finding, or searches for one, uses the entry.

use super::{Code, Severity};

/// Defines kinds of findings: for each, its constant, and `ALL` with all of them in this order.
#[macro_export]
macro_rules! codes {
    ($($constant:ident = $name:literal, $severity:ident, $means:literal $(=> $advice:literal)?;)*) => {
        $(
            #[doc = $means]
            pub const $constant: $crate::finding::Code = $crate::finding::Code {
                name: $name,
                severity: $crate::finding::Severity::$severity,
                means: $means,
                advice: [$(Some($advice),)? None][0],
            };
        )*
        /// Every kind of finding of this module, in order.
        pub const ALL: &[$crate::finding::Code] = &[$($constant),*];
    };
}

const TABLE: &str = include_str!("../../data/findings.txt");

/// The row whose name is that of the constant in small letters. A constant without a row does not compile.
const fn row(constant: &str) -> Code {
    let mut rest = TABLE;
    loop {
        assert!(!rest.is_empty(), "a kind of finding has no row in data/findings.txt");
        let (line, others) = split(rest, b'\n');
        let (name, columns) = split(line, b'|');
        if name.eq_ignore_ascii_case(constant) {
            let (severity, texts) = split(columns, b'|');
            let (means, advice) = split(texts, b'|');
            let severity = match severity.as_bytes() {
                b"note" => Severity::Note,
                b"warning" => Severity::Warning,
                _ => panic!("a severity in data/findings.txt is neither note nor warning"),
            };
            let advice = if advice.is_empty() { None } else { Some(advice) };
            return Code { name, severity, means, advice };
        }
        rest = others;
    }
}

/// The texts before and after the first mark, without spaces around them.
const fn split(text: &str, mark: u8) -> (&str, &str) {
    let mut at = 0;
    while at < text.len() && text.as_bytes()[at] != mark {
        at += 1;
    }
    let (before, after) = text.split_at(at);
    let after = if after.is_empty() { after } else { after.split_at(1).1 };
    (before.trim_ascii(), after.trim_ascii())
}

/// Defines the constants of the rows.
macro_rules! rows {
    ($($constant:ident)*) => {
        $(
            #[doc = concat!("The row of `", stringify!($constant), "`.")]
            pub const $constant: Code = row(stringify!($constant));
        )*
        /// Every kind of finding of this module, in order.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

rows! {
    // Servers, connections and the client's processes.
    SEVERAL_RANKS SERVER_FAILS SERVERS_UNEQUAL RANKS_DIFFER SERVERS_DIFFER ADDRESS_UNREACHABLE
    CERTIFICATE_UNCHECKED THROUGH_A_PROXY MODEL_NOT_LISTED IGNORE_EOS_NOT_SUPPORTED
    REQUEST_FIELD_REJECTED LENGTHS_ARE_SIMULATED BEYOND_THE_SERVERS_LIMIT CONTEXT_UNSET CONNECTIONS_NOT_KEPT
    PREFIX_CACHE_NOT_RESET PROMPTS_SHAPED_BY_THE_EMBEDDED_TOKENIZER PROMPT_OVERHEAD
    TOKENIZERS_DIFFER TEMPLATE_NOT_COUNTED COST_UNKNOWN
    // Prompts and data sets.
    PROMPTS_NOT_AS_ASKED WORKLOAD_HASH_COVERS_A_PART FEWER_REQUESTS_THAN_ASKED TRACE_BEGAN_AGAIN
    DATA_SET_ROWS_LEFT_OUT DATA_SET_COLUMNS_UNUSED ROWS_OUT_OF_ORDER CONVERSATIONS_USED_AGAIN
    TRACE_ROWS_OUTSIDE_OF_THE_WINDOW TRACE_OUT_OF_ORDER TRACE_DERIVED TRACE_AS_PLAYED
    TRACE_CLOCK_IS_COARSE LENGTHS_ARE_CHARACTERS
    // The progress of a run.
    WARM_UP_FAILED RUN_INCOMPLETE CELLS_NOT_MEASURED SERVER_DIED PRECISION_NOT_REACHED FEW_REQUESTS
    FEW_AT_ONCE WIDE_INTERVAL
    // The requests of a pass.
    NOTHING_COMPLETED REQUESTS_FAILED REQUESTS_INTERRUPTED FINISH_REASON_UNKNOWN MESSAGES_SKIPPED
    EMPTY_OUTPUT OUTPUT_SHORTER_THAN_ASKED INPUT_LENGTH_DIFFERS CONTEXT_FULL INPUT_TOKENS_UNKNOWN USAGE_MISSING
    TOKEN_COUNTS_DISAGREE CHUNKS_ARE_NOT_TOKENS WAITED_FOR_WRITER USAGE_NOT_POSSIBLE
    OUTPUT_LONGER_THAN_ASKED CACHED_PROMPT_TOKENS PROMPTS_SENT_BEFORE ARRIVAL_RATE_DIFFERS
    OVER_SATURATED PASS_STOPPED SENT_BELOW_THE_RATE CLIENTS_LEFT RECOVERY
    // Metrics of the server and of the cards during a pass.
    SERVER_METRICS_MISSING SERVER_COUNTS_OTHER_TOKENS SERVER_PREFIX_HITS SERVER_TTFT_DIFFERS
    SERVER_ITL_DIFFERS SERVER_GOES_ON CARD_DATA_MISSING CARD_DATA_STALE
    // Searches.
    SEARCH_TRIAL_CUT_OFF SEARCH_TRIAL_LOST SEARCH_NOT_SETTLED SEARCH_NOT_FINISHED
    SEARCH_NOT_MONOTONE SEARCH_SATURATED SEARCH_IN_BURSTS SEARCH_LIMITED_BY_CLIENT
    // Comparisons in blocks.
    AB_OUTLYING_PAIRS AB_LIMITS_NOT_REACHED
    // Sweeps.
    SWEEP_NOT_FINISHED SWEEP_TRIAL_LOST SWEEP_LIMITED_BY_CLIENT SWEEP_THROUGHPUT_FALLS
    // Predictions.
    PROMPTS_IGNORED ITL_IS_A_MEAN LENGTHS_FROM_LOG AGAINST_ANOTHER_MODEL PROFILE_UNCALIBRATED
    AGAINST_ANOTHER_ENGINE IN_SAMPLE LARGER_LIMIT OUTPUT_CAPPED MEAN_OUTPUT_FROM_TABLE
    OUTPUT_NOT_AS_ASKED CONSTANT_EXTRA_COST
    // Imported results.
    IMPORTED_CHARACTERS_NOT_TOKENS IMPORTED_ENGINE_FROM_PROSE IMPORTED_LENGTHS_OF_DATA_SET
    IMPORTED_OUTPUTS_SHORTER IMPORTED_COLUMNS_INCONSISTENT IMPORTED_LATENCIES_INCONSISTENT
    IMPORTED_PHANTOM_TOKENS IMPORTED_ROWS_MISSING IMPORTED_VALUES_REPEAT IMPORTED_REQUESTS_LOST
    IMPORTED_REQUESTS_SAMPLED IMPORTED_TOKEN_COUNTS_DIFFER IMPORTED_DEFINITIONS IMPORTED_NO_SERVER
    IMPORTED_NO_REQUESTS IMPORTED_NO_START_TIMES IMPORTED_LOAD_UNKNOWN IMPORTED_MODEL_UNKNOWN
    IMPORTED_WARM_UP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_has_a_constant() {
        let rows = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let named: Vec<&str> = rows.map(|row| split(row, b'|').0).collect();
        assert_eq!(ALL.iter().map(|code| code.name).collect::<Vec<_>>(), named);
    }
}
