//! The licence and the source of every dependency against deny.toml: what `cargo deny check licenses sources` says,
//! without the minutes it takes to build cargo-deny.

use std::path::Path;

use serde_json::Value;

use crate::report::{Fault, Report};
use crate::{spdx, workspace};

/// What deny.toml accepts.
struct Accepted {
    licences: Vec<String>,
    registries: Vec<String>,
}

pub(crate) fn run(root: &Path) -> Result<Report, Fault> {
    let accepted = accepted(&workspace::text(&root.join("deny.toml"))?)?;
    let metadata = workspace::metadata(root, &["--all-features"])?;
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let faults = packages
        .iter()
        .flat_map(|package| faults(package, &accepted))
        .collect();
    Ok(Report {
        checked: packages.len(),
        unit: "packages",
        faults,
    })
}

fn faults(package: &Value, accepted: &Accepted) -> Vec<Fault> {
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    let place = format!("{} {}", text("name"), text("version"));
    let licence = licence_fault(&place, text("license"), &accepted.licences);
    let source = source_fault(&place, text("source"), &accepted.registries);
    licence.into_iter().chain(source).collect()
}

fn licence_fault(place: &str, expression: &str, allowed: &[String]) -> Option<Fault> {
    let what = match spdx::is_allowed(expression, allowed) {
        Ok(true) => return None,
        Ok(false) => format!("licence `{expression}` is not allowed"),
        Err(error) => format!("licence `{expression}` cannot be read: {error}"),
    };
    let remedy = "choose another crate, or allow the licence in deny.toml after reading it, with the reason in the commit";
    Some(Fault::new(place, what, remedy))
}

/// Workspace members have no source.
fn source_fault(place: &str, source: &str, registries: &[String]) -> Option<Fault> {
    let known = registries
        .iter()
        .any(|registry| source.strip_prefix("registry+") == Some(registry));
    let remedy = "take the crate from crates.io";
    (!source.is_empty() && !known)
        .then(|| Fault::new(place, format!("comes from `{source}`"), remedy))
}

fn accepted(deny: &str) -> Result<Accepted, Fault> {
    let broken = |what: String| {
        Fault::new(
            "deny.toml",
            what,
            "see the sections [licenses] and [sources]",
        )
    };
    let table: toml::Table = deny
        .parse()
        .map_err(|error| broken(format!("is not TOML: {error}")))?;
    let list = |section: &str, field: &str| {
        let values = table
            .get(section)
            .and_then(|section| section.get(field))
            .and_then(toml::Value::as_array);
        let values = values.ok_or_else(|| broken(format!("has no [{section}] {field}")))?;
        Ok(values
            .iter()
            .filter_map(toml::Value::as_str)
            .map(str::to_owned)
            .collect())
    };
    Ok(Accepted {
        licences: list("licenses", "allow")?,
        registries: list("sources", "allow-registry")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DENY: &str = r#"
        [licenses]
        allow = ["MIT"]
        [sources]
        allow-registry = ["https://example.org/index"]
    "#;

    fn check(package: Value) -> Vec<String> {
        let found = faults(&package, &accepted(DENY).unwrap());
        found
            .into_iter()
            .map(|fault| format!("{}: {}", fault.place, fault.what))
            .collect()
    }

    #[test]
    fn an_allowed_package_passes() {
        let registry = "registry+https://example.org/index";
        assert_eq!(
            check(json!({ "name": "a", "version": "1.0.0", "license": "MIT", "source": registry })),
            [""; 0]
        );
        assert_eq!(
            check(json!({ "name": "own", "version": "1.0.0", "license": "MIT", "source": null })),
            [""; 0]
        );
    }

    #[test]
    fn a_refused_licence_and_source_are_named() {
        let git = "git+https://example.org/a.git";
        assert_eq!(
            check(json!({ "name": "a", "version": "1.0.0", "license": "GPL-3.0", "source": git })),
            [
                "a 1.0.0: licence `GPL-3.0` is not allowed",
                "a 1.0.0: comes from `git+https://example.org/a.git`"
            ]
        );
    }

    #[test]
    fn a_package_without_licence_is_named() {
        let told = check(json!({ "name": "a", "version": "1.0.0", "license": null }));
        assert_eq!(
            told,
            ["a 1.0.0: licence `` cannot be read: it ends too early"]
        );
    }

    #[test]
    fn a_deny_file_without_the_lists_is_refused() {
        assert!(accepted("[licenses]\nallow = []").is_err());
    }
}
