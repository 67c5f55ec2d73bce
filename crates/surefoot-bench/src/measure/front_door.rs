//! What the front door costs, over HTTP: a request that runs beside one whose claim and answer are written by hand, a
//! repetition beside a bare SELECT by primary key, and both beside the handler alone.
//!
//! The crates that do the like are not in the table: `idempotent` 2.0 needs a newer compiler than this workspace, 0.3 has no
//! layer, both keep requests in memory or in Valkey only; `axum-idempotent` keeps sessions. None keeps a request in either
//! database, so nothing of theirs can stand beside a durable write.

use std::time::Duration;

use super::{Effort, add};
use crate::Outcome;
use crate::door::{self, Asked, Ends, Expected, Running, ask};
use crate::place::Ground;
use crate::rounds::{Compared, Latencies, compare};
use crate::table::{Aim, Row, Unit};

/// How many clients ask at once, and how many connections the floor has: as many as the store.
const CONNECTIONS: usize = 16;
/// How many keys are repeated.
const REPEATED: u64 = 1000;

/// What is measured, and beside what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pair {
    FreshByHand,
    ReplayedSelect,
    ReplayedSelectAtOnce,
    FreshBare,
    ReplayedBare,
}

/// A form of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Fresh,
    Replayed,
    ByHand,
    Select,
    SelectAtOnce,
    Bare,
}

impl Pair {
    const ALL: [Self; 5] = [
        Self::FreshByHand,
        Self::ReplayedSelect,
        Self::ReplayedSelectAtOnce,
        Self::FreshBare,
        Self::ReplayedBare,
    ];

    const fn forms(self) -> (Form, Form) {
        match self {
            Self::FreshByHand => (Form::Fresh, Form::ByHand),
            Self::ReplayedSelect => (Form::Replayed, Form::Select),
            Self::ReplayedSelectAtOnce => (Form::Replayed, Form::SelectAtOnce),
            Self::FreshBare => (Form::Fresh, Form::Bare),
            Self::ReplayedBare => (Form::Replayed, Form::Bare),
        }
    }

    /// Whether it is a question on this database. A connection of PostgreSQL blocks no thread in any case.
    const fn is_asked(self, ground: &Ground) -> bool {
        !matches!(
            (self, ground),
            (Self::ReplayedSelectAtOnce, Ground::Postgres { .. })
        )
    }

    const fn aim(self) -> Aim {
        match self {
            Self::FreshByHand => Aim::Share(0.85),
            Self::ReplayedSelect => Aim::Share(0.9),
            Self::ReplayedSelectAtOnce | Self::FreshBare | Self::ReplayedBare => Aim::None,
        }
    }
}

impl Form {
    const fn told(self) -> &'static str {
        match self {
            Self::Fresh => "a request that runs",
            Self::Replayed => "a request that is replayed",
            Self::ByHand => "the handler, INSERT and UPDATE by hand",
            Self::Select => "SELECT by primary key",
            Self::SelectAtOnce => "SELECT on the caller's thread",
            Self::Bare => "the handler alone",
        }
    }
}

pub(super) async fn measure(ground: &Ground, effort: Effort, rows: &mut Vec<Row>) -> Outcome<()> {
    for pair in Pair::ALL.into_iter().filter(|pair| pair.is_asked(ground)) {
        let (ours, raw) = pair.forms();
        let (mut our_latencies, mut raw_latencies) = (Latencies::default(), Latencies::default());
        let compared = compare(
            effort.rounds,
            async || {
                let asked = asked(ground, ours, effort.single).await?;
                our_latencies.extend(asked.latencies);
                Ok(asked.per_second)
            },
            async || {
                let asked = asked(ground, raw, effort.single).await?;
                raw_latencies.extend(asked.latencies);
                Ok(asked.per_second)
            },
        )
        .await?;
        let row = |what: String, compared, unit, aim| Row {
            database: ground.name(),
            what,
            compared,
            unit,
            aim,
            floor_is: raw.told().to_owned(),
        };
        add(
            rows,
            row(
                format!("{}, {CONNECTIONS} clients", ours.told()),
                compared,
                Unit::PerSecond,
                pair.aim(),
            ),
        );
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            let latencies = at(&our_latencies, &raw_latencies, share);
            let what = format!("{}, {name}", ours.told());
            add(rows, row(what, latencies, Unit::Milliseconds, Aim::None));
        }
    }
    Ok(())
}

fn at(ours: &Latencies, raw: &Latencies, share: f64) -> Compared {
    let (surefoot, floor) = (ours.quantile_ms(share), raw.quantile_ms(share));
    Compared {
        surefoot,
        floor,
        ratio: surefoot / floor,
        spread: None,
    }
}

/// Asks one form of the service, on a database of its own.
async fn asked(ground: &Ground, form: Form, lasts: Duration) -> Outcome<Asked> {
    let place = ground.place().await?;
    let floor = match form {
        Form::ByHand | Form::Select | Form::SelectAtOnce => {
            Some(place.request_floor(u32::try_from(CONNECTIONS)?).await?)
        }
        Form::Fresh | Form::Replayed | Form::Bare => None,
    };
    let running = match (form, floor.clone()) {
        (Form::ByHand, Some(floor)) => door::by_hand(floor).await?,
        (Form::Select, Some(floor)) => door::selecting(floor).await?,
        (Form::SelectAtOnce, Some(floor)) => door::selecting(floor.at_once()).await?,
        (Form::Fresh | Form::Replayed, _) => door::guarded(&place.ports().await?).await?,
        (Form::Bare, _) | (Form::ByHand | Form::Select | Form::SelectAtOnce, None) => {
            door::bare().await?
        }
    };
    let selects = matches!(form, Form::Select | Form::SelectAtOnce);
    if let Some(floor) = floor.filter(|_| selects) {
        for number in 0..REPEATED {
            floor.claim(repeated(number)).await?;
            floor.finish(repeated(number), vec![b'x'; 100]).await?;
        }
    }
    if form == Form::Replayed {
        fill(&running).await?;
    }
    let expected = match form {
        Form::Fresh => Expected::Executed,
        Form::Replayed => Expected::Replayed,
        Form::ByHand | Form::Select | Form::SelectAtOnce | Form::Bare => Expected::Created,
    };
    let key = match form {
        Form::Replayed | Form::Select | Form::SelectAtOnce => repeated,
        Form::Fresh | Form::ByHand | Form::Bare => fresh,
    };
    let asked = ask(
        running.address,
        CONNECTIONS,
        Ends::After(lasts),
        expected,
        key,
    )
    .await?;
    running.stop().await?;
    place.remove().await?;
    Ok(asked)
}

/// Lets every key that will be repeated run once.
async fn fill(running: &Running) -> Outcome<()> {
    let ends = Ends::At(REPEATED);
    ask(
        running.address,
        CONNECTIONS,
        ends,
        Expected::Executed,
        fresh,
    )
    .await?;
    Ok(())
}

fn fresh(number: u64) -> String {
    format!("order-{number:012}")
}

fn repeated(number: u64) -> String {
    fresh(number % REPEATED)
}
