//! Reads classes of traffic: the key `class`, which is a list of tables, and its flag.

use std::str::FromStr;

use inferometer_model::finish_reason::FILTERED_CLASS;
use inferometer_model::load::arrival::Arrivals;
use inferometer_model::load::distribution::Distribution;
use inferometer_model::load::{ALONE, ClassArrivals};
use inferometer_model::metrics::request_objective;
use inferometer_model::request::asks_for_form;
use inferometer_model::visible;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::drawn::own_lengths;
use super::limits::{MAX_CLASS_NAME, MAX_CLASSES};
use super::{Mistakes, Spec, Value, WorkloadKeys, levels, values};
use crate::resolve::secret_fields;
use crate::{ClassPlan, ClassesPlan, Lengths};

const FORM: &str = "write it as 'chat; rate=4; input=512; output=128'; more keys are burstiness, body, goodput, alone";

/// A class of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// The name of the class.
    pub name: String,
    /// Its requests per second, as `rate` has them; `30s@0+30s@2` is a window.
    pub rate: Value,
    /// Gamma shape of the gaps between its arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burstiness: Option<Value>,
    /// Its prompt tokens: a number, or a distribution as `input_distribution` has it.
    pub input: Value,
    /// Its output tokens, in the same form.
    pub output: Value,
    /// Fields of its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Map<String, Json>>,
    /// Objectives on its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<String>,
    /// Whether a pass measures the class alone, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<bool>,
}

impl FromStr for ClassSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        if name.contains(['=', ',']) {
            return Err(format!("its name comes first, and `;` after each part; {FORM}"));
        }
        let mut keys = Map::from_iter([("name".to_owned(), Json::from(name))]);
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, "true"));
            let value = match key.trim() {
                "body" => serde_json::from_str(value).map_err(|error| {
                    format!("body: {error} (only a plan file may have a `;` in it)")
                })?,
                "alone" => value
                    .trim()
                    .parse()
                    .map(Json::Bool)
                    .map_err(|_| format!("alone: `{}` is not true or false", value.trim()))?,
                _ => Json::from(value.trim()),
            };
            if keys.insert(key.trim().to_owned(), value).is_some() {
                return Err(format!("it gives {} twice; {FORM}", key.trim()));
            }
        }
        serde_json::from_value(Json::Object(keys)).map_err(|error| format!("{error}; {FORM}"))
    }
}

/// The keys of loads and lengths, which have no meaning beside classes; those of workloads have none either.
const EXCLUDED: &[&str] = &[
    "passes", "one_by_one", "concurrency", "rate", "stages", "replay", "replay_speed",
    "burstiness", "arrivals", "scale", "input_lengths", "output_lengths", "adapters",
];

impl Spec {
    /// The classes of traffic; `None` if there are none.
    pub(crate) fn classes(&self, mistakes: &mut Mistakes) -> Option<ClassesPlan> {
        let given = self.class.as_deref()?;
        let excluded: Vec<&str> = EXCLUDED.iter().copied().chain(WorkloadKeys::names()).collect();
        for key in self.given(&excluded) {
            mistakes
                .add(key, "is not used: each --class has its own load and prompts; leave it out");
        }
        let mut wrong = |problem: String| mistakes.add("class", problem);
        if self.pools() {
            wrong("is of requests that generate text; leave it out, or the --dialect".to_owned());
        }
        if given.is_empty() || given.len() > MAX_CLASSES {
            wrong(format!("has {} classes; give 1 to {MAX_CLASSES}", given.len()));
        }
        for (at, ClassSpec { name, alone, .. }) in given.iter().enumerate() {
            if !is_name(name) {
                wrong(format!("`{}` is not a name; {FORM}", visible::name(name)));
            }
            if given[..at].iter().any(|other| other.name == *name) {
                wrong(format!("{name} is given twice"));
            }
            if *alone == Some(true) && given.len() == 1 {
                wrong(format!("{name}: it is alone without `alone`; leave it out"));
            }
        }
        let classes = given.iter().map(|class| class.resolve(self, mistakes)).collect();
        let classes = ClassesPlan(classes);
        let has_end = self.requests.is_some() || self.duration.is_some();
        if !has_end && (1..given.len()).contains(&classes.windows()) {
            mistakes.add("class", "has a window beside a class that does not end; give --duration");
        }
        let span = self.duration.as_ref().and_then(|it| values::span(it).ok());
        let is_empty = |class: &&ClassPlan| {
            span.is_some_and(|span| class.arrivals.rate.area_s(span.as_secs_f64()) == 0.0)
        };
        for class in classes.0.iter().filter(is_empty) {
            let name = &class.arrivals.name;
            mistakes.add("class", format!("{name} has no request before --duration ends"));
        }
        Some(classes)
    }
}

/// Whether a text names a class: no sign of a label, of a terminal, or of a class that results have by themselves.
fn is_name(name: &str) -> bool {
    let is_sign = |c: char| c.is_control() || ['+', ','].contains(&c);
    let is_short = !name.is_empty() && name.chars().count() <= MAX_CLASS_NAME;
    is_short && !name.contains(is_sign) && !name.ends_with(ALONE) && name != FILTERED_CLASS
}

