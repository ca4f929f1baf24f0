//! NVIDIA's cards through `nvidia-smi`, a program that the driver installs. This source is for a static
//! binary, which cannot load the driver's library. A call takes about 50 ms of processor time; a call of the
//! library takes almost none.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use inferometer_model::{sample::CardSample, target::Card};
use inferometer_net::spawn;

use super::CardSource;
use crate::observe::error::{ObserveError, SmiError};

/// The requested columns, in order.
const QUERY: &str = "--query-gpu=index,name,memory.total,driver_version,utilization.gpu,power.draw,\
                     clocks.sm,memory.used";
/// How long to wait for a driver that hangs.
const PATIENCE: Duration = Duration::from_secs(5);
const MIB: u64 = 1 << 20;

/// The result of a call: the output, or the reason for its absence.
type Answer = Result<String, SmiError>;

/// The cards that `nvidia-smi` lists.
pub struct SmiCards {
    program: PathBuf,
    patience: Duration,
    cards: Vec<Card>,
    /// A call that has not ended. While a call hangs in the driver, no other call is made.
    pending: Option<Receiver<Answer>>,
}

impl SmiCards {
    /// The cards that the program lists; `None` if the program does not exist or lists no card.
    pub fn find(program: &Path) -> Option<Self> {
        Self::found(program, PATIENCE)
    }

    fn found(program: &Path, patience: Duration) -> Option<Self> {
        let program = program.to_owned();
        let mut found = Self { program, patience, cards: Vec::new(), pending: None };
        let listed = rows(&found.ask().ok()?);
        found.cards = listed.into_iter().filter_map(|row| Some(row.ok()?.0)).collect();
        (!found.cards.is_empty()).then_some(found)
    }

    fn ask(&mut self) -> Answer {
        // The answer of an earlier call is too old, and is dropped.
        if let Some(pending) = self.pending.take()
            && matches!(pending.try_recv(), Err(TryRecvError::Empty))
        {
            self.pending = Some(pending);
            return Err(SmiError::StillRuns);
        }
        let answer = call(&self.program)?;
        match answer.recv_timeout(self.patience) {
            Ok(answer) => answer,
            Err(_) => {
                self.pending = Some(answer);
                Err(SmiError::Hangs(self.patience.as_secs_f64()))
            }
        }
    }
}

impl CardSource for SmiCards {
    fn cards(&self) -> Vec<Card> {
        self.cards.clone()
    }

    fn sample(&mut self) -> Vec<Result<CardSample, ObserveError>> {
        match self.ask() {
            Ok(text) => rows(&text).into_iter().map(|row| Ok(row?.1)).collect(),
            Err(why) => vec![Err(why.into())],
        }
    }
}

/// Starts the program and waits for its end on a separate thread. The returned channel receives the result.
fn call(program: &Path) -> Result<Receiver<Answer>, SmiError> {
    let mut command = Command::new(program);
    command.args([QUERY, "--format=csv,noheader,nounits"]).stdin(Stdio::null());
    let (sender, receiver) = channel();
    spawn(move || {
        let answer = match command.output() {
            Ok(output) if output.status.success() => {
                String::from_utf8(output.stdout).map_err(SmiError::from)
            }
            Ok(output) => Err(SmiError::Failed(output.status)),
            Err(error) => Err(error.into()),
        };
        // An error means that the receiver has stopped waiting.
        let _ = sender.send(answer);
    })?;
    Ok(receiver)
}

