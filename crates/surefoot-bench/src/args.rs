//! What is asked for on the command line. It reads arguments and does nothing else.

/// How it is called.
const USAGE: &str =
    "usage: surefoot-bench [sqlite|postgres|all] [--quick] [--only enqueue|throughput|pick-up|front-door]
       surefoot-bench soak [sqlite|postgres|all] [--jobs 1000000] [--idle-seconds 60]";

/// How many jobs a soak runs at most.
const JOBS_MAX: u64 = 100_000_000;
/// How long a soak idles at most.
const IDLE_SECONDS_MAX: u64 = 24 * 3600;

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Print the table.
    Measure(Measure),
    /// Run for long and look at memory and computing time.
    Soak(Soak),
}

/// Which databases are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Databases {
    pub(crate) sqlite: bool,
    pub(crate) postgres: bool,
}

/// How to measure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) databases: Databases,
    /// Fewer rounds of less work: to see that it runs, not to quote.
    pub(crate) quick: bool,
    /// Only these rows; `None` for all.
    pub(crate) only: Option<Part>,
}

/// A part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Enqueue,
    Throughput,
    PickUp,
    FrontDoor,
}

impl Part {
    /// In the order of the table.
    pub(crate) const ALL: [Self; 4] = [
        Self::Enqueue,
        Self::Throughput,
        Self::PickUp,
        Self::FrontDoor,
    ];
}

/// How to soak.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Soak {
    pub(crate) databases: Databases,
    pub(crate) jobs: u64,
    pub(crate) idle_seconds: u64,
}

/// Reads the arguments; the error is what to tell the caller.
pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut arguments = arguments.peekable();
    let soaks = arguments.next_if(|argument| argument == "soak").is_some();
    let mut databases = None;
    let (mut quick, mut only) = (false, None);
    let (mut jobs, mut idle_seconds) = (1_000_000, 60);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "sqlite" | "postgres" | "all" if databases.is_none() => {
                databases = Some(Databases {
                    sqlite: argument != "postgres",
                    postgres: argument != "sqlite",
                });
            }
            "--quick" if !soaks => quick = true,
            "--only" if !soaks => only = Some(part(arguments.next())?),
            "--jobs" if soaks => jobs = number(&argument, arguments.next(), JOBS_MAX)?,
            "--idle-seconds" if soaks => {
                idle_seconds = number(&argument, arguments.next(), IDLE_SECONDS_MAX)?;
            }
            _ => return Err(format!("unexpected argument {argument}\n{USAGE}")),
        }
    }
    let databases = databases.unwrap_or(Databases {
        sqlite: true,
        postgres: true,
    });
    Ok(if soaks {
        Command::Soak(Soak {
            databases,
            jobs,
            idle_seconds,
        })
    } else {
        Command::Measure(Measure {
            databases,
            quick,
            only,
        })
    })
}

fn part(name: Option<String>) -> Result<Part, String> {
    match name.as_deref() {
        Some("enqueue") => Ok(Part::Enqueue),
        Some("throughput") => Ok(Part::Throughput),
        Some("pick-up") => Ok(Part::PickUp),
        Some("front-door") => Ok(Part::FrontDoor),
        _ => Err(format!(
            "--only takes enqueue, throughput, pick-up or front-door\n{USAGE}"
        )),
    }
}

fn number(name: &str, value: Option<String>, max: u64) -> Result<u64, String> {
    value
        .as_deref()
        .and_then(|value| value.parse().ok())
        .filter(|number| (1..=max).contains(number))
        .ok_or_else(|| format!("{name} takes a number from 1 to {max}\n{USAGE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    const ALL: Databases = Databases {
        sqlite: true,
        postgres: true,
    };
    const SQLITE: Databases = Databases {
        sqlite: true,
        postgres: false,
    };

    #[test]
    fn what_is_asked_for_is_read() {
        let measure = |databases, quick, only| {
            Command::Measure(Measure {
                databases,
                quick,
                only,
            })
        };
        assert_eq!(parsed(""), Ok(measure(ALL, false, None)));
        assert_eq!(parsed("--quick sqlite"), Ok(measure(SQLITE, true, None)));
        assert_eq!(
            parsed("--only pick-up"),
            Ok(measure(ALL, false, Some(Part::PickUp)))
        );
        assert_eq!(
            parsed("--only front-door"),
            Ok(measure(ALL, false, Some(Part::FrontDoor)))
        );
        assert_eq!(
            parsed("soak sqlite --jobs 5000 --idle-seconds 3"),
            Ok(Command::Soak(Soak {
                databases: SQLITE,
                jobs: 5000,
                idle_seconds: 3
            }))
        );
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (line, word) in [
            ("mysql", "mysql"),
            ("sqlite all", "all"),
            ("--jobs 5", "--jobs"),
            ("soak --quick", "--quick"),
            ("--only", "--only"),
            ("--only everything", "--only"),
            ("soak --jobs", "--jobs"),
            ("soak --jobs 0", "--jobs"),
            ("soak --idle-seconds many", "--idle-seconds"),
        ] {
            let refused = parsed(line).unwrap_err();
            assert!(refused.contains(word), "{line}: {refused}");
        }
    }
}
