//! Reads the mix of adapters (LoRA) that requests name as their model: the key `adapters`.

use crate::parts::AdapterPlan;

use super::{Mistakes, Spec};

/// The most adapters of a plan.
const MOST: usize = 4_096;
const FORM: &str = "write names with weights, such as sql:3,chat:1, or without, such as lora-{1..16}, and zipf=1.2 for weights by \
                    rank; then shift=100 to move the ranks on by one name after each 100 requests";

impl Spec {
    /// The mix of adapters; `None` if requests name only the model.
    pub(crate) fn adapters(&self, mistakes: &mut Mistakes) -> Option<AdapterPlan> {
        let text = self.adapters.as_ref()?;
        let plan = read(text);
        if plan.is_none() {
            mistakes.add("adapters", format!("`{text}` is not a mix of adapters; {FORM}"));
        }
        let workload = self.workload.name();
        if ["agents", "conversation"].contains(&workload) {
            let problem = format!("is for single requests, not for the workload {workload}");
            mistakes.add("adapters", problem);
        }
        if self.target.is_none() && self.server.is_none() {
            mistakes
                .add("adapters", "needs a server (--target): the embedded engine has no adapters");
        }
        plan
    }
}

fn read(text: &str) -> Option<AdapterPlan> {
    let mut plan = AdapterPlan { names: Vec::new(), weights: Vec::new(), shift: None };
    let (mut zipf, mut is_weighted) = (None, false);
    for part in text.split(',').map(str::trim) {
        if let Some(exponent) = part.strip_prefix("zipf=") {
            let exponent = exponent.parse::<f64>().ok();
            let exponent = exponent.filter(|it| *it > 0.0 && it.is_finite() && zipf.is_none())?;
            zipf = Some(exponent);
        } else if let Some(count) = part.strip_prefix("shift=") {
            let count = count.parse().ok().filter(|count| *count > 0 && plan.shift.is_none())?;
            plan.shift = Some(count);
        } else {
            let (name, weight) = match part.rsplit_once(':').map(|(name, it)| (name, it.parse())) {
                Some((name, Ok(weight))) => {
                    is_weighted = true;
                    (name, weight)
                }
                _ => (part, 1.0),
            };
            let names = named(name)?;
            plan.weights.extend(names.iter().map(|_| weight));
            plan.names.extend(names);
        }
        if plan.names.len() > MOST {
            return None;
        }
    }
    if zipf.is_some() && is_weighted {
        return None;
    }
    if let Some(exponent) = zipf {
        let ranks = (1..=plan.names.len()).map(|rank| (rank as f64).powf(-exponent));
        plan.weights = ranks.collect();
    }
    let are_weights = plan.weights.iter().all(|weight| *weight > 0.0 && weight.is_finite());
    let mut once = plan.names.clone();
    once.sort_unstable();
    once.dedup();
    (once.len() == plan.names.len() && are_weights && !plan.names.is_empty()).then_some(plan)
}

/// The names that a part stands for: `lora-{1..3}` for three of them.
fn named(part: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = part.split_once('{') else {
        return (!part.is_empty()).then(|| vec![part.to_owned()]);
    };
    let (range, after) = rest.split_once('}')?;
    let (first, last) = range.split_once("..")?;
    let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
    (first <= last && ((last - first) as usize) < MOST)
        .then(|| (first..=last).map(|number| format!("{before}{number}{after}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_has_shares_or_a_zipf_law_and_may_move() {
        let names = |plan: &AdapterPlan| plan.names.join(" ");
        for (text, expected, weights, shift) in [
            ("sql:3,chat", "sql chat", vec![3.0, 1.0], None),
            ("base:model:0.5,a", "base:model a", vec![0.5, 1.0], None),
            ("l{1..4}, zipf=1,shift=50", "l1 l2 l3 l4", vec![1.0, 0.5, 1.0 / 3.0, 0.25], Some(50)),
        ] {
            let plan = read(text).expect(text);
            assert_eq!((&*names(&plan), &plan.weights, plan.shift), (expected, &weights, shift));
        }
        for text in [
            "", "a,a", "a:0", "a:-1", "a,zipf=0", "a,shift=0", "l{2..1}", "l{1..99999}", "zipf=1",
            "a:2,b,zipf=1", "a,b,zipf=1,zipf=2", "a,b,shift=1,shift=2",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
