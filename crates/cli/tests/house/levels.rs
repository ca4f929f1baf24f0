//! Tests that each crate that a token passes, from the socket to the run log, is compiled with all optimisations.

use std::collections::BTreeSet;
use std::fs;

use toml::{Table, Value};

use crate::crates;

/// The crates that a token passes, also in the reference server and in the embedded engine. The crate of the program
/// is one of them: when it is linked, all crates are optimised once more at its level, and only at level 3 are their
/// loops vectorised. Cargo also strips the symbols only if this crate has no profile of its own.
const PASSED_BY_A_TOKEN: [&str; 28] = [
    "inferometer", "inferometer-model", "inferometer-net", "inferometer-wire", "inferometer-drive",
    "inferometer-analysis", "inferometer-store", "inferometer-run", "inferometer-engine",
    "inferometer-check", "inferometer-cluster", "memchr", "httparse", "simdutf8", "serde_core",
    "serde_json", "itoa", "zmij", "hashbrown", "rustls", "ring", "libc", "libm", "crc32fast",
    "zstd", "zstd-sys", "rusqlite", "libsqlite3-sys",
];

fn table(file: &str) -> Table {
    let text = fs::read_to_string(crates().join("..").join(file)).expect("a file");
    text.parse().expect("TOML")
}

#[test]
fn no_crate_that_a_token_passes_is_compiled_below_the_highest_level() {
    let manifest = table("Cargo.toml");
    let release = &manifest["profile"]["release"];
    let locked = table("Cargo.lock");
    let names = locked["package"].as_array().expect("packages").iter();
    let known: BTreeSet<&str> = names.filter_map(|package| package["name"].as_str()).collect();
    for name in PASSED_BY_A_TOKEN {
        assert!(known.contains(name), "PASSED_BY_A_TOKEN: {name} is no package");
    }
    assert_eq!(release["opt-level"], Value::Integer(3));
    for (name, own) in release["package"].as_table().expect("exceptions") {
        assert!(known.contains(name.as_str()), "[profile.release.package]: {name} is no package");
        let is_passed = PASSED_BY_A_TOKEN.contains(&name.as_str());
        assert!(!is_passed, "{name}: a token passes it, but its profile is {own}");
    }
}
