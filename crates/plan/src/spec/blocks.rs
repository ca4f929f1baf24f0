//! The plan keys of the workload `blocks`, whose prompts contain pieces of a text, and their default values.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Mistakes;
use crate::template::{TEMPLATES, Template};
use inferometer_model::did_you_mean;

/// The default block sizes and requested output lengths, in characters: those of the published log of SUS-Chat-34B.
const SIZES: [u32; 5] = [100, 500, 1_000, 2_000, 4_000];
/// Block sizes and requested lengths of a run without any options, in characters.
const DEMONSTRATION_SIZES: [u32; 2] = [100, 500];

/// The keys of a plan for text blocks.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockKeys {
    /// Sizes in characters of the text blocks in prompts [default: 100,500,1000,2000,4000; 100,500
    /// if neither a server, nor sizes, nor a load is given; `ab` needs one size]
    #[arg(long, value_delimiter = ',', value_name = "N,...", help_heading = "Workload blocks")]
    pub block_sizes: Option<Vec<u32>>,
    /// Output sizes that the prompt asks for, in characters [default: as --block-sizes]
    #[arg(long, value_delimiter = ',', value_name = "N,...", help_heading = "Workload blocks")]
    pub wanted_lengths: Option<Vec<u32>>,
    /// Requests in flight, one number for each block size [default: 32 for blocks of up to 100
    /// characters, 25 for up to 500, 16 for longer blocks]
    #[arg(long, value_delimiter = ',', value_name = "N,...", help_heading = "Workload blocks")]
    pub block_concurrency: Option<Vec<u32>>,
    /// The task for each block: continue-zh, continue-en, repeat-zh, repeat-en, summarise-zh,
    /// summarise-en, translate-zh, translate-en, or a file with {text} (the block) and
    /// {num_completion} (the requested output size) [default: continue-zh]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Workload blocks")]
    pub template: Option<String>,
    /// Text before the template in every prompt
    #[arg(long, value_name = "TEXT", help_heading = "Workload blocks")]
    pub preamble: Option<String>,
    /// Maximum output tokens of a request [default: 4 x characters of --wanted-lengths + 256, at
    /// most 4096]
    #[arg(long, value_name = "N", help_heading = "Workload blocks")]
    pub max_output_tokens: Option<u32>,
}

/// The number of requests in flight for blocks of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// Characters of a block.
    pub block_chars: u32,
    /// Requests in flight.
    pub concurrency: u32,
}

impl BlockKeys {
    pub(crate) const NAMES: &[&str] = &[
        "block_sizes", "wanted_lengths", "block_concurrency", "template", "preamble",
        "max_output_tokens",
    ];

    /// Block sizes and requested lengths, in characters. With `is_demonstration`, the defaults are only two
    /// of each.
    pub(crate) fn lengths(&self, is_demonstration: bool) -> (Vec<u32>, Vec<u32>) {
        let default: &[u32] = if is_demonstration { &DEMONSTRATION_SIZES } else { &SIZES };
        let or_default =
            |given: &Option<Vec<u32>>| given.clone().unwrap_or_else(|| default.to_vec());
        (or_default(&self.block_sizes), or_default(&self.wanted_lengths))
    }

    /// Whether the user gave no block sizes and no requested lengths.
    pub(crate) fn is_plain(&self) -> bool {
        self.block_sizes.is_none() && self.wanted_lengths.is_none()
    }

    /// Resolves the corpus, the template and the requests in flight. With `own_load`, the user gave a load, which sets
    /// the number of requests in flight.
    pub(crate) fn resolve(
        &self,
        corpus: Option<&str>,
        own_load: bool,
        is_demonstration: bool,
        mistakes: &mut Mistakes,
    ) -> (String, Template, Vec<InFlight>) {
        let (sizes, _) = self.lengths(is_demonstration);
        let template = self.template(mistakes);
        let language = if template.name.ends_with("-en") { "shipped-en" } else { "shipped-zh" };
        if self.max_output_tokens == Some(0) {
            mistakes.add("max_output_tokens", "is 0; give at least 1");
        }
        let in_flight = self.in_flight(&sizes, own_load, mistakes);
        (corpus.unwrap_or(language).to_owned(), template, in_flight)
    }

    fn template(&self, mistakes: &mut Mistakes) -> Template {
        let name = self.template.as_deref().unwrap_or(TEMPLATES[0].name);
        let preamble = self.preamble.clone().unwrap_or_default();
        let named = Template::named(name);
        if named.is_none() && !name.contains(['.', '/']) {
            let names = TEMPLATES.map(|template| template.name);
            let told = format!(
                "`{name}` is not a template{}; the templates are {}; a file without a dot in its \
                 name must be written as ./{name}",
                did_you_mean(name, names),
                names.join(", ")
            );
            mistakes.add("template", told);
        }
        // The caller reads the text of a file, because this crate opens no files.
        let of_file = || Template { name: name.to_owned(), ..Template::default() };
        Template { preamble, ..named.unwrap_or_else(of_file) }
    }

    fn in_flight(&self, sizes: &[u32], own: bool, mistakes: &mut Mistakes) -> Vec<InFlight> {
        let concurrency: Vec<u32> = match &self.block_concurrency {
            Some(_) if own => {
                mistakes.add(
                    "block_concurrency",
                    "cannot be used, because the plan also sets another load",
                );
                return Vec::new();
            }
            None if own => return Vec::new(),
            Some(given) => given.clone(),
            None => sizes.iter().map(|&size| published(size)).collect(),
        };
        if concurrency.len() != sizes.len() {
            let told = format!(
                "has {} numbers for {} block sizes; give one for each",
                concurrency.len(),
                sizes.len()
            );
            mistakes.add("block_concurrency", told);
        }
        if concurrency.contains(&0) {
            mistakes.add("block_concurrency", "has a 0; each number must be at least 1");
        }
        let pairs = sizes.iter().zip(concurrency);
        pairs.map(|(&block_chars, concurrency)| InFlight { block_chars, concurrency }).collect()
    }
}

