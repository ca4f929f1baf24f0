//! The load that servers must carry: one rate, or a day.

use std::path::Path;

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};

/// The hours of a day.
const DAY: f64 = 24.0;

/// Steps of a day, each with its hours and its requests per second.
pub struct Traffic(Vec<(f64, f64)>);

impl Traffic {
    /// Reads a rate, or a file with lines `HOUR,REQUESTS_PER_SECOND`: each rate holds until the hour of the next line,
    /// the last one until that of the first on the next day. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(text: &str) -> Result<Self, String> {
        let is_rate = |rate: &f64| *rate > 0.0 && rate.is_finite();
        if let Ok(rate) = text.parse::<f64>() {
            let wrong =
                || format!("--traffic {text}: is not a rate above 0, in requests per second");
            return Some(rate)
                .filter(is_rate)
                .map(|rate| Self(vec![(DAY, rate)]))
                .ok_or_else(wrong);
        }
        let bytes = file::read(Path::new(text), MAX_SETTINGS_BYTES)
            .map_err(|error| format!("--traffic {text}: is neither a rate nor a file: {error}"))?;
        let lines = String::from_utf8_lossy(&bytes);
        let mut begins: Vec<(f64, f64)> = Vec::new();
        for (number, line) in lines.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = line.split_once(',').and_then(|(hour, rate)| {
                let (hour, rate) = (hour.trim().parse().ok()?, rate.trim().parse().ok()?);
                let follows = begins.last().is_none_or(|(before, _)| hour > *before);
                ((0.0..DAY).contains(&hour) && follows && (is_rate(&rate) || rate == 0.0))
                    .then_some((hour, rate))
            });
            begins.push(read.ok_or_else(|| format!(
                "--traffic {text}, line {}: write HOUR,REQUESTS_PER_SECOND, with rising hours from 0 to below 24",
                number + 1
            ))?);
        }
        let first = begins.first().map_or(0.0, |(hour, _)| *hour);
        let ends = begins.iter().skip(1).map(|(hour, _)| *hour).chain([DAY + first]);
        let steps: Vec<(f64, f64)> =
            begins.iter().zip(ends).map(|((hour, rate), end)| (end - hour, *rate)).collect();
        let traffic = Self(steps);
        if traffic.peak() > 0.0 {
            Ok(traffic)
        } else {
            Err(format!("--traffic {text}: has no rate above 0"))
        }
    }

    /// The steps of a day: hours and requests per second. A step without requests is left out.
    pub fn steps(&self) -> Vec<(f64, f64)> {
        self.0.iter().copied().filter(|(_, rate)| *rate > 0.0).collect()
    }

    /// The highest rate, in requests per second.
    pub fn peak(&self) -> f64 {
        self.0.iter().fold(0.0, |most, (_, rate)| most.max(*rate))
    }

    /// The requests of a day.
    pub fn requests(&self) -> f64 {
        self.0.iter().map(|(hours, rate)| hours * 3600.0 * rate).sum()
    }

    /// Whether the rate changes.
    pub fn varies(&self) -> bool {
        self.0.len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_from_its_lines_and_wraps_at_midnight() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("day.csv");
        let read = |text: &str| {
            std::fs::write(&file, text).expect("a file");
            Traffic::read(file.to_str().expect("a path"))
        };
        let day = read("# hour,requests\n2,1\n8,20\n20.5,0\n").map_err(|_| "wrong").expect("a day");
        assert_eq!(day.0, [(6.0, 1.0), (12.5, 20.0), (5.5, 0.0)]);
        assert_eq!((day.peak(), day.varies()), (20.0, true));
        assert!((day.requests() - 3600.0 * (6.0 + 250.0)).abs() < 1e-6);
        for (text, line) in
            [("8,1\n8,2", "line 2"), ("24,1", "line 1"), ("1;2", "line 1"), ("1,-2", "line 1")]
        {
            let Err(why) = read(text) else { panic!("{text}: is refused") };
            assert!(why.contains(line), "{why}");
        }
        assert!(
            read("3,0").is_err()
                && Traffic::read("0").is_err()
                && Traffic::read("none.csv").is_err()
        );
        assert_eq!(Traffic::read("2.5").map(|one| one.0).ok(), Some(vec![(24.0, 2.5)]));
    }
}
