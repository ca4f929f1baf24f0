//! Limits of the system and signals at inconvenient moments: a clear error, the correct exit code, bounded memory.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use crate::support::{BINARY, Dashboard, Running, folder, inferometer, told, wait_until};
use crate::tiny_server;

const SMALL: [&str; 12] = [
    "--input-lengths", "16", "--output-lengths", "4", "--one-by-one", "2", "--requests", "4",
    "--warmup", "0", "--yes", "--quiet",
];

/// Runs the binary from a shell, after the shell command `limit` has set a limit.
fn limited(limit: &str, arguments: &[&str]) -> Output {
    let folder = folder();
    let line = format!("{limit}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.current_dir(folder.path()).args(["-c", &line, BINARY]).args(arguments);
    command.output().expect("a shell")
}

#[test]
fn a_file_size_limit_gives_an_error_message_and_does_not_kill_the_program() {
    for blocks in [8, 40, 120] {
        let run = limited(
            &format!("ulimit -f {blocks}"),
            &[&["run", "--speed", "200"], &SMALL[..]].concat(),
        );
        assert!(
            matches!(run.status.code(), Some(1 | 2)),
            "{blocks}: {:?}: {}",
            run.status,
            told(&run)
        );
        assert!(told(&run).contains("ulimit -f"), "{blocks}: {}", told(&run));
    }
}

#[test]
fn too_few_open_files_for_the_load_are_an_error_before_the_run_that_states_how_many_are_needed() {
    let run = |concurrency: &str| {
        let load = ["--concurrency", concurrency, "--requests", "100"];
        let cell = ["--input-lengths", "16", "--output-lengths", "4", "--warmup", "0", "--yes"];
        limited("ulimit -n 80", &[&["run", "--speed", "200"], &cell[..], &load].concat())
    };
    let refused = run("90");
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    let words = "of which 90 are connections to the server, but the system allows this process 80";
    assert!(told(&refused).contains(words), "{}", told(&refused));
    assert_eq!(run("30").status.code(), Some(0));
}

#[test]
fn a_thread_limit_gives_an_error_message_and_no_panic() {
    // The limit does not apply to root, so root runs the program as a user who has no other processes.
    let user = (std::fs::metadata("/proc/self").unwrap().uid() == 0).then_some(64_321);
    let run = |limit: u32, arguments: &[&str]| {
        let folder = folder();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        // In the shell `dash`, the option has another name.
        let line = format!(
            "ulimit -u {limit} 2>/dev/null || ulimit -p {limit} || exit 99; exec \"$0\" \"$@\""
        );
        let mut command = Command::new("sh");
        command.current_dir(folder.path()).env("HOME", folder.path()).args(["-c", &line, BINARY]);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        command.args(arguments).output().expect("a shell")
    };
    if !run(64, &["--version"]).status.success() {
        eprintln!("not tested: another user cannot run {BINARY}, or the limit cannot be set");
        return;
    }
    for limit in 1..=8 {
        let run = run(limit, &[&["run", "--speed", "200"], &SMALL[..]].concat());
        let told = told(&run);
        assert!(matches!(run.status.code(), Some(0 | 1)), "{limit}: {:?}: {told}", run.status);
        assert!(!told.contains("panicked") && !told.contains("resolved"), "{limit}: {told}");
        assert!(run.status.success() || told.contains("ulimit -u"), "{limit}: {told}");
        assert!(limit > 1 || !run.status.success(), "the limit had no effect");
    }
}

#[test]
fn an_interruption_ends_a_prediction_with_exit_code_130() {
    let folder = folder();
    let load = ["--rate", "20", "--requests", "900000", "--input-lengths", "512"];
    let more = ["--output-lengths", "128", "--json", "--quiet", "--model", "llama-3-8b"];
    let mut run = Running::start(folder.path(), &[&["predict"], &load[..], &more].concat());
    // The store is created before the simulation.
    wait_until("the store", || folder.path().join("inferometer.db").exists());
    run.signal("-INT");
    let output = run.finish();
    assert_eq!(output.status.code(), Some(130), "{}", told(&output));
    assert!(told(&output).contains("interrupted"), "{}", told(&output));
}

#[test]
fn a_sigstop_and_a_sigcont_during_discovery_do_not_interrupt_the_run() {
    let folder = folder();
    let (asked, released) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let first = AtomicBool::new(true);
    let gates = (Arc::clone(&asked), Arc::clone(&released));
    let url = tiny_server::serve(move |_| {
        if first.swap(false, SeqCst) {
            gates.0.wait();
            gates.1.wait();
        }
        tiny_server::whole("401 Unauthorized", "{}")
    });
    let mut run = Running::start(folder.path(), &["run", "--target", &url]);
    asked.wait();
    for _ in 0..3 {
        run.signal("-STOP");
        run.signal("-CONT");
    }
    released.wait();
    // The run has waited for this answer, and states it as the reason for its failure.
    let output = run.finish();
    assert!(!told(&output).contains("nterrupted"), "{}", told(&output));
    assert!(told(&output).contains("401"), "{}", told(&output));
}

/// A server that keeps connections open, and counts the generations of each connection.
fn counting_server() -> (String, Arc<Mutex<Vec<u32>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let counts = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&counts);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let all = Arc::clone(&all);
            std::thread::spawn(move || {
                let place = {
                    let mut all = all.lock().unwrap();
                    all.push(0);
                    all.len() - 1
                };
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while let Some(head) = next_request(&mut reader) {
                    let is_generation = head.starts_with("POST /v1/completions");
                    all.lock().unwrap()[place] += u32::from(is_generation);
                    let choice = r#"{"text":" tea","finish_reason":"length"}"#;
                    let body = format!("data: {{\"choices\":[{choice}]}}\n\ndata: [DONE]\n\n");
                    let (status, body) =
                        if is_generation { ("200 OK", &*body) } else { ("404 Not Found", "{}") };
                    let kind = if is_generation { "text/event-stream" } else { "application/json" };
                    let length = body.len();
                    let head = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
                    );
                    let _ = (&stream).write_all((head + body).as_bytes());
                }
            });
        }
    });
    (url, counts)
}

