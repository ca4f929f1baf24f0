//! The form that a request asks for, and whether an answer has it: tools and schemas of all dialects.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use inferometer_model::record::{Structured, Verdict};
use inferometer_model::request::{FORM_FIELDS, asks_for_form};
use inferometer_model::{Request, Sampling, finish_reason};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::{ParsedResponse, dialect::merge};

/// The form that a request asks for.
#[derive(Debug, Default)]
pub struct Asked {
    /// The offered tools by name, each with the form of its arguments. `None` if the request does not name tools.
    tools: Option<HashMap<String, Form>>,
    needs_call: bool,
    text: Option<Form>,
}

/// A form of a text.
#[derive(Debug)]
enum Form {
    /// JSON of any form.
    Json,
    /// JSON that fits a schema.
    Schema(Validator),
    /// A text that fits a schema of one string: a choice, or a pattern.
    Text(Validator),
    /// A form that is not checked.
    Unchecked,
}

impl Asked {
    /// The form that a request asks for; `None` if it asks for none.
    fn of(fields: &Map<String, Value>) -> Option<Self> {
        let field = |name| fields.get(name);
        let lists = [field("tools"), field("functions")].into_iter().flatten();
        let mut tools: Option<HashMap<_, _>> = None;
        for tool in lists.filter_map(Value::as_array).flatten() {
            tools.get_or_insert_default().extend(offered(tool));
        }
        let choice = field("tool_choice").or(field("function_call")).unwrap_or(&Value::Null);
        let named = [choice, &choice["function"]].into_iter().find_map(|it| it["name"].as_str());
        let kind = choice.as_str().or_else(|| choice["type"].as_str());
        let needs_call = named.is_some() || matches!(kind, Some("required" | "any"));
        if let Some(tools) = &mut tools {
            tools.retain(|name, _| kind != Some("none") && named.is_none_or(|it| it == name));
        }
        let asked = Self { needs_call: needs_call && tools.is_some(), tools, text: text(fields) };
        (asked.tools.is_some() || asked.text.is_some()).then_some(asked)
    }

    /// Whether the text of the answer is needed.
    pub(crate) fn needs_text(&self) -> bool {
        self.text.is_some()
    }

    /// Judges a completed answer. `None` if there are several answers.
    pub(crate) fn judge(&self, answer: &ParsedResponse) -> Option<Structured> {
        if answer.choices > 1 {
            return None;
        }
        let reason = answer.finish_reason.as_deref();
        let is_cut = reason.is_some_and(finish_reason::is_of_length);
        let mut calls: BTreeMap<Verdict, u32> = BTreeMap::new();
        let made = answer.calls();
        for (at, call) in made.iter().enumerate() {
            let verdict = match self.tools.as_ref().and_then(|tools| tools.get(&call.name)) {
                Some(form) => form.judge(&call.arguments, is_cut && at + 1 == made.len()),
                None => Verdict::NotOffered,
            };
            *calls.entry(verdict).or_default() += 1;
        }
        if self.needs_call && made.is_empty() {
            calls.insert(if is_cut { Verdict::Cut } else { Verdict::Missing }, 1);
        }
        let said = answer.text.as_deref().unwrap_or_default();
        let is_replaced = said.trim().is_empty() && !made.is_empty();
        let text =
            self.text.as_ref().filter(|_| !is_replaced).map(|form| match said.trim().is_empty() {
                true if is_cut => Verdict::Cut,
                true => Verdict::Missing,
                false => form.judge(said, is_cut),
            });
        Some(Structured { tools: self.tools.is_some(), calls, text })
    }
}

impl Form {
    /// The form of a JSON schema, which some fields contain as text. A schema that is not valid is not checked.
    fn schema(schema: &Value) -> Self {
        let parsed = schema.as_str().and_then(|text| serde_json::from_str(text).ok());
        jsonschema::validator_for(parsed.as_ref().unwrap_or(schema))
            .map_or(Self::Unchecked, Self::Schema)
    }

    fn text(schema: &Value) -> Self {
        jsonschema::validator_for(schema).map_or(Self::Unchecked, Self::Text)
    }

