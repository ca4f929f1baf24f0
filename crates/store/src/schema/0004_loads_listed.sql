-- What the list of runs says of loads and latencies is read here, and not from the documents of passes.
CREATE INDEX passes_listed ON passes (
    run_id, kind, concurrency, rate, ttft_p50_ms, tpot_p50_ms
);
