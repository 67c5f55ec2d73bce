//! The one line of the file that a fault is shown with. It never shows a line beside it, nor a value that may be a
//! secret: only values of fields that are known to hold none stand there as they are.

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use super::fault::Span;

/// How much of a line is shown, in characters. A renderer that is given a column beyond 65535 panics.
const EXCERPT_CHARS_MAX: usize = 120;
/// How much of that stands before the fault.
const BEFORE_CHARS_MAX: usize = 40;
/// What stands for what is not shown.
const HIDDEN: &str = "…";
/// Fields whose values are never secrets. What is not here is not shown.
const SHOWN_FIELDS: [&str; 24] = [
    "attempt_timeout",
    "attempts_max",
    "backoff",
    "base",
    "cap",
    "concurrency",
    "concurrency_per_key",
    "connect_timeout",
    "crashes_max",
    "deadline",
    "dependency",
    "drain_grace",
    "factor",
    "hosts",
    "jitter",
    "lease",
    "listen",
    "log_format",
    "method",
    "poll",
    "queues",
    "recovery",
    "retention",
    "timeout",
];

/// One line as it may be shown, with the place of the fault in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    name: String,
    text: String,
    /// The faulty part of `text`, in bytes.
    pub(super) label: Span,
    /// Counted from 1.
    pub(super) line: usize,
    /// Counted from 1, in characters.
    pub(super) column: usize,
}

impl Excerpt {
    /// The line of `text`, the file `name`, in which `span` begins.
    pub(super) fn new(name: &str, text: &str, span: &Span) -> Self {
        let start = text.floor_char_boundary(span.start);
        let end = text.floor_char_boundary(span.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or_default();
        let at = (start - line_start).min(line.len())..(end - line_start).min(line.len());
        let (shown, at) = masked(&text[..line_start], line, at);
        let (shown, label) = shortened(&shown, at);
        Self {
            name: name.to_owned(),
            text: shown,
            label,
            line: text[..line_start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
        }
    }
}

/// The line without what may be a secret. A fault within what is hidden stands at the place of the hidden part.
fn masked(before: &str, line: &str, at: Span) -> (String, Span) {
    let shown = &line[..shown_bytes(before, line)];
    if shown.len() == line.len() {
        return (line.to_owned(), at);
    }
    let text = format!("{shown}{HIDDEN}");
    let label = if at.start < shown.len() {
        at.start..at.end.min(shown.len())
    } else {
        shown.len()..text.len()
    };
    (text, label)
}

/// How much of the beginning of the line may be shown. When in doubt, nothing.
fn shown_bytes(before: &str, line: &str) -> usize {
    let within_text = |quotes: &str| before.matches(quotes).count() % 2 == 1;
    if within_text("\"\"\"") || within_text("'''") {
        return 0;
    }
    // A comment may hold anything.
    let code = line.split_once('#').map_or(line, |(code, _)| code);
    if is_header(code) {
        return code.len();
    }
    let Some((key, value)) = code.split_once('=') else {
        return 0;
    };
    let holds_secrets = before
        .lines()
        .rfind(|line| is_header(line))
        .is_some_and(|header| header.contains("tokens") || header.contains("headers"));
    // With a second `=`, a field without its own line may follow.
    if SHOWN_FIELDS.contains(&key.trim()) && !holds_secrets && !value.contains('=') {
        return code.len();
    }
    code.len() - value.trim_start().len()
}

/// `[server]` or `[job."mail.send"]`, and nothing that could be a list of values.
fn is_header(line: &str) -> bool {
    let code = line.split_once('#').map_or(line, |(code, _)| code).trim();
    let name = code
        .strip_prefix('[')
        .map(|name| name.trim_start_matches('[').trim_start());
    name.is_some_and(|name| {
        name.ends_with(']') && name.starts_with(char::is_alphabetic) && !name.contains(',')
    })
}

/// What stands around the fault, of a line that is too long to be shown whole.
fn shortened(line: &str, at: Span) -> (String, Span) {
    if line.chars().count() <= EXCERPT_CHARS_MAX {
        return (line.to_owned(), at);
    }
    let from = line[..at.start]
        .char_indices()
        .rev()
        .take(BEFORE_CHARS_MAX)
        .last()
        .map_or(at.start, |(index, _)| index);
    let to = line[from..]
        .char_indices()
        .nth(EXCERPT_CHARS_MAX)
        .map_or(line.len(), |(index, _)| from + index);
    let head = if from > 0 { HIDDEN } else { "" };
    let tail = if to < line.len() { HIDDEN } else { "" };
    let place = |byte: usize| head.len() + byte.clamp(from, to) - from;
    let label = place(at.start)..place(at.end);
    (format!("{head}{}{tail}", &line[from..to]), label)
}

impl SourceCode for Excerpt {
    /// With context it is the whole line; without, which is how the place is asked for, the label alone.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (range, column) = if before == 0 {
            (span.offset()..span.offset() + span.len(), self.column - 1)
        } else {
            (0..self.text.len(), 0)
        };
        let data = self
            .text
            .as_bytes()
            .get(range.clone())
            .ok_or(MietteError::OutOfBounds)?;
        let span = SourceSpan::from(range);
        let contents =
            MietteSpanContents::new_named(self.name.clone(), data, span, self.line - 1, column, 1);
        Ok(Box::new(contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_may_be_a_secret_is_not_shown() {
        let table = [
            ("[server]", "listen = \"x\"", "listen = \"x\""),
            ("[server]", "listen = \"x\" # s3cret", "listen = \"x\" …"),
            ("[server]", "lisen = \"s3cret\"", "lisen = …"),
            ("[server]", "listen = \"x\" a = \"s3cret\"", "listen = …"),
            ("[server]", "tokens = { ops = \"s3cret\" }", "tokens = …"),
            ("[server.tokens]", "timeout = \"s3cret\"", "timeout = …"),
            ("[server.tokens]", "ops = s3cret", "ops = …"),
            ("[dependency.a.headers]", "listen=\"s3cret\"", "listen=…"),
            ("[database]", "url = 's3cret", "url = …"),
            ("[database]", "s3cret", "…"),
            ("a = \"\"\"", "listen = s3cret", "…"),
            ("", "[job.\"mail.send\"] # s3cret", "[job.\"mail.send\"] …"),
            ("a = [", "[\"s3cret\"]", "…"),
        ];
        for (before, line, expected) in table {
            let text = format!("{before}\n{line}\nnext = \"s3cret\"");
            for at in 0..=line.len() {
                let start = before.len() + 1 + at;
                let excerpt = Excerpt::new("f", &text, &(start..start + 3));
                assert_eq!(excerpt.text, expected, "{line} at {at}");
                assert!(excerpt.text.get(excerpt.label.clone()).is_some());
                assert_eq!((excerpt.line, excerpt.column), (2, at + 1));
            }
        }
    }

    #[test]
    fn a_long_line_is_shown_around_the_fault() {
        let line = format!("timeout = \"{}\" ế", "x".repeat(70_000));
        let at = line.len() - "ế".len();
        let excerpt = Excerpt::new("f", &line, &(at..line.len()));
        assert_eq!(&excerpt.text[excerpt.label.clone()], "ế");
        assert_eq!(excerpt.text, format!("…{}\" ế", "x".repeat(38)));
        assert_eq!((excerpt.line, excerpt.column), (1, 70_014));
        let excerpt = Excerpt::new("f", &line, &(0..line.len()));
        assert_eq!(excerpt.text.chars().count(), EXCERPT_CHARS_MAX + 1);
        assert_eq!(excerpt.label, 0..EXCERPT_CHARS_MAX);
    }
}
