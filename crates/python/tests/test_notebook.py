"""Test of the example notebook: it runs to its end."""

from pathlib import Path

import nbclient
import nbformat

NOTEBOOK = Path(__file__).parent.parent / "examples" / "first-steps.ipynb"


def test_the_example_notebook_runs_and_shows_tables_charts_and_a_bar(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    pages = [output.data.get("text/html", "") for output in outputs if "data" in output]
    assert any("image/svg+xml;base64" in page for page in pages)
    # The output of the progress bar at the end of a run has one line for each pass.
    assert any("tokens/s</div>" in page for page in pages)
