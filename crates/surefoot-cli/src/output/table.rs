//! Tables of text, and text of others made harmless: nothing that a provider or caller wrote can steer a terminal.

use std::io::{self, IsTerminal};

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, Width};

/// How much of a text a cell shows on a terminal, in characters.
const SCREEN_CHARS_MAX: usize = 60;
/// How much of a text a cell shows in a file, in characters: every error that is kept fits.
const FILE_CHARS_MAX: usize = 10_000;
/// How wide a cell of several lines is, in characters.
const WRAPPED_WIDTH: u16 = 60;

/// A table with a head. A row is one line of a file with whole cells, and on a terminal one line with cut ones.
pub(crate) struct Table {
    table: comfy_table::Table,
    is_screen: bool,
    /// Whether cells of the last column go on in further lines of a terminal where others are cut.
    wraps_last: bool,
}

impl Table {
    /// With these heads, for standard output.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Self {
        Self::on(heads, io::stdout().is_terminal())
    }

    fn on<const N: usize>(heads: [&str; N], is_screen: bool) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_style(NOTHING)
            .set_header(heads.map(str::to_uppercase));
        Self {
            table,
            is_screen,
            wraps_last: false,
        }
    }

    /// The same, with the cells of the last column whole on a terminal too, on several lines each.
    pub(crate) fn wrapping_last(mut self) -> Self {
        self.wraps_last = true;
        if let (true, Some(last)) = (self.is_screen, self.table.column_iter_mut().last()) {
            let width = Width::Fixed(WRAPPED_WIDTH);
            last.set_constraint(ColumnConstraint::UpperBoundary(width));
        }
        self
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let chars_max = |column: usize| {
            let is_whole = !self.is_screen || (self.wraps_last && column + 1 == N);
            if is_whole {
                FILE_CHARS_MAX
            } else {
                SCREEN_CHARS_MAX
            }
        };
        let lines = cells.iter().enumerate();
        let lines: Vec<String> = lines
            .map(|(column, cell)| one_line(cell, chars_max(column)))
            .collect();
        self.table.add_row(lines);
    }

    /// The text.
    pub(crate) fn text(&self) -> String {
        let lines = self.table.to_string();
        lines
            .lines()
            .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The beginning of a text on one line.
fn one_line(text: &str, chars_max: usize) -> String {
    let text = plain(text).replace(['\n', '\t'], " ");
    if text.chars().count() <= chars_max {
        return text;
    }
    let cut: String = text.chars().take(chars_max - 1).collect();
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
        let mut table = Table::on(["id", "error"], true);
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
    fn a_file_has_whole_cells_and_a_terminal_only_where_they_wrap() {
        let words = "word ".repeat(30);
        let text = |mut table: Table| {
            table.row([words.clone(), words.clone()]);
            table.text()
        };
        let file = text(Table::on(["a", "b"], false).wrapping_last());
        assert!(file.lines().count() == 2 && !file.contains('…'), "{file}");
        assert_eq!(file.matches("word").count(), 60, "{file}");

        let screen = text(Table::on(["a", "b"], true).wrapping_last());
        assert_eq!(screen.matches("word").count(), 12 + 30, "{screen}");
        let lines: Vec<&str> = screen.lines().collect();
        assert_eq!(lines.len(), 4, "{screen}");
        assert_eq!(lines[2].find("word"), lines[0].find('B'), "{screen}");
    }

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(
            plain("a\u{1b}[31m\u{9b}b\r\n"),
            "a\u{fffd}[31m\u{fffd}b\u{fffd}\n"
        );
        assert_eq!(one_line("a\n\tb", 9), "a  b");
    }
}
