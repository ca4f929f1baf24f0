//! Suggests the known name that is closest to a mistyped one.

/// If more known names than this begin with the given text, none of them is suggested.
const MOST_LONGER: usize = 3;

/// The known name that is most similar to `name`; `None` if no known name is similar enough.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= 1 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean X?)` for the most similar known name, or for the few names that begin with `name`; otherwise an
/// empty text.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let closest = closest(name, known.iter().copied());
    let longer = || known.into_iter().filter(|known| !name.is_empty() && known.starts_with(name));
    let meant: Vec<String> = closest
        .map_or_else(|| longer().collect(), |one| vec![one])
        .into_iter()
        .map(quoted)
        .collect();
    match meant.len() {
        1..=MOST_LONGER => format!(" (did you mean {}?)", meant.join(" or ")),
        _ => String::new(),
    }
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// The cost of a digit that is missing or too much. Names with different numbers mean different things, so
/// `llama-3-70b` means `llama-3.1-70b` rather than `llama-2-70b`.
const MISSING_DIGIT: usize = 2;
/// The cost of a digit in place of another one.
const OTHER_DIGIT: usize = 4;

/// The cost of a character that is missing or too much.
fn missing(character: char) -> usize {
    if character.is_ascii_digit() { MISSING_DIGIT } else { 1 }
}

/// Levenshtein distance in characters, with higher costs for digits. Upper and lower case, and `-` and `_`, count as
/// equal.
fn distance(a: &str, b: &str) -> usize {
    let normal = |text: &str| text.replace('-', "_").to_lowercase().chars().collect::<Vec<_>>();
    let (a, b) = (normal(a), normal(b));
    let mut row = vec![0];
    for to in &b {
        row.push(row[row.len() - 1] + missing(*to));
    }
    for from in a {
        let mut diagonal = row[0];
        row[0] += missing(from);
        for (j, to) in b.iter().enumerate() {
            let cost = match (from, to) {
                _ if from == *to => 0,
                _ if from.is_ascii_digit() && to.is_ascii_digit() => OTHER_DIGIT,
                _ => 1,
            };
            let substituted = diagonal + cost;
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + missing(*to)).min(diagonal + missing(from));
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_gets_a_suggestion_and_an_unrelated_word_gets_none() {
        let known = ["input_lengths", "output_lengths", "rate", "tokenizer"];
        assert_eq!(closest("input_lenghts", known), Some("input_lengths"));
        assert_eq!(closest("output-length", known), Some("output_lengths"));
        assert_eq!(closest("rates", known), Some("rate"));
        assert_eq!(closest("colour", known), None);
    }

    #[test]
    fn the_beginning_of_a_name_gets_the_few_names_that_begin_with_it() {
        let known = ["a100-pcie-40gb", "h100-sxm", "h100-pcie", "h200", "rtx-4090"];
        let told = |name| did_you_mean(name, known);
        assert_eq!(told("h100"), " (did you mean `h100-sxm` or `h100-pcie`?)");
        assert_eq!(told("rtx4090"), " (did you mean `rtx-4090`?)");
        assert_eq!([told("colour"), told("")], ["", ""]);
    }

    #[test]
    fn a_name_with_a_missing_part_is_closer_than_one_with_another_number() {
        let known = ["llama-2-70b", "llama-3-8b", "llama-3.1-70b", "llama-3.3-70b", "llama-3.1-8b"];
        assert_eq!(closest("llama-3-70b", known), Some("llama-3.1-70b"));
        assert_eq!(closest("lama-3-8b", known), Some("llama-3-8b"));
    }
}
