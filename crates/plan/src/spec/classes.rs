//! Reads classes of traffic: the key `class`, which is a list of tables.

use inferometer_model::finish_reason::FILTERED_CLASS;
use inferometer_model::load::arrival::Arrivals;
use inferometer_model::load::distribution::Distribution;
use inferometer_model::load::{ALONE, ClassArrivals};
use inferometer_model::metrics::request_objective;
use inferometer_model::request::asks_for_form;
use inferometer_model::visible;

use super::class_spec::{ClassSpec, FORM};
use super::drawn::own_lengths;
use super::limits::{MAX_CLASS_NAME, MAX_CLASSES};
use super::{Mistakes, Spec, Value, WorkloadKeys, levels, values};
use crate::{ClassPlan, ClassesPlan, Lengths};

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
        let classes = given.iter().map(|class| resolve(class, self, mistakes)).collect();
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

fn resolve(class: &ClassSpec, spec: &Spec, mistakes: &mut Mistakes) -> ClassPlan {
    let ClassSpec { name, rate, burstiness, input, output, body, goodput, alone } = class;
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
    for field in body.iter().flat_map(values::secret_fields) {
        wrong(format!("body: {}", values::secret_told(&field)));
    }
    if body.as_ref().is_some_and(|body| asks_for_form(body) || body.contains_key("n")) {
        wrong("body: forms of answers and `n` are for all classes; use --extra-body".to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

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
