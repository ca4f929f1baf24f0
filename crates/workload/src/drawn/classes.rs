//! Prompts of classes of traffic: seeded words, with the lengths and the additional fields of their class.

use std::sync::{Arc, Mutex, PoisonError};

use inferometer_model::load::MixedPlan;
use inferometer_model::{CellPlan, Nanos, PassPlan};
use inferometer_plan::{ClassPlan, ClassesPlan};

use super::MOST_DRAWN;
use super::lengths::{Axis, LengthSampler};
use super::words::{self, Shape};
use crate::workload::{Beyond, WorkloadDefinition, longest_beyond};
use crate::{
    PromptContext, PromptScope, RequestBatch, RequestsNeeded, TooLong, Workload, WorkloadError,
};

/// The opened classes of a plan.
struct Classes {
    plan: ClassesPlan,
    /// The lengths of each class: of prompts, and of outputs.
    lengths: Vec<[LengthSampler; 2]>,
    /// Where the requests that were made last ended, so that the order is drawn once for each pass.
    reached: Mutex<Option<Reached>>,
}

/// A place in the order of the requests of a pass.
struct Reached {
    cell: CellPlan,
    scope: PromptScope,
    index: u64,
    /// How many requests of each class come before it.
    before: Vec<u64>,
    rest: Order,
}

/// The classes of the following requests, by their index in the plan.
type Order = Box<dyn Iterator<Item = usize> + Send>;

impl WorkloadDefinition for ClassesPlan {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        let lengths = |ClassPlan { input, output, .. }: &ClassPlan| {
            Ok([
                LengthSampler::open(input, Axis::Input)?,
                LengthSampler::open(output, Axis::Output)?,
            ])
        };
        let lengths = self.0.iter().map(lengths).collect::<Result<_, WorkloadError>>()?;
        Ok(Arc::new(Classes { plan: self.clone(), lengths, reached: Mutex::default() }))
    }
}

impl Classes {
    /// The classes of `count` requests of a pass from an index on, each with the number of requests of its class before
    /// it.
    fn order(&self, wanted: &RequestsNeeded<'_>) -> Vec<(usize, u64)> {
        let RequestsNeeded { context, cell, scope, first, count } = *wanted;
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let is_before = |it: &Reached| (it.cell, &it.scope) == (cell, scope) && it.index <= first;
        let mut at = reached.take().filter(is_before).unwrap_or_else(|| Reached {
            cell,
            scope: scope.clone(),
            index: 0,
            before: vec![0; self.plan.0.len()],
            rest: self.whole_order(context.seed, cell, scope),
        });
        let mut found = Vec::with_capacity(count);
        while at.index < first + count as u64 {
            let Some(class) = at.rest.next() else { break };
            if at.index >= first {
                found.push((class, at.before[class]));
            }
            at.before[class] += 1;
            at.index += 1;
        }
        *reached = Some(at);
        found
    }

    fn whole_order(&self, seed: u64, cell: CellPlan, scope: &PromptScope) -> Order {
        let (load, places): (MixedPlan, Vec<usize>) = self.plan.of_label(&scope.pass);
        let pass = PassPlan::Mixed(load.clone());
        let seed = pass.seed(seed, cell, scope.repeat + 1);
        Box::new(load.order(seed).map(move |(_, class): (Nanos, usize)| places[class]))
    }

    /// The lengths of a request of a class. They do not depend on the pass, so that a class has the same alone and beside
    /// others.
    fn drawn(
        &self,
        context: &PromptContext,
        of: &PromptScope,
        class: usize,
        index: u64,
    ) -> [u32; 2] {
        let name = &self.plan.0[class].arrivals.name;
        let scope = PromptScope { pass: format!("class {name}"), ..of.clone() };
        let [input, output] = &self.lengths[class];
        let least = context.reserve + 1;
        let input = input.draw(0, context.seed, &scope, index).max(least);
        [input, output.draw(0, context.seed, &scope, index)]
    }
}

