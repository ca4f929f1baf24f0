//! The share of a pass that one of several processes (ranks) sends. Each request of the pass belongs to
//! exactly one rank. This rank is known before requests are sent.
//!
//! A pass has places. A closed loop has as many places as its highest concurrency. If due times do not depend on
//! the ends of requests, there is one place for each rank. Any other load has one place. Request `i` belongs
//! to place `i mod places`, and place `p` to rank `p mod ranks`. If the number of places is a multiple of the
//! number of ranks, request `i` therefore belongs to rank `i mod ranks`. For conversations, `i` is the number
//! of a conversation. All its turns belong to the same rank. The places are those of the load that begins the
//! conversations.

use crate::load::model::{Due, EndedRequest, LoadModel};
use crate::load::pass::{AtOnce, Closed, Conversations, ConversationsPlan, SaturatedPlan};
use crate::{Bound, ClosedPlan, Nanos, PassPlan, load::script::Step, load_model};

/// The requests of a pass that belong to one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    rank: u32,
    ranks: u32,
    places: u32,
}

impl Share {
    /// The whole pass, for a single process.
    pub const WHOLE: Self = Self { rank: 0, ranks: 1, places: 1 };

    /// The share of the rank `rank`, from 0, if there are `ranks` ranks.
    pub fn of(pass: &PassPlan, rank: u32, ranks: u32) -> Self {
        let places = match pass {
            PassPlan::Closed(ClosedPlan { concurrency, .. }) => {
                concurrency.peak().round().max(1.0) as u32
            }
            PassPlan::Conversations(ConversationsPlan { begin, .. }) => {
                Self::of(begin, rank, ranks).places
            }
            PassPlan::Saturated(_) => ranks,
            _ if pass.is_scheduled() => ranks,
            _ => 1,
        };
        Self { rank, ranks, places }
    }

    /// The part of this share for the event loop number `which`, from 0. The rank of the share has
    /// `loops` event loops. The event loops split the requests and places of the share as ranks split
    /// those of a pass.
    #[must_use]
    pub fn of_loop(&self, pass: &PassPlan, which: u32, loops: u32) -> Self {
        Self::of(pass, self.rank + self.ranks * which, self.ranks * loops)
    }

    /// The number of event loops among which the share can be split. It is at least 1 and at most
    /// `wished`. If due times do not depend on the ends of requests, it is at most the number of requests
    /// of the share, if this number is known; for other loads, at most its number of places. Unless it is 1, it
    /// is never above the share's limit of requests in flight. For conversations, all of this is true of the load
    /// that begins them.
    pub fn loops(&self, pass: &PassPlan, wished: u32) -> u32 {
        let places = match pass {
            PassPlan::Conversations(ConversationsPlan { begin, .. }) => {
                return self.loops(begin, wished);
            }
            PassPlan::Saturated(_) => self.requests(pass).unwrap_or(u32::MAX),
            _ if pass.is_scheduled() => self.requests(pass).unwrap_or(u32::MAX),
            _ => self.share_of(Self::of(pass, self.rank, self.ranks).places),
        };
        let in_flight = pass.limit().0.map_or(u32::MAX, |most| self.share_of(most));
        wished.min(places).min(in_flight).max(1)
    }

    /// Creates the load model of the part of one event loop. It is the model of [`Share::load_model`].
    /// But unless the share is the whole pass, a closed loop has no limit on the number of requests: the
    /// caller counts them over all event loops.
    pub fn load_model_of_loop(&self, pass: &PassPlan, seed: u64) -> Box<dyn LoadModel> {
        match pass {
            PassPlan::Closed(ClosedPlan { concurrency, bound }) if !self.is_whole() => {
                let bound = Bound { requests: None, ..*bound };
                let pass = PassPlan::Closed(ClosedPlan { concurrency: concurrency.clone(), bound });
                self.load_model(&pass, seed)
            }
            _ => self.load_model(pass, seed),
        }
    }

    /// Whether the share is the whole pass.
    pub fn is_whole(&self) -> bool {
        self.ranks == 1
    }

    /// Whether the request with this index in the pass belongs to the share.
    pub fn owns(&self, index: u64) -> bool {
        (index % u64::from(self.places)) % u64::from(self.ranks) == u64::from(self.rank)
    }

    /// The number of shares of the pass.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Whether any request can belong to the share. If there are fewer places than ranks, some shares are
    /// empty.
    pub fn owns_any(&self) -> bool {
        self.rank < self.places
    }

    /// Returns the index in the pass of a request of this share. `number` is its index in the share.
    pub fn index_of(&self, number: u32) -> u32 {
        let own = self.share_of(self.places).max(1);
        let (round, place) = (number / own, self.rank + (number % own) * self.ranks);
        round.saturating_mul(self.places).saturating_add(place)
    }

    /// The number of places, or of requests in flight, that belong to this share. `of` is the number in
    /// the whole pass.
    pub fn share_of(&self, of: u32) -> u32 {
        of / self.ranks + u32::from(self.rank < of % self.ranks)
    }

