//! Parquet, written with the low-level writer, without Arrow, and compressed with Zstandard. The number of
//! rows in a row group is limited, so that memory use does not grow with the run.

use std::{io::Write, sync::Arc};

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::{file::metadata::KeyValue, file::properties::WriterProperties, schema::types::Type};

use super::{RowWriter, check};
use crate::export::error::ExportError;
use crate::export::value::{Field, Kind, Presence, Value};

/// The number of rows in a row group. The last group may have fewer.
const GROUP_ROWS: usize = 1 << 16;

/// A writer of Parquet.
pub struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    fields: Vec<Field>,
    columns: Vec<Buffer>,
    rows: u64,
    buffered: usize,
}

impl<W: Write + Send> Parquet<W> {
    /// Makes a writer and writes the beginning of the file. `facts` become the key-value metadata of the file.
    ///
    /// # Errors
    /// If the columns do not form a Parquet schema, or if the beginning cannot be written.
    pub fn new(out: W, fields: Vec<Field>, facts: &[(&str, &str)]) -> Result<Self, ExportError> {
        let types = fields.iter().map(|field| column_type(field).map(Arc::new));
        let schema = Type::group_type_builder("row")
            .with_fields(types.collect::<Result<Vec<_>, _>>()?)
            .build()?;
        let facts =
            facts.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("inferometer ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(facts.collect()))
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        let columns = fields.iter().map(Buffer::of).collect();
        Ok(Self { writer, fields, columns, rows: 0, buffered: 0 })
    }

    fn write_group(&mut self) -> Result<(), ExportError> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.buffered = 0;
        Ok(())
    }
}

impl<W: Write + Send> RowWriter for Parquet<W> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        self.rows += 1;
        check(self.rows, &self.fields, values)?;
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.buffered += 1;
        if self.buffered == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        if self.buffered > 0 {
            self.write_group()?;
        }
        let mut out = self.writer.into_inner()?;
        Ok(out.flush()?)
    }
}

fn column_type(field: &Field) -> Result<Type, ExportError> {
    let (physical, logical) = match field.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Integer => (Physical::INT64, None),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    let repetition = match field.presence {
        Presence::Always => Repetition::REQUIRED,
        Presence::Sometimes => Repetition::OPTIONAL,
    };
    let built = Type::primitive_type_builder(&field.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()?;
    Ok(built)
}

/// The values of one column in the row group that is not yet written.
struct Buffer {
    values: Values,
    /// The Parquet definition levels: 1 if the row has a value, else 0. `None` if every row must have a value.
    levels: Option<Vec<i16>>,
}

enum Values {
    Texts(Vec<ByteArray>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Flags(Vec<bool>),
}

impl Buffer {
    fn of(field: &Field) -> Self {
        let values = match field.kind {
            Kind::Text => Values::Texts(Vec::new()),
            Kind::Integer => Values::Integers(Vec::new()),
            Kind::Number => Values::Numbers(Vec::new()),
            Kind::Flag => Values::Flags(Vec::new()),
        };
        Self { values, levels: (field.presence == Presence::Sometimes).then(Vec::new) }
    }

    fn push(&mut self, value: &Value<'_>) {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(*value != Value::Absent));
        }
        match (&mut self.values, value) {
            (Values::Texts(texts), Value::Text(text)) => texts.push((*text).into()),
            (Values::Integers(numbers), Value::Integer(number)) => numbers.push(*number),
            (Values::Numbers(numbers), Value::Number(number)) => numbers.push(*number),
            (Values::Flags(flags), Value::Flag(flag)) => flags.push(*flag),
            // The value is absent. Other values have the right type, because `check` was called before.
            _ => {}
        }
    }

    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ExportError> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Texts(values) => column::<ByteArrayType, W>(group, values, levels),
            Values::Integers(values) => column::<Int64Type, W>(group, values, levels),
            Values::Numbers(values) => column::<DoubleType, W>(group, values, levels),
            Values::Flags(values) => column::<BoolType, W>(group, values, levels),
        }?;
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}

/// Writes the values as the next column of the row group, and clears them.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<(), ExportError> {
    let mut writer = group.next_column()?.expect("invariant: every buffer has a column");
    writer.typed::<T>().write_batch(values, levels, None)?;
    writer.close()?;
    values.clear();
    Ok(())
}
