//! Reads rows from Parquet as JSON objects. Only columns that the plan may use are read. Values keep
//! their type, except that timestamps become decimal seconds as text, and dates, times and decimals
//! become text. A row with bytes that are not UTF-8 text, or with a map whose keys are not text, is left
//! out.

use std::{collections::BTreeSet, fs::File, path::Path, sync::Arc};

use inferometer_plan::RowsPlan;
use parquet::basic::{Compression, LogicalType, TimeUnit};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::{errors::ParquetError, schema::types::Type};
use serde_json::{Map, Number, Value};

use super::row::{Loaded, RowReason, columns_of, used_columns};
use crate::WorkloadError;
use crate::data_set::{self, MAX_FILE_BYTES};

/// Reads a file.
///
/// # Errors
/// If the file is not Parquet, has no column for a prompt, is too large, states inconsistent numbers of
/// rows, or cannot be decoded.
pub fn read(path: &Path, plan: &RowsPlan) -> Result<Loaded, WorkloadError> {
    let unreadable = |reason: String| WorkloadError::unreadable(path, reason);
    let file = data_set::open_file(path)?;
    let reader = SerializedFileReader::new(file)
        .map_err(|error| unreadable(format!("is not a Parquet file: {}", message(&error))))?;
    check_counts(reader.metadata()).map_err(|error| unreadable(error.to_string()))?;
    let (projection, unused) =
        columns(&reader, plan).map_err(|error| unreadable(error.to_string()))?;
    let nanoseconds = nanoseconds(&projection);
    let mut loaded = Loaded { unused, in_rows: true, ..Loaded::default() };
    let rows = reader
        .get_row_iter(Some(projection))
        .map_err(|error| unreadable(format!("cannot be read: {}", message(&error))))?;
    let mut kept_bytes = 0;
    for (number, row) in rows.enumerate() {
        let number = number as u64 + 1;
        let row = row.map_err(|error| unreadable(format!("row {number}: {}", message(&error))))?;
        // A few compressed bytes may contain many rows with large texts.
        kept_bytes += kept(&row);
        if kept_bytes > MAX_FILE_BYTES {
            let most = MAX_FILE_BYTES >> 20;
            let why = format!(
                "its rows up to {number} take more than {most} MiB of memory: use a part of it"
            );
            return Err(unreadable(why));
        }
        loaded.add(number, fields(&row).map(|fields| in_seconds(fields, &nanoseconds)), plan);
    }
    Ok(loaded)
}

/// Why a Parquet file cannot be used, as the rest of a sentence that begins with the file.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("states {stated} rows, and its row groups state {of_groups}")]
    Rows { stated: i64, of_groups: i64 },
    #[error("has a negative position or size for the column {0}")]
    Position(String),
    #[error("states {rows} rows in row group {number}, whose column {name} has {values} values")]
    Values { rows: i64, number: u32, name: String, values: i64 },
    #[error("has none of the columns {asked}; it has {found}; assign columns with --columns")]
    Columns { asked: String, found: String },
    #[error(
        "row group {number}, column `{name}`: compressed with {compression}, which cannot be read; write the file with \
            Snappy, with Zstandard or without compression"
    )]
    Compression { number: usize, name: String, compression: Compression },
    #[error(
        "has {0} MiB uncompressed in the used columns, but the limit is {most} MiB: use a part of it",
        most = MAX_FILE_BYTES >> 20
    )]
    TooLarge(u64),
    #[error("{}", message(.0))]
    Schema(ParquetError),
}

/// Checks that the file, its row groups and their columns state the same numbers of rows. Otherwise, the
/// decoder could leave out rows without an error. Also refuses negative positions and sizes.
fn check_counts(metadata: &ParquetMetaData) -> Result<(), FileError> {
    let stated = metadata.file_metadata().num_rows();
    let groups = metadata.row_groups();
    let of_groups: i64 = groups.iter().map(RowGroupMetaData::num_rows).fold(0, i64::saturating_add);
    if stated != of_groups {
        return Err(FileError::Rows { stated, of_groups });
    }
    for (number, group) in (1..).zip(groups) {
        let rows = group.num_rows();
        // The decoder does not check these positions and sizes.
        let is_nowhere = |column: &&ColumnChunkMetaData| {
            let begins = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            begins < 0 || column.data_page_offset() < 0 || column.compressed_size() < 0
        };
        if let Some(column) = group.columns().iter().find(is_nowhere) {
            let name = column.column_path().string();
            return Err(FileError::Position(name));
        }
        let differs = |column: &&ColumnChunkMetaData| {
            // A column of lists has one value per item, not per row.
            column.column_descr().max_rep_level() == 0 && column.num_values() != rows
        };
        if let Some(column) = group.columns().iter().find(differs) {
            let (name, values) = (column.column_path().string(), column.num_values());
            return Err(FileError::Values { rows, number, name, values });
        }
    }
    Ok(())
}

