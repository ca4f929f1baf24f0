//! Sends generated records through the merge of several ranks. All ranks are threads of this process. They communicate
//! over TCP on the loopback interface, with the same code as the ranks of a run. Rank 0 writes the log and the index,
//! and computes the figures. No request is sent.
//!
//!     cargo run --release --example merge_tokens -- TOKENS RANKS TOKENS_PER_REQUEST
//!
//! Prints every 2 s how many tokens are merged and how much memory the process uses, then one line of results. RANKS is
//! at least 2. Ends with an error if a rank fails, if a record is missing, or if the memory of the process grows by
//! more than 512 MiB after the first tenth of the records. The memory is checked only if it was printed after this
//! tenth.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use inferometer_cluster::launcher::{Launcher, RankPlace};
use inferometer_cluster::{
    Introduction, Lead, Meeting, Member, NoMoreRecords, Order, PassReport, SentRecord,
};
use inferometer_drive::Live;
use inferometer_model::{Environment, Observed, Record, Target, fixture::steady};
use inferometer_net::{Nanos, monotonic_now, process_memory, spawn, spawn_scoped};
use inferometer_plan::spec::{Known, Spec};
use inferometer_run::recording::header::{self, TimeOrigin};
use inferometer_run::recording::recorder::{Counter, Recording};
use inferometer_run::{recording::queue::record_queue, team};
use inferometer_store::{Ending, PassBegin, Store};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The maximum growth of the memory after the first tenth of the records is merged, in bytes.
const MOST_MORE: u64 = 512 << 20;

fn main() -> Result<(), Failure> {
    let given: Vec<u64> =
        std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let &[tokens, ranks, per_request] = &given[..] else {
        return Err("give TOKENS, RANKS and TOKENS_PER_REQUEST".into());
    };
    let (ranks, per_request) = (u32::try_from(ranks)?, u32::try_from(per_request)?);
    let each = tokens / u64::from(per_request) / u64::from(ranks - 1);
    let at = meeting(ranks)?;
    let members: Vec<_> = (1..ranks)
        .map(|rank| {
            let at = at.clone();
            spawn(move || member(&at, (rank, ranks), each, per_request))
        })
        .collect::<Result<_, _>>()?;
    let merged = merge(&at, ranks, each * u64::from(ranks - 1), per_request);
    for member in members {
        member.join().map_err(|_| "a rank panicked")??;
    }
    merged
}

fn meeting(ranks: u32) -> Result<Meeting, Failure> {
    let place = RankPlace {
        launcher: Launcher::Own,
        rank: 0,
        ranks,
        host: Some("127.0.0.1".to_owned()),
        port: Some(inferometer_net::free_port("127.0.0.1")?),
        job: "merge".to_owned(),
    };
    Ok(Meeting::of(&place, None, None, Duration::from_secs(60))?)
}

fn introduction(rank: u32, ranks: u32) -> Introduction {
    let (version, plan_hash) = ("1".to_owned(), "plan".to_owned());
    Introduction { version, plan_hash, rank, ranks, host: format!("n{rank}") }
}

/// A rank that sends `each` records, as fast as rank 0 receives them.
fn member(at: &Meeting, (rank, ranks): (u32, u32), each: u64, tokens: u32) -> Result<(), Failure> {
    let me = introduction(rank, ranks);
    let member = Member::join(at, &me, &AtomicBool::new(false))?;
    loop {
        match member.next_order()? {
            Order::Pass { .. } => {}
            Order::End { failed: None } => return Ok(()),
            other => return Err(format!("{other:?}").into()),
        }
        let (mut number, like) = (0, steady(0.0, 40.0, 10.0, tokens));
        let next = move || {
            if number == each {
                return Err(NoMoreRecords);
            }
            let index = (number * u64::from(ranks - 1)) as u32 + rank - 1;
            number += 1;
            let record = Record { index, ..like.clone().later(Nanos(monotonic_now().0)) };
            Ok(Some(SentRecord { record, text: None }))
        };
        member.begin_pass(Box::new(next), false);
        while member.start("hash").is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        member.end_pass(PassReport::default())?;
    }
}

