//! Tests of a workload that is written to a file and replayed: the requests and their hash are the same.

use std::path::Path;

use inferometer_model::cell::CellPlan;
use inferometer_model::load::{Due, RECORDED, load_model};
use inferometer_model::request::{Request, Sampling, WorkloadHasher};
use inferometer_plan::WorkloadPlan;
use inferometer_plan::spec::{Known, Spec, WorkloadKeys};
use inferometer_workload::replay::{DumpLine, SCHEMA};
use inferometer_workload::{OpenWorkload, PromptScope, WorkloadError, embedded, prepare};
use serde_json::{Map, json};

use crate::drawn::groups;
use crate::rows;
use crate::support::{cell, spec};

fn sampling() -> Sampling {
    Sampling { temperature: 0.7, ignore_eos: true, stream: true, extra_body: Map::new() }
}

fn hash(requests: &[Request]) -> String {
    let mut hasher = WorkloadHasher::new();
    hasher.pass(&sampling());
    requests.iter().for_each(|request| hasher.request(request, None));
    hasher.finish()
}

fn dump(path: &Path, cell: CellPlan, load: &str, requests: &[Request]) {
    let mut text = json!({"schema": SCHEMA, "plan": {}}).to_string() + "\n";
    for request in requests {
        let line = DumpLine {
            pass: 0,
            repeat: 1,
            cell,
            load: load.to_owned(),
            sampling: sampling(),
            due_ns: None,
            request: request.clone(),
        };
        text += &(serde_json::to_string(&line).expect("plain data") + "\n");
    }
    std::fs::write(path, text).expect("it is writable");
}

fn replay(path: &Path) -> Result<OpenWorkload, WorkloadError> {
    let plan = WorkloadPlan::Replay { dataset: path.display().to_string() };
    OpenWorkload::open(&plan, embedded(), 9, "another salt")
}

#[test]
fn a_replay_sends_the_dumped_requests_with_the_same_hash_whatever_its_seed_and_salt() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let [(_, jsonl), ..] = rows::fixtures();
    for (plan, cell, count) in [(groups(), cell(48), 30), (jsonl, CellPlan::OWN, 4)] {
        let place = PromptScope::new(cell.to_string(), "saturated", 0);
        let sent = spec(&plan, "salt").requests(cell, &place, count).unwrap().requests;
        dump(file.path(), cell, "saturated", &sent);
        let again = replay(file.path()).unwrap().requests(cell, &place, count).unwrap();
        assert_eq!(again.requests, sent);
        assert_eq!(hash(&again.requests), hash(&sent));
        assert_eq!(again.notes, []);
    }
}

#[test]
fn a_pass_missing_from_the_file_is_an_error_and_the_warm_up_sends_generated_prompts() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let place = PromptScope::new(cell(48).to_string(), "saturated", 0);
    let sent = spec(&groups(), "salt").requests(cell(48), &place, 5).unwrap().requests;
    dump(file.path(), cell(48), "saturated", &sent);
    let spec = replay(file.path()).unwrap();
    for (pass, repeat, count) in [("saturated", 0, 6), ("one by one", 0, 1), ("saturated", 1, 5)] {
        let place = PromptScope::new(cell(48).to_string(), pass, repeat);
        let error = spec.requests(cell(48), &place, count).unwrap_err().to_string();
        assert!(error.contains(pass) && error.contains("48 x 8"), "{error}");
    }
    let warm_up = PromptScope::new(cell(48).to_string(), "warm-up", 0);
    let warm = spec.requests(cell(48), &warm_up, 2).unwrap().requests;
    assert!(warm.iter().all(|request| request.input_tokens == 48 && !sent.contains(request)));
}

#[test]
fn recorded_due_times_are_replayed_and_missing_or_unordered_ones_are_errors() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let place = PromptScope::new(cell(48).to_string(), RECORDED, 0);
    let sent = spec(&groups(), "salt").requests(cell(48), &place, 2).unwrap().requests;
    let read = |due_ns: [Option<u64>; 2]| {
        let mut text = json!({"schema": SCHEMA, "plan": {}, "recorded": true}).to_string() + "\n";
        for (request, due_ns) in sent.iter().zip(due_ns) {
            let (cell, load, request) = (cell(48), RECORDED.to_owned(), request.clone());
            let line =
                DumpLine { pass: 0, repeat: 1, cell, load, sampling: sampling(), due_ns, request };
            text += &(serde_json::to_string(&line).expect("plain data") + "\n");
        }
        std::fs::write(file.path(), text).unwrap();
        let dataset = file.path().display().to_string();
        let keys = WorkloadKeys {
            workload: Some("replay".to_owned()),
            dataset: Some(dataset.clone()),
            ..WorkloadKeys::default()
        };
        let target = Some("http://localhost:1".to_owned());
        let target = target.map(Into::into);
        let spec = Spec { target, workload: keys, replay: Some(dataset), ..Spec::default() };
        let mut plan = spec
            .resolve(&Known { dialects: &[], models: &[], model_of_hub_id: |_| None })
            .expect("it resolves");
        prepare(&mut plan).map_err(|error| error.to_string())?;
        let mut load = load_model(&plan.passes[0], 1);
        let mut due = Vec::new();
        while let Due::At(at) = load.next_due() {
            due.push(at.0);
            load.take();
        }
        Ok::<_, String>(due)
    };
    assert_eq!(read([Some(0), Some(7_000_001)]), Ok(vec![0, 7_000_001]));
    assert!(read([Some(0), None]).unwrap_err().contains("line 3"));
    let unordered = read([Some(5), Some(4)]).unwrap_err();
    assert!(
        unordered.contains("line 3") && unordered.contains("not in ascending order"),
        "{unordered}"
    );
}

#[test]
fn a_file_that_is_not_a_dump_is_refused_with_the_line_number() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let header = json!({"schema": SCHEMA, "plan": {}}).to_string();
    for (text, parts) in [
        ("{}\n".to_owned(), ["line 1", "--dump-workload"]),
        (json!({"schema": "other/2", "plan": {}}).to_string(), ["line 1", "other/2"]),
        (header + "\n{\"pass\": 0}\n", ["line 2", "missing field"]),
    ] {
        std::fs::write(file.path(), text).unwrap();
        let error = replay(file.path()).err().unwrap().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