/// The number of requests in flight in the published log of SUS-Chat-34B, for a block of this many
/// characters. A size between two sizes of the log has the number of the larger size.
fn published(block_chars: u32) -> u32 {
    match block_chars {
        0..=100 => 32,
        101..=500 => 25,
        _ => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use crate::spec::{Known, Spec, SpecError, WorkloadKeys, WorkloadPlan};
    use inferometer_model::cell::CellPlan;
    use inferometer_model::load::PassPlan;

    fn resolved(keys: BlockKeys, spec: Spec) -> Result<Plan, Vec<SpecError>> {
        let workload = Some("blocks".to_owned());
        let workload = WorkloadKeys { workload, blocks: keys, ..WorkloadKeys::default() };
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        Spec { workload, ..spec }.resolve(&known)
    }

    fn server() -> Spec {
        Spec { target: Some("http://127.0.0.1:8000".into()), ..Spec::default() }
    }

    fn concurrency(plan: &Plan, cell: CellPlan) -> String {
        plan.passes_of(cell).iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_blocks_plan_for_a_server_has_the_published_grid_and_loads() {
        let plan = resolved(BlockKeys::default(), server()).unwrap();
        assert_eq!(plan.cells.len(), 25);
        assert!(!plan.sampling.ignore_eos);
        let in_flight: Vec<String> =
            plan.cells.iter().step_by(5).map(|&cell| concurrency(&plan, cell)).collect();
        let expected = [32, 25, 16, 16, 16].map(|count| format!("closed loop, {count} in flight"));
        assert_eq!(in_flight, expected);
        assert_eq!(plan.passes.iter().map(|pass| pass.requests()).collect::<Vec<_>>(), [Some(500)]);
        let WorkloadPlan::Blocks { corpus, template, .. } = &plan.workload else { panic!() };
        assert_eq!((corpus.as_str(), template.name.as_str()), ("shipped-zh", "continue-zh"));
    }

    #[test]
    fn a_given_load_applies_to_all_block_sizes_and_excludes_block_concurrency() {
        let given = Some(vec![crate::spec::Value::Number(8.0)]);
        let spec = Spec { concurrency: given, ..server() };
        let plan = resolved(BlockKeys::default(), spec.clone()).unwrap();
        assert!(
            plan.cells
                .iter()
                .all(|&cell| { concurrency(&plan, cell) == "closed loop, 8 in flight" })
        );
        let keys = BlockKeys { block_concurrency: Some(vec![1]), ..BlockKeys::default() };
        let told = resolved(keys, spec).unwrap_err()[0].to_string();
        assert!(told.contains("the plan also sets another load"), "{told}");
    }

    #[test]
    fn all_mistakes_in_block_keys_are_reported_with_their_key() {
        let keys = BlockKeys {
            block_sizes: Some(vec![100, 0]),
            block_concurrency: Some(vec![4]),
            template: Some("sumarise-zh".to_owned()),
            max_output_tokens: Some(0),
            ..BlockKeys::default()
        };
        let spec = Spec { input_lengths: Some(vec![128]), ..server() };
        let told: Vec<String> =
            resolved(keys, spec).unwrap_err().iter().map(ToString::to_string).collect();
        for (key, words) in [
            ("block_sizes", "0 is not a length"),
            ("block_concurrency", "1 numbers for 2 block sizes"),
            ("template", "did you mean `summarise-zh`"),
            ("max_output_tokens", "is 0"),
            ("input_lengths", "is in tokens"),
        ] {
            let found = told.iter().any(|told| told.starts_with(key) && told.contains(words));
            assert!(found, "{key}: {told:?}");
        }
        let long = |count: u32| Some((1..=count).collect());
        let (block_sizes, wanted_lengths) = (long(65), long(64));
        let keys = BlockKeys { block_sizes, wanted_lengths, ..BlockKeys::default() };
        let told = resolved(keys, server()).unwrap_err()[0].to_string();
        assert!(told.starts_with("block_sizes") && told.contains("4160 cells"), "{told}");
    }

    #[test]
    fn keys_of_blocks_and_sharegpt_are_refused_for_other_workloads() {
        let keys = WorkloadKeys {
            blocks: BlockKeys { preamble: Some("x".to_owned()), ..BlockKeys::default() },
            serving: crate::spec::ServingKeys { min_tokens: Some(2), ..Default::default() },
            ..WorkloadKeys::default()
        };
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        let spec = Spec { workload: keys, ..Spec::default() };
        let told: Vec<String> =
            spec.resolve(&known).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        for workload in ["blocks", "sharegpt"] {
            let words = format!("belongs to --workload {workload}");
            assert!(told.iter().any(|told| told.ends_with(&words)), "{told:?}");
        }
    }

    #[test]
    fn sharegpt_uses_the_lengths_of_the_data_set_unless_a_grid_is_given() {
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        let spec = |input_lengths| Spec {
            workload: WorkloadKeys {
                workload: Some("sharegpt".to_owned()),
                dataset: Some("s.json".to_owned()),
                ..WorkloadKeys::default()
            },
            input_lengths,
            ..server()
        };
        let own = spec(None).resolve(&known).unwrap();
        assert_eq!(own.cells, [CellPlan::OWN]);
        assert_eq!(own.passes, [PassPlan::saturated(1_000)]);
        let grid = spec(Some(vec![128])).resolve(&known).unwrap();
        assert!(matches!(grid.workload, WorkloadPlan::Sharegpt { .. }));
        assert_eq!(grid.passes.len(), 2);
    }
}