    /// The number of requests of this share among the first `count` requests of the pass.
    pub fn count_of(&self, count: u32) -> u32 {
        let (rounds, rest) = (count / self.places, count % self.places);
        rounds * self.share_of(self.places) + self.share_of(rest)
    }

    /// The number of requests of this share; `None` if the number of requests of the pass is not known
    /// before it starts.
    pub fn requests(&self, pass: &PassPlan) -> Option<u32> {
        let all = pass.requests()?;
        match pass {
            PassPlan::Conversations(ConversationsPlan { script, .. }) if !self.is_whole() => {
                Some(self.only(script.steps()).map(|job| job.len() as u32).sum())
            }
            _ => Some(self.count_of(all)),
        }
    }

    /// The items of a list that belong to this share, in order.
    pub fn only<T>(self, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        let own = move |(index, item)| self.owns(index).then_some(item);
        (0..).zip(all).filter_map(own)
    }

    /// Creates the load model of this share of a pass. Its random choices depend only on the seed.
    pub fn load_model(&self, pass: &PassPlan, seed: u64) -> Box<dyn LoadModel> {
        if self.is_whole() {
            return load_model(pass, seed);
        }
        let part = |bound: Bound| Bound {
            requests: bound.requests.map(|count| self.count_of(count)),
            ..bound
        };
        match pass {
            PassPlan::Saturated(SaturatedPlan { requests }) => {
                Box::new(AtOnce::new(self.count_of(*requests)))
            }
            PassPlan::Closed(ClosedPlan { concurrency, bound }) => {
                let steps = concurrency.whole_steps().into_iter();
                let own = steps.map(|(at, level)| (at, self.share_of(level)));
                Box::new(Closed::of_steps(own.collect(), part(*bound)))
            }
            PassPlan::Conversations(ConversationsPlan { script, begin, of }) => {
                let steps = self.only(script.steps()).map(Box::<[Step]>::from);
                let limit = begin.bound().duration.map(|limit| Nanos::ZERO + limit);
                let begin = self.load_model(begin, seed);
                Box::new(Conversations::new(begin, steps.collect(), *of, limit))
            }
            _ if pass.is_scheduled() => Box::new(Scheduled::new(load_model(pass, seed), *self)),
            _ if self.rank == 0 => load_model(pass, seed),
            _ => Box::new(AtOnce::new(0)),
        }
    }
}

/// The share of a load in which due times do not depend on the ends of requests.
struct Scheduled {
    whole: Box<dyn LoadModel>,
    share: Share,
    /// The index, in the pass, of the next request of `whole`.
    index: u64,
}

impl Scheduled {
    fn new(whole: Box<dyn LoadModel>, share: Share) -> Self {
        let mut scheduled = Self { whole, share, index: 0 };
        scheduled.pass_over_others();
        scheduled
    }

    fn pass_over_others(&mut self) {
        while !self.share.owns(self.index) && self.whole.next_due() != Due::Never {
            self.whole.take();
            self.index += 1;
        }
    }
}

impl LoadModel for Scheduled {
    fn next_due(&self) -> Due {
        self.whole.next_due()
    }

    fn take(&mut self) {
        self.whole.take();
        self.index += 1;
        self.pass_over_others();
    }

