"""Tests of the rows, stores, comparisons and HTML of runs."""

import duckdb
import polars
import pyarrow
import pytest

import inferometer as im


def test_rows_are_the_same_in_pyarrow_polars_pandas_and_duckdb(measured):
    requests = measured.requests()
    arrow = pyarrow.table(requests)
    assert arrow.num_rows == 15
    tokens = arrow["output_tokens"].to_pylist()
    assert tokens == [8] * 15
    assert polars.DataFrame(requests)["output_tokens"].to_list() == tokens
    assert arrow.to_pandas()["output_tokens"].tolist() == tokens
    counted = duckdb.sql("select count(*), sum(output_tokens) from requests").fetchall()
    assert counted == [(15, sum(tokens))]
    assert arrow.schema.field("ttft_ms").type == pyarrow.float64()
    assert arrow.schema.field("ttft_ms").metadata[b"about"]


def test_the_results_can_be_computed_from_the_rows(measured):
    table = pyarrow.table(measured.requests()).to_pandas()
    for passed in measured.cells[0]["passes"]:
        rows = table[table["load"] == passed["load"]]
        assert len(rows) == passed["outcomes"]["complete"]
        assert rows["ttft_ms"].max() == pytest.approx(passed["ttft_ms"]["max"], rel=1e-9)


def test_every_event_of_every_stream_is_a_row(measured):
    events = pyarrow.table(measured.events())
    assert events.num_rows >= 15 * 8
    figures = pyarrow.table(measured.figures())
    assert figures.num_rows == len(measured.cells[0]["passes"])


def test_rows_can_be_read_after_another_reader_stopped_early(measured):
    reader = pyarrow.RecordBatchReader.from_stream(measured.events())
    reader.read_next_batch()
    reader.close()
    del reader
    assert pyarrow.table(measured.requests()).num_rows == 15


def test_an_unknown_run_is_a_store_error(measured, tmp_path):
    store = im.Store(measured.store)
    with pytest.raises(im.StoreError, match="nothing-like-it"):
        store.run("nothing-like-it")
    with pytest.raises(LookupError):
        im.Store(tmp_path / "none.db").runs()
    with pytest.raises(im.PlanError, match="state"):
        store.runs(state="asleep")


def test_a_store_lists_finds_and_reads_runs(measured):
    store = im.Store(measured.store)
    [row] = store.runs(model="chatglm")
    assert row["run_id"] == measured.id == measured.run_id and store.runs(model="qwen") == []
    assert store.runs(tags="no such tag") == store.runs(tags=["no such tag"]) == []
    again = store[measured.id]
    assert again.summary == measured.summary
    assert again.report(measured.folder).joinpath("report.html").exists()


def test_a_comparison_has_rows_a_gate_and_text(small):
    runs = [
        im.predict(
            model=model, input_lengths=[64], output_lengths=[16], requests=50,
            store=small["store"], out=small["out"] / model,
        )
        for model in ("chatglm3-6b", "qwen-14b")
    ]
    compared = im.compare(*runs, gate="output_tokens_per_s>-3%")
    assert compared.rows and compared.missed and compared.passed is False
    assert "output_tokens_per_s" in str(compared)
    same = im.compare(runs[0], runs[0], gate="output_tokens_per_s>-3%")
    assert same.passed is True
    assert im.compare(runs[0], runs[0]).passed is None
    with pytest.raises(im.PlanError, match="margin"):
        im.compare(*runs, margin=5)


def test_a_run_in_a_notebook_shows_its_table_and_charts_if_it_has_several_cells(measured, small):
    page = measured._repr_html_()
    assert "<table" in page and measured.id in page and "<script" not in page
    # A chart of a single cell would have only one bar, so there is none.
    assert "data:image" not in page
    two = im.predict(
        model="qwen-14b", input_lengths=[64], output_lengths=[16, 32], requests=50,
        store=small["store"], out=small["out"] / "two",
    )
    assert two._repr_html_().count("data:image/svg+xml;base64,") >= 1
