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
    takes(&earlier.path, &later.path)
        && (earlier.method.is_none() || earlier.method == later.method)
}

/// Whether a pattern fits every path that another one fits.
fn takes(pattern: &str, other: &str) -> bool {
    let is_rest = |segment: &str| segment.starts_with("{*");
    let is_any = |segment: &str| segment.starts_with('{') && !is_rest(segment);
    let mut others = other.split('/');
    for segment in pattern.split('/') {
        let Some(other) = others.next() else {
            return false;
        };
        if is_rest(segment) {
            return true;
        }
        // `{name}` is no empty segment, such as the one after a slash at the end.
        let fits = segment == other || is_any(segment) && !is_rest(other) && !other.is_empty();
        if !fits {
            return false;
        }
    }
    others.next().is_none()
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
        if name.is_none() && sound && !is_as_it_comes(segment, is_last) {
            return Err(format!(
                "path has the segment {segment:?}, which no request has as it is looked at; write it without a query, dots and \
                 empty segments, and percent-encode what is not ASCII and nothing else"
            ));
        }
        if !sound {
            return Err(format!(
                "path has the segment {segment:?}; write a name, {{name}} for any one, or {{*name}} at the end for all that follow"
            ));
        }
    }
    Ok(text.to_owned())
}

/// Whether a segment is spelt as the segments of requests are when a rule is looked for (RFC 3986, section 3.3): of what is not
/// plain each byte is escaped, and nothing else is.
fn is_as_it_comes(segment: &str, is_last: bool) -> bool {
    if matches!(segment, "." | "..") || (segment.is_empty() && !is_last) {
        return false;
    }
    let mut rest = segment;
    while let Some(first) = rest.bytes().next() {
        let plain = first.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&first);
        let escaped = || {
            let hex = rest.get(1..3).filter(|_| first == b'%')?;
            let byte = u8::from_str_radix(hex, 16)
                .ok()
                .filter(|_| !hex.starts_with('+'))?;
            let needs_none = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            (!needs_none).then_some(3)
        };
        let Some(taken) = plain.then_some(1).or_else(escaped) else {
            return false;
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule with a path that no request has would be no rule, and nobody would be told.
    #[test]
    fn a_path_that_no_request_has_is_refused() {
        for sound in [
            "/",
            "/a",
            "/a/",
            "/a/{id}/b",
            "/{*rest}",
            "/a%2Fb/thanh-to%C3%A1n",
            "/a.b;v=1/x@y",
        ] {
            assert_eq!(path(sound), Ok(sound.to_owned()));
        }
        for refused in [
            "/a?x=1",
            "/a#b",
            "/%70ay",
            "/a/../b",
            "/./a",
            "//a",
            "/a//b",
            "/thanh-to\u{e1}n",
            "/a b",
            "/a%",
            "/a%zz",
            "/a%+1",
        ] {
            assert!(path(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_pattern_takes_all_that_a_later_one_would() {
        for (pattern, other, expected) in [
            ("/a", "/a", true),
            ("/a", "/b", false),
            ("/{id}", "/a", true),
            ("/{id}", "/{name}", true),
            ("/a/{id}", "/a/", false),
            ("/a/{id}", "/a/{*rest}", false),
            ("/{*rest}", "/a/b", true),
            ("/{*rest}", "/a/{*rest}", true),
            ("/a/{*rest}", "/a", false),
            ("/a", "/{id}", false),
            ("/a/b", "/a", false),
            ("/a", "/a/b", false),
        ] {
            assert_eq!(takes(pattern, other), expected, "{pattern} {other}");
        }
    }
}