impl Workload for Classes {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let order = self.order(wanted);
        let shape = |&(class, index): &(usize, u64)| {
            let [input, output] = self.drawn(wanted.context, wanted.scope, class, index);
            let class = Some(self.plan.0[class].arrivals.name.as_str());
            Shape { input, output, group: None, class }
        };
        let shapes: Vec<Shape<'_>> = order.iter().map(shape).collect();
        let mut batch = words::requests(wanted, 0, &shapes)?;
        for (request, (class, _)) in batch.requests.iter_mut().zip(order) {
            request.extra_body.extend(self.plan.0[class].body.clone());
        }
        Ok(batch)
    }

    fn can_begin_anywhere(&self) -> bool {
        true
    }

    fn beyond(&self, wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        let count = wanted.count.min(MOST_DRAWN);
        let order = self.order(&RequestsNeeded { count, ..*wanted });
        let lengths = order.into_iter().map(|(class, index)| {
            let [input_length, output_length] =
                self.drawn(wanted.context, wanted.scope, class, index);
            CellPlan { input_length, output_length }
        });
        Ok(longest_beyond(limit, lengths).map(Beyond::only_longest))
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::load::ClassArrivals;
    use inferometer_model::load::arrival::Arrivals;
    use inferometer_model::load::distribution::Distribution;
    use inferometer_model::{Bound, OverLimit};
    use inferometer_plan::{Lengths, WorkloadPlan};
    use serde_json::json;

    use super::*;
    use crate::{OpenWorkload, embedded};

    fn class(name: &str, rate: f64, output: f64, priority: u32) -> ClassPlan {
        let uniform = Distribution::Uniform { least: 20.0, most: 40.0 };
        let priority = json!({ "priority": priority });
        ClassPlan {
            arrivals: ClassArrivals {
                name: name.to_owned(),
                rate: rate.into(),
                arrivals: Arrivals::Poisson,
            },
            input: Lengths::Drawn(uniform),
            output: Lengths::Drawn(Distribution::constant(output)),
            body: priority.as_object().cloned().unwrap_or_default(),
            goodput: Vec::new(),
            alone: true,
        }
    }

    #[test]
    fn requests_are_of_the_class_that_is_due_and_a_class_has_the_same_lengths_alone() {
        let plan = ClassesPlan(vec![class("chat", 4.0, 8.0, 0), class("batch", 1.0, 64.0, 5)]);
        let spec = OpenWorkload::open(&WorkloadPlan::Classes(plan.clone()), embedded(), 1, "salt")
            .expect("it opens");
        let made = |load: &MixedPlan, first, count| {
            let scope = PromptScope::new(CellPlan::OWN.to_string(), load.to_string(), 0);
            spec.requests_from(CellPlan::OWN, &scope, first, count).expect("requests").requests
        };
        let loads = plan.loads(Bound::requests(100), (None, OverLimit::Queue));
        let (both, chat) = (&loads[0], &loads[1]);
        assert_eq!((chat.bound.requests, loads[2].bound.requests), (Some(80), Some(20)));
        let all = made(both, 0, 100);
        let seed = PassPlan::Mixed(both.clone()).seed(1, CellPlan::OWN, 1);
        for (request, (_, class)) in all.iter().zip(both.order(seed)) {
            let expected = [("chat", 8, 0), ("batch", 64, 5)][class];
            let found = (request.class.as_deref().unwrap_or_default(), request.output_tokens);
            assert_eq!(found, (expected.0, expected.1));
            assert_eq!(request.extra_body["priority"], expected.2);
        }
        let of_chat = all.iter().filter(|request| request.class.as_deref() == Some("chat"));
        let lengths: Vec<u32> = of_chat.map(|request| request.input_tokens).collect();
        let alone = made(chat, 0, lengths.len());
        let alone: Vec<u32> = alone.iter().map(|request| request.input_tokens).collect();
        assert_eq!(alone, lengths);
        // Batches may be made in any order, and again.
        for first in [50, 0, 90, 40] {
            assert_eq!(made(both, first, 10), all[first as usize..first as usize + 10]);
        }
    }
}
