//! The properties of this machine, as the operating system reports them. Unknown values are `None`.

use std::fs;

use inferometer_model::Environment;

/// The properties of this machine, without those of its cards.
pub fn environment() -> Environment {
    let read = |path: &str| fs::read_to_string(path).ok();
    let line = |path: &str| read(path).map(|text| text.trim().to_owned());
    let kernel = match (line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")) {
        (Some(kind), Some(release)) => Some(format!("{kind} {release}")),
        _ => None,
    };
    Environment {
        host: line("/proc/sys/kernel/hostname"),
        cpu: read("/proc/cpuinfo").and_then(|text| field(&text, "model name")),
        cpus: std::thread::available_parallelism().ok().map(|count| count.get() as u32),
        memory_bytes: read("/proc/meminfo").and_then(|text| memory_bytes(&text)),
        kernel,
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ..Environment::default()
    }
}

/// The value of the first line of the form `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kib = field(meminfo, "MemTotal")?;
    kib.strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_processor_are_parsed_from_meminfo_and_cpuinfo() {
        assert_eq!(memory_bytes("MemTotal:   16 kB\nMemFree: 3 kB\n"), Some(16 * 1024));
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n";
        assert_eq!(field(cpuinfo, "model name"), Some("Some CPU @ 2.0GHz".to_owned()));
    }
}
