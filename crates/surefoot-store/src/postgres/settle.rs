//! Settlements as the arrays that one statement takes. A batch goes out in rounds: within a round a job stands once, in
//! the order of ids, and results are of bounded size, so that the database can work on all of it at once.

use std::collections::HashSet;

use surefoot_core::error::StoreError;
use surefoot_core::job::StateName;
use surefoot_core::port::{BATCH_MAX, Settled};
use surefoot_core::settle::{Next, Settlement};
use surefoot_core::time::Timestamp;

use super::call::Statement;
use super::enqueue::STATEMENT_BYTES_MAX;
use super::fault::broken;

/// Settlements of one statement, with their places in the caller's batch.
pub(super) struct Round<'a> {
    items: Vec<(usize, &'a Settlement)>,
}

/// The rounds of a batch, at least one. What comes later in the batch comes in a later round or beside it.
pub(super) fn rounds(settlements: &[Settlement]) -> Vec<Round<'_>> {
    let mut rounds = vec![Round { items: Vec::new() }];
    let (mut jobs, mut bytes) = (HashSet::new(), 0);
    for item in settlements.iter().enumerate() {
        let size = bytes_of(item.1);
        let fits = rounds.last().is_some_and(|round| {
            round.items.is_empty()
                || (round.items.len() < BATCH_MAX && bytes + size <= STATEMENT_BYTES_MAX)
        });
        if !jobs.insert(item.1.job) || !fits {
            jobs = HashSet::from([item.1.job]);
            bytes = 0;
            rounds.push(Round { items: Vec::new() });
        }
        bytes += size;
        if let Some(round) = rounds.last_mut() {
            round.items.push(item);
        }
    }
    for round in &mut rounds {
        round.items.sort_by_key(|(_, settlement)| settlement.job);
    }
    rounds
}

fn bytes_of(settlement: &Settlement) -> usize {
    match &settlement.next {
        Next::Succeeded { result, .. } => result.as_str().len(),
        Next::Pending { .. }
        | Next::Retrying { .. }
        | Next::Verifying { .. }
        | Next::Dead(_)
        | Next::Cancelled { .. } => 0,
    }
}

/// A next state as columns.
struct Columns<'a> {
    state: StateName,
    at: Timestamp,
    text: Option<&'a str>,
    result: Option<&'a str>,
    dead_reason: Option<&'static str>,
    fingerprint: Option<i64>,
}

impl<'a> Columns<'a> {
    fn of(next: &'a Next) -> Self {
        let plain = |state, at| Self {
            state,
            at,
            text: None,
            result: None,
            dead_reason: None,
            fingerprint: None,
        };
        match next {
            Next::Pending { due_at } => plain(StateName::Pending, *due_at),
            Next::Retrying { due_at, error } => Self {
                text: Some(error.as_str()),
                ..plain(StateName::Retrying, *due_at)
            },
            Next::Verifying { due_at, error } => Self {
                text: Some(error.as_str()),
                ..plain(StateName::Verifying, *due_at)
            },
            Next::Succeeded { at, result } => Self {
                result: Some(result.as_str()),
                ..plain(StateName::Succeeded, *at)
            },
            Next::Dead(death) => Self {
                text: Some(death.error.as_str()),
                dead_reason: Some(death.reason.as_str()),
                fingerprint: Some(death.fingerprint.to_bits().cast_signed()),
                ..plain(StateName::Dead, death.at)
            },
            Next::Cancelled { at, reason } => Self {
                text: Some(reason.as_str()),
                ..plain(StateName::Cancelled, *at)
            },
        }
    }
}

impl Round<'_> {
    /// Binds the sixteen arrays of `surefoot.advance`.
    pub(super) fn bind<'q>(&self, statement: Statement<'q>) -> Statement<'q> {
        fn each<'a, T>(round: &Round<'a>, of: impl Fn(&'a Settlement) -> T) -> Vec<T> {
            round
                .items
                .iter()
                .map(|(_, settlement)| of(settlement))
                .collect()
        }
        fn of_next<'a, T>(round: &Round<'a>, of: impl Fn(Columns<'a>) -> T) -> Vec<T> {
            each(round, |settlement| of(Columns::of(&settlement.next)))
        }
        let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        statement
            .bind(each(self, |item| item.job.as_uuid()))
            .bind(each(self, |item| item.fence.epoch.0))
            .bind(each(self, |item| {
                item.fence.lapsed_before.map(Timestamp::as_micros)
            }))
            .bind(each(self, |item| number(item.counts.failed)))
            .bind(each(self, |item| number(item.counts.crashed)))
            .bind(each(self, |item| number(item.counts.deferred)))
            .bind(each(self, |item| number(item.counts.unknown)))
            .bind(of_next(self, |next| next.state.as_str()))
            .bind(of_next(self, |next| next.at.as_micros()))
            .bind(of_next(self, |next| next.text))
            .bind(of_next(self, |next| next.result))
            .bind(of_next(self, |next| next.dead_reason))
            .bind(of_next(self, |next| next.fingerprint))
            .bind(each(self, |item| item.outcome.as_str()))
            .bind(each(self, |item| {
                item.error.as_ref().map(|error| error.as_str())
            }))
            .bind(each(self, |item| item.ended_at.as_micros()))
    }

    /// Notes what the database answered; no answers at all is that each was applied.
    pub(super) fn told(
        &self,
        answers: Option<Vec<i16>>,
        settled: &mut [Settled],
    ) -> Result<(), StoreError> {
        let answers = answers.unwrap_or_else(|| vec![0; self.items.len()]);
        if answers.len() != self.items.len() {
            return Err(broken(format_args!(
                "{} answers to {} settlements",
                answers.len(),
                self.items.len()
            )));
        }
        for ((place, _), answer) in self.items.iter().zip(answers) {
            settled[*place] = match answer {
                0 => Settled::Applied,
                1 => Settled::Already,
                2 => Settled::Stale,
                other => return Err(broken(format_args!("answer {other} to a settlement"))),
            };
        }
        Ok(())
    }
}
