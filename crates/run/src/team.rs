//! The role of this process among the processes that measure one plan together: alone, rank 0, or another
//! rank.

use std::sync::Arc;

use inferometer_analysis::ranks::{RankClock, RankState, RankSummary};
use inferometer_cluster::{Lead, Member, NoMoreRecords, PassReport, RankReport, SentRecord, Sink};
use inferometer_drive::{Live, StartGate};
use inferometer_model::load::Share;
use inferometer_model::{ClosedPlan, Finding, Nanos, OutcomeCounts, PassKind, PassPlan, code};
use inferometer_plan::{Plan, TargetPlan};

use crate::PlanError;
use crate::recording::queue::{FromDriver, Message, ToWriter};

/// The role of this process among the processes of its run.
#[derive(Clone, Default)]
pub enum Team {
    /// It is the only process.
    #[default]
    Alone,
    /// It is rank 0: it decides what is measured, and receives the records of all ranks.
    Lead(Arc<Lead>),
    /// It is another rank, with its number and the number of ranks. It measures its share of what rank 0
    /// decides.
    Member(Arc<Member>, (u32, u32)),
}

impl Team {
    /// The number of this rank, and the number of ranks.
    pub fn place(&self) -> (u32, u32) {
        match self {
            Self::Alone => (0, 1),
            Self::Lead(lead) => (0, lead.ranks()),
            Self::Member(_, place) => *place,
        }
    }

    /// This rank's share of a pass.
    pub fn share(&self, pass: &PassPlan) -> Share {
        let (rank, ranks) = self.place();
        Share::of(pass, rank, ranks)
    }

    /// The connections to the other ranks, if this process is rank 0 of several ranks.
    pub fn lead(&self) -> Option<&Lead> {
        match self {
            Self::Lead(lead) => Some(lead),
            Self::Alone | Self::Member(..) => None,
        }
    }
}

/// Refuses plans that several ranks cannot measure together. `ranks`: the number of ranks.
///
/// # Errors
/// Every reason for a refusal.
pub fn check_ranks(plan: &Plan, ranks: u32) -> Result<(), PlanError> {
    let mut mistakes = Vec::new();
    let mut refuse = |is_wrong: bool, why: &str| {
        if is_wrong {
            mistakes.push(why.to_owned());
        }
    };
    refuse(
        matches!(plan.target, TargetPlan::Embedded { .. }),
        "target (--target): several ranks need the address of a common server: without it, each \
            rank would start its own embedded engine",
    );
    refuse(
        plan.launch.is_some(),
        "server: several ranks need the address of a common server, but each rank would start its \
            own server; start the server first, and give --target",
    );
    refuse(
        plan.procedure.ab().is_some(),
        "ab: a comparison needs a single process; start only one",
    );
    refuse(
        plan.stop != inferometer_plan::stop::StopPlan::default(),
        "stop_when_saturated, stop_at_error_rate: each rank would judge its own share of the requests; leave \
         them out",
    );
    if let Some(most) = plan.max_in_prefill.filter(|most| *most < ranks) {
        mistakes.push(format!(
            "max_in_prefill (--max-in-prefill): {most} is less than the number of ranks ({ranks}), so at \
                least one rank could send no requests"
        ));
    }
    for pass in plan.cells.iter().flat_map(|cell| plan.passes_of(*cell)) {
        let (most, _) = pass.limit();
        if let Some(most) = most.filter(|most| *most < ranks) {
            mistakes.push(format!(
                "max_in_flight (--max-in-flight): {most} is less than the number of ranks \
                    ({ranks}), so at least one rank could send no requests"
            ));
            break;
        }
        // Each place of the closed loop belongs to one rank for the whole pass. So in a stage with few places, some
        // ranks send nothing, and which requests are sent depends on the number of ranks.
        if let PassPlan::Closed(ClosedPlan { concurrency, bound }) = pass
            && concurrency.constant().is_none()
            && bound.requests.is_some()
        {
            mistakes.push(
                "requests (--requests): with stages of requests in flight, several ranks would not \
                    send the same requests as one process; leave out --requests, so that the \
                    stages end the pass"
                    .to_owned(),
            );
            break;
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes.into()) }
}

