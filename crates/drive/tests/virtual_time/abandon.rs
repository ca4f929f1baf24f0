//! Clients that leave before their answers are complete: instants, tokens and what follows.

use inferometer_model::load::{Abandon, Bound, LeaveAfter, Leavers, PassPlan};
use inferometer_model::outcome::{Outcome, Phase};

use crate::support::{Server, Setup, ms};

#[test]
fn a_client_leaves_after_tokens_or_a_time_unless_its_answer_is_complete() {
    let first = Outcome::Abandoned { phase: Phase::Headers };
    let later = Outcome::Abandoned { phase: Phase::BetweenEvents };
    // The first token comes after 100 ms, each of the nine others 10 ms later.
    for (after, outcome, ended_ms, tokens) in [
        (LeaveAfter::Tokens(4), later, 130, 4),
        (LeaveAfter::Tokens(10), Outcome::Complete, 190, 10),
        (LeaveAfter::Tokens(11), Outcome::Complete, 190, 10),
        (LeaveAfter::Time(ms(60)), first, 60, 0),
        (LeaveAfter::Time(ms(125)), later, 125, 3),
        (LeaveAfter::Time(ms(500)), Outcome::Complete, 190, 10),
        (LeaveAfter::NoToken(ms(60)), first, 60, 0),
        (LeaveAfter::NoToken(ms(125)), Outcome::Complete, 190, 10),
    ] {
        for (loops, by_reset) in [(1, false), (3, true)] {
            let mut setup = Setup::of(PassPlan::closed(2, Bound::requests(20)), 20);
            let abandon = Abandon { share: 0.5, after, by_reset };
            let leavers = Leavers { abandon, seed: 3 };
            (setup.leavers, setup.loops) = (Some(leavers), loops);
            let (records, _) = setup.play(Server::new(ms(100), ms(10), 10), true);
            for record in &records {
                let leaves = leavers.includes(record.index);
                let (outcome, ended_ms, tokens) = match leaves {
                    true => (outcome, ended_ms, tokens),
                    false => (Outcome::Complete, 190, 10),
                };
                let sent = record.send_start.expect("it was sent");
                let ended = record.ended.expect("it ended").since(sent);
                let found = (record.outcome, ended, record.token_events().count());
                assert_eq!(found, (outcome, ms(ended_ms), tokens), "{after:?} {loops}");
            }
            assert_eq!(records.len(), 20);
        }
    }
}
