//! Tables of text, and text of others made harmless: nothing that a provider or caller wrote can steer a terminal.

use comfy_table::presets::NOTHING;

/// How much of a text a cell shows.
const CELL_CHARS_MAX: usize = 60;

/// A table with a head.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// With these heads.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_style(NOTHING)
            .set_header(heads.map(str::to_uppercase));
        Self(table)
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.add_row(cells.map(|cell| one_line(&cell)));
    }

    /// The text.
    pub(crate) fn text(&self) -> String {
        let lines = self.0.to_string();
        lines
            .lines()
            .map(|line| line.trim())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The beginning of a text on one line.
pub(crate) fn one_line(text: &str) -> String {
    let text = plain(text).replace(['\n', '\t'], " ");
    if text.chars().count() <= CELL_CHARS_MAX {
        return text;
    }
    let cut: String = text.chars().take(CELL_CHARS_MAX - 1).collect();
    format!("{}…", cut.trim_end())
}

/// A text without control characters but line feed and tab.
pub(crate) fn plain(text: &str) -> String {
    let harmless = |c: char| {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_to_its_lines() {
        let mut table = Table::new(["id", "error"]);
        table.row(["1".to_owned(), "two\nlines".to_owned()]);
        table.row(["22".to_owned(), "x".repeat(100)]);
        let text = table.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["1", "two", "lines"]
        );
        assert!(lines[2].ends_with("xxx…"), "{text}");
    }

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(
            plain("a\u{1b}[31m\u{9b}b\r\n"),
            "a\u{fffd}[31m\u{fffd}b\u{fffd}\n"
        );
        assert_eq!(one_line("a\n\tb"), "a  b");
    }
}