/// The card and its state in each line. Values that a card does not report (`[N/A]`) are `None`.
fn rows(text: &str) -> Vec<Result<(Card, CardSample), SmiError>> {
    text.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

fn row(line: &str) -> Result<(Card, CardSample), SmiError> {
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[index, name, memory, driver, utilisation, power, clock, used] = columns.as_slice() else {
        return Err(SmiError::Columns(line.to_owned()));
    };
    let index = index.parse().map_err(|_| SmiError::NoNumber(index.to_owned()))?;
    let text = |value: &str| Some(value.to_owned()).filter(|value| !value.starts_with('['));
    let number = |value: &str| value.parse::<f64>().ok().filter(|value| value.is_finite());
    let bytes = |value: &str| value.parse::<u64>().ok().map(|mib| mib.saturating_mul(MIB));
    let card = Card {
        index,
        name: text(name),
        memory_bytes: bytes(memory),
        driver: text(driver),
        source: "nvidia-smi".to_owned(),
    };
    let sample = CardSample {
        index,
        utilisation: number(utilisation).map(|percent| percent / 100.0),
        power_w: number(power),
        clock_mhz: number(clock),
        memory_bytes: bytes(used),
        ..CardSample::default()
    };
    Ok((card, sample))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn printing(text: &str) -> (tempfile::TempDir, PathBuf) {
        program(&format!("cat <<'END'\n{text}END\n"))
    }

    /// A program with this shell script.
    fn program(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("nvidia-smi");
        // The script accepts only these columns, in this order.
        let query = "--query-gpu=index,name,memory.total,driver_version,utilization.gpu,power.draw,\
                     clocks.sm,memory.used --format=csv,noheader,nounits";
        let script = format!("#!/bin/sh\n[ \"$*\" = '{query}' ] || exit 2\n{text}");
        // Another process writes the file. Otherwise, a child that another test forks at this moment would
        // keep the file open for writing, and the kernel would refuse to run the file.
        let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let written = Command::new("sh").arg("-c").arg(write).arg(&program).arg(script).status();
        assert!(written.unwrap().success());
        (folder, program)
    }

    #[test]
    fn cards_and_samples_are_parsed_from_nvidia_smi_and_converted_to_our_units() {
        let line = "0, NVIDIA H100 80GB HBM3, 81559, 550.54.15, 87, 251.50, 1410, 1024\n\
                    1, NVIDIA H100 80GB HBM3, 81559, 550.54.15, [N/A], [N/A], 1410, 0\n";
        let (_folder, program) = printing(line);
        let mut cards = SmiCards::find(&program).unwrap();
        let known = cards.cards();
        assert_eq!(known.len(), 2);
        assert_eq!(known[1].name.as_deref(), Some("NVIDIA H100 80GB HBM3"));
        assert_eq!(known[0].memory_bytes, Some(81_559 * MIB));
        let samples: Vec<CardSample> = cards.sample().into_iter().map(Result::unwrap).collect();
        assert_eq!(
            (samples[0].utilisation, samples[0].power_w, samples[0].memory_bytes),
            (Some(0.87), Some(251.5), Some(1 << 30))
        );
        assert_eq!((samples[1].utilisation, samples[1].power_w), (None, None));
        assert_eq!(samples[1].clock_mhz, Some(1410.0));
    }

    #[test]
    fn a_late_answer_of_nvidia_smi_is_dropped_and_not_used_for_a_later_sample() {
        // The program hangs as long as the file `hang` exists.
        let line = |power: u32| format!("0, X, 100, 1.0, 50, {power}, 1000, 1");
        let (folder, program) = program(&format!(
            "cd \"$(dirname \"$0\")\"\nif [ -e hang ]; then while [ -e hang ]; do sleep 0.01; done; \
             echo '{}'; else echo '{}'; fi\n",
            line(111),
            line(222)
        ));
        let mut cards = SmiCards::found(&program, Duration::from_secs(60)).unwrap();
        cards.patience = Duration::ZERO;
        fs::write(folder.path().join("hang"), "").unwrap();
        assert!(
            cards.sample()[0].as_ref().unwrap_err().to_string().contains("no answer within 0 s")
        );
        assert!(cards.sample()[0].as_ref().unwrap_err().to_string().contains("has not ended"));
        fs::remove_file(folder.path().join("hang")).unwrap();
        cards.patience = Duration::from_secs(60);
        let sample = loop {
            // The call that hung needs some time to end.
            if let Ok(sample) = cards.sample().remove(0) {
                break sample;
            }
        };
        assert_eq!(sample.power_w, Some(222.0));
    }

    #[test]
    fn an_nvidia_smi_that_is_missing_or_prints_something_else_gives_no_cards() {
        let (_folder, program) = printing("No devices were found\n");
        assert!(SmiCards::find(&program).is_none());
        assert!(SmiCards::find(Path::new("/nowhere/nvidia-smi")).is_none());
    }
}
