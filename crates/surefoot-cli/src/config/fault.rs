//! What is wrong with a configuration: each fault with its place, what is there and what to do about it. It only
//! collects and renders; it never decides that a fault may be left out.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use miette::{Diagnostic, LabeledSpan, SourceCode};

use super::excerpt::Excerpt;

/// The most faults of one file that are reported; the rest is counted.
const FAULTS_MAX: usize = 100;
/// The longest text of a fault, in characters.
const TEXT_CHARS_MAX: usize = 1000;

/// Where in the file, in bytes.
pub(crate) type Span = Range<usize>;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where.
    pub(crate) span: Span,
    /// The key that it is about, such as `job.send_mail.timeout`; empty where the file has none there.
    pub(crate) key: String,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

/// Collects faults while a file is read, so that one reading finds them all.
#[derive(Debug, Default)]
pub(crate) struct Faults(RefCell<Vec<Fault>>);

impl Faults {
    /// Takes note of one; of a text that quotes something endless, the beginning.
    pub(crate) fn note(&self, span: Span, what: impl Into<String>, remedy: impl Into<String>) {
        self.0.borrow_mut().push(Fault {
            span,
            key: String::new(),
            what: bounded(what.into()),
            remedy: bounded(remedy.into()),
        });
    }

    /// Takes note of a text of the form `what: remedy` or `what; remedy`, as core and the parsers word them.
    pub(crate) fn note_text(&self, span: Span, text: &str) {
        let (what, remedy) = text
            .split_once("; ")
            .or_else(|| text.rsplit_once(": "))
            .unwrap_or((text, ""));
        self.note(span, what, remedy);
    }

    /// All of them, in the order of the file, each with its key as `key_at` finds it. One that names it in neither
    /// sentence gets it before the first.
    pub(crate) fn into_sorted(self, key_at: impl Fn(&Span) -> Key) -> Vec<Fault> {
        let mut faults = self.0.into_inner();
        faults.sort_by_key(|fault| fault.span.start);
        for fault in &mut faults {
            let Key { path, name } = key_at(&fault.span);
            let named = fault.what.contains(&name) || fault.remedy.contains(&name);
            if !named {
                fault.what = bounded(format!("{path}: {}", fault.what));
            }
            fault.key = path;
        }
        faults
    }
}

/// A key of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    /// All of it, such as `job.send_mail.timeout`.
    pub(crate) path: String,
    /// The last part of it.
    pub(crate) name: String,
}

fn bounded(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(TEXT_CHARS_MAX) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// A file that does not load, with everything that is wrong with it.
#[derive(Debug)]
pub(crate) struct Unloadable {
    name: String,
    total: usize,
    pub(super) placed: Vec<Placed>,
}

/// A fault with its line and column, counted from 1 (columns in characters).
#[derive(Debug)]
pub(crate) struct Placed {
    /// The fault.
    pub(crate) fault: Fault,
    /// The line.
    pub(crate) line: usize,
    /// The column.
    pub(crate) column: usize,
    excerpt: Excerpt,
}

impl Unloadable {
    /// From the faults of the file `name` with this text.
    pub(crate) fn new(name: &str, text: &str, faults: Vec<Fault>) -> Self {
        let total = faults.len();
        let place = |fault: Fault| {
            let excerpt = Excerpt::new(name, text, &fault.span);
            Placed {
                fault,
                line: excerpt.line,
                column: excerpt.column,
                excerpt,
            }
        };
        let placed = faults.into_iter().take(FAULTS_MAX).map(place).collect();
        Self {
            name: name.to_owned(),
            total,
            placed,
        }
    }

    /// The faults that are reported.
    pub(crate) fn placed(&self) -> &[Placed] {
        &self.placed
    }

    /// All of them with what is wrong in the file, for people; lines break between words and never within a path.
    ///
    /// # Errors
    /// What cannot be drawn.
    pub(crate) fn drawn(&self, theme: miette::GraphicalTheme) -> Result<String, fmt::Error> {
        let mut text = String::new();
        miette::GraphicalReportHandler::new_themed(theme)
            .with_word_separator(textwrap::WordSeparator::AsciiSpace)
            .render_report(&mut text, self)?;
        Ok(text)
    }

    /// One line for each fault: `file:line:column: what; remedy`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |placed: &Placed| {
            let Placed {
                fault,
                line,
                column,
                ..
            } = placed;
            let remedy = if fault.remedy.is_empty() {
                String::new()
            } else {
                format!("; {}", fault.remedy)
            };
            format!("{}:{line}:{column}: {}{remedy}", self.name, fault.what)
        };
        self.placed.iter().map(line).collect()
    }
}

