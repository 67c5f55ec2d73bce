//! Spellings beside their one text, and what is refused.

use proptest::prelude::*;

use super::*;

#[test]
fn one_value_has_one_text() {
    let table = [
        (" null ", "null"),
        ("\t[ 1 ,\r\n2 ] ", "[1,2]"),
        ("[]", "[]"),
        ("{ }", "{}"),
        (
            r#"{"b":1,"a":{"d":[true,false],"c":null}}"#,
            r#"{"a":{"c":null,"d":[true,false]},"b":1}"#,
        ),
        (r#""\u0041\/\u00e9""#, r#""A/é""#),
        (r#""\u0000\u001F\u0008\u000c""#, r#""\u0000\u001f\b\f""#),
        (r#""\"\\\b\f\n\r\t""#, r#""\"\\\b\f\n\r\t""#),
        (r#""\uD83D\uDE00""#, r#""😀""#),
        (r#""\uD800""#, r#""\ud800""#),
        (r#""\uDC00\uD800x""#, r#""\udc00\ud800x""#),
        (r#""\uD800\uD83D\uDE00""#, r#""\ud800😀""#),
        (r#""\uD800\u0041""#, r#""\ud800A""#),
        ("\"\u{7f}\u{2028}\"", "\"\u{7f}\u{2028}\""),
        ("9007199254740993", "9007199254740993"),
        ("-0", "-0"),
        ("1.0", "1.0"),
        ("1E+05", "1E+05"),
        (
            "123456789012345678901234567890.10",
            "123456789012345678901234567890.10",
        ),
    ];
    for (json, expected) in table {
        assert_eq!(canonical(json).as_deref(), Ok(expected), "{json}");
        assert_eq!(
            canonical(expected).as_deref(),
            Ok(expected),
            "again: {json}"
        );
    }
}

#[test]
fn keys_are_sorted_by_what_they_mean() {
    let table = [
        // By bytes: upper before lower case, a prefix first, U+FF21 before U+1F600.
        (
            r#"{"a":1,"B":2,"":3,"aa":4}"#,
            r#"{"":3,"B":2,"a":1,"aa":4}"#,
        ),
        (r#"{"😀":1,"Ａ":2}"#, r#"{"Ａ":2,"😀":1}"#),
        // A tab (0x09) comes before "!" (0x21), though its backslash (0x5c) would not.
        (
            r#"{"!":1,"\t":2,"\u0000":3}"#,
            r#"{"\u0000":3,"\t":2,"!":1}"#,
        ),
        // A lone surrogate (ED A0 80) comes after U+D7FF (ED 9F BF) and before U+E000.
        (
            r#"{"\ue000":1,"\ud800":2,"\ud7ff":3}"#,
            "{\"\u{d7ff}\":3,\"\\ud800\":2,\"\u{e000}\":1}",
        ),
        (
            r#"{"\udb40":1,"\ud840":2,"\ud800":3}"#,
            r#"{"\ud800":3,"\ud840":2,"\udb40":1}"#,
        ),
        (r#"{"\"b":1,"\"a":2}"#, r#"{"\"a":2,"\"b":1}"#),
    ];
    for (json, expected) in table {
        assert_eq!(canonical(json).as_deref(), Ok(expected), "{json}");
    }
}

#[test]
fn what_is_not_one_value_is_refused_where_it_goes_wrong() {
    let table = [
        ("", 0, "the text ends where a value must begin"),
        ("  ", 2, "the text ends where a value must begin"),
        ("\u{feff}1", 0, "a value must begin here"),
        ("nul", 0, "a value must begin here"),
        ("NaN", 0, "a value must begin here"),
        ("1 2", 2, "more text after the value"),
        ("truex", 4, "more text after the value"),
        ("01", 1, "a number must not begin with 0"),
        ("-", 1, "a digit must be here"),
        ("+1", 0, "a value must begin here"),
        ("1.", 2, "a digit must be here"),
        (".5", 0, "a value must begin here"),
        ("1e", 2, "a digit must be here"),
        ("1e+", 3, "a digit must be here"),
        ("[1,]", 3, "a value must begin here"),
        ("[1 2]", 3, "a comma or ] must be here"),
        ("[", 1, "the text ends where a value must begin"),
        ("{", 1, "a key in double quotes must be here"),
        ("{1:2}", 1, "a key in double quotes must be here"),
        (r#"{"a" 1}"#, 5, "a colon must be here"),
        (r#"{"a":1,}"#, 7, "a key in double quotes must be here"),
        (r#"{"a":1 "b":2}"#, 7, "a comma or } must be here"),
        (r#""abc"#, 4, "the text ends inside a string"),
        ("\"a\nb\"", 2, "a control character must be escaped"),
        ("\"a\0b\"", 2, "a control character must be escaped"),
        (r#""\x41""#, 1, "no such escape"),
        (r#""\u12G4""#, 1, "\\u needs four hex digits"),
        (r#""\u+123""#, 1, "\\u needs four hex digits"),
        (r#""\u00é""#, 1, "\\u needs four hex digits"),
        (r#""\ud800\u12""#, 7, "\\u needs four hex digits"),
        (
            r#"{"a":1,"b":2,"a":1}"#,
            13,
            "this key is in the object already",
        ),
        (
            r#"{"A":1,"\u0041":2}"#,
            7,
            "this key is in the object already",
        ),
        (
            r#"[{"x":{"\ud800":1,"\uD800":2}}]"#,
            18,
            "this key is in the object already",
        ),
    ];
    for (json, offset, what) in table {
        assert_eq!(canonical(json), Err(NotJson { offset, what }), "{json}");
    }
}

#[test]
fn nesting_ends_where_decoding_ends() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |levels: usize| format!("{}1{}", open.repeat(levels), close.repeat(levels));
        let deepest = nested(NESTING_MAX);
        assert_eq!(canonical(&deepest), Ok(deepest.clone()));
        assert!(serde_json::from_str::<serde_json::Value>(&deepest).is_ok());
        let refused = NotJson {
            offset: open.len() * NESTING_MAX,
            what: "nested deeper than 127 levels",
        };
        assert_eq!(canonical(&nested(NESTING_MAX + 1)), Err(refused.clone()));
        assert_eq!(canonical(&nested(100_000)), Err(refused));
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        // Quarters, because serde_json does not read back each float as it wrote it.
        any::<i32>().prop_map(|quarters| (f64::from(quarters) / 4.0).into()),
        ".*".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::hash_map(".*", inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_keeps_its_meaning(value in json()) {
        let once = canonical(&value.to_string()).unwrap();
        prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&once).unwrap(), &value);
        let spaced = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(canonical(&spaced).unwrap(), once.clone());
        prop_assert_eq!(canonical(&once).unwrap(), once);
    }

    #[test]
    fn any_text_is_accepted_exactly_when_serde_json_accepts_it(
        text in r#"[\[\]{}:,"\\u0aAdD8eE.+\-1 tre]{0,12}"#
    ) {
        // The one difference beside duplicate keys: a RawValue skips over lone surrogates too.
        let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
        match canonical(&text) {
            Ok(_) => prop_assert!(theirs, "{}", text),
            Err(fault) if fault.what.contains("already") => prop_assert!(theirs),
            Err(fault) => prop_assert!(!theirs, "{}: {}", text, fault),
        }
    }
}
