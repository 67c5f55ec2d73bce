//! The one table. A row without a floor cannot be made.

use std::fmt::Write as _;

use crate::rounds::Compared;

/// Something measured beside its floor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) database: &'static str,
    pub(crate) what: String,
    pub(crate) compared: Compared,
    pub(crate) unit: Unit,
    pub(crate) aim: Aim,
    /// What the floor does.
    pub(crate) floor_is: String,
}

/// In what a row is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// More is better.
    PerSecond,
    /// Less is better.
    Milliseconds,
}

/// What a row should come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Aim {
    /// It is shown for what it is.
    None,
    /// At least this share of the floor.
    Share(f64),
    /// At least so many in each second.
    PerSecond(f64),
    /// Fewer milliseconds than these.
    Below(f64),
}

impl Row {
    /// Whether the aim was met; `None` without one.
    fn met(&self) -> Option<bool> {
        match self.aim {
            Aim::None => None,
            Aim::Share(share) => Some(self.compared.ratio >= share),
            Aim::PerSecond(rate) => Some(self.compared.surefoot >= rate),
            Aim::Below(ms) => Some(self.compared.surefoot < ms),
        }
    }

    fn cells(&self) -> [String; 8] {
        let met = match self.met() {
            None => "",
            Some(true) => "met",
            Some(false) => "MISSED",
        };
        [
            self.database.to_owned(),
            self.what.clone(),
            self.figure(self.compared.surefoot),
            self.figure(self.compared.floor),
            match self.unit {
                Unit::PerSecond => format!("{:.0} %", self.compared.ratio * 100.0),
                Unit::Milliseconds => format!("{:.1} x", self.compared.ratio),
            },
            self.compared
                .spread
                .map(|spread| format!("±{:.0} %", spread * 50.0))
                .unwrap_or_default(),
            match self.aim {
                Aim::None => String::new(),
                Aim::Share(share) => format!(">= {:.0} % {met}", share * 100.0),
                Aim::PerSecond(rate) => format!(">= {}/s {met}", thousands(rate)),
                Aim::Below(ms) => format!("< {ms} ms {met}"),
            },
            self.floor_is.clone(),
        ]
    }

    fn figure(&self, value: f64) -> String {
        match self.unit {
            Unit::PerSecond => format!("{}/s", thousands(value)),
            Unit::Milliseconds => format!("{value:.2} ms"),
        }
    }
}

/// A whole number with a comma after each three digits.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

const HEAD: [&str; 8] = [
    "database",
    "what",
    "surefoot",
    "floor",
    "ratio",
    "spread",
    "aim",
    "the floor is",
];
/// The columns that hold numbers stand to the right.
const NUMBERS: std::ops::Range<usize> = 2..6;

/// The table as text.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let mut widths = [0; HEAD.len()];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in &lines {
        let mut shown = String::new();
        for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
            // Writing to a string does not fail.
            let _ = if NUMBERS.contains(&column) {
                write!(shown, "{cell:>width$}  ")
            } else {
                write!(shown, "{cell:<width$}  ")
            };
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: Unit, surefoot: f64, ratio: f64, aim: Aim) -> Row {
        Row {
            database: "sqlite",
            what: "enqueue".to_owned(),
            compared: Compared {
                surefoot,
                floor: 15_000.0,
                ratio,
                spread: Some(0.1),
            },
            unit,
            aim,
            floor_is: "raw".to_owned(),
        }
    }

    #[test]
    fn an_aim_is_judged_by_what_it_speaks_of() {
        let met = |unit, surefoot, ratio, aim| row(unit, surefoot, ratio, aim).met();
        assert_eq!(met(Unit::PerSecond, 1.0, 0.8, Aim::None), None);
        assert_eq!(met(Unit::PerSecond, 1.0, 0.8, Aim::Share(0.8)), Some(true));
        assert_eq!(
            met(Unit::PerSecond, 1.0, 0.79, Aim::Share(0.8)),
            Some(false)
        );
        assert_eq!(
            met(Unit::PerSecond, 12.0, 0.1, Aim::PerSecond(12.0)),
            Some(true)
        );
        assert_eq!(
            met(Unit::PerSecond, 11.0, 9.9, Aim::PerSecond(12.0)),
            Some(false)
        );
        assert_eq!(
            met(Unit::Milliseconds, 0.9, 5.0, Aim::Below(1.0)),
            Some(true)
        );
        assert_eq!(
            met(Unit::Milliseconds, 1.0, 0.5, Aim::Below(1.0)),
            Some(false)
        );
    }

    #[test]
    fn a_table_is_lined_up() {
        let rows = [row(Unit::PerSecond, 12_345.6, 0.823, Aim::Share(0.8))];
        assert_eq!(
            text(&rows),
            "database  what     surefoot     floor  ratio  spread  aim          the floor is\n\
             sqlite    enqueue  12,346/s  15,000/s   82 %    ±5 %  >= 80 % met  raw\n"
        );
    }
}
