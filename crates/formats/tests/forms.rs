//! Tests the rows of records that were computed by hand, and the exported files of such rows.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use inferometer_formats::export::form::{Csv, Json, JsonLines, Parquet, RowWriter};
use inferometer_formats::export::table::{
    EVENTS, EventRow, PassSource, REQUESTS, RequestRow, RunSource,
};
use inferometer_formats::export::{ExportError, Field, Kind, Presence, Value};
use inferometer_model::cell::CellPlan;
use inferometer_model::load::PassPlan;
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::{
    Event, EventKind, JobCall, Read, Record, ServerTime, ServerTimes, Usage,
};
use inferometer_model::target::Target;
use inferometer_model::time::Nanos;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::json;

const MS: u64 = 1_000_000;

fn pass() -> Rc<PassSource> {
    let target = Target { model: "模型-6b".to_owned(), simulated: true, ..Target::default() };
    let run = RunSource {
        run_id: "20261120-051233-ab12".to_owned(),
        target,
        predicted: false,
        origin_unix_ns: 1_795_151_553_000_000_000,
    };
    let cell = CellPlan { input_length: 128, output_length: 3 };
    Rc::new(PassSource::new(Rc::new(run), cell, 2, &PassPlan::saturated(2)))
}

/// A request that is due at 1 ms and sent at 2 ms, with three tokens at 12, 22 and 32 ms.
fn complete() -> Record {
    let read = |ms: u64| Read {
        kernel: Some(Nanos(ms * MS)),
        user: Nanos(ms * MS + 50),
        empty_before: Nanos(ms * MS - 100),
        bytes: 100,
    };
    let event = |read, kind| Event { read, kind, chars: 4, tokens: None };
    Record {
        asked_input: 128,
        asked_output: 3,
        send_start: Some(Nanos(2 * MS)),
        reads: vec![read(12), read(22), read(32)],
        events: vec![
            event(0, EventKind::Role),
            event(0, EventKind::Text),
            event(1, EventKind::Reasoning),
            event(2, EventKind::Text),
            event(2, EventKind::Done),
        ],
        ended: Some(Nanos(33 * MS)),
        outcome: Outcome::Complete,
        status: Some(200),
        usage: Usage {
            prompt: Some(130),
            completion: Some(3),
            cached: Some(0),
            ..Usage::default()
        },
        server_times: ServerTimes::default()
            .with(ServerTime::Queue, Some(4_500))
            .with(ServerTime::Total, Some(29_000)),
        trace: 7,
        ..Record::planned(1, 0, Nanos(MS))
    }
}

fn failed() -> Record {
    Record {
        outcome: Outcome::Connection { phase: Phase::FirstToken },
        class: Some("turn 2".into()),
        job: Some(Box::new(JobCall { job: 3, call: 2, ..JobCall::default() })),
        ..Record::planned(1, 1, Nanos(MS))
    }
}

fn value<'r>(fields: &[Field], values: &[Value<'r>], name: &str) -> Value<'r> {
    values[fields.iter().position(|field| field.name == name).expect("a column")]
}

#[test]
fn a_request_row_has_the_timestamps_counts_and_latencies_of_the_request() {
    let fields = REQUESTS.fields();
    let row = RequestRow::new(pass(), complete());
    let values = REQUESTS.values(&row);
    for (name, expected) in [
        ("run_id", Value::Text("20261120-051233-ab12")),
        ("model", Value::Text("模型-6b")),
        ("engine", Value::Absent),
        ("simulated", Value::Flag(true)),
        ("predicted", Value::Flag(false)),
        ("kind", Value::Text("saturated")),
        ("repeat", Value::Integer(2)),
        ("input_length", Value::Integer(128)),
        ("trace_id", Value::Text("238220806ba28257b1654ecfc0372540")),
        ("outcome", Value::Text("complete")),
        ("phase", Value::Absent),
        ("class", Value::Absent),
        ("job", Value::Absent),
        ("server", Value::Absent),
        ("rank", Value::Absent),
        ("input_tokens", Value::Integer(130)),
        ("output_tokens", Value::Integer(3)),
        ("tokens_from", Value::Text("usage")),
        ("tokens_events", Value::Integer(3)),
        ("server_queue_ms", Value::Number(4.5)),
        ("server_inference_ms", Value::Absent),
        ("server_total_ms", Value::Number(29.0)),
        ("server_prefill_ms", Value::Absent),
        ("server_first_token_ms", Value::Absent),
        ("server_decode_ms", Value::Absent),
        ("server_load_ms", Value::Absent),
        ("output_chars", Value::Integer(12)),
        ("reads", Value::Integer(3)),
        ("read_bytes", Value::Integer(300)),
        ("due_ns", Value::Integer(1_000_000)),
        ("send_start_ns", Value::Integer(2_000_000)),
        ("first_token_ns", Value::Integer(12_000_000)),
        ("last_token_ns", Value::Integer(32_000_000)),
        ("ended_ns", Value::Integer(33_000_000)),
        ("ttft_ms", Value::Number(10.0)),
        ("ttft_from_due_ms", Value::Number(11.0)),
        ("tpot_ms", Value::Number(10.0)),
        ("e2e_ms", Value::Number(30.0)),
        ("send_delay_ms", Value::Number(1.0)),
        ("latency_per_output_token_ms", Value::Number(10.0)),
    ] {
        assert_eq!(value(&fields, &values, name), expected, "{name}");
    }
    let row = RequestRow::new(pass(), failed());
    let values = REQUESTS.values(&row);
    for (name, expected) in [
        ("outcome", Value::Text("connection")),
        ("phase", Value::Text("first_token")),
        ("class", Value::Text("turn 2")),
        ("job", Value::Integer(3)),
        ("call", Value::Integer(2)),
        ("ttft_ms", Value::Absent),
        ("send_start_ns", Value::Absent),
    ] {
        assert_eq!(value(&fields, &values, name), expected, "{name}");
    }
}

