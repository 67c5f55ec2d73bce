//! Fills `${NAME}` in a value from the environment, so that no secret has to stand in the file. It reads the
//! environment through a function that is handed in, and it never prints what it found.

/// Where a variable's value comes from.
pub(crate) type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Why a value could not be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotFilled {
    /// `${` without `}`.
    #[error("${{ has no closing brace; write ${{NAME}}, or $${{ for the two characters themselves")]
    Unclosed,
    /// A name that cannot be set. It is not repeated: it may be a piece of a secret.
    #[error(
        "what stands between ${{ and }} is no name of an environment variable; use letters, digits and _"
    )]
    BadName,
    /// Not in the environment.
    #[error("the environment variable {0} is not set; set it before the start")]
    Unset(String),
}

/// Replaces each `${NAME}` of `text`; `$${` stands for `${` itself.
///
/// # Errors
/// [`NotFilled`] for the first that cannot be replaced.
pub(crate) fn fill(text: &str, environment: Environment<'_>) -> Result<String, NotFilled> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            filled.push_str(before);
            filled.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        filled.push_str(&rest[..at]);
        let (name, after) = rest[at + 2..].split_once('}').ok_or(NotFilled::Unclosed)?;
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !is_name {
            return Err(NotFilled::BadName);
        }
        filled.push_str(&environment(name).ok_or_else(|| NotFilled::Unset(name.to_owned()))?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_and_what_is_not_there_is_named() {
        let environment = |name: &str| match name {
            "TOKEN" => Some("t-1".to_owned()),
            "TRICK" => Some("${TOKEN}".to_owned()),
            _ => None,
        };
        let unset = |name: &str| Err(NotFilled::Unset(name.to_owned()));
        let table = [
            ("plain", Ok("plain".to_owned())),
            ("Bearer ${TOKEN}!", Ok("Bearer t-1!".to_owned())),
            ("${TOKEN}${TOKEN}", Ok("t-1t-1".to_owned())),
            ("${TRICK}", Ok("${TOKEN}".to_owned())),
            ("$5 $TOKEN {x}", Ok("$5 $TOKEN {x}".to_owned())),
            ("$${TOKEN}", Ok("${TOKEN}".to_owned())),
            ("${NOTHING}", unset("NOTHING")),
            ("${TOKEN", Err(NotFilled::Unclosed)),
            ("${}", Err(NotFilled::BadName)),
            ("${A-B}", Err(NotFilled::BadName)),
        ];
        for (text, expected) in table {
            assert_eq!(fill(text, &environment), expected, "{text}");
        }
    }
}
