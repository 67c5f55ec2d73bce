//! The arrows between crates: who may depend on whom. The table is the one of ARCHITECTURE.md; a new arrow changes both.
//! What may be used from outside by which crate stands in deny.toml as `wrappers`, and is read from there.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::report::{Fault, Report};
use crate::workspace;

/// What one crate may use of the workspace.
struct House {
    name: &'static str,
    uses: &'static [&'static str],
    /// What its tests may use besides.
    tests_use: &'static [&'static str],
}

const TESTKIT: &str = "surefoot-testkit";

const HOUSES: &[House] = &[
    House {
        name: "surefoot-core",
        uses: &[],
        tests_use: &[TESTKIT],
    },
    House {
        name: "surefoot-policy",
        uses: &["surefoot-core"],
        tests_use: &[TESTKIT],
    },
    House {
        name: "surefoot-store",
        uses: &["surefoot-core"],
        tests_use: &[TESTKIT],
    },
    House {
        name: "surefoot",
        uses: &["surefoot-core"],
        tests_use: &[TESTKIT, "surefoot-store"],
    },
    House {
        name: "surefoot-http",
        uses: &["surefoot-core", "surefoot", "surefoot-policy"],
        tests_use: &[TESTKIT, "surefoot-store"],
    },
    House {
        name: "surefoot-server",
        uses: &["surefoot-core", "surefoot", "surefoot-http"],
        tests_use: &[TESTKIT, "surefoot-store"],
    },
    House {
        name: "surefoot-cli",
        uses: &[
            "surefoot-core",
            "surefoot-policy",
            "surefoot-store",
            "surefoot",
            "surefoot-http",
            "surefoot-server",
            "surefoot-lab",
            "surefoot-demo",
        ],
        tests_use: &[TESTKIT],
    },
    House {
        name: TESTKIT,
        uses: &["surefoot-core"],
        tests_use: &[],
    },
    House {
        name: "surefoot-sim",
        uses: &[
            "surefoot-core",
            "surefoot-policy",
            "surefoot-store",
            "surefoot",
            "surefoot-http",
            TESTKIT,
        ],
        tests_use: &[],
    },
    House {
        name: "surefoot-bench",
        uses: &[
            "surefoot-core",
            "surefoot",
            "surefoot-http",
            "surefoot-store",
        ],
        tests_use: &[TESTKIT],
    },
    House {
        name: "surefoot-lab",
        uses: &[],
        tests_use: &[],
    },
    House {
        name: "surefoot-demo",
        uses: &[
            "surefoot-policy",
            "surefoot-store",
            "surefoot",
            "surefoot-http",
        ],
        tests_use: &[],
    },
    House {
        name: "xtask",
        uses: &[],
        tests_use: &[],
    },
    // Examples stand outside: they use what a reader would, and nobody uses them.
    House {
        name: "refund",
        uses: &["surefoot", "surefoot-policy", "surefoot-store", TESTKIT],
        tests_use: &[],
    },
    House {
        name: "guide",
        uses: &[
            "surefoot",
            "surefoot-http",
            "surefoot-policy",
            "surefoot-store",
        ],
        tests_use: &[],
    },
    House {
        name: "mail",
        uses: &[
            "surefoot",
            "surefoot-policy",
            "surefoot-server",
            "surefoot-store",
        ],
        tests_use: &[TESTKIT],
    },
    House {
        name: "wallet",
        uses: &["surefoot", "surefoot-store"],
        tests_use: &[TESTKIT],
    },
    House {
        name: "ai-judge",
        uses: &[
            "surefoot",
            "surefoot-policy",
            "surefoot-server",
            "surefoot-store",
        ],
        tests_use: &[TESTKIT],
    },
    House {
        name: "shop",
        uses: &[
            "surefoot",
            "surefoot-http",
            "surefoot-policy",
            "surefoot-server",
            "surefoot-store",
        ],
        tests_use: &[TESTKIT],
    },
];

