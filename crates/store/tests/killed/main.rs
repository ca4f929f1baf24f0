//! Tests with processes that write at the same time and are killed at arbitrary moments: everything that a
//! process acknowledged is found again.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../database/sample.rs"]
mod sample;

use std::io::{BufRead, BufReader, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::streamed;
use inferometer_model::record::Record;
use inferometer_store::log::as_stored;
use inferometer_store::{
    Ending, LogHeader, LogWriter, PassBegin, RunKind, RunState, Store, StoreError, passes,
};
use rusqlite::Connection;
use sample::{START_NS, run_header, summary};
use tempfile::TempDir;

/// The environment variables of a writer process: the store, the number of the writer, and the number of
/// batches that it writes before it ends. Without the last variable, it writes until it is killed.
const STORE: &str = "INFEROMETER_TEST_STORE";
const NUMBER: &str = "INFEROMETER_TEST_NUMBER";
const BATCHES: &str = "INFEROMETER_TEST_BATCHES";

/// The number of processes that are killed, and how many of them run at the same time.
const KILLED: u16 = 240;
const AT_ONCE: u16 = 2;

/// Pseudorandom numbers (Steele et al., "Fast splittable pseudorandom number generators").
fn mixed(seed: u64) -> u64 {
    let z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The number of records in a batch: from 1 to 40, so that a frame has up to about 10 KB.
fn batch_records(number: u16, batch: u32) -> u32 {
    1 + (mixed(u64::from(number) << 32 | u64::from(batch)) % 40) as u32
}

fn record(index: u32) -> Record {
    streamed(0, index, 1 + index % 50)
}

/// The code of a writer process, which prints its acknowledgements to standard output. In a normal test run,
/// this function does nothing.
#[test]
fn writer() {
    let Ok(store) = std::env::var(STORE) else { return };
    let number: u16 = std::env::var(NUMBER).unwrap().parse().unwrap();
    let batches = std::env::var(BATCHES).map_or(u32::MAX, |text| text.parse().unwrap());
    let mut store = Store::open(store).unwrap();
    let header = run_header(0, number);
    let run = store.begin_run(&header).unwrap();
    let log = LogHeader::new(run.as_str(), header.origin_unix_ns);
    let mut log = LogWriter::create(store.log_path(&run), &log).unwrap();
    let (cell, plan) = (header.plan.cells[0], header.plan.passes[0].clone());
    log.begin_pass(&PassBegin { pass: 0, cell, plan, repeat: 1 }).unwrap();
    say("\nbegun", 0);
    let mut index = 0;
    for batch in 0..batches {
        let records: Vec<Record> =
            (0..batch_records(number, batch)).map(|more| record(index + more)).collect();
        records.iter().for_each(|record| log.append(record).unwrap());
        log.flush().unwrap();
        index += records.len() as u32;
        say("log", index);
        store.index_requests(&run, &records).unwrap();
        say("index", index);
    }
    log.end_pass(Ending::Complete, None).unwrap();
    log.finish(Ending::Complete).unwrap();
    store.finish_run(&run, &summary(&run), RunState::Complete, START_NS).unwrap();
}

fn say(what: &str, records: u32) {
    println!("{what} {records}");
    stdout().flush().unwrap();
}

/// The acknowledgements of a writer: whether the run began, and the numbers of records in the log and in
/// the index.
#[derive(Debug, Default)]
struct Acknowledged {
    begun: bool,
    log: u32,
    index: u32,
}

/// Starts a writer, and kills it after `kill_after` acknowledgements. If `kill_after` is `None`, the writer
/// ends by itself. Returns everything that the writer acknowledged, including acknowledgements until the kill
/// takes effect.
fn write_and_kill(store: &Path, number: u16, kill_after: Option<u64>) -> Acknowledged {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "writer", "--nocapture", "--test-threads", "1"]);
    command.env(STORE, store).env(NUMBER, number.to_string()).stdout(Stdio::piped());
    if kill_after.is_none() {
        command.env(BATCHES, "20");
    }
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Acknowledged::default();
    let mut said = 0;
    // The second turn reads the lines that the writer printed before the kill took effect.
    for limit in [kill_after.unwrap_or(u64::MAX), u64::MAX] {
        while said < limit {
            let Some(Ok(line)) = lines.next() else { break };
            let Some((what, count)) = line.split_once(' ') else { continue };
            let count = count.parse().unwrap_or(0);
            match what {
                "begun" => acknowledged.begun = true,
                "log" => acknowledged.log = count,
                "index" => acknowledged.index = count,
                _ => continue,
            }
            said += 1;
        }
        if kill_after.is_some() {
            child.kill().unwrap();
        }
    }
    let ended = child.wait().unwrap();
    assert_eq!(ended.success(), kill_after.is_none(), "{ended}");
    acknowledged
}

