//! Determines the order in which the repeats of two runs were measured, and the design of the comparison. It uses only
//! times, no figures.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

use super::Series;

/// With more rounds than this, neighbouring rounds are joined. The estimate stays as good, and its computation is
/// faster.
const MOST_ROUNDS: usize = 100;

/// The order in which the repeats of two runs were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Design {
    /// In turn: each round has repeats of both runs.
    Alternated {
        /// The number of rounds.
        rounds: usize,
    },
    /// First all repeats of one run, then all of the other: a change over time looks like a difference.
    BeforeAfter {
        /// Whether the baseline has enough repeats to show how much it drifts by itself.
        drift_is_bounded: bool,
    },
    /// The runs alternate, but not in rounds with repeats of both.
    Mixed,
    /// The times of the repeats are unknown.
    #[default]
    Unknown,
}

impl Design {
    /// Whether the runs were measured in turn, so that a drift over time cannot look like a difference.
    pub fn is_alternated(self) -> bool {
        matches!(self, Self::Alternated { .. })
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alternated { rounds } => write!(f, "in turn, {rounds} rounds each"),
            Self::BeforeAfter { drift_is_bounded: false } => {
                f.write_str("one after the other: a drift over time looks like a change")
            }
            Self::BeforeAfter { drift_is_bounded: true } => f.write_str(
                "one after the other; the repeats of the baseline show how far it drifts by itself",
            ),
            Self::Mixed => f.write_str(
                "neither in turn nor one after the other: a drift over time looks like a change",
            ),
            Self::Unknown => f.write_str("unknown: a drift over time may look like a change"),
        }
    }
}

/// The repeats of both runs in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Order {
    /// Whether each repeat belongs to the contender.
    pub is_contender: Vec<bool>,
    /// The index of each repeat among the repeats of its run.
    pub index: Vec<usize>,
    /// The rounds, as ranges of repeats; each has repeats of both runs. Empty if there are fewer than two.
    pub rounds: Vec<Range<usize>>,
    is_known: bool,
}

impl Order {
    pub fn of(a: &Series, b: &Series) -> Self {
        let is_known = [a, b].iter().all(|series| series.times_s.len() == series.values.len());
        let side = |series: &Series, is_contender: bool| {
            let time = |at: usize| if is_known { series.times_s[at] } else { 0.0 };
            (0..series.values.len()).map(|at| (time(at), is_contender, at)).collect::<Vec<_>>()
        };
        let mut all = [side(a, false), side(b, true)].concat();
        // The sort is stable: repeats with equal times keep their order.
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let is_contender: Vec<bool> =
            all.iter().map(|&(_, is_contender, _)| is_contender).collect();
        let rounds = if is_known { rounds(&is_contender) } else { Vec::new() };
        Self { rounds, is_contender, index: all.iter().map(|&(.., at)| at).collect(), is_known }
    }

    /// An order of rounds with one repeat of each run. With `in_turn`, all rounds have the same order. Otherwise, each
    /// round has the opposite order of the round before.
    pub fn of_rounds(rounds: usize, in_turn: bool) -> Self {
        let of = |round: usize| match in_turn || round.is_multiple_of(2) {
            true => [false, true],
            false => [true, false],
        };
        Self {
            is_contender: (0..rounds).flat_map(of).collect(),
            index: (0..2 * rounds).map(|at| at / 2).collect(),
            rounds: (0..rounds).map(|round| 2 * round..2 * round + 2).collect(),
            is_known: true,
        }
    }

    /// The design of this order.
    pub fn design(&self) -> Design {
        let changes = self.is_contender.windows(2).filter(|pair| pair[0] != pair[1]).count();
        match self.rounds.len() {
            _ if !self.is_known => Design::Unknown,
            rounds if rounds > 1 => Design::Alternated { rounds },
            _ if changes == 1 => Design::BeforeAfter { drift_is_bounded: false },
            _ => Design::Mixed,
        }
    }

    /// The logarithms of the values of both runs, in this order.
    pub fn logs(&self, a: &Series, b: &Series) -> Vec<f64> {
        let value = |(&is_contender, &at): (&bool, &usize)| {
            if is_contender { b.values[at].ln() } else { a.values[at].ln() }
        };
        self.is_contender.iter().zip(&self.index).map(value).collect()
    }
}

/// Cuts an order into rounds that all have the same numbers of repeats of both runs: as many rounds as possible, at
/// most `MOST_ROUNDS`. If that is impossible because a repeat is missing, a round ends as soon as it has repeats of
/// both runs.
fn rounds(is_contender: &[bool]) -> Vec<Range<usize>> {
    let count = |range: Range<usize>| is_contender[range].iter().filter(|is| **is).count();
    let n = is_contender.len();
    let contenders = count(0..n);
    let cut = |rounds: &usize| -> Option<Vec<Range<usize>>> {
        let (size, each) = (n / rounds, contenders / rounds);
        let is_whole = n.is_multiple_of(*rounds) && contenders.is_multiple_of(*rounds);
        let found: Vec<_> = (0..*rounds).map(|at| at * size..(at + 1) * size).collect();
        let is_alike = |range: &Range<usize>| count(range.clone()) == each;
        (is_whole && found.iter().all(is_alike)).then_some(found)
    };
    let most = contenders.min(n - contenders);
    let found = (2..=most.min(MOST_ROUNDS)).rev().find_map(|rounds| cut(&rounds));
    found.unwrap_or_else(|| greedy(is_contender))
}

fn greedy(is_contender: &[bool]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for end in 1..=is_contender.len() {
        if is_contender[start..end].iter().any(|is| *is != is_contender[start]) {
            found.push(start..end);
            start = end;
        }
        if start == end && end == is_contender.len() {
            break;
        }
    }
    if let Some(last) = found.last_mut() {
        last.end = is_contender.len();
    }
    while found.len() > MOST_ROUNDS {
        found = found.chunks(2).map(|pair| pair[0].start..pair[pair.len() - 1].end).collect();
    }
    if found.len() > 1 { found } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of repeats that `letters` describes: `a` is the baseline, `b` the contender.
    fn order(letters: &str) -> Order {
        let side = |letter: char| {
            let times_s: Vec<f64> = (0..)
                .zip(letters.chars())
                .filter(|(_, c)| *c == letter)
                .map(|(at, _)| f64::from(at))
                .collect();
            Series { values: vec![1.0; times_s.len()], times_s, ..Series::default() }
        };
        Order::of(&side('a'), &side('b'))
    }

    #[test]
    fn the_design_is_recognised_from_the_times_of_the_repeats() {
        let before = Design::BeforeAfter { drift_is_bounded: false };
        for (letters, design) in [
            ("abababab", Design::Alternated { rounds: 4 }),
            ("abbaabba", Design::Alternated { rounds: 4 }),
            ("baabbabaab", Design::Alternated { rounds: 5 }),
            ("aabbbbaaaabb", Design::Alternated { rounds: 3 }),
            ("aaabbbbbbaaa", Design::Alternated { rounds: 2 }),
            // Two repeats of one run in each round, and an order in which a repeat is missing.
            ("aabaabaab", Design::Alternated { rounds: 3 }),
            ("ababaab", Design::Alternated { rounds: 3 }),
            ("aaaaabbbbb", before),
            ("bbbaaaaa", before),
            ("ab", before),
            ("aba", Design::Mixed),
        ] {
            assert_eq!(order(letters).design(), design, "{letters}");
        }
        let unknown = Series { values: vec![1.0], ..Series::default() };
        assert_eq!(Order::of(&unknown, &unknown).design(), Design::Unknown);
    }
}
