//! Files that load, broken by chance: whatever stands in a file, reading it ends with a configuration or with faults, each
//! with its place, its key, what is wrong and what to do. The seed is fixed; one that is found is told.

use toml::Value;

use super::fault::Placed;
use super::file::parse;
use super::schema_tests::{VALIDATOR, environment, whole_files};

/// How many broken files are read.
const ROUNDS: u64 = 1500;

/// Values of every type, of which none fits everywhere.
fn values() -> Vec<Value> {
    let texts = [
        "",
        " ",
        "x",
        "0s",
        "1s",
        "2m",
        "400d",
        "5",
        "1.5s",
        "http://h",
        "https://h/p?q#f",
        "http://[::1",
        "/",
        "/a/{key}",
        "{key}",
        "127.0.0.1:1",
        "[::1]:0",
        "0.0.0.0:80",
        "${",
        "${}",
        "${A}",
        "$${A}",
        "full",
        "decorrelated",
        "stale",
        "required",
        "POST",
        "get",
        "same_key",
        "none",
        "mail",
        "ế",
        "a\nb",
        "\u{0}",
        "sha256:00",
        "set-cookie",
        "2001:db8::1",
    ];
    let mut values: Vec<Value> = texts.into_iter().map(Value::from).collect();
    values.extend([0, 1, -1, 64, 200, 404, 100_001, i64::MAX, i64::MIN].map(Value::from));
    values.extend([0.0, 0.5, 1.0, -1.0, 1e300, f64::NAN, f64::INFINITY].map(Value::from));
    values.push(true.into());
    values.push(Value::Datetime("1979-05-27T07:32:00Z".parse().unwrap()));
    values.extend(["[]", "['1s']", "[200, 404]", "[[]]", "[{}]", "['x', 1]"].map(inline));
    values.extend(
        [
            "{}",
            "{ x = 1 }",
            "{ base = '1s' }",
            "{ path = '/' }",
            "{ a = { b = {} } }",
        ]
        .map(inline),
    );
    values
}

fn inline(text: &str) -> Value {
    let table: toml::Table = format!("v = {text}").parse().unwrap();
    table["v"].clone()
}

/// Takes a value out, puts another in its place, or gives it another name.
fn break_one(random: &mut fastrand::Rng, value: &mut Value, values: &[Value]) {
    let deeper = random.u8(..) > 40;
    match value {
        Value::Table(table) if !table.is_empty() && deeper => {
            let names: Vec<String> = table.keys().cloned().collect();
            let name = random.choice(names).unwrap();
            match random.u8(..16) {
                0 => drop(table.remove(&name)),
                1 => {
                    let value = table.remove(&name).unwrap();
                    table.insert(format!("{name}x"), value);
                }
                2 => {
                    table.insert("a b".to_owned(), random.choice(values).unwrap().clone());
                }
                _ => break_one(random, table.get_mut(&name).unwrap(), values),
            }
        }
        Value::Array(items) if !items.is_empty() && deeper => {
            let index = random.usize(..items.len());
            match random.u8(..4) {
                0 => drop(items.remove(index)),
                1 => items.push(items[index].clone()),
                _ => break_one(random, &mut items[index], values),
            }
        }
        _ => *value = random.choice(values).unwrap().clone(),
    }
}

/// Faults that have a place in the file have it, and say what to do.
fn check(text: &str, told: &str) -> bool {
    let faults = match parse("f", text, &environment) {
        Ok(_) => {
            let table: Result<toml::Table, _> = text.parse();
            assert!(table.is_ok(), "{told}: it loads and is no TOML\n{text}");
            return true;
        }
        Err(unloadable) => unloadable.placed,
    };
    assert!(!faults.is_empty(), "{told}\n{text}");
    let lines = text.lines().count().max(1);
    for Placed { fault, line, .. } in faults {
        let known = format!("{told}: {fault:?}\n{text}");
        assert!((1..=lines + 1).contains(&line), "{known}");
        assert!(fault.span.start <= text.len(), "{known}");
        assert!(!fault.what.trim().is_empty(), "{known}");
        assert!(!fault.remedy.trim().is_empty(), "{known}");
    }
    false
}

#[test]
fn a_file_with_other_values_ends_in_faults_with_place_key_and_remedy() {
    let (files, values) = (whole_files(), values());
    let mut loaded = 0;
    for seed in 0..ROUNDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut file = Value::Table(random.choice(&files).unwrap().clone());
        for _ in 0..random.u8(1..4) {
            break_one(&mut random, &mut file, &values);
        }
        let Value::Table(table) = file else { continue };
        let text = toml::to_string(&table).unwrap();
        let told = format!("seed {seed}");
        if check(&text, &told) {
            loaded += 1;
            let refusal = VALIDATOR.refusal(&text);
            assert!(
                refusal.is_none(),
                "{told}: it loads and is not valid: {refusal:?}\n{text}"
            );
        } else if let Err(unloadable) = parse("f", &text, &environment) {
            for Placed { fault, .. } in &unloadable.placed {
                // Every fault of a file that is TOML is about a key.
                assert!(!fault.key.is_empty(), "{told}: {fault:?}\n{text}");
                let last = fault.key.rsplit('.').next().unwrap().trim_matches('"');
                let named = fault.what.contains(last) || fault.remedy.contains(last);
                assert!(named || fault.what.contains('\\'), "{told}: {fault:?}");
            }
        }
    }
    assert!(loaded > 50, "{loaded}");
}

#[test]
fn a_file_with_other_bytes_ends_in_faults_with_place_and_remedy() {
    let files: Vec<String> = whole_files()
        .iter()
        .map(|file| toml::to_string(file).unwrap())
        .collect();
    let pieces = [
        "\"",
        "'''",
        "[",
        "]",
        "{",
        "}",
        "=",
        "\n",
        "#",
        ".",
        ",",
        "\\u",
        "ế",
        "\u{0}",
        "[[",
        "1979-05-27",
    ];
    for seed in 0..ROUNDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut text = random.choice(&files).unwrap().clone();
        for _ in 0..random.u8(1..4) {
            let from = text.floor_char_boundary(random.usize(..=text.len()));
            let to = text.floor_char_boundary((from + random.usize(..40)).min(text.len()));
            match random.u8(..4) {
                0 => text.replace_range(from..to, ""),
                1 => text.insert_str(from, random.choice(pieces).unwrap()),
                2 => {
                    let piece = text[from..to].to_owned();
                    text.insert_str(from, &piece);
                }
                _ => text.truncate(from),
            }
        }
        check(&text, &format!("seed {seed}"));
    }
}
