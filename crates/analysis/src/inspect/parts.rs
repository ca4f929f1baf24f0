//! Findings on servers and ranks that differ from the others in failures or latencies.

use inferometer_model::{Finding, code};

use crate::parts::{Difference, ServerFigures, differences};
use crate::{Distributions, PassSummary};

/// A server gets a finding if its share of failures is more than this many times the share of the other servers.
const MORE: u64 = 4;
/// With fewer failures than this, a server gets no finding.
const FEWEST: u64 = 2;
/// The most servers or ranks that a finding names.
const MOST_NAMED: usize = 8;

/// Findings on servers and ranks that differ from the others.
pub fn part_findings(pass: &PassSummary) -> Vec<Finding> {
    let failing = pass.servers.iter().filter_map(|server| failing(server, pass));
    let servers = pass.servers.iter().map(|one| (one.server.clone(), &one.figures.latencies));
    let ranks = pass.ranks.iter().map(|one| (format!("rank {}", one.rank), &one.figures.latencies));
    let differing = [
        told(servers.collect(), pass).map(|text| Finding::of(code::SERVERS_UNEQUAL, text)),
        told(ranks.collect(), pass).map(|text| Finding::of(code::RANKS_DIFFER, text)),
    ];
    failing.chain(differing.into_iter().flatten()).collect()
}

/// The finding that one server fails more often than the others.
fn failing(server: &ServerFigures, pass: &PassSummary) -> Option<Finding> {
    let own = &server.figures;
    let others = pass.servers.iter().filter(|other| other.server != server.server);
    let (mut failed, mut planned) = (0, 0);
    for other in others {
        failed += other.figures.outcomes.failed();
        planned += other.figures.planned;
    }
    let of_own = own.outcomes.failed();
    let is_more = of_own * planned > MORE * failed * own.planned;
    (of_own >= FEWEST && planned > 0 && is_more).then(|| {
        let message = format!(
            "{} failed {of_own} of its {} requests ({}), the others {failed} of {planned}",
            server.server, own.planned, own.outcomes
        );
        Finding::of(code::SERVER_FAILS, message)
    })
}

/// Lists the servers or ranks whose means differ from the means of the pass, as text. `None` if no mean differs.
fn told(parts: Vec<(String, &Distributions)>, pass: &PassSummary) -> Option<String> {
    let count = parts.len();
    let of = |(name, own): (String, &Distributions)| {
        let found: Vec<String> = differences(own, &pass.latencies, count).map(in_words).collect();
        (!found.is_empty()).then(|| format!("{name}: {}", found.join(", ")))
    };
    let mut found: Vec<String> = parts.into_iter().filter_map(of).collect();
    let rest = found.split_off(found.len().min(MOST_NAMED)).len();
    if rest > 0 {
        found.push(format!("and {rest} more"));
    }
    (!found.is_empty()).then(|| {
        format!(
            "means differ from those of the whole pass by more than chance: {}",
            found.join("; ")
        )
    })
}

fn in_words(Difference { metric, of_part, of_whole }: Difference) -> String {
    format!("{} {of_part:.1} ms (whole: {of_whole:.1})", metric.title)
}
