//! How an act went, from the provider's books and from what customers and visitors were answered.

use std::time::Duration;

use serde::Serialize;

use crate::act::Act;
use crate::customers::{Outcomes, Told};
use crate::live::percentile;
use crate::plan::Intent;
use crate::provider::Books;
use crate::visitors::Views;

/// The most calls per intent that act two may need in the outage.
pub(crate) const AMPLIFICATION_MAX: f64 = 1.1;
/// What share of page views act two must serve, at least more than this.
pub(crate) const AVAILABILITY_MIN: f64 = 0.999;

/// How both acts went.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Act one, act two.
    pub acts: [ActReport; 2],
}

/// How an act went.
#[derive(Clone, Debug, Serialize)]
pub struct ActReport {
    /// `unprotected` or `surefoot`.
    pub name: &'static str,
    /// What customers wanted.
    pub intents: u64,
    /// Calls that reached the provider and were to charge.
    pub provider_calls: u64,
    /// Such calls for each intent, of the intents of the outage.
    pub amplification: f64,
    /// Intents that were charged more than once.
    pub charged_twice: u64,
    /// Intents whose customer was told that it is paid though it was never charged, or was never told what became of it.
    pub lost: u64,
    /// What share of page views showed a page in time, 0 to 1.
    pub page_availability: f64,
    /// From the click to the first answer that says how it stands (paid, refused, or being worked on and where to look), or
    /// to giving up; 99th percentile, in milliseconds.
    pub p99_ms: u64,
    /// The same to a known outcome.
    #[serde(skip)]
    pub known_p99_ms: u64,
    /// Questions to the provider, which charge nothing.
    #[serde(skip)]
    pub asked: u64,
    /// Intents that visibly wait for a person.
    #[serde(skip)]
    pub person: u64,
    /// Intents that were charged though their customer was told nothing, or that it was refused.
    #[serde(skip)]
    pub charged_unsaid: u64,
    /// Views of pages.
    #[serde(skip)]
    pub views: u64,
}

impl Report {
    /// What act two misses of what it promises; empty when it holds.
    #[must_use]
    pub fn misses(&self) -> Vec<String> {
        let [_, act] = &self.acts;
        let mut misses = Vec::new();
        for (what, count) in [("charged twice", act.charged_twice), ("lost", act.lost)] {
            if count > 0 {
                misses.push(format!("{count} of {} intents were {what}", act.intents));
            }
        }
        if act.amplification > AMPLIFICATION_MAX {
            misses.push(format!(
                "{:.3} calls for each intent of the outage, above {AMPLIFICATION_MAX}",
                act.amplification
            ));
        }
        if act.page_availability <= AVAILABILITY_MIN {
            misses.push(format!(
                "{:.4} of the page views were served, not above {AVAILABILITY_MIN}",
                act.page_availability
            ));
        }
        misses
    }
}

impl ActReport {
    pub(crate) fn of(
        act: Act,
        plan: &[Intent],
        outcomes: &Outcomes,
        books: &Books,
        views: Views,
    ) -> Self {
        let mut report = Self {
            name: act.name(),
            intents: plan.len() as u64,
            provider_calls: books.calls(),
            amplification: amplification(plan, books),
            charged_twice: books.charged_twice(),
            lost: 0,
            page_availability: rounded(share(views.good, views.all), 5),
            p99_ms: 0,
            known_p99_ms: 0,
            asked: books.asked,
            person: 0,
            charged_unsaid: 0,
            views: views.all,
        };
        let (mut known, mut answered) = (Vec::new(), Vec::new());
        for intent in plan {
            let click = outcomes.of(&intent.order);
            let charged = books.of(&intent.order).charges > 0;
            let told = click.map_or(Told::Nothing, |click| click.told);
            known.extend(click.map(|click| click.after));
            answered.extend(click.map(|click| click.answered_after));
            report.lost += u64::from(is_lost(told, charged));
            report.person += u64::from(told == Told::Person);
            let unsaid = matches!(told, Told::Nothing | Told::Refused);
            report.charged_unsaid += u64::from(charged && unsaid);
        }
        report.p99_ms = p99_ms(answered);
        report.known_p99_ms = p99_ms(known);
        report
    }
}

fn is_lost(told: Told, charged: bool) -> bool {
    match told {
        Told::Nothing => true,
        Told::Paid => !charged,
        Told::Refused | Told::Person => false,
    }
}

fn amplification(plan: &[Intent], books: &Books) -> f64 {
    let outage = plan.iter().filter(|intent| intent.phase.is_outage());
    let (intents, calls) = outage.fold((0, 0), |(intents, calls), intent| {
        let account = books.of(&intent.order);
        (intents + 1, calls + u64::from(account.calls))
    });
    rounded(share(calls, intents), 3)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one act are far below 2^52"
)]
fn share(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

fn rounded(number: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (number * scale).round() / scale
}

fn p99_ms(mut all: Vec<Duration>) -> u64 {
    all.sort_unstable();
    u64::try_from(percentile(&all, 99).as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_is_what_nobody_was_told_and_what_was_promised_and_not_charged() {
        for (told, charged, lost) in [
            (Told::Nothing, false, true),
            (Told::Nothing, true, true),
            (Told::Paid, false, true),
            (Told::Paid, true, false),
            (Told::Refused, false, false),
            (Told::Person, true, false),
        ] {
            assert_eq!(is_lost(told, charged), lost, "{told:?} {charged}");
        }
    }

    #[test]
    fn act_two_has_to_hold_every_promise() {
        let good = ActReport {
            name: "surefoot",
            intents: 100,
            provider_calls: 108,
            amplification: 1.1,
            charged_twice: 0,
            lost: 0,
            page_availability: 0.9991,
            p99_ms: 1,
            known_p99_ms: 1,
            asked: 0,
            person: 0,
            charged_unsaid: 0,
            views: 1000,
        };
        let misses = |act: ActReport| {
            let acts = [good.clone(), act];
            Report { acts }.misses().len()
        };
        assert_eq!(misses(good.clone()), 0);
        let bad = ActReport {
            amplification: 1.101,
            charged_twice: 1,
            lost: 1,
            page_availability: 0.999,
            ..good.clone()
        };
        assert_eq!(misses(bad), 4);
    }
}