/// What would make the core impure. Its tests may use them.
const CORE_REFUSES: &[&str] = &["tokio", "sqlx", "axum", "rusqlite", "reqwest"];

/// One dependency as a manifest declares it.
struct Arrow {
    from: String,
    to: String,
    only_in_tests: bool,
}

/// Which crates may depend directly on a crate from outside; a crate that is not listed is free.
type Wrappers = BTreeMap<String, Vec<String>>;

pub(crate) fn run(root: &Path) -> Result<Report, Fault> {
    let metadata = workspace::metadata(root, &["--no-deps"])?;
    let wrappers = wrappers(&workspace::text(&root.join("deny.toml"))?)?;
    let (members, arrows) = declared(&metadata);
    let faults = faults(&members, &arrows, &wrappers);
    Ok(Report {
        checked: arrows.len(),
        unit: "dependencies",
        faults,
    })
}

fn faults(members: &[String], arrows: &[Arrow], wrappers: &Wrappers) -> Vec<Fault> {
    let homeless = members.iter().filter(|name| house(name).is_none()).map(|name| {
        Fault::new(
            name,
            "is not in the table of crates",
            "add its row in ARCHITECTURE.md and in xtask/src/arrows.rs, with the reason in the commit",
        )
    });
    let refused = arrows.iter().filter_map(|arrow| {
        if members.contains(&arrow.to) {
            inside(arrow)
        } else {
            outside(arrow, wrappers)
        }
    });
    homeless.chain(refused).collect()
}

fn inside(arrow: &Arrow) -> Option<Fault> {
    let house = house(&arrow.from)?;
    let to = arrow.to.as_str();
    if house.uses.contains(&to) || (arrow.only_in_tests && house.tests_use.contains(&to)) {
        return None;
    }
    let kind = if arrow.only_in_tests {
        "dev-dependency"
    } else {
        "dependency"
    };
    let remedy = format!(
        "move the code to a crate that may use {to}, or pass the need through a port of surefoot-core"
    );
    Some(Fault::new(
        manifest(&arrow.from),
        format!("{kind} on {to} is not an allowed arrow"),
        remedy,
    ))
}

fn outside(arrow: &Arrow, wrappers: &Wrappers) -> Option<Fault> {
    let Arrow {
        from,
        to,
        only_in_tests,
    } = arrow;
    if from == "surefoot-core" && !only_in_tests && CORE_REFUSES.contains(&to.as_str()) {
        let remedy = format!(
            "surefoot-core is pure: declare a port there and use {to} in the crate that implements it"
        );
        return Some(Fault::new(
            manifest(from),
            format!("depends on {to}"),
            remedy,
        ));
    }
    let allowed = wrappers.get(to)?;
    if allowed.contains(from) {
        return None;
    }
    let remedy = match allowed.as_slice() {
        [] => format!("nothing may use {to}; deny.toml says why"),
        crates => format!(
            "only {} may use {to} (deny.toml, [bans]); move the code there",
            crates.join(", ")
        ),
    };
    Some(Fault::new(
        manifest(from),
        format!("depends on {to}"),
        remedy,
    ))
}

fn house(name: &str) -> Option<&'static House> {
    HOUSES.iter().find(|house| house.name == name)
}

fn manifest(name: &str) -> String {
    if name == "xtask" {
        "xtask/Cargo.toml".to_owned()
    } else {
        format!("crates/{name}/Cargo.toml")
    }
}

fn declared(metadata: &Value) -> (Vec<String>, Vec<Arrow>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let arrows = packages.iter().flat_map(|package| {
        list(&package["dependencies"])
            .into_iter()
            .map(|dependency| Arrow {
                from: name(package),
                to: name(&dependency),
                only_in_tests: dependency["kind"] == "dev",
            })
    });
    (packages.iter().map(name).collect(), arrows.collect())
}

