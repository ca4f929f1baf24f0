CREATE VIEW v_latencies AS
SELECT
    passes.run_id AS run_id, passes.pass AS pass, cells.input_length AS input_length,
    cells.output_length AS output_length, passes.kind AS kind,
    passes.summary ->> '$.load' AS load, coalesce(passes.summary ->> '$.repeat', 1) AS repeat,
    metric.value AS metric,
    figure.value ->> '$.mean' AS mean,
    figure.value ->> '$.mean_ci[0]' AS mean_lo, figure.value ->> '$.mean_ci[1]' AS mean_hi,
    figure.value ->> '$.p50' AS p50,
    figure.value ->> '$.p50_ci[0]' AS p50_lo, figure.value ->> '$.p50_ci[1]' AS p50_hi,
    figure.value ->> '$.p90' AS p90, figure.value ->> '$.p95' AS p95,
    figure.value ->> '$.p99' AS p99,
    figure.value ->> '$.p99_ci[0]' AS p99_lo, figure.value ->> '$.p99_ci[1]' AS p99_hi,
    figure.value ->> '$.p999' AS p999, figure.value ->> '$.max' AS max,
    figure.value ->> '$.n' AS n
FROM passes
JOIN cells ON cells.run_id = passes.run_id AND cells.cell = passes.cell
JOIN json_each('{names}') AS metric
JOIN json_each(passes.summary) AS figure ON figure.key = metric.value
WHERE figure.type = 'object'
ORDER BY passes.run_id, passes.pass, metric.key
