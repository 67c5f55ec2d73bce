//! The job: one movement of money. Everything it does is rows of the database that its job is in, so there is nothing that
//! could be unknown: either all of it is there, or nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot::checklist::{Answers, Checklist};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::id::NameError;
use surefoot::{Cx, Job, JobPolicy, Outcome};

use crate::ledger::Ledger;

/// A movement of money, which its transaction id makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// Chosen by the caller, the same however often it is sent.
    pub transaction: String,
    /// Whose money.
    pub wallet: String,
    /// Into the wallet; negative is out of it.
    pub cents: i64,
}

/// What became of a movement. A refusal is as final as a payment: it is an outcome and no failure, so nobody has to look at
/// it, and the same transaction id is answered with it for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Moved {
    /// It is done.
    Done {
        /// What is in the wallet after it.
        balance_cents: i64,
    },
    /// There was not enough in the wallet, and nothing was moved.
    InsufficientFunds {
        /// What was in the wallet.
        balance_cents: i64,
    },
}

impl Job for Movement {
    const KIND: &'static str = "movement";
    type Output = Moved;

    fn key(&self) -> Option<String> {
        Some(self.transaction.clone())
    }
}

/// Carries out one movement.
///
/// # Errors
/// What the database answered; nothing was moved then.
pub async fn carry_out(movement: Movement, cx: Cx, ledger: Ledger) -> Outcome<Moved> {
    ledger.post(movement, cx).await
}

/// How movements are run. A worker that dies has moved nothing, so its attempt is simply run again: no recovery is needed.
#[must_use]
pub fn policy() -> JobPolicy {
    JobPolicy {
        timeout: Duration::from_secs(2),
        lease: Duration::from_secs(3),
        attempts_max: 10,
        backoff: Backoff::Exponential {
            base: Duration::from_millis(200),
            factor: 2.0,
            cap: Duration::from_secs(10),
            jitter: Jitter::Full,
        },
        ..JobPolicy::default()
    }
}

/// What is asked before anything runs.
///
/// # Errors
/// A kind whose name does not fit.
pub fn checklist() -> Result<Checklist, NameError> {
    let answers = Answers {
        side_effect: Some("moves money between rows of the database that its job is in".to_owned()),
        effects: Vec::new(),
        alert: Some("pages whoever looks after the ledger".to_owned()),
        waivers: Vec::new(),
    };
    Checklist::new().job::<Movement>(policy(), answers)
}
