//! What a failed attempt means to the engine: whether to try again, what may have happened at the other end, and
//! what it shows about the dependency's health. It reads evidence and decides nothing.

use std::time::Duration;

use surefoot_core::classify::{self, Certainty, Class};
use surefoot_core::failure::{CAUSES_MAX, Failure, FailureCause};

/// What a failed attempt shows about the health of the dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Health {
    /// It is unwell: counts against it.
    Failed,
    /// It is well and has refused what was asked: counts as a sign of life.
    Alive,
    /// It is well and asks for fewer calls: counts neither way, and closes the gate if it says for how long.
    Throttled,
    /// Nothing: counts neither way.
    Neutral,
}

/// What a failed attempt means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Whether the same call, made again, may succeed.
    pub class: Class,
    /// What may have happened at the other end.
    pub certainty: Certainty,
    /// What it shows about the dependency.
    pub health: Health,
    /// When the dependency wants to be called again.
    pub retry_after: Option<Duration>,
    /// An idle connection turned out to be closed before a byte of this call left: it may be sent again once
    /// at no cost.
    pub free_replay: bool,
}

impl Meaning {
    /// It may pass, and it may have been applied all the same. What an error means that nobody knows.
    pub const TRANSIENT: Self = Self {
        class: Class::Transient,
        certainty: Certainty::MaybeApplied,
        health: Health::Failed,
        retry_after: None,
        free_replay: false,
    };
    /// It did not leave, for want of a connection.
    pub const NOT_SENT: Self = Self {
        certainty: Certainty::NotSent,
        ..Self::TRANSIENT
    };
    /// It was refused, and would be again; the dependency is well.
    pub const REFUSED: Self = Self {
        class: Class::Permanent,
        certainty: Certainty::Rejected,
        health: Health::Alive,
        retry_after: None,
        free_replay: false,
    };
    /// The dependency asks for fewer calls.
    pub const THROTTLED: Self = Self {
        certainty: Certainty::Rejected,
        health: Health::Throttled,
        ..Self::TRANSIENT
    };
    /// The call was given up on request.
    pub const CANCELLED: Self = Self {
        class: Class::Cancelled,
        health: Health::Neutral,
        ..Self::TRANSIENT
    };

    /// The same with the dependency's word on when to come back.
    #[must_use]
    pub const fn retry_after(self, after: Option<Duration>) -> Self {
        Self {
            retry_after: after,
            ..self
        }
    }

    /// What an HTTP status outside 2xx means; `None` for 2xx. `keyed` says that the call carried an idempotency
    /// key, `after` is the wait of a `Retry-After`.
    #[must_use]
    pub fn of_status(status: u16, keyed: bool, after: Option<Duration>) -> Option<Self> {
        let said = if keyed {
            classify::http_status_keyed(status, after.is_some())?
        } else {
            classify::http_status(status)?
        };
        let health = match status {
            429 => Health::Throttled,
            _ if said.class == Class::Permanent => Health::Alive,
            409 => Health::Alive,
            _ => Health::Failed,
        };
        Some(Self {
            class: said.class,
            certainty: said.certainty,
            health,
            retry_after: after,
            free_replay: false,
        })
    }

    /// What an I/O fault means.
    #[must_use]
    pub const fn of_io(kind: std::io::ErrorKind) -> Self {
        let class = classify::io(kind);
        let health = match class {
            Class::Transient | Class::Unknown => Health::Failed,
            Class::Permanent | Class::Cancelled => Health::Neutral,
        };
        Self {
            class,
            certainty: classify::io_certainty(kind),
            health,
            ..Self::TRANSIENT
        }
    }