    fn ended(&mut self, _at: Nanos, _ended: EndedRequest) {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::bound::OverLimit;
    use crate::load::pass::{OpenPlan, ReplayPlan};
    use crate::load::recording::Recording;
    use crate::load::script::{CountOf, Script};

    fn passes() -> Vec<PassPlan> {
        let mut recording = Recording::of_file("trace");
        recording.read("0\n1\n1\n2\n5\n7\n7\n9\n").unwrap();
        let replay = PassPlan::Replay(ReplayPlan {
            recording,
            speed: 2.0,
            bound: Bound::none(),
            max_in_flight: None,
            over_limit: OverLimit::Queue,
        });
        let bound = Bound::requests;
        let mut script = Script::default();
        let think = |turns: usize| vec![Duration::from_millis(5); turns % 4 + 1];
        script.write((1..=11).map(|turns| Step::turns(think(turns))));
        let talks = PassPlan::Conversations(ConversationsPlan {
            script,
            begin: Box::new(PassPlan::closed(3, bound(11))),
            of: CountOf::Conversations,
        });
        vec![
            PassPlan::one_by_one(bound(4)),
            PassPlan::saturated(10),
            PassPlan::closed(1, bound(7)),
            PassPlan::closed(3, bound(20)),
            PassPlan::closed(8, bound(33)),
            PassPlan::open(3.0, bound(17)),
            replay,
            talks,
        ]
    }

    /// Runs a share in which each request takes 10 ms. Returns, for each request, its index in the pass and
    /// its due time.
    fn played(pass: &PassPlan, share: Share) -> Vec<(u32, Nanos)> {
        let mut load = share.load_model(pass, 7);
        let mut in_flight: Vec<(Nanos, (u32, u32))> = Vec::new();
        let (mut begun, mut conversations, mut now) = (Vec::new(), 0, Nanos::ZERO);
        loop {
            match load.next_due() {
                Due::At(at) if in_flight.first().is_none_or(|(end, _)| at <= *end) => {
                    let of = load.continues().unwrap_or((conversations, 0));
                    conversations += u32::from(of.0 == conversations);
                    load.take();
                    now = now.max(at);
                    begun.push((share.index_of(begun.len() as u32), at));
                    in_flight.push((now + Duration::from_millis(10), of));
                }
                Due::Never if in_flight.is_empty() => return begun,
                _ => {
                    let (end, (conversation, call)) = in_flight.remove(0);
                    now = end;
                    load.ended(end, EndedRequest { conversation, call, complete: true });
                }
            }
        }
    }

    #[test]
    fn the_shares_of_any_number_of_ranks_together_are_the_whole_pass() {
        for pass in passes() {
            let whole = played(&pass, Share::WHOLE);
            for ranks in 1..=9 {
                let shares: Vec<_> = (0..ranks).map(|rank| Share::of(&pass, rank, ranks)).collect();
                let parts: Vec<_> = shares.iter().map(|share| played(&pass, *share)).collect();
                for (share, part) in shares.iter().zip(&parts) {
                    let planned = share.requests(&pass).expect("it has a count");
                    assert_eq!(part.len(), planned as usize, "{pass}, {share:?}");
                }
                let mut all = parts.concat();
                assert_eq!(all.len(), whole.len(), "{pass}, {ranks} ranks");
                all.sort_unstable();
                if matches!(pass, PassPlan::Conversations(_)) {
                    continue;
                }
                let indices = all.iter().map(|(index, _)| *index);
                assert!(indices.eq(0..whole.len() as u32), "{pass}, {ranks} ranks: {all:?}");
                if pass.is_scheduled() {
                    assert_eq!(all, whole, "{pass}, {ranks} ranks");
                }
            }
        }
    }

    #[test]
    fn each_request_belongs_to_exactly_one_share_and_index_of_returns_its_index() {
        for pass in passes() {
            for ranks in 1..=9 {
                let shares: Vec<_> = (0..ranks).map(|rank| Share::of(&pass, rank, ranks)).collect();
                let mut next = vec![0; shares.len()];
                for index in 0..100_u32 {
                    let owners: Vec<_> =
                        (0..shares.len()).filter(|at| shares[*at].owns(index.into())).collect();
                    let [owner] = owners[..] else { panic!("{pass}: {index} has {owners:?}") };
                    assert_eq!(shares[owner].index_of(next[owner]), index, "{pass}");
                    next[owner] += 1;
                    let counts = shares.iter().map(|share| share.count_of(index + 1));
                    assert!(counts.eq(next.iter().copied()), "{pass}, {index}");
                }
            }
        }
    }

    #[test]
    fn the_parts_of_all_event_loops_together_are_the_share_of_their_rank() {
        for pass in passes() {
            for (ranks, wished) in [(1, 2), (1, 3), (2, 2), (3, 4)] {
                for rank in 0..ranks {
                    let share = Share::of(&pass, rank, ranks);
                    let loops = share.loops(&pass, wished);
                    let parts: Vec<_> =
                        (0..loops).map(|which| share.of_loop(&pass, which, loops)).collect();
                    for index in 0..100 {
                        let owners = parts.iter().filter(|part| part.owns(index)).count();
                        assert_eq!(owners, usize::from(share.owns(index)), "{pass}, {index}");
                    }
                    let slots = parts.iter().map(|part| part.share_of(8)).sum::<u32>();
                    let has_any = loops < wished || share.owns_any();
                    assert!(!has_any || slots == share.share_of(8), "{pass}: {slots}");
                }
            }
        }
    }

    #[test]
    fn there_are_no_more_event_loops_than_requests_in_flight() {
        let limited = |most| {
            let mut pass = PassPlan::open(3.0, Bound::requests(17));
            if let PassPlan::Open(OpenPlan { max_in_flight, .. }) = &mut pass {
                *max_in_flight = Some(most);
            }
            pass
        };
        for (pass, loops) in [
            (PassPlan::one_by_one(Bound::requests(9)), 1),
            (PassPlan::closed(3, Bound::requests(20)), 3),
            (PassPlan::saturated(2), 2),
            (PassPlan::open(3.0, Bound::requests(17)), 5),
            (limited(4), 4),
        ] {
            assert_eq!(Share::WHOLE.loops(&pass, 5), loops, "{pass}");
        }
    }

    #[test]
    fn the_ranks_of_a_closed_loop_together_have_its_concurrency() {
        let pass = PassPlan::closed(8, Bound::requests(64));
        for ranks in 1..=9 {
            let slots = (0..ranks).map(|rank| Share::of(&pass, rank, ranks).share_of(8));
            assert_eq!(slots.sum::<u32>(), 8);
        }
        let of_two: Vec<_> = (0..2).map(|rank| played(&pass, Share::of(&pass, rank, 2))).collect();
        let at_start = of_two.iter().flatten().filter(|(_, due)| *due == Nanos::ZERO).count();
        assert_eq!(at_start, 8);
    }
}
