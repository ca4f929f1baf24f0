//! Tests the structure of the workspace: each crate depends only on listed crates, modules do not import each other in
//! cycles, and some code occurs only in listed files. Other tests check the beginning and the length of files, and the
//! examples in comments.

mod levels;
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use modules::Modules;

/// The crates of the workspace that each crate may depend on.
const MAY_DEPEND_ON: [(&str, &[&str]); 19] = [
    ("model", &[]),
    ("wire", &["model"]),
    ("plan", &["model"]),
    ("net", &["model", "wire"]),
    ("analysis", &["model", "plan"]),
    ("workload", &["model", "plan", "net"]),
    ("engine", &["model", "wire", "net"]),
    ("formats", &["model", "analysis"]),
    ("report", &["model", "plan", "analysis"]),
    ("store", &["model", "plan", "analysis"]),
    ("drive", &["model", "wire", "plan", "net", "analysis"]),
    ("servers", &["model", "wire", "plan", "net"]),
    ("cluster", &["model", "net", "store"]),
    (
        "run",
        &[
            "model", "wire", "plan", "net", "analysis", "workload", "engine", "report", "store",
            "drive", "servers", "cluster",
        ],
    ),
    ("check", &["model", "wire", "plan", "net", "analysis", "store", "drive", "run"]),
    (
        "predict",
        &[
            "model", "plan", "net", "analysis", "workload", "engine", "formats", "report", "store",
            "run",
        ],
    ),
    ("web", &["model", "plan", "net", "analysis", "report", "store", "run"]),
    (
        "cli",
        &[
            "model", "wire", "plan", "net", "analysis", "workload", "engine", "formats", "report",
            "store", "drive", "servers", "cluster", "run", "check", "predict", "web",
        ],
    ),
    ("python", &["model", "plan", "report", "store", "run", "predict", "cli"]),
];

/// Code that only the listed files may contain, among the files in the folders `src`. The paths of the files begin with
/// the crate.
const ONLY_IN: [(&str, &[&str]); 8] = [
    ("Instant::now", &[]),
    ("SystemTime::now", &[]),
    // This function panics if the system cannot start a thread; `inferometer_net::thread` returns an error instead.
    ("std::thread::spawn", &[]),
    ("scope.spawn(", &["analysis/src/compare/tests.rs", "cluster/src/tests.rs"]),
    (
        "thread::sleep",
        &[
            "net/src/stamp.rs",
            "run/src/recording/recorder.rs",
            "run/src/recording/queue.rs",
            "cli/src/command_line/interrupt.rs",
        ],
    ),
    (
        "unsafe {",
        &[
            "net/src/sys/mod.rs", "net/src/sys/epoll.rs", "net/src/sys/process.rs",
            "net/src/sys/socket.rs",
        ],
    ),
    (
        "TcpListener",
        &[
            "net/src/epoll.rs", "net/src/free_port.rs", "net/src/http/relay.rs",
            "cluster/src/lead.rs", "cluster/src/lead/welcome.rs",
        ],
    ),
    (
        "TcpStream",
        &[
            "net/src/epoll.rs",
            "net/src/socket.rs",
            "net/src/sys/socket.rs",
            "net/src/tls/client.rs",
            "net/src/http/client/stream.rs",
            "net/src/http/relay.rs",
            "cluster/src/link.rs",
            "cluster/src/lead/welcome.rs",
        ],
    ),
];

/// The files that make the timeline of a record, each with the number of places: those in which records arrive. Whatever
/// needs figures of a request gets the timeline from there, so each record is read once.
const READ_IN: [(&str, usize); 16] = [
    // A watcher ends a pass early by records that are not in their stored form yet.
    ("drive/src/driver/finish.rs", 1),
    ("drive/src/driver/common.rs", 1),
    ("run/src/recording/recorder.rs", 2),
    // Requests that never began differ in their index only.
    ("run/src/recording/pass_figures.rs", 1),
    ("run/src/results/log_summary.rs", 1),
    ("web/src/follow.rs", 1),
    ("store/src/db/requests.rs", 1),
    ("formats/src/export/table/requests.rs", 1),
    ("formats/src/dialect/v02.rs", 1),
    ("formats/src/import/tool/pass.rs", 1),
    ("predict/src/ab.rs", 1),
    ("predict/src/simulated_pass.rs", 1),
    ("predict/src/player.rs", 1),
    ("predict/src/predict.rs", 1),
    ("predict/src/measured_runs.rs", 1),
    ("check/src/truth/errors.rs", 1),
];

/// The maximum number of lines of a file.
const MOST_LINES: usize = 400;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the crates")
}

/// The dependencies of each crate, without those of its tests and its build script.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(crates())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let needed = package["dependencies"].as_array().expect("dependencies");
            let names = needed
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .filter_map(|dependency| dependency["name"].as_str().map(str::to_owned));
            (short_name(package["name"].as_str().expect("a name")), names.collect())
        })
        .collect()
}

