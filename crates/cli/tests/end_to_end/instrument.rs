//! The instrument on itself: `check`, and what a run says of a client that was held up.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{BINARY, Engine, folder, inferometer, log_bytes, told};

#[test]
fn check_measures_the_client_against_a_server_of_known_truth() {
    let folder = folder();
    let output = inferometer(folder.path(), &["check", "--quick", "--json", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(told(&output), "");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let levels = document["levels"].as_array().expect("levels");
    let streams: Vec<_> = levels.iter().map(|level| level["streams"].as_u64()).collect();
    assert_eq!(streams, [Some(1), Some(64)]);
    for level in levels {
        // Figures depend on the machine; that they were measured does not.
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
        assert_eq!(level["peak_concurrency"].as_u64(), Some(streams));
        assert_eq!(level["server"]["peak_streams"].as_u64(), Some(streams));
        // Two requests of 16 tokens in each stream, all of them seen.
        assert_eq!(level["server"]["tokens"].as_u64(), Some(32 * streams));
        assert_eq!(level["server"]["requests"].as_u64(), Some(2 * streams));
    }
    assert_eq!(document["open_loops"][0]["requests"].as_u64(), Some(60));
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_client_that_was_stopped_makes_the_run_suspect() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let mut client = Command::new(BINARY)
        .current_dir(folder.path())
        .args(["run", "--target", &engine.url, "--input-lengths", "24", "--output-lengths", "64"])
        .args(["--concurrency", "1", "--duration", "3s", "--warmup", "0", "--json", "--quiet"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the client starts");
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &client.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    };
    // The pass goes on when its log has its first records: what comes before them is shorter.
    while log_bytes(folder.path()) < 2_000 {
        std::thread::yield_now();
    }
    signal("-STOP");
    std::thread::sleep(Duration::from_millis(700));
    signal("-CONT");
    let mut text = String::new();
    client.stdout.take().expect("stdout is a pipe").read_to_string(&mut text).expect("a document");
    assert_eq!(client.wait().expect("it ends").code(), Some(0));
    let summary: Value = serde_json::from_str(&text).expect("one document");
    let process = &summary["cells"][0]["passes"][0]["instrument"]["process"];
    // The stop may have fallen between two heartbeats.
    assert!(process["stalled_us"].as_u64().expect("stalls") >= 300_000, "{process}");
    assert_eq!(summary["verdict"]["validity"], "suspect");
    let reasons = summary["verdict"]["reasons"].to_string();
    assert!(reasons.contains("the client stood still"), "{reasons}");
}

/// Programs that do nothing but hold a processor, until this is dropped.
struct Spinners(Vec<Child>);

impl Spinners {
    fn on(processor: &str, count: usize) -> Self {
        let spin = ["-c", processor, "sh", "-c", "while :; do :; done"];
        let spinner = |_| Command::new("taskset").args(spin).spawn().expect("taskset runs");
        Self((0..count).map(spinner).collect())
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for spinner in &mut self.0 {
            let _ = spinner.kill();
            let _ = spinner.wait();
        }
    }
}

#[test]
fn a_client_on_a_busy_processor_makes_the_run_suspect() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let _spinners = Spinners::on("0", 3);
    let output = Command::new("taskset")
        .current_dir(folder.path())
        .args(["-c", "0", "nice", "-n", "19", BINARY, "run", "--target", &engine.url])
        .args(["--input-lengths", "24", "--output-lengths", "2", "--rate", "200"])
        .args(["--requests", "100", "--warmup", "0", "--json", "--quiet", "--strict"])
        .output()
        .expect("the client runs");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    let reasons = summary["verdict"]["reasons"].to_string();
    assert!(reasons.contains("the 99th percentile of send_delay is"), "{reasons}");
    let process = &summary["cells"][0]["passes"][0]["instrument"]["process"];
    assert!(process["waited_for_cpu_us"].as_u64().expect("an account") > 100_000, "{process}");
}
