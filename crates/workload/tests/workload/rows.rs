//! Tests of the user's own rows: the requests that are made from them, and findings on unusable rows.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use inferometer_model::cell::CellPlan;
use inferometer_model::load::{Due, PassPlan};
use inferometer_model::request::Prompt;
use inferometer_plan::spec::{Known, RowsKeys, Spec, Value, WorkloadKeys};
use inferometer_plan::{RowsFormat, RowsPlan, WorkloadPlan};
use inferometer_workload::{Note, OpenWorkload, WorkloadError, embedded, has_messages, prepare};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::json;

use crate::support::place;

/// The plan for a file in `fixtures/`.
pub fn plan(format: RowsFormat, name: &str) -> RowsPlan {
    let dataset = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    RowsPlan { dataset, format, columns: BTreeMap::new(), output_length: None, timed: false }
}

/// The plans for the fixtures, each with the name of its golden file.
pub fn fixtures() -> [(&'static str, WorkloadPlan); 3] {
    [
        ("jsonl", WorkloadPlan::Rows(plan(RowsFormat::Jsonl, "rows.jsonl"))),
        ("csv", WorkloadPlan::Rows(plan(RowsFormat::Csv, "rows.csv"))),
        ("parquet", WorkloadPlan::Rows(plan(RowsFormat::Parquet, "rows.parquet"))),
    ]
}

fn open(plan: RowsPlan) -> Result<OpenWorkload, WorkloadError> {
    OpenWorkload::open(&WorkloadPlan::Rows(plan), embedded(), 1, "salt")
}

#[test]
fn rows_are_sent_in_order_with_their_output_lengths_and_extra_body_fields() {
    let spec = open(plan(RowsFormat::Jsonl, "rows.jsonl")).unwrap();
    let built = spec.requests(CellPlan::OWN, &place(), 4).unwrap();
    assert_eq!(built.notes, []);
    let [text, chat, ids, han] = &built.requests[..] else { panic!("four rows") };
    assert_eq!(text.prompt, Prompt::Text("Alice was beginning to get very tired".to_owned()));
    let counted = embedded().count("Alice was beginning to get very tired").unwrap();
    assert_eq!((text.input_tokens, text.counted_tokens), (counted, Some(counted)));
    assert_eq!((text.output_tokens, &text.extra_body), (16, &serde_json::Map::new()));
    let Prompt::Messages(messages) = &chat.prompt else { panic!("{chat:?}") };
    assert_eq!((messages.len(), chat.counted_tokens, chat.output_tokens), (2, None, 32));
    let body = json!({"model": "adapter-1", "temperature": 0.5, "response_format":
        {"type": "json_object"}, "logprobs": true});
    assert_eq!(json!(chat.extra_body), body);
    assert_eq!((&ids.prompt, ids.input_tokens), (&Prompt::TokenIds(vec![5, 6, 7]), 3));
    assert_eq!(han.prompt, Prompt::Text("学而时习之，不亦说乎？".to_owned()));
}

#[test]
fn the_prompt_forms_of_a_file_are_known_before_the_first_request_is_sent() {
    let spec = open(plan(RowsFormat::Csv, "rows.csv")).unwrap();
    let [Prompt::Text(_), Prompt::Messages(_), Prompt::TokenIds(_)] = spec.verbatim_prompts()[..]
    else {
        panic!("{:?}", spec.verbatim_prompts())
    };
}

#[test]
fn csv_and_parquet_files_give_the_same_requests_as_json_lines() {
    let of = |format, name| {
        let spec = open(plan(format, name)).unwrap();
        spec.requests(CellPlan::OWN, &place(), 4).unwrap().requests
    };
    let lines = of(RowsFormat::Jsonl, "rows.jsonl");
    assert_eq!(of(RowsFormat::Csv, "rows.csv"), lines);
    assert_eq!(of(RowsFormat::Parquet, "rows.parquet"), lines);
}

#[test]
fn a_parquet_file_with_inconsistent_row_counts_is_refused() {
    let file = std::fs::read(&plan(RowsFormat::Parquet, "rows.parquet").dataset).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // The positions, in bytes, of three numbers of rows: that of the file, and those of its two row
    // groups. Each is stored in one byte, multiplied by two.
    let (all, [first, second]) = (2_027, [3_179, 4_070]);
    assert_eq!([file[all], file[first], file[second]], [4 << 1, 3 << 1, 1 << 1]);
    for (lies, why) in [
        (&[(all, 5_u8)] as &[(usize, u8)], "states 5 rows, and its row"),
        (&[(all, 3)], "states 3 rows, and its row"),
        (&[(all, 60), (first, 59)], "states 59 rows in row group 1, whose column"),
        (&[(all, 3), (first, 2)], "states 2 rows in row group 1, whose column"),
        (&[(all, 3), (second, 0)], "states 0 rows in row group 2, whose column"),
    ] {
        let mut lying = file.clone();
        lies.iter().for_each(|(at, rows)| lying[*at] = rows << 1);
        let path = folder.path().join("lying.parquet");
        std::fs::write(&path, lying).unwrap();
        let dataset = path.to_str().unwrap().to_owned();
        let lying = RowsPlan { dataset, ..plan(RowsFormat::Parquet, "rows.parquet") };
        let told = open(lying).err().unwrap().to_string();
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn a_small_parquet_file_that_decodes_to_too_much_memory_is_refused() {
    // A dictionary stores the text once, and each of 20,000 rows refers to it: 100 kB become 2 GB.
    let schema = "message rows { required binary prompt (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.parquet");
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let texts = vec![ByteArray::from("tea ".repeat(25_000).as_str()); 20_000];
    column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
    let dataset = path.to_str().unwrap().to_owned();
    let huge = RowsPlan { dataset, ..plan(RowsFormat::Parquet, "rows.parquet") };
    let told = open(huge).err().unwrap().to_string();
    assert!(told.contains("MiB of memory"), "{told}");
}

#[test]
fn invalid_parquet_rows_are_skipped_and_counted_by_reason_with_the_first_row_number() {
    let spec = open(plan(RowsFormat::Parquet, "rows-broken.parquet")).unwrap();
    let found: String =
        spec.findings().iter().map(|finding| finding.message.clone() + "\n").collect();
    for told in [
        "rows of the data set: 8; used rows: 1",
        "nor token ids (row 2)",
        "an empty prompt (row 3)",
        "for rows that have none) (row 4)",
        "at least 1 (row 5)",
        "2 x messages ",
        "with a `role` (row 6)",
        "a list of whole numbers (row 8)",
        "messages and token ids (row 9)",
        "unused columns: id",
    ] {
        assert!(found.contains(told), "{told}: {found}");
    }
    let built = spec.requests(CellPlan::OWN, &place(), 1).unwrap();
    assert_eq!(built.requests[0].output_tokens, 4, "a whole number that is written as a decimal");
}

#[test]
fn an_unreadable_parquet_file_is_an_error_that_says_what_is_wrong() {
    let other = BTreeMap::from([("prompt".to_owned(), "question".to_owned())]);
    for (name, columns, told) in [
        ("rows.jsonl", BTreeMap::new(), "rows.jsonl: is not a Parquet file"),
        ("rows-gzip.parquet", BTreeMap::new(), "column `prompt`: compressed with GZIP"),
        (
            "rows-gzip.parquet",
            other,
            "none of the columns question, messages, token_ids, prompt_token_ids; it has prompt, output",
        ),
        ("rows-absent.parquet", BTreeMap::new(), "No such file"),
    ] {
        let error = open(RowsPlan { columns, ..plan(RowsFormat::Parquet, name) }).err().unwrap();
        assert!(error.to_string().contains(told), "{told}: {error}");
    }
    let whole = std::fs::read(plan(RowsFormat::Parquet, "rows.parquet").dataset).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &whole[..whole.len() / 2]).unwrap();
    let dataset = file.path().display().to_string();
    let error = open(RowsPlan { dataset, ..plan(RowsFormat::Parquet, "") }).err().unwrap();
    assert!(error.to_string().contains("is not a Parquet file"), "{error}");
}

#[test]
fn invalid_rows_are_skipped_and_counted_by_reason_with_the_first_line_number() {
    for (format, text, told) in [
        (
            RowsFormat::Jsonl,
            "{\"prompt\": \"good\", \"output_tokens\": 4, \"id\": 7}\nnot json\n\
             {\"output_tokens\": 4}\n{\"prompt\": \"\", \"output_tokens\": 4}\n\
             {\"prompt\": \"no length\"}\n{\"prompt\": \"p\", \"output_tokens\": 0}\n\
             {\"messages\": [{\"content\": \"no role\"}], \"output_tokens\": 4}\n\
             {\"token_ids\": [1, -2], \"output_tokens\": 4}\n\
             {\"prompt\": \"p\", \"token_ids\": [1], \"output_tokens\": 4}\n\
             {\"prompt\": \"p\", \"body\": 7, \"output_tokens\": 4}\n[1]\n",
            vec![
                "rows of the data set: 10; used rows: 1",
                "2 x not a JSON object (line 2)",
                "nor token ids (line 3)",
                "an empty prompt (line 4)",
                "for rows that have none) (line 5)",
                "at least 1 (line 6)",
                "with a `role` (line 7)",
                "a list of whole numbers (line 8)",
                "messages and token ids (line 9)",
                "not a JSON object (line 10)",
                "unused columns: id",
            ],
        ),
        (
            RowsFormat::Csv,
            "prompt,output_tokens\ngood,4\nonly one\n\"bad\" quote,4\nthree,4,5\n",
            vec![
                "rows of the data set: 3; used rows: 1",
                "2 x a different number",
                "fields than the first line (line 3)",
                "where a field ends (line 4)",
            ],
        ),
    ] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let dataset = file.path().display().to_string();
        let spec = open(RowsPlan { dataset, ..plan(format, "") }).unwrap();
        let found: String =
            spec.findings().iter().map(|finding| finding.message.clone() + "\n").collect();
        for part in told {
            assert!(found.contains(part), "{part}: {found}");
        }
    }
}

