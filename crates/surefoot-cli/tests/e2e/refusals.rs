//! What is refused before anything happens, with which exit code and which words.

use serde_json::{Value, json};

use crate::api::Api;
use crate::process::Folder;

#[test]
fn an_address_of_others_needs_a_token() {
    let folder = Folder::new();
    let run = folder.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("no token is configured"), "{run:?}");
    assert!(
        run.stderr
            .contains("hint: add to surefoot.toml: [server] tokens"),
        "{run:?}"
    );
    assert!(!folder.path().join("surefoot.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_token_configured_nothing_is_answered_without_it() {
    let folder = Folder::new();
    folder.config("[server]\ntokens = { ops = \"0123456789abcdef0123\" }\n");
    let node = folder.serve(&[]);
    let job = json!({ "kind": "hello" });
    assert_eq!(
        Api::new(node.url())
            .post("/v1/jobs", job.clone())
            .await
            .status,
        401
    );
    let api = Api::new(node.url()).with_token("0123456789abcdef0123");
    assert_eq!(api.post("/v1/jobs", job).await.status, 202);
    assert!(!node.log().contains("0123456789abcdef0123"));
}

#[test]
fn a_configuration_that_does_not_load_is_told_whole() {
    let folder = Folder::new();
    folder.config(
        "[server]\nlisten = \"here\"\n[job.send]\ndependency = \"mail\"\ntimeout = \"42\"\n",
    );
    for command in ["serve", "check"] {
        let run = folder.run(&[command]);
        assert_eq!(run.code, Some(3), "{run:?}");
        for part in [
            "surefoot.toml does not load: 5 faults",
            "surefoot.toml:2:10",
            "listen \"here\" is no address",
            "surefoot.toml:4:14",
            "there is no dependency \"mail\"",
            "[job.send] has no recovery",
            "surefoot.toml:5:11",
            "timeout \"42\" has no unit after 42",
        ] {
            assert!(
                run.stderr.contains(part),
                "{part} is missing in {}",
                run.stderr
            );
        }
    }
    let run = folder.run(&["check", "--json"]);
    let error: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(error["error"]["code"], 3, "{error:#}");
    let fault = &error["error"]["faults"][0];
    assert_eq!((&fault["line"], &fault["column"]), (&json!(2), &json!(10)));
    assert_eq!(fault["file"], "surefoot.toml");
    let run = folder.run(&["check"]);
    assert!(run.stderr.contains("run: surefoot check\n"), "{run:?}");
    let run = folder.run(&["serve", "--config", "surefoot.toml"]);
    let hint = "run: surefoot check --config surefoot.toml\n";
    assert!(run.stderr.contains(hint), "{run:?}");
    assert!(!folder.path().join("surefoot.db").exists());
}

#[test]
fn a_sound_configuration_is_told_with_its_worst_case() {
    let folder = Folder::new();
    folder.config(
        "[alerts]\ndead_letters = \"ops\"\n[dependency.mail]\nbase_url = \"http://127.0.0.1:9001\"\n\
         [job.send]\ndependency = \"mail\"\nrequest = { path = \"/\" }\nrecovery = \"same_key\"\n\
         [job.grade]\neffect = \"grades\"\nrecovery = \"repeatable\"\n",
    );
    let answer = folder.answer(&["check"]);
    assert_eq!(
        (&answer["ok"], &answer["file"]),
        (&json!(true), &json!("surefoot.toml"))
    );
    assert_eq!(answer["kinds"][1]["dependency"], "mail");
    assert_eq!(answer["kinds"][1]["worst"]["calls_max"], 7);
    let text = folder.run(&["check"]).stdout;
    for part in [
        "surefoot.toml: ok",
        "TURNED AWAY AT MOST",
        " 1000 ",
        "429 with Retry-After",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn what_is_not_there_is_said_and_not_made() {
    let folder = Folder::new();
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    let here = folder.path().canonicalize().unwrap();
    let gone = format!(
        "there is no database {}",
        here.join("surefoot.db").display()
    );
    let table: &[(&[&str], i32, &str)] = &[
        (
            &["serve", "--lisen", "127.0.0.1:0"],
            2,
            "a similar argument exists: '--listen'",
        ),
        (&["jobs", "list"], 5, &gone),
        (&["jobs", "show", id], 5, &gone),
        (&["dead", "list"], 5, &gone),
        (
            &["jobs", "enqueue", "k", "--database", "sqlite:typo.db"],
            5,
            "run this in the folder where surefoot serve runs, or name its database with --database",
        ),
        (
            &["check", "--config", "other.toml"],
            5,
            "failed to read other.toml",
        ),
        (
            &["check", "--config", "other.toml"],
            5,
            "hint: check the path",
        ),
        (
            &["check", "--config", "."],
            3,
            "hint: give --config the configuration itself",
        ),
        (
            &["jobs", "list", "--database", "mysql://h/d"],
            2,
            "the database URL is of no known form",
        ),
        (
            &["jobs", "enqueue", "k", "--payload-file", "gone.json"],
            5,
            "failed to read gone.json",
        ),
        (
            &[
                "jobs",
                "list",
                "--database",
                "postgres://u:secret@127.0.0.1:1/d",
            ],
            4,
            "the database did not answer",
        ),
    ];
    for (arguments, code, part) in table {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(*code), "{arguments:?} {run:?}");
        assert!(run.stderr.contains(part), "{part} is missing in {run:?}");
        assert!(!run.stderr.contains("secret"), "{run:?}");
    }
    assert!(!folder.path().join("surefoot.db").exists());
    assert!(!folder.path().join("typo.db").exists());
    folder.answer(&["migrate"]);
    let run = folder.run(&["jobs", "show", id]);
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(
        run.stderr.contains(&format!("there is no job {id}")),
        "{run:?}"
    );
}

#[test]
fn with_json_a_wrong_argument_is_an_error_document() {
    let run = Folder::new().run(&["jobs", "list", "--json", "--lmit", "3"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    let error: Value = serde_json::from_str(&run.stderr).unwrap();
    let what = error["error"]["what"].as_str().unwrap();
    assert!(
        what == "unexpected argument '--lmit' found; tip: a similar argument exists: '--limit'",
        "{what}"
    );
    let run = Folder::new().run(&["jobs", "list", "--json", "--limit", "0"]);
    let error: Value = serde_json::from_str(&run.stderr).unwrap();
    let what = error["error"]["what"].as_str().unwrap();
    assert!(
        what.ends_with("give a whole number from 1 to 200"),
        "{what}"
    );
}

#[test]
fn a_port_that_is_taken_is_said() {
    let folder = Folder::new();
    let node = folder.serve(&[]);
    let taken = node.url().replace("http://", "");
    let run = folder.run(&["serve", "--listen", &taken, "--database", "sqlite:other.db"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains(&format!("failed to listen on {taken}")),
        "{run:?}"
    );
}

#[test]
fn check_refuses_an_address_that_serve_refuses() {
    let folder = Folder::new();
    for listen in ["0.0.0.0:1", "[::]:7070"] {
        folder.config(&format!("[server]\nlisten = \"{listen}\"\n"));
        let run = folder.run(&["check"]);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.stderr.contains("no token is configured"), "{run:?}");
    }
    folder.config("[server]\nlisten = \"[::]:7070\"\ntokens = { a = \"0123456789abcdef\" }\n");
    folder.answer(&["check"]);
}

#[test]
fn a_configuration_that_never_ends_is_refused() {
    let folder = Folder::new();
    for (path, part) in [
        ("/dev/zero", "it is no regular file"),
        (".", "it is no regular file"),
        ("large.toml", "it has more than 1048576 bytes"),
    ] {
        // Its last character would be cut in two by the limit.
        let large = format!("#{}ế", "x".repeat(1024 * 1024 - 1));
        std::fs::write(folder.path().join("large.toml"), large).unwrap();
        let run = folder.run(&["check", "--config", path]);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.stderr.contains(part), "{run:?}");
    }
}

#[test]
fn a_fault_beyond_column_65535_is_told_with_its_place() {
    let folder = Folder::new();
    folder.config(&format!("a=\"{}\" b\n", "x".repeat(70_000)));
    let run = folder.run(&["check"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("surefoot.toml:1:7000"), "{run:?}");
}

#[test]
fn a_fault_report_shows_no_secret() {
    let folder = Folder::new();
    for faulty in [
        "[server]\ntokens = { ops = \"s3cret-0123456789\" }\nlisen = \"127.0.0.1:1\"\n",
        "[server]\ntokens = { ops = s3cret-0123456789 }\n",
        "[server]\ntokens = { ops = \"s3cret\" }\n",
        "[dependency.a]\nbase_url = \"s3cret:s3cret\"\nheaders = { authorization = \"s3cret\\n\" }\n",
        "[dependency.a]\nbase_url = \"s3cret\"\n",
        "[database]\nurl = \"s3cret ${s3 cret}\"\n",
    ] {
        folder.config(faulty);
        for arguments in [&["check"][..], &["check", "--json"]] {
            let run = folder.run(arguments);
            assert_eq!(run.code, Some(3), "{run:?}");
            assert!(!run.stderr.contains("s3"), "{faulty}: {}", run.stderr);
        }
    }
}
