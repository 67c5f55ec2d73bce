//! Which requests are the same, and what is said of those that are not.

use super::*;
use crate::id::Tenant;
use crate::request::RequestKey;

fn identity(key: &str) -> Identity {
    Identity {
        tenant: Tenant::single(),
        key: RequestKey::new(key).unwrap(),
    }
}

fn of(content_type: &str, body: &[u8]) -> Fingerprint {
    let operation = Operation::new("POST", "/payments").unwrap();
    let content = Content {
        operation: &operation,
        path: "/payments",
        query: None,
        content_type: Some(content_type.as_bytes()),
        body,
    };
    Fingerprint::of(&identity("k"), &content)
}

fn differing(content_type: &str, ours: &str, theirs: &str) -> Vec<String> {
    of(content_type, ours.as_bytes()).differs(&of(content_type, theirs.as_bytes()))
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn spellings_of_one_body_are_one_request() {
    let table = [
        (
            JSON,
            r#"{"a":1,"b":[1,2]}"#,
            " { \"b\" : [1, 2],\n\"a\":1 }",
        ),
        (JSON, r#"{"a":"\u0041\/"}"#, r#"{"a":"A/"}"#),
        (
            JSON,
            r#"{"a":{"y":1,"x":{"q":1,"p":2}}}"#,
            r#"{"a":{"x":{"p":2,"q":1},"y":1}}"#,
        ),
        (
            "application/merge-patch+json",
            r#"{"a":1,"b":2}"#,
            r#"{"b":2,"a":1}"#,
        ),
        (FORM, "a=1&b=x+y", "b=x%20y&a=1"),
        (FORM, "a=1&&b=", "b&a=1"),
        (FORM, "a=%7e&b=2", "b=2&a=~"),
    ];
    for (content_type, ours, theirs) in table {
        assert_eq!(
            differing(content_type, ours, theirs),
            [""; 0],
            "{ours} {theirs}"
        );
    }
    let charset = of("Application/JSON; charset=utf-8", b"{}");
    assert_eq!(charset.differs(&of(JSON, b" {} ")), [""; 0]);
}

#[test]
fn what_differs_is_named_and_its_value_is_not() {
    let table: [(&str, &str, &str, &[&str]); 20] = [
        (
            JSON,
            r#"{"amount":100,"to":"a"}"#,
            r#"{"amount":900,"to":"a"}"#,
            &["body.amount"],
        ),
        (
            JSON,
            r#"{"amount":100}"#,
            r#"{"amount":100,"to":"a"}"#,
            &["body.to"],
        ),
        (
            JSON,
            r#"{"card":{"number":1,"cvc":2}}"#,
            r#"{"card":{"number":3,"cvc":2}}"#,
            &["body.card.number"],
        ),
        (
            JSON,
            r#"{"a":{"b":{"c":{"d":1}}}}"#,
            r#"{"a":{"b":{"c":{"d":2}}}}"#,
            &["body.a.b.c"],
        ),
        (JSON, r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, &["body.a"]),
        (JSON, "9007199254740993", "9007199254740992", &["body"]),
        (JSON, r#"{"n":1}"#, r#"{"n":1.0}"#, &["body.n"]),
        (JSON, r#"{"n":1}"#, r#"{"n":"1"}"#, &["body.n"]),
        (JSON, r#"{"n":null}"#, "{}", &["body", "body.n"]),
        (JSON, r#"{"a.b":1}"#, r#"{"a":{"b":1}}"#, &["body"]),
        (
            JSON,
            r#"{"a":"x,\"b\":{"}"#,
            r#"{"a":"x,\"b\":}"}"#,
            &["body.a"],
        ),
        (JSON, "{not json", "{not  json", &["body"]),
        (JSON, r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#, &["body"]),
        (JSON, "{}", "", &["body", "content-type"]),
        (FORM, "a=1&a=2", "a=2&a=1", &["body.a"]),
        (FORM, "a=1&b=2", "a=1&b=3", &["body.b"]),
        (FORM, "a=1%26b=2", "a=1&b=2", &["body.a", "body.b"]),
        (FORM, "a=%2", "a=%", &["body.a"]),
        ("text/plain", "a", "b", &["body"]),
        ("application/octet-stream", "\0\r", "\0\n", &["body"]),
    ];
    for (content_type, ours, theirs, expected) in table {
        assert_eq!(
            differing(content_type, ours, theirs),
            expected,
            "{ours} {theirs}"
        );
    }
}

#[test]
fn the_type_counts_and_its_parameters_do_not() {
    let as_json = of(JSON, b"{}");
    assert_eq!(as_json.differs(&of("text/plain", b"{}")), ["content-type"]);
    let as_text = of("text/plain", b"{}");
    assert_eq!(
        as_text.differs(&of("text/plain; charset=utf-8", b"{}")),
        [""; 0]
    );
    assert_eq!(as_text.differs(&of("text/html", b"{}")), ["content-type"]);
}

#[test]
fn the_place_counts_and_the_query_with_it() {
    let of = |method: &str, route: &str, path: &str, query: Option<&str>| {
        let operation = Operation::new(method, route).unwrap();
        let content = Content {
            operation: &operation,
            path,
            query,
            content_type: None,
            body: b"",
        };
        Fingerprint::of(&identity("k"), &content)
    };
    let first = of("POST", "/a/{id}", "/a/1", Some("x=1&y=2"));
    let table: [(Fingerprint, &[&str]); 7] = [
        (of("POST", "/a/{id}", "/a/1", Some("y=2&x=1")), &[]),
        (of("PUT", "/a/{id}", "/a/1", Some("x=1&y=2")), &["method"]),
        (of("POST", "/b/{id}", "/a/1", Some("x=1&y=2")), &["route"]),
        (of("POST", "/a/{id}", "/a/2", Some("x=1&y=2")), &["path"]),
        (
            of("POST", "/a/{id}", "/a/1", Some("x=1&y=2&dry_run=1")),
            &["query.dry_run"],
        ),
        (of("POST", "/a/{id}", "/a/1", Some("x=2&y=2")), &["query.x"]),
        (of("POST", "/a/{id}", "/a/1", None), &["query.x", "query.y"]),
    ];
    for (other, expected) in table {
        assert_eq!(first.differs(&other), expected);
        assert_eq!(other.differs(&first), expected);
    }
}

fn multipart(boundary: &str, parts: &[(&str, &str)]) -> (String, Vec<u8>) {
    let mut body = String::new();
    for (head, content) in parts {
        body += &format!("--{boundary}\r\n{head}\r\n\r\n{content}\r\n");
    }
    body += &format!("--{boundary}--\r\n");
    (
        format!("multipart/form-data; boundary=\"{boundary}\""),
        body.into_bytes(),
    )
}

#[test]
fn a_multipart_body_is_its_parts_whatever_the_boundary() {
    let amount = ("Content-Disposition: form-data; name=\"amount\"", "100");
    let other = ("Content-Disposition: form-data; name=\"amount\"", "900");
    let file = (
        "content-disposition: form-data; name=\"file\"; filename=\"a;b.txt\"\r\nContent-Type: text/plain",
        "line\r\n--no\r\n\r\nend",
    );
    let renamed = (
        "content-disposition: form-data; name=\"file\"; filename=\"c.txt\"\r\nContent-Type: text/plain",
        "line\r\n--no\r\n\r\nend",
    );
    let of = |boundary, parts: &[_]| {
        let (content_type, body) = multipart(boundary, parts);
        of(&content_type, &body)
    };
    let first = of("abc", &[amount, file]);
    let table: [(Fingerprint, &[&str]); 5] = [
        (of("xyz-1", &[file, amount]), &[]),
        (of("abc", &[other, file]), &["body.amount"]),
        (of("abc", &[amount, renamed]), &["body.file"]),
        (of("abc", &[amount]), &["body.file"]),
        (of("abc", &[amount, amount, file]), &["body.amount"]),
    ];
    for (other, expected) in table {
        assert_eq!(first.differs(&other), expected);
    }
}

#[test]
fn a_multipart_body_that_is_none_counts_by_its_bytes() {
    let ours = "multipart/form-data; boundary=a";
    for body in [
        "",
        "--a",
        "--a\r\n",
        "--a\r\nx: y\r\n\r\n",
        "--b\r\n\r\n1\r\n--b--",
        "--a\r\nno colon\r\n\r\n1\r\n--a--",
    ] {
        let longer = format!("{body} ");
        let differs = of(ours, body.as_bytes()).differs(&of(ours, longer.as_bytes()));
        assert!(!differs.is_empty(), "{body:?}");
    }
    let without = of("multipart/form-data", b"--a--");
    assert_eq!(
        without.differs(&of("multipart/form-data; boundary=a", b"--a--")),
        ["body", "content-type"]
    );
}

#[test]
fn many_fields_are_bounded_and_a_change_beyond_them_is_seen() {
    let json = |changed: Option<usize>| {
        let members: Vec<String> = (100..400)
            .map(|n| format!("\"f{n}\":{}", if changed == Some(n) { 1 } else { 0 }))
            .collect();
        of(JSON, format!("{{{}}}", members.join(",")).as_bytes())
    };
    let first = json(None);
    assert_eq!(first.fields.len(), FIELDS_MAX);
    assert_eq!(first.differs(&json(Some(100))), ["body.f100"]);
    assert_eq!(first.differs(&json(Some(399))), ["further fields"]);
    let all: String = (0..40).map(|n| format!("f{n}=1&")).collect();
    let none: String = (0..40).map(|n| format!("f{n}=2&")).collect();
    assert_eq!(differing(FORM, &all, &none).len(), FIELDS_NAMED_MAX);
}

#[test]
fn names_are_bounded_and_safe_to_show() {
    let long = format!("{}=1", "x".repeat(500));
    let fingerprint = of(FORM, format!("{long}&a%0ab=1").as_bytes());
    for field in &fingerprint.fields {
        assert!(field.name.len() <= FIELD_NAME_BYTES_MAX, "{}", field.name);
        assert!(!field.name.contains(char::is_control), "{}", field.name);
    }
}

#[test]
fn digests_of_equal_values_under_two_keys_are_not_equal() {
    let operation = Operation::new("POST", "/payments").unwrap();
    let content = Content {
        operation: &operation,
        path: "/payments",
        query: None,
        content_type: Some(JSON.as_bytes()),
        body: br#"{"pin":1234}"#,
    };
    let one = Fingerprint::of(&identity("a"), &content);
    let two = Fingerprint::of(&identity("b"), &content);
    assert_ne!(one.digest, two.digest);
    for (one, two) in one.fields.iter().zip(&two.fields) {
        assert_eq!(one.name, two.name);
        assert_ne!(one.digest, two.digest, "{}", one.name);
    }
}

/// What is on record must be read alike by every later build: these bytes never change.
#[test]
fn the_first_version_stays_as_it_is() {
    let fingerprint = of(JSON, br#"{"amount":100}"#);
    let hex: String = fingerprint
        .digest
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        (fingerprint.version, hex.as_str()),
        (
            1,
            "6f281e076be4e2dd45c384df47204fc4a8ccd818ff217411f0e12af0d96f4931"
        )
    );
}