impl ClassSpec {
    fn resolve(&self, spec: &Spec, mistakes: &mut Mistakes) -> ClassPlan {
        let Self { name, rate, burstiness, input, output, body, goodput, alone } = self;
        let mut wrong = |problem: String| mistakes.add("class", format!("{name}: {problem}"));
        let rate = levels::rate(rate).unwrap_or_else(|problem| {
            wrong(format!("rate `{rate}` {problem}"));
            1.0.into()
        });
        if rate.peak().is_infinite() {
            wrong("rate `inf` has no arrivals of its own; give a number".to_owned());
        }
        let burstiness = burstiness.as_ref().map_or(Ok(1.0), values::burstiness);
        let arrivals = burstiness.map(Arrivals::of_burstiness).unwrap_or_else(|problem| {
            wrong(format!("burstiness {problem}"));
            Arrivals::Poisson
        });
        let mut lengths = |key, given: &Value| {
            let found = match own_lengths(&given.to_string()) {
                Ok(Lengths::Pairs(_)) => Err("has pairs; make a class of each".to_owned()),
                found => found.map_err(|problem| problem.to_string()),
            };
            found.unwrap_or_else(|problem| {
                wrong(format!("{key} `{given}` {problem}"));
                Lengths::Drawn(Distribution::constant(1.0))
            })
        };
        let (input, output) = (lengths("input", input), lengths("output", output));
        let objectives = goodput.as_deref().map_or(Ok(Vec::new()), request_objective::parse);
        let goodput = objectives.unwrap_or_else(|errors| {
            errors.iter().for_each(|error| wrong(format!("goodput: {error}")));
            Vec::new()
        });
        for field in body.iter().flat_map(secret_fields) {
            wrong(format!("body: {}", values::secret_told(&field)));
        }
        if body.as_ref().is_some_and(|body| asks_for_form(body) || body.contains_key("n")) {
            wrong(
                "body: forms of answers and `n` are for all classes; use --extra-body".to_owned(),
            );
        }
        for objective in goodput.iter().filter(|objective| spec.lacks_stream(objective.metric)) {
            wrong(format!("goodput: `{}` cannot be judged without streaming", objective.text));
        }
        ClassPlan {
            arrivals: ClassArrivals { name: name.clone(), rate, arrivals },
            input,
            output,
            body: body.clone().unwrap_or_default(),
            goodput,
            alone: alone.unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_written_as_a_table_or_as_a_text() {
        let text = "chat; rate=4; input=512; output=lognormal:128,64; body={\"priority\":0}; \
                    goodput=ttft<500ms,tpot<50ms; alone";
        let table = r#"{"name": "chat", "rate": "4", "input": "512", "output": "lognormal:128,64",
            "body": {"priority": 0}, "goodput": "ttft<500ms,tpot<50ms", "alone": true}"#;
        let read: ClassSpec = serde_json::from_str(table).expect("a table");
        assert_eq!(text.parse(), Ok(read));
        for (wrong, told) in [
            ("chat; rate=4; input=512", "missing field `output`"),
            ("rate=4; input=512; output=1", "its name comes first"),
            ("chat, rate=4, input=512", "its name comes first"),
            ("chat; rate=4; input=1; output=1; size=3", "unknown field `size`"),
            ("chat; rate=4; rate=5; input=1; output=1", "gives rate twice"),
            ("chat; rate=4; input=1; output=1; body={", "body: EOF"),
            ("chat; rate=4; input=1; output=1; alone=yes", "`yes` is not true or false"),
        ] {
            let problem = wrong.parse::<ClassSpec>().unwrap_err();
            assert!(problem.contains(told), "{wrong}: {problem}");
        }
    }

    fn told(classes: &[&str], spec: Spec) -> Vec<String> {
        let class = classes.iter().map(|text| text.parse().expect(text)).collect();
        let mut mistakes = Mistakes::default();
        Spec { class: Some(class), ..spec }.classes(&mut mistakes).expect("classes");
        mistakes.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn all_mistakes_of_classes_are_told_with_their_names() {
        let mut spec = Spec { input_lengths: Some(vec![8]), ..Spec::default() };
        spec.workload.drawn.prefix_groups = Some(4);
        let told = told(
            &[
                "chat; rate=0; input=many; output=8; goodput=speed<1; body={\"api_key\":\"abcdef0123\"}",
                "chat; rate=1; input=8; output=pairs:8,8:1; burstiness=-1; body={\"n\":2}",
                "a+b; rate=5s@1; input=8; output=8",
            ],
            spec,
        );
        for expected in [
            "input_lengths (--input-lengths): is not used",
            "prefix_groups (--prefix-groups): is not used",
            "chat is given twice",
            "chat: rate `0`",
            "chat: input `many`",
            "chat: output `pairs:8,8:1` has pairs",
            "chat: goodput: ",
            "chat: burstiness",
            "chat: body: `api_key`",
            "chat: body: forms of answers and `n`",
            "`a+b` is not a name",
            "give --duration",
        ] {
            assert!(told.iter().any(|told| told.contains(expected)), "{expected}: {told:?}");
        }
        assert!(!told.concat().contains("abcdef0123"), "{told:?}");
    }

    #[test]
    fn a_class_alone_needs_others_and_windows_need_an_end() {
        let window = "a; rate=5s@1; input=8; output=8";
        assert_eq!(told(&[window], Spec::default()), Vec::<String>::new());
        let spec = Spec { duration: Some(Value::Text("5s".to_owned())), ..Spec::default() };
        let late = told(&[window, "b; rate=6s@0+6s@1; input=8k; output=8"], spec);
        assert_eq!(late.len(), 1, "{late:?}");
        assert!(late[0].contains("b has no request"), "{late:?}");
        let alone = told(&["a; rate=1; input=8; output=8; alone"], Spec::default());
        assert!(alone.concat().contains("is alone without"), "{alone:?}");
    }
}