/// Whether only the plan determines when requests are due. Due times then do not depend on the ends of other
/// requests.
pub fn is_scheduled(pass: &PassPlan) -> bool {
    (pass.is_scheduled() || pass.kind() == PassKind::Saturated)
        && !matches!(pass, PassPlan::Conversations(_))
}

/// Starts a pass on rank 0, which decides the start for all ranks.
pub struct LeadGate {
    /// The connections of rank 0 to the other ranks.
    pub lead: Arc<Lead>,
    /// The hash over all requests of the run so far.
    pub workload_hash: String,
}

impl StartGate for LeadGate {
    fn start(&mut self, _now: Nanos) -> Option<Nanos> {
        self.lead.start(&self.workload_hash)
    }
}

/// Starts a pass on another rank, at the instant that rank 0 has decided.
pub struct MemberGate {
    /// The connection of this rank to rank 0.
    pub member: Arc<Member>,
    /// The hash over all requests of the run so far, as this rank generated them.
    pub workload_hash: String,
}

impl StartGate for MemberGate {
    fn start(&mut self, _now: Nanos) -> Option<Nanos> {
        self.member.start(&self.workload_hash)
    }
}

/// Creates a receiver for the records of each other rank. The receiver sends the records to the thread that writes
/// the records of rank 0, and counts them in `live` for display.
pub fn sinks(lead: &Lead, to: &ToWriter, live: &Arc<Live>) -> Vec<Sink> {
    let sink = |rank| -> Sink {
        let (mut to, live) = (to.clone().of_rank(Some(rank)), Arc::clone(live));
        Box::new(move |records: Vec<SentRecord>| {
            records.iter().for_each(|sent| live.end_elsewhere(&sent.record));
            to.take(records);
        })
    };
    (1..lead.ranks()).map(sink).collect()
}

/// The next record to send to rank 0; `None` if there is no record now.
///
/// # Errors
/// When the last record has been sent.
pub fn next_of(from: &FromDriver) -> Result<Option<SentRecord>, NoMoreRecords> {
    use std::sync::mpsc::TryRecvError;
    match from.try_recv() {
        Ok(Message { record, text, .. }) => Ok(Some(SentRecord { record, text })),
        Err(TryRecvError::Empty) => Ok(None),
        Err(TryRecvError::Disconnected) => Err(NoMoreRecords),
    }
}

/// Why a rank makes a pass invalid: the rank is lost, was interrupted, or sends request bodies that differ from the
/// bodies of rank 0. `None` if no rank makes the pass invalid. `body_hash` is the hash of the bodies of rank 0. If rank
/// 0 was `interrupted`, only lost ranks count.
pub fn not_whole(
    reports: &[RankReport],
    body_hash: Option<&str>,
    interrupted: bool,
) -> Option<String> {
    for RankReport { rank, host, report } in reports {
        let name = format!("rank {rank} ({host})");
        match report {
            Err(why) => return Some(format!("{name} {why}")),
            Ok(report) if report.interrupted && !interrupted => {
                return Some(format!("{name} was interrupted"));
            }
            Ok(report) => {
                let other = report.body_hash.as_deref().filter(|_| !interrupted);
                if other.zip(body_hash).is_some_and(|(theirs, ours)| theirs != ours) {
                    return Some(format!("{name} sends different request bodies than rank 0"));
                }
            }
        }
    }
    None
}

