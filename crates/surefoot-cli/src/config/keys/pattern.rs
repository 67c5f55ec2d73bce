//! The forms of texts, as regular expressions that JavaScript and Rust read alike. Where `${NAME}` is filled from the
//! environment, a text that holds one fits.

use surefoot_core::id::{Kind, Tenant};

use super::shape::Shape;

/// What fits beside the form itself where the environment may fill a value.
const FILLED: &str = r"\$\{";

/// An IP address and a port.
const ADDRESS: &str = r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]+(%[0-9]+)?\]):[0-9]{1,5}$";

/// The characters of a path that may have a query: printable ASCII but `#` and `\`.
pub(super) const PATH_CHARACTERS: &str = r#"[!"$-\[\]-~]"#;

/// A text in which `${NAME}` is filled.
pub(super) fn filled(pattern: &str) -> Shape {
    Shape::text(format!("{pattern}|{FILLED}"))
}

/// Any text.
pub(super) fn any() -> Shape {
    Shape::text("")
}

/// An IP address and a port.
pub(super) fn address() -> Shape {
    Shape::text(ADDRESS)
}

/// Words of an author: one line that says something, in at most so many characters.
pub(super) fn words(chars_max: usize) -> Shape {
    let between = chars_max.saturating_sub(2);
    Shape::text(format!(r"^\s*\S(.{{0,{between}}}\S)?\s*$"))
}

/// Names of kinds, queues and dependencies.
pub(super) fn name() -> String {
    format!("^[A-Za-z0-9_.:/-]{{1,{}}}$", Kind::BYTES_MAX)
}

/// Names of tenants.
pub(super) fn tenant() -> String {
    format!("^.{{1,{}}}$", Tenant::BYTES_MAX)
}

/// Names of tokens.
pub(super) fn token_name() -> &'static str {
    "^[A-Za-z0-9_.-]{1,40}$"
}

/// Names of headers.
pub(super) fn header_name() -> &'static str {
    "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
}
