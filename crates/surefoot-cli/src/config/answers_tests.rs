//! What an author answers in words, what is accepted, and what of it makes no sense.

use surefoot_core::checklist::{FaultName, Waiver, review, review_dependency};
use surefoot_core::id::Kind;

use super::answers::Answers;
use super::file::{Config, parse};

#[track_caller]
fn loads(text: &str) -> Config {
    let config =
        parse("f", text, &|_| None).unwrap_or_else(|faults| panic!("{:#?}", faults.lines()));
    super::schema_tests::valid(text);
    config
}

#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    match parse("f", text, &|_| None) {
        Ok(config) => panic!("it loads: {config:#?}"),
        Err(unloadable) => assert_eq!(unloadable.lines(), expected, "{text}"),
    }
}

fn waiver(fault: FaultName, reason: &str) -> Waiver {
    Waiver {
        fault,
        reason: reason.to_owned(),
    }
}

#[test]
fn answers_and_waivers_are_read() {
    let config = loads(
        "[alerts]\ndead_letters = 'pages operations'\n\
         [dependency.psp]\nbase_url = 'http://h'\nwaive = { breaker_eager = 'one call a day' }\n\
         [job.grade]\neffect = ' grades a paper '\nalert = 'mails the tutor'\nwaive = { no_jitter = 'a', no_recovery = 'b' }\n",
    );
    assert_eq!(config.alert.as_deref(), Some("pages operations"));
    assert_eq!(
        config.dependencies[0].waivers,
        [waiver(FaultName::BreakerEager, "one call a day")]
    );
    let kind = Kind::new("grade").unwrap();
    let declared = &config.kinds[&kind];
    let expected = Answers {
        effect: Some("grades a paper".to_owned()),
        alert: Some("mails the tutor".to_owned()),
        waivers: vec![
            waiver(FaultName::NoJitter, "a"),
            waiver(FaultName::NoRecovery, "b"),
        ],
    };
    assert_eq!(declared.answers, expected);
    let facts = declared.facts(&kind, config.alert.as_deref());
    assert_eq!(facts.alert.as_deref(), Some("mails the tutor"));
}

#[test]
fn who_is_told_of_every_kind_is_said_once() {
    let config = loads("[alerts]\ndead_letters = 'pages operations'\n[job.grade]\n");
    let kind = Kind::new("grade").unwrap();
    let facts = config.kinds[&kind].facts(&kind, config.alert.as_deref());
    assert_eq!(facts.alert.as_deref(), Some("pages operations"));
    assert_eq!((facts.side_effect, facts.recovery), (None, None));
}

#[test]
fn answers_that_say_nothing_are_refused() {
    refused(
        "[alerts]\ndead_letters = ' '\n[job.a]\neffect = ''\nalert = \"a\\nb\"\n",
        &[
            "f:2:16: dead_letters says nothing; write it in words, or remove it",
            "f:4:10: effect says nothing; write it in words, or remove it",
            "f:5:9: alert holds a line break or another control character; write it on one line",
        ],
    );
    let long = format!("[job.a]\neffect = '{}'\n", "x".repeat(301));
    refused(
        &long,
        &["f:2:10: effect has more than 300 characters; say it in fewer"],
    );
    refused(
        "[alerts]\ndead_leters = 'a'\n",
        &["f:2:1: unknown key \"dead_leters\" in [alerts]; did you mean \"dead_letters\"?"],
    );
}

#[test]
fn a_waiver_names_a_fault_and_says_why() {
    refused(
        "[dependency.d]\nbase_url = 'http://h'\nwaive = { no_alert = 'a', no_fallback = 'a', breaker_eager = '' }\n\
         [job.a]\nwaive = { no_alret = 'a', nonsense_and_more = 'a', timeout_ladder = 'a', no_jitter = ' ', no_alert = 1 }\n",
        &[
            "f:3:11: no_alert is no fault that a dependency can be run with; give one of: no_jitter, retry_budget, \
             breaker_never, breaker_eager",
            "f:3:27: no_fallback is no fault that a dependency can be run with; give one of: no_jitter, retry_budget, \
             breaker_never, breaker_eager",
            "f:3:62: the waiver breaker_eager has no reason; say why it is accepted",
            "f:5:11: there is no fault \"no_alret\"; did you mean \"no_alert\"?",
            "f:5:27: there is no fault \"nonsense_and_more\"; give one of: no_side_effect, no_recovery, no_jitter, \
             no_alert, retry_layers, at_most_once_retries, backoff_deadline",
            "f:5:52: timeout_ladder is no fault that a kind can be run with; give one of: no_side_effect, no_recovery, \
             no_jitter, no_alert, retry_layers, at_most_once_retries, backoff_deadline",
            "f:5:86: the waiver no_jitter has no reason; say why it is accepted",
            "f:5:102: no_alert is a whole number; give a text in quotes",
        ],
    );
}

/// What stands in the document is what people copy.
#[test]
fn the_examples_of_the_document_have_no_fault_that_nobody_accepted() {
    const DOCUMENT: &str = include_str!("../../../../docs/configuration.md");
    let any = |_: &str| Some("0123456789abcdef".to_owned());
    let fences = DOCUMENT.split("```toml\n").skip(1);
    let mut kinds = 0;
    for example in fences.filter_map(|fence| fence.split("```").next()) {
        let config = parse("docs/configuration.md", example, &any).unwrap();
        let of_kinds = config.kinds.iter().flat_map(|(kind, declared)| {
            kinds += 1;
            review(&declared.facts(kind, config.alert.as_deref())).faults
        });
        let of_dependencies = config
            .dependencies
            .iter()
            .flat_map(|dependency| review_dependency(&dependency.facts()));
        let standing: Vec<_> = of_kinds
            .chain(of_dependencies)
            .filter(|fault| fault.waived.is_none())
            .collect();
        assert!(standing.is_empty(), "{standing:#?}");
    }
    assert!(kinds > 4, "{kinds}");
}

/// Each name that can be accepted is explained, and no other: it would be looked for in vain.
#[test]
fn the_document_explains_each_fault_that_can_be_accepted() {
    const DOCUMENT: &str = include_str!("../../../../docs/configuration.md");
    for name in FaultName::ALL {
        let word = name.as_str();
        let text = format!("[dependency.d]\nbase_url = 'http://h'\nwaive = {{ {word} = 'a' }}\n");
        let of_dependency = parse("f", &text, &|_| None).is_ok();
        let of_kind = parse(
            "f",
            &format!("[job.k]\nwaive = {{ {word} = 'a' }}\n"),
            &|_| None,
        )
        .is_ok();
        let explained = DOCUMENT.contains(&format!("\n| `{word}` |"));
        assert_eq!(explained, of_dependency || of_kind, "{word}");
    }
}
