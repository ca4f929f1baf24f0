//! The views of the database that list metrics. They are made from the registry of metrics when the database is opened,
//! so a new metric needs no new version of the store.

use inferometer_analysis::pass::path_of;
use inferometer_model::{Statistic, metrics::registry};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use serde_json::{Value, json};

/// The statistics of a metric in `v_figures`.
const STATISTICS: [Statistic; 4] =
    [Statistic::Mean, Statistic::P50, Statistic::P90, Statistic::P99];

/// Creates or replaces the views whose text differs from that of this version of the program.
pub(super) fn update(connection: &mut Connection) -> rusqlite::Result<()> {
    let views = [("v_latencies", latencies()), ("v_figures", figures())];
    if views.iter().all(|(name, view)| is_up_to_date(connection, name, view).unwrap_or(false)) {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (name, view) in views {
        transaction.execute_batch(&format!("DROP VIEW IF EXISTS {name}; {view}"))?;
    }
    transaction.commit()
}

fn is_up_to_date(connection: &Connection, name: &str, view: &str) -> rusqlite::Result<bool> {
    let query = "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?";
    let found: Option<String> =
        connection.prepare(query)?.query_row([name], |row| row.get(0)).optional()?;
    Ok(found.is_some_and(|found| found == view))
}

/// The text with a list of names as a JSON text in SQL.
fn with_names(view: &str, names: Vec<Value>) -> String {
    view.trim().replace("{names}", &Value::from(names).to_string())
}

fn latencies() -> String {
    let keys = registry::in_results().map(|(key, _)| json!(key)).collect();
    with_names(include_str!("../schema/v_latencies.sql"), keys)
}

fn figures() -> String {
    let values = registry::of_passes().map(|(key, metric)| json!([key, path_of(metric)]));
    let statistics = registry::in_results().flat_map(|(key, metric)| {
        STATISTICS.map(|of| {
            let (name, unit) = (metric.name, metric.unit.in_names());
            json!([format!("{name}_{}_{unit}", of.name()), format!("$.{key}.{}", of.name())])
        })
    });
    with_names(include_str!("../schema/v_figures.sql"), values.chain(statistics).collect())
}
