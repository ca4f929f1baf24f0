//! The descendants of a process and their resource use, from `/proc`. No process is ended here.

use std::{collections::BTreeMap, fs};

use inferometer_net::proc_units;

use crate::launch::event::Usage;

/// One process, from `/proc/PID/stat` (see proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    /// Processor time of the process itself, in ticks.
    ticks: u64,
    /// Processor time of descendants that the process has waited for, in ticks.
    reaped_ticks: u64,
    /// The number of resident pages.
    pages: u64,
}

/// A process and its descendants.
pub(crate) struct Tree {
    root: Option<Process>,
    descendants: Vec<Process>,
}

impl Tree {
    /// Finds the descendants of the process `root` among all processes of the machine.
    pub(crate) fn of(root: u32) -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // A process that ends while `/proc` is read is left out.
        let all = numbers
            .filter_map(|pid: u32| parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?));
        Self::among(root, all)
    }

    fn among(root: u32, all: impl Iterator<Item = Process>) -> Self {
        let mut by_parent: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
        let mut found = None;
        for process in all {
            if process.pid == root {
                found = Some(process);
            }
            by_parent.entry(process.parent).or_default().push(process);
        }
        let mut descendants = Vec::new();
        let mut open = vec![root];
        while let Some(parent) = open.pop() {
            for process in by_parent.remove(&parent).unwrap_or_default() {
                open.push(process.pid);
                descendants.push(process);
            }
        }
        Self { root: found, descendants }
    }

    /// The process ids of the descendants.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.descendants.iter().map(|process| process.pid)
    }

    /// The resource use of the descendants. Processor time includes descendants that have ended, if their parent has
    /// waited for them.
    pub(crate) fn usage(&self) -> Usage {
        let units = proc_units();
        let living: u64 = self.descendants.iter().map(|p| p.ticks + p.reaped_ticks).sum();
        let ticks = living + self.root.map_or(0, |root| root.reaped_ticks);
        let pages: u64 = self.descendants.iter().map(|process| process.pages).sum();
        let rss_bytes = pages * units.page_bytes;
        Usage {
            cpu_s: ticks as f64 / units.ticks_per_s as f64,
            rss_bytes,
            peak_rss_bytes: rss_bytes,
            processes: self.descendants.len() as u64,
        }
    }
}

/// Parses `/proc/PID/stat`. The name of the program is in parentheses. It may contain any character, including
/// parentheses.
fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first element of `fields` is field 3 of the manual page.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Process {
        pid: pid.parse().ok()?,
        parent: u32::try_from(number(4)?).ok()?,
        ticks: number(14)? + number(15)?,
        reaped_ticks: number(16)? + number(17)?,
        pages: number(24)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32) -> Process {
        Process { pid, parent, ticks: 100, reaped_ticks: 10, pages: 2 }
    }

    #[test]
    fn the_stat_line_of_a_process_is_parsed_for_any_process_name() {
        let stat = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 50 6 7 8 20 0 1 0 9 1000 11 18\n";
        let expected = Process { pid: 42, parent: 7, ticks: 56, reaped_ticks: 15, pages: 11 };
        assert_eq!(parse(stat), Some(expected));
        assert_eq!(parse("42 (cut"), None);
    }

    #[test]
    fn a_process_tree_includes_grandchildren_and_no_unrelated_processes() {
        let all = [(1, 0), (5, 1), (10, 5), (11, 10), (12, 11), (20, 1), (21, 20)];
        let tree = Tree::among(5, all.into_iter().map(|(pid, parent)| process(pid, parent)));
        assert_eq!(tree.pids().collect::<Vec<_>>(), [10, 11, 12]);
        let units = proc_units();
        let usage = tree.usage();
        // The time of three processes, and the time that the root has reaped.
        assert!((usage.cpu_s - 340.0 / units.ticks_per_s as f64).abs() < 1e-9);
        assert_eq!(usage.rss_bytes, 6 * units.page_bytes);
        assert_eq!(usage.processes, 3);
    }

    #[test]
    fn this_process_is_found_in_the_process_table_of_the_system() {
        let tree = Tree::of(std::process::id());
        assert_eq!(tree.root.map(|root| root.pid), Some(std::process::id()));
    }
}
