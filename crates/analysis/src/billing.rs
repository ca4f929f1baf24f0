//! Bills the passes of a run at a price that the user states. A price is no part of a measurement: it is applied to
//! finished results, so it can also be given afterwards. No price is built in.
//!
//! The bill of a pass is the price x the GPUs x the time from its first send to its last end. Everything that happened in
//! this time is paid: also requests that failed or were cancelled, and start-up and drain. The interval of a cost has the
//! ends of the interval of the rate below the line. A cost is never the mean of other costs, nor interpolated.

use inferometer_model::metrics::{jobs, throughput};
use inferometer_model::{Finding, code};
use inferometer_plan::Plan;
use inferometer_plan::spec::{Price, PriceKeys};

use crate::cost::{Bill, Money, PassCost, Rate};
use crate::prediction::FigurePrediction;
use crate::{PassSummary, Summary};

const MILLION: f64 = 1e6;
const SECONDS_PER_HOUR: f64 = 3600.0;

/// What the interval of a rate covers.
#[derive(Clone, Copy)]
enum Range {
    /// The interval of the measured rate.
    OfMeasurement,
    /// The range of the model, if it is known. A prediction has no other one.
    OfModel(Option<FigurePrediction>),
}

impl PassCost {
    /// The costs of a pass; `None` if it has no duration. `range`: of a prediction, the range of its requests per second,
    /// whose relative error the other rates share.
    fn of(pass: &PassSummary, usd_per_hour: f64, output_weight: f64, range: Range) -> Option<Self> {
        let duration_s = pass.duration_s.filter(|seconds| *seconds > 0.0)?;
        let usd_per_s = usd_per_hour / SECONDS_PER_HOUR;
        let per = |rate: Rate| Money::per(usd_per_s, rate);
        let per_million = |rate: Rate| Some(per(rate)?.times(MILLION));
        let rate = |rate: f64, ci: Option<[f64; 2]>| match range {
            Range::OfMeasurement => (rate, ci),
            Range::OfModel(range) => (rate, range.map(|range| range.around(rate))),
        };
        let tokens = pass.figure(&throughput::TOTAL_TOKENS);
        let tokens = tokens.map(|tokens| rate(tokens, pass.total_tokens_per_s_ci));
        let output = pass.output_tokens_per_s;
        let output = output.map(|tokens| rate(tokens, pass.output_tokens_per_s_ci));
        // With a weight, the tokens count as total + (weight - 1) x output. The errors of both have a common cause, so
        // they are added: the interval is never too narrow.
        let weighted = tokens.zip(output).map(|((all, of_all), (output, of_output))| {
            let sum = |all: f64, output: f64| all + (output_weight - 1.0) * output;
            let ends = of_all
                .zip(of_output)
                .map(|(all, output)| [0, 1].map(|at| sum(all[at], output[at])));
            let ends = if output_weight == 1.0 { of_all } else { ends };
            (sum(all, output), ends)
        });
        let [input, output] = match output_weight.is_infinite() {
            true => [None, output.and_then(per_million)],
            false => {
                let one = weighted.and_then(per_million);
                [one, one.map(|money| money.times(output_weight))]
            }
        };
        let within = pass.goodput.as_ref();
        let tokens_within =
            within.and_then(|it| Some(rate(it.tokens? as f64 / duration_s, it.tokens_per_s_ci)));
        let within = within.and_then(|it| Some(rate(it.requests_per_s?, it.requests_per_s_ci)));
        let requests = pass.requests_per_s.map(|requests| rate(requests, pass.requests_per_s_ci));
        let jobs_per_s = pass.figure(&jobs::PER_HOUR);
        let jobs_per_s = jobs_per_s.map(|jobs| rate(jobs / SECONDS_PER_HOUR, None));
        Some(Self {
            total: usd_per_s * duration_s,
            per_million_tokens: tokens.and_then(per_million),
            per_million_input_tokens: input,
            per_million_output_tokens: output,
            per_request: requests.and_then(per),
            per_job: jobs_per_s.and_then(per),
            per_million_tokens_within: tokens_within.and_then(per_million),
            per_request_within: within.and_then(per),
        })
    }
}

impl Summary {
    /// Bills every pass at the price of these keys; does nothing if they have none. If the price or the number of GPUs
    /// is not known, a finding says why, and the passes have no costs. Without a plan, its `--cards` do not count.
    ///
    /// # Panics
    /// If the keys have a mistake. Resolving a plan refuses such keys.
    pub fn set_price(&mut self, keys: &PriceKeys, plan: Option<&Plan>) {
        let price = keys.price().expect("invariant: the keys were checked before");
        let Some(price) = price else { return };
        self.findings.retain(|finding| !finding.is(code::COST_UNKNOWN));
        let (bill, unknown) = self.bill(&price, keys.gpus, plan);
        for cell in &mut self.cells {
            for (at, pass) in cell.passes.iter_mut().enumerate() {
                let predicted = cell.prediction.passes.get(at);
                let range = match self.predicted {
                    true => Range::OfModel(predicted.and_then(|pass| pass.requests_per_s)),
                    false => Range::OfMeasurement,
                };
                let of_pass = |per_hour| PassCost::of(pass, per_hour, price.output_weight, range);
                pass.cost = bill.usd_per_hour.and_then(of_pass);
            }
        }
        self.findings.extend(unknown.map(|why| Finding::of(code::COST_UNKNOWN, why)));
        self.price = Some(bill);
    }

    /// The bill, and why the price of an hour is not known, if it is not.
    fn bill(
        &self,
        price: &Price,
        gpus: Option<u32>,
        plan: Option<&Plan>,
    ) -> (Bill, Option<String>) {
        let mut bill = Bill { split: price.split(), ..Bill::default() };
        let found = match price.of_card(self.target.facts.card()) {
            Ok(found) => found,
            Err(why) => return (bill, Some(why)),
        };
        bill.price.clone_from(&found.text);
        if !found.is_per_gpu {
            bill.usd_per_hour = Some(found.per_hour);
            return (bill, None);
        }
        let stated = gpus.map(|gpus| (gpus, "--gpus".to_owned()));
        let known = stated.or_else(|| self.counted_gpus(plan)).filter(|(gpus, _)| *gpus > 0);
        bill.usd_per_hour = known.as_ref().map(|(gpus, _)| found.per_hour * f64::from(*gpus));
        let unknown = known.is_none().then(|| {
            "the number of GPUs is not known: neither the server nor its command states it"
                .to_owned()
        });
        (bill.gpus, bill.gpus_from) = known.unzip();
        (bill, unknown)
    }

    /// The number of GPUs of all servers, and from what it is known.
    fn counted_gpus(&self, plan: Option<&Plan>) -> Option<(u32, String)> {
        let servers = (self.target.servers.len() as u32).max(1);
        let stated = self.target.facts.cards().map(|(cards, from)| match servers {
            1 => (cards, from),
            several => (cards.saturating_mul(several), format!("{several} servers, {from}")),
        });
        // These engines use one card if their command names no parallelism.
        let is_alone = || {
            let engine = self.target.engine.as_deref().unwrap_or_default();
            let started = self.target.facts.others.contains_key("command");
            (started && ["vllm", "sglang"].contains(&engine))
                .then(|| (servers, "the server's command, which names no parallelism".to_owned()))
        };
        let named = plan.and_then(|plan| plan.observe.cards.as_ref());
        let named = named.map(|cards| (cards.len() as u32, "--cards".to_owned()));
        stated.or(named).or_else(is_alone)
    }
}

#[cfg(test)]
mod tests;
