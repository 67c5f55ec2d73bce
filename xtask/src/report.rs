//! What a check found: each fault names what, where and the remedy. It must never decide what is a fault.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where: a file with its line, or a crate.
    pub(crate) place: String,
    /// What is wrong there.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

impl Fault {
    pub(crate) fn new(
        place: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}\n  remedy: {}",
            self.place, self.what, self.remedy
        )
    }
}

/// What one check looked at and what it found.
#[derive(Debug)]
pub(crate) struct Report {
    /// How many things were looked at. A check that looked at nothing has failed.
    pub(crate) checked: usize,
    /// What these things are, in the plural.
    pub(crate) unit: &'static str,
    pub(crate) faults: Vec<Fault>,
}

/// Prints the report and says whether the check passed.
pub(crate) fn print(task: &str, report: Result<Report, Fault>) -> bool {
    let report = report.unwrap_or_else(|fault| Report {
        checked: 0,
        unit: "things",
        faults: vec![fault],
    });
    for fault in &report.faults {
        eprintln!("{fault}");
    }
    if !report.faults.is_empty() {
        eprintln!("xtask {task}: failed with {} fault(s)", report.faults.len());
        return false;
    }
    if report.checked == 0 {
        eprintln!("xtask {task}: failed, it found no {} to check", report.unit);
        return false;
    }
    println!(
        "xtask {task}: ok, {} {} checked",
        report.checked, report.unit
    );
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_looked_at_nothing_fails() {
        assert!(!print(
            "t",
            Ok(Report {
                checked: 0,
                unit: "files",
                faults: vec![]
            })
        ));
        assert!(print(
            "t",
            Ok(Report {
                checked: 1,
                unit: "files",
                faults: vec![]
            })
        ));
    }

    #[test]
    fn a_fault_fails_the_check() {
        let fault = || Fault::new("a.rs:1", "is wrong", "mend it");
        assert!(!print(
            "t",
            Ok(Report {
                checked: 1,
                unit: "files",
                faults: vec![fault()]
            })
        ));
        assert!(!print("t", Err(fault())));
        assert_eq!(fault().to_string(), "a.rs:1: is wrong\n  remedy: mend it");
    }
}
