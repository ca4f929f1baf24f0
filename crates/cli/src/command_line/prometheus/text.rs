//! The text that Prometheus scrapes: the live state under stable metric names, and the CPU time and memory of this
//! process. All other values were counted elsewhere; this module only formats them. Chunks and tokens have separate
//! metrics.

use inferometer_model::OutcomeKind;
use inferometer_net::http::prometheus::{Exposition, Kind};
use inferometer_net::{process_cpu_time, process_memory};
use inferometer_run::{LivePass, LiveState, RunStarted, Snapshot, Totals};

/// The metrics as text. The live state is locked only while the run and the pass are described and the totals are
/// copied.
pub(super) fn of(live: &LiveState) -> String {
    let mut out = Exposition::default();
    let totals = live.look(|state| {
        about(&mut out, state);
        state.totals()
    });
    requests(&mut out, &totals);
    latencies(&mut out, &totals);
    instrument(&mut out, &totals);
    out.finish()
}

/// Writes metrics about the run, its target, and its progress.
fn about(out: &mut Exposition, state: &Snapshot) {
    if let Some(run) = &state.run {
        run_info(out, run);
    }
    out.one(
        Kind::Gauge,
        "inferometer_run_passes",
        "Maximum number of passes of the run.",
        state.passes() as f64,
    );
    out.one(
        Kind::Gauge,
        "inferometer_run_passes_over",
        "Completed passes of the run.",
        state.passes_ended as f64,
    );
    let in_flight = state.current().map_or(0, |pass| {
        let counts = pass.live.look();
        counts.begun.saturating_sub(counts.ended)
    });
    out.one(Kind::Gauge, "inferometer_requests_in_flight", "Requests in flight.", in_flight as f64);
    if let Some(pass) = state.current() {
        pass_info(out, pass);
    }
}

fn run_info(out: &mut Exposition, run: &RunStarted) {
    let target = &run.target;
    let name = "inferometer_run_info";
    out.family(Kind::Gauge, name, "The run in progress.");
    let labels = [
        ("run", run.id.as_str()),
        ("model", &target.model),
        ("target", &target.url),
        ("dialect", &target.dialect),
        ("engine", target.engine.as_deref().unwrap_or_default()),
        ("engine_version", target.engine_version.as_deref().unwrap_or_default()),
        ("simulated", if target.simulated { "true" } else { "false" }),
        ("version", env!("CARGO_PKG_VERSION")),
    ];
    out.sample(name, &labels, 1.0);
    out.one(
        Kind::Gauge,
        "inferometer_run_start_time_seconds",
        "Start time of the run, in seconds since the Unix epoch.",
        run.started_unix_ns as f64 / 1e9,
    );
}

fn pass_info(out: &mut Exposition, pass: &LivePass) {
    let cell = pass.begin.cell;
    let numbers = [
        pass.number.to_string(),
        cell.input_length.to_string(),
        cell.output_length.to_string(),
        pass.begin.repeat.to_string(),
        pass.begin.plan.to_string(),
    ];
    let [number, input_length, output_length, repeat, load] = &numbers;
    let name = "inferometer_pass_info";
    out.family(Kind::Gauge, name, "The pass in progress.");
    let labels = [
        ("pass", number.as_str()),
        ("input_length", input_length),
        ("output_length", output_length),
        ("load", load),
        ("repeat", repeat),
        ("label", &pass.label),
    ];
    out.sample(name, &labels, 1.0);
    if let Some(planned) = pass.begin.plan.requests() {
        out.one(
            Kind::Gauge,
            "inferometer_pass_requests_planned",
            "Planned requests of the pass.",
            f64::from(planned),
        );
    }
}

fn requests(out: &mut Exposition, totals: &Totals) {
    let counter = |out: &mut Exposition, name, help, value: u64| {
        out.one(Kind::Counter, name, help, value as f64);
    };
    let counts = totals.counts;
    counter(out, "inferometer_requests_begun_total", "Requests begun.", counts.begun);
    let name = "inferometer_requests_total";
    let help = "Recorded requests by outcome; dropped and skipped ones were never sent.";
    out.family(Kind::Counter, name, help);
    for kind in OutcomeKind::ALL {
        out.sample(name, &[("outcome", kind.name())], totals.outcomes.of(kind) as f64);
    }
    let help = "Output tokens of completed requests, counted when a request ends.";
    counter(out, "inferometer_output_tokens_total", help, totals.output_tokens);
    let help = "Received chunks with output; a chunk may carry several tokens, or a part of one.";
    counter(out, "inferometer_chunks_total", help, counts.chunks);
}