#[test]
fn columns_can_be_renamed_and_rows_without_output_length_get_the_default() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "question,prompt\n\"What, then?\",ignored\n").unwrap();
    let columns = BTreeMap::from([("prompt".to_owned(), "question".to_owned())]);
    let dataset = file.path().display().to_string();
    let asked = plan(RowsFormat::Csv, "");
    let spec = open(RowsPlan { dataset, columns, output_length: Some(9), ..asked });
    let built = spec.unwrap().requests(CellPlan::OWN, &place(), 1).unwrap();
    assert_eq!(built.requests[0].prompt, Prompt::Text("What, then?".to_owned()));
    assert_eq!(built.requests[0].output_tokens, 9);
}

#[test]
fn a_pass_continues_after_the_rows_of_the_previous_pass_and_repeated_rows_are_counted() {
    let spec = open(plan(RowsFormat::Jsonl, "rows.jsonl")).unwrap();
    let all = spec.requests(CellPlan::OWN, &place(), 4).unwrap().requests;
    for (taken, count, rows, again) in [
        (0, 4, &[0, 1, 2, 3][..], 0),
        (0, 6, &[0, 1, 2, 3, 0, 1], 2),
        (1, 2, &[1, 2], 0),
        (3, 3, &[3, 0, 1], 2),
        (9, 2, &[1, 2], 2),
    ] {
        let built = spec.requests(CellPlan::OWN, &place().after(taken), count).unwrap();
        let expected: Vec<_> = rows.iter().map(|&row: &usize| all[row].clone()).collect();
        assert_eq!(built.requests, expected, "{count} after {taken}");
        let sent = count as u64;
        let notes = (again > 0).then_some(Note::RowsAgain { prompts: again, rows: 4, sent });
        assert_eq!(built.notes, Vec::from_iter(notes), "{count} after {taken}");
    }
}

