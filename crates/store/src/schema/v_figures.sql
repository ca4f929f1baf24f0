CREATE VIEW v_figures AS
SELECT
    passes.run_id AS run_id, passes.pass AS pass, cells.input_length AS input_length,
    cells.output_length AS output_length, passes.kind AS kind,
    passes.summary ->> '$.load' AS load, coalesce(passes.summary ->> '$.repeat', 1) AS repeat,
    names.value ->> '$[0]' AS figure, passes.summary ->> (names.value ->> '$[1]') AS value
FROM passes
JOIN cells ON cells.run_id = passes.run_id AND cells.cell = passes.cell
JOIN json_each('{names}') AS names
WHERE passes.summary ->> (names.value ->> '$[1]') IS NOT NULL
ORDER BY passes.run_id, passes.pass, names.key
