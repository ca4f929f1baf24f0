//! The requests in a detailed result file of `vllm bench serve`.

use serde_json::Value;

use crate::import::error::ImportError;
use crate::import::tool::document::Document;
use crate::import::tool::request::ToolRequest;

/// The lists that `--save-detailed` writes in every version.
const LISTS: [&str; 4] = ["ttfts", "itls", "input_lens", "output_lens"];
/// The list that versions before 0.10 do not write.
pub(super) const STARTS: &str = "start_times";

/// Returns the requests; empty if one of the lists in [`LISTS`] is missing. The lists must have equal lengths.
pub(super) fn requests(document: &Document<'_>) -> Result<Vec<ToolRequest>, ImportError> {
    let lists: Vec<Option<&[Value]>> = LISTS.iter().map(|name| document.list(name)).collect();
    let [Some(ttfts), Some(itls), Some(inputs), Some(outputs)] = lists[..] else {
        return Ok(Vec::new());
    };
    let starts = document.list(STARTS);
    let named = LISTS.into_iter().zip([ttfts, itls, inputs, outputs]);
    for (name, list) in named.chain(starts.map(|starts| (STARTS, starts))) {
        if list.len() != ttfts.len() {
            let lengths = format!(
                "`{name}` has {} values, but `ttfts` has \
                {}",
                list.len(),
                ttfts.len()
            );
            return Err(document.malformed(lengths));
        }
    }
    let errors = document.list("errors").unwrap_or(&[]);
    let queued = document.list("queue_times").unwrap_or(&[]);
    let count = |value: &Value| value.as_u64().and_then(|count| u32::try_from(count).ok());
    let requests = ttfts.iter().enumerate().map(|(at, ttft)| {
        let wrong = |name: &str| {
            document.malformed(format!(
                "`{name}[{at}]` is not a valid number, or in `itls` not a list of numbers"
            ))
        };
        let gaps = itls[at].as_array().ok_or_else(|| wrong("itls"))?;
        let error = errors.get(at).and_then(Value::as_str).filter(|words| !words.is_empty());
        let output = count(&outputs[at]).ok_or_else(|| wrong("output_lens"))?;
        // Zeros without an error text mean that nothing arrived.
        let nothing = output == 0 && ttft.as_f64() == Some(0.0);
        let error = error.or_else(|| nothing.then_some("no output arrived"));
        Ok(ToolRequest {
            // Without start times, the times of each request count from its own start.
            start_s: starts
                .map_or(Some(0.0), |starts| starts[at].as_f64())
                .ok_or_else(|| wrong(STARTS))?,
            ttft_s: ttft.as_f64().ok_or_else(|| wrong("ttfts"))?,
            gaps_s: gaps
                .iter()
                .map(|gap| gap.as_f64().ok_or_else(|| wrong("itls")))
                .collect::<Result<_, _>>()?,
            queued_s: queued.get(at).and_then(Value::as_f64).unwrap_or(0.0),
            input: count(&inputs[at]),
            output: Some(output),
            asked_output: output,
            error: error.map(str::to_owned),
            ..ToolRequest::default()
        })
    });
    requests.collect()
}