    /// What any error means: what a [`FailureCause`] in its chain of causes says, or else the first I/O fault there;
    /// [`TRANSIENT`](Self::TRANSIENT) without either.
    #[must_use]
    pub fn of_chain(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut fault = None;
        let mut link = Some(error);
        for _ in 0..CAUSES_MAX {
            let Some(cause) = link else { break };
            if let Some(cause) = cause.downcast_ref::<FailureCause>() {
                return cause.failure().meaning();
            }
            let io = cause.downcast_ref::<std::io::Error>();
            fault = fault.or(io.map(|io| Self::of_io(io.kind())));
            link = cause.source();
        }
        fault.unwrap_or(Self::TRANSIENT)
    }
}

/// An error that says what it means to the caller of a dependency.
pub trait Meant {
    /// What it means.
    fn meaning(&self) -> Meaning;
}

impl Meant for std::io::Error {
    fn meaning(&self) -> Meaning {
        Meaning::of_io(self.kind())
    }
}

impl Meant for Meaning {
    fn meaning(&self) -> Meaning {
        *self
    }
}

impl Meant for Failure {
    fn meaning(&self) -> Meaning {
        let health = match (self.class, self.put_off) {
            (_, true) => Health::Throttled,
            (Class::Permanent, false) => Health::Alive,
            (Class::Cancelled, false) => Health::Neutral,
            (Class::Transient | Class::Unknown, false) => Health::Failed,
        };
        Meaning {
            class: self.class,
            certainty: self.certainty(),
            health,
            retry_after: self.retry_after,
            free_replay: false,
        }
    }
}

impl Meant for Box<dyn std::error::Error + Send + Sync> {
    fn meaning(&self) -> Meaning {
        Meaning::of_chain(self.as_ref())
    }
}

#[cfg(feature = "reqwest")]
impl Meant for reqwest::Error {
    /// By its status where there is one; a connect error has sent nothing; a builder or redirect error is final.
    fn meaning(&self) -> Meaning {
        if let Some(meaning) = self
            .status()
            .and_then(|status| Meaning::of_status(status.as_u16(), false, None))
        {
            return meaning;
        }
        if self.is_connect() {
            return Meaning::NOT_SENT;
        }
        if self.is_builder() {
            return Meaning {
                class: Class::Permanent,
                certainty: Certainty::NotSent,
                health: Health::Neutral,
                ..Meaning::TRANSIENT
            };
        }
        Meaning::of_chain(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_it_shows_about_the_dependency() {
        let table = [
            (429, Health::Throttled, Class::Transient),
            (503, Health::Failed, Class::Transient),
            (500, Health::Failed, Class::Transient),
            (501, Health::Alive, Class::Permanent),
            (505, Health::Alive, Class::Permanent),
            (404, Health::Alive, Class::Permanent),
            (409, Health::Alive, Class::Permanent),
        ];
        for (status, health, class) in table {
            let meaning = Meaning::of_status(status, false, None).unwrap();
            assert_eq!((meaning.health, meaning.class), (health, class), "{status}");
        }
        assert_eq!(Meaning::of_status(200, false, None), None);
        let in_use = Meaning::of_status(409, true, Some(Duration::from_secs(1))).unwrap();
        assert_eq!(
            (in_use.class, in_use.health),
            (Class::Transient, Health::Alive)
        );
    }

    #[test]
    fn an_io_fault_anywhere_in_the_chain_counts() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(refused);
        assert_eq!(boxed.meaning(), Meaning::NOT_SENT);
        assert_eq!(Meaning::of_chain(&std::fmt::Error), Meaning::TRANSIENT);
        let cause = FailureCause::new(Failure::put_off("x").not_sent());
        let boxed: Box<dyn std::error::Error + Send + Sync> =
            Box::new(std::io::Error::other(cause.clone()));
        // An I/O error gives the source of what it wraps, and this is the last.
        assert_eq!(boxed.meaning(), Meaning::TRANSIENT);
        let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(cause);
        let meaning = boxed.meaning();
        assert_eq!(
            (meaning.certainty, meaning.health),
            (Certainty::NotSent, Health::Throttled)
        );
    }
}
