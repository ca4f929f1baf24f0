//! Starts with planted instants.

use std::time::Duration;

use inferometer_model::target::PhaseSource;

use super::*;

/// The instant at this time after the start of the process.
fn at(seconds: f64) -> Nanos {
    Nanos(7_000_000_000) + Duration::from_secs_f64(seconds)
}

#[test]
fn a_time_that_checks_show_lies_between_the_last_failed_and_the_first_successful_check() {
    let checks = |all: &[(f64, f64, bool)]| {
        let mut checks = Checks::default();
        all.iter().for_each(|&(began, ended, is_so)| checks.add(at(began), at(ended), is_so));
        checks.since(at(0.0))
    };
    for (all, expected) in [
        (&[][..], None),
        (&[(0.25, 0.26, false), (0.5, 0.51, false)], None),
        (&[(0.25, 0.26, false), (0.5, 0.51, false), (0.75, 0.8, true)], Some([0.5, 0.8])),
        // A slow answer: the server may have become ready while it was awaited.
        (&[(1.0, 6.0, false), (6.25, 9.0, true)], Some([1.0, 9.0])),
        // The first check succeeded, so only the start of the process bounds the time.
        (&[(0.25, 0.26, true)], Some([0.0, 0.26])),
        // A later failure changes nothing.
        (&[(0.25, 0.26, true), (0.5, 0.6, false), (0.7, 0.8, true)], Some([0.0, 0.26])),
    ] {
        assert_eq!(checks(all), expected, "{all:?}");
    }
}

#[test]
fn a_start_counts_all_times_from_the_start_of_the_process() {
    let mut marks = StartMarks { began: Some(at(0.0)), ..StartMarks::default() };
    let known = Phases::known();
    marks.port.add(at(0.25), at(0.26), true);
    marks.ready.add(at(2.0), at(2.1), false);
    assert_eq!(marks.startup(&known, None), None);
    marks.ready.add(at(2.25), at(2.3), true);
    marks.add_line(at(1.5), "Loading weights took 1.00 seconds".to_owned());
    let startup = marks.startup(&known, Some([at(3.0), at(3.5)])).expect("a start");
    assert_eq!((startup.port_s, startup.ready_s), (Some([0.0, 0.26]), [2.0, 2.3]));
    assert_eq!((startup.request_s, startup.first_token_s), (Some(3.0), Some(3.5)));
    assert_eq!((startup.phases[0].seconds, startup.rest_s), (1.0, 1.3));
    assert_eq!(startup.phases[0].from, PhaseSource::Stated);
    // Without an answer, and without a check of the port, these times are absent.
    let bare = StartMarks { port: Checks::default(), ..marks };
    let bare = bare.startup(&known, None).expect("a start");
    assert_eq!((bare.port_s, bare.request_s, bare.first_token_s), (None, None, None));
}
