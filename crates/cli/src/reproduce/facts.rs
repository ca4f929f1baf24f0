//! The facts that differ between two runs and may explain different results. They concern the server, its cards and the
//! client's machine. Facts that only identify a run, a file or an address are left out.

use inferometer_analysis::Summary;
use inferometer_model::Environment;

/// Facts that only identify a run or its inputs, or that were observed during the run.
const OF_THE_RUN: [&str; 14] = [
    "plan", "salt", "workload", "group", "group_salt", "variant", "round", "resumes", "against",
    "imported from", "server_cpu_s", "server_peak_rss_bytes", "server_processes", "noise",
];
/// Arguments of a server that state where it listens.
const OF_THE_ADDRESS: [&str; 4] = ["--host", "--port", "-p", "--listen"];
/// The text for a fact that one side does not state.
const NOT_STATED: &str = "not stated";
/// The text of a comparison for a missing fact.
const ABSENT: &str = "-";

/// The facts that differ: name, value in the bundle, value here. `differing` are the facts of the target that a
/// comparison found.
pub fn facts(differing: &[[String; 3]], there: &Summary, here: &Summary) -> Vec<[String; 3]> {
    let stated = |value: &String| match value.as_str() {
        ABSENT => NOT_STATED.to_owned(),
        _ => value.clone(),
    };
    let told = differing.iter().filter(|fact| matters(fact));
    let of_target = told.map(|[name, there, here]| [name.clone(), stated(there), stated(here)]);
    let (there, here) = (of_machine(&there.environment), of_machine(&here.environment));
    let of_machine = there.into_iter().zip(here).filter_map(|((name, there), (_, here))| {
        let is_known = there.is_some() || here.is_some();
        let text = |value: Option<String>| value.unwrap_or_else(|| NOT_STATED.to_owned());
        (is_known && there != here).then(|| [name.to_owned(), text(there), text(here)])
    });
    of_target.chain(of_machine).collect()
}

fn matters([name, there, here]: &[String; 3]) -> bool {
    let is_place = |value: &str| value.starts_with('/') || value.contains("://");
    let is_address = OF_THE_ADDRESS.contains(&name.as_str());
    let is_command = name == "command" && without_address(there) == without_address(here);
    let are_places = is_place(there) && is_place(here);
    !(OF_THE_RUN.contains(&name.as_str()) || is_address || is_command || are_places)
}

/// The words of a command, without those that state where the server listens.
fn without_address(command: &str) -> Vec<&str> {
    let mut words = command.split_whitespace();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let flag = word.split('=').next().unwrap_or(word);
        if !OF_THE_ADDRESS.contains(&flag) {
            kept.push(word);
        } else if flag == word {
            words.next();
        }
    }
    kept
}

/// Facts about the client's machine, and about the cards that were found on the server's machine. The comparison of
/// runs does not contain these facts.
fn of_machine(environment: &Environment) -> [(&'static str, Option<String>); 6] {
    let names: Vec<&str> =
        environment.cards.iter().filter_map(|card| card.name.as_deref()).collect();
    let driver = environment.cards.iter().find_map(|card| card.driver.clone());
    let memory = environment
        .memory_bytes
        .map(|bytes| format!("{:.0} GiB", bytes as f64 / (1_u64 << 30) as f64));
    [
        ("cards", (!names.is_empty()).then(|| names.join(" + "))),
        ("driver", driver),
        ("processor", environment.cpu.clone()),
        ("processors", environment.cpus.map(|cpus| cpus.to_string())),
        ("memory", memory),
        ("governor", environment.governor.clone()),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn facts_that_only_identify_a_run_or_locate_a_server_are_not_reported() {
        let matters = |name: &str, there: &str, here: &str| {
            super::matters(&[name.to_owned(), there.to_owned(), here.to_owned()])
        };
        for (name, there, here, is_told) in [
            ("engine version", "0.9", "0.10", true),
            ("--max-num-seqs", "64", "-", true),
            ("plan", "ab", "cd", false),
            ("salt", "ab", "cd", false),
            ("--port", "8000", "8001", false),
            ("root", "/models/a", "/srv/a", false),
            ("dcgm", "http://a:1", "http://b:1", false),
            ("command", "serve m --port 8000 --x 1", "serve m --x 1 --port=9", false),
            ("command", "serve m --port 8000 --x 1", "serve m --port 8000 --x 2", true),
        ] {
            assert_eq!(matters(name, there, here), is_told, "{name} {there} {here}");
        }
    }
}
