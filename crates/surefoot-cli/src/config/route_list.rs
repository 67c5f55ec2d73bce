//! `[[proxy.route]]`: which requests a route is for, in the order in which they are looked at.

use http::Method;
use surefoot_core::request::Operation;
use surefoot_http::ROUTES_MAX;

use super::environment::Environment;
use super::route::{self, RouteKeys};
use super::section::{Field, Section};

/// `[[proxy.route]]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RouteEntry {
    /// The method; `None` for all.
    pub(crate) method: Option<Method>,
    /// The path, with `{name}` for any segment.
    pub(crate) path: String,
    /// How it is guarded.
    pub(crate) keys: RouteKeys,
}

/// A route as it was read, with its section.
pub(super) type ReadRoute<'t> = (Section<'t>, RouteEntry);

/// Reads the list; `None` when something of it is wrong.
pub(super) fn read<'t>(
    section: &Section<'t>,
    environment: Environment<'_>,
) -> Option<Vec<ReadRoute<'t>>> {
    let tables = section.tables("route")?;
    if let Some(beyond) = tables.get(ROUTES_MAX) {
        let what = format!("there are more than {ROUTES_MAX} [[proxy.route]] sections");
        section.faults.note(
            beyond.header.clone(),
            what,
            "use patterns, such as /payments/{id}",
        );
        return None;
    }
    let mut routes: Vec<ReadRoute<'t>> = Vec::new();
    let mut sound = true;
    for table in tables {
        match route_entry(&table, environment) {
            Some(entry) if routes.iter().any(|(_, known)| hides(known, &entry)) => {
                sound = false;
                let what = format!(
                    "the route {} is never used, for one before it takes its requests",
                    entry.path
                );
                section
                    .faults
                    .note(table.header.clone(), what, "remove it, or move it up");
            }
            Some(entry) => routes.push((table, entry)),
            None => sound = false,
        }
    }
    sound.then_some(routes)
}

/// Whether an entry takes every request of a later one.
fn hides(earlier: &RouteEntry, later: &RouteEntry) -> bool {
    earlier.path == later.path && (earlier.method.is_none() || earlier.method == later.method)
}

fn route_entry(section: &Section<'_>, environment: Environment<'_>) -> Option<RouteEntry> {
    let method = section.text("method").check(section.faults, |text| {
        Method::from_bytes(text.as_bytes())
            .ok()
            .filter(|_| !text.bytes().any(|byte| byte.is_ascii_lowercase()))
            .ok_or_else(|| format!("{text:?} is no method; write it in capitals, such as POST"))
    });
    let path = section.text("path").check(section.faults, path);
    if path == Field::Absent {
        section.missing("path", "add a path, such as path = \"/payments/{id}\"");
    }
    let keys = route::read(section, environment);
    section.finish();
    Some(RouteEntry {
        method: method.optional()?,
        path: path.optional()??,
        keys: keys?,
    })
}

/// A path whose segments are names, `{name}`, or `{*name}` at the end.
fn path(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix('/').ok_or_else(|| {
        format!("path {text:?} does not begin with /; write for example /payments/{{id}}")
    })?;
    Operation::new("POST", text).map_err(|error| error.to_string())?;
    let segments: Vec<&str> = rest.split('/').collect();
    for (place, segment) in segments.iter().enumerate() {
        let is_last = place + 1 == segments.len();
        let name = segment
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        let sound = match name {
            Some(name) if name.starts_with('*') => is_last && name.len() > 1,
            Some(name) => !name.is_empty() && !name.contains(['{', '}', '*']),
            None => !segment.contains(['{', '}']),
        };
        if !sound {
            return Err(format!(
                "path has the segment {segment:?}; write a name, {{name}} for any one, or {{*name}} at the end for all that follow"
            ));
        }
    }
    Ok(text.to_owned())
}
