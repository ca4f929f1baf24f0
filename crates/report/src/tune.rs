//! The table of `tune`: each candidate with its figure, its difference from the default, and what has become of it.

use inferometer_analysis::tune::{TuneAnswer, TuneStatus, TunedCandidate};
use inferometer_model::Change;

use crate::{Align, MISSING, Table, significant};

/// A heading, an explanation, and the table.
pub(crate) fn table(answer: &TuneAnswer) -> (String, String, Table) {
    let has_objectives = !answer.objectives.is_empty();
    let heading = |text: &str| (text.to_owned(), Align::Right);
    let met = has_objectives.then(|| heading("Met"));
    let mut table = Table::new(
        [("Arguments".to_owned(), Align::Left)]
            .into_iter()
            .chain([&*answer.figure, "against default", "interval"].map(heading))
            .chain([heading("Rounds")])
            .chain(met)
            .chain([("Result".to_owned(), Align::Left)]),
    );
    for one in &answer.candidates {
        let missing = || MISSING.to_owned();
        let change = one.ratio.map(Change);
        let interval = change.zip(one.ratio_ci).map(|(change, ends)| change.interval(ends, 1));
        let mut row = vec![
            one.name.clone(),
            one.value.map_or_else(missing, significant),
            change.map_or_else(missing, |change| change.signed(1)),
            interval.unwrap_or_else(missing),
            one.met[1].to_string(),
        ];
        row.extend(has_objectives.then(|| one.met[0].to_string()));
        row.push(result(one));
        table.push(row);
    }
    let objectives = match has_objectives {
        true => format!(" Met: the rounds that met {}.", answer.objectives.join(",")),
        false => String::new(),
    };
    let intervals = match answer.candidates.iter().any(|one| one.ratio_ci.is_some()) {
        true => " All intervals hold together with a probability of 95 %.",
        false => "",
    };
    let sentence =
        format!("{}, the geometric mean over rounds.{intervals}{objectives}", answer.figure);
    ("Arguments of the server".to_owned(), sentence, table)
}

fn result(one: &TunedCandidate) -> String {
    let word = match one.status {
        TuneStatus::Best => "best",
        TuneStatus::Tie => "tie",
        TuneStatus::Worse => "worse",
        TuneStatus::Undecided => "undecided",
        TuneStatus::LeftOut => "left out",
        TuneStatus::NotTried => "not measured",
        TuneStatus::Failed => "failed",
    };
    match &one.why {
        // Why a server did not start stands below the table.
        Some(why) if one.status != TuneStatus::Failed => format!("{word}: {why}"),
        _ => word.to_owned(),
    }
}
