//! Advice about values of other tools, for flags that this program has with another meaning or format.

/// A flag of this program, the values that another tool accepts for it, and the advice.
struct Foreign {
    flag: &'static str,
    is: fn(&str) -> bool,
    told: &'static str,
}

const FOREIGN: [Foreign; 4] = inferometer_model::table! { Foreign { flag, is, told }
    ("--profile",
     |value| {
         ["synchronous", "concurrent", "throughput", "constant", "async", "poisson", "sweep"].contains(&value)
             || value.starts_with("kind=")
     },
     "is a kind of load in GuideLLM, but a profile of the embedded engine here. Give --passes one_by_one \
      (synchronous), --concurrency N (concurrent), --passes saturated (throughput), --rate R (poisson), --rate R \
      --burstiness inf (constant), or use `inferometer search` (sweep)")
    ("--goodput", |value| value.contains(':') && !value.contains(['<', '>']),
     "has pairs such as `ttft:500` in vLLM and AIPerf. Here it is one text with comparisons and units: --goodput \
      'ttft<=500ms,tpot<=50ms,e2e<=5s'")
    // The advice does not repeat the value, which may be an API key.
    ("--header", |value| value.contains('=') && !value.contains(':'),
     "has NAME=VALUE in vLLM. Write --header 'NAME: VALUE', once for each header")
    ("--warmup", |value| value.parse().is_ok_and(|share: f64| 0.0 < share && share < 1.0),
     "is a share of the run in GuideLLM. Give a number of requests, or a time with its unit, such as 10s or 0.5s")
};

/// The advice about the first value in the format of another tool; None if there is no such value.
pub fn advice(words: &[&str]) -> Option<String> {
    let command = words.get(1)?;
    if !["run", "search", "sweep", "predict", "ab", "cache"].contains(command) {
        return None;
    }
    let value_at = |at: usize, flag: &str| {
        let rest = words[at].strip_prefix(flag)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None => words.get(at + 1).copied().filter(|_| rest.is_empty()),
        }
    };
    FOREIGN.iter().find_map(|Foreign { flag, is, told }| {
        let mut given = (0..words.len()).filter_map(|at| value_at(at, flag));
        given.any(is).then(|| format!("{flag}: {told}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(arguments: &str) -> Option<String> {
        let words: Vec<&str> = arguments.split(' ').collect();
        advice(&[vec!["inferometer"], words].concat())
    }

    #[test]
    fn a_value_in_the_syntax_of_another_tool_gets_advice_on_our_syntax() {
        for (arguments, says) in [
            ("run --profile concurrent", "--concurrency N"),
            ("run --profile=kind=sweep", "`inferometer search`"),
            ("run --goodput ttft:500 tpot:50", "'ttft<=500ms,tpot<=50ms,e2e<=5s'"),
            ("search --header a=b", "'NAME: VALUE'"),
            ("run --warmup 0.1", "such as 10s"),
        ] {
            let text = told(arguments).unwrap_or_else(|| panic!("{arguments}: nothing"));
            assert!(text.contains(says), "{arguments}: {text}");
        }
        assert!(!told("run --header key=sk-secret").unwrap_or_default().contains("sk-secret"));
    }

    #[test]
    fn values_in_our_own_syntax_get_no_advice() {
        for arguments in [
            "run --profile a100-40g-vllm-0.2.7",
            "run --goodput ttft<500ms",
            "run --header a:b=c",
            "run --warmup 1",
            "run --warmup 10s",
            "bench serve --goodput ttft:500",
            "bench serve --header a=b",
        ] {
            assert_eq!(told(arguments), None, "{arguments}");
        }
    }
}