/// The name of a crate without the workspace's prefix.
fn short_name(package: &str) -> String {
    if package == "inferometer" {
        return "cli".to_owned();
    }
    package.trim_start_matches("inferometer-").to_owned()
}

#[test]
fn every_crate_has_only_allowed_dependencies() {
    let found = dependencies();
    let allowed: BTreeMap<&str, &[&str]> = MAY_DEPEND_ON.into_iter().collect();
    for (name, needed) in &found {
        let may = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name}: an unknown crate"));
        for dependency in needed.iter().filter(|name| name.starts_with("inferometer-")) {
            let other = short_name(dependency);
            assert!(may.contains(&other.as_str()), "{name} must not depend on {other}");
        }
        for runtime in ["tokio", "async-std", "smol", "reqwest", "hyper"] {
            assert!(!needed.contains(runtime), "{name} must not depend on {runtime}");
        }
    }
    let missing: Vec<_> = allowed.keys().filter(|name| !found.contains_key(**name)).collect();
    assert!(missing.is_empty(), "MAY_DEPEND_ON lists crates that do not exist: {missing:?}");
}

#[test]
fn clocks_sockets_and_unsafe_code_occur_only_in_allowed_files() {
    let crates = crates();
    let mut looked_at = 0;
    for (package, _) in MAY_DEPEND_ON {
        for file in rust_files(&crates.join(package).join("src")) {
            looked_at += 1;
            let text = fs::read_to_string(&file).expect("a source file");
            let name = file.strip_prefix(&crates).expect("below the crates").display().to_string();
            for (what, where_allowed) in ONLY_IN {
                let found = text.contains(what);
                let is_allowed = !found || where_allowed.contains(&name.as_str());
                assert!(is_allowed, "{name} must not contain `{what}`");
            }
        }
    }
    assert!(looked_at > 100, "only {looked_at} files were found");
}

#[test]
fn each_record_is_read_only_where_records_arrive() {
    let crates = crates();
    let mut found = BTreeMap::new();
    for (package, _) in MAY_DEPEND_ON {
        for file in rust_files(&crates.join(package).join("src")) {
            let name = file.strip_prefix(&crates).expect("below the crates").display().to_string();
            let text = fs::read_to_string(&file).expect("a source file");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let count = code.matches("Timeline::new(").count();
            if count > 0 && !["tests", "fixture"].iter().any(|part| name.contains(part)) {
                found.insert(name, count);
            }
        }
    }
    let expected = READ_IN.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn no_crate_has_an_import_cycle_between_its_modules() {
    let crates = crates();
    for (name, _) in MAY_DEPEND_ON {
        let cycles = Modules::read(&crates.join(name).join("src")).cycles();
        assert!(cycles.is_empty(), "{name}: {}", cycles.join("\n"));
    }
}

#[test]
fn an_import_cycle_through_a_reexport_or_an_attribute_is_found() {
    let src = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(src.path().join(name), text).expect("written");
    write("lib.rs", "mod a; mod b; pub use a::One;");
    write("a.rs", "use crate::b::Two; pub struct One(Two);");
    write("b.rs", "pub struct Two;");
    assert!(Modules::read(src.path()).cycles().is_empty());
    write("b.rs", "use crate::One; pub struct Two(Box<One>);");
    let cycles = Modules::read(src.path()).cycles();
    assert!(cycles[0].contains("a -> b") && cycles[0].contains("b -> a"), "{cycles:?}");
    write("b.rs", "#[arg(parser = super::a::one)] pub struct Two;");
    assert_eq!(Modules::read(src.path()).cycles().len(), 1, "attributes name modules too");
}

#[test]
fn every_source_file_begins_with_a_module_comment_and_none_is_too_long() {
    let crates = crates();
    let files =
        MAY_DEPEND_ON.iter().flat_map(|(name, _)| rust_files(&crates.join(name).join("src")));
    let faults = files.filter_map(|file| {
        let text = fs::read_to_string(&file).expect("a source file");
        let name = file.strip_prefix(&crates).expect("below the crates").display().to_string();
        let lines = text.lines().count();
        match text.starts_with("//!") {
            false => Some(format!("{name}: does not begin with a module comment")),
            true if lines > MOST_LINES => Some(format!(
                "{name}: has {lines} lines, more than {MOST_LINES}; move a part, or its tests, to a file of its own"
            )),
            true => None,
        }
    });
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_comments_of_the_cli_crate_contain_rust_examples_because_only_those_are_tested() {
    let crates = crates();
    for (package, _) in MAY_DEPEND_ON.iter().filter(|(package, _)| *package != "cli") {
        for file in rust_files(&crates.join(package).join("src")) {
            let text = fs::read_to_string(&file).expect("a source file");
            let comments = text.lines().filter_map(|line| {
                let line = line.trim_start();
                line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
            });
            let fences = comments.filter_map(|line| line.trim().strip_prefix("```"));
            // Every second fence closes a block.
            for language in fences.step_by(2) {
                let is_run = !matches!(language, "text" | "sh" | "json" | "toml" | "csv");
                assert!(!is_run, "{}: no test runs this example: ```{language}", file.display());
            }
        }
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
