//! Files beside what is said about them, word for word.

use std::time::Duration;

use reqwest::Method;
use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::id::{Kind, Queue};
use surefoot_core::policy::JobPolicy;

use super::file::{Config, parse};
use super::recovery::CallRecovery;
use super::schema_tests;
use super::telemetry::LogFormat;

fn environment(name: &str) -> Option<String> {
    match name {
        "API_TOKEN" => Some("0123456789abcdef".to_owned()),
        "MAIL_TOKEN" => Some("mail-secret".to_owned()),
        "SHORT" => Some("short".to_owned()),
        "NEWLINE" => Some("a\nb".to_owned()),
        _ => None,
    }
}

#[track_caller]
fn loads(text: &str) -> Config {
    let config = parse("surefoot.toml", text, &environment)
        .unwrap_or_else(|faults| panic!("{:#?}", faults.lines()));
    schema_tests::valid(text);
    config
}

#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    match parse("f", text, &environment) {
        Ok(config) => panic!("it loads: {config:#?}"),
        Err(unloadable) => assert_eq!(unloadable.lines(), expected, "{text}"),
    }
}

fn kind(name: &str) -> Kind {
    Kind::new(name).unwrap()
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const MAIL: &str = r#"
[dependency.mail]
base_url = "http://127.0.0.1:9001"
connect_timeout = "250ms"
attempt_timeout = "10s"

[job.send_mail]
dependency = "mail"
request = { method = "POST", path = "/send" }   # the payload is the body
recovery = "same_key"                            # or "at_most_once", "repeatable"
timeout = "30s"
attempts_max = 5
backoff = ["10s", "30s", "2m", "10m"]
"#;

#[test]
fn the_example_loads() {
    let config = loads(MAIL);
    let mail = &config.kinds[&kind("send_mail")];
    let request = mail.request.as_ref().unwrap();
    assert_eq!(request.dependency.name.as_str(), "mail");
    assert_eq!(request.dependency.base_url, "http://127.0.0.1:9001");
    assert_eq!(
        request.dependency.policy.timeout.connect,
        Duration::from_millis(250)
    );
    assert_eq!(request.dependency.policy.timeout.attempt, s(10));
    assert_eq!(
        (&request.method, request.path.as_str()),
        (&Method::POST, "/send")
    );
    assert_eq!(request.recovery, CallRecovery::SameKey { ttl: None });
    assert_eq!(
        mail.policy,
        JobPolicy {
            timeout: s(30),
            lease: s(40),
            attempts_max: 5,
            backoff: Backoff::List {
                delays: vec![s(10), s(30), s(120), s(600)],
                jitter: Jitter::Fraction(0.25)
            },
            ..JobPolicy::default()
        }
    );
}

#[test]
fn an_empty_file_says_the_defaults() {
    assert_eq!(loads(""), Config::default());
}

#[test]
fn every_key_is_read() {
    let config = loads(
        r#"
        [server]
        listen = "[::1]:0"
        tokens = { ops = "${API_TOKEN}", ci = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" }
        hosts = ["surefoot.internal"]
        [database]
        url = "postgres://localhost/surefoot"
        [engine]
        concurrency = 64
        queues = ["default", "slow"]
        poll = "250ms"
        drain_grace = "42m30s"
        retention = "7d"
        [telemetry]
        otlp_endpoint = "http://127.0.0.1:4318/"
        log_format = "json"
        [queue.slow]
        concurrency = 2
        [dependency.mail]
        base_url = "https://mail.example.org/api/"
        headers = { authorization = "Bearer ${MAIL_TOKEN}", accept = "application/json" }
        [job."mail.send"]
        dependency = "mail"
        request = { method = "PUT", path = "/send?fast=1", headers = { accept = "text/plain" } }
        recovery = "at_most_once"
        crashes_max = 4
        deadline = "1h"
        concurrency = 10
        concurrency_per_key = 1
        backoff = { base = "1s", factor = 3, cap = "1m" }
        jitter = "decorrelated"
        [job.grade]
        timeout = "2m30s"
        lease = "5m"
        jitter = 0.5
        "#,
    );
    assert_eq!(config.server.listen.unwrap().to_string(), "[::1]:0");
    assert_eq!(
        config
            .server
            .tokens
            .iter()
            .map(|token| token.name())
            .collect::<Vec<_>>(),
        ["ci", "ops"]
    );
    assert_eq!(config.server.hosts, ["surefoot.internal"]);
    assert_eq!(
        config.database.as_deref(),
        Some("postgres://localhost/surefoot")
    );
    assert_eq!(config.engine.concurrency, Some(64));
    assert_eq!(
        config.engine.queues.as_ref().unwrap()[1],
        Queue::new("slow").unwrap()
    );
    assert_eq!(config.engine.poll, Some(Duration::from_millis(250)));
    assert_eq!(config.engine.drain_grace, Some(s(2550)));
    assert_eq!(config.engine.retention, Some(s(604_800)));
    assert_eq!(config.engine.queue_limits[&Queue::new("slow").unwrap()], 2);
    assert_eq!(
        config.telemetry.otlp_endpoint.as_deref(),
        Some("http://127.0.0.1:4318")
    );
    assert_eq!(config.telemetry.log_format, LogFormat::Json);

    let send = &config.kinds[&kind("mail.send")];
    let request = send.request.as_ref().unwrap();
    assert_eq!(request.dependency.base_url, "https://mail.example.org/api");
    assert_eq!(
        request.dependency.headers["authorization"],
        "Bearer mail-secret"
    );
    assert!(request.dependency.headers["authorization"].is_sensitive());
    assert_eq!(
        (request.path.as_str(), &request.headers["accept"]),
        ("/send?fast=1", &"text/plain".parse().unwrap())
    );
    assert_eq!(
        (&request.recovery, send.policy.recovery),
        (&CallRecovery::AtMostOnce, None)
    );
    assert_eq!(
        (send.policy.crashes_max, send.policy.deadline),
        (4, Some(s(3600)))
    );
    assert_eq!(
        (
            send.policy.concurrency_max,
            send.policy.concurrency_per_key_max
        ),
        (Some(10), Some(1))
    );
    assert_eq!(
        send.policy.backoff,
        Backoff::Exponential {
            base: s(1),
            factor: 3.0,
            cap: s(60),
            jitter: Jitter::Decorrelated
        }
    );

    let grade = &config.kinds[&kind("grade")];
    assert_eq!((grade.policy.timeout, grade.policy.lease), (s(150), s(300)));
    assert_eq!((grade.policy.recovery, &grade.request), (None, &None));
    let Backoff::List { jitter, .. } = grade.policy.backoff else {
        panic!("{:?}", grade.policy.backoff)
    };
    assert_eq!(jitter, Jitter::Fraction(0.5));
}

#[test]
fn a_kind_without_times_takes_them_from_its_dependency() {
    let config = loads(
        "[dependency.a]\nbase_url = 'http://h'\nattempt_timeout = '500ms'\n\
         [job.a]\ndependency = 'a'\nrequest.path = '/'\nrecovery = 'repeatable'\n",
    );
    let job = &config.kinds[&kind("a")];
    assert_eq!(
        (job.policy.timeout, job.policy.lease),
        (Duration::from_millis(1500), Duration::from_millis(11_500))
    );
    assert_eq!(
        job.request
            .as_ref()
            .unwrap()
            .dependency
            .policy
            .timeout
            .connect,
        Duration::from_millis(250)
    );
    assert_eq!(job.request.as_ref().unwrap().method, Method::POST);
}

#[test]
fn every_fault_of_a_file_is_reported_at_once() {
    refused(
        r#"[servr]
[server]
listen = "localhost"
tokens = { ops = "${SHORT}", ci = "${GONE}", "a b" = "${API_TOKEN}", d = "sha256:00" }
[database]
url = "mysql://user:pass@host/db"
[engine]
concurency = 3
queues = []
poll = "0s"
retention = 7
[dependency.mail]
base_url = "ftp://h"
headers = { Idempotency-Key = "x", "a b" = "x", ok = 3 }
[job."send mail"]
"#,
        &[
            r#"f:1:2: unknown key "servr"; did you mean "server"?"#,
            r#"f:3:10: listen "localhost" is no address; write an IP address and a port, such as 127.0.0.1:7070"#,
            "f:4:18: the secret of token \"ops\" has 5 bytes, at least 16 are needed; make one with: openssl rand -hex 24",
            "f:4:35: server.tokens.ci: the environment variable GONE is not set; set it before the start",
            r#"f:4:54: token name "a b" is not usable; give 1 to 40 letters, digits and _ . -"#,
            r#"f:4:74: the digest of token "d" is not a SHA-256 digest; give 64 hex digits"#,
            "f:6:7: database.url: the database URL is of no known form; write sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME",
            r#"f:8:1: unknown key "concurency" in [engine]; did you mean "concurrency"?"#,
            "f:9:10: queues is empty, so nothing could run; name the queues, or remove the line",
            "f:10:8: poll is zero; give a time above zero",
            r#"f:11:13: retention is a whole number; give a duration in quotes, such as "10s""#,
            "f:13:12: base_url is neither http nor https; only these are called",
            r#"f:14:13: the header "Idempotency-Key" is set by the engine; remove it"#,
            r#"f:14:36: "a b" is no name of a header; use letters, digits and -"#,
            "f:14:54: ok is a whole number; give a text in quotes",
            "f:15:6: job.\"send mail\": kind holds the character ' ' at byte 4; use letters, digits and _ . : / -",
        ],
    );
}

#[test]
fn a_kind_that_calls_must_say_what_an_unknown_outcome_allows() {
    refused(
        "[dependency.a]\nbase_url = 'http://h'\n[job.pay]\ndependency = 'a'\nrequest = { path = '/' }\n",
        &[concat!(
            r#"f:3:6: [job.pay] has no recovery; say what an unknown outcome allows: "same_key" (the provider "#,
            r#"deduplicates by key), "at_most_once" (never send again) or "repeatable" (twice does no harm), or "#,
            r#"{ verify = { path = "/sent/{key}", happened = [200], did_not_happen = [404] }, settles_within = "60s" } "#,
            "(ask the provider); there is no default"
        )],
    );
}

#[test]
fn what_a_kind_gets_wrong_is_told() {
    let dependency = "[dependency.a]\nbase_url = 'http://h'\nattempt_timeout = '10s'\n";
    let table: &[(&str, &[&str])] = &[
        (
            "[job.k]\nrecovery = 'maybe'\n",
            &[concat!(
                r#"f:5:12: recovery "maybe" is unknown; give "same_key" (the provider deduplicates by key), "#,
                r#""at_most_once" (never send again) or "repeatable" (twice does no harm)"#
            )],
        ),
        (
            "[job.k]\ndependency = 'b'\nrequest = { path = '/' }\nrecovery = 'repeatable'\n",
            &[
                r#"f:5:14: there is no dependency "b"; add a section [dependency.b], or use one of: a"#,
            ],
        ),
        (
            "[job.k]\ndependency = 'a'\nrecovery = 'repeatable'\n",
            &[
                r#"f:4:6: [job.k] has no request; add for example request = { method = "POST", path = "/send" }"#,
            ],
        ),
        (
            "[job.k]\nrequest = { path = '/' }\n",
            &[
                "f:5:1: [job.k] has a request and no dependency to send it to; add dependency = \"NAME\", or remove the request",
            ],
        ),
        (
            "[job.k]\ndependency = 'a'\nrequest = { method = 'GET', path = 'send', pth = 1 }\nrecovery = 'repeatable'\n",
            &[
                r#"f:6:22: method "GET" cannot carry the payload as a body; use one of: POST, PUT, PATCH, DELETE"#,
                r#"f:6:36: path "send" is no path; begin it with / and write other characters as %XX"#,
                r#"f:6:44: unknown key "pth" in [job.k.request]; did you mean "path"?"#,
            ],
        ),
        (
            "[job.k]\ndependency = 'a'\nrequest = { path = '/' }\nrecovery = 'repeatable'\ntimeout = '5s'\nlease = '2s'\n",
            &[
                "f:8:11: job.k.timeout: the attempt time-out of 10s is longer than the job time-out of 5s, so the job time-out always \
                 ends first; lower the attempt time-out to at most 5s, or raise the job time-out",
                "f:8:11: job.k.timeout: the job time-out of 5s is not shorter than the lease of 2s, so the lease always ends first; \
                 lower the job time-out to below 2s, or raise the lease",
            ],
        ),
        (
            "[job.k]\ntimeout = '30s'\nlease = '30s'\n",
            &[
                "f:5:11: job.k.timeout: the job time-out of 30s is not shorter than the lease of 30s, so the lease always ends first; \
                 lower the job time-out to below 30s, or raise the lease",
            ],
        ),
        (
            "[job.k]\ntimeout = '30s'\ndeadline = '20s'\n",
            &[
                "f:6:12: deadline 20s is shorter than timeout 30s, so an attempt could never use its time; raise the \
                 deadline or lower the timeout",
            ],
        ),
        (
            "[job.k]\nattempts_max = 0\ncrashes_max = 1001\nconcurrency = -1\nconcurrency_per_key = 1.5\n",
            &[
                "f:5:16: attempts_max is 0; give a whole number from 1 to 1000",
                "f:6:15: crashes_max is 1001; give a whole number from 1 to 1000",
                "f:7:15: concurrency is -1; give a whole number from 1 to 100000",
                "f:8:23: concurrency_per_key is a number; give a whole number",
            ],
        ),
        (
            "[job.k]\nbackoff = []\njitter = 'decorrelated'\n",
            &[
                "f:5:11: backoff: the list of delays is empty; give at least one delay",
                "f:5:11: backoff: a list of delays does not go with decorrelated jitter; choose full jitter or an exponential backoff",
            ],
        ),
        (
            "[job.k]\nbackoff = ['10s', '5', 5, '1.5s']\njitter = 'some'\n",
            &[
                r#"f:5:19: backoff "5" has no unit after 5; write 5ms, 5s, 5m, 5h or 5d"#,
                r#"f:5:24: backoff holds something else than durations; give a list such as ["10s"]"#,
                r#"f:5:27: backoff "1.5s" has a decimal fraction; use a smaller unit, such as 1500ms for one and a half seconds"#,
                r#"f:6:10: jitter is none that is known; give "full", "equal", "decorrelated", "none", or a fraction such as 0.25"#,
            ],
        ),
        (
            "[job.k]\nbackoff = { factor = 0.5, cap = '1s', bse = '1s' }\njitter = 2\n",
            &[
                "f:5:1: [job.k.backoff] has no base; add the first delay, such as base = \"1s\"",
                r#"f:5:39: unknown key "bse" in [job.k.backoff]; did you mean "base"?"#,
            ],
        ),
        (
            "[job.k]\nbackoff = { base = '5s', factor = 0.5, cap = '1s' }\njitter = 2\n",
            &[
                "f:5:11: backoff: factor 0.5 does not let delays grow; give a finite factor of at least 1, such as 2",
                "f:5:11: backoff: base 5s is above the cap 1s; lower the base or raise the cap",
                "f:5:11: backoff: jitter fraction 2 is not above 0 and at most 1; give 0.25 for a quarter, or choose no jitter",
            ],
        ),
        (
            "[queue.q]\nconcurrency_max = 3\n[job]\nk = 3\n",
            &[
                "f:4:8: [queue.q] has no concurrency; add how many of its jobs may run at once, such as concurrency = 10",
                r#"f:5:1: unknown key "concurrency_max" in [queue.q]; remove it; known here: concurrency"#,
                "f:7:5: job.k is a whole number; give a table",
            ],
        ),
    ];
    for (text, expected) in table {
        refused(&format!("{dependency}{text}"), expected);
    }
}

#[test]
fn a_dependency_that_is_wrong_is_told_once() {
    refused(
        "[dependency.a]\nbase_url = 'http://u:p@h'\n[job.k]\ndependency = 'a'\nrequest = { path = '/' }\nrecovery = 'repeatable'\n",
        &[
            r#"f:2:12: base_url holds a user or password; send it as a header with a value such as "Basic ${NAME}""#,
        ],
    );
    refused(
        "[dependency.a]\nbase_url = 'http://h'\nconnect_timeout = '10s'\nattempt_timeout = '10s'\n\
         [job.k]\ndependency = 'a'\nrequest = { path = '/' }\nrecovery = 'repeatable'\n",
        &[
            "f:4:19: dependency.a.attempt_timeout: timeout.connect 10s is not below attempt 10s, so a failed connect would look like a lost answer; \
             lower connect or raise attempt",
        ],
    );
}

#[test]
fn every_fault_of_syntax_is_reported_at_once() {
    refused(
        "[server\nlisten = \n[engine]\npoll = \"1s\n",
        &[
            "f:1:8: engine: unclosed table, expected `]`; correct the TOML here; see https://toml.io",
            "f:4:11: engine.poll: invalid basic string, expected `\"`; correct the TOML here; see https://toml.io",
        ],
    );
    refused(
        "[server]\n[server]\n",
        &[
            "f:2:2: server stands here for the second time; keep one of them, and put all keys into it",
        ],
    );
}

const DOCUMENT: &str = include_str!("../../../../docs/configuration.md");

#[test]
fn every_example_of_the_document_loads() {
    let any = |_: &str| Some("0123456789abcdef".to_owned());
    let fences = DOCUMENT.split("```toml\n").skip(1);
    let examples: Vec<&str> = fences
        .filter_map(|fence| fence.split("```").next())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        if let Err(faults) = parse("docs/configuration.md", example, &any) {
            panic!("{:#?}", faults.lines());
        }
    }
}

/// The keys of each section, told by the section itself when it meets one that it does not know.
#[test]
fn the_document_and_its_example_name_every_key() {
    let sections = [
        "server",
        "database",
        "engine",
        "telemetry",
        "alerts",
        "proxy",
        "queue.q",
        "dependency.d",
        "dependency.d.timeout",
        "dependency.d.retry",
        "dependency.d.retry.backoff",
        "dependency.d.budget",
        "dependency.d.breaker",
        "dependency.d.bulkhead",
        "dependency.d.shed",
        "dependency.d.rate",
        "dependency.d.hedge",
        "dependency.d.adaptive",
        "dependency.d.fallback",
        "dependency.d.fallback.stale",
        "dependency.d.fault",
        "job.k",
        "job.k.request",
        "job.k.backoff",
        "job.v.recovery",
        "job.v.recovery.verify",
        "job.s.recovery.same_key",
    ];
    let text: String = sections
        .map(|section| format!("[{section}]\nqqqqqqqqqqqqqqq = 1\n"))
        .concat();
    let calling = "job.v.dependency = \"d\"\njob.s.dependency = \"d\"\n";
    let text = format!("{calling}{text}[[proxy.route]]\nqqqqqqqqqqqqqqq = 1\n");
    let Err(faults) = parse("f", &text, &environment) else {
        panic!("it loads");
    };
    let lines = faults.lines();
    let known = lines
        .iter()
        .filter_map(|line| line.split_once("known here: "));
    let keys: Vec<&str> = known.flat_map(|(_, keys)| keys.split(", ")).collect();
    assert!(keys.len() > 120, "{keys:?}");
    let example = DOCUMENT.split("```").nth(1).unwrap();
    for key in keys {
        assert!(
            DOCUMENT.contains(&format!("`{key}`"))
                || DOCUMENT.contains(&format!(".{key}`"))
                || DOCUMENT.contains(&format!("`{key}.")),
            "{key} is not explained"
        );
        assert!(
            example.contains(&format!("{key} = ")) || example.contains(&format!(".{key}]")),
            "{key} is not in the example"
        );
    }
}
