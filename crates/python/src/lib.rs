//! The Python module `inferometer._inferometer`. Its functions exchange documents as JSON text, and rows of
//! requests and events as Arrow streams. Users import the package in `python/inferometer`, which converts the
//! documents to Python objects.
//!
//! Python's lock is released while the library measures. The only `unsafe` code is that which PyO3 generates.

mod arrow;
mod comparison;
mod errors;
mod html;
mod measure;
mod progress;
mod store;
mod waiting;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs the command line `inferometer` with these arguments, and returns the exit code. `program` is the
/// file that starts this command.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>, program: Option<PathBuf>) -> u8 {
    py.detach(|| inferometer::command_line::main(arguments, program))
}

#[pymodule]
fn _inferometer(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrow::Rows>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(measure::run, module)?)?;
    module.add_function(wrap_pyfunction!(measure::predict, module)?)?;
    module.add_function(wrap_pyfunction!(measure::predict_search, module)?)?;
    module.add_function(wrap_pyfunction!(measure::engine_keywords, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::compare, module)?)?;
    module.add_function(wrap_pyfunction!(store::runs, module)?)?;
    module.add_function(wrap_pyfunction!(store::run_document, module)?)?;
    module.add_function(wrap_pyfunction!(store::table, module)?)?;
    module.add_function(wrap_pyfunction!(store::write_report, module)?)?;
    module.add_function(wrap_pyfunction!(html::of_run, module)?)?;
    Ok(())
}
