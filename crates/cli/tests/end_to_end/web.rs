//! The dashboard as a process: it starts, serves pages, and stops.

use std::process::Command;

use crate::support::{BINARY, Dashboard, folder, inferometer, told};

#[test]
fn the_dashboard_starts_before_any_run_is_stored() {
    let folder = folder();
    let web = Dashboard::start(folder.path());
    assert!(web.get("/").contains("no run"), "{}", web.get("/"));
    assert_eq!(web.end(), Some(0));
}

#[test]
fn the_dashboard_starts_serves_pages_and_stops() {
    let folder = folder();
    let arguments = ["run", "--speed", "200", "--input-lengths", "16", "--output-lengths", "4"];
    let more = ["--one-by-one", "1", "--requests", "2", "--warmup", "0", "--quiet"];
    inferometer(folder.path(), &[&arguments[..], &more].concat());
    let web = Dashboard::start(folder.path());
    let list = web.get("/");
    assert!(list.starts_with("HTTP/1.1 200 OK") && list.contains("1 run."), "{list}");
    assert!(web.get("/runs/latest").starts_with("HTTP/1.1 303 "));
    let summary = web.get("/runs/latest/summary.json");
    assert!(summary.contains("\"schema\": \"inferometer.summary/1\""), "{summary}");

    let taken = inferometer(folder.path(), &["web", "--listen", &web.address]);
    assert_eq!(taken.status.code(), Some(2));
    assert!(told(&taken).contains("another program listens there"), "{}", told(&taken));
    assert_eq!(web.interrupt(), Some(0));

    let none = inferometer(folder.path(), &["web", "--store", "none.db"]);
    assert_eq!(none.status.code(), Some(2));
    let weak = Command::new(BINARY)
        .current_dir(folder.path())
        .args(["web", "--listen", "127.0.0.1:0"])
        .env("INFEROMETER_WEB_TOKEN", "short")
        .output()
        .expect("it runs");
    assert!(weak.status.code() == Some(2) && told(&weak).contains("16"), "{}", told(&weak));
}
