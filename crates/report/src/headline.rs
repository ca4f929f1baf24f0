//! The results of a run in a few sentences, which the terminal and the page show before or after everything else.

use inferometer_analysis::isolation::{Isolation, isolations};
use inferometer_analysis::{Cell, PassSummary, Summary, sweep};
use inferometer_model::digits::{self, with_ends};
use inferometer_model::metrics::{job_data::Reuse, jobs::PER_HOUR, tpot, ttft};
use inferometer_model::{Definition, PassKind, Statistic, stats::Spread};

use crate::{answers, cost, label, significant, table};

/// The results of more cells than this are not told one by one, but only those of the first and the last.
const MOST_CELLS: usize = 4;

/// The answers of a search or a sweep. For other runs, one text for each cell: the speed for one user, and the highest
/// throughput. Each text begins with its cell. Empty for imported results, for predictions (whose figures have ranges of
/// the model), and if no request completed.
pub(crate) fn sentences(summary: &Summary) -> Vec<String> {
    let answers = answers::of(summary);
    if !answers.is_empty() || summary.imported.is_some() || summary.predicted {
        let told = |answer: &answers::Answer| format!("{}: {}", answer.cell, answer.sentence);
        let without_load = summary.sweeps.iter().filter(|answer| answer.levels.is_empty());
        // A server may be too slow for an answer, but single requests still show its speed.
        let single = summary
            .cells
            .iter()
            .filter(|cell| without_load.clone().any(|answer| answer.cell() == cell.plan()));
        let single = single.filter_map(|cell| {
            let user = one_user(cell.passes.first().filter(is_alone)?)?;
            Some(format!("{}: {user} These are only a few requests.", cell.plan()))
        });
        return answers.iter().map(told).chain(single).chain(cost::sentences(summary)).collect();
    }
    let cells = summary.cells.iter();
    let mut all: Vec<String> = cells.filter_map(of_cell).collect();
    if all.len() > MOST_CELLS {
        let between = all.len() - 2;
        let told = format!("{between} more pairs of lengths lie between these two: see the table.");
        all.splice(1..=between, [told]);
    }
    all.extend(cost::sentences(summary));
    all
}

fn of_cell(cell: &Cell) -> Option<String> {
    let [input, output] = table::lengths(cell);
    if let Some(requests) = cell.over_repeats.as_ref().and_then(|spread| spread.requests_per_s) {
        let Spread { mean, ci, n, .. } = requests;
        let mean = with_ends(mean, ci, "requests/s");
        return Some(format!("{input} x {output}: {mean}, the mean of {n} repeats."));
    }
    let jobs: Vec<String> = cell.passes.iter().filter_map(of_jobs).collect();
    if !jobs.is_empty() {
        return Some(format!("{input} x {output}: {}", jobs.join(" ")));
    }
    let rate = |pass: &&PassSummary| pass.requests_per_s.unwrap_or(0.0);
    // A pass that was ended early is told by the table, with its reason.
    let whole = || cell.passes.iter().filter(|pass| pass.is_whole());
    let highest =
        || whole().filter(|pass| !is_alone(pass)).max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let loaded = cell.throughput_pass().filter(|pass| !is_alone(pass)).or_else(highest);
    let sentences = [whole().find(is_alone).and_then(one_user), loaded.and_then(under_load)];
    let sentences: Vec<String> = sentences.into_iter().flatten().chain(of_classes(cell)).collect();
    (!sentences.is_empty()).then(|| format!("{input} x {output}: {}", sentences.join(" ")))
}

/// `chat beside others: 1.07 times (0.98 to 1.17) as long to the first token as alone (medians), 1.29 times per token.`, for
/// each class of traffic that was also measured alone.
fn of_classes(cell: &Cell) -> Vec<String> {
    let all = isolations(cell);
    let medians = |of: &'static Definition| {
        all.iter().filter(move |it| it.figure.0 == of && it.figure.1 == Statistic::P50)
    };
    let times = |it: &Isolation<'_>| with_ends(it.beside / it.alone, it.times, "times");
    let sentence = |first: &Isolation<'_>| {
        let is_same =
            |it: &&Isolation<'_>| it.class == first.class && it.pass.load == first.pass.load;
        let token = medians(&tpot::DEFINITION).find(is_same);
        let token = token.map_or_else(String::new, |it| format!(", {} per token", times(it)));
        let (class, first) = (first.class, times(first));
        format!(
            "{class} beside others: {first} as long to the first token as alone (medians){token}."
        )
    };
    medians(&ttft::FROM_DUE).map(sentence).collect()
}

