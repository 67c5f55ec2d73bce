//! What `check` answers, what it finds, and what is accepted.

use serde_json::{Value, json};

use crate::process::{Folder, Run};

/// The faults of the unsound example: section, name, and what its remedy begins with.
const UNSOUND: [(&str, &str, &str); 15] = [
    ("job.grade", "no_side_effect", "say it: effect = "),
    ("job.grade", "no_recovery", "declare recovery: "),
    ("job.grade", "no_alert", "say who: alert = "),
    ("job.price", "no_jitter", "set jitter"),
    ("job.price", "no_alert", "say who: alert = "),
    ("job.refund", "no_alert", "say who: alert = "),
    ("job.refund", "retry_layers", "let one layer try again"),
    ("job.refund", "backoff_deadline", "raise the deadline"),
    ("job.send_letter", "no_alert", "say who: alert = "),
    (
        "job.send_letter",
        "at_most_once_retries",
        "set attempts_max = 1",
    ),
    (
        "dependency.mail",
        "breaker_eager",
        "raise consecutive_failures",
    ),
    ("dependency.prices", "breaker_never", "turn the breaker on"),
    ("dependency.psp", "retry_budget", "enable the budget"),
    ("dependency.psp", "no_jitter", "set the jitter"),
    (
        "dependency.psp",
        "breaker_never",
        "set consecutive_failures",
    ),
];

