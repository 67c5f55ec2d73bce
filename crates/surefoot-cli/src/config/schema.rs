//! The published schema: [`keys`](super::keys) as a JSON Schema, for editors that complete and check TOML. It adds nothing
//! of its own, and it never says less than the parser takes: what loads is valid, though not all that is valid loads.
//!
//! Draft 7, and of it what every reader of TOML schemas knows: no `$ref` (which hides what stands beside it), no `allOf`
//! (Taplo shows no description of it), no look-around in patterns.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::duration::UNITS;
use super::keys::{self, Key, Shape, Table};

/// The draft that the schema is written in.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
/// The units that durations in the policies of dependencies have besides.
const FINE_UNITS: [&str; 2] = ["us", "ns"];

/// The schema of the whole file, as text that ends its last line.
pub(crate) fn text() -> String {
    format!("{:#}\n", document())
}

/// The schema of the whole file.
pub(crate) fn document() -> Value {
    let mut schema = of_table(keys::file());
    schema.insert("$schema".to_owned(), DRAFT.into());
    schema.insert("title".to_owned(), "surefoot.toml".into());
    schema.into()
}

fn of_table(table: &Table) -> Map<String, Value> {
    let properties: Map<String, Value> = table
        .keys
        .iter()
        .map(|key| (key.name.to_owned(), of_key(key)))
        .collect();
    let required = table.keys.iter().filter(|key| key.required);
    let required: Vec<&str> = required.map(|key| key.name).collect();
    let needs = table.keys.iter().filter(|key| !key.needs.is_empty());
    let needs: Map<String, Value> = needs
        .map(|key| (key.name.to_owned(), json!(key.needs)))
        .collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("description".to_owned(), table.what.clone().into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    if !needs.is_empty() {
        schema.insert("dependencies".to_owned(), needs.into());
    }
    schema
}

fn of_key(key: &Key) -> Value {
    let mut schema = of_shape(&key.shape);
    let mut what = key.what.clone();
    if let Some(bounds) = bounds(&key.shape) {
        what.push_str(&format!(" {bounds}."));
    }
    if let Some(default) = &key.default {
        what.push_str(&format!(" Default: `{default}`."));
        schema.insert("default".to_owned(), default.clone());
    }
    schema.insert("description".to_owned(), what.into());
    schema.into()
}

fn of_shape(shape: &Shape) -> Map<String, Value> {
    let value = match shape {
        Shape::Table(table) => return of_table(table),
        Shape::Text(pattern) if pattern.is_empty() => json!({ "type": "string" }),
        Shape::Text(pattern) => json!({ "type": "string", "pattern": pattern }),
        Shape::Words(words) => json!({ "type": "string", "enum": words }),
        Shape::Duration { zero, fine } => return of_duration(*zero, *fine),
        Shape::Count(range) => {
            json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() })
        }
        Shape::Number { least, above, most } => return of_number(*least, *above, *most),
        Shape::Truth => json!({ "type": "boolean" }),
        Shape::List(item, entries) => json!({
            "type": "array",
            "items": of_shape(item),
            "minItems": entries.start(),
            "maxItems": entries.end(),
        }),
        Shape::Named(pattern, each) => json!({
            "type": "object",
            "propertyNames": { "pattern": pattern },
            "additionalProperties": of_shape(each),
        }),
        Shape::AnyOf(shapes) => {
            let each: Vec<Map<String, Value>> = shapes.iter().map(of_shape).collect();
            json!({ "anyOf": each })
        }
    };
    match value {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// Whole numbers with units, the larger unit first and each once; above zero, a digit of them is not 0.
fn of_duration(zero: bool, fine: bool) -> Map<String, Value> {
    let fine_units: &[&str] = if fine { &FINE_UNITS } else { &[] };
    let units = UNITS.iter().map(|(unit, _)| *unit);
    let parts: String = units
        .chain(fine_units.iter().copied())
        .map(|unit| format!("([0-9]+{unit})?"))
        .collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "string".into());
    schema.insert("minLength".to_owned(), 1.into());
    schema.insert("pattern".to_owned(), format!("^{parts}$").into());
    if !zero {
        schema.insert(
            "not".to_owned(),
            json!({ "type": "string", "pattern": "^[^1-9]*$" }),
        );
    }
    schema
}

fn of_number(least: f64, above: bool, most: Option<f64>) -> Map<String, Value> {
    let lower = if above { "exclusiveMinimum" } else { "minimum" };
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "number".into());
    schema.insert(lower.to_owned(), least.into());
    if let Some(most) = most {
        schema.insert("maximum".to_owned(), most.into());
    }
    schema
}

/// The bounds in words, for editors that show the description only.
fn bounds(shape: &Shape) -> Option<String> {
    match shape {
        Shape::Count(range) => Some(of_range(range)),
        Shape::Number {
            least,
            above: true,
            most: Some(most),
        } => Some(format!("Above {least}, at most {most}")),
        Shape::Number {
            least,
            above: false,
            most: Some(most),
        } => Some(format!("{least} to {most}")),
        Shape::Number { least, .. } => Some(format!("At least {least}")),
        Shape::Text(_)
        | Shape::Words(_)
        | Shape::Duration { .. }
        | Shape::Truth
        | Shape::List(..)
        | Shape::Table(_)
        | Shape::Named(..)
        | Shape::AnyOf(_) => None,
    }
}

fn of_range(range: &RangeInclusive<u64>) -> String {
    if *range.end() == u64::from(u32::MAX) {
        format!("{} or more", range.start())
    } else {
        format!("{} to {}", range.start(), range.end())
    }
}
