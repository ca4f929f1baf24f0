//! Answers with tool calls and with texts of a given form, right and wrong, as each dialect sends them.

use inferometer_model::record::{Structured, Verdict};
use inferometer_model::request::{Prompt, Request, Sampling};
use inferometer_wire::dialect::dialect;
use inferometer_wire::exchange::ResponseReader;
use inferometer_wire::structured::Forms;
use serde_json::{Map, Value, json};

use super::bodies;

fn request() -> Request {
    bodies::request(Prompt::Text("Weather?".to_owned()))
}

/// What an answer says: tool calls with their arguments, its text, and its finish reason.
#[derive(Clone)]
struct Said {
    calls: Vec<(&'static str, String)>,
    text: String,
    reason: &'static str,
}

impl Said {
    fn calls(calls: &[(&'static str, &str)]) -> Self {
        let calls =
            calls.iter().map(|(name, arguments)| (*name, (*arguments).to_owned())).collect();
        Self { calls, text: String::new(), reason: "tool_calls" }
    }

    fn text(text: &str) -> Self {
        Self { calls: Vec::new(), text: text.to_owned(), reason: "stop" }
    }

    fn cut(self) -> Self {
        Self { reason: "length", ..self }
    }
}

/// The pieces of a text, each of up to `size` characters.
fn pieces(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// The answer as a dialect sends it, with texts in pieces of `size` characters; not as a stream if `size` is 0.
fn response(api: &str, said: &Said, size: usize) -> Vec<u8> {
    let messages = match (api, size) {
        ("openai-chat", 0) => vec![chat_body(said)],
        ("openai-chat", _) => chat(said, size),
        ("anthropic", _) => anthropic(said, size),
        _ => responses(said, size),
    };
    let (kind, body) = match size {
        0 => ("application/json", messages[0].to_string()),
        _ => {
            let line = |message: &Value| format!("data: {message}\n\n");
            ("text/event-stream", messages.iter().map(line).collect())
        }
    };
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into()
}

fn chat_body(said: &Said) -> Value {
    let call = |(name, arguments): &(&str, String)| json!({"id": name, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls: Vec<Value> = said.calls.iter().map(call).collect();
    json!({"choices": [{"message": {"content": said.text, "tool_calls": calls}, "finish_reason": said.reason}]})
}

fn chat(said: &Said, size: usize) -> Vec<Value> {
    let mut deltas = vec![json!({"role": "assistant", "content": null})];
    deltas.extend(pieces(&said.text, size).iter().map(|text| json!({"content": text})));
    for (at, (name, arguments)) in said.calls.iter().enumerate() {
        let id = format!("call_{at}");
        let begin = json!({"index": at, "id": id, "function": {"name": name, "arguments": ""}});
        deltas.push(json!({"tool_calls": [begin]}));
        let part = |text: &String| json!({"index": at, "function": {"arguments": text}});
        deltas
            .extend(pieces(arguments, size).iter().map(|text| json!({"tool_calls": [part(text)]})));
    }
    let mut messages: Vec<Value> = deltas
        .into_iter()
        .map(|delta| json!({"choices": [{"index": 0, "delta": delta}]}))
        .collect();
    messages.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": said.reason}]}));
    messages
}

fn anthropic(said: &Said, size: usize) -> Vec<Value> {
    let mut messages =
        vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 9}}})];
    for text in pieces(&said.text, size) {
        let delta = json!({"type": "text_delta", "text": text});
        messages.push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }
    for (at, (name, arguments)) in said.calls.iter().enumerate() {
        let block = json!({"type": "tool_use", "id": format!("t{at}"), "name": name, "input": {}});
        messages
            .push(json!({"type": "content_block_start", "index": at + 1, "content_block": block}));
        for text in pieces(arguments, size) {
            let delta = json!({"type": "input_json_delta", "partial_json": text});
            messages.push(json!({"type": "content_block_delta", "index": at + 1, "delta": delta}));
        }
    }
    let reason = if said.reason == "length" { "max_tokens" } else { "end_turn" };
    messages.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}));
    messages.push(json!({"type": "message_stop"}));
    messages
}

