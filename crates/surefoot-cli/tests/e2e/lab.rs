//! `lab faults` and `lab chaos`, shortened: what they count of Surefoot is 0, and what they count of the plain loop shows
//! that they can count. And the experiments, with the figures that must come out.

use serde_json::Value;

use crate::postgres;
use crate::process::Folder;

/// What must be 0.
const COLUMNS: [&str; 5] = [
    "charged_twice",
    "never_charged",
    "not_terminal",
    "stale_write",
    "told_failed",
];
/// Where every random choice of the chaos tests comes from.
const SEED: &str = "20261130";

#[test]
fn under_five_faults_surefoot_charges_once_and_the_plain_loop_twice() {
    let answer = Folder::new().answer(&["lab", "faults", "--intents", "6"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    let faults = answer["faults"].as_array().unwrap();
    let named: Vec<&Value> = faults.iter().map(|row| &row["fault"]).collect();
    assert_eq!(named, ["kill", "silent", "dropped", "frozen", "same_key"]);
    for row in faults {
        let cells = row["cells"].as_array().unwrap();
        let cell = |name: &str| {
            let named = cells.iter().find(|cell| cell["contestant"] == name);
            named.unwrap_or_else(|| panic!("no {name}: {row:#}"))
        };
        for surefoot in ["verify", "at_most_once"] {
            for column in COLUMNS {
                assert_eq!(cell(surefoot)[column], 0, "{column} of {surefoot}: {row:#}");
            }
        }
        assert_eq!(cell("verify")["done"], 6, "{row:#}");
        let once = cell("at_most_once");
        let person = once["waits_for_person"].as_u64().unwrap();
        assert_eq!(once["done"].as_u64().unwrap() + person, 6, "{row:#}");
        let plain = cell("plain");
        assert_ne!(plain["charged_twice"], 0, "{row:#}");
        match row["fault"].as_str().unwrap() {
            "frozen" => {
                assert_ne!(plain["stale_write"], 0, "{row:#}");
                assert_ne!(person, 0, "{row:#}");
            }
            // No call has to go wrong there.
            "same_key" => {}
            _ => {
                assert_ne!(person, 0, "{row:#}");
                assert_ne!(cell("verify")["asked"], 0, "{row:#}");
            }
        }
    }
}

#[test]
fn killed_at_random_moments_on_sqlite_every_intent_takes_effect_once() {
    let arguments = ["lab", "chaos", "--rounds", "8", "--seed", SEED];
    check(&Folder::new().answer(&arguments), 1);
}

#[test]
fn killed_at_random_moments_three_nodes_on_postgres_let_every_intent_take_effect_once() {
    let database = postgres::database();
    let arguments = [
        "lab",
        "chaos",
        "--rounds",
        "8",
        "--seed",
        SEED,
        "--nodes",
        "3",
        "--postgres",
        &database,
    ];
    let folder = Folder::new();
    check(&folder.answer(&arguments), 3);

    let again = folder.run(&arguments);
    assert_eq!(again.code, Some(1), "it fills only an empty database");
    assert!(
        again.stderr.contains("holds jobs already"),
        "{}",
        again.stderr
    );
}

/// One test, because it looks at what is left on the server when all is over.
#[test]
fn the_experiments_give_their_figures_on_both_databases_and_leave_none_behind() {
    let (folder, server) = (Folder::new(), postgres::database());
    let charged = folder.answer(&["lab", "double-charge", "--database", &server]);
    let measured = charged["measured"].as_array().unwrap();
    let on: Vec<&Value> = measured.iter().map(|one| &one["database"]).collect();
    assert_eq!(on, ["sqlite", "postgres"], "{charged:#}");
    for one in measured {
        assert_eq!(one["check_then_act"]["charges"], 2, "{one:#}");
        assert_eq!(one["claim_first"]["charges"], 1, "{one:#}");
        assert_eq!(one["claim_first"]["later_retry_marked"], "replayed");
    }

    let consumed = folder.answer(&["lab", "consumer", "--database", &server]);
    for one in consumed["measured"].as_array().unwrap() {
        assert_eq!(one["naive"]["points"], 30, "{one:#}");
        assert_eq!(one["idempotent"]["points"], 15, "{one:#}");
    }

    let all = folder.answer(&["lab", "all", "--database", &server]);
    assert_eq!(all["ok"], true, "{all:#}");
    let figures = all["figures"].as_array().unwrap();
    let of = |experiment: &str, database: Option<&str>| {
        let database = database.map_or(Value::Null, Value::from);
        let is =
            |figure: &&Value| figure["experiment"] == experiment && figure["database"] == database;
        figures.iter().filter(is).count()
    };
    assert_eq!(of("amplification", None), 2);
    assert_eq!(of("jitter", None), 4);
    assert_eq!(of("breaker", None), 8);
    for database in ["sqlite", "postgres"] {
        assert_eq!(of("double_charge", Some(database)), 7);
        assert_eq!(of("consumer", Some(database)), 3);
    }
    assert!(figures.iter().all(|figure| figure["holds"] == true));
    assert_eq!(databases_of_the_lab(&server), "");
}

#[test]
fn without_a_server_the_experiments_say_what_was_not_measured() {
    let folder = Folder::new();
    let run = folder.run(&["lab", "double-charge", "--database", "sqlite:mine.db"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("not measured on PostgreSQL"),
        "{}",
        run.stdout
    );
    assert!(!folder.path().join("mine.db").exists());

    let nowhere = "postgres://ada:secret@127.0.0.1:1/x";
    let refused = folder.run(&["lab", "double-charge", "--database", nowhere]);
    assert_eq!(refused.code, Some(1));
    let told = &refused.stderr;
    assert!(told.contains("make a database on the server"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

/// Those that the lab made and that are there at present.
fn databases_of_the_lab(server: &str) -> String {
    let psql = std::env::var_os("SUREFOOT_TEST_PG_BIN")
        .map(|folder| std::path::Path::new(&folder).join("psql"))
        .filter(|path| path.exists())
        .unwrap_or_else(|| "psql".into());
    let asked = "select datname from pg_database where datname like 'surefoot_lab_%'";
    let answered = std::process::Command::new(psql)
        .args([
            "--no-psqlrc",
            "--tuples-only",
            "--no-align",
            "--command",
            asked,
            server,
        ])
        .output()
        .unwrap();
    assert!(answered.status.success(), "{answered:?}");
    String::from_utf8(answered.stdout).unwrap()
}

fn check(answer: &Value, nodes: u64) {
    let report = &answer["report"];
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert_eq!(report["seed"].to_string(), SEED);
    assert_eq!(
        (report["kills"].as_u64(), report["nodes"].as_u64()),
        (Some(8), Some(nodes))
    );
    assert_ne!(report["attempts_lost"], 0, "{answer:#}");
    assert_ne!(report["unanswered"], 0, "{answer:#}");
    for recovery in report["recoveries"].as_array().unwrap() {
        assert_ne!(recovery["intents"], 0, "{answer:#}");
        for column in COLUMNS {
            assert_eq!(recovery[column], 0, "{column}: {answer:#}");
        }
    }
    let verify = &report["recoveries"][0];
    assert_eq!(verify["recovery"], "verify");
    assert_eq!(verify["done"], verify["intents"], "{answer:#}");
}
