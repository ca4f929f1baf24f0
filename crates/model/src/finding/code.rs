//! All findings that there can be: one entry each, in the order of a run.
//!
//! An entry is its stable name, how much it matters, what it means and, where it is always the same,
//! what to do about it. Whatever makes a finding, or looks for one, names its entry here.

use super::{Code, Severity};

macro_rules! codes {
    ($($constant:ident = $name:literal, $severity:ident, $means:literal $(=> $advice:literal)?;)*) => {
        $(
            #[doc = $means]
            pub const $constant: Code = Code {
                name: $name,
                severity: Severity::$severity,
                means: $means,
                advice: first(&[$($advice)?]),
            };
        )*
        /// Every finding.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

const fn first(advice: &[&'static str]) -> Option<&'static str> {
    match advice {
        [advice] => Some(advice),
        _ => None,
    }
}

codes! {
    // The target, before anything is measured.
    CERTIFICATE_UNCHECKED = "certificate_unchecked", Warning,
        "The server's certificate was not checked."
        => "give the authority that vouches for it with --ca-cert instead of --insecure";
    THROUGH_A_PROXY = "through_a_proxy", Warning,
        "Requests went through a proxy: latencies are those of the proxy and the server together."
        => "name the server in NO_PROXY, or give --proxy none, to measure the server alone";
    MODEL_NOT_LISTED = "model_not_listed", Warning,
        "The server does not list the model that was named.";
    IGNORE_EOS_NOT_SUPPORTED = "ignore_eos_not_supported", Warning,
        "The server cannot be told to go on after end-of-text."
        => "read tokens/s and the output lengths in the report beside requests/s";
    LENGTHS_ARE_SIMULATED = "lengths_are_simulated", Note,
        "The embedded engine draws the lengths of its answers at random.";
    BEYOND_THE_SERVERS_LIMIT = "beyond_the_servers_limit", Warning,
        "Prompt and output together exceed the length that the server states as its limit."
        => "start the server with a larger limit, or leave these lengths out";
    CONNECTIONS_NOT_KEPT = "connections_not_kept", Note,
        "Connections are closed after an answer: each request gets one of its own.";
    PREFIX_CACHE_NOT_RESET = "prefix_cache_not_reset", Warning,
        "The server did not empty its prefix cache between passes."
        => "vLLM offers it when it is started with VLLM_SERVER_DEV_MODE=1, SGLang always; else \
            restart the server between runs";
    PROMPTS_SHAPED_BY_THE_EMBEDDED_TOKENIZER = "prompts_shaped_by_the_embedded_tokenizer", Warning,
        "Prompts have their length by this program's own tokenizer and not by the model's."
        => "name the model's tokenizer with --tokenizer";
    PROMPT_OVERHEAD = "prompt_overhead", Note,
        "The server adds the same number of tokens to each prompt, such as a chat template.";
    TOKENIZERS_DIFFER = "tokenizers_differ", Warning,
        "The server counts other numbers of tokens than the tokenizer that shaped the prompts."
        => "name the model's own tokenizer with --tokenizer";
    TEMPLATE_NOT_COUNTED = "template_not_counted", Warning,
        "What the server adds to a prompt could not be found out."
        => "use a server that reports the tokens of prompts, and name its tokenizer";

    // Prompts and data sets.
    PROMPTS_NOT_AS_ASKED = "prompts_not_as_asked", Note,
        "Prompts differ from what the plan asks for: in length, or because they occur twice.";
    WORKLOAD_HASH_COVERS_A_PART = "workload_hash_covers_a_part", Note,
        "The hash of the workload does not cover all requests."
        => "give --requests to have every request in the hash";
    FEWER_REQUESTS_THAN_ASKED = "fewer_requests_than_asked", Warning,
        "The data set or the trace ended before the number of requests was reached."
        => "leave out --requests, or widen --trace-window or --trace-scale of a trace";
    TRACE_BEGAN_AGAIN = "trace_began_again", Note,
        "The trace was played more than once."
        => "give --requests at most as many as the trace has";
    DATA_SET_ROWS_LEFT_OUT = "data_set_rows_left_out", Note,
        "Rows of the data set cannot be used; the message counts them by reason.";
    DATA_SET_COLUMNS_UNUSED = "data_set_columns_unused", Note,
        "Columns of the data set that no request is made of."
        => "--columns says which column is what; further fields go into `body`";
    ROWS_OUT_OF_ORDER = "rows_out_of_order", Note,
        "Rows are not in the order of their time; they are sent in that order.";
    CONVERSATIONS_USED_AGAIN = "conversations_used_again", Note,
        "The data set has fewer conversations than the pass: some are led more than once.";
    TRACE_ROWS_OUTSIDE_OF_THE_WINDOW = "trace_rows_outside_of_the_window", Note,
        "Rows of the trace lie outside of --trace-window and are not played.";
    TRACE_OUT_OF_ORDER = "trace_out_of_order", Note,
        "Rows of the trace are not in the order of their time; they are played in that order.";
    TRACE_CLOCK_IS_COARSE = "trace_clock_is_coarse", Note,
        "Many requests of the trace are due at the same instant: its clock is coarse.";
    LENGTHS_ARE_CHARACTERS = "lengths_are_characters", Note,
        "The lengths of the cells are characters and not tokens.";

    // The course of a run.
    WARM_UP_FAILED = "warm_up_failed", Warning,
        "Requests of the warm-up failed.";
    RUN_INCOMPLETE = "run_incomplete", Warning,
        "The run ended before everything planned was measured.";
    CELLS_NOT_MEASURED = "cells_not_measured", Warning,
        "Cells of the plan have no whole result."
        => "`inferometer run --resume` with the run's name measures them";
    SERVER_DIED = "server_died", Warning,
        "The server that this run started ended by itself."
        => "server.log holds all that it wrote; what is left of this cell was not measured";
    PRECISION_NOT_REACHED = "precision_not_reached", Warning,
        "The repeats did not reach the precision that was asked for."
        => "read the intervals over the repeats, or allow more with --max-repeats";
    FEW_REQUESTS = "few_requests", Note,
        "Latencies of the table are means over too few requests for an interval.";
    WIDE_INTERVAL = "wide_interval", Warning,
        "The interval of a latency in the table is wide."
        => "give more requests, or --repeat, or a quieter machine";

    // The requests of a pass.
    NOTHING_COMPLETED = "nothing_completed", Warning,
        "No request of the pass completed."
        => "The failures of this pass say why; its figures are absent.";
    REQUESTS_FAILED = "requests_failed", Warning,
        "Requests failed; one finding for each kind of failure.";
    REQUESTS_INTERRUPTED = "requests_interrupted", Note,
        "Requests were in flight, or never began, when the run ended. They are no failures of the server."
        => "The figures of the pass are of the requests before, and the main table has none of it; \
            `inferometer run --resume` with the run's name measures it whole.";
    FINISH_REASON_UNKNOWN = "finish_reason_unknown", Note,
        "Answers ended with a finish reason that no server is known to have; they are complete."
        => "Ask the server's documentation whether such an answer is whole.";
    EMPTY_OUTPUT = "empty_output", Warning,
        "Requests completed without any output token."
        => "Servers answer so to prompts that they ignore, for instance because prompt and \
            output together exceed the model's length: ask for shorter ones.";
    OUTPUT_SHORTER_THAN_ASKED = "output_shorter_than_asked", Warning,
        "Outputs have fewer tokens than were asked for."
        => "The server ignores `ignore_eos`, or prompt and output reach its length limit. Rates \
            use the measured lengths; do not compare them with full outputs.";
    INPUT_LENGTH_DIFFERS = "input_length_differs", Warning,
        "The server counts another number of prompt tokens than was asked for."
        => "A constant difference is a chat template or a begin-of-text token (--count-template \
            fits the total); a varying one is another tokenizer than the server's (name it with \
            --tokenizer).";
    INPUT_TOKENS_UNKNOWN = "input_tokens_unknown", Warning,
        "Neither the server nor a tokenizer says how many tokens the prompts have."
        => "Name the model's tokenizer with --tokenizer.";
    USAGE_MISSING = "usage_missing", Warning,
        "The server does not report how many tokens it made."
        => "Have the server report usage (`stream_options: {\"include_usage\": true}`), or name \
            the model's tokenizer with --tokenizer.";
    TOKEN_COUNTS_DISAGREE = "token_counts_disagree", Warning,
        "The server and the tokenizer count different numbers of output tokens."
        => "The figures use the server's count. Check that --tokenizer names the model that is \
            served.";
    CHUNKS_ARE_NOT_TOKENS = "chunks_are_not_tokens", Warning,
        "Events of the stream carry another number of tokens than one."
        => "ITL here is per token; tools that take an event for a token report the gaps between \
            events, which this one calls ICL.";
    KEPT_CONNECTIONS_DIFFER = "kept_connections_differ", Warning,
        "First tokens came at another time on connections that had carried a request before."
        => "look for what stands between server and client, and see whether users keep their \
            connections; `--header 'Connection: close'` measures each request on one of its own";
    TTFT_AT_DELAYED_ACKNOWLEDGEMENTS = "ttft_at_delayed_acknowledgements", Warning,
        "First tokens on kept connections came some 40 ms after the request, as long as an \
         acknowledgement is delayed."
        => "set TCP_NODELAY in the server, or in the proxy before it";
    WAITED_FOR_WRITER = "waited_for_writer", Warning,
        "Requests began late, because records before them waited to be written."
        => "put --store on a faster disk, or ask for fewer requests in flight";
    STREAM_IN_BUNDLES = "stream_in_bundles", Warning,
        "Tokens of streams arrived in bundles, so that times between them are not known."
        => "Look for what stands between server and client and let it pass each token on at once: \
            `option http-no-delay` in haproxy, `proxy_buffering off` in nginx, TCP_NODELAY in the \
            server. Of a server that itself sends many tokens at once, read TTFT, E2E and tokens/s.";
    USAGE_NOT_POSSIBLE = "usage_not_possible", Warning,
        "The server's count of output tokens cannot be true, and is not used."
        => "Report it to the makers of the server; name the model's tokenizer with --tokenizer to \
            have outputs counted.";
    OUTPUT_LONGER_THAN_ASKED = "output_longer_than_asked", Warning,
        "Outputs have more tokens than were asked for."
        => "The server has a least length of its own, or `n`, `max_tokens` or the like in \
            --extra-body replace what the plan asks for. Ask for the length that comes, and for one \
            choice.";
    CACHED_PROMPT_TOKENS = "cached_prompt_tokens", Warning,
        "The server took tokens of prompts from its prefix cache."
        => "Prefill was measured only in part: give the run another --salt, or switch the server's \
            prefix cache off.";
    ARRIVAL_RATE_DIFFERS = "arrival_rate_differs", Note,
        "Few arrivals were drawn, and their rate is not the one that was asked for."
        => "Ask for more requests, or for even arrivals with --burstiness inf.";
    SENT_BELOW_THE_RATE = "sent_below_the_rate", Warning,
        "The client fell behind its own schedule."
        => "Ask for a lower rate, or give the client more processor time.";

    // What the server and the cards say of a pass.
    SERVER_METRICS_MISSING = "server_metrics_missing", Note,
        "Questions for the server's metrics failed."
        => "what the server says of this pass is incomplete; the client's figures are not";
    SERVER_COUNTS_OTHER_TOKENS = "server_counts_other_tokens", Warning,
        "The server counted other output tokens than this client's requests had.";
    SERVER_PREFIX_HITS = "server_prefix_hits", Warning,
        "The server found tokens of prompts in its prefix cache, by its own metrics."
        => "Prefill was measured only in part: unless the workload is about shared beginnings, \
            give the run another --salt, or switch the server's prefix cache off.";
    SERVER_TTFT_DIFFERS = "server_ttft_differs", Note,
        "The server's own histogram says another time to first token than the client saw.";
    SERVER_ITL_DIFFERS = "server_itl_differs", Note,
        "The server's own histogram says another time between tokens than the client saw.";
    CARD_DATA_MISSING = "card_data_missing", Note,
        "Questions for what the cards do failed."
        => "power between the answers that came is taken for a straight line, and so is the energy \
            that is summed up from it; the client's figures are complete";
    CARD_DATA_STALE = "card_data_stale", Note,
        "The exporter reads the cards too seldom for their energy."
        => "have it read them each second (dcgm-exporter -c 1000), or measure for longer";

    // Searches.
    SEARCH_TRIAL_CUT_OFF = "search_trial_cut_off", Note,
        "A trial ended as soon as its claim was certain.";
    SEARCH_TRIAL_LOST = "search_trial_lost", Warning,
        "A trial counts for nothing, because its records are not whole.";
    SEARCH_NOT_SETTLED = "search_not_settled", Warning,
        "The server was still busy with a trial that had been cut off when the next one began.";
    SEARCH_NOT_FINISHED = "search_not_finished", Warning,
        "The search ended before its answer was as precise as was asked for.";
    SEARCH_NOT_MONOTONE = "search_not_monotone", Warning,
        "The objectives held at a load above one at which they did not."
        => "search again, with a warmed-up server and nobody else on it";
    SEARCH_SATURATED = "search_saturated", Note,
        "At the upper end of the interval the server was saturated.";
    SEARCH_LIMITED_BY_CLIENT = "search_limited_by_client", Warning,
        "At the upper end of the interval the client was at its own limit."
        => "measure from a machine of its own; `inferometer check` says what it can do";

    // Predictions.
    PROMPTS_IGNORED = "prompts_ignored", Warning,
        "Prompts get no output, because the engine has no room for them.";
    ITL_IS_A_MEAN = "itl_is_a_mean", Note,
        "Gaps between tokens are the mean of each request.";
    LENGTHS_FROM_LOG = "lengths_from_log", Note,
        "Lengths are the means of a log that is no plan.";
    AGAINST_ANOTHER_MODEL = "against_another_model", Warning,
        "Another model was measured than is predicted."
        => "name the model that was measured with --model";
    AGAINST_ANOTHER_ENGINE = "against_another_engine", Warning,
        "Another version of the engine, another engine or another card was measured than is predicted."
        => "name a profile of what was measured with --profile, or fit one with `calibrate`";
    IN_SAMPLE = "in_sample", Note,
        "The profile was fitted on rows of this model: errors may be those of its own fit.";
    LARGER_LIMIT = "larger_limit", Note,
        "A row was measured under a larger length limit than the engine's.";
    OUTPUT_CAPPED = "output_capped", Warning,
        "The engine's length limit ends outputs early."
        => "the row is left out of the errors";
    MEAN_OUTPUT_FROM_TABLE = "mean_output_from_table", Note,
        "Outputs ended by themselves; they are predicted with the mean length of the table.";
    OUTPUT_NOT_AS_ASKED = "output_not_as_asked", Warning,
        "The measured outputs do not have the length of the row."
        => "the row is left out of the errors";
    CONSTANT_EXTRA_COST = "constant_extra_cost", Warning,
        "Each measured step takes longer than predicted by the same time."
        => "a slower host, or work that the engine does per step; `calibrate` fits it";

    // Imported results.
    IMPORTED_CHARACTERS_NOT_TOKENS = "imported_characters_not_tokens", Warning,
        "The table's lengths are characters and not tokens.";
    IMPORTED_ENGINE_FROM_PROSE = "imported_engine_from_prose", Note,
        "The engine is the only one that the page names.";
    IMPORTED_LENGTHS_OF_DATA_SET = "imported_lengths_of_data_set", Warning,
        "The script divides by the data set's lengths and not by those that came.";
    IMPORTED_OUTPUTS_SHORTER = "imported_outputs_shorter", Warning,
        "Outputs of rows are shorter than the output length."
        => "compare such rows by tokens/s, and requests/s not at all";
    IMPORTED_COLUMNS_INCONSISTENT = "imported_columns_inconsistent", Warning,
        "Figures that must follow from one another do not.";
    IMPORTED_LATENCIES_INCONSISTENT = "imported_latencies_inconsistent", Warning,
        "The two latencies of rows do not fit their lengths.";
    IMPORTED_PHANTOM_TOKENS = "imported_phantom_tokens", Warning,
        "Rows count output tokens that were never made."
        => "leave those rows out of comparisons, or multiply their tokens/s by (limit - input) / \
            output";
    IMPORTED_ROWS_MISSING = "imported_rows_missing", Note,
        "Rows of the grid are not in the table.";
    IMPORTED_VALUES_REPEAT = "imported_values_repeat", Warning,
        "The same value stands in several rows to the last digit.";
    IMPORTED_REQUESTS_LOST = "imported_requests_lost", Warning,
        "Requests failed, or are missing from the results.";
    IMPORTED_REQUESTS_SAMPLED = "imported_requests_sampled", Warning,
        "The file holds a sample of the requests.";
    IMPORTED_TOKEN_COUNTS_DIFFER = "imported_token_counts_differ", Warning,
        "The tool's tokenizer and the server count different numbers of output tokens."
        => "give the tool the model's own tokenizer, or its --use-server-token-count";
    IMPORTED_DEFINITIONS = "imported_definitions", Note,
        "The tool defines figures in another way than this program.";
    IMPORTED_NO_SERVER = "imported_no_server", Warning,
        "The tool measures an engine without a server.";
    IMPORTED_NO_REQUESTS = "imported_no_requests", Note,
        "The file has no single requests: its figures are those that it states.";
    IMPORTED_NO_START_TIMES = "imported_no_start_times", Note,
        "The file does not say when requests began.";
    IMPORTED_LOAD_UNKNOWN = "imported_load_unknown", Note,
        "The file does not say how requests were to begin.";
    IMPORTED_MODEL_UNKNOWN = "imported_model_unknown", Note,
        "The file does not name the model.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_name_of_its_own_and_says_what_it_means() {
        let mut names: Vec<&str> = ALL.iter().map(|code| code.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len(), "each name stands once");
        for code in ALL {
            let is_snake = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(code.name.chars().all(is_snake), "{}", code.name);
            assert!(code.means.ends_with('.') && !code.means.contains('\n'), "{}", code.name);
            assert!(code.advice.is_none_or(|advice| !advice.is_empty()), "{}", code.name);
        }
    }
}