    fn judge(&self, text: &str, is_cut: bool) -> Verdict {
        let fits = |fits| if fits { Verdict::Fits } else { Verdict::Unfit };
        let parsed = || serde_json::from_str::<Value>(text);
        let verdict = match self {
            Self::Unchecked => Verdict::Unchecked,
            Self::Text(form) => fits(form.is_valid(&json!(text))),
            Self::Json => parsed().map_or(Verdict::NotJson, |_| Verdict::Fits),
            Self::Schema(form) => {
                parsed().map_or(Verdict::NotJson, |value| fits(form.is_valid(&value)))
            }
        };
        let is_incomplete = is_cut && matches!(verdict, Verdict::NotJson | Verdict::Unfit);
        if is_incomplete { Verdict::Cut } else { verdict }
    }
}

/// The name of an offered tool, and the form of its arguments.
fn offered(tool: &Value) -> Option<(String, Form)> {
    let inner = tool.get("function").unwrap_or(tool);
    let schema = ["parameters", "input_schema"].into_iter().find_map(|key| inner.get(key));
    let form = match (schema, inner["type"].as_str()) {
        (Some(schema), _) if !schema.is_null() => Form::schema(schema),
        // A tool with free text as its input, or one that the server itself runs.
        (_, Some(kind)) if kind != "function" => Form::Unchecked,
        _ => Form::Json,
    };
    Some((inner["name"].as_str()?.to_owned(), form))
}

/// The form of the text that the fields ask for.
fn text(fields: &Map<String, Value>) -> Option<Form> {
    let format = fields.get("response_format").or_else(|| fields.get("text")?.get("format"));
    match format.and_then(|format| format["type"].as_str()) {
        Some("json_schema" | "json_object" | "json") => {
            let format = format?;
            let schema = [&format["json_schema"]["schema"], &format["schema"], &format["value"]];
            let schema = schema.into_iter().find(|schema| !schema.is_null());
            return Some(schema.map_or(Form::Json, Form::schema));
        }
        None | Some("text") => {}
        Some(_) => return Some(Form::Unchecked),
    }
    let grammar = fields.get("parameters").and_then(|it| it.get("grammar"));
    if let Some(grammar) = grammar.filter(|grammar| !grammar.is_null()) {
        return Some(match grammar["type"].as_str() {
            Some("json" | "json_schema") => Form::schema(&grammar["value"]),
            Some("regex") => pattern(&grammar["value"]),
            _ => Form::Unchecked,
        });
    }
    let structured = fields.get("structured_outputs");
    let named = |name: &str, others: &[&str]| {
        let inside = structured.and_then(|it| it.get(name));
        let beside = others.iter().find_map(|other| fields.get(*other));
        inside.or(beside).filter(|value| !value.is_null() && **value != json!(false))
    };
    if named("json_object", &[]).is_some() || fields.get("format") == Some(&json!("json")) {
        return Some(Form::Json);
    }
    if let Some(schema) = named("json", &["guided_json", "json_schema", "format"]) {
        return Some(Form::schema(schema));
    }
    if let Some(choice) = named("choice", &["guided_choice"]) {
        return Some(Form::text(&json!({ "enum": choice })));
    }
    if let Some(regex) = named("regex", &["guided_regex", "regex"]) {
        return Some(pattern(regex));
    }
    let other = named("grammar", &["guided_grammar", "grammar", "ebnf"]);
    other.or(named("structural_tag", &[])).map(|_| Form::Unchecked)
}

/// The form of a text that matches a regular expression from its begin to its end.
fn pattern(regex: &Value) -> Form {
    let regex = regex.as_str().unwrap_or_default();
    Form::text(&json!({ "type": "string", "pattern": format!("^(?:{regex})$") }))
}

/// The most different forms that are kept.
const MAX_KEPT: usize = 4_096;

/// Finds the form that each request asks for. Requests with equal fields share it.
#[derive(Debug, Default)]
pub struct Forms {
    known: HashMap<String, Option<Arc<Asked>>>,
}

impl Forms {
    /// The form that a request asks for; `None` if it asks for none.
    pub fn of(&mut self, request: &Request, sampling: &Sampling) -> Option<Arc<Asked>> {
        let bodies = [&sampling.extra_body, &request.extra_body];
        if !bodies.iter().any(|body| asks_for_form(body)) {
            return None;
        }
        let mut fields = Map::new();
        bodies.into_iter().for_each(|body| merge(&mut fields, body));
        fields.retain(|name, _| FORM_FIELDS.contains(&name.as_str()));
        let key = Value::Object(fields.clone()).to_string();
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        self.known.entry(key).or_insert_with(|| Asked::of(&fields).map(Arc::new)).clone()
    }
}
