//! The kinds of findings, one entry each, grouped by subject. Some checks of records have theirs in their own files:
//! `inferometer_analysis::inspect::codes` lists all.
//!
//! An entry has a stable name, a severity and a meaning. It has advice if findings of the kind usually have the
//! same advice. Code that creates a finding, or searches for one, uses the entry.

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

codes! {
    // Servers, connections and the client's processes.
    SEVERAL_RANKS = "several_ranks", Note,
        "Several processes measured the run together. Figures that compare times of different \
            processes have an error of at most the stated clock error.";
    SERVER_FAILS = "server_fails", Warning,
        "One of several servers behind one load failed more of its requests than the others."
        => "see the figures by server, which show each server alone; remove this server, or read its log";
    SERVERS_UNEQUAL = "servers_unequal", Note,
        "Servers behind one load differ in latency by more than chance.";
    RANKS_DIFFER = "ranks_differ", Note,
        "Processes that measured together differ in latency by more than chance: their machines, or their \
            connections to the server, differ.";
    SERVERS_DIFFER = "servers_differ", Warning,
        "Servers behind one load state different engines, versions or settings."
        => "use equal servers, or compare the figures by server";
    ADDRESS_UNREACHABLE = "address_unreachable", Warning,
        "An address of the server's name accepted no connection and received no requests."
        => "name the servers one by one with several --target";
    CERTIFICATE_UNCHECKED = "certificate_unchecked", Warning,
        "The server's certificate was not checked."
        => "name the certificate authority with --ca-cert instead of --insecure";
    THROUGH_A_PROXY = "through_a_proxy", Warning,
        "Requests went through a proxy: latencies include the proxy."
        => "name the server in NO_PROXY, or give --proxy none, to measure the server alone";
    MODEL_NOT_LISTED = "model_not_listed", Warning,
        "The server does not list the requested model.";
    IGNORE_EOS_NOT_SUPPORTED = "ignore_eos_not_supported", Warning,
        "The server cannot ignore end-of-text, so outputs may be shorter than requested."
        => "compare tokens/s and output lengths, not only requests/s";
    REQUEST_FIELD_REJECTED = "request_field_rejected", Warning,
        "The server rejects a field of requests, so they are sent without it or with another one.";
    LENGTHS_ARE_SIMULATED = "lengths_are_simulated", Note,
        "The embedded engine draws the lengths of its answers at random.";
    BEYOND_THE_SERVERS_LIMIT = "beyond_the_servers_limit", Warning,
        "Prompt and output together exceed the length that the server states as its limit."
        => "start the server with a larger limit, or leave these lengths out";
    CONNECTIONS_NOT_KEPT = "connections_not_kept", Note,
        "Connections are closed after each answer, so each request opens its own.";
    PREFIX_CACHE_NOT_RESET = "prefix_cache_not_reset", Warning,
        "The server did not reset its prefix cache between passes."
        => "vLLM supports the reset if it is started with VLLM_SERVER_DEV_MODE=1, and SGLang \
            always supports it; in all other cases, restart the server between runs";
    PROMPTS_SHAPED_BY_THE_EMBEDDED_TOKENIZER = "prompts_shaped_by_the_embedded_tokenizer", Warning,
        "Prompt lengths were counted with the built-in tokenizer, not with that of the model."
        => "name the model's tokenizer with --tokenizer";
    PROMPT_OVERHEAD = "prompt_overhead", Note,
        "The server adds the same number of tokens to each prompt, such as a chat template.";
    TOKENIZERS_DIFFER = "tokenizers_differ", Warning,
        "The server counts prompt tokens differently from the tokenizer that made the prompts."
        => "name the model's own tokenizer with --tokenizer";
    TEMPLATE_NOT_COUNTED = "template_not_counted", Warning,
        "The number of tokens that the server adds to a prompt could not be determined."
        => "use a server that reports prompt tokens, and name its tokenizer with --tokenizer";

    // Prompts and data sets.
    PROMPTS_NOT_AS_ASKED = "prompts_not_as_asked", Note,
        "Prompts differ from the plan: in length, or because some repeat or overlap earlier ones.";
    WORKLOAD_HASH_COVERS_A_PART = "workload_hash_covers_a_part", Note,
        "The hash of the workload does not cover all requests."
        => "give --requests, so that the hash covers every request";
    FEWER_REQUESTS_THAN_ASKED = "fewer_requests_than_asked", Warning,
        "The data set or the trace ended before the number of requests was reached."
        => "leave out --requests, or increase --trace-window or --trace-scale";
    TRACE_BEGAN_AGAIN = "trace_began_again", Note,
        "The trace was sent more than once."
        => "give no more --requests than the trace has";
    DATA_SET_ROWS_LEFT_OUT = "data_set_rows_left_out", Note,
        "Rows of the data set cannot be used; the message counts them by reason.";
    DATA_SET_COLUMNS_UNUSED = "data_set_columns_unused", Note,
        "Columns of the data set were not used."
        => "--columns assigns columns to fields; a column `body` has additional fields of the request body";
    ROWS_OUT_OF_ORDER = "rows_out_of_order", Note,
        "Rows are not sorted by time; they are sent in the order of their time.";
    CONVERSATIONS_USED_AGAIN = "conversations_used_again", Note,
        "The data set has fewer conversations than the pass: some are sent more than once.";
    TRACE_ROWS_OUTSIDE_OF_THE_WINDOW = "trace_rows_outside_of_the_window", Note,
        "Rows of the trace are outside --trace-window and are not sent.";
    TRACE_OUT_OF_ORDER = "trace_out_of_order", Note,
        "Rows of the trace are not sorted by time; they are sent in the order of their time.";
    TRACE_DERIVED = "trace_derived", Note,
        "The unit of the trace's times, or the tokens of a hash, follows from its rows."
        => "--trace-format states both: bailian:16 has seconds, and hashes of 16 tokens";
    TRACE_AS_PLAYED = "trace_as_played", Note,
        "What a trace of agents does not say, or what is not as it was recorded.";
    TRACE_CLOCK_IS_COARSE = "trace_clock_is_coarse", Note,
        "Many requests of the trace have the same time: its clock is coarse.";
    LENGTHS_ARE_CHARACTERS = "lengths_are_characters", Note,
        "The lengths of the cells are in characters, not tokens.";

    // The progress of a run.
    WARM_UP_FAILED = "warm_up_failed", Warning,
        "Requests of the warm-up failed.";
    RUN_INCOMPLETE = "run_incomplete", Warning,
        "The run ended before all planned passes were measured.";
    CELLS_NOT_MEASURED = "cells_not_measured", Warning,
        "Some cells of the plan have no complete result."
        => "`inferometer run --resume` with the run's name measures them";
    SERVER_DIED = "server_died", Warning,
        "The server that this run started has exited unexpectedly."
        => "see its output in server.log; the rest of this cell was not measured";
    PRECISION_NOT_REACHED = "precision_not_reached", Warning,
        "The repeats did not reach the precision of --until."
        => "use the intervals over the repeats, or allow more repeats with --max-repeats";
    FEW_REQUESTS = "few_requests", Note,
        "Latencies in the table are means over too few requests for a confidence interval.";
    FEW_AT_ONCE = "few_at_once", Note,
        "Too few requests were sent at once: they may not have saturated the server."
        => "give --requests 399, as in the published tables";
    WIDE_INTERVAL = "wide_interval", Warning,
        "A latency in the table has a wide confidence interval."
        => "give more requests, use --repeat, or use a machine with less other work";

    // The requests of a pass.
    NOTHING_COMPLETED = "nothing_completed", Warning,
        "No request of the pass completed."
        => "See the failures of this pass for the reason; the pass has no figures.";
    REQUESTS_FAILED = "requests_failed", Warning,
        "Requests failed; one finding for each kind of failure.";
    REQUESTS_INTERRUPTED = "requests_interrupted", Note,
        "Requests were in flight, or not yet sent, when the run ended. They are not failures of the server."
        => "The figures of the pass cover only the requests before, and the figures of the cell leave \
            the pass out; `inferometer run --resume` with the run's name measures the whole pass.";
    FINISH_REASON_UNKNOWN = "finish_reason_unknown", Note,
        "Answers ended with an unknown finish reason; they count as complete."
        => "Check in the server's documentation whether such an answer is complete.";
    MESSAGES_SKIPPED = "messages_skipped", Note,
        "Streams had messages that are neither output, error, usage nor end. They were skipped, and count as nothing.";
    EMPTY_OUTPUT = "empty_output", Warning,
        "Requests completed without any output token."
        => "Some servers answer like this if they ignore a prompt, for instance because prompt \
            plus output exceed the model's maximum length: use shorter lengths.";
    OUTPUT_SHORTER_THAN_ASKED = "output_shorter_than_asked", Warning,
        "Outputs have fewer tokens than requested."
        => "The server ignores `ignore_eos`, or prompt plus output reach its length limit. \
            Throughput uses the measured lengths; do not compare it with runs of full outputs.";
    INPUT_LENGTH_DIFFERS = "input_length_differs", Warning,
        "The server counts a different number of prompt tokens than requested."
        => "A constant difference comes from a chat template or a begin-of-text token \
            (--count-template includes it in the length); a varying one comes from a different \
            tokenizer (name the server's with --tokenizer).";
    INPUT_TOKENS_UNKNOWN = "input_tokens_unknown", Warning,
        "The number of prompt tokens is unknown: neither the server nor a tokenizer counts them."
        => "Name the model's tokenizer with --tokenizer.";
    USAGE_MISSING = "usage_missing", Warning,
        "The server does not report the number of output tokens."
        => "Have the server report usage (`stream_options: {\"include_usage\": true}`), or name \
            the model's tokenizer with --tokenizer.";
    TOKEN_COUNTS_DISAGREE = "token_counts_disagree", Warning,
        "The server and the tokenizer count different numbers of output tokens."
        => "Figures use the server's count. Check that --tokenizer is that of the served model.";
    CHUNKS_ARE_NOT_TOKENS = "chunks_are_not_tokens", Warning,
        "Stream events do not carry exactly one token each."
        => "ITL is per token here. Tools that count each event as one token report the gaps \
            between events; here these are called ICL.";
    WAITED_FOR_WRITER = "waited_for_writer", Warning,
        "Requests were sent late, because earlier records had to be written first."
        => "put --store on a faster disk, or use fewer requests in flight";
    USAGE_NOT_POSSIBLE = "usage_not_possible", Warning,
        "The server's count of output tokens cannot be correct, and is not used."
        => "Report it to the developers of the server; name the model's tokenizer with \
            --tokenizer, so that outputs are counted.";
    OUTPUT_LONGER_THAN_ASKED = "output_longer_than_asked", Warning,
        "Outputs have more tokens than requested."
        => "The server has its own minimum length, or a field of --extra-body (`n`, `max_tokens`, \
            ...) overrides the plan. Request the length that the server really makes, and one choice.";
    CACHED_PROMPT_TOKENS = "cached_prompt_tokens", Warning,
        "The server answered parts of prompts from its prefix cache."
        => "Prefill was measured only in part: use another --salt, or disable the server's prefix cache.";
    PROMPTS_SENT_BEFORE = "prompts_sent_before", Warning,
        "A resumed run had already sent prompts of the pass, so the server's prefix cache may have \
            had them: TTFT is unreliable."
        => "Measure again without --resume, restart the server before --resume, or use --reset-prefix-cache.";
    ARRIVAL_RATE_DIFFERS = "arrival_rate_differs", Note,
        "Too few arrivals were drawn: their rate differs from the requested one."
        => "Use more requests, or equal gaps with --burstiness inf.";
    OVER_SATURATED = "over_saturated", Warning,
        "Requests arrived faster than the server completed them, so more and more of them were \
            in flight or waiting."
        => "Use a rate below the limit of the server; `inferometer sweep --by rate` finds it, and \
            --stop-when-saturated ends such a pass early.";
    PASS_STOPPED = "pass_stopped", Warning,
        "A pass was ended early by a rule of the plan: its figures cover only a part of it.";
    SENT_BELOW_THE_RATE = "sent_below_the_rate", Warning,
        "The client fell behind its own schedule."
        => "Use a lower rate, or give the client more CPU time.";

    // Metrics of the server and of the cards during a pass.
    SERVER_METRICS_MISSING = "server_metrics_missing", Note,
        "Reading the server's metrics failed."
        => "server metrics of this pass are incomplete; the client's figures are complete";
    SERVER_COUNTS_OTHER_TOKENS = "server_counts_other_tokens", Warning,
        "The server counted a different number of output tokens than this client received.";
    SERVER_PREFIX_HITS = "server_prefix_hits", Warning,
        "The server's metrics report prefix cache hits."
        => "Prefill was measured only in part: unless the workload is meant to share prefixes, use \
            another --salt, or disable the server's prefix cache.";
    SERVER_TTFT_DIFFERS = "server_ttft_differs", Note,
        "The server's TTFT histogram differs from the client's TTFT.";
    SERVER_ITL_DIFFERS = "server_itl_differs", Note,
        "The server's ITL histogram differs from the client's ITL.";
    CARD_DATA_MISSING = "card_data_missing", Note,
        "Reading the cards' metrics failed."
        => "power and energy are interpolated linearly between the samples; the client's figures are complete";
    CARD_DATA_STALE = "card_data_stale", Note,
        "The exporter samples the cards too rarely to compute energy."
        => "let it sample every second (dcgm-exporter -c 1000), or measure for longer";

    // Searches.
    SEARCH_TRIAL_CUT_OFF = "search_trial_cut_off", Note,
        "A trial was ended early, because its result was already certain.";
    SEARCH_TRIAL_LOST = "search_trial_lost", Warning,
        "A trial was discarded: its records are incomplete, or do not show the result that ended it early.";
    SEARCH_NOT_SETTLED = "search_not_settled", Warning,
        "The server may still have been busy with a cancelled trial when the next one began.";
    SEARCH_NOT_FINISHED = "search_not_finished", Warning,
        "The search ended without an answer that is as precise as --precision requires.";
    SEARCH_NOT_MONOTONE = "search_not_monotone", Warning,
        "The objectives were met at a higher load and missed at a lower one."
        => "search again with a warmed-up server and no other users";
    SEARCH_SATURATED = "search_saturated", Note,
        "At one of the loads of the search, requests arrived faster than they ended.";
    SEARCH_IN_BURSTS = "search_in_bursts", Note,
        "Requests of equal length started and ended together, so prompts were processed in bursts."
        => "add --range-ratio 0.3: it varies the lengths, as in most real traffic";
    SEARCH_LIMITED_BY_CLIENT = "search_limited_by_client", Warning,
        "The client may have been the limit at the lowest load that misses the objectives."
        => "run the client on a separate machine; `inferometer check` measures its limits";

    // Comparisons in blocks.
    AB_OUTLYING_PAIRS = "ab_outlying_pairs", Warning,
        "A few pairs of blocks are far from all others."
        => "look at the chart of the blocks; use longer blocks (--requests), or a metric that is \
            robust against single stalls, such as --metric itl_p50";
    AB_LIMITS_NOT_REACHED = "ab_limits_not_reached", Note,
        "The two sides of a comparison differ in how many requests they run at once, but the load was too \
            low to reach either limit.";

    // Sweeps.
    SWEEP_NOT_FINISHED = "sweep_not_finished", Warning,
        "The sweep ended before saturation was certain, or before the knee was precise."
        => "raise a limit: --budget of `run`; --max-concurrency, --max-rate, --max-requests, --max-trials, --max-time of `sweep`";
    SWEEP_TRIAL_LOST = "sweep_trial_lost", Warning,
        "A trial was discarded, because its records are incomplete; the sweep of its cell ended \
            there.";
    SWEEP_LIMITED_BY_CLIENT = "sweep_limited_by_client", Warning,
        "The client may have been the limit at the load of saturation."
        => "run the client on a separate machine; `inferometer check` measures its limits";
    SWEEP_THROUGHPUT_FALLS = "sweep_throughput_falls", Warning,
        "Throughput falls beyond saturation."
        => "limit the requests in flight before they reach the server, or lower the server's own \
            limit (such as --max-num-seqs): above the saturation load, the server loses time, for \
            example by preemption";

    // Predictions.
    PROMPTS_IGNORED = "prompts_ignored", Warning,
        "Some prompts get no output, because they do not fit into the engine.";
    ITL_IS_A_MEAN = "itl_is_a_mean", Note,
        "Gaps between tokens are given as the mean of each request.";
    LENGTHS_FROM_LOG = "lengths_from_log", Note,
        "Lengths are the means of a log, not those of a plan.";
    AGAINST_ANOTHER_MODEL = "against_another_model", Warning,
        "The measured model differs from the predicted one."
        => "name the measured model with --model";
    PROFILE_UNCALIBRATED = "profile_uncalibrated", Warning,
        "No measured row supports the profile of a prediction, for example because there is none of this engine \
            version on this card."
        => "figures may be wrong by a factor of two; name a version and a card with a profile (--engine, \
            --card, `inferometer list profiles`), or fit a profile to your rows with `inferometer calibrate`";
    AGAINST_ANOTHER_ENGINE = "against_another_engine", Warning,
        "The measured engine, engine version or card differs from the predicted one."
        => "name a matching profile with --profile, or fit one with `calibrate`";
    IN_SAMPLE = "in_sample", Note,
        "The profile was fitted to rows of this model: the errors may be fit errors, not \
            prediction errors.";
    LARGER_LIMIT = "larger_limit", Note,
        "A row was measured with a larger length limit than that of the predicted engine.";
    OUTPUT_CAPPED = "output_capped", Warning,
        "The engine's length limit ends outputs early."
        => "the row is not counted in the errors";
    MEAN_OUTPUT_FROM_TABLE = "mean_output_from_table", Note,
        "Outputs ended at end-of-text; they are predicted with the mean length in the table.";
    OUTPUT_NOT_AS_ASKED = "output_not_as_asked", Warning,
        "The measured outputs have a different length than the row states."
        => "the row is not counted in the errors";
    CONSTANT_EXTRA_COST = "constant_extra_cost", Warning,
        "The measured latency per output token differs from the prediction by the same time in all rows."
        => "the host may be slower or faster, or the engine may do more or less work per step; \
            `calibrate` fits this time";

    // Imported results.
    IMPORTED_CHARACTERS_NOT_TOKENS = "imported_characters_not_tokens", Warning,
        "The table's lengths are in characters, not tokens.";
    IMPORTED_ENGINE_FROM_PROSE = "imported_engine_from_prose", Note,
        "The engine was taken from the page's text: it is the only one named there.";
    IMPORTED_LENGTHS_OF_DATA_SET = "imported_lengths_of_data_set", Warning,
        "The script computes rates from the output lengths in the data set, not from the lengths \
            of the real outputs.";
    IMPORTED_OUTPUTS_SHORTER = "imported_outputs_shorter", Warning,
        "Outputs of some rows are shorter than the stated output length."
        => "compare such rows by tokens/s, not by requests/s";
    IMPORTED_COLUMNS_INCONSISTENT = "imported_columns_inconsistent", Warning,
        "Columns contradict each other.";
    IMPORTED_LATENCIES_INCONSISTENT = "imported_latencies_inconsistent", Warning,
        "The two latencies of some rows contradict their lengths.";
    IMPORTED_PHANTOM_TOKENS = "imported_phantom_tokens", Warning,
        "Some rows count output tokens that were never generated."
        => "exclude those rows from comparisons, or multiply their tokens/s by (limit - input) / \
            output";
    IMPORTED_ROWS_MISSING = "imported_rows_missing", Note,
        "Rows of the grid are not in the table.";
    IMPORTED_VALUES_REPEAT = "imported_values_repeat", Warning,
        "Several rows have exactly the same value.";
    IMPORTED_REQUESTS_LOST = "imported_requests_lost", Warning,
        "Requests failed, or are missing from the results.";
    IMPORTED_REQUESTS_SAMPLED = "imported_requests_sampled", Warning,
        "The file contains only a sample of the requests.";
    IMPORTED_TOKEN_COUNTS_DIFFER = "imported_token_counts_differ", Warning,
        "The tool's tokenizer and the server count different numbers of output tokens."
        => "give that tool the model's own tokenizer, or its flag --use-server-token-count";
    IMPORTED_DEFINITIONS = "imported_definitions", Note,
        "The tool defines metrics differently from this program.";
    IMPORTED_NO_SERVER = "imported_no_server", Warning,
        "The tool measures an engine without a server.";
    IMPORTED_NO_REQUESTS = "imported_no_requests", Note,
        "The file has no data of single requests: the figures are copied from the file.";
    IMPORTED_NO_START_TIMES = "imported_no_start_times", Note,
        "The file does not state when requests were sent.";
    IMPORTED_LOAD_UNKNOWN = "imported_load_unknown", Note,
        "The file does not state the load (rate or concurrency).";
    IMPORTED_MODEL_UNKNOWN = "imported_model_unknown", Note,
        "The file does not name the model.";
    IMPORTED_WARM_UP = "imported_warm_up", Warning,
        "The file has the requests of a warm-up, not those of a measurement."
        => "import the file of the measurement instead";
}
