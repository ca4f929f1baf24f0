//! Reads pairs of input and output lengths with weights: the value `pairs:` of the key `input_distribution`.

use inferometer_model::load::distribution::Distribution;

use crate::LengthPair;

/// The most pairs. Each pair has its own figures.
const MOST: usize = 64;

/// Parses pairs in AIPerf's form: `256,128:60;512|64,40:40`. A pair without a weight has the weight 1. `None` if the text
/// is something else, or if a pair is given twice.
pub fn parse(text: &str) -> Option<Vec<LengthPair>> {
    let pairs: Option<Vec<LengthPair>> = text.split(';').map(pair).collect();
    let pairs = pairs.filter(|pairs| pairs.len() <= MOST)?;
    let is_once = |(at, pair): (usize, &LengthPair)| {
        pairs[..at].iter().all(|other| (other.input, other.output) != (pair.input, pair.output))
    };
    pairs.iter().enumerate().all(is_once).then_some(pairs)
}

fn pair(text: &str) -> Option<LengthPair> {
    let (lengths, weight) = match text.split_once(':') {
        Some((lengths, weight)) => (lengths, weight.trim().parse().ok()?),
        None => (text, 1.0),
    };
    let (input, output) = lengths.split_once(',')?;
    let is_weight = weight > 0.0 && weight <= 1e9;
    let pair = LengthPair { input: length(input)?, output: length(output)?, weight };
    is_weight.then_some(pair)
}

/// Parses a length, or the mean and the deviation of a normal distribution: `256|10`.
fn length(text: &str) -> Option<Distribution> {
    let tokens = |text: &str| super::tokens(text.trim()).ok().map(f64::from);
    let (mean, deviation) = match text.split_once('|') {
        Some((mean, deviation)) => (tokens(mean)?, tokens(deviation)?),
        None => (tokens(text)?, 0.0),
    };
    let is_length = |length: &f64| (1.0..=f64::from(super::MAX_LENGTH)).contains(length);
    let mean = Some(mean).filter(is_length)?;
    Some(match deviation {
        0.0 => Distribution::constant(mean),
        _ => Distribution::Normal { mean, deviation },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_lengths_or_means_and_deviations_and_weights() {
        let of = |text: &str| {
            let pairs = parse(text).expect(text);
            pairs.iter().map(|pair| format!("{pair} at {}", pair.weight)).collect::<Vec<_>>()
        };
        let expected = ["256 x 128 at 60", "512 x 512 at 40"];
        assert_eq!(of("256,128:60;512,512:40"), expected);
        assert_eq!(of(" 256 , 128 : 60 ; 512,512:40"), expected);
        assert_eq!(of("1k|10,8;1k,8|5:0.5"), ["1024|10 x 8 at 1", "1024 x 8|5 at 0.5"]);
    }

    #[test]
    fn a_text_that_is_no_list_of_pairs_is_refused() {
        let many = vec!["1,2"; 65].join(";");
        for wrong in [
            "", "256", "256,128:", "256,128:0", "256,128:-1", "256,128:inf", "256,128:NaN", "0,8",
            "8,0", "8,99999999", "8.5,8", "8|,8", "8,8;", "8,8;8,8:3", "8,8,8", &many,
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