impl fmt::Display for Unloadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = if self.total == 1 { "fault" } else { "faults" };
        write!(f, "{} does not load: {} {faults}", self.name, self.total)?;
        if self.total > self.placed.len() {
            write!(f, ", the first {} of which follow", self.placed.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for Unloadable {}

impl Diagnostic for Unloadable {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.placed.iter().map(|placed| placed as &dyn Diagnostic),
        ))
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault.what)
    }
}

impl std::error::Error for Placed {}

impl Diagnostic for Placed {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let remedy = Some(&self.fault.remedy).filter(|remedy| !remedy.is_empty());
        remedy.map(|remedy| Box::new(remedy) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.excerpt)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Span { start, end } = self.excerpt.label;
        let label = LabeledSpan::new(None, start, end.saturating_sub(start));
        Some(Box::new(std::iter::once(label)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Unloadable {
        let text = "[server]\nlisten = \"ế\" # x\n";
        let faults = Faults::default();
        faults.note(9..15, "listen is not an address", "write 127.0.0.1:7070");
        faults.note(22..23, "second", "none");
        Unloadable::new(
            "surefoot.toml",
            text,
            faults.into_sorted(|_| Key::default()),
        )
    }

    fn report(unloadable: &Unloadable) -> String {
        unloadable
            .drawn(miette::GraphicalTheme::unicode_nocolor())
            .unwrap()
    }

    #[test]
    fn a_place_is_counted_in_lines_and_characters() {
        assert_eq!(
            sample().lines(),
            [
                "surefoot.toml:2:1: listen is not an address; write 127.0.0.1:7070",
                "surefoot.toml:2:12: second; none",
            ]
        );
    }

    #[test]
    fn a_line_does_not_break_within_a_path() {
        for before in 160..200 {
            let faults = Faults::default();
            let remedy = format!("{} \"/sent/{{key}}\", or another", "x".repeat(before));
            faults.note(0..1, "what", remedy);
            let text = report(&Unloadable::new(
                "f",
                "a",
                faults.into_sorted(|_| Key::default()),
            ));
            assert!(text.contains("\"/sent/{key}\","), "{text}");
        }
    }

    #[test]
    fn the_report_shows_the_line_with_a_caret() {
        let text = report(&sample());
        for part in [
            "surefoot.toml does not load: 2 faults",
            "surefoot.toml:2:1",
            "2 │ listen = \"ế\" …",
            "help: write 127.0.0.1:7070",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains("[server]"), "{text}");
    }

    #[test]
    fn a_fault_far_to_the_right_is_reported() {
        for key in ["a", "timeout"] {
            let line = format!("{key}=\"{}\" b", "x".repeat(70_000));
            let faults = Faults::default();
            faults.note(line.len() - 1..line.len(), "y".repeat(70_000), "");
            let unloadable = Unloadable::new("f", &line, faults.into_sorted(|_| Key::default()));
            let text = report(&unloadable);
            assert!(text.contains(&format!("f:1:{}", line.len())), "{text}");
            assert!(text.chars().count() < 3000, "{text}");
        }
    }

    #[test]
    fn a_thousand_faults_are_counted_and_not_all_shown() {
        let faults = Faults::default();
        for _ in 0..1000 {
            faults.note(0..1, "same", "same");
        }
        let unloadable = Unloadable::new("f", "x", faults.into_sorted(|_| Key::default()));
        assert_eq!(
            unloadable.to_string(),
            "f does not load: 1000 faults, the first 100 of which follow"
        );
        assert_eq!(unloadable.lines().len(), 100);
    }
}
