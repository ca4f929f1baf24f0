//! The words for the start of a server. They are the same on the terminal and in reports.

use inferometer_model::digits::{interval, significant};
use inferometer_model::target::{PhaseSource, StartPhase, Startup};

/// When a server was ready, the phases of its start, and its first token: `after 41.0 to 41.2 s: weights 12.1 s (log), ...`.
/// `(log)` marks a time that the log states, `(lines)` a time between two lines of the log.
pub fn startup(startup: &Startup) -> String {
    let Startup { start, port_s, ready_s, phases, rest_s, request_s, first_token_s } = startup;
    let phases = phases.iter().map(|StartPhase { name, seconds, from }| {
        let from = match from {
            PhaseSource::Stated => "log",
            PhaseSource::Read => "lines",
        };
        format!("{name} {} ({from})", span(*seconds))
    });
    let phases: Vec<String> = phases.collect();
    let ready = if phases.is_empty() {
        format!("after {} s", ends(*ready_s))
    } else {
        format!("after {} s: {}, rest {}", ends(*ready_s), phases.join(", "), span(*rest_s))
    };
    let port = port_s.map(|port_s| format!("port open after {} s", ends(port_s)));
    let token = first_token_s.zip(*request_s).map(|(token, request)| {
        format!("first token after {}, of a request sent after {}", span(token), span(request))
    });
    let again = (*start > 1)
        .then(|| format!("start {start} of this command in this plan, so caches may be warm"));
    let parts = [Some(ready), port, token, again];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// An interval as text. If its ends have the same text, one of them.
fn ends(both: [f64; 2]) -> String {
    let text = interval(both);
    match text.split_once(" to ") {
        Some((low, high)) if low == high => low.to_owned(),
        _ => text,
    }
}

fn span(seconds: f64) -> String {
    format!("{} s", significant(seconds, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_told_in_one_sentence_with_the_source_of_each_phase() {
        let phase = |name: &str, seconds, from| StartPhase { name: name.to_owned(), seconds, from };
        let whole = Startup {
            start: 2,
            port_s: Some([3.0, 3.252]),
            ready_s: [41.02, 41.244],
            phases: vec![
                phase("weights", 12.07, PhaseSource::Stated),
                phase("warm-up", 1.2, PhaseSource::Read),
            ],
            rest_s: 27.994,
            request_s: Some(42.103),
            first_token_s: Some(43.0),
        };
        let bare = Startup { start: 1, ready_s: [0.0, 0.251], ..Startup::default() };
        let narrow = Startup { ready_s: [1.76, 1.765], ..bare.clone() };
        for (start, text) in [
            (
                whole,
                "after 41.0 to 41.2 s: weights 12.1 s (log), warm-up 1.2 s (lines), rest 28 s; port open \
                 after 3.00 to 3.25 s; first token after 43 s, of a request sent after 42.1 s; start 2 of this \
                 command in this plan, so caches may be warm",
            ),
            (bare, "after 0.000 to 0.251 s"),
            (narrow, "after 1.76 s"),
        ] {
            assert_eq!(startup(&start), text);
        }
    }
}
