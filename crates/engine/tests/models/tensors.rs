//! Reads `tensors.txt`.

use std::collections::BTreeMap;

/// The counts of a model.
#[derive(Clone, Default)]
pub struct Counted {
    /// Bytes of all tensors.
    pub bytes: f64,
    /// Total and active parameters that the maker states, in 10^9; 0: not stated.
    pub stated: [f64; 2],
    /// Bytes in the cache: of each token, of each token of the window, the window in tokens, and of the sequence.
    pub cache: [f64; 4],
}

/// The bytes of one number with its share of a scale.
fn bytes_per_number(format: &str) -> f64 {
    match format {
        "f32" => 4.0,
        "bf16" => 2.0,
        "fp8" => 1.0 + 4.0 / (128.0 * 128.0),
        "fp8e" => 1.0 + 1.0 / (128.0 * 128.0),
        "fp8s" => 1.0 + 1.0 / (32.0 * 32.0),
        "fp8r" => 1.0 + 1.0 / 32.0,
        "mxfp4" => 0.5 + 1.0 / 32.0,
        "int4" => 0.5 + 2.0 / 32.0,
        other => panic!("format {other}"),
    }
}

fn numbers<const N: usize>(words: &[&str]) -> [f64; N] {
    let numbers: Vec<f64> = words.iter().map(|word| word.parse().expect("a number")).collect();
    numbers.try_into().expect("as many numbers")
}

/// The models by name.
pub fn counted() -> BTreeMap<String, Counted> {
    let mut all: BTreeMap<String, Counted> = BTreeMap::new();
    let mut name = String::new();
    for line in include_str!("tensors.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(next) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            next.clone_into(&mut name);
        }
        let found = all.get(words.get(1).copied().unwrap_or_default()).cloned();
        let Some(model) = (!name.is_empty()).then(|| all.entry(name.clone()).or_default()) else {
            continue;
        };
        match words.as_slice() {
            ["like", _] => *model = found.expect("a model above"),
            ["stated", numbers_of @ ..] => model.stated = numbers(numbers_of),
            ["cache", numbers_of @ ..] => model.cache = numbers(numbers_of),
            [.., copies, shape, format] => {
                let (rows, columns) = shape.split_once('x').expect("a shape");
                let [copies, rows, columns] = numbers(&[copies, rows, columns]);
                model.bytes += copies * rows * columns * bytes_per_number(format);
            }
            _ => {}
        }
    }
    all
}