fn wrappers(deny: &str) -> Result<Wrappers, Fault> {
    let broken = |what: &str| {
        Fault::new(
            "deny.toml",
            what,
            "see how [bans] deny lists crate and wrappers",
        )
    };
    let table: toml::Table = deny
        .parse()
        .map_err(|error| broken(&format!("is not TOML: {error}")))?;
    let bans = table
        .get("bans")
        .and_then(|bans| bans.get("deny"))
        .and_then(toml::Value::as_array);
    let mut found = Wrappers::new();
    for ban in bans.ok_or_else(|| broken("has no [bans] deny list"))? {
        let name = ban
            .get("crate")
            .and_then(toml::Value::as_str)
            .ok_or_else(|| broken("a ban names no crate"))?;
        let list = ban.get("wrappers").and_then(toml::Value::as_array);
        let names = list
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
            .map(str::to_owned);
        found.insert(name.to_owned(), names.collect());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DENY: &str = r#"
        [bans]
        deny = [{ crate = "sqlx", wrappers = ["surefoot-store"] }, { crate = "native-tls" }]
    "#;

    /// The places and faults of one crate with one dependency.
    fn check(from: &str, to: &str, kind: Option<&str>) -> Vec<String> {
        let mut packages =
            vec![json!({ "name": from, "dependencies": [{ "name": to, "kind": kind }] })];
        packages.extend(
            HOUSES
                .iter()
                .filter(|house| house.name != from)
                .map(|house| json!({ "name": house.name })),
        );
        let (members, arrows) = declared(&json!({ "packages": packages }));
        let faults = faults(&members, &arrows, &wrappers(DENY).unwrap());
        faults
            .into_iter()
            .map(|fault| format!("{}: {}", fault.place, fault.what))
            .collect()
    }

    #[test]
    fn allowed_arrows_pass() {
        for (from, to, kind) in [
            ("surefoot-store", "surefoot-core", None),
            ("surefoot-store", "sqlx", None),
            ("surefoot-core", "serde", None),
            ("surefoot-core", "tokio", Some("dev")),
            ("surefoot", "surefoot-store", Some("dev")),
            ("surefoot-cli", "surefoot-testkit", Some("dev")),
            ("surefoot-sim", "surefoot-testkit", None),
        ] {
            assert_eq!(
                check(from, to, kind),
                Vec::<String>::new(),
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn forbidden_arrows_are_named() {
        for (from, to, kind, expected) in [
            (
                "surefoot-core",
                "surefoot-store",
                None,
                "dependency on surefoot-store is not an allowed arrow",
            ),
            (
                "surefoot",
                "surefoot-store",
                None,
                "dependency on surefoot-store is not an allowed arrow",
            ),
            (
                "surefoot",
                "surefoot-store",
                Some("build"),
                "dependency on surefoot-store is not an allowed arrow",
            ),
            (
                "surefoot-cli",
                "surefoot-testkit",
                None,
                "dependency on surefoot-testkit is not an allowed arrow",
            ),
            (
                "surefoot-core",
                "surefoot",
                Some("dev"),
                "dev-dependency on surefoot is not an allowed arrow",
            ),
            ("surefoot-core", "tokio", None, "depends on tokio"),
            ("surefoot-server", "sqlx", None, "depends on sqlx"),
            ("surefoot-server", "sqlx", Some("dev"), "depends on sqlx"),
            (
                "surefoot-server",
                "native-tls",
                None,
                "depends on native-tls",
            ),
        ] {
            assert_eq!(
                check(from, to, kind),
                [format!("crates/{from}/Cargo.toml: {expected}")],
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn a_crate_outside_the_table_is_named() {
        assert_eq!(
            check("surefoot-extra", "serde", None),
            ["surefoot-extra: is not in the table of crates"]
        );
    }

    #[test]
    fn a_deny_file_without_bans_is_refused() {
        assert_eq!(
            wrappers("[licenses]").unwrap_err().what,
            "has no [bans] deny list"
        );
    }
}