fn responses(said: &Said, size: usize) -> Vec<Value> {
    let mut messages = Vec::new();
    for text in pieces(&said.text, size) {
        messages
            .push(json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}));
    }
    for (at, (name, arguments)) in said.calls.iter().enumerate() {
        let item = json!({"type": "function_call", "name": name, "arguments": ""});
        messages.push(
            json!({"type": "response.output_item.added", "output_index": at + 1, "item": item}),
        );
        for text in pieces(arguments, size) {
            let kind = "response.function_call_arguments.delta";
            messages.push(json!({"type": kind, "output_index": at + 1, "delta": text}));
        }
    }
    messages.push(match said.reason {
        "length" => json!({"type": "response.incomplete", "response": {"status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"}}}),
        _ => json!({"type": "response.completed", "response": {"status": "completed"}}),
    });
    messages
}

/// The fields that offer two tools, in the form of a dialect.
fn tools(api: &str) -> Value {
    let weather = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"], "additionalProperties": false});
    let both = [("weather", weather), ("now", json!({"type": "object", "properties": {}}))];
    both.into_iter()
        .map(|(name, schema)| match api {
            "openai-chat" => {
                json!({"type": "function", "function": {"name": name, "parameters": schema}})
            }
            "anthropic" => json!({"name": name, "input_schema": schema}),
            _ => json!({"type": "function", "name": name, "parameters": schema}),
        })
        .collect()
}

fn fields(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("no object") };
    fields
}

fn judged(api: &str, asked: &Value, said: &Said, size: usize) -> Option<Structured> {
    let extra_body = fields(asked.clone());
    let stream = size > 0;
    let sampling = Sampling { temperature: 0.0, ignore_eos: true, stream, extra_body };
    let request = request();
    let form = Forms::default().of(&request, &sampling);
    let dialect = dialect(api).expect("a dialect");
    let mut reader = ResponseReader::new(dialect, &request.prompt, stream, false).with_form(form);
    reader.feed(0, &response(api, said, size));
    let (outcome, why) = reader.verdict();
    assert!(outcome.is_complete(), "{api}: {why:?}");
    let form = reader.form();
    assert_eq!(reader.into_parsed().text, None, "the text is kept only to judge it");
    form
}

/// An answer, and the verdicts on its calls, each with its number.
type CallCase = (Said, Vec<(Verdict, u32)>);