fn example(name: &str) -> String {
    format!(
        "{}/../../examples/config/{name}.toml",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[track_caller]
fn document(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap()
}

/// Every fault of the answer: section, name, remedy, and why it is accepted.
fn faults(document: &Value) -> Vec<[String; 4]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    for (list, key, prefix) in [
        ("kinds", "kind", "job"),
        ("dependencies", "dependency", "dependency"),
    ] {
        for entry in document[list].as_array().unwrap() {
            for fault in entry["faults"].as_array().unwrap() {
                all.push([
                    format!("{prefix}.{}", text(&entry[key])),
                    text(&fault["name"]),
                    text(&fault["remedy"]),
                    text(&fault["waived"]),
                ]);
            }
        }
    }
    all
}

#[test]
fn a_sound_configuration_answers_every_question_and_ends_with_0() {
    let folder = Folder::new();
    let run = folder.run(&["check", "--config", &example("sound"), "--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let sound = document(&run);
    assert_eq!((&sound["ok"], &sound["faults"]), (&json!(true), &json!(0)));
    for kind in sound["kinds"].as_array().unwrap() {
        let answers = kind["answers"].as_array().unwrap();
        assert_eq!(answers.len(), 18, "{kind:#}");
        for answered in answers {
            assert!(answered["answer"].is_string(), "{kind:#}");
            assert!(!answered["by"].is_null(), "{kind:#}");
        }
    }
    let refund = &sound["kinds"][1];
    assert_eq!(refund["answers"][0]["by"], "configuration", "{refund:#}");
    assert_eq!(
        refund["answers"][0]["answer"], "pays money back (POST /refunds of psp)",
        "{refund:#}"
    );
    let accepted = faults(&sound);
    assert_eq!(accepted.len(), 1, "{accepted:?}");
    assert_eq!(accepted[0][..2], ["job.ring", "at_most_once_retries"]);
    assert!(accepted[0][3].starts_with("what was refused"));

    let text = folder.run(&["check", "--config", &example("sound")]).stdout;
    for part in [
        "what enforces that?                   a unique constraint",
        "who is told?                          pages the payments team",
        "who is told?                          pages operations",
        "GET /refunds/{key} of psp, at most 20 times",
        "[job.ring] at_most_once_retries: ",
        "because: what was refused or never left",
        "sound.toml: ok",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(!text.contains("NO ANSWER"), "{text}");
}

#[test]
fn an_unsound_configuration_is_told_by_name_with_remedies_and_ends_with_1() {
    let folder = Folder::new();
    let run = folder.run(&["check", "--config", &example("unsound"), "--json"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let unsound = document(&run);
    assert_eq!(
        (&unsound["ok"], &unsound["faults"]),
        (&json!(false), &json!(15))
    );
    let found = faults(&unsound);
    let named: Vec<[&str; 2]> = found
        .iter()
        .map(|[section, name, ..]| [section.as_str(), name.as_str()])
        .collect();
    assert_eq!(
        named,
        UNSOUND.map(|(section, name, _)| [section, name]),
        "{found:#?}"
    );
    for ([.., remedy, waived], (section, name, begins)) in found.iter().zip(UNSOUND) {
        assert!(remedy.starts_with(begins), "{section} {name}: {remedy}");
        assert_eq!(waived, "", "{section} {name}");
    }
    let names: std::collections::BTreeSet<&str> =
        UNSOUND.iter().map(|(_, name, _)| *name).collect();
    assert!(names.len() >= 10, "{names:?}");
    let error: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(error["error"]["code"], 1, "{error:#}");

    let run = folder.run(&["check", "--config", &example("unsound")]);
    assert_eq!(run.code, Some(1));
    for (section, name, begins) in UNSOUND {
        let at = run.stdout.find(&format!("[{section}] {name}: "));
        let after = &run.stdout[at.unwrap_or_else(|| panic!("{section} {name}: {}", run.stdout))..];
        let remedy = after.lines().nth(1).unwrap();
        assert!(
            remedy.starts_with(&format!("    remedy: {begins}")),
            "{remedy}"
        );
    }
    assert!(run.stdout.contains("NO ANSWER"), "{}", run.stdout);
    for part in [
        "unsound.toml has 15 faults that nobody accepted",
        "waive = { NAME = ",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn a_waiver_takes_one_fault_off_and_one_too_many_is_told() {
    let folder = Folder::new();
    let kind = "[job.grade]\neffect = \"grades\"\nrecovery = \"repeatable\"\n";
    folder.config(kind);
    assert_eq!(folder.run(&["check"]).code, Some(1));
    folder.config(&format!(
        "{kind}waive = {{ no_alert = \"looked at each morning\", no_jitter = \"x\" }}\n"
    ));
    let run = folder.run(&["check"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    for part in [
        "[job.grade] no_alert: nobody is told",
        "because: looked at each morning",
        "[job.grade] no_jitter: there is no such fault; remove the waiver",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let answer = folder.answer(&["check"]);
    assert_eq!(answer["kinds"][0]["idle_waivers"], json!(["no_jitter"]));
}

#[test]
fn the_worst_case_counts_what_may_be_sent() {
    let folder = Folder::new();
    folder.config(
        "[alerts]\ndead_letters = \"ops\"\n[dependency.a]\nbase_url = \"http://h\"\nhedge = { after = \"300ms\" }\n\
         [job.once]\ndependency = \"a\"\nrequest = { path = \"/\" }\nrecovery = \"at_most_once\"\nattempts_max = 1\n\
         [job.same]\ndependency = \"a\"\nrequest = { path = \"/\" }\nrecovery = \"same_key\"\nattempts_max = 4\n\
         [job.verified]\ndependency = \"a\"\nrequest = { path = \"/\" }\nrecovery = { verify = { path = \"/{key}\", \
         happened = [200], did_not_happen = [404] }, settles_within = \"60s\", asks_max = 2 }\nattempts_max = 4\n",
    );
    let answer = folder.answer(&["check"]);
    let worst = |at: usize| {
        let worst = &answer["kinds"][at]["worst"];
        ["attempts_max", "crashes_max", "calls_max", "questions_max"]
            .map(|key| worst[key].as_u64().unwrap())
    };
    // A crash under at_most_once sends nothing again, and a second copy leaves only under a key or where twice does no harm.
    assert_eq!(worst(0), [1, 3, 1, 0], "{answer:#}");
    assert_eq!(worst(1), [4, 3, 12, 0], "{answer:#}");
    assert_eq!(worst(2), [4, 3, 6, 12], "{answer:#}");
}

#[test]
fn serve_starts_with_faults_and_says_where_to_see_them() {
    let folder = Folder::new();
    folder.config("[job.grade]\n");
    let log = folder.serve(&[]).log();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("surefoot check"))
        .collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("3 faults that nobody accepted"), "{log}");

    let folder = Folder::new();
    folder.config(
        "[job.grade]\neffect = \"a\"\nrecovery = \"repeatable\"\nwaive = { no_alert = \"b\" }\n",
    );
    let log = folder.serve(&[]).log();
    assert!(!log.contains("surefoot check"), "{log}");
}
