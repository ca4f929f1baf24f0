//! Answers without output tokens: vectors of embeddings, and scores of a ranking.

use inferometer_model::outcome::Outcome;
use inferometer_model::record::Usage;
use inferometer_model::request::Prompt;
use inferometer_wire::dialect::dialect;
use inferometer_wire::exchange::ResponseReader;

use super::support::response;

/// Reads a whole answer to a request with this number of inputs and of results.
fn read_results(
    dialect_name: &str,
    body: &str,
    results: u32,
    inputs: u32,
) -> (Outcome, u32, Usage, String) {
    let dialect = dialect(dialect_name).expect("a dialect");
    let prompt = Prompt::Text(String::new());
    let mut reader =
        ResponseReader::new(dialect, &prompt, false, false).with_results(Some(results), inputs);
    reader.feed(0, &response(200, "application/json", body));
    let (outcome, why) = reader.verdict();
    let parsed = reader.into_parsed();
    (outcome, parsed.dimension, parsed.usage, why.unwrap_or_default())
}

#[test]
fn an_answer_of_embeddings_has_one_vector_of_the_same_size_for_each_input() {
    // Two 32-bit numbers as base64.
    let vector = |index: u32, text: &str| {
        format!(r#"{{"object":"embedding","index":{index},"embedding":{text}}}"#)
    };
    let two = r#""AACAPwAAAAA=""#;
    let usage = r#"{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0,"prompt_tokens_details":null}"#;
    for (vectors, dimension, problem) in [
        (vec![vector(0, two), vector(1, two)], 2, ""),
        (vec![vector(1, two), vector(0, "[0.5, 1e-3]")], 2, ""),
        (vec![vector(0, two)], 2, "1 results instead of 2"),
        (vec![vector(0, two), vector(0, two)], 2, "not those of different inputs"),
        (vec![vector(0, two), vector(2, two)], 2, "not those of different inputs"),
        (vec![vector(0, two), vector(1, "[1]")], 0, "different ones"),
        (vec![vector(0, "[]"), vector(1, "[]")], 0, "no length"),
        (vec![vector(0, r#""AAAA""#), vector(1, two)], 0, "no length"),
    ] {
        let body = format!(r#"{{"data":[{}],"usage":{usage}}}"#, vectors.join(","));
        let (outcome, found, counted, why) = read_results("openai-embeddings", &body, 2, 2);
        let expected = if problem.is_empty() { Outcome::Complete } else { Outcome::Malformed };
        assert_eq!(outcome, expected, "{body}: {why}");
        assert!(
            why.contains(problem) && (found == dimension || !problem.is_empty()),
            "{body}: {why}"
        );
        if problem.is_empty() {
            assert_eq!((counted.prompt, counted.completion), (Some(9), None), "{body}");
        }
    }
    let error = r#"{"error":{"message":"too long","code":400}}"#;
    assert_eq!(read_results("openai-embeddings", error, 1, 1).0, Outcome::ServerError);
}

#[test]
fn a_ranking_has_as_many_falling_scores_as_were_asked_for() {
    let score =
        |index: u32, name: &str, score: f64| format!(r#"{{"index":{index},"{name}":{score}}}"#);
    let [best, next] = [score(3, "relevance_score", 0.9), score(0, "relevance_score", 0.1)];
    let wrapped = |all: &str| format!(r#"{{"results":[{all}],"usage":{{"prompt_tokens":7}}}}"#);
    for (body, outcome) in [
        (wrapped(&format!("{best},{next}")), Outcome::Complete),
        (format!("[{},{}]", score(1, "score", 2.0), score(2, "score", 2.0)), Outcome::Complete),
        (wrapped(&format!("{next},{best}")), Outcome::Malformed),
        (wrapped(&best), Outcome::Malformed),
        (wrapped(&format!("{best},{best}")), Outcome::Malformed),
        (wrapped(&format!("{best},{}", score(9, "relevance_score", 0.0))), Outcome::Malformed),
        (wrapped(&format!(r#"{best},{{"index":1}}"#)), Outcome::Malformed),
    ] {
        assert_eq!(read_results("rerank", &body, 2, 4).0, outcome, "{body}");
    }
}
