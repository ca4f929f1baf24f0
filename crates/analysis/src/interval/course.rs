//! Describes the course of a pass: the order of its requests by send time, the requests in the steady state of the
//! load, and the number in flight.

use inferometer_model::stats::{VALUES_KEPT, serial::LastControl};
use inferometer_model::{Nanos, OutcomeKind, Timeline, load::KeptConstant, metrics::TokenCurve};

use super::lockstep::{Lockstep, are_in_groups};
use super::{sent::SentRequest, work::Work};

/// The fewest requests in the steady state of a closed loop, as a multiple of the number in flight. With fewer
/// requests, fluctuations that are slower than one request would not be visible.
const FEWEST_STAYS: usize = 2;
/// The same if the requests of a wave run in few groups: then two waves are about two values.
const FEWEST_STAYS_IN_GROUPS: usize = 3;
/// The fewest requests in the steady state if requests arrive at a rate. With fewer, chance decides whether slow
/// fluctuations show. There must also be as many requests as are in flight. A larger multiple is not needed, because
/// [`Layout::memory`] states how long fluctuations last.
const FEWEST_ARRIVALS: usize = 50;
/// The fewest requests in the steady state, whatever the number in flight.
pub(super) const FEWEST: usize = 5;

/// Why a pass has no confidence intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoLayout {
    /// The load keeps neither the number in flight nor the rate constant, for this reason.
    #[error("{0}")]
    NothingConstant(&'static str),
    /// The pass has more requests than are kept.
    #[error("the pass has more than {VALUES_KEPT} requests")]
    TooMany,
    /// The pass has too few requests at a rate. In an overloaded open loop, a pass with more requests also has more in
    /// flight.
    #[error(
        "{sent} requests are too few with {in_flight} in flight on average: about {enough} are needed, if the number \
            in flight stays constant"
    )]
    TooFewAtRate { sent: usize, in_flight: usize, enough: usize },
    /// The requests run in lockstep, in too few phases.
    #[error(
        "the {in_flight} requests in flight run in lockstep: each wave repeats the times of the first, and has only \
            {phases} different ones. Another pass has others: use --repeat"
    )]
    Lockstep { in_flight: usize, phases: usize },
    /// The pass has too few requests.
    #[error("{sent} requests are too few with {in_flight} in flight: {enough} are needed")]
    TooFew { sent: usize, in_flight: usize, enough: usize },
}

/// The sent requests of a pass, in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course(Vec<SentRequest>);

impl Course {
    /// Adds a request and returns its index among the stored requests, from 0. `None` if the request was not sent, or
    /// if there are too many to store.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>, met: bool) -> Option<u32> {
        let record = timeline.record;
        let send = record.send_start?;
        // One request above the limit is stored, to show that there were too many.
        if self.0.len() > VALUES_KEPT {
            return None;
        }
        let tokens = record.outcome.is_complete().then_some(timeline.output_tokens);
        let all_tokens =
            tokens.map_or(0, |output| output.saturating_add(record.input_tokens().unwrap_or(0)));
        let ended = record.ended.unwrap_or(send);
        let (index, due) = (record.index, record.due);
        let is_left = record.outcome.kind() == OutcomeKind::Abandoned;
        let first = timeline.events.first().map(|event| event.arrival);
        self.0.push(SentRequest {
            first,
            send,
            index,
            due,
            ended,
            tokens,
            all_tokens,
            met,
            is_left,
        });
        Some(self.0.len() as u32 - 1)
    }

    /// Sorts the requests by send time, and determines which of them ran in the steady state. `tokens` are those of the
    /// complete requests. The error states why no confidence intervals can be computed.
    pub(crate) fn layout(
        &self,
        holds: &KeptConstant,
        tokens: &TokenCurve,
    ) -> Result<Layout, NoLayout> {
        let mut order: Vec<u32> = (0..self.0.len() as u32).collect();
        order.sort_by_key(|&at| (self.0[at as usize].send, self.0[at as usize].index));
        let sent: Vec<SentRequest> = order.iter().map(|&at| self.0[at as usize]).collect();
        let mut lockstep = None;
        let (in_flight, control) = match *holds {
            KeptConstant::Nothing(why) => return Err(NoLayout::NothingConstant(why)),
            KeptConstant::InFlight(in_flight) => (in_flight as usize, None),
            KeptConstant::Rate { is_span_fixed, limit } => {
                lockstep = limit.and_then(|limit| Lockstep::of(&sent, limit as usize));
                match limit.filter(|_| lockstep.is_some()) {
                    Some(limit) => (limit as usize, None),
                    None => (mean_in_flight(&sent), is_span_fixed.then(|| gaps(&sent))),
                }
            }
        };
        if sent.len() > VALUES_KEPT {
            return Err(NoLayout::TooMany);
        }
        let edge = if in_flight > 1 { in_flight } else { 0 };
        let middle = sent.len().saturating_sub(2 * edge);
        let begins_at_once = matches!(holds, KeptConstant::InFlight(_));
        let is_limited = begins_at_once || lockstep.is_some();
        let steady = sent.get(edge..sent.len().saturating_sub(edge));
        let is_in_groups =
            begins_at_once && steady.is_some_and(|steady| are_in_groups(steady, in_flight));
        let fewest = FEWEST.max(match is_limited {
            true => fewest_stays(is_in_groups) * edge,
            false if edge > 0 => edge.max(FEWEST_ARRIVALS),
            false => 0,
        });
        if middle < fewest {
            let (sent, enough) = (sent.len(), fewest + 2 * edge);
            return Err(match is_limited {
                false => NoLayout::TooFewAtRate { sent, in_flight, enough },
                true => NoLayout::TooFew { sent, in_flight, enough },
            });
        }
        if let Some(Lockstep { phases, .. }) = lockstep.filter(|it| !it.has_enough(in_flight)) {
            return Err(NoLayout::Lockstep { in_flight, phases });
        }
        let mut ranks = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&at, rank)| ranks[at as usize] = rank);
        // A closed loop and a limit that is always reached keep the number in flight constant.
        let memory = if is_limited { 0.0 } else { in_flight as f64 };
        let work = begins_at_once.then(|| Work::of(&sent, edge, tokens)).flatten();
        Ok(Layout {
            is_in_groups,
            work,
            ranks,
            sent,
            edge,
            begins_at_once,
            in_flight: in_flight.max(1),
            memory,
            control,
            last_control: LastControl::default(),
            lockstep,
        })
    }
}