/// Rank 0: merges and writes the records, and prints the memory of the process.
fn merge(at: &Meeting, ranks: u32, records: u64, per_request: u32) -> Result<(), Failure> {
    let lead = Lead::gather(at, introduction(0, ranks), "salt", |_| {}, Arc::default())?;
    let keys = serde_json::json!({
        "target": "http://127.0.0.1:1", "model": "m", "input_lengths": [8], "output_lengths": [per_request],
        "rate": ["inf"], "requests": u32::try_from(records)?,
    });
    let spec: Spec = serde_json::from_value(keys)?;
    let plan = spec
        .resolve(&Known { dialects: &[], models: &[], model_of_hub_id: |_| None })
        .map_err(|mistakes| format!("{mistakes:?}"))?;
    let begin = PassBegin { pass: 0, cell: plan.cells[0], plan: plan.passes[0].clone(), repeat: 1 };
    let folder = std::env::temp_dir().join(format!("inferometer-merge-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let store = Store::open(folder.join("merge.db"))?;
    let header = header::of_run(
        &plan,
        Target::default(),
        Environment::default(),
        TimeOrigin::Clock(monotonic_now()),
    );
    let mut recording = Recording::begin(store, &header, Counter::None)?;
    let (to, from) = record_queue(0);
    let (live, over, first) =
        (Arc::new(Live::default()), AtomicBool::new(false), AtomicU64::new(0));
    lead.order(
        Order::Pass { begin: begin.clone(), most_time: None },
        team::sinks(&lead, &to, &live),
    );
    drop(to);
    lead.wait_for_work();
    while lead.start("hash").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let began = Instant::now();
    let (summary, error) = std::thread::scope(|scope| -> std::io::Result<_> {
        let (recording, begin, plan) = (&mut recording, &begin, &plan);
        let writer = spawn_scoped(scope, move || {
            let ending = || (Ending::Complete, None, Observed::default());
            recording.pass(plan, begin, &from, None, ending, || {})
        })?;
        let (live, over, first) = (&live, &over, &first);
        spawn_scoped(scope, move || {
            while !over.load(Relaxed) {
                std::thread::sleep(Duration::from_secs(2));
                let (done, memory) = (live.look().ended, process_memory("VmRSS:").unwrap_or(0));
                if first.load(Relaxed) == 0 && done * 10 > records {
                    first.store(memory, Relaxed);
                }
                let tokens = done * u64::from(per_request);
                println!(
                    "{:.0} s: {tokens} tokens, {} MiB",
                    began.elapsed().as_secs_f64(),
                    memory >> 20
                );
            }
        })?;
        let reports = lead.reports();
        let lost =
            reports.iter().find_map(|one| one.report.as_ref().err()).map(ToString::to_string);
        let written = writer.join().expect("the writer does not panic");
        over.store(true, Relaxed);
        lead.end(lost.clone());
        Ok((written.0.summary, written.1.map(|error| error.to_string()).or(lost)))
    })?;
    let log: u64 = std::fs::read_dir(folder.join("merge.runs"))
        .map_or(0, |files| files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum());
    std::fs::remove_dir_all(&folder)?;
    let (seconds, peak, first) =
        (began.elapsed().as_secs_f64(), process_memory("VmHWM:").unwrap_or(0), first.load(Relaxed));
    println!(
        "{} tokens of {} records of {} ranks in {seconds:.0} s, {:.0} tokens/s; memory at most {} MiB, \
         {} MiB when a tenth was merged; log {:.4} bytes per token",
        summary.output_tokens,
        summary.planned,
        ranks - 1,
        summary.output_tokens as f64 / seconds,
        peak >> 20,
        first >> 20,
        log as f64 / summary.output_tokens as f64,
    );
    match error {
        Some(why) => Err(why.into()),
        None if summary.outcomes.complete != records => {
            Err(format!("{records} records were sent, but not all of them are complete").into())
        }
        None if first > 0 && peak > first + MOST_MORE => Err("memory grew too much".into()),
        None => Ok(()),
    }
}