#[test]
fn a_request_has_a_row_for_each_of_its_events() {
    let rows: Vec<EventRow> = EventRow::of(RequestRow::new(pass(), complete())).collect();
    let fields = EVENTS.fields();
    let of = |name: &str| -> Vec<String> {
        rows.iter().map(|row| format!("{:?}", value(&fields, &EVENTS.values(row), name))).collect()
    };
    let kinds = ["role", "text", "reasoning", "text", "done"];
    assert_eq!(of("kind"), kinds.map(|kind| format!("Text({kind:?})")));
    let since_send_ms = [10.0, 10.0, 20.0, 30.0, 30.0];
    assert_eq!(of("since_send_ms"), since_send_ms.map(|ms| format!("Number({ms:?})")));
    assert_eq!(of("is_token"), [false, true, true, true, false].map(|is| format!("Flag({is})")));
    assert_eq!(EventRow::of(RequestRow::new(pass(), failed())).count(), 0);
}

/// The bytes that a row writer wrote. They are shared, because the row writer owns its output.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one thread").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("one thread").clone()
    }
}

/// The fields of a table with a column of each kind.
fn small() -> Vec<Field> {
    let field = |name: &'static str, kind, presence| Field {
        name: name.into(),
        kind,
        presence,
        about: "".into(),
    };
    vec![
        field("name", Kind::Text, Presence::Sometimes),
        field("count", Kind::Integer, Presence::Always),
        field("share", Kind::Number, Presence::Sometimes),
        field("good", Kind::Flag, Presence::Sometimes),
    ]
}