/// Reads the next request on a connection, including its body, and returns its head. `None` at the end of the
/// connection.
fn next_request(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        let line = head[before..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(head)
}

#[test]
fn each_request_has_its_own_connection_with_the_header_connection_close() {
    for (header, most) in [(&["--header", "Connection: close"][..], 1), (&[], 6)] {
        let folder = folder();
        let (url, counts) = counting_server();
        let target = ["run", "--target", &url, "--dialect", "openai-completions", "--model", "m"];
        let load = ["--passes", "one_by_one", "--one-by-one", "6", "--warmup", "0", "--yes"];
        let cell = ["--input-lengths", "16", "--output-lengths", "1"];
        let run = inferometer(folder.path(), &[&target[..], &load, &cell, header].concat());
        assert_eq!(run.status.code(), Some(0), "{}", told(&run));
        let counts = counts.lock().unwrap();
        assert!(counts.iter().sum::<u32>() >= 6, "{counts:?}");
        let largest = counts.iter().max().copied();
        assert!(if most == 1 { largest == Some(1) } else { largest >= Some(most) }, "{counts:?}");
    }
}

/// Waits until a process ends. Returns its peak resident memory in MiB, and its output.
fn peak_mib(mut run: Running) -> (u64, Output) {
    let path = format!("/proc/{}/status", run.id());
    let mut peak = 0;
    wait_until("the end of the process", || {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) >> 10);
        // A zombie has no memory.
        kib.is_none()
    });
    (peak, run.finish())
}

#[test]
fn no_server_answer_makes_the_client_exceed_the_documented_memory() {
    const TEXT: usize = 4 << 20;
    let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let endless = |part: &str| format!("{stream}{}", part.repeat((192 << 20) / part.len()));
    let event = r#"data: {"choices":[{"index":0,"text":" tea","finish_reason":null}]}"#;
    let answers = [
        ("events", endless(&format!("{event}\n\n"))),
        ("one message without an end", format!("{stream}data: {}", "x".repeat(192 << 20))),
        ("a large finish reason", {
            let reason = "x".repeat(TEXT);
            let last = format!(
                "data: {{\"choices\":[{{\"text\":\"a\",\"finish_reason\":\"{reason}\"}}]}}\n\n"
            );
            format!("{stream}{last}data: [DONE]\n\n")
        }),
    ];
    for (what, answer) in answers {
        let folder = folder();
        let url = tiny_server::serve(move |asked| {
            if asked.path().ends_with("/completions") {
                answer.clone()
            } else {
                tiny_server::whole("404 Not Found", "{}")
            }
        });
        let target = ["run", "--target", &url, "--dialect", "openai-completions", "--model", "m"];
        let load = ["--passes", "one_by_one", "--one-by-one", "2", "--event-timeout", "60s"];
        let lengths = ["--input-lengths", "16", "--output-lengths", "4"];
        let others = ["--warmup", "0", "--yes", "--quiet"];
        let run = Running::start(folder.path(), &[&target[..], &load, &lengths, &others].concat());
        let (mib, output) = peak_mib(run);
        assert!(mib > 0 && mib <= 512, "{what}: {mib} MiB, {}", told(&output));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{what}: {}", told(&output));
    }
}

#[test]
fn the_dashboard_answers_while_130_clients_send_requests_and_read_nothing() {
    let folder = folder();
    inferometer(folder.path(), &[&["run", "--speed", "200"], &SMALL[..]].concat());
    let web = Dashboard::start(folder.path());
    let address = &web.address;
    let request =
        format!("GET /runs/latest/report.html HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(50);
    let clients: Vec<TcpStream> = (0..130)
        .map_while(|_| {
            let mut client = TcpStream::connect(address).ok()?;
            client.set_write_timeout(Some(Duration::from_millis(200))).ok()?;
            let _ = client.write_all(request.as_bytes());
            Some(client)
        })
        .collect();
    assert_eq!(clients.len(), 130);
    let list = web.get("/");
    assert!(list.starts_with("HTTP/1.1 200 OK"), "{list}");
    drop(clients);
    assert_eq!(web.end(), Some(0));
}
