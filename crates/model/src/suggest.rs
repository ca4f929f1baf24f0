//! Suggests the known name that is closest to a mistyped one.

/// The known name that is most similar to `name`; `None` if no known name is similar enough.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= 1 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean X?)` for the most similar known name; an empty text if no name is similar enough.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    closest(name, known).map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"))
}

/// Levenshtein distance, in characters. Upper and lower case, and `-` and `_`, count as equal.
fn distance(a: &str, b: &str) -> usize {
    let normal = |text: &str| text.replace('-', "_").to_lowercase().chars().collect::<Vec<_>>();
    let (a, b) = (normal(a), normal(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
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
}