fn store_path(folder: &TempDir) -> PathBuf {
    folder.path().join("inferometer.db")
}

/// Checks that each record in the log of a run is as it was written. Returns their number and, if the log
/// is cut, the number of bytes of the incomplete frame.
fn records_of(log: &Path) -> (u32, Option<u64>) {
    let mut passes = passes(log).unwrap();
    let mut count = 0;
    for pass in passes.by_ref() {
        for found in pass.unwrap().records {
            assert_eq!(found, as_stored(&record(count)));
            count += 1;
        }
    }
    let left = passes.cut.map(|error| match error {
        StoreError::LogCut { left, .. } => left,
        other => panic!("{other}"),
    });
    (count, left)
}

#[test]
fn everything_that_a_killed_writer_acknowledged_is_in_the_store() {
    let folder = TempDir::new().unwrap();
    let path = store_path(&folder);
    Store::open(&path).unwrap();
    let mut all: Vec<(u16, Acknowledged)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..AT_ONCE)
            .map(|first| {
                let path = &path;
                let numbers = (first..KILLED).step_by(usize::from(AT_ONCE));
                let kill = move |number: u16| {
                    let after = mixed(u64::from(number)) % 24;
                    (number, write_and_kill(path, number, Some(after)))
                };
                scope.spawn(move || numbers.map(kill).collect::<Vec<_>>())
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    assert_eq!(all.len(), usize::from(KILLED));

    let store = Store::open_existing(&path).unwrap();
    let rows = store.runs().unwrap();
    let index = Connection::open(&path).unwrap();
    let (mut begun, mut records) = (0, 0);
    for (number, acknowledged) in &all {
        let id = inferometer_store::RunId::new(START_NS, *number);
        let row = rows.iter().find(|row| row.id == id);
        if !acknowledged.begun {
            continue;
        }
        begun += 1;
        let row = row.unwrap_or_else(|| panic!("run {id} began but is not in the store"));
        assert_eq!((row.state, row.kind), (RunState::Killed, RunKind::Measured));
        let (found, cut) = records_of(&store.log_path(&id));
        assert!(found >= acknowledged.log, "{id}: {found} records, {acknowledged:?}");
        assert!(cut.is_some(), "{id}: the reader does not report that the log is cut");
        let query = "SELECT count(*), coalesce(max(request) + 1, 0) FROM requests WHERE run_id = ?";
        let (indexed, last): (u32, u32) =
            index.query_row(query, [id.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert!(indexed >= acknowledged.index, "{id}: {indexed} rows, {acknowledged:?}");
        // The log is written first, so there is no row of a record that the log does not have.
        assert!(last == indexed && indexed <= found, "{id}: {indexed} rows, {found} records");
        records += acknowledged.log;
    }
    assert!(begun > KILLED / 2, "only {begun} writers began a run");
    assert!(records > 1_000, "only {records} records were acknowledged");
    let intact: String = index.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(intact, "ok");
}

#[test]
fn two_concurrent_writer_processes_lose_no_data() {
    let folder = TempDir::new().unwrap();
    let path = store_path(&folder);
    let written: Vec<Acknowledged> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|number| {
                let path = &path;
                scope.spawn(move || write_and_kill(path, number, None))
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let store = Store::open_existing(&path).unwrap();
    let index = Connection::open(&path).unwrap();
    for (row, acknowledged) in store.runs().unwrap().iter().zip(&written) {
        assert_eq!(row.state, RunState::Complete);
        assert_eq!(records_of(&store.log_path(&row.id)), (acknowledged.log, None));
        let query = "SELECT count(*) FROM requests WHERE run_id = ?";
        let indexed: u32 = index.query_row(query, [row.id.as_str()], |row| row.get(0)).unwrap();
        assert_eq!((indexed, acknowledged.index), (acknowledged.log, acknowledged.log));
    }
    assert_eq!(store.runs().unwrap().len(), 2);
}
