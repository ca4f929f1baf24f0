//! Reads text-block logs: the output of a client that ran closed loops over blocks of text, with a few lines for each
//! loop. It judges no figure.

use super::{heading, is_fence};

/// The statements of a log about one closed loop. Means are over its completed requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedBlock {
    /// The headings above the loop, the outermost first.
    pub headings: Vec<String>,
    /// Characters of each block of text.
    pub block_characters: u32,
    /// Requested characters of output.
    pub asked_characters: u32,
    /// The number of requests kept in flight.
    pub in_flight: u32,
    /// The number of completed requests.
    pub completed: u32,
    /// The duration of the loop, in seconds.
    pub duration_s: f64,
    /// Mean number of tokens of a prompt.
    pub prompt_tokens: f64,
    /// Mean number of tokens of an output.
    pub output_tokens: f64,
    /// Output tokens per second.
    pub output_tokens_per_s: f64,
    /// Completed requests per second; 0 if the log does not state it.
    pub requests_per_s: f64,
    /// The times at which the loop began and ended, as text of the log.
    pub times: [String; 2],
    /// Every number that the log states, with its name in the log.
    pub stated: Vec<(String, f64)>,
}

impl LoggedBlock {
    /// A number by its name in the log; `None` if the log does not state it.
    pub fn stated(&self, name: &str) -> Option<f64> {
        self.stated.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// Reads the loops of all logs in a text, in their order. A loop that lacks a required figure is left out.
pub fn logged_blocks(text: &str) -> Vec<LoggedBlock> {
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut blocks: Vec<LoggedBlock> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= is_fence(line);
        if let Some((level, words)) = heading(line).filter(|_| !is_code) {
            headings.retain(|(known, _)| *known < level);
            headings.push((level, words.to_owned()));
        }
        let Some((stamp, told)) = line.split_once("[INFO] ") else { continue };
        let stamp = stamp.trim_start_matches('[').split(']').next().unwrap_or_default().to_owned();
        if let Some((block_characters, asked_characters)) = begun(told) {
            let headings = headings.iter().map(|(_, words)| words.clone()).collect();
            let times = [stamp, String::new()];
            blocks.push(LoggedBlock {
                headings,
                block_characters,
                asked_characters,
                times,
                ..Default::default()
            });
        } else if let (Some(block), Some((key, value))) = (blocks.last_mut(), told.split_once(": "))
            && let Ok(value) = value.trim().parse::<f64>()
        {
            note(block, key, value);
            block.stated.push((key.to_owned(), value));
            block.times[1] = stamp;
        }
    }
    blocks.retain(|block| {
        block.in_flight > 0
            && block.completed > 0
            && block.duration_s > 0.0
            && block.prompt_tokens > 0.0
            && block.output_tokens > 0.0
            && block.output_tokens_per_s > 0.0
    });
    for block in &mut blocks {
        // The log states prompt tokens per second; this converts them to tokens per request.
        block.prompt_tokens *= block.duration_s / f64::from(block.completed);
    }
    blocks
}

/// Parses the first line of a loop: `chunk_size: 4000, generate_size: 100`.
fn begun(told: &str) -> Option<(u32, u32)> {
    let (block, asked) = told.strip_prefix("chunk_size: ")?.split_once(", generate_size: ")?;
    Some((block.trim().parse().ok()?, asked.trim().parse().ok()?))
}

fn note(block: &mut LoggedBlock, key: &str, value: f64) {
    match key {
        "并发" => block.in_flight = value as u32,
        "n-request" => block.completed = value as u32,
        "duration" => block.duration_s = value,
        "prompt-tokens/second" => block.prompt_tokens = value,
        "completion tokens per request" => block.output_tokens = value,
        "completion-tokens/second" => block.output_tokens_per_s = value,
        "QPS" => block.requests_per_s = value,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# A model\n## A card\n```\n\
        [2023-12-20 21:04:43,239][261][INFO] chunk_size: 100, generate_size: 4000\n\
        [2023-12-20 21:24:17,889][244][INFO] 并发: 32\n\
        [2023-12-20 21:24:17,889][46][INFO] duration: 1174\n\
        [2023-12-20 21:24:17,889][47][INFO] prompt-tokens/second: 249.28449744463373\n\
        [2023-12-20 21:24:17,889][48][INFO] completion-tokens/second: 149.45826235093696\n\
        [2023-12-20 21:24:17,889][52][INFO] completion tokens per request: 361.037037037037\n\
        [2023-12-20 21:24:17,889][53][INFO] n-request: 486\n\
        [2023-12-20 21:24:17,889][54][INFO] QPS: 0.41396933560477\n\
        [2023-12-20 21:24:17,891][261][INFO] chunk_size: 100, generate_size: 2000\n";

    #[test]
    fn a_comment_in_a_code_block_is_not_a_heading_of_a_log() {
        let text = LOG.replace("```\n", "```\n# a comment of a script\n");
        let [block] = &logged_blocks(&text)[..] else { panic!("not one block") };
        assert_eq!(block.headings, ["A model", "A card"]);
    }

    #[test]
    fn a_complete_block_of_a_log_is_parsed_and_a_truncated_block_is_skipped() {
        let [block] = &logged_blocks(LOG)[..] else { panic!("not one block") };
        assert_eq!(block.headings, ["A model", "A card"]);
        assert_eq!((block.block_characters, block.asked_characters), (100, 4000));
        assert_eq!((block.in_flight, block.completed), (32, 486));
        assert!((block.prompt_tokens - 602.18).abs() < 0.01, "{}", block.prompt_tokens);
        assert!((block.output_tokens - 361.04).abs() < 0.01);
    }
}