/// The fewest requests in the steady state, as a multiple of the number in flight.
pub(super) const fn fewest_stays(is_in_groups: bool) -> usize {
    if is_in_groups { FEWEST_STAYS_IN_GROUPS } else { FEWEST_STAYS }
}

/// The mean number of requests in flight while requests arrive, by Little's law, rounded.
fn mean_in_flight(sent: &[SentRequest]) -> usize {
    let (Some(first), Some(last)) = (sent.first(), sent.last()) else { return 1 };
    let span_s = last.send.seconds_after(first.send);
    let stays_s: f64 = sent.iter().map(SentRequest::stay_s).sum();
    if span_s > 0.0 { (stays_s / span_s).round() as usize } else { sent.len() }
}

/// The time from the previous arrival to each arrival.
fn gaps(sent: &[SentRequest]) -> Vec<f64> {
    let before = sent.iter().take(1).chain(sent);
    before.zip(sent).map(|(before, this)| this.due.seconds_after(before.due)).collect()
}

/// The order of the requests of a pass, and the bounds of its steady state.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// For each request of the course: its rank in the order of sending, from 0.
    pub ranks: Vec<u32>,
    /// The requests in the order of sending.
    pub sent: Vec<SentRequest>,
    /// The number of requests that were sent while the server filled up. The same number of requests at the end ran
    /// while the server emptied.
    pub edge: usize,
    /// Whether the first `edge` requests were sent at the same time, as in a closed loop.
    pub begins_at_once: bool,
    /// The number of requests in flight: the planned number, or the mean; at least 1.
    pub in_flight: usize,
    /// The number of requests over which a fluctuation of the number in flight lasts. If requests arrive at a rate,
    /// this is the mean number in flight. In a closed loop, it is 0.
    pub memory: f64,
    /// For each rank, the time since the previous arrival in seconds. The sum of these times is equal in all passes
    /// with the same load. Absent if the time span of the arrivals is not fixed.
    pub control: Option<Vec<f64>>,
    /// The projections of the control, which all metrics of the pass share.
    pub last_control: LastControl,
    /// Present in a closed loop whose answers have random lengths.
    pub work: Option<Work>,
    /// Present if the requests run in lockstep.
    pub lockstep: Option<Lockstep>,
    /// Whether the requests of a closed loop are sent in few groups.
    pub is_in_groups: bool,
}

impl Layout {
    /// When the first token of a request arrived; `at` is what `Course::add` returned for it.
    pub(crate) fn first(&self, at: u32) -> Option<Nanos> {
        self.sent[self.ranks[at as usize] as usize].first
    }

    /// The time from the first send to the last end, in seconds.
    pub(crate) fn duration_s(&self) -> f64 {
        let last = self.sent.iter().map(|sent| sent.ended).max();
        last.zip(self.sent.first()).map_or(0.0, |(last, first)| last.seconds_after(first.send))
    }
}