fn call_cases() -> Vec<CallCase> {
    use Verdict::{Cut, Fits, NotJson, NotOffered, Unfit};
    let good = r#"{"city":"Zürich","days":3}"#;
    vec![
        (Said::calls(&[("weather", good)]), vec![(Fits, 1)]),
        (Said::calls(&[("weather", good), ("now", "{}")]), vec![(Fits, 2)]),
        (Said::text("It rains."), vec![]),
        (Said::calls(&[("climate", good)]), vec![(NotOffered, 1)]),
        (Said::calls(&[("weather", r#"{"days":3}"#)]), vec![(Unfit, 1)]),
        (Said::calls(&[("weather", r#"{"city":1}"#)]), vec![(Unfit, 1)]),
        (Said::calls(&[("weather", r#"{"city":"A","town":"B"}"#)]), vec![(Unfit, 1)]),
        (Said::calls(&[("weather", r#"{"city":"A"#)]), vec![(NotJson, 1)]),
        (Said::calls(&[("weather", r#"{"city":"A"</parameter>"#)]), vec![(NotJson, 1)]),
        (Said::calls(&[("weather", r#"{"city":"A"#)]).cut(), vec![(Cut, 1)]),
        (Said::calls(&[("weather", ""), ("now", "{}")]), vec![(Fits, 1), (NotJson, 1)]),
        (Said::calls(&[("weather", r#"["A"]"#), ("weather", good)]), vec![(Fits, 1), (Unfit, 1)]),
    ]
}

#[test]
fn tool_calls_are_judged_in_each_dialect_wherever_their_arguments_are_cut() {
    for api in ["openai-chat", "anthropic", "openai-responses"] {
        for size in [1, 2, 3, 5, 8, 13, 1_000] {
            for (said, expected) in call_cases() {
                let form =
                    judged(api, &json!({"tools": tools(api)}), &said, size).expect("it is judged");
                let found: Vec<(Verdict, u32)> = form.calls.into_iter().collect();
                assert_eq!((form.tools, found), (true, expected), "{api}: {:?}", said.calls);
            }
        }
    }
    for (said, expected) in call_cases() {
        let form = judged("openai-chat", &json!({"tools": tools("openai-chat")}), &said, 0)
            .expect("it is judged");
        assert_eq!(form.calls.into_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_required_call_is_missing_and_a_forbidden_one_is_not_offered() {
    let offer = |choice: Value| json!({"tools": tools("openai-chat"), "tool_choice": choice});
    let call = Said::calls(&[("now", "{}")]);
    let words = Said::text("It is noon.");
    let named = json!({"type": "function", "function": {"name": "weather"}});
    for (choice, said, expected) in [
        (json!("required"), &words, Some(Verdict::Missing)),
        (json!("required"), &call, Some(Verdict::Fits)),
        (json!({"type": "any"}), &words, Some(Verdict::Missing)),
        (json!("auto"), &words, None),
        (json!("none"), &call, Some(Verdict::NotOffered)),
        (named.clone(), &call, Some(Verdict::NotOffered)),
        (named, &words.clone().cut(), Some(Verdict::Cut)),
    ] {
        let form = judged("openai-chat", &offer(choice.clone()), said, 4).expect("it is judged");
        assert_eq!(form.calls.into_keys().next(), expected, "{choice}");
    }
}

#[test]
fn texts_are_judged_by_the_form_that_the_request_asks_for() {
    use Verdict::{Cut, Fits, Missing, NotJson, Unchecked, Unfit};
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let json_schema =
        json!({"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}});
    let object = json!({"response_format": {"type": "json_object"}});
    let choice = json!({"structured_outputs": {"choice": ["yes", "no"]}});
    let regex = json!({"guided_regex": "[0-9]{3}"});
    for (asked, said, expected) in [
        (&json_schema, Said::text(r#" {"n": 4}"#), Fits),
        (&json_schema, Said::text(r#"{"n": 4.5}"#), Unfit),
        (&json_schema, Said::text("Here is some JSON."), NotJson),
        (&json_schema, Said::text("```json\n{\"n\": 4}\n```"), NotJson),
        (&json_schema, Said::text(r#"{"n": 4"#).cut(), Cut),
        (&json_schema, Said::text(""), Missing),
        (&json!({"guided_json": schema.to_string()}), Said::text(r#"{"n": "x"}"#), Unfit),
        (&json!({"structured_outputs": {"json": schema}}), Said::text(r#"{"n": 1}"#), Fits),
        (&json!({"json_schema": schema}), Said::text("[]"), Unfit),
        (&object, Said::text("{}"), Fits),
        (&object, Said::text("{"), NotJson),
        (&choice, Said::text("yes"), Fits),
        (&choice, Said::text("maybe"), Unfit),
        (&regex, Said::text("123"), Fits),
        (&regex, Said::text("1234"), Unfit),
        (&json!({"guided_grammar": "root ::= x"}), Said::text("x"), Unchecked),
        (&json!({"response_format": {"type": "structural_tag"}}), Said::text("x"), Unchecked),
        (&json!({"guided_json": {"type": "no type"}}), Said::text("{}"), Unchecked),
    ] {
        for size in [0, 1, 3, 100] {
            let form = judged("openai-chat", asked, &said, size).expect("it is judged");
            assert_eq!(form.text, Some(expected), "{asked} {}", said.text);
        }
    }
    let text = json!({"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}});
    let form =
        judged("openai-responses", &text, &Said::text(r#"{"n": 4}"#), 3).expect("it is judged");
    assert_eq!(form.text, Some(Fits));
    assert_eq!(judged("openai-chat", &json!({"seed": 1}), &Said::text("x"), 3), None);
}

#[test]
fn a_request_that_asks_for_a_form_does_not_ignore_the_end_of_text() {
    let body = |asked: Value| {
        let extra_body = Map::new();
        let sampling = Sampling { temperature: 0.0, ignore_eos: true, stream: true, extra_body };
        let request = Request { extra_body: fields(asked), ..request() };
        let body = dialect("openai-chat").expect("a dialect").body(&request, &sampling, "m", &[]);
        let body: Value = serde_json::from_slice(&body.expect("a body")).expect("JSON");
        body.get("ignore_eos").cloned()
    };
    assert_eq!(body(json!({})), Some(json!(true)));
    assert_eq!(body(json!({"response_format": {"type": "text"}})), Some(json!(true)));
    assert_eq!(body(json!({"response_format": {"type": "json_object"}})), None);
    assert_eq!(body(json!({"tools": [], "ignore_eos": true})), Some(json!(true)));
}