/// Summarises the ranks of a run for its results. `ranks` has the host of each rank from rank 0 on, with the
/// reason if the rank was lost. `reports` has the reports of the other ranks on each pass. `outcomes` returns
/// the outcomes of a rank's requests. `interrupted` states whether the user interrupted rank 0.
pub fn summaries(
    ranks: &[(String, Option<String>)],
    reports: &[RankReport],
    outcomes: impl Fn(u32) -> OutcomeCounts,
    interrupted: bool,
) -> Vec<RankSummary> {
    let of_rank = |(rank, (host, why)): (u32, &(String, Option<String>))| {
        let own: Vec<_> = reports.iter().filter(|one| one.rank == rank).collect();
        let done: Vec<&PassReport> =
            own.iter().filter_map(|one| one.report.as_ref().ok()).collect();
        let stopped = match rank {
            0 => interrupted,
            _ => done.last().is_some_and(|report| report.interrupted),
        };
        RankSummary {
            rank,
            host: host.clone(),
            requests: outcomes(rank),
            clock: clock(&done),
            state: match (why, stopped) {
                (Some(_), _) => RankState::Lost,
                (None, true) => RankState::Interrupted,
                (None, false) => RankState::Complete,
            },
            why: why.clone(),
        }
    };
    (0..).zip(ranks).map(of_rank).collect()
}

/// The clock of a rank, from its reports on each pass.
fn clock(reports: &[&PassReport]) -> Option<RankClock> {
    let last = reports.last()?.clock;
    let bound_ns = reports.iter().map(|report| report.clock.bound_ns).max().unwrap_or(0);
    Some(RankClock {
        offset_ms: last.offset_ns as f64 / 1e6,
        bound_ms: bound_ns as f64 / 1e6,
        drift_ppm: last.drift_ppm.map(|(ppm, _)| ppm),
        drift_bound_ppm: last.drift_ppm.map(|(_, bound)| bound),
        round_trip_ms: last.round_trip_ns as f64 / 1e6,
    })
}

/// The finding on the ranks of a run, from their reports on each pass; `None` for a single rank.
pub fn finding(ranks: u32, reports: &[RankReport]) -> Option<Finding> {
    if ranks == 1 {
        return None;
    }
    let clocks =
        reports.iter().filter_map(|one| one.report.as_ref().ok()).map(|report| report.clock);
    let worst = clocks.map(|clock| clock.bound_ns).max().unwrap_or(0);
    let message = format!(
        "{ranks} ranks measured this run together. Times of different ranks are converted to the \
            clock of rank 0, with an error of at most {}: windows, requests in flight, time \
            courses and latencies from the due time can be wrong by this much; the other \
            latencies of a request use a single clock{}",
        in_ms(worst),
        told_of(ranks, reports)
    );
    Some(Finding::of(code::SEVERAL_RANKS, message))
}

/// The maximum number of ranks, without rank 0, that are listed one by one.
const MOST_NAMED: u32 = 16;

/// Each rank other than rank 0, up to `MOST_NAMED`, with its requests and its clock, as text.
fn told_of(ranks: u32, reports: &[RankReport]) -> String {
    let mut text = String::new();
    for rank in 1..ranks.min(MOST_NAMED + 1) {
        let of_rank: Vec<_> = reports.iter().filter(|one| one.rank == rank).collect();
        let Some(last) = of_rank.last() else { continue };
        text += &format!("; rank {rank} ({}): ", last.host);
        let done: Vec<_> = of_rank.iter().filter_map(|one| one.report.as_ref().ok()).collect();
        let complete: u64 = done.iter().map(|report| report.outcomes.complete).sum();
        let failed: u64 = done.iter().map(|report| report.outcomes.failed()).sum();
        text += &format!("{complete} requests complete, {failed} failed");
        if let Some(report) = done.last() {
            let clock = report.clock;
            let bound = done.iter().map(|report| report.clock.bound_ns).max().unwrap_or(0);
            let offset_ms = clock.offset_ns as f64 / 1e6;
            text += &format!(", clock offset {offset_ms:+.3} ms ± {}", in_ms(bound));
            if let Some((ppm, bound)) = clock.drift_ppm {
                text += &format!(", drift {ppm:+.1} ppm ± {bound:.1} ppm");
            }
        }
        if let Err(why) = &last.report {
            text += &format!(", {why}");
        }
    }
    if ranks > MOST_NAMED + 1 {
        text += "; further ranks are not listed";
    }
    text
}

fn in_ms(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}