fn rows() -> [[Value<'static>; 4]; 3] {
    [
        [Value::Text("模, \"a\""), Value::Integer(-1), Value::Number(0.1), Value::Flag(true)],
        [Value::Absent, Value::Integer(i64::MAX), Value::Absent, Value::Absent],
        [Value::Text(""), Value::Integer(0), Value::Number(2.5e-7), Value::Flag(false)],
    ]
}

fn written(make: impl FnOnce(Written) -> Box<dyn RowWriter>) -> Vec<u8> {
    let out = Written::default();
    let mut form = make(out.clone());
    for row in rows() {
        form.row(&row).expect("a row that fits");
    }
    form.finish().expect("written");
    out.bytes()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

#[test]
fn csv_quotes_fields_where_needed_and_distinguishes_empty_from_absent() {
    let lines = text(written(|out| Box::new(Csv::new(out, small()).expect("a header"))));
    let expected = [
        "name,count,share,good",
        "\"模, \"\"a\"\"\",-1,0.1,true",
        ",9223372036854775807,,",
        "\"\",0,0.00000025,false",
        "",
    ];
    assert_eq!(lines.split("\r\n").collect::<Vec<_>>(), expected);
    let mut reader = csv::Reader::from_reader(lines.as_bytes());
    let rows: Vec<_> = reader.records().collect::<Result<_, _>>().expect("CSV");
    assert_eq!(rows[0], ["模, \"a\"", "-1", "0.1", "true"][..]);
}

#[test]
fn json_has_every_field_in_every_row() {
    let lines = text(written(|out| Box::new(JsonLines::new(out, small()))));
    let expected = [
        r#"{"name":"模, \"a\"","count":-1,"share":0.1,"good":true}"#,
        r#"{"name":null,"count":9223372036854775807,"share":null,"good":null}"#,
        r#"{"name":"","count":0,"share":2.5e-7,"good":false}"#,
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
    let document = text(written(|out| {
        Box::new(Json::new(out, small(), "small/1", "run").expect("a beginning"))
    }));
    let rows = expected.join(",\n");
    let head = r#"{"schema":"small/1","run_id":"run","rows":["#;
    assert_eq!(document, format!("{head}\n{rows}\n]}}\n"));
    let document = serde_json::from_str(&document).expect("JSON");
    assert!(jsonschema::is_valid(&schema_of("small/1", "small", &small()), &document));
}

fn read(bytes: Vec<u8>) -> SerializedFileReader<bytes::Bytes> {
    SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("Parquet")
}

#[test]
fn parquet_files_are_read_back_as_written() {
    let facts = [("inferometer.run_id", "run")];
    let reader =
        read(written(|out| Box::new(Parquet::new(out, small(), &facts).expect("a beginning"))));
    let kept = reader.metadata().file_metadata().key_value_metadata().expect("facts");
    assert_eq!((kept[0].key.as_str(), kept[0].value.as_deref()), (facts[0].0, Some("run")));
    let rows = reader.get_row_iter(None).expect("rows");
    let rows: Vec<String> = rows.map(|row| row.expect("a row").to_string().to_string()).collect();
    let expected = [
        r#"{name: "模, "a"", count: -1, share: 0.1, good: true}"#,
        r"{name: null, count: 9223372036854775807, share: null, good: null}",
        r#"{name: "", count: 0, share: 0.00000025, good: false}"#,
    ];
    assert_eq!(rows, expected);
}

#[test]
fn parquet_row_groups_are_bounded_and_contain_all_rows() {
    let out = Written::default();
    let mut form = Box::new(Parquet::new(out.clone(), small(), &[]).expect("a beginning"));
    let count = 70_000_i64;
    for number in 0..count {
        let name = if number % 3 == 0 { Value::Absent } else { Value::Text("x") };
        let row = [name, Value::Integer(number), Value::Absent, Value::Flag(number % 2 == 0)];
        form.row(&row).expect("a row");
    }
    form.finish().expect("written");
    let reader = read(out.bytes());
    assert_eq!(reader.metadata().num_row_groups(), 2);
    let rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
    let sum: i64 = rows.map(|row| row.get_long(1).expect("a count")).sum();
    assert_eq!(sum, count * (count - 1) / 2);
}

#[test]
fn a_row_that_does_not_match_the_columns_is_an_error() {
    let mut form = JsonLines::new(Vec::new(), small());
    for wrong in [
        &[Value::Absent][..],
        &[Value::Absent, Value::Absent, Value::Absent, Value::Absent],
        &[Value::Integer(1), Value::Integer(1), Value::Absent, Value::Absent],
        &[Value::Absent, Value::Integer(1), Value::Number(f64::NAN), Value::Absent],
    ] {
        let refused = form.row(wrong);
        assert!(matches!(refused, Err(ExportError::Row { .. })), "{wrong:?}");
    }
}

/// The JSON schema of the document that contains all rows of a table. `$defs/row` is the schema of one row, and so of
/// one line of JSON Lines.
fn schema_of(schema: &str, about: &str, fields: &[Field]) -> serde_json::Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema,
        "description": about,
        "type": "object",
        "required": ["schema", "run_id", "rows"],
        "additionalProperties": false,
        "properties": {
            "schema": { "const": schema },
            "run_id": { "type": "string" },
            "rows": { "type": "array", "items": { "$ref": "#/$defs/row" } },
        },
        "$defs": { "row": row(about, fields) },
    })
}

fn row(about: &str, fields: &[Field]) -> serde_json::Value {
    let names: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
    let properties: serde_json::Map<String, serde_json::Value> =
        fields.iter().map(|field| (field.name.to_string(), property(field))).collect();
    json!({
        "description": about,
        "type": "object",
        "required": names,
        "additionalProperties": false,
        "properties": properties,
    })
}

fn property(field: &Field) -> serde_json::Value {
    let kind = match field.kind {
        Kind::Text => "string",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Flag => "boolean",
    };
    let kind = match field.presence {
        Presence::Always => json!(kind),
        Presence::Sometimes => json!([kind, "null"]),
    };
    match field.about.as_ref() {
        "" => json!({ "type": kind }),
        about => json!({ "type": kind, "description": about }),
    }
}

#[test]
fn the_committed_schemas_equal_the_generated_ones() {
    for (name, made) in [
        ("requests", schema_of(REQUESTS.schema, &REQUESTS.about(), &REQUESTS.fields())),
        ("events", schema_of(EVENTS.schema, &EVENTS.about(), &EVENTS.fields())),
    ] {
        let path = format!("{}/schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let made = format!("{made:#}\n");
        if std::env::var_os("INFEROMETER_WRITE_SCHEMAS").is_some() {
            std::fs::write(&path, &made).expect("written");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, made, "{path}: INFEROMETER_WRITE_SCHEMAS=1 writes it");
    }
}

#[test]
fn every_column_has_a_lower_case_name_and_a_description_with_a_full_stop() {
    for field in [REQUESTS.fields(), EVENTS.fields()].concat() {
        assert!(field.about.ends_with('.') && field.about.len() > 8, "{field:?}");
        assert!(!field.name.contains(char::is_uppercase), "{field:?}");
    }
}
