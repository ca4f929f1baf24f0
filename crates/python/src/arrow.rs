//! Exports the rows of a run as an Arrow stream, through the PyCapsule interface of Arrow. pandas, polars,
//! DuckDB and pyarrow read such a stream without a copy. A separate thread reads the log, one batch ahead of
//! the reader. So the memory in use does not depend on the length of the run.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{collections::HashMap, ffi::CStr, io, path::PathBuf, sync::Arc, thread};

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema, SchemaRef};
use inferometer::export::{self, ExportError, ExportedRows, Field, Kind, RowWriter, Value};
use pyo3::{prelude::*, types::PyCapsule};

use crate::{errors::Error, store::stored};

/// The number of rows in a batch.
const BATCH: usize = 1 << 16;
/// The names of the capsules, as the interface defines them.
const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// Rows of a run: one for each request, for each event of its streams, or for each pass.
#[pyclass(frozen, module = "inferometer")]
pub struct Rows {
    store: PathBuf,
    run: String,
    what: ExportedRows,
}

#[pymethods]
impl Rows {
    #[new]
    fn new(store: PathBuf, run: String, what: &str) -> PyResult<Self> {
        let what = match what {
            "requests" => ExportedRows::Requests,
            "events" => ExportedRows::Events,
            "cells" => ExportedRows::Cells,
            other => {
                let why =
                    format!("`{other}`: unknown kind of rows; use `requests`, `events` or `cells`");
                return Err(Error::store(why).into());
            }
        };
        Ok(Self { store, run, what })
    }

    /// The rows as a stream of record batches. A requested schema is ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The Arrow interface allows a producer to ignore the requested schema, if it cannot convert its data.
        drop(requested_schema);
        let reader = py.detach(|| self.open())?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    /// The schema of the rows: the names and types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = py.detach(|| self.open())?.schema;
        let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(Error::store)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    fn __repr__(&self) -> String {
        let what = format!("{:?}", self.what).to_lowercase();
        format!("<{what} of run {}, an Arrow stream>", self.run)
    }
}

impl Rows {
    /// Starts to read the rows. Returns when the columns are known.
    fn open(&self) -> Result<Reader, Error> {
        let run = stored(&self.store, &self.run)?;
        let what = self.what;
        // One batch may wait while the thread makes the next one.
        let (sender, batches) = sync_channel(1);
        thread::Builder::new()
            .name("inferometer-rows".to_owned())
            .spawn(move || {
                let rows = sender.clone();
                let open = |fields: Vec<Field>| -> Box<dyn RowWriter> {
                    Box::new(Batches::new(&fields, rows))
                };
                // From a log that was cut, the rows before the cut are exported. This thread must not call
                // Python: the reader that waits for this thread may hold Python's lock.
                let say = |text: &str| eprintln!("inferometer: {text}");
                let end = match export::rows(&run, what, &say, open) {
                    Ok(_) => Sent::End,
                    Err(error) => Sent::Failed(error.to_string()),
                };
                // If the reader has stopped reading, it does not need the end.
                let _ = sender.send(end);
            })
            .map_err(Error::store)?;
        match batches.recv() {
            Ok(Sent::Schema(schema)) => Ok(Reader { schema, batches, ended: false }),
            Ok(Sent::Failed(why)) => Err(Error::Store(why)),
            Ok(Sent::Batch(_) | Sent::End) | Err(_) => Err(Error::store("the rows cannot be read")),
        }
    }
}

/// The messages of the thread that reads the log. The schema is sent first.
enum Sent {
    Schema(SchemaRef),
    Batch(RecordBatch),
    Failed(String),
    /// There are no more rows.
    End,
}

/// Collects rows into batches and sends them.
struct Batches {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    sender: SyncSender<Sent>,
}

impl Batches {
    fn send(&mut self) -> Result<(), ExportError> {
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        self.rows = 0;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        let batch = batch.map_err(io::Error::other)?;
        self.sender.send(Sent::Batch(batch)).map_err(|_| gone())
    }

    fn new(fields: &[Field], sender: SyncSender<Sent>) -> Self {
        let arrow = |field: &Field| {
            let about: HashMap<_, _> = [("about".to_owned(), field.about.to_string())].into();
            // All columns are nullable, because any row may lack a value.
            ArrowField::new(field.name.clone(), data_type(field.kind), true).with_metadata(about)
        };
        let schema = Arc::new(Schema::new(fields.iter().map(arrow).collect::<Vec<_>>()));
        // If there is no reader, sending the first batch fails.
        let _ = sender.send(Sent::Schema(Arc::clone(&schema)));
        let columns = fields.iter().map(|field| Column::new(field.kind)).collect();
        Self { schema, columns, rows: 0, sender }
    }
}

/// The error if the reader has stopped reading.
fn gone() -> ExportError {
    io::Error::from(io::ErrorKind::BrokenPipe).into()
}

impl RowWriter for Batches {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(*value);
        }
        self.rows += 1;
        if self.rows == BATCH { self.send() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        if self.rows > 0 { self.send() } else { Ok(()) }
    }
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Text => DataType::Utf8,
        Kind::Integer => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Flag => DataType::Boolean,
    }
}

/// The builder of a column.
enum Column {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Flag(BooleanBuilder),
}

impl Column {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Integer => Self::Integer(Int64Builder::new()),
            Kind::Number => Self::Number(Float64Builder::new()),
            Kind::Flag => Self::Flag(BooleanBuilder::new()),
        }
    }

    /// Appends a value of the column's kind. For any other value, appends null.
    fn push(&mut self, value: Value<'_>) {
        match (self, value) {
            (Self::Text(column), Value::Text(text)) => column.append_value(text),
            (Self::Text(column), _) => column.append_null(),
            (Self::Integer(column), Value::Integer(number)) => column.append_value(number),
            (Self::Integer(column), _) => column.append_null(),
            (Self::Number(column), Value::Number(number)) => column.append_value(number),
            (Self::Number(column), _) => column.append_null(),
            (Self::Flag(column), Value::Flag(flag)) => column.append_value(flag),
            (Self::Flag(column), _) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(column.finish()),
            Self::Integer(column) => Arc::new(column.finish()),
            Self::Number(column) => Arc::new(column.finish()),
            Self::Flag(column) => Arc::new(column.finish()),
        }
    }
}

/// Returns the batches in the order in which they arrive.
struct Reader {
    schema: SchemaRef,
    batches: Receiver<Sent>,
    ended: bool,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let failed = |why: String| Some(Err(ArrowError::ExternalError(why.into())));
        match self.batches.recv() {
            Ok(Sent::Batch(batch)) => Some(Ok(batch)),
            Ok(Sent::Failed(why)) => failed(why),
            Ok(Sent::End) => {
                self.ended = true;
                None
            }
            Ok(Sent::Schema(_)) => failed("the rows have two schemas".to_owned()),
            Err(_) if self.ended => None,
            Err(_) => failed("the rows end early: the thread that reads them failed".to_owned()),
        }
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