/// The schema of the columns that the plan may use, and the names of all other columns.
///
/// # Errors
/// If there is no column for a prompt, a compression is not supported, or the used columns are
/// too large.
fn columns(
    reader: &SerializedFileReader<File>,
    plan: &RowsPlan,
) -> Result<(Type, BTreeSet<String>), FileError> {
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema();
    let used = used_columns(plan);
    let (taken, others): (Vec<Arc<Type>>, Vec<_>) =
        schema.get_fields().iter().cloned().partition(|column| used.contains(column.name()));
    let asks: Vec<&str> = ["prompt", "messages", "token_ids"]
        .iter()
        .flat_map(|field| columns_of(field, plan))
        .collect();
    if !taken.iter().any(|column| asks.contains(&column.name())) {
        let names: Vec<&str> = schema.get_fields().iter().map(|column| column.name()).collect();
        return Err(FileError::Columns { asked: asks.join(", "), found: names.join(", ") });
    }
    let mut unpacked_bytes = 0_u64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let of_taken = |name: &str| taken.iter().any(|column| column.name() == name);
        for chunk in group.columns() {
            let name = chunk.column_path().parts().first().map_or("", String::as_str);
            let compression = chunk.compression();
            if of_taken(name) {
                unpacked_bytes += u64::try_from(chunk.uncompressed_size()).unwrap_or(u64::MAX >> 8);
            }
            if of_taken(name) && !is_known(compression) {
                let (number, name) = (number + 1, name.to_owned());
                return Err(FileError::Compression { number, name, compression });
            }
        }
    }
    if unpacked_bytes > MAX_FILE_BYTES {
        return Err(FileError::TooLarge(unpacked_bytes >> 20));
    }
    let projection = Type::group_type_builder(schema.name())
        .with_fields(taken)
        .build()
        .map_err(FileError::Schema)?;
    Ok((projection, others.iter().map(|column| column.name().to_owned()).collect()))
}

/// The names of the columns with timestamps in nanoseconds. The decoder returns such timestamps as plain
/// integers.
fn nanoseconds(schema: &Type) -> BTreeSet<String> {
    let is_ns = |column: &&Arc<Type>| {
        let logical = column.get_basic_info().logical_type_ref();
        matches!(logical, Some(LogicalType::Timestamp(of)) if of.unit == TimeUnit::NANOS)
    };
    schema.get_fields().iter().filter(is_ns).map(|column| column.name().to_owned()).collect()
}

fn in_seconds(
    mut fields: Map<String, Value>,
    nanoseconds: &BTreeSet<String>,
) -> Map<String, Value> {
    for name in nanoseconds {
        let count = fields.get(name).and_then(Value::as_i64);
        if let Some(count) = count {
            fields.insert(name.clone(), seconds(count, 1_000_000_000).into());
        }
    }
    fields
}

fn is_known(compression: Compression) -> bool {
    matches!(compression, Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_))
}

/// The error message of the decoder, without its fixed prefix.
fn message(error: &ParquetError) -> String {
    let text = error.to_string();
    text.strip_prefix("Parquet error: ").unwrap_or(&text).to_owned()
}

/// The estimated memory of a row, in bytes: the length of each text or byte string, and 64 for each other
/// field.
fn kept(row: &Row) -> u64 {
    let bytes = row.get_column_iter().map(|(_, field)| match field {
        Field::Str(text) => text.len(),
        Field::Bytes(bytes) => bytes.len(),
        _ => 64,
    });
    bytes.sum::<usize>() as u64
}

/// The fields of a row, or of a struct in a row. Fields that are null are left out, because in Parquet
/// every row has all fields.
fn fields(row: &Row) -> Result<Map<String, Value>, RowReason> {
    let mut fields = Map::new();
    for (name, field) in row.get_column_iter() {
        let value = value(field)?;
        if !value.is_null() {
            fields.insert(name.clone(), value);
        }
    }
    Ok(fields)
}

/// The value of a field as JSON. NaN, which table programs write for a missing number, and infinity
/// become null.
fn value(field: &Field) -> Result<Value, RowReason> {
    let real = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(value) => (*value).into(),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::UByte(value) => (*value).into(),
        Field::UShort(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Float16(value) => real(f64::from(value.to_f32())),
        // The shortest decimal number that gives the same 32-bit float: 0.7 and not 0.699999988.
        Field::Float(value) => real(value.to_string().parse().unwrap_or(f64::NAN)),
        Field::Double(value) => real(*value),
        Field::Str(text) => text.clone().into(),
        // Some writers store text without marking it as text.
        Field::Bytes(bytes) => {
            std::str::from_utf8(bytes.data()).map_err(|_| RowReason::NotText)?.into()
        }
        Field::Group(row) => Value::Object(fields(row)?),
        Field::ListInternal(list) => {
            list.elements().iter().map(value).collect::<Result<Vec<_>, _>>()?.into()
        }
        Field::MapInternal(map) => {
            let mut entries = Map::new();
            for (key, entry) in map.entries() {
                let Value::String(key) = value(key)? else { return Err(RowReason::NotText) };
                entries.insert(key, value(entry)?);
            }
            Value::Object(entries)
        }
        Field::TimestampMillis(count) => seconds(*count, 1_000).into(),
        Field::TimestampMicros(count) => seconds(*count, 1_000_000).into(),
        Field::Decimal(_) | Field::Date(_) | Field::TimeMillis(_) | Field::TimeMicros(_) => {
            field.to_string().into()
        }
    })
}

/// Converts a count of 1/`unit` seconds to seconds as decimal text, which is exact. `unit` is a power of
/// ten.
fn seconds(count: i64, unit: i64) -> String {
    let digits = unit.ilog10() as usize;
    let sign = if count < 0 { "-" } else { "" };
    let (count, unit) = (count.unsigned_abs(), unit.unsigned_abs());
    format!("{sign}{}.{:0digits$}", count / unit, count % unit)
}
