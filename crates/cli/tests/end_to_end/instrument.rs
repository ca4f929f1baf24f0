//! Measurements of the client itself: `check`, and the findings of a run whose client was delayed.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Engine, Scraped, folder, inferometer, told, wait_until};

#[test]
fn check_measures_the_client_errors_against_a_server_with_known_timing() {
    let folder = folder();
    let output = inferometer(folder.path(), &["check", "--quick", "--json", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(told(&output), "");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let levels = document["levels"].as_array().expect("levels");
    let streams: Vec<_> = levels.iter().map(|level| level["streams"].as_u64()).collect();
    assert_eq!(streams, [Some(1), Some(64)]);
    for level in levels {
        // Figures depend on the machine, so the test only checks that they were measured.
        for error in ["ttft_error_us", "gap_error_us", "arrival_error_us"] {
            for stamp in ["kernel", "user"] {
                let [p50, p99, max] =
                    ["p50", "p99", "max"].map(|q| level[error][stamp][q].as_f64().expect(error));
                assert!(p50 >= 0.0 && p50 <= p99 && p99 <= max, "{error} {level}");
            }
        }
        for figure in ["tokens_per_s", "client_cpu_s_per_mtok", "reader_cpu_s_per_mtok"] {
            assert!(level[figure].as_f64().expect(figure) > 0.0, "{figure} {level}");
        }
        let streams = level["streams"].as_u64().expect("streams");
        // If the client sends slowly, the first answers may end before the last request is sent. So the peak may be
        // lower than the number of streams.
        for peak in [&level["peak_concurrency"], &level["server"]["peak_streams"]] {
            assert!(peak.as_u64().is_some_and(|peak| (1..=streams).contains(&peak)), "{level}");
        }
        // The server counted all tokens: two requests of 16 tokens in each stream.
        assert_eq!(level["server"]["tokens"].as_u64(), Some(32 * streams));
        assert_eq!(level["server"]["requests"].as_u64(), Some(2 * streams));
    }
    assert_eq!(document["open_loops"][0]["requests"].as_u64(), Some(60));
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Waits until a process is stopped, according to its state in `/proc`.
fn wait_until_stopped(process: u32) {
    wait_until("the stop", || {
        let path = format!("/proc/{process}/status");
        let status = std::fs::read_to_string(path).expect("the process exists");
        status.lines().any(|line| line.starts_with("State:") && line.contains('T'))
    });
}

#[test]
fn a_pause_of_the_client_process_makes_the_run_suspect() {
    // Tokens arrive about every 20 ms; the client waits between them.
    let engine = Engine::start_at("1", &[]);
    let folder = folder();
    let began = Instant::now();
    let lengths = ["--input-lengths", "24", "--output-lengths", "8", "--warmup", "0"];
    let load = ["--concurrency", "1", "--duration", "1h", "--json", "--quiet"];
    let target = ["--target", &engine.url];
    let scraped = Scraped::start(folder.path(), &[&target[..], &lengths, &load].concat());
    // The pass is in progress, and would continue for an hour.
    scraped.wait_for("inferometer_requests_total{outcome=\"complete\"}", 1.0);
    let Scraped { mut run, errors, .. } = scraped;
    run.signal("-STOP");
    wait_until_stopped(run.id());
    // The stop lasts as long as the run so far, and at least 700 ms. So it is a large part of the pass on any machine.
    let stop = began.elapsed().max(Duration::from_millis(700));
    std::thread::sleep(stop);
    run.signal("-INT");
    run.signal("-CONT");
    let said: Vec<String> = errors.map_while(Result::ok).collect();
    let output = run.finish();
    assert_eq!(output.status.code(), Some(130), "{said:?}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let process = &summary["cells"][0]["passes"][0]["instrument"]["process"];
    // An idle client reads the clock every 50 ms, so the measured stop may be up to 50 ms shorter than the real one.
    let stood_still = process["stalled_us"].as_u64().map(Duration::from_micros);
    assert!(stood_still >= Some(stop - Duration::from_millis(50)), "{stop:?}: {process}");
    assert_eq!(summary["verdict"]["validity"], "suspect");
    // The rates of the interrupted pass count as unreliable figures.
    let figures = &summary["verdict"]["figures"];
    assert!(figures["not_vouched_for"].as_u64() >= Some(2), "{figures}");
}

#[test]
fn a_suspect_run_fails_only_if_strict_is_given() {
    let engine = Engine::start(&[]);
    // Twelve requests are due at the same time, and only two may be in flight. So some are dropped on any machine.
    let load = ["--requests", "12", "--max-in-flight", "2", "--over-limit", "drop"];
    let flags = ["run", "--target", &engine.url, "--input-lengths", "24", "--output-lengths", "2"];
    let more = ["--rate", "inf", "--warmup", "0", "--max-failures", "100%", "--json", "--quiet"];
    let flags = [&flags[..], &load, &more].concat();
    for (strict, code) in [(&[][..], 0), (&["--strict"], 4)] {
        let output = inferometer(folder().path(), &[&flags[..], strict].concat());
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).expect("one document");
        assert_eq!(summary["verdict"]["validity"], "suspect");
        assert_eq!(told(&output).contains("the run is suspect: "), code == 4, "{}", told(&output));
        // Kernels with this file report how long the client waited for a processor.
        let process = &summary["cells"][0]["passes"][0]["instrument"]["process"];
        let is_told = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(process["waited_for_cpu_us"].is_u64(), is_told, "{process}");
    }
}
