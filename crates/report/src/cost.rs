//! What the loads of a run cost, at the price that the user stated: a table, how to read it, and sentences.

use inferometer_analysis::cost::{Bill, Money, PassCost};
use inferometer_analysis::{Cell, PassSummary, Summary};
use inferometer_model::digits::{Decimals, counted, with_ends};

use crate::{MISSING, Table, count, label, left, right, significant};

/// How to read the table: the price, what it is divided by, and what it leaves out. Empty without costs.
pub(crate) fn legend(summary: &Summary) -> Option<String> {
    let (bill, per_hour) = billed(summary)?;
    let gpus = bill.gpus.map_or_else(String::new, |gpus| {
        let from = bill.gpus_from.as_deref().unwrap_or("unknown");
        format!(" x {} (from {from})", counted(gpus, "GPU"))
    });
    Some(format!(
        "Cost at {}{gpus}: ${} per hour, over the whole time from the first send to the last end, at this load. Requests \
            that failed or were cancelled are paid, but not counted below the line. Input and output tokens: {}. Within: only \
            tokens of requests that met every objective on requests. In brackets: {}. Left out: the time between passes, \
            other loads of a day, starting the server, and everything that the price leaves out.",
        bill.price,
        significant(per_hour),
        bill.split,
        if summary.predicted { "the range of nine in ten measurements" } else { "95 % intervals" }
    ))
}

fn billed(summary: &Summary) -> Option<(&Bill, f64)> {
    let bill = summary.price.as_ref()?;
    Some((bill, bill.usd_per_hour?))
}

/// The passes of a load: all repeats of it together, or one trial.
fn loads(cell: &Cell) -> Vec<Vec<(&PassSummary, &PassCost)>> {
    let mut loads: Vec<Vec<(&PassSummary, &PassCost)>> = Vec::new();
    let passes = cell.passes.iter().filter_map(|pass| Some((pass, pass.cost.as_ref()?)));
    for (pass, cost) in passes {
        let is_its = |load: &&mut Vec<(&PassSummary, &PassCost)>| {
            pass.trial.is_none() && load[0].0.load == pass.load && load[0].0.trial.is_none()
        };
        match loads.iter_mut().find(is_its) {
            Some(load) => load.push((pass, cost)),
            None => loads.push(vec![(pass, cost)]),
        }
    }
    loads
}

/// An amount of a load, over its repeats.
fn of_load(
    load: &[(&PassSummary, &PassCost)],
    of: fn(&PassCost) -> Option<Money>,
) -> Option<Money> {
    let all: Vec<Money> = load.iter().filter_map(|(_, cost)| of(cost)).collect();
    Money::over_repeats(&all).filter(|_| all.len() == load.len())
}

/// A row per load, or per trial of a search or a sweep.
pub(crate) fn table(summary: &Summary) -> Table {
    if billed(summary).is_none() {
        return Table::of(Vec::<Vec<_>>::new());
    }
    // By token count, an input token costs as much as an output token.
    let costs = || summary.passes().filter_map(|(_, pass)| pass.cost.as_ref());
    let is_split =
        costs().any(|cost| cost.per_million_input_tokens != cost.per_million_output_tokens);
    let rows = summary.cells.iter().flat_map(|cell| {
        loads(cell).into_iter().map(move |load| {
            let (first, _) = load[0];
            let place = match load.len() {
                1 => cell.place(first),
                several => format!("{}, {}, {several} repeats", cell.plan(), label::load(first)),
            };
            let total: f64 = load.iter().map(|(_, cost)| cost.total).sum();
            let complete: u64 = load.iter().map(|(pass, _)| pass.outcomes.complete).sum();
            let planned: u64 = load.iter().map(|(pass, _)| pass.planned).sum();
            let amount = |heading: &str, of: fn(&PassCost) -> Option<Money>| {
                right(heading, text(of_load(&load, of)))
            };
            let mut row = vec![
                left("Pass", place),
                right("Bill ($)", significant(total)),
                right("Completed / planned", format!("{} / {}", count(complete), count(planned))),
                amount("$/M tokens", |cost| cost.per_million_tokens),
                amount("$/1000 requests", |cost| Some(thousand(cost.per_request?))),
            ];
            if is_split {
                row.push(amount("$/M input tokens", |cost| cost.per_million_input_tokens));
                row.push(amount("$/M output tokens", |cost| cost.per_million_output_tokens));
            }
            if summary.passes().any(|(_, pass)| pass.jobs.is_some()) {
                row.push(amount("$/job", |cost| cost.per_job));
            }
            if summary.passes().any(|(_, pass)| pass.goodput.is_some()) {
                row.push(amount("Within: $/M tokens", |cost| cost.per_million_tokens_within));
                let of_requests = |cost: &PassCost| Some(thousand(cost.per_request_within?));
                row.push(amount("Within: $/1000 requests", of_requests));
            }
            row
        })
    });
    Table::of(rows)
}

fn thousand(money: Money) -> Money {
    Money { usd: money.usd * 1e3, ci: money.ci.map(|ends| ends.map(|end| end * 1e3)) }
}

fn text(money: Option<Money>) -> String {
    let Some(Money { usd, ci }) = money else { return MISSING.to_owned() };
    let Some([low, high]) = ci else { return significant(usd) };
    let digits = Decimals::of(&[usd, low, high]);
    format!("{} ({})", digits.text(usd), digits.interval([low, high]))
}

/// What a million tokens cost in each cell: at the highest tried load that a search found to meet the objectives, at the
/// saturation of a sweep, or at the load with the highest throughput.
pub(crate) fn sentences(summary: &Summary) -> Vec<String> {
    let Some((bill, per_hour)) = billed(summary) else { return Vec::new() };
    let on = bill.gpus.map_or_else(String::new, |gpus| format!(" on {}", counted(gpus, "GPU")));
    let of_cell = |cell: &Cell| {
        let searched = summary.searches.iter().find(|answer| answer.cell() == cell.plan());
        let swept = summary.sweeps.iter().find(|answer| answer.cell() == cell.plan());
        let is_its = |pass: &PassSummary| match (searched, swept) {
            (Some(search), _) => {
                let load = pass.load_over(search.over);
                load.is_some() && load == search.tried_below()
            }
            (None, Some(sweep)) => {
                sweep.saturation.as_ref().is_some_and(|it| pass.is_at(sweep.by, it.load))
            }
            (None, None) => cell.throughput_pass().is_some_and(|best| best.load == pass.load),
        };
        let load: Vec<_> = cell
            .passes
            .iter()
            .filter(|pass| is_its(pass))
            .filter_map(|pass| Some((pass, pass.cost.as_ref()?)))
            .collect();
        let (first, _) = load.first()?;
        let told = |of, what: &str| {
            let Money { usd, ci } = of_load(&load, of)?;
            Some(with_ends(usd, ci, &format!("$ per million {what}")))
        };
        let all = told(|cost| cost.per_million_tokens, "tokens")
            .or_else(|| told(|cost| cost.per_million_output_tokens, "output tokens"))?;
        let within = told(|cost| cost.per_million_tokens_within, "tokens within the objectives");
        let within = within.map_or_else(String::new, |within| format!(", {within}"));
        let load = label::load(first);
        let per_hour = significant(per_hour);
        Some(format!("{}: at {load}, {all}{within} ({per_hour} $/h{on}).", cell.plan()))
    };
    summary.cells.iter().filter_map(of_cell).collect()
}