/// `8 jobs at once: 317 jobs/h; a job takes 11.8 s (the median of 40; p95 21.6 s), 0.84 times as long as recorded with the
/// same gaps, 30 % of it with calls in flight; 1 of 41 jobs failed.` `None` if the pass has no jobs or conversations that completed.
fn of_jobs(pass: &PassSummary) -> Option<String> {
    let jobs = pass.jobs.as_ref()?;
    let (per_hour, lasts) = (pass.figure(&PER_HOUR)?, jobs.duration_s?);
    let what = if pass.load.contains("conversations") { "conversation" } else { "job" };
    let recorded = jobs.slowdown.map_or_else(String::new, |slowdown| {
        format!(", {} times as long as recorded with the same gaps", significant(slowdown.p50))
    });
    let in_model = jobs.parts.filter(|_| lasts.mean > 0.0).map_or_else(String::new, |parts| {
        format!(
            ", {} % of it with calls in flight",
            significant(100.0 * parts.model_s / lasts.mean)
        )
    });
    let others = match (jobs.counts.failed, jobs.counts.unfinished) {
        (0, 0) => String::new(),
        (failed, 0) => format!("; {failed} of {} {what}s failed", jobs.counts.planned),
        (failed, cut) => {
            format!(
                "; of {} {what}s, {failed} failed and {cut} did not end in the pass",
                jobs.counts.planned
            )
        }
    };
    let cache =
        jobs.cache.and_then(|cache| cache.expected).map(|expected| of_cache(&expected.reuse));
    Some(format!(
        "{}: {} {what}s/h; a {what} takes {} s (the median of {}; p95 {} s){recorded}{in_model}{others}.{}",
        label::load(pass),
        significant(per_hour),
        significant(lasts.p50),
        lasts.n,
        significant(lasts.p95),
        cache.unwrap_or_default()
    ))
}

/// ` The cache keeps 117,000 to 121,000 tokens: without it, the first token comes after 90 ms instead of 12 ms. 1,000 cached
/// prompt tokens save 41 ms of TTFT (39 to 43).` The first sentence needs prompts that were removed.
fn of_cache(reuse: &Reuse) -> String {
    let bounds = reuse.keeps_at_least.map(|low| (low, reuse.keeps_less_than));
    let keeps = bounds.map_or_else(String::new, |(low, high)| {
        let Some(high) = high else {
            let low = digits::count(low);
            return format!(" The cache keeps at least {low} tokens: it was not seen to remove any by age.");
        };
        let ttft = reuse.ttft_kept_ms.zip(reuse.ttft_lost_ms).map_or_else(String::new, |(kept, lost)| {
            let [kept, lost] = [kept, lost].map(significant);
            format!(": the first token of a prompt that it no longer has comes after {lost} ms instead of {kept} ms")
        });
        format!(" The cache keeps {} to {} tokens{ttft}.", digits::count(low), digits::count(high))
    });
    let saved = reuse.ms_saved_per_1000.map_or_else(String::new, |all| {
        let [saved, low, high] = all.map(significant);
        format!(" 1,000 cached prompt tokens save {saved} ms of TTFT ({low} to {high}).")
    });
    keeps + &saved
}

fn is_alone(pass: &&PassSummary) -> bool {
    pass.kind != PassKind::Open && pass.peak_concurrency == Some(1)
}

/// `One user: first token after 52 ms (50 to 55), then 73 tokens/s.`, from a pass with one request at a time.
fn one_user(pass: &PassSummary) -> Option<String> {
    let first = pass.latency(&ttft::FROM_SENT).filter(|values| values.n > 0)?;
    let then = pass.latency(&tpot::DEFINITION).filter(|values| values.mean > 0.0);
    let then = then.map(|values| {
        let speed = |ms: f64| 1e3 / ms;
        let ends = values.mean_ci.filter(|[low, _]| *low > 0.0);
        (speed(values.mean), ends.map(|[low, high]| [speed(high), speed(low)]))
    });
    Some(sweep::one_user((first.mean, first.mean_ci), then))
}

/// `32 in flight: 34.8 requests/s (33.1 to 36.0), 1,114 output tokens/s.` The throughput of an open loop is that of its
/// arrivals, so the latency is told: `4 requests/s arriving: first token after 52 ms (50 to 55).`
fn under_load(pass: &PassSummary) -> Option<String> {
    if pass.kind == PassKind::Open {
        let first = pass.latency(&ttft::FROM_SENT).filter(|values| values.n > 0)?;
        let first = with_ends(first.mean, first.mean_ci, "ms");
        return Some(format!("{} arriving: first token after {first}.", label::load(pass)));
    }
    let requests = with_ends(pass.requests_per_s?, pass.requests_per_s_ci, "requests/s");
    let tokens = pass.output_tokens_per_s.map_or_else(String::new, |tokens| {
        format!(", {}", with_ends(tokens, pass.output_tokens_per_s_ci, "output tokens/s"))
    });
    let load = label::load(pass);
    let planned =
        if load == "all at once" { format!("{} requests ", pass.planned) } else { String::new() };
    let failed = match table::failed(pass).failed() {
        0 => String::new(),
        failed => format!("; {failed} of {} requests failed", pass.planned),
    };
    Some(format!("{planned}{load}: {requests}{tokens}{failed}."))
}
