//! The shape of the document. Its field names are on disk: one that is renamed or removed needs another [`FORMAT`]. The
//! job and the place are not in it, because they are how a document is found.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The format that is written, and the only one that is read.
pub(super) const FORMAT: u32 = 1;

/// What every format begins with.
#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) format: u32,
}

/// An effect. Times are microseconds since 1970.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document<'a> {
    pub(super) format: u32,
    pub(super) name: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dependency: Option<Cow<'a, str>>,
    pub(super) generation: u32,
    pub(super) terms: Terms,
    pub(super) version: u32,
    pub(super) sends: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_sent_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) leaves_by: Option<i64>,
    pub(super) in_doubt: bool,
    pub(super) asked: u32,
    pub(super) cost: Cost,
    pub(super) state: State<'a>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) disputes: Vec<Dispute<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Terms {
    pub(super) unknown: EffectRecovery,
    pub(super) timeout: Duration,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum EffectRecovery {
    Step,
    Verify { settles_within: Duration },
    SameKey { ttl: Option<Duration> },
    AtMostOnce,
    Repeatable,
}

/// Millionths of the account's currency, over all of `u64`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cost {
    pub(super) reserved: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settled: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) earlier: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A result is the text of a payload as a JSON string, not as JSON: only so every byte of it stays.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum State<'a> {
    Intended {
        epoch: i64,
        at: i64,
    },
    Confirmed {
        at: i64,
        result: Cow<'a, str>,
        by: Witness<'a>,
    },
    Rejected {
        at: i64,
        error: Cow<'a, str>,
    },
    Unknown {
        since: i64,
        ask_at: i64,
        error: Cow<'a, str>,
    },
    Absent {
        at: i64,
        by: Witness<'a>,
    },
    NeedsHuman {
        since: i64,
        error: Cow<'a, str>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Witness<'a> {
    Answer,
    Query,
    Caller {
        actor: Cow<'a, str>,
    },
    Person {
        actor: Cow<'a, str>,
        reason: Cow<'a, str>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dispute<'a> {
    pub(super) at: i64,
    pub(super) by: Witness<'a>,
    pub(super) said: Cow<'a, str>,
}
