//! The figures that must come out of the five experiments, and how a measured one is held against its own. The figures stand
//! in `figures.json`; nothing here may make one fit.

use serde::Serialize;
use serde_json::{Value, json};
use surefoot_lab::DatabaseName;

use crate::exit::{Code, Failed};
use crate::output::Table;

const FIGURES: &str = include_str!("figures.json");

/// A figure beside the one that must come out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Figure {
    experiment: &'static str,
    /// Where it has to do with one.
    database: Option<DatabaseName>,
    figure: String,
    expected: Value,
    measured: Value,
    holds: bool,
}

impl Figure {
    /// One that must be equal.
    pub(super) fn equal(
        experiment: &'static str,
        figure: impl Into<String>,
        expected: &Value,
        measured: impl Serialize,
    ) -> Self {
        let measured = json!(measured);
        let holds = *expected == measured;
        Self::judged(experiment, figure, expected, measured, holds)
    }

    /// One that is judged otherwise.
    pub(super) fn judged(
        experiment: &'static str,
        figure: impl Into<String>,
        expected: &Value,
        measured: impl Serialize,
        holds: bool,
    ) -> Self {
        Self {
            experiment,
            database: None,
            figure: figure.into(),
            expected: expected.clone(),
            measured: json!(measured),
            holds,
        }
    }

    /// The same, measured on a database.
    pub(super) fn on(self, database: DatabaseName) -> Self {
        Self {
            database: Some(database),
            ..self
        }
    }
}

/// What must come out of an experiment.
pub(super) fn of(experiment: &str) -> Value {
    let figures: Value = serde_json::from_str(FIGURES).unwrap_or(Value::Null);
    figures[experiment]["expected"].clone()
}

/// Whether all hold. None at all prove nothing.
pub(super) fn hold(figures: &[Figure]) -> bool {
    !figures.is_empty() && figures.iter().all(|figure| figure.holds)
}

/// All, one to a line.
pub(super) fn text(figures: &[Figure]) -> String {
    let mut table = Table::new(["experiment", "on", "figure", "expected", "measured", ""]);
    for figure in figures {
        let verdict = if figure.holds { "" } else { "DIFFERS" };
        table.row([
            figure.experiment.to_owned(),
            figure.database.map_or("", DatabaseName::as_str).to_owned(),
            figure.figure.clone(),
            shown(&figure.expected),
            shown(&figure.measured),
            verdict.to_owned(),
        ]);
    }
    table.text()
}

/// A value without the quotation marks of JSON.
fn shown(value: &Value) -> String {
    value.to_string().replace('"', "").replace(',', ", ")
}

/// Ends with what differs, if anything does.
pub(super) fn judge(figures: &[Figure], again: &str) -> Result<(), Failed> {
    if hold(figures) {
        return Ok(());
    }
    let differs = |figure: &&Figure| !figure.holds;
    let differing: Vec<Figure> = figures.iter().filter(differs).cloned().collect();
    Err(Failed::new(
        Code::Failed,
        format!(
            "figures differ from those that must come out:\n{}",
            text(&differing)
        ),
        format!("this is a fault of Surefoot; please report it with the output of: {again} --json"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_experiment_has_its_figures() {
        for experiment in [
            "amplification",
            "jitter",
            "breaker",
            "double_charge",
            "consumer",
        ] {
            assert!(!of(experiment).is_null(), "{experiment}");
        }
    }

    #[test]
    fn a_difference_is_told_and_nothing_at_all_holds_nothing() {
        let same = Figure::equal("e", "f", &json!([1, 2]), [1, 2]);
        let other = Figure::equal("e", "g", &json!(4), 5).on(DatabaseName::Sqlite);
        assert!(hold(std::slice::from_ref(&same)));
        assert!(!hold(&[same.clone(), other.clone()]));
        assert!(!hold(&[]));
        judge(std::slice::from_ref(&same), "surefoot lab all").unwrap();
        let failed = judge(&[same, other], "surefoot lab all").unwrap_err();
        let told = format!("{failed:?}");
        assert!(
            told.contains("DIFFERS") && !told.contains("[1, 2]"),
            "{told}"
        );
    }
}