#[test]
fn batch_files_of_openai_and_files_with_a_byte_order_mark_are_read() {
    let of_batch = r#"{"custom_id": "r0", "method": "POST", "url": "/v1/chat/completions", "body":
        {"model": "m", "messages": [{"role": "user", "content": "why?"}], "max_tokens": 5, "seed": 7,
        "top_a": 0.1, "stream": false}}"#;
    let of_batch = of_batch.replace('\n', "");
    let text = r#"{"prompt": "why?", "output_tokens": 5}"#.to_owned();
    let csv = "prompt,output_tokens\nwhy?,5".to_owned();
    let escaped =
        of_batch[of_batch.find("{\"model").unwrap()..of_batch.len() - 1].replace('"', "\"\"");
    let csv_of_batch = format!("custom_id,body\nr0,\"{escaped}\"");
    let body = json!({"model": "m", "seed": 7, "top_a": 0.1});
    let told = ["4 unused columns", "custom_id, method, url", "body.stream"];
    for (format, text, is_chat, body, unused) in [
        (RowsFormat::Jsonl, &of_batch, true, body.clone(), &told[..]),
        (RowsFormat::Csv, &csv_of_batch, true, body, &told[2..]),
        (RowsFormat::Jsonl, &text, false, json!({}), &[]),
        (RowsFormat::Csv, &csv, false, json!({}), &[]),
    ] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("\u{feff}{text}\r\n")).unwrap();
        let dataset = file.path().display().to_string();
        let plan = RowsPlan { dataset, ..plan(format, "") };
        assert_eq!(has_messages(&WorkloadPlan::Rows(plan.clone())), is_chat);
        let spec = open(plan).unwrap();
        let [request] = &spec.requests(CellPlan::OWN, &place(), 1).unwrap().requests[..] else {
            panic!("one row")
        };
        assert_eq!(matches!(request.prompt, Prompt::Messages(_)), is_chat, "{request:?}");
        assert_eq!((request.output_tokens, json!(request.extra_body)), (5, body));
        let findings: String = spec.findings().iter().map(|it| it.message.clone() + "\n").collect();
        assert!(unused.iter().all(|part| findings.contains(part)), "{findings}");
        assert_eq!(findings.is_empty(), unused.is_empty(), "{findings}");
    }
}

