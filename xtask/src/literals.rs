//! Finds the string literals of Rust source text, apart from comments. It must never look at what they say.

/// A string literal: the line it starts on, counted from 1, and its text as written, escapes included.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The string literals of `source` in order: plain, raw, byte and C strings.
pub(crate) fn literals(source: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut rest = source;
    while !rest.is_empty() {
        let token = token(rest, is_word_before(source, rest));
        if let Some(text) = token.text {
            let line = 1 + source[..source.len() - rest.len()].matches('\n').count();
            found.push(Literal {
                line,
                text: text.to_owned(),
            });
        }
        rest = &rest[token.length..];
    }
    found
}

/// The next piece of source: how long it is and, for a string literal, the text between its quotes.
struct Token<'a> {
    length: usize,
    text: Option<&'a str>,
}

fn token(rest: &str, word_before: bool) -> Token<'_> {
    if rest.starts_with("//") {
        return skip(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return skip(block_comment(rest));
    }
    if rest.starts_with('"') {
        return plain_string(rest);
    }
    if rest.starts_with('\'') {
        return skip(quote(rest));
    }
    if !word_before && let Some(token) = raw_string(rest) {
        return token;
    }
    skip(rest.chars().next().map_or(1, char::len_utf8))
}

fn skip<'a>(length: usize) -> Token<'a> {
    Token { length, text: None }
}

fn is_word_before(source: &str, rest: &str) -> bool {
    let before = source[..source.len() - rest.len()].chars().next_back();
    before.is_some_and(|last| last.is_alphanumeric() || last == '_')
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn plain_string(rest: &str) -> Token<'_> {
    let mut escaped = false;
    for (at, each) in rest.char_indices().skip(1) {
        match each {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                return Token {
                    length: at + 1,
                    text: Some(&rest[1..at]),
                };
            }
            _ => {}
        }
    }
    skip(rest.len())
}

/// `r"..."`, `r#"..."#`, `br"..."`, `cr"..."`.
fn raw_string(rest: &str) -> Option<Token<'_>> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix)
            .is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    })?;
    let open = prefix.len() + rest[prefix.len()..].find('"')? + 1;
    let close = format!("\"{}", "#".repeat(open - 1 - prefix.len()));
    let end = open + rest[open..].find(&close)?;
    Some(Token {
        length: end + close.len(),
        text: Some(&rest[open..end]),
    })
}

/// A character literal, or the quote of a lifetime.
fn quote(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, each))) => {
            let body = at + each.len_utf8();
            rest[body..]
                .find('\'')
                .map_or(rest.len(), |close| body + close + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        literals(source)
            .into_iter()
            .map(|literal| literal.text)
            .collect()
    }

    #[test]
    fn every_form_of_string_is_found() {
        for (source, expected) in [
            (r#"f("a", "b\"c")"#, vec!["a", r#"b\"c"#]),
            (r##"r#"a "quoted" b"# r"c""##, vec![r#"a "quoted" b"#, "c"]),
            (r#"b"a" br"b" c"c""#, vec!["a", "b", "c"]),
            ("r#type = \"a\"", vec!["a"]),
            ("\"ế\" \"b\"", vec!["ế", "b"]),
        ] {
            assert_eq!(texts(source), expected, "{source}");
        }
    }

    #[test]
    fn comments_characters_and_lifetimes_are_no_strings() {
        for source in [
            "// \"a\"",
            "/* \"a\" /* \"b\" */ \"c\" */",
            "let quote = '\"'; let escaped = '\\''; let other = '\"';",
            "fn f<'a>(x: &'a str) {} // \"",
        ] {
            assert_eq!(texts(source), Vec::<String>::new(), "{source}");
        }
    }

    #[test]
    fn the_line_is_where_the_string_starts() {
        assert_eq!(
            literals("\n\n \"a\nb\""),
            [Literal {
                line: 3,
                text: "a\nb".to_owned()
            }]
        );
    }
}
