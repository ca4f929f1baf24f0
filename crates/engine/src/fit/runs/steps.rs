//! Parses the measured durations of single steps. This module fits nothing.

use super::MeasuredStep;
use crate::{EngineError, cost::StepShape};

/// Parses durations of steps from CSV with the columns `sequences`, `context`, `prompts`, `prompt_tokens`,
/// `step_ms`, `steps`. A row is the median duration of several steps with `sequences` decoding sequences, which have
/// `context` tokens in total, and `prompts` prompts of `prompt_tokens` tokens each. `path` is only used in messages.
///
/// # Errors
/// If a row is not valid, or if its duration is not above 0 and finite.
pub fn parse_steps(text: &str, path: &str) -> Result<Vec<MeasuredStep>, EngineError> {
    let malformed = |reason: String| EngineError::Malformed { path: path.to_owned(), reason };
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let mut steps = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed(error.to_string()))?;
        let (decodes, context, prompts, tokens, ms, _): (u32, u64, u32, u32, f64, u32) =
            record.deserialize(None).map_err(|error| malformed(error.to_string()))?;
        if !(ms > 0.0 && ms.is_finite()) {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(malformed(format!(
                "line {line}: step_ms {ms}: must be above 0 and finite"
            )));
        }
        let sequences = decodes + prompts;
        let squares = u64::from(prompts) * u64::from(tokens).pow(2);
        let shape = match prompts {
            0 => StepShape::Decode { sequences, context, generated: 0 },
            _ => StepShape::Mixed {
                sequences,
                prompts,
                rows: decodes + prompts * tokens,
                sampled: sequences,
                context,
                squares,
            },
        };
        steps.push(MeasuredStep { shape, seconds: ms * 1e-3 });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_a_positive_duration_is_refused_with_its_line() {
        let parse = |ms: &str| {
            let header = "sequences,context,prompts,prompt_tokens,step_ms,steps";
            parse_steps(&format!("# a table\n{header}\n8,800,0,0,{ms},20\n"), "steps.csv")
        };
        for ms in ["0", "-1.5", "NaN", "inf"] {
            let told = parse(ms).expect_err(ms).to_string();
            let text = format!("steps.csv: line 3: step_ms {ms}: must be above 0 and finite");
            assert_eq!(told, text);
        }
        assert_eq!(parse("12.5").expect("a step").len(), 1);
    }
}
