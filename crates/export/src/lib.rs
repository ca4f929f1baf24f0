//! Records and results as other programs read them.
//!
//! A [`table`] says which columns a row has, what each means and how it is taken from a record. A
//! [`form`] writes rows one after another and keeps none of them: CSV, JSON Lines, one JSON
//! document, Parquet. [`schema`] describes the JSON ones from the same columns.
//!
//! [`mlflow`] is the layout of a folder of runs as MLflow keeps it.
//!
//! Nothing is computed here that [`inferometer_metrics`] does not define, and nothing is
//! rounded.

mod error;
mod value;

pub mod form;
pub mod mlflow;
pub mod schema;
pub mod table;

pub use error::ExportError;
pub use value::{Field, Kind, Presence, Value};
