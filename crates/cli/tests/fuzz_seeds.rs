//! Runs each fuzz target on its stored inputs, which are small. The tests call the same functions as the fuzzer. So a
//! problem that the fuzzer has found is tested in every run of the tests, if its input is stored.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

/// The minimum number of stored inputs of each target.
const FEWEST: usize = 5;
/// The maximum size in bytes of all stored inputs together.
const MOST_BYTES: u64 = 300 << 10;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(name)
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn every_fuzz_seed_passes_the_assertions_of_its_target() {
    for (target, check) in fuzz::TARGETS {
        let seeds = files(&folder("seeds").join(target));
        assert!(seeds.len() >= FEWEST, "{target} has {} seeds", seeds.len());
        for seed in seeds {
            // Printed if the test fails.
            println!("{}", seed.display());
            check(&fs::read(&seed).expect("a file"));
        }
    }
}

#[test]
fn every_fuzz_target_is_listed_and_has_seeds_and_all_seeds_together_are_small() {
    let listed: BTreeSet<&str> = fuzz::TARGETS.iter().map(|(target, _)| *target).collect();
    let stem = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    for folder in [folder("fuzz_targets"), folder("seeds")] {
        let found: BTreeSet<String> = files(&folder).iter().map(stem).collect();
        assert!(found.iter().map(String::as_str).eq(listed.iter().copied()), "{found:?}");
    }
    let seeds = listed.iter().flat_map(|target| files(&folder("seeds").join(target)));
    let bytes: u64 = seeds.map(|seed| fs::metadata(seed).expect("a file").len()).sum();
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
}
