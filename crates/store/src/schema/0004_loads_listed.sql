-- The list of runs reads loads and latencies from this index, not from the documents of passes.
CREATE INDEX passes_listed ON passes (
    run_id, kind, concurrency, rate, ttft_p50_ms, tpot_p50_ms
);