#[test]
fn a_file_without_a_usable_row_is_an_error_that_says_why() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (text, part) in [("", "has no rows"), ("{}\n", "neither prompt")] {
        std::fs::write(file.path(), text).unwrap();
        let dataset = file.path().display().to_string();
        let error = open(RowsPlan { dataset, ..plan(RowsFormat::Jsonl, "") }).err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
    }
}

/// Replays rows at twice their speed. Returns when the requests are due (in milliseconds from the start),
/// their output lengths, and the messages of the findings.
fn replayed(rows: RowsPlan) -> (Vec<u64>, Vec<u32>, String) {
    let known = Known {
        dialects: &["openai-completions"],
        models: &["chatglm3-6b"],
        model_of_hub_id: |_| None,
    };
    let workload = WorkloadKeys {
        workload: Some(rows.format.name().to_owned()),
        dataset: Some(rows.dataset.clone()),
        rows: RowsKeys { replay_rows: Some(true), ..RowsKeys::default() },
        ..WorkloadKeys::default()
    };
    let asked = Spec { workload, replay_speed: Some(Value::Number(2.0)), ..Spec::default() };
    let mut plan = asked.resolve(&known).expect("rows with timestamps");
    assert_eq!(plan.workload, WorkloadPlan::Rows(rows.clone()));
    prepare(&mut plan).expect("rows with timestamps");
    let [pass @ PassPlan::Replay(_)] = &plan.passes[..] else { panic!("{:?}", plan.passes) };
    let (mut load, mut due) = (pass.start(1), Vec::new());
    while let Due::At(at) = load.next_due() {
        due.push(at.0 / 1_000_000);
        load.take();
    }
    let spec = open(rows).expect("rows with timestamps");
    let built = spec.requests(CellPlan::OWN, &place(), 3).expect("rows with timestamps");
    let told = spec.findings().iter().map(|finding| finding.message.clone() + "\n").collect();
    (due, built.requests.iter().map(|request| request.output_tokens).collect(), told)
}

#[test]
fn rows_are_replayed_in_timestamp_order_and_invalid_timestamps_are_reported() {
    let lines = "{\"prompt\": \"b\", \"output_tokens\": 2, \"timestamp\": 1700000010.5}\n\
        {\"prompt\": \"a\", \"output_tokens\": 1, \"timestamp\": \"2023-11-14T22:13:30.250Z\"}\n\
        {\"prompt\": \"no instant\", \"output_tokens\": 9}\n\
        {\"prompt\": \"c\", \"output_tokens\": 3, \"timestamp\": 1700000012.25}\n\
        {\"prompt\": \"later\", \"output_tokens\": 9, \"timestamp\": \"later\"}\n";
    let csv = "prompt,output_tokens,timestamp\nb,2,1700000010.5\na,1,2023-11-14 22:13:30.250\n\
        no instant,9,\nc,3,1700000012.25\nlater,9,later\n";
    let of = |format, text: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let dataset = file.path().display().to_string();
        replayed(RowsPlan { dataset, timed: true, ..plan(format, "") })
    };
    let parquet = RowsPlan { timed: true, ..plan(RowsFormat::Parquet, "rows-timed.parquet") };
    for ((due, outputs, told), unit, places) in [
        (of(RowsFormat::Jsonl, lines), "line", [3, 5]),
        (of(RowsFormat::Csv, csv), "line", [4, 6]),
        (replayed(parquet), "row", [3, 0]),
    ] {
        assert_eq!((due, outputs), (vec![0, 125, 1_000], vec![1, 2, 3]), "{unit}: {told}");
        assert!(told.contains("1 rows come after a row with a later time"), "{told}");
        assert!(
            told.contains(&format!("which --replay-rows needs ({unit} {})", places[0])),
            "{told}"
        );
        let wrong = format!("neither seconds nor a date and a time ({unit} {})", places[1]);
        assert_eq!(told.contains(&wrong), places[1] > 0, "{told}");
    }
}