fn latencies(out: &mut Exposition, totals: &Totals) {
    let spans = &totals.histograms;
    for (_, live, of) in &spans.metrics {
        out.histogram(&format!("inferometer_{}", live.family), live.help, &[], of);
    }
    for (name, help, of) in [
        (
            "inferometer_receive_lateness_seconds",
            "Time from the kernel's receive time stamp to the read.",
            &spans.receive_lateness,
        ),
        (
            "inferometer_arrival_width_seconds",
            "Maximum time between the arrival of a token event and its time stamp.",
            &spans.arrival_width,
        ),
    ] {
        out.histogram(name, help, &[], of);
    }
}

/// Writes metrics about this client: its event loops in completed passes, and its process until now.
fn instrument(out: &mut Exposition, totals: &Totals) {
    let process = &totals.process;
    let seconds = |us: u64| us as f64 / 1e6;
    for (name, help, value) in [
        (
            "inferometer_loop_seconds_total",
            "Total time of the event loop in completed passes.",
            seconds(process.wall_us),
        ),
        (
            "inferometer_loop_busy_seconds_total",
            "Busy time of the event loop in completed passes.",
            seconds(process.busy_us),
        ),
        (
            "inferometer_loop_stalls_total",
            "Number of event loop iterations and wake-up delays of 10 ms or more, in completed passes.",
            process.stalls as f64,
        ),
        (
            "inferometer_loop_stalled_seconds_total",
            "Total time of the iterations and delays of 10 ms or more, in completed passes.",
            seconds(process.stalled_us),
        ),
        (
            "inferometer_clock_steps_total",
            "Steps of the wall clock, in completed passes.",
            process.clock_steps as f64,
        ),
        (
            "inferometer_unusable_stamps_total",
            "Kernel receive time stamps that could not be used, in completed passes.",
            (process.implausible_stamps + process.truncated_stamps) as f64,
        ),
        (
            "process_cpu_seconds_total",
            "CPU time of the client, user and system.",
            process_cpu_time().as_secs_f64(),
        ),
    ] {
        out.one(Kind::Counter, name, help, value);
    }
    if let Some(bytes) = process_memory("VmRSS:") {
        let name = "process_resident_memory_bytes";
        out.one(Kind::Gauge, name, "Resident memory of the client.", bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use inferometer_analysis::fold::PassFold;
    use inferometer_drive::Live;
    use inferometer_model::metrics::Timeline;
    use inferometer_model::outcome::Outcome;
    use inferometer_model::process::Process;
    use inferometer_model::record::Record;
    use inferometer_net::http::prometheus::{Metric, metrics};
    use inferometer_run::{Event, PassEnded};

    use super::*;
    use crate::command_line::live_fixture::{
        live_state, pass_started, record, run_started, saturated,
    };

    fn value(text: &str, name: &str) -> f64 {
        let found: Vec<Metric<'_>> = metrics(text).filter(|metric| metric.name == name).collect();
        assert_eq!(found.len(), 1, "{name} in\n{text}");
        found[0].value
    }

    fn of_outcome(text: &str, kind: &str) -> f64 {
        let is_it = |metric: &Metric<'_>| {
            metric.name == "inferometer_requests_total" && metric.label("outcome") == Some(kind)
        };
        metrics(text).find(is_it).map_or(-1.0, |metric| metric.value)
    }

    #[test]
    fn a_scrape_shows_the_live_state_and_the_model_of_the_run() {
        let text = of(live_state().live());
        assert_eq!((of_outcome(&text, "complete"), of_outcome(&text, "rejected")), (20.0, 1.0));
        for (name, expected) in [
            ("inferometer_run_passes", 8.0),
            ("inferometer_run_passes_over", 1.0),
            ("inferometer_pass_requests_planned", 40.0),
            ("inferometer_output_tokens_total", 80.0),
            ("inferometer_time_to_first_token_seconds_count", 20.0),
            ("inferometer_inter_token_latency_seconds_count", 60.0),
            ("inferometer_send_delay_seconds_count", 21.0),
            ("inferometer_run_start_time_seconds", 1_795_151_553.5),
        ] {
            assert_eq!(value(&text, name), expected, "{name}");
        }
        let info = metrics(&text).find(|metric| metric.name == "inferometer_run_info");
        assert_eq!(info.and_then(|info| info.label("model")), Some("书生 \\\"20B\\\""));
        assert!(value(&text, "process_resident_memory_bytes") > 1e6, "{text}");
    }

    #[test]
    fn histogram_buckets_are_cumulative_and_the_last_bucket_equals_the_count() {
        let text = of(live_state().live());
        let buckets: Vec<Metric<'_>> =
            metrics(&text).filter(|metric| metric.name.ends_with("_bucket")).collect();
        assert_eq!(buckets.iter().filter(|bucket| bucket.label("le") == Some("+Inf")).count(), 7);
        for pair in buckets.windows(2).filter(|pair| pair[0].name == pair[1].name) {
            assert!(pair[0].value <= pair[1].value, "{pair:?}");
        }
        for last in buckets.iter().filter(|bucket| bucket.label("le") == Some("+Inf")) {
            let count = last.name.replace("_bucket", "_count");
            assert_eq!(last.value, value(&text, &count), "{count}");
        }
        // The shortest TTFT is 20 ms, the longest 39 ms.
        let at = |le: &str| {
            let is_it = |bucket: &&Metric<'_>| {
                bucket.name == "inferometer_time_to_first_token_seconds_bucket"
                    && bucket.label("le") == Some(le)
            };
            buckets.iter().find(is_it).map(|bucket| bucket.value)
        };
        assert_eq!((at("0.01"), at("0.02"), at("0.04")), (Some(0.0), Some(1.0), Some(20.0)));
    }

    #[test]
    fn every_metric_family_has_help_and_type_and_only_counters_end_in_total() {
        let text = of(live_state().live());
        let heads = |mark: &str| {
            let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
            let names = lines.filter_map(|line| line.split_once(' ').map(|(name, _)| name));
            names.map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(heads("# HELP "), heads("# TYPE "));
        for metric in metrics(&text) {
            let family = ["_bucket", "_sum", "_count"]
                .into_iter()
                .find_map(|part| metric.name.strip_suffix(part))
                .unwrap_or(metric.name);
            assert!(heads("# TYPE ").iter().any(|name| name == family), "{family}");
            let counts = text.contains(&format!("# TYPE {family} counter\n"));
            assert_eq!(counts, family.ends_with("_total"), "{family}");
        }
    }

    #[test]
    fn the_dashboard_for_grafana_asks_only_for_exposed_metrics_and_for_every_histogram() {
        let dashboard = include_str!("../../../../../docs/grafana.json");
        serde_json::from_str::<serde_json::Value>(dashboard).expect("JSON");
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let words = dashboard.split(|c: char| !is_part(c));
        let asked: Vec<&str> = words
            .filter(|word| word.starts_with("inferometer_") || word.starts_with("process_"))
            .collect();
        let text = of(live_state().live());
        for name in &asked {
            assert!(metrics(&text).any(|metric| metric.name == *name), "{name}");
        }
        let histograms = metrics(&text).filter(|metric| metric.name.ends_with("_seconds_bucket"));
        for histogram in histograms {
            assert!(asked.contains(&histogram.name), "{}", histogram.name);
        }
    }

    #[test]
    fn counters_persist_over_passes_and_runs_and_exclude_passes_copied_from_earlier_runs() {
        let events = live_state();
        let process = Process { stalls: 2, stalled_us: 30_000, ..Process::default() };
        events.emit(Event::PassStopped(Some(&process)));
        // A pass that was copied from an earlier run sent nothing, so its records are not counted.
        events.emit(Event::Record(&Timeline::new(&record(3))));
        let summary = PassFold::new(&saturated(1, 1).plan).finish();
        let resumed = PassEnded { label: "", summary: &summary, resumed: true, is_block: false };
        events.emit(Event::PassEnded(&resumed));
        let between = of(events.live());
        assert!(!between.contains("inferometer_pass_info"), "{between}");
        assert_eq!(of_outcome(&between, "complete"), 20.0);
        assert_eq!(value(&between, "inferometer_run_passes_over"), 3.0);
        assert_eq!(value(&between, "inferometer_loop_stalled_seconds_total"), 0.03);

        events.emit(Event::RunStarted(&run_started("next", 1)));
        let live = Arc::new(Live::default());
        events.emit(Event::PassStarted(&pass_started("a", saturated(2, 4), &live)));
        let dropped = Record { outcome: Outcome::Dropped, ..record(0) };
        events.emit(Event::Record(&Timeline::new(&dropped)));
        events.emit(Event::Record(&Timeline::new(&record(1))));
        let after = of(events.live());
        assert_eq!((of_outcome(&after, "complete"), of_outcome(&after, "dropped")), (21.0, 1.0));
        assert_eq!(value(&after, "inferometer_run_passes_over"), 0.0);
    }
}
