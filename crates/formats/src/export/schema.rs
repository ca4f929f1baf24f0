//! JSON schemas of the tables, made from their columns. A test compares them with the files in the
//! repository's folder `schema/`.

use serde_json::{Map, Value as Json, json};

use crate::export::value::{Field, Kind, Presence};

/// Returns the JSON schema of the document that contains all rows of a table. `$defs/row` is the schema of
/// one row, and so of one line of JSON Lines.
pub fn of(schema: &str, about: &str, fields: &[Field]) -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema,
        "description": about,
        "type": "object",
        "required": ["schema", "run_id", "rows"],
        "additionalProperties": false,
        "properties": {
            "schema": { "const": schema },
            "run_id": { "type": "string" },
            "rows": { "type": "array", "items": { "$ref": "#/$defs/row" } },
        },
        "$defs": { "row": row(about, fields) },
    })
}

fn row(about: &str, fields: &[Field]) -> Json {
    let names: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
    let properties: Map<String, Json> =
        fields.iter().map(|field| (field.name.to_string(), property(field))).collect();
    json!({
        "description": about,
        "type": "object",
        "required": names,
        "additionalProperties": false,
        "properties": properties,
    })
}

fn property(field: &Field) -> Json {
    let kind = match field.kind {
        Kind::Text => "string",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Flag => "boolean",
    };
    let kind = match field.presence {
        Presence::Always => json!(kind),
        Presence::Sometimes => json!([kind, "null"]),
    };
    match field.about.as_ref() {
        "" => json!({ "type": kind }),
        about => json!({ "type": kind, "description": about }),
    }
}
